"""`flo sql`: the views of a file, maintained."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from flo.core.errors import FloError
from flo.spark.driver.query import Query
from flo.sql.statements import read_statements
from flo.tools.cli import main
from tests.spark.test_command import cells

VIEWS = """
-- revenue; by shop
CREATE VIEW revenue AS
SELECT shop, sum(price) AS revenue FROM sales GROUP BY shop;

CREATE OR REPLACE TEMPORARY VIEW named (label, total) AS
SELECT concat(shop, ';') AS x, revenue FROM revenue;;

/* the best; */
create materialized view best as select max(total) as best from named
"""


STATEMENTS = {
    "CREATE MATERIALIZED VIEW v (a, b) AS SELECT 1, 'x'": ("v", ["a", "b"]),
    "CREATE MATERIALIZED VIEW v (\n  a COMMENT 'the (first)', -- a;\n  `b c`\n) COMMENT 'x' AS SELECT 1, 'x'": (
        "v",
        ["a", "b c"],
    ),
    "CREATE MATERIALIZED VIEW v (a INT, b STRING) AS SELECT 1, 'x'": ("v", ["a", "b"]),
    "CREATE OR REPLACE MATERIALIZED VIEW `v w` (a, b) AS WITH x AS (SELECT 1, 'x') SELECT * FROM x": (
        "v w",
        ["a", "b"],
    ),
    "CREATE OR REFRESH MATERIALIZED VIEW v AS SELECT 1 AS a": ("v", ["a"]),
    "CREATE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT 1 AS a": ("v", ["a"]),
    "CREATE TEMPORARY VIEW v (a COMMENT 'x', b) AS SELECT 1, 'x'": ("v", ["a", "b"]),
}


def test_names_of_columns(spark: Any, tmp_path: Path) -> None:
    for text, (name, columns) in STATEMENTS.items():
        (tmp_path / "views.sql").write_text(f"\n{text};")
        (statement,) = read_statements(spark, str(tmp_path / "views.sql"))
        assert (statement.name, spark.sql(statement.query).columns) == (name, columns)
        assert statement.query.count("\n", 0, statement.query.rindex("SELECT")) == text.count("\n") + 1


def test_types_of_columns(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "views.sql").write_text("CREATE MATERIALIZED VIEW v (a BIGINT) AS SELECT 1")
    (statement,) = read_statements(spark, str(tmp_path / "views.sql"))
    assert spark.sql(statement.query).schema.simpleString() == "struct<a:bigint>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE MATERIALIZED VIEW v (a, CONSTRAINT x CHECK (a > 1)) AS SELECT 1", "cannot parse"),
        ("CREATE MATERIALIZED VIEW v CLUSTER BY (a) AS SELECT 1 AS a", "no PARTITIONED BY or CLUSTER BY"),
        ("CREATE MATERIALIZED", "cannot parse"),
    ],
)
def test_statements_that_mean_nothing_here(spark: Any, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "views.sql").write_text(text)
    with pytest.raises(FloError, match=message):
        read_statements(spark, str(tmp_path / "views.sql"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "views.sql").write_text(VIEWS)
    sales = tmp_path / "sales"
    sales.mkdir()
    (sales / "1.csv").write_text("shop,price\na,1\nb,2\n")
    return tmp_path


@pytest.fixture
def shared(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flo.spark.session.embedded", lambda *given, **more: spark)
    monkeypatch.setattr(SparkSession, "stop", lambda self: None)


def run(folder: Path, *more: str, views: str | None = None) -> int:
    if views is not None:
        (folder / "views.sql").write_text(views)
    return main(["sql", str(folder / "views.sql"), "--input", f"sales={folder / 'sales'}", *more])


def test_once_and_again_from_the_checkpoint(folder: Path, shared: None, capsys: Any) -> None:
    given = ["--once", "--checkpoint", str(folder / "checkpoint"), "--output", f"revenue={folder}/out"]
    assert run(folder, *given) == 0
    assert cells(capsys.readouterr().out) == [["2", "1"], ["a;", "1", "1"], ["b;", "2", "1"]]
    (folder / "sales" / "2.csv").write_text("shop,price\na,5\n")
    assert run(folder, *given) == 0
    shown = capsys.readouterr()
    assert cells(shown.out) == [["6", "1"], ["a;", "6", "1"], ["b;", "2", "1"]]
    assert "micro-batch" in shown.err
    changes = pq.read_table(folder / "out").select(["shop", "revenue", "_weight"]).to_pylist()
    assert {tuple(row.values()) for row in changes} == {("a", 1, 1), ("b", 2, 1), ("a", 1, -1), ("a", 6, 1)}


@pytest.mark.thorough
def test_runs_until_it_is_stopped(folder: Path, shared: None, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def wait(query: Query, timeout: float | None = None) -> bool:
        waited.append(timeout or 0)
        query.process_all_available()
        if len(waited) == 1:
            (folder / "sales" / "2.csv").write_text("shop,price\na,5\n")
            query.process_all_available()
            return False
        signal.raise_signal(signal.SIGINT)
        return False

    monkeypatch.setattr(Query, "wait", wait)
    assert run(folder) == 0
    assert len(waited) == 2
    assert ["a;", "6", "1"] in cells(capsys.readouterr().out)


@pytest.mark.thorough
def test_explain_shows_the_operators(folder: Path, shared: None, capsys: Any) -> None:
    assert run(folder, "--explain") == 0
    shown = capsys.readouterr().out
    assert "group_by(shop" in shown
    assert "= best" in shown


@pytest.mark.every(test=6)
@pytest.mark.parametrize(
    ("views", "line", "message"),
    [
        ("CREATE VIEW a AS\nSELECT 1 AS x;\nCREATE VIEW b AS\nSELEC 1", 4, "Syntax error at or near 'SELEC'"),
        ("CREATE VIEW a AS SELECT shop FROM sales;\n\nSELECT 1", 3, "this one is Project"),
        ("CREATE VIEW a AS SELECT shop FROM sales;\nCREATE VIEW A AS SELECT 1", 2, "the view `A` is created twice"),
        ("CREATE VIEW a AS\nSELECT shop,\n  prize FROM sales", 3, "prize"),
        ("CREATE VIEW a (x, y) AS\nSELECT shop\nFROM nowhere", 3, "nowhere"),
        ("\nCREATE VIEW a AS SELECT rand() AS r FROM sales", 2, "cannot be maintained"),
        ("CREATE VIEW sales AS SELECT 1 AS x", 1, "`sales` is an input and a view"),
        ("CREATE VIEW s.a AS SELECT 1 AS x", 1, "must have a name without a schema"),
    ],
    ids=["syntax", "no view", "twice", "column", "table", "not maintained", "input", "schema"],
)
def test_errors_name_the_line(folder: Path, shared: None, capsys: Any, views: str, line: int, message: str) -> None:
    assert run(folder, "--once", views=views) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert f"views.sql:{line}" in shown


def test_what_is_asked_before_spark_starts(folder: Path, capsys: Any) -> None:
    for arguments, message in (
        ([str(folder / "none.sql"), "--input", f"sales={folder / 'sales'}"], "there is no file"),
        ([str(folder / "views.sql")], "the views have no input"),
        ([str(folder / "views.sql"), "--input", "sales=nowhere"], "there is no file or folder `nowhere`"),
        ([str(folder / "views.sql"), "--input", "a=x", "--input", "a=y"], "`a` is given twice"),
        ([str(folder / "views.sql"), "--once", "--every", "1 second"], "--once ends"),
    ):
        assert main(["sql", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_statements_end_at_semicolons_outside_of_texts(spark: Any, folder: Path) -> None:
    found = read_statements(spark, str(folder / "views.sql"))
    assert [(each.name, each.where.line) for each in found] == [("revenue", 3), ("named", 6), ("best", 10)]
    assert found[0].query.splitlines()[3] == "SELECT shop, sum(price) AS revenue FROM sales GROUP BY shop"

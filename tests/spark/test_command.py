"""`flo run` on Spark, and in this process: the same flow of a file, the same results."""

from __future__ import annotations

import re
import signal
import urllib.request

import pytest
from pyspark.sql import SparkSession

from flo.tools.cli import main
from flo.tools.run import keep_page

FLOW = """
import flo

from rows import Sale

def sums(bounded):
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("sales", flo.ZSet[Sale], bounded=bounded).group_by("shop").agg(sum=flo.sum("price")))
    return flow

streamed, whole = sums(False), sums(True)
"""

ROWS = """
from typing import NamedTuple

class Sale(NamedTuple):
    shop: str
    price: int
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sums.py").write_text(FLOW)
    (tmp_path / "rows.py").write_text(ROWS)
    sales = tmp_path / "sales"
    sales.mkdir()
    (sales / "1.csv").write_text("shop,price\na,1\nb,2\n")
    (sales / "2.csv").write_text("shop,price\na,5\n")
    return tmp_path


@pytest.fixture
def shared(spark, monkeypatch):
    monkeypatch.setattr("flo.spark.session.embedded", lambda *given, **more: spark)
    monkeypatch.setattr(SparkSession, "stop", lambda self: None)


def cells(text):
    """The rows of a table that was printed."""
    lines = [line.strip("│ ") for line in text.splitlines() if line.startswith("│")]
    return sorted([cell.strip() for cell in line.split("│")] for line in lines)


@pytest.mark.parametrize("name", ["streamed", "whole"])
@pytest.mark.every(test=2)
def test_on_spark(folder, shared, capsys, name):
    assert main(["run", f"{folder / 'sums.py'}::{name}", "--input", f"sales={folder / 'sales'}"]) == 0
    shown = capsys.readouterr().out
    assert "sums, 2 rows" in shown
    assert cells(shown) == [["a", "6", "1"], ["b", "2", "1"]]


def test_goes_on_from_a_checkpoint(folder, shared, capsys):
    given = ["--checkpoint", str(folder / "checkpoint"), "--input", f"sales={folder / 'sales'}"]
    second = (folder / "sales" / "2.csv").rename(folder / "later.csv")
    assert main(["run", f"{folder / 'sums.py'}::streamed", *given]) == 0
    assert cells(capsys.readouterr().out) == [["a", "1", "1"], ["b", "2", "1"]]
    second.rename(folder / "sales" / "2.csv")
    assert main(["run", f"{folder / 'sums.py'}::streamed", *given]) == 0
    assert cells(capsys.readouterr().out) == [["a", "6", "1"], ["b", "2", "1"]]


def test_changes_as_files(folder, shared, spark, capsys):
    out = f"sums=changes:{folder / 'out'}"
    given = ["--input", f"sales={folder / 'sales'}", "--output", out]
    assert main(["run", f"{folder / 'sums.py'}::streamed", *given]) == 0
    assert {(row["shop"], row["sum"]) for row in spark.read.parquet(str(folder / "out")).collect()} == {
        ("a", 6),
        ("b", 2),
    }


def test_a_whole_result_as_files(folder, shared, spark, capsys):
    given = ["--input", f"sales={folder / 'sales'}", "--output", f"sums=json:path={folder / 'out'}"]
    assert main(["run", f"{folder / 'sums.py'}::whole", *given]) == 0
    assert {(row["shop"], row["sum"]) for row in spark.read.json(str(folder / "out")).collect()} == {("a", 6), ("b", 2)}
    assert not capsys.readouterr().out


def test_the_page_is_served_until_it_is_interrupted_and_saved(folder, shared, capsys, monkeypatch):
    served = []

    def read_page():
        said = capsys.readouterr().err
        with urllib.request.urlopen(re.search(r"http://127\.0\.0\.1:\d+/", said)[0], timeout=600) as answer:
            served.append(answer.read().decode())
        signal.raise_signal(signal.SIGINT)

    def keep(given, stopped):
        monkeypatch.setattr(stopped, "wait", read_page)
        keep_page(given, stopped)
        assert stopped.is_set()

    monkeypatch.setattr("flo.tools.run.keep_page", keep)
    given = ["--input", f"sales={folder / 'sales'}", "--ui", "--html", str(folder / "run.html")]
    assert main(["run", f"{folder / 'sums.py'}::streamed", *given]) == 0
    saved = (folder / "run.html").read_text(encoding="utf-8")
    for page, live in ((served[0], "true"), (saved, "false")):
        assert '"taken":{"sales":3}' in page
        assert f'"live":{live}' in page
    assert '"rows":[["a","6","1"],["b","2","1"]]' in saved or '"rows":[["b","2","1"],["a","6","1"]]' in saved


@pytest.mark.parametrize("option", [["--ui"], ["--html", "run.html"]])
def test_there_is_no_page_without_micro_batches(folder, capsys, option):
    given = ["--input", f"sales={folder / 'sales' / '1.csv'}", *option]
    assert main(["run", f"{folder / 'sums.py'}::whole", *given, "--here"]) == 2
    assert "but --here runs in this process" in capsys.readouterr().err
    assert main(["run", f"{folder / 'sums.py'}::whole", *given]) == 2
    assert "all inputs of the flow are bounded" in capsys.readouterr().err


def test_here(folder, capsys):
    given = ["--here", "--input", f"sales={folder / 'sales' / '1.csv'}"]
    assert main(["run", f"{folder / 'sums.py'}::whole", *given]) == 0
    assert cells(capsys.readouterr().out) == [["a", "1", "1"], ["b", "2", "1"]]

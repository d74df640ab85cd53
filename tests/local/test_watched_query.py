"""The figures on the page of a query in this process: they are those of its micro-batches, views and settings."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import flo
from flo.local.query import LocalQuery
from flo.pictures.run_graph import RunGraph
from flo.shards.watching.view_reading import FOUND_ROWS, contains, found_rows, run_sql
from tests.pictures.live_sales import NOON, Sale, Shop, program, push, start

SHOPS = [Shop(f"shop {each}", f"city {each % 2}") for each in range(7)]
TABLE = pa.table({"city": ["Oslo", "Rome", None], "sum": [12, 30, 4], "tags": [["a"], [], None]})


@pytest.fixture
def query(tmp_path: Path) -> Iterator[LocalQuery]:
    with start(tmp_path) as found:
        found.push(shops=SHOPS)
        push(found, 0)
        push(found, 1)
        yield found


def double(number: int) -> int:
    return 2 * number


def ask(url: str, path: str = "", **asked: str) -> Any:
    with urllib.request.urlopen(f"{url}{path}?{urllib.parse.urlencode(asked)}", timeout=600) as answer:
        return json.load(answer)


def test_the_phases_of_a_micro_batch_are_where_its_time_went(query: LocalQuery) -> None:
    outcome = query.progress[-1]
    phases = outcome.figures.phases
    assert set(phases) == {"inputs", "operators", "state", "shuffle", "other", "sinks", "commit"}
    assert min(phases.values()) >= 0
    run = sum(phases[name] for name in ("operators", "state", "shuffle", "other"))
    assert run <= outcome.seconds + 1e-9, "what is before the run, and what is after it, is not a part of it"
    work = sum(seconds for _, _, seconds in outcome.figures.work.values())
    assert 0 < work <= phases["operators"] + phases["inputs"]
    assert query._watch.history.entries[-1].lag == pytest.approx(sum(phases.values()))


def test_the_rows_of_verbs_and_shards_are_those_that_were_pushed(query: LocalQuery) -> None:
    data = query._watch.data()
    texts = [text.split("(")[0] for text in RunGraph(program()).texts]
    assert texts == ["clock", "to_zset", "join", "group_by"]
    clock, to_zset, join, group = data["verbs"]
    assert (clock["taken"], clock["emitted"], clock["all"]["taken"]) == (90, 90, 180), "none is late"
    assert (to_zset["taken"], to_zset["emitted"]) == (90, 90)
    assert (join["taken"], join["emitted"]) == (90, 90)
    assert join["all"]["taken"] == 180 + len(SHOPS)
    assert group["emitted"] == 4, "two cities, each with a sum that goes and one that comes"
    assert all(verb["seconds"] > 0 for verb in data["verbs"])
    assert [entry["taken"] for entry in data["history"]["entries"]] == [{"shops": 7}, {"sales": 90}, {"sales": 90}]
    for stage in data["shards"]:
        level = stage["level"]
        assert stage["count"] == len(stage["rows"]) == 3
        assert stage["total"] == sum(rows for _, rows, _ in stage["rows"])
        assert stage["total"] == sum(outcome.stage_rows[level] for outcome in query.progress)
        assert sum(last for *_, last in stage["rows"]) == query.progress[-1].stage_rows[level]


def test_the_clock_of_all_partitions_is_that_of_the_slowest(query: LocalQuery) -> None:
    (clock,) = query._watch.data()["clocks"]
    behind = NOON + timedelta(minutes=2, seconds=58 - 60)
    assert clock["verb"].startswith('clock("at", lateness=timedelta(seconds=20))')
    assert clock["latest"] == behind.isoformat(" ", "milliseconds")
    assert clock["watermark"] == (behind - timedelta(seconds=20)).isoformat(" ", "milliseconds")
    assert [number for number, *_ in clock["partitions"]] == [2, 0, 1]
    assert clock["partitions"][0][1:] == [clock["latest"], clock["watermark"]]
    assert clock["silent"] == []


def test_a_clock_waits_for_a_partition_without_rows(tmp_path: Path) -> None:
    with start(tmp_path) as query:
        query.push(shops=SHOPS)
        assert query._watch.data()["clocks"] == []
        query.push(sales={0: [Sale("shop 1", 1, NOON)]})
        (clock,) = query._watch.data()["clocks"]
        assert (clock["latest"], clock["silent"]) == ("", [1, 2])


def test_an_idle_partition_is_named(tmp_path: Path) -> None:
    flow = flo.Flow("idle")
    sales = flow.input("sales", flo.Partitioned[tuple[str, int]], partitions=2)
    clock = sales.clock(lambda sale: sale[1], lateness=1, idle_after=timedelta(minutes=1), because="of a test")
    flow.output("rows", clock.rows)
    with flow.on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(sales={0: [("a", 5)], 1: [("a", 6)]}, now=NOON.astimezone())
        query.push(sales={0: [("a", 7)]}, now=(NOON + timedelta(hours=1)).astimezone())
        (shown,) = query._watch.data()["clocks"]
        assert (shown["latest"], shown["watermark"], list(shown["idle"])) == ("7", "6", [1])


def test_the_clock_of_idle_partitions_shows_moments(tmp_path: Path) -> None:
    flow = flo.Flow("idle")
    sales = flow.input("sales", flo.Partitioned[Sale], partitions=2)
    clock = sales.clock("at", lateness=timedelta(minutes=1), idle_after=timedelta(hours=1), because="of a test")
    flow.output("rows", clock.rows)
    with flow.on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(sales={0: [Sale("a", 5, NOON)], 1: [Sale("b", 5, NOON)]}, now=NOON.astimezone())
        (shown,) = query._watch.data()["clocks"]
        assert (shown["latest"], shown["watermark"]) == ("2026-05-01 12:00:00.000", "2026-05-01 11:59:00.000")


def test_errors_and_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    flow = flo.Flow("sums")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("sums", numbers.map(double))
    sink = flo.Changes(tmp_path / "changes")
    with flow.on(flo.here).start({"sums": sink}, checkpoint=tmp_path / "state", keep=5) as query:
        with pytest.raises(flo.FloError):
            query.push(numbers=["password=hunter2"])
        data = query._watch.data()
        ((error),) = data["errors"]
        assert "hunter2" not in error["text"]
        assert "numbers" in error["text"]
        settings = data["settings"]
        assert (settings["runs"], settings["keep"], settings["shards"]) == ("in this process", "5", "1")
        assert settings["output sums"] == sink.label
        assert settings["checkpoint"] == str(tmp_path / "state")
        assert f"Flo {flo.__version__}" in settings["versions"]
        assert "refill" not in settings


@pytest.mark.parametrize("asked", [{}, {"view": "-1"}, {"view": "99"}, {"view": "x"}])
def test_a_view_that_is_not_there(query: LocalQuery, asked: dict[str, str]) -> None:
    with query.ui() as server:
        assert ask(server.url, "view", **asked)["error"].startswith("there is no such view")


def test_long_texts_are_cut() -> None:
    data = found_rows(["text"], [["x" * 1_000_000], ["short"]], 2)
    assert data["rows"][0][0] == "x" * 1199 + "…"
    assert data["rows"][1] == ["short"]


def test_a_text_is_found_in_any_column_and_case() -> None:
    assert contains(TABLE, "OSL").to_pylist() == [True, False, False]
    assert contains(TABLE, "3").to_pylist() == [False, True, False]
    assert contains(TABLE, "a").to_pylist() == [True, False, False], "a list"
    assert contains(TABLE.slice(0, 0), "a").to_pylist() == []


def sql(text: str, **options: Any) -> tuple[list[str], list[tuple[object, ...]]]:
    return run_sql(text, ["sums", "sums late"], lambda name: TABLE, **options)


def test_sql_reads_views() -> None:
    pytest.importorskip("duckdb")
    assert sql("SELECT sum(sum) AS n FROM Sums WHERE city IS NOT NULL") == (["n"], [(42,)])
    assert sql('WITH a AS (SELECT * FROM "sums late") SELECT count(*) AS n FROM a, sums') == (["n"], [(9,)])
    assert sql("SELECT sum, sum FROM sums ORDER BY 1 DESC; -- twice") == (["sum", "sum"], [(30, 30), (12, 12), (4, 4)])
    assert sql("SELECT city FROM sums WHERE false") == (["city"], [])
    assert len(sql("SELECT * FROM range(100000)")[1]) == FOUND_ROWS + 1, "no more than it takes to say so"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE t AS SELECT * FROM sums", "one SELECT; got CREATE"),
        ("INSERT INTO sums VALUES ('a', 1, [])", "one SELECT; got INSERT"),
        ("SELECT 1; SELECT 2", "one SELECT; got SELECT, SELECT"),
        ("", "one SELECT; got nothing"),
        ("COPY sums TO '{file}'", "one SELECT; got COPY"),
        ("ATTACH '{file}' AS x", "one SELECT; got ATTACH"),
        ("SET enable_external_access = true", "one SELECT; got SET"),
        ("SELECT * FROM read_csv('{file}')", "Permission Error"),
        ("SELECT * FROM '{file}'", "(Permission|Catalog) Error"),
        ("SELECT * FROM read_text('{file}')", "Permission Error"),
        ("SELECT * FROM SHOPS", "does not exist"),
        ("SELECT nothing FROM sums", "nothing"),
        ("SELECT 'a'::INTEGER", "Conversion Error"),
        ("SELEC", "syntax error"),
    ],
)
def test_sql_cannot_do_more_than_read_views(text: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(flo.FloError, match=message):
        sql(text.replace("{file}", str(file)))
    assert sorted(tmp_path.iterdir()) == before
    assert file.read_text(encoding="utf-8") == "a\n1\n"


def test_sql_ends_after_some_seconds() -> None:
    pytest.importorskip("duckdb")
    with pytest.raises(flo.FloError, match=r"stopped after 0\.1 seconds"):
        sql("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11", seconds=0.1)


def test_sql_without_duckdb_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(flo.FloError, match=r"pip install \"flo-streams\[duckdb\]\""):
        sql("SELECT 1")


def test_the_page_is_served_until_the_query_stops(query: LocalQuery) -> None:
    pytest.importorskip("duckdb")
    server = query.ui()
    query.push(shops=[{"name": "shop 9"}])
    assert query._watch.views.names == ["revenue", "clock", "sales diverted", "shops diverted"]
    found = ask(server.url, "view", view="0", text="CITY 1")
    assert ([row[0] for row in found["rows"]], found["count"], found["version"]) == (["city 1"], 1, 3)
    found = ask(server.url, "sql", query='SELECT count(*) AS n FROM "shops diverted"')
    assert (found["columns"], found["rows"]) == (["n"], [["1"]])
    assert "stopped" not in ask(server.url, "sql", query="SELECT 1")
    assert ask(server.url, "sql", query="DROP TABLE revenue")["error"].startswith("a query on views is one SELECT")
    foreign = urllib.request.Request(f"{server.url}sql?query=SELECT+1", headers={"Sec-Fetch-Site": "cross-site"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(foreign, timeout=600)
    assert ask(server.url, "data")["state"] == "running"
    query.stop()
    with pytest.raises(urllib.error.URLError):
        ask(server.url, "data")
    assert query._watch.data()["state"] == "ended"

"""Outputs: what sinks take, and what views give."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql.classic.dataframe import DataFrame

import flo
from flo.core.errors import EngineError
from flo.shards.checkpoint.program_changes import read_description
from flo.shards.sinks.output_changes import OutputChanges
from flo.spark import Changes, Sink, SparkSink
from flo.spark.driver.query import Query
from tests.spark.sources import stream

pytestmark = [pytest.mark.slow, pytest.mark.every(test=2)]


class Sale(NamedTuple):
    shop: str
    price: int


TURNS = [{Sale("a", 1): 1, Sale("b", 2): 2}, {Sale("a", 1): -1, Sale("c", 5): 1}, {Sale("b", 7): 1}]
EXPECTED = {("b", 11): 1, ("c", 5): 1}


def shop_of(sale: Sale) -> str:
    return sale.shop


def parity(n: int) -> int:
    return n % 2


def sums() -> flo.Flow:
    flow = flo.Flow("sums")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("sums", sales.group_by("shop").agg(sum=flo.sum("price")))
    flow.output("same", sales.map(shop_of))
    return flow


def added(tables: list[pa.Table]) -> dict[Any, int]:
    """Changes, added up."""
    found: dict[Any, int] = {}
    for table in tables:
        for *row, weight in zip(*table.to_pydict().values(), strict=True):
            found[tuple(row)] = found.get(tuple(row), 0) + weight
    return {row: weight for row, weight in found.items() if weight}


def started(spark: Any, flow: flo.Flow, folder: Path, outputs: dict[str, Any]) -> Query:
    sales = stream(spark, flo.ZSet[Sale], TURNS, folder / "sales")
    query = flow.on(spark).start(
        {"sales": sales}, outputs, checkpoint=folder / "checkpoint", shards=2, trigger={"availableNow": True}
    )
    query.wait()
    return query


def test_sinks(spark, tmp_path, capsys):
    calls = []
    flow = sums()
    sums_ = flow._outputs["sums"]
    for name in ("files", "table", "called", "printed", "forgotten"):
        flow.output(name, sums_)
    json = SparkSink("json", {"path": str(tmp_path / "json")})
    query = started(
        spark,
        flow,
        tmp_path,
        {
            "sums": "memory",
            "files": Changes(str(tmp_path / "files")),
            "table": json,
            "called": lambda changes, version: calls.append((version, changes)),
            "printed": "console",
            "forgotten": "noop",
        },
    )
    assert repr(query) == f"<Query {flow.name!r}, version 2, ended>"
    assert repr(flow.on(spark)) == f"<Flow {flow.name!r}, on Spark: start(…), run(…), explain()>"
    tables = query.changes("sums")
    assert len(tables) == 3
    assert added(tables) == EXPECTED
    assert [version for version, _ in calls] == [0, 1, 2]
    assert added([table for _, table in calls]) == EXPECTED
    assert "printed, version 1: " in capsys.readouterr().out
    assert query.progress[0].rows["forgotten"] == tables[0].num_rows
    files = spark.read.parquet(str(tmp_path / "files")).toArrow()
    assert files.column_names == [*tables[0].column_names, "version"]
    for version, table in enumerate(tables):
        part = files.filter(pc.equal(files["version"], version)).drop_columns(["version"])
        assert added([part]) == added([table])
    rows = spark.read.json(str(tmp_path / "json")).toArrow().select(tables[0].column_names)
    assert added([rows]) == EXPECTED
    with pytest.raises(flo.UnknownNameError, match="not kept in memory"):
        query.changes("files")
    assert query.view("same").frame(spark).count() == 2


def test_changes_of_few_of_many_shards(spark, tmp_path):
    """A shard that gives nothing writes no file, and none is looked for."""
    sales = stream(spark, flo.ZSet[Sale], TURNS, tmp_path / "sales")
    given = {"sales": sales}, {"sums": "memory", "same": SparkSink("json", {"path": str(tmp_path / "json")})}
    query = (
        sums().on(spark).start(*given, checkpoint=tmp_path / "checkpoint", shards=32, trigger={"availableNow": True})
    )
    query.wait()
    assert added(query.changes("sums")) == EXPECTED
    assert spark.read.json(str(tmp_path / "json")).count() == 5
    batch = sales.sparkSession.read.parquet(str(tmp_path / "sales"))
    assert added([sums().on(spark).run(sales=batch, shards=32)["sums"].toArrow()]) == EXPECTED


def test_files_of_a_turn_that_comes_again(tmp_path):
    """Also if it was broken off on other shards; what is staged is not seen."""
    sink = Changes(str(tmp_path / "files"))
    given = OutputChanges("", "sums", 3, 2, pa.schema([]), (), staged=True)
    for before in (0, 2):
        staged = Path(f"{sink.staging_path()}00000003")
        staged.mkdir(parents=True)
        for name in ("00000-of-00002", "00001-of-00002", "00002-of-00005"):
            pq.write_table(pa.table({"n": [1]}), staged / f"{name}.parquet")
        assert pq.read_table(tmp_path / "files").num_rows == before
        sink.take(given)
        assert pq.read_table(tmp_path / "files").to_pydict() == {"n": [1, 1], "version": [3, 3]}


def test_views_of_one_version(spark, tmp_path):
    query = started(spark, sums(), tmp_path, {})
    for version in (1, 2):
        views = query.views(version)
        assert set(views) == {"sums", "same"}
        for view in views.values():
            rows = view.frame(spark).toArrow()
            assert rows.column_names == view.arrow().column_names == view.polars().columns
            assert added([rows]) == added([view.arrow()])
            assert view._repr_html_().count("<tr>") == 1 + rows.num_rows
    assert added([query.view("sums", 1).arrow()]) == {("b", 4): 1, ("c", 5): 1}
    assert added([query.views()["sums"].arrow()]) == EXPECTED
    assert query.view("same").value() == {"b": 3, "c": 1}


def test_views_without_columns(spark, tmp_path):
    flow = flo.Flow("odd")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("keyed", numbers.key_by(parity))
    flow.output("nested", numbers.batch(2))
    flow.output("largest", numbers.to_bag().fold_lattice(flo.Max))
    source = stream(spark, flo.Sequence[int], [[1, 2, 3], [4, 5]], tmp_path / "numbers")
    query = flow.on(spark).start(
        {"numbers": source},
        checkpoint=tmp_path / "checkpoint",
        order={"numbers": "_position"},
        trigger={"availableNow": True},
    )
    query.wait()
    assert query.view("keyed").value() == {0: [2, 4], 1: [1, 3, 5]}
    assert sorted(map(tuple, query.view("keyed").frame(spark).collect())) == [(0, 2), (0, 4), (1, 1), (1, 3), (1, 5)]
    assert query.view("nested").value() == [[1, 2], [3, 4]]
    assert query.view("nested").arrow().to_pydict() == {"stream": [0, 0, 1, 1], "value": [1, 2, 3, 4]}
    assert query.view("largest").arrow().to_pydict() == {"value": [5]}
    assert "<td>5</td>" in query.view("largest")._repr_html_()
    with pytest.raises(flo.TypeMismatch, match="which has no columns: sinks take rows"):
        flow.on(spark).start(
            {"numbers": source}, {"nested": "memory"}, checkpoint=tmp_path / "other", order={"numbers": "_position"}
        )


def test_what_run_gives_outlives_the_run(spark):
    flow = flo.Flow("bounded")
    sales = flow.input("sales", flo.ZSet[Sale], bounded=True)
    flow.output("sums", sales.group_by("shop").agg(sum=flo.sum("price")))
    flow.output("count", sales.agg(n=flo.count()))
    found = flow.on(spark).run(sales=spark.createDataFrame([("a", 1), ("a", 2)], ["shop", "price"]))
    assert added([found["sums"].toArrow()]) == {("a", 3): 1}
    assert found["sums"].count() == 1


def test_a_fault_in_a_sink(spark, tmp_path):
    """The micro-batch is not committed, and comes again."""
    seen = []

    def gives_up(changes: pa.Table, version: int) -> None:
        seen.append(version)
        if len(seen) == 2:
            raise RuntimeError("gave up")

    class Named(Sink):
        keeps_weight = True
        known: ClassVar[list[tuple[str, int]]] = []

        def take(self, given: OutputChanges) -> None:
            self.known.append((given.checkpoint, given.version))

    flow = sums()
    flow.output("named", flow._outputs["same"])
    with pytest.raises(RuntimeError, match="gave up") as caught:
        started(spark, flow, tmp_path, {"sums": gives_up, "named": Named()})
    assert "the output `sums`, at version 1" in caught.value.__notes__[0]
    query = started(spark, flow, tmp_path, {"sums": gives_up, "named": Named()})
    assert seen == [0, 1, 1, 2]
    name = read_description(str(tmp_path / "checkpoint"))["id"]
    assert Named.known == [(name, 0), (name, 1), (name, 2)]
    with pytest.raises(flo.UnknownNameError, match="diverts no rows"):
        query.diverted("sales")
    assert query.view("same").value() == {"b": 3, "c": 1}


def test_a_result_that_is_cut_off_reaches_no_sink(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark gives what it has read, without an error, when the JVM dies while it collects."""
    calls: list[int] = []
    monkeypatch.setattr(DataFrame, "collect", lambda self: [])
    query = (
        sums()
        .on(spark)
        .start(
            {"sales": stream(spark, flo.ZSet[Sale], [{Sale("a", 1): 1}], tmp_path / "in")},
            {"sums": lambda changes, version: calls.append(version)},
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
        )
    )
    with pytest.raises(EngineError, match=r"0 of \d+ task reports"):
        query.wait()
    assert calls == []

"""Inputs: what DataFrames are taken, as what, and what becomes of rows that are not."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.spark.shipping import packed_in
from tests.spark.sources import files, stream


class Sale(NamedTuple):
    shop: str
    price: int


NOW = {"availableNow": True}
ODD = [
    pa.table({"shop": ["a", None, "b"], "price": [1, 2, 0]}),
    pa.table({"shop": ["c", "d"], "price": [5, None]}),
]


def shares() -> flo.Flow:
    flow = flo.Flow("shares")
    flow.output("shares", flow.input("sales", flo.Bag[Sale]).map(lambda sale: 10 // sale.price))
    return flow


@pytest.mark.slow
def test_rows_that_cannot_be_taken_are_put_aside(spark, tmp_path):
    query = (
        shares()
        .on(spark)
        .start(
            {"sales": files(spark, ODD, tmp_path / "sales")}, checkpoint=tmp_path / "c", trigger=NOW, on_error="divert"
        )
    )
    query.wait()
    assert query.view("shares").value() == {10: 1, 2: 1}
    assert [each.diverted for each in query.progress] == [{"sales": 2}, {"sales": 1}]
    aside = query.diverted("sales").to_pylist()
    reasons = {row["row"]: row["reason"] for row in aside}
    assert len(aside) == 3
    assert "`shop` is null" in reasons["{'shop': None, 'price': 2}"]
    assert "ZeroDivisionError" in reasons["{'shop': 'b', 'price': 0}"]
    assert "`price` is null" in reasons["{'shop': 'd', 'price': None}"]
    with pytest.raises(flo.UnknownNameError):
        query.diverted("sale")


@pytest.mark.slow
def test_a_sink_for_what_is_put_aside(spark, tmp_path):
    outputs = {"sales diverted": "memory", "shares": "noop"}
    query = (
        shares()
        .on(spark)
        .start(
            {"sales": files(spark, ODD, tmp_path / "sales")},
            outputs,
            checkpoint=tmp_path / "c",
            trigger=NOW,
            on_error="divert",
        )
    )
    query.wait()
    assert [table.num_rows for table in query.changes("sales diverted")] == [2, 1]
    assert query.diverted("sales").num_rows == 1, "of the last turn, which may come again"


@pytest.mark.slow
def test_a_run_puts_rows_aside(spark):
    flow = flo.Flow("bounded")
    flow.output("count", flow.input("sales", flo.Bag[Sale], bounded=True).count())
    found = flow.on(spark).run(sales=spark.createDataFrame(pa.concat_tables(ODD)), on_error="divert")
    assert found["sales diverted"].count() == 2
    with pytest.raises(flo.ElementError, match="a row of `sales` does not fit: `shop` is null") as caught:
        flow.on(spark).run(sales=spark.createDataFrame(ODD[0]))
    assert 'on_error="divert"' in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_micro_batches_as_inner_streams(spark, tmp_path, shards):
    flow = flo.Flow("batches")
    batches = flow.input("numbers", flo.Nested[flo.Sequence[int]])
    flow.output("sums", batches.nest(lambda batch: batch.sum()))
    source = stream(spark, flo.Sequence[int], [[1, 2, 3], [4, 5], [6]], tmp_path / "numbers")
    query = flow.on(spark).start(
        {"numbers": source}, checkpoint=tmp_path / "c", order={"numbers": "_position"}, shards=shards, trigger=NOW
    )
    query.wait()
    assert query.view("sums").value() == flow.run(numbers=[[1, 2, 3], [4, 5], [6]])["sums"] == [[6], [9], [6]]


def kafka(partitions: list[int], offsets: list[int]) -> pa.Table:
    return pa.table({"value": offsets, "partition": pa.array(partitions, pa.int32()), "offset": offsets})


@pytest.mark.slow
def test_offsets_are_an_order(spark, tmp_path):
    flow = flo.Flow("kafka")
    flow.output("running", flow.input("numbers", flo.Sequence[int]).scan(0, lambda total, n: total + n))
    turns = [kafka([0, 0], [2, 1]), kafka([0], [5])]
    query = flow.on(spark).start(
        {"numbers": files(spark, turns, tmp_path / "one")}, checkpoint=tmp_path / "c", trigger=NOW
    )
    query.wait()
    assert query.view("running").value() == [1, 3, 8]
    source = files(spark, [kafka([0, 1], [1, 1])], tmp_path / "two")
    query = flow.on(spark).start({"numbers": source}, checkpoint=tmp_path / "c2", trigger=NOW)
    with pytest.raises(flo.OrderError, match="each partition of its source has its own order"):
        query.wait()


def refused(spark: Any, flow: flo.Flow, inputs: dict[str, Any], outputs: Any = None, **options: Any) -> str:
    with pytest.raises(flo.FloError) as caught:
        flow.on(spark).start(inputs, outputs, checkpoint="/nowhere/at all", **options)
    return str(caught.value)


def test_what_cannot_be_bound_is_refused_with_the_users_line(spark, tmp_path):
    sales = files(spark, ODD, tmp_path / "sales")
    flow = shares()
    assert "no input called `sale`" in refused(spark, flow, {"sale": sales})
    assert "no output called `share`" in refused(spark, flow, {"sales": sales}, {"share": "noop"})
    assert "`sales diverted`" in refused(spark, flow, {"sales": sales}, {"sales diverted": "noop"})
    assert "which is no sink" in refused(spark, flow, {"sales": sales}, {"shares": "nowhere"})
    assert "was given no DataFrame" in refused(spark, flow, {})
    assert "takes a DataFrame, and was given list" in refused(spark, flow, {"sales": [1]})
    assert "on_error" in refused(spark, flow, {"sales": sales}, on_error="drop")
    assert "test_inputs.py" in refused(spark, flow, {"sales": sales}, {"shares": 7})
    bounded = flo.Flow("bounded")
    bounded.output("count", bounded.input("sales", flo.Bag[Sale], bounded=True).count())
    assert "is bounded, and a streaming DataFrame may never end" in refused(spark, bounded, {"sales": sales})


def test_what_does_not_fit_is_refused_before_it_runs(spark, tmp_path):
    def taking(of: Any, **order: str) -> str:
        flow = flo.Flow("one")
        flow.output("same", flow.input("sales", of))
        source = files(spark, ODD, tmp_path / "sales")
        with pytest.raises(flo.FloError) as caught:
            flow.on(spark).start({"sales": source}, checkpoint=tmp_path / "c", order=order)
        return str(caught.value)

    assert "rows of a DataFrame have no order" in taking(flo.Sequence[Sale])
    assert "has no column `at`" in taking(flo.Sequence[Sale], sales="at")
    assert "no input called `others`" in taking(flo.Bag[Sale], others="at")
    assert "no elements of it" in taking(flo.Keyed[str, flo.Bag[int]])

    class Other(NamedTuple):
        city: str

    assert "there is no column `city`" in taking(flo.Bag[Other])


def test_what_is_shipped(tmp_path):
    """Tasks of a worker that has only what it got run the same."""
    archive = packed_in(tmp_path)
    assert not [name for name in zipfile.ZipFile(archive).namelist() if "__pycache__" in name]
    code = "import flo.spark.tasks, narwhals; print(flo.__file__, narwhals.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(archive)}, capture_output=True, check=True
    )
    assert found.stdout.decode().split() == [f"{archive}/flo/__init__.py", f"{archive}/narwhals/__init__.py"]

"""Inputs: what DataFrames are taken, as what, and what becomes of rows that are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.shards.plan.explain import NATIVE
from flo.shards.plan.rewrites import rewrites
from flo.shards.tasks.input_task import RowReader
from flo.shards.tasks.shard_record import ShardRecord
from flo.spark.driver.shipping import build_archive
from flo.spark.on_spark import OnSpark
from tests.spark.harness import frame
from tests.spark.programs import Case, together
from tests.spark.simulated import NO_SPARK, simulated
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


def tenth(sale: Sale) -> int:
    return 10 // sale.price


def with_key() -> flo.Flow:
    flow = flo.Flow("with a key")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("sums", sales.group_by(key=tenth).agg(sum=flo.sum("price")))
    flow.output("pairs", sales.join(sales, tenth, tenth))
    return flow


def test_a_function_that_says_to_which_shard_names_its_operator(tmp_path):
    with pytest.raises(flo.FunctionError, match=r"`(agg|join)` raised ZeroDivisionError") as caught:
        simulated(with_key(), {"sales": {Sale("a", 2): 1, Sale("b", 0): 1}}, tmp_path, parts=1, shards=3, seed=0)
    assert "Sale(shop='b', price=0)" in str(caught.value)
    assert "test_inputs.py" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_rows_that_go_to_no_shard_are_put_aside(spark, tmp_path, shards):
    source = files(spark, [ODD[0].filter(pa.array([True, False, True])), ODD[1].slice(0, 1)], tmp_path / "sales")
    options = {"checkpoint": tmp_path / "c", "trigger": NOW, "on_error": "divert", "shards": shards}
    query = with_key().on(spark).start({"sales": source}, **options)
    query.wait()
    assert query.view("sums").value() == {(10, 1): 1, (2, 5): 1}
    assert query.view("pairs").value() == {(sale, sale): 1 for sale in (Sale("a", 1), Sale("c", 5))}
    (aside,) = query.diverted("sales").to_pylist()
    assert "ZeroDivisionError" in aside["reason"]


@pytest.mark.slow
def test_rows_stay_in_order_where_a_map_overwrites_the_column_that_says_it(spark):
    flow = flo.Flow("swapped")
    sales = flow.input("sales", flo.Sequence[Sale], bounded=True)
    flow.output("swapped", sales.filter(nw.col("price") != 3).map({"price": "shop", "offset": "price"}))
    assert flow.on(spark).explain().count(NATIVE) == 2
    rows = [Sale("d", 4), Sale("c", 3), Sale("b", 2), Sale("a", 1)]
    source = spark.createDataFrame(rows, "shop string, price long")
    found = flow.on(spark).run(sales=source, order={"sales": "price"})
    assert [tuple(row) for row in found["swapped"].collect()] == [("a", 1), ("b", 2), ("d", 4)]


def test_the_same_inputs_are_read_in_the_same_way(spark, tmp_path):
    def start(order: str, streaming: bool) -> Any:
        flow = flo.Flow("two inputs")
        flow.output("numbers", flow.input("numbers", flo.Sequence[int]))
        flow.output("sales", flow.input("sales", flo.Bag[Sale]))
        rows = pa.table({"value": [5, 6], "an int": [1, 2], "a.text": ["a", "b"]})
        frames = {
            "numbers": files(spark, [rows], tmp_path / "numbers"),
            "sales": files(spark, ODD[1:], tmp_path / "sales"),
        }
        if not streaming:
            frames["sales"] = spark.read.schema(frames["sales"].schema).parquet(str(tmp_path / "sales"))
        options = {"checkpoint": tmp_path / order, "order": {"numbers": order}, "trigger": NOW, "on_error": "divert"}
        query = flow.on(spark).start(frames, **options)
        query.wait()
        return query

    query = start("a.text", True)
    assert query.view("numbers").value() == [5, 6]
    with pytest.raises(flo.UnknownNameError, match="no output called `number`"):
        query.view("number")
    start("a.text", True)
    shutil.copytree(tmp_path / "a.text", tmp_path / "an int")
    with pytest.raises(flo.CheckpointError, match="numbers"):
        start("an int", True)
    with pytest.raises(flo.CheckpointError, match="sales"):
        start("a.text", False)


def test_a_moment_with_a_zone_is_no_moment_without_one(spark):
    flow = flo.Flow("moments")
    flow.output("moments", flow.input("moments", flo.Bag[datetime], bounded=True))
    given = spark.createDataFrame([(datetime(2024, 1, 1),)], "value timestamp")
    with pytest.raises(flo.ElementError, match="timestamp_ntz"):
        flow.on(spark).run(moments=given)


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
    assert query.diverted("sales").num_rows == 1, "of the last micro-batch, which may come again"


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
@pytest.mark.parametrize("shards", [pytest.param(1, marks=pytest.mark.thorough), 2])
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
    with pytest.raises(flo.OrderError, match="its source has several partitions"):
        query.wait()


def placed(*turns: pa.Array) -> str:
    """What the micro-batches of a sequence with these positions are refused with; nothing if they are taken."""
    record, delivery = ShardRecord(), SimpleNamespace(name="numbers to one place")
    try:
        for positions in turns:
            record = ShardRecord.read((), json.loads(json.dumps(record.more([]))))  # as after a restart
            record.sort_by_position(delivery, pa.table({"@": positions}), "@")  # type: ignore[arg-type]
    except flo.ElementError as error:
        return str(error)
    return ""


def moments(zone: str, *hours: int) -> pa.Array:
    times = [datetime(2024, 10, 26, 20, tzinfo=UTC) + timedelta(hours=hour) for hour in hours]
    return pa.array(times, pa.timestamp("us", zone))


RISING: list[pa.Array] = [
    pa.array([9, 10, 11]),
    pa.array([-9.5, 9.5, 10.5]),
    pa.array([float("-inf"), 1e16, float("inf")]),
    pa.array([Decimal("-10.5"), Decimal("9.5"), Decimal("12345678901234567890123456789012.3")], pa.decimal128(38, 1)),
    pa.array([date(999, 1, 1), date(1969, 1, 1), date(2024, 1, 1)]),
    moments("Europe/Oslo", 3, 4, 5),  # when the clocks are set back
    moments("UTC", 3, 4, 5),
    pa.array(["B", "a", "é"]),
]


@pytest.mark.parametrize("positions", RISING, ids=lambda positions: str(positions.type))
def test_positions_of_every_type_are_compared_across_turns(positions):
    one, two, three = (positions.slice(place, 1) for place in range(3))
    assert not placed(one, two, three)
    assert not placed(positions.slice(0, 2).take(pa.array([1, 0])), three)
    assert f"arrived after one at {three[0]}" in placed(one, three, two)
    assert f"two rows have the position {two[0]}," in placed(one, two, two)
    assert f"two rows have the position {two[0]}," in placed(one, pa.concat_arrays([two, three, two]))


@pytest.mark.parametrize("place", [None, float("nan")])
def test_a_row_without_a_place_does_not_fit(place):
    flow = flo.Flow("one")
    flow.output("same", flow.input("numbers", flo.Sequence[int]))
    reader = RowReader("numbers", OnSpark(flow, NO_SPARK)._plan.entries[0], lambda entry, rows: rows, "at")
    rows = pa.table({"value": [1, 2], "at": pa.array([1.5, place], from_pandas=False)})
    with pytest.raises(flo.ElementError, match=r"a row of `numbers` does not fit: `at` is (null|nan)") as caught:
        list(reader.read(rows))
    assert 'on_error="divert"' in str(caught.value)
    assert [taken.size() for taken in reader.read(rows.slice(0, 1))] == [1]


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
    assert "must have a sink" in refused(spark, flow, {"sales": sales}, {"shares": "nowhere"})
    assert "has no DataFrame" in refused(spark, flow, {})
    assert "needs a DataFrame; got list" in refused(spark, flow, {"sales": [1]})
    assert "on_error" in refused(spark, flow, {"sales": sales}, on_error="drop")
    assert "test_inputs.py" in refused(spark, flow, {"sales": sales}, {"shares": 7})
    for shards in (0, -1, 65_537, "3"):
        assert "must be an integer from 1" in refused(spark, flow, {"sales": sales}, shards=shards)
    for trigger in ({"continuous": "1 second"}, {"availablenow": True}, {"once": True, "availableNow": True}):
        assert "must be one of Spark's micro-batch triggers" in refused(spark, flow, {"sales": sales}, trigger=trigger)
    bounded = flo.Flow("bounded")
    bounded.output("count", bounded.input("sales", flo.Bag[Sale], bounded=True).count())
    assert "is bounded, but its DataFrame is streaming" in refused(spark, bounded, {"sales": sales})


def test_what_does_not_fit_is_refused_before_it_runs(spark, tmp_path):
    def taking(of: Any, **order: str) -> str:
        flow = flo.Flow("one")
        flow.output("same", flow.input("sales", of))
        odd = [table.append_column("tags", pa.array([[1]] * table.num_rows)) for table in ODD]
        source = files(spark, odd, tmp_path / "sales")
        with pytest.raises(flo.FloError) as caught:
            flow.on(spark).start({"sales": source}, checkpoint=tmp_path / "c", order=order)
        return str(caught.value)

    assert "rows of a DataFrame have no order" in taking(flo.Sequence[Sale])
    assert "has no column `at`" in taking(flo.Sequence[Sale], sales="at")
    assert "is array<bigint>, which cannot order its rows" in taking(flo.Sequence[Sale], sales="tags")
    assert "no input called `others`" in taking(flo.Bag[Sale], others="at")
    assert "has no rows that a DataFrame could give" in taking(flo.Keyed[str, flo.Bag[int]])

    class Other(NamedTuple):
        city: str

    assert "the column `city` is missing" in taking(flo.Bag[Other])


class Tagged(NamedTuple):
    shop: str
    price: float
    n: int
    note: str | None


TAGGED = [
    Tagged("a", float("nan"), 2**62, None),
    Tagged("straße", 7.5, 1, "x"),
    Tagged("bb", 5.0, 2 - 2**63, ""),
]
TRIED: dict[str, tuple[Any, bool]] = {
    "nan": (lambda rows: rows.filter(nw.col("price") > 5.0), False),
    "case": (lambda rows: rows.map({"shop": nw.col("shop").str.to_uppercase()}), False),
    "arithmetic": (lambda rows: rows.map({"n": nw.col("n") // 3 - 4}), False),
    "a narrower result": (lambda rows: rows.map({"n": nw.col("shop").str.len_chars()}), False),
    "comparison": (lambda rows: rows.filter(nw.col("n") > 0), True),
    "texts": (lambda rows: rows.filter(nw.col("shop") == "bb"), True),
    "a null": (lambda rows: rows.map({"note": nw.col("note").fill_null("none")}), True),
    "columns": (lambda rows: rows.map({"shop": "shop", "note": "note", "price": "price"}), True),
}


def tagged(built: Any) -> flo.Flow:
    flow = flo.Flow("tagged")
    flow.output("found", built(flow.input("rows", flo.Bag[Tagged], bounded=True)))
    return flow


@pytest.mark.parametrize("case", TRIED)
def test_what_spark_runs_itself(spark, case, capfd):
    built, native = TRIED[case]
    assert ("native" in tagged(built).on(spark).explain()) is native
    assert "ERROR" not in capfd.readouterr().err


def test_what_spark_runs_itself_gives_the_same(spark, monkeypatch):
    """All of them side by side, in one job."""
    flow = together({name: Case(lambda built=built: tagged(built), {}) for name, (built, _) in TRIED.items()}).build()
    with monkeypatch.context() as patch:
        patch.setattr(rewrites, "narrow_inputs", False)  # otherwise it leaves columns out before the others
        assert [bool(each.operators) for each in flow.on(spark)._natives] == [native for _, native in TRIED.values()]
    on_spark = flow.on(spark)
    given = frame(spark, flow._scope.inputs[0].type.collection, TAGGED)
    found = on_spark.run(**{stream.name: given for stream in flow._scope.inputs})
    expected = flow.on(flo.here).run(**{stream.name: TAGGED for stream in flow._scope.inputs})
    for name, table in expected.items():
        assert sorted(map(repr, found[name].toArrow().to_pylist())) == sorted(map(repr, table.to_pylist())), name


def selling(built: Any) -> flo.Flow:
    flow = flo.Flow("selling")
    flow.output("found", built(flow.input("sales", flo.Bag[Sale])))
    return flow


@pytest.mark.parametrize(
    "built",
    [
        lambda sales: sales.map({"shop": "shop"}),
        lambda sales: sales.filter(nw.col("price") > 5),
        lambda sales: sales.filter(nw.col("shop") == "c"),
    ],
    ids=["of a column that is not read", "of a column that is compared", "of a row that is left out"],
)
def test_a_null_is_refused_where_spark_itself_reads_first(spark, tmp_path, built):
    flow = selling(built)
    assert "native" in flow.on(spark).explain()
    query = flow.on(spark).start(
        {"sales": files(spark, ODD[1:], tmp_path / "sales")}, checkpoint=tmp_path / "c", trigger=NOW
    )
    with pytest.raises(flo.ElementError, match="a row of `sales` does not fit: `price` is null") as caught:
        query.wait()
    assert 'on_error="divert"' in str(caught.value)


def test_a_weight_is_refused_where_spark_itself_reads_first(spark, tmp_path):
    rows = pa.table({"shop": ["a", "b"], "price": [1, 2], "_weight": [1, 0]})
    flow = selling(lambda sales: sales.filter(nw.col("shop") == "a"))
    query = flow.on(spark).start(
        {"sales": files(spark, [rows], tmp_path / "sales")}, checkpoint=tmp_path / "c", trigger=NOW
    )
    with pytest.raises(flo.ElementError, match="a row of `sales` does not fit: `_weight` is less than 1"):
        query.wait()


def test_columns_of_other_types_are_fitted_before_they_are_read(spark, tmp_path):
    """A narrower column, of which Spark would have narrower results."""
    rows = pa.table({"shop": ["a", "b"], "price": pa.array([1, 2], pa.int32())})
    flow = selling(lambda sales: sales.filter(nw.col("price") > 1))
    query = flow.on(spark).start(
        {"sales": files(spark, [rows], tmp_path / "sales")}, checkpoint=tmp_path / "c", trigger=NOW
    )
    query.wait()
    assert query.view("found").value() == {Sale("b", 2): 1}


@pytest.mark.slow
def test_what_is_shipped(tmp_path):
    """Tasks of a worker that has only what it got run the same."""
    archive = build_archive(tmp_path)
    assert not [name for name in zipfile.ZipFile(archive).namelist() if "__pycache__" in name]
    code = "import flo.shards.tasks.stage_task, narwhals; print(flo.__file__, narwhals.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(archive)}, capture_output=True, check=True
    )
    assert found.stdout.decode().split() == [f"{archive}/flo/__init__.py", f"{archive}/narwhals/__init__.py"]

"""Integer sums have 38 digits in the state, and 64 bits where they leave the program."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest

import flo
from flo.core.errors import ElementError


class Sale(NamedTuple):
    shop: str
    price: int


class Wide(NamedTuple):
    shop: str
    revenue: flo.Int128


HALF = 2**62
TOO_LARGE = [Sale("a", HALF), Sale("a", HALF), Sale("b", 1)]


def totals(flow: flo.Flow) -> Any:
    return flow.input("sales", flo.ZSet[Sale]).group_by("shop").agg(revenue=flo.sum("price"))


def program() -> flo.Flow:
    flow = flo.Flow("sums")
    flow.output("totals", totals(flow))
    return flow


def test_tables_have_64_bits() -> None:
    flow = program()
    assert flow._outputs["totals"].schema.field("revenue").type == pa.int64()
    table = flow.on(flo.here).run(sales=[Sale("a", 3), Sale("a", 4)])["totals"]
    assert table.schema.field("revenue") == pa.field("revenue", pa.int64(), False)
    assert table.to_pylist() == [{"shop": "a", "revenue": 7, "_weight": 1}]
    assert pl.from_arrow(table)["revenue"].dtype == pl.Int64


def test_a_sum_that_may_be_null_stays_so() -> None:
    class Maybe(NamedTuple):
        shop: str
        price: int | None

    flow = flo.Flow("maybe")
    flow.output("totals", flow.input("sales", flo.ZSet[Maybe]).group_by("shop").agg(revenue=flo.sum("price")))
    table = flow.on(flo.here).run(sales=[Maybe("a", None)])["totals"]
    assert table.schema.field("revenue") == pa.field("revenue", pa.int64())
    assert table["revenue"].to_pylist() == [None]


def test_sums_of_sequences() -> None:
    flow = flo.Flow("sequences")
    flow.output("sums", flow.input("numbers", flo.Sequence[int]).batch(2).nest(lambda b: b.sum()).flatten())
    assert flow.on(flo.here).run(numbers=[1, 2])["sums"].schema.field("value").type == pa.int64()
    with pytest.raises(ElementError, match="`value` of an output is 9223372036854775808") as caught:
        flow.on(flo.here).run(numbers=[HALF, HALF])
    assert 'map(nw.col("value").cast(nw.Decimal(38, 0)))' in str(caught.value)


def test_one_that_does_not_fit_is_an_error_with_its_group() -> None:
    with pytest.raises(ElementError) as caught:
        program().on(flo.here).run(sales=TOO_LARGE)
    text = str(caught.value)
    assert "`revenue` of an output is 9223372036854775808, which does not fit into 64 bits" in text
    assert "{'shop': 'a'}" in text
    assert 'with_columns(revenue=nw.col("revenue").cast(nw.Decimal(38, 0)))' in text


def test_all_digits_on_request() -> None:
    flow = flo.Flow("wide")
    sums = totals(flow)
    flow.output("cast", sums.with_columns(revenue=nw.col("revenue").cast(nw.Decimal(38, 0))))
    flow.output("declared", sums.map(lambda row: Wide(row.shop, row.revenue)))
    for name, table in flow.on(flo.here).run(sales=TOO_LARGE).items():
        assert table.schema.field("revenue").type == pa.decimal128(38, 0), name
        assert sorted(map(int, table["revenue"].to_pylist())) == [1, 2**63]


def test_verbs_after_it_compute_with_all_digits() -> None:
    flow = flo.Flow("after")
    sums = totals(flow)
    flow.output("large", sums.filter(nw.col("revenue") > 2**63 - 1).select("shop"))
    flow.output("less", sums.select("shop", less=(nw.col("revenue") - HALF).cast(nw.Int64)))
    result = flow.on(flo.here).run(sales=TOO_LARGE)
    assert result["large"]["shop"].to_pylist() == ["a"]
    assert sorted(result["less"]["less"].to_pylist()) == [1 - HALF, HALF]


def test_one_that_is_too_large_for_a_while_does_no_harm() -> None:
    loop = program().on(flo.here).loop()
    loop.push(sales=TOO_LARGE)
    loop.push(sales={Sale("a", HALF): -1})
    assert sorted(loop.result()["totals"]["revenue"].to_pylist()) == [1, HALF]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pull_that_raises_leaves_the_changes(workers: int) -> None:
    loop = program().on(flo.here, workers=workers).loop()
    loop.push(sales=TOO_LARGE)
    with pytest.raises(ElementError, match="does not fit into 64 bits") as caught:
        loop.pull("totals")
    assert 'loop.pull("totals")' in str(caught.value)
    loop.push(sales={Sale("a", HALF): -1})
    changes = loop.pull("totals").sort_by("shop").to_pylist()
    assert changes == [{"shop": "a", "revenue": HALF, "_weight": 1}, {"shop": "b", "revenue": 1, "_weight": 1}]
    assert loop.pull("totals").num_rows == 0


def test_views(tmp_path: Path) -> None:
    with program().on(flo.here).start(checkpoint=tmp_path / "checkpoint") as query:
        query.push(sales=[Sale("a", 3)])
        assert query.view("totals").arrow().schema.field("revenue").type == pa.int64()
        query.push(sales=TOO_LARGE)
        with pytest.raises(ElementError, match="does not fit into 64 bits"):
            query.view("totals").arrow()
        assert query.view("totals").value() == {("a", 2**63 + 3): 1, ("b", 1): 1}
        query.push(sales={Sale("a", HALF): -1})
        assert sorted(query.view("totals").polars()["revenue"].to_list()) == [1, HALF + 3]


def test_sinks(tmp_path: Path) -> None:
    outputs = {"totals": flo.Changes(str(tmp_path / "totals"))}
    with program().on(flo.here).start(checkpoint=tmp_path / "checkpoint", outputs=outputs) as query:
        query.push(sales=[Sale("a", 3)])
        (file,) = (tmp_path / "totals").rglob("*.parquet")
        assert pl.read_parquet(file)["revenue"].dtype == pl.Int64
        with pytest.raises(flo.FloError, match="does not fit into 64 bits"):
            query.push(sales=TOO_LARGE)


def test_all_digits_do_not_become_a_float_of_sqlite(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    flow = flo.Flow("wide")
    flow.output("totals", totals(flow).with_columns(revenue=nw.col("revenue").cast(nw.Decimal(38, 0))))
    sink = {"totals": flo.Upsert("sqlite", "totals", {"uri": str(tmp_path / "totals.db")})}
    with flow.on(flo.here).start(sink, checkpoint=tmp_path / "raising") as query:
        query.push(sales=[Sale("b", 2**63 - 2)])
        with pytest.raises(ElementError, match="cannot go to the table") as caught:
            query.push(sales=TOO_LARGE)
    assert "an integer of more than 64 bits" in str(caught.value)
    assert rows_of(tmp_path / "totals.db") == [("b", 2**63 - 2)]
    sink = {"totals": flo.Upsert("sqlite", "totals", {"uri": str(tmp_path / "diverted.db")})}
    with flow.on(flo.here).start(sink, checkpoint=tmp_path / "diverting", on_error="divert") as query:
        query.push(sales=TOO_LARGE)
        (diverted,) = query.diverted("totals").to_pylist()
    assert str(2**63) in diverted["row"]
    assert rows_of(tmp_path / "diverted.db") == [("b", 1)]


def rows_of(file: Path) -> list[Any]:
    with sqlite3.connect(file) as connection:
        return connection.execute("SELECT * FROM totals ORDER BY shop").fetchall()


def test_a_result_of_a_function_that_does_not_fit_says_so() -> None:
    flow = flo.Flow("scan")
    flow.output("totals", flow.input("numbers", flo.Sequence[int]).scan(0, lambda total, n: total + n))
    with pytest.raises(ElementError, match="a result does not fit its columns: an integer has more than 64 bits") as it:
        flow.on(flo.here).run(numbers=[HALF, HALF])
    assert "columns" in str(it.value)
    assert "value: int64" in str(it.value)
    assert "-> flo.Int128" in str(it.value)

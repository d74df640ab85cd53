"""`flow.table`: an input of upserts and deletes by primary key, on every engine."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, TypedDict

import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
from tests.engines.engine import comparable


class Customer(NamedTuple):
    id: int
    name: str
    age: int | None


class Stock(NamedTuple):
    shop: str | None
    item: float
    at: int
    left: Decimal | None


@dataclass(frozen=True)
class Known:
    id: int


class Plain(TypedDict):
    id: int
    name: str


def shop(row: Any = Customer, key: Any = "id", **options: Any) -> flo.Flow:
    flow = flo.Flow("shop")
    rows = flow.table("rows", row, key=key, **options)
    flow.output("rows", rows)
    flow.output("counts", rows.agg(n=flo.count()))
    return flow


def test_it_has_its_key() -> None:
    flow = flo.Flow("shop")
    customers = flow.table("customers", Customer, key="id")
    assert (customers.key, customers.name, str(customers.collection)) == (("id",), "customers", "ZSet[Customer]")
    assert flow.table("stock", Stock, key=["shop", "item"]).key == ("shop", "item")
    assert flow.input("others", flo.Bag[int]).key is None


def test_the_last_change_counts() -> None:
    ann, old, new = Customer(1, "Ann", 30), Customer(2, "Bob", None), Customer(2, "Bob", 40)
    loop = shop().loop()
    loop.push(rows=[ann, old, new, flo.delete(3)])
    loop.run()
    assert loop.pull("rows") == {ann: 1, new: 1}
    loop.push(rows=[flo.delete(1), ann, old, flo.delete(2), flo.delete(2)])
    loop.run()
    assert loop.pull("rows") == {new: -1}


def test_what_deletes() -> None:
    flow = shop(key=["id", "name"])
    ann = Customer(1, "Ann", 30)
    for gone in (flo.delete(1, "Ann"), flo.delete((1, "Ann")), flo.delete(ann), flo.delete(Customer(1, "Ann", None))):
        assert flow.run(rows=[ann, gone])["rows"] == {}
    assert flow.run(rows=[ann, {"id": 1, "name": "Ann", "_deleted": True}])["rows"] == {}
    assert flow.run(rows=[ann, {"id": 1, "name": "Ann", "age": None, "_deleted": False}])["rows"] == {
        Customer(1, "Ann", None): 1
    }
    assert repr(flo.delete(1, "Ann", at=3)) == "flo.delete(1, 'Ann', at=3)"


def test_rows_of_typed_dicts_and_schemas() -> None:
    assert {tuple(row): n for row, n in shop(Plain).run(rows=[{"id": 1, "name": "a"}])["rows"].items()} == {(1, "a"): 1}
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    flow = shop(schema)
    assert len(flow.run(rows=[{"id": 1, "name": "a"}, {"id": 1, "name": None}])["rows"]) == 1
    with pytest.raises(flo.ElementError, match="null in `id`"):
        flow.run(rows=[{"id": None, "name": "a"}])


def test_rows_that_are_all_key() -> None:
    flow = shop(Known)
    assert flow.run(rows=[Known(1), Known(2), Known(2), flo.delete(1)])["rows"] == {Known(2): 1}
    found = flow.on(flo.here).run(rows=pa.table({"id": [1, 2, 1], "_deleted": [False, False, True]}))
    assert found["rows"].to_pylist() == [{"id": 2, "_weight": 1}]


def test_it_can_end() -> None:
    flow = flo.Flow("shop")
    flow.output("rows", flow.table("rows", Customer, key="id", bounded=True).to_bag())
    assert flow.run(rows=[Customer(1, "Ann", 3), Customer(1, "Ann", 4)])["rows"] == {Customer(1, "Ann", 4): 1}


@pytest.mark.every(test=2)
@pytest.mark.parametrize("order_by", [None, "age"])
@pytest.mark.thorough
def test_every_schedule_has_one_outcome(order_by: str | None) -> None:
    flow = shop(order_by=order_by)
    order = {} if order_by is None else {"age": 2}
    changes = [Customer(1, "a", 1), Customer(2, "a", 1), flo.delete(1, **order), Customer(1, "b", 3)]
    assert flow.explore(rows=changes).ok
    assert flo.verify.check(flow, most=2, tries=10).ok


def test_an_order_of_their_own() -> None:
    """The largest counts, whenever it comes; and at one time a row counts more than none, and then the larger."""
    flow = shop(order_by="age")
    changes = [Customer(1, "b", 2), Customer(1, "c", 1), Customer(2, "a", 1), Customer(3, "a", 1), Customer(3, "b", 1)]
    changes += [flo.delete(2, age=2), flo.delete(3, age=1), flo.delete(4, age=9), Customer(4, "a", 8)]
    for seed in range(10):
        random.Random(seed).shuffle(changes)
        for engine in (flow, flow.on(flo.here)):
            loop = engine.loop()
            for change in changes:
                loop.push(rows=[change])
                loop.run()
            assert sorted(_plain(loop.result()["rows"])) == [(1, "b", 2), (3, "b", 1)]


class Seen(NamedTuple):
    id: int
    at: int
    note: str | None


def test_at_one_time_a_row_counts_more_than_a_deletion() -> None:
    flow = shop(Seen, order_by="at")
    for changes in ([Seen(1, 2, None), flo.delete(1, at=2)], [flo.delete(1, at=2), Seen(1, 2, None)]):
        for pieces in ([changes], [[change] for change in changes]):
            for engine in (flow, flow.on(flo.here)):
                loop = engine.loop()
                for piece in pieces:
                    loop.push(rows=piece)
                    loop.run()
                assert _plain(loop.result()["rows"]) == [(1, 2, None)]


def _plain(result: Any) -> list[Any]:
    return [
        tuple(row)[:3] for row in (result if isinstance(result, dict) else (r.values() for r in result.to_pylist()))
    ]


def test_tables_name_what_is_deleted(tmp_path: Any) -> None:
    flow = shop()
    first = pa.table({"name": ["a", "b", "c"], "id": [1, 2, 1], "age": [None, 2, 3], "more": [1, 2, 3]})
    gone = {"id": [2, 1, 3], "name": [None, "d", None], "age": [None, 4, None], "_deleted": [True, None, True]}
    pq.write_table(pa.table(gone), tmp_path / "rows.parquet")
    pl.DataFrame(gone).write_csv(tmp_path / "rows.csv")
    (tmp_path / "rows.jsonl").write_text(pl.DataFrame(gone).write_ndjson())
    for given in (pa.table(gone), pl.DataFrame(gone), *sorted(tmp_path.iterdir())):
        loop = flow.on(flo.here).loop()
        loop.push(rows=first)
        loop.push(rows=given)
        loop.push(rows=pa.table({"id": [5], "_deleted": [True]}))
        assert loop.result()["rows"].to_pylist() == [{"id": 1, "name": "d", "age": 4, "_weight": 1}]


def test_rows_that_do_not_fit_are_diverted() -> None:
    loop = shop().on(flo.here).loop(on_error="divert")
    loop.push(rows=pa.table({"id": [None, 1, 2], "name": ["a", None, "c"], "age": [1, 1, 1]}))
    loop.push(rows=[Customer(3, "a", 1), flo.delete("x"), {"id": 4}])
    loop.push(rows=pa.table({"id": pa.array([None], pa.int64()), "_deleted": [True]}))
    assert sorted(row["id"] for row in loop.result()["rows"].to_pylist()) == [2, 3]
    reasons = loop.diverted["rows"]["reason"].to_pylist()
    assert [reason.split(";")[0] for reason in reasons[:2]] == ["`id` is null", "`name` is null"]
    assert len(reasons) == 5
    with pytest.raises(flo.ElementError, match="column `age` is missing"):
        shop().on(flo.here).run(rows=pa.table({"id": [1, 2], "name": ["a", "b"], "_deleted": [True, False]}))


@pytest.mark.sampled(spark=("order",))
@pytest.mark.parametrize("case", ["key", "keys", "order"])
def test_every_engine_agrees(engine: Any, case: str) -> None:
    """With nulls, NaN, both zeros, and decimals; and a join of a table with itself under its key."""
    rng = random.Random(len(case))
    items, shops = [0.0, -0.0, float("nan"), 1.5], ["a", "ä", ""]
    key, order = {"key": ("item", None), "keys": (["shop", "item"], None), "order": ("item", "at")}[case]

    def change() -> Any:
        row = Stock(rng.choice(shops), rng.choice(items), rng.randrange(9), rng.choice([None, Decimal("1.5")]))
        at = {"at": rng.randrange(9)} if order else {}
        values = (row.shop, row.item) if case == "keys" else (row.item,)
        return flo.delete(*values, **at) if rng.random() < 0.3 else row

    flow = flo.Flow("stock")
    stock = flow.table("stock", Stock, key=key, order_by=order)
    flow.output("stock", stock)
    flow.output("kinds", stock.filter(nw.col("at") > 2).group_by("item").agg(n=flo.count()))
    changes = [change() for _ in range(30)]
    expected = {name: comparable(value) for name, value in flow.run(stock=changes).items()}
    for parts in engine.cuts:
        assert engine.run(flow, {"stock": changes}, parts=parts) == expected

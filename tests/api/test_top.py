"""The first rows of groups in an order, with ties and places, and a part of them: against DuckDB, after every delta."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.core.errors import TypeMismatch
from tests.api.test_over import ORDERS, Sale, deltas, rows_of, sale
from tests.api.window_oracle import expected
from tests.quick import times

pytestmark = pytest.mark.every(check=5, test=2)


def compare(make: Any, wanted: Any, seed: int) -> None:
    """Runs a verb on values and on tables, and compares all rows after every delta."""
    flow = flo.Flow("top")
    flow.output("out", make(flow.input("sales", flo.ZSet[Sale])))
    loops = {"values": flow.loop(negative="allow"), "tables": flow.on(flo.here).loop(negative="allow")}
    weights: Counter[Any] = Counter()
    for chunk in deltas(sale, seed):
        for row, weight in chunk.items():
            weights[row] += weight
        found = wanted({row: weight for row, weight in weights.items() if weight > 0})
        for name, loop in loops.items():
            loop.push(sales=chunk)
            loop.run()
            assert rows_of(loop.result()["out"]) == found, name


def kept(numbered: Counter[Any], low: int, high: int) -> Counter[Any]:
    """The rows whose place is above `low` and not above `high`."""
    return Counter({row: weight for row, weight in numbered.items() if low < int(row[-1]) <= high})


def without_place(rows: Counter[Any]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row, weight in rows.items():
        found[row[:-1]] += weight
    return found


@pytest.mark.parametrize("with_ties", [False, True])
@pytest.mark.parametrize("order", [name for name in ORDERS if name != "none"])
def test_the_first_of_every_group(order, with_ties):
    place = flo.rank() if with_ties else flo.row_number()
    for seed in range(times(2)):
        by = ["shop", None, "note"][seed % 3]

        def numbered(rows: Any, by: Any = by) -> Counter[Any]:
            return kept(expected(Sale, rows, [by] if by else [], ORDERS[order], {"place": place}), 0, 3)

        how: dict[str, Any] = {"by": by, "order_by": ORDERS[order], "with_ties": with_ties}
        compare(lambda sales, how=how: sales.top(3, **how, rank="place"), numbered, seed)
        compare(lambda sales, how=how: sales.top(3, **how), lambda rows: without_place(numbered(rows)), seed + 50)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("offset", [0, 2])
def test_a_part_of_all_rows(order, offset):
    def wanted(rows: Any) -> Counter[Any]:
        places = expected(Sale, rows, [], ORDERS[order], {"place": flo.row_number()})
        return without_place(kept(places, offset, offset + 3))

    compare(lambda sales: sales.limit(3, offset=offset, order_by=ORDERS[order]), wanted, 7)


def test_rows_with_decimals_run_on_tables():
    flow = flo.Flow("top")
    flow.output("out", flow.input("sales", flo.ZSet[Sale]).top(3, order_by=flo.desc("cost"), rank="place"))
    assert "2 on tables, 0 row by row in Python, 0 on values" in str(flow.on(flo.here).explain())


class Row(NamedTuple):
    group: str
    price: float
    note: str | None


def stream() -> Any:
    return flo.Flow("top").input("rows", flo.ZSet[Row])


def test_the_types_of_the_results():
    named = stream().top(2, by="group", order_by=["note", flo.desc(nw.col("price") * 2)], rank="place")
    expected = {"group": str, "price": float, "note": str | None, "place": int}
    assert named.collection.element.__annotations__ == expected
    assert stream().top(2, order_by="note").collection.element is Row
    assert stream().limit(2).collection.element is Row


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rows: rows.top(3), "`top` must get `order_by`"),
        (lambda rows: rows.top(3, "price", with_ties=True), "need `order_by`"),
        (lambda rows: rows.top(3, "price", rank="place"), "need `order_by`"),
        (lambda rows: rows.top(3, "price", order_by="price"), "does not take `key` here"),
        (lambda rows: rows.top(3, order_by="price", rank=1), "must be the name of a column"),
        (lambda rows: rows.top(3, order_by="cost"), "does not have"),
        (lambda rows: rows.limit(-1), "`count` of `limit` must be an integer ≥ 0; got -1"),
        (lambda rows: rows.limit(1, offset="2"), "`offset` of `limit` must be an integer"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(TypeMismatch, match=message):
        make(stream())

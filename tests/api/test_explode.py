"""`explode`: one row for each item of a list column, on every engine, and as DuckDB's `unnest` does it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

import flo
from tests.engines.engine import comparable
from tests.harness import refusal


class Part(NamedTuple):
    item: str
    price: float | None


class Order(NamedTuple):
    id: int
    parts: tuple[Part, ...] | None
    marks: tuple[float | None, ...]


class Listed(NamedTuple):
    id: int
    items: list[int]


ORDERS = [
    Order(1, (Part("a", 1.5), Part("ä", None), Part("a", 1.5)), (1.0, None, math.nan)),
    Order(2, None, ()),
    Order(3, (), (-0.0, 0.0)),
    Order(4, (Part("", math.inf),), (None,)),
]


@pytest.mark.every(test=2)
@pytest.mark.sampled(spark=())
@pytest.mark.parametrize("keep_empty", [False, True])
@pytest.mark.parametrize("column", ["parts", "marks"])
def test_every_engine_agrees_with_duckdb(engine: Any, column: str, keep_empty: bool) -> None:
    flow = flo.Flow("orders")
    for kind in (flo.Sequence, flo.Bag, flo.ZSet):
        orders = flow.input(kind.name.lower(), kind[Order])
        flow.output(kind.name.lower(), orders.explode(column, keep_empty=keep_empty, position="place"))
    weights = {ORDERS[0]: 2, ORDERS[2]: -1, ORDERS[3]: 1, ORDERS[1]: 3}
    data = {"sequence": ORDERS, "bag": [*ORDERS, ORDERS[0]], "zset": weights}
    expected = flow.run(**data, negative="allow")
    for parts in engine.cuts:
        found = engine.run(flow, data, parts=parts)
        assert found == {name: comparable(value) for name, value in expected.items()}
    if engine.name == "values":
        kept = list(map(tuple, expected["sequence"]))
        assert comparable(kept) == comparable(unnested(column, keep_empty))


def unnested(column: str, keep_empty: bool) -> list[Any]:
    rows = pa.Table.from_pylist(
        [{"id": o.id, "parts": o.parts and [p._asdict() for p in o.parts], "marks": list(o.marks)} for o in ORDERS],
        pa.schema(
            [
                ("id", pa.int64()),
                ("parts", pa.list_(pa.struct([("item", pa.string()), ("price", pa.float64())]))),
                ("marks", pa.list_(pa.float64())),
            ]
        ),
    )
    connection = duckdb.connect()
    connection.register("orders", rows)
    listed = f"CASE WHEN len({column}) > 0 THEN {column} ELSE [NULL] END" if keep_empty else column
    found = connection.execute(
        f"SELECT id, parts, marks, item, CASE WHEN len({column}) > 0 THEN place - 1 END "
        f"FROM (SELECT *, unnest({listed}) AS item, "
        f"generate_subscripts({listed}, 1) AS place FROM orders) ORDER BY id, place"
    ).fetchall()
    made = []
    for number, parts, marks, item, place in found:
        whole = None if parts is None else tuple(Part(**part) for part in parts)
        row = Order(number, whole, tuple(marks))
        item = Part(**item) if isinstance(item, dict) else item
        made.append((*row._replace(**{column: item}), place))
    return made


def test_lists_in_sequences() -> None:
    flow = flo.Flow("lists")
    rows = flow.input("rows", flo.Sequence[Listed])
    flow.output("items", rows.explode("items"))
    given = [Listed(1, [3, 4]), Listed(2, []), Listed(3, [5])]
    assert [tuple(row) for row in flow.run(rows=given)["items"]] == [(1, 3), (1, 4), (3, 5)]
    table = flow.on(flo.here).run(rows=pa.table({"id": [1, 2, 3], "items": [[3, 4], [], [5]]}))["items"]
    assert table.to_pylist() == [{"id": 1, "items": 3}, {"id": 1, "items": 4}, {"id": 3, "items": 5}]


def test_it_runs_on_columns_and_keeps_the_types() -> None:
    flow = flo.Flow("orders")
    orders = flow.input("orders", flo.ZSet[Order])
    parts = orders.explode("parts")
    flow.output("names", parts.map({"id": "id", "part": "parts"}).distinct())
    assert "0 row by row in Python" in flow.on(flo.here).explain()
    assert parts.collection.element.__annotations__["parts"] is Part
    assert orders.explode("parts", keep_empty=True).collection.element.__annotations__["parts"] == Part | None
    assert orders.explode("marks").collection.element.__annotations__["parts"] == tuple[Part, ...] | None


def test_the_name_of_the_position_is_new() -> None:
    orders = flo.Flow("orders").input("orders", flo.ZSet[Order])
    assert "the column `id` twice" in str(refusal(lambda: orders.explode("parts", position="id")))
    assert "must be the name of a column" in str(refusal(lambda: orders.explode("parts", position=3)))  # type: ignore[arg-type]

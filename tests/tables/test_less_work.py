"""Less work on tables: drop unread columns, run equal operators once, share traces, run functions as columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.columns import evaluation
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.columns.traced import trace_function
from flo.core.labels import identity
from flo.tables import dataflow
from flo.tables.operators.elementwise import MapTables
from flo.tables.operators.joins import JoinTables
from tests.tables.harness import forms


class Sale(NamedTuple):
    shop: int
    item: str
    price: int
    note: str


class Shop(NamedTuple):
    shop: int
    city: str
    note: str


SALES = [Sale(1, "tea", 3, "x"), Sale(1, "tea", 3, "y"), Sale(2, "cup", 2**62, "x")]
SHOPS = [Shop(1, "Oslo", "a"), Shop(2, "Bergen", "b")]


def streams() -> tuple[flo.Flow, Any, Any]:
    flow = flo.Flow("less")
    return flow, flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])


def joins(flow: flo.Flow) -> list[JoinTables]:
    """The joins of the program on tables, after all data has arrived."""
    loop = flow.on(flo.here).loop()
    inputs = {"sales": SALES, "shops": SHOPS}
    loop.push(**{name: inputs[name] for name in loop._inputs if name in inputs})
    loop.run()
    return [each for each in forms(loop._loop.nodes) if isinstance(each, JoinTables)]


def test_an_expression_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = flo.Flow("less")
    sales = flow.input("sales", flo.ZSet[Sale])
    computed = nw.when(nw.col("price") > 2).then(nw.col("price") + 1).otherwise(nw.lit(0))
    flow.output("out", sales.filter(nw.col("shop") == 1).with_columns(computed=computed))
    loop = flow.on(flo.here).loop()

    def nodes_of(_: object) -> Any:
        raise AssertionError("a delta visits no nodes")

    monkeypatch.setattr(evaluation, "nodes_of", nodes_of)
    loop.push(sales=SALES)
    assert [row["computed"] for row in loop.pull("out").to_pylist()] == [4, 4]


def test_names_in_states_are_for_checkpoints_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flow = flo.Flow("less")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("out", sales.distinct())
    with monkeypatch.context() as patch:
        patch.setattr(dataflow, "ProgramStates", None)
        loop = flow.on(flo.here).loop()
        loop.push(sales=SALES)
        assert loop.pull("out").num_rows == 3
        assert "distinct" in loop.explain()
    loop.checkpoint(tmp_path)
    again = flow.on(flo.here).loop()
    again.restore(tmp_path)
    again.push(sales=SALES)
    assert again.pull("out").num_rows == 0


def test_a_selection_computes_nothing() -> None:
    layout = Layout.of(Sale)
    assert layout is not None
    plain = Expression({"shop": "shop", "what": nw.col("item").alias("x")}, (layout,))
    assert plain.selects
    assert not Expression({"shop": nw.col("shop") + 0}, (layout,)).selects
    assert not Expression({"one": nw.lit(1)}, (layout,)).selects
    table = layout.to_table(SALES)
    assert plain.results(table).to_pylist() == [{"shop": sale.shop, "what": sale.item} for sale in SALES]
    narrow = Layout.of(flo.rows(pa.schema([pa.field("n", pa.int8(), nullable=False)])))
    assert narrow is not None
    widened = Expression({"n": nw.col("n")}, (narrow,))  # a computed integer has 64 bits
    assert not widened.selects
    assert widened.results(pa.table({"n": pa.array([1], pa.int8())})).schema.types == [pa.int64()]


def test_a_join_keeps_the_columns_that_are_read() -> None:
    flow, sales, shops = streams()
    flow.output("out", sales.join(shops, on="shop").group_by("city").agg(n=flo.count(), most=flo.max("price")))
    (join,) = joins(flow)
    assert [set(run.table.column_names) - {"±"} for run in join.left] == [{"shop", "price"}]
    assert [set(run.table.column_names) - {"±"} for run in join.right] == [{"shop", "city"}]
    found = flow.on(flo.here).run(sales=SALES, shops=SHOPS)["out"].to_pylist()
    assert {row["city"]: (row["n"], row["most"]) for row in found} == {"Oslo": (2, 3), "Bergen": (1, 2**62)}


@pytest.mark.parametrize("how", ["semi", "anti", "left", "full"])
def test_a_side_of_which_presence_matters_keeps_all_columns(how: Any) -> None:
    """Rows +1 and -1 that differ in an unread column must not cancel out: one of them is present."""
    flow, sales, shops = streams()
    flow.output("out", sales.join(shops, on="shop", how=how).select("item"))
    given = {"sales": {SALES[0]: 1}, "shops": {Shop(1, "Oslo", "a"): 1, Shop(1, "Oslo", "b"): -1}}
    loops = flow.loop(negative="allow"), flow.on(flo.here).loop(negative="allow")
    for loop in loops:
        loop.push(**given)
        loop.run()
    on_values, on_tables = (loop.result()["out"] for loop in loops)
    assert sorted((row["item"], row["_weight"]) for row in on_tables.to_pylist()) == sorted(
        (row.item, weight) for row, weight in on_values.items()
    )


def test_equal_operators_on_equal_streams_run_once() -> None:
    flow, sales, shops = streams()
    for name in ("one", "other"):
        flow.output(name, sales.join(shops, on="shop").group_by("city").agg(n=flo.count()))
    assert len(joins(flow)) == 1


def test_operators_that_differ_run_each() -> None:
    flow, sales, shops = streams()
    flow.output("one", sales.join(shops.filter(nw.col("city") == "Oslo"), on="shop"))
    flow.output("other", sales.join(shops.filter(nw.col("city") == "Bergen"), on="shop"))
    assert len(joins(flow)) == 2


def test_expressions_of_other_columns_with_one_name_differ() -> None:
    """`x_right` is a column of the second row, or of the first one."""

    class One(NamedTuple):
        k: int
        x_right: int

    class Other(NamedTuple):
        k: int
        x: int

    left, right = Layout.of(One), Layout.of(Other)
    assert left is not None
    assert right is not None
    plain = Expression("x_right", (left, right))
    second = Expression(
        "x_right", (left, right), None, ({"k": "k", "x_right": "own"}, {"k": "k_right", "x": "x_right"})
    )
    assert plain != second
    assert plain == Expression("x_right", (left, right))


def test_joins_on_one_stream_and_key_share_a_trace() -> None:
    flow, sales, shops = streams()
    others = flow.input("others", flo.ZSet[Shop])
    flow.output("one", sales.join(shops, on="shop"))
    flow.output("other", sales.join(others, on="shop", suffix="_2"))
    loop = flow.on(flo.here).loop()
    for number in range(6):
        loop.push(sales=[Sale(number, "tea", number, "z")] * 5, shops=SHOPS, others=SHOPS)
        loop.run()
    one, other = (each for each in forms(loop._loop.nodes) if isinstance(each, JoinTables))
    assert list(map(id, one.left)) == list(map(id, other.left))
    assert not set(map(id, one.right)) & set(map(id, other.right))


LIMIT = 3
FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda s: s.price * 2,
    lambda s: s.price > LIMIT and not s.item.startswith("c"),
    lambda s: s.price if s.item == "tea" else -s.price,
    lambda s: (s.price // 7, s.price % 7),
    lambda s: Shop(s.shop, s.item, s.note),
    lambda s: s.price * 4 // 4,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_a_function_that_runs_as_columns_gives_the_same(function: Callable[[Any], Any]) -> None:
    """Also where an integer leaves 64 bits and comes back."""
    found = trace_function(function, Sale)
    assert found is not None
    assert (found.__name__, identity(found)) == (function.__name__, identity(function))
    flow = flo.Flow("traced")
    flow.output("out", flow.input("sales", flo.Sequence[Sale]).map(function))
    sales = SALES[:2] if function is FUNCTIONS[0] else SALES
    assert [tuple(row.values()) if len(row) > 1 else row["value"] for row in rows(flow, sales)] == [
        tuple(each) if isinstance(each, tuple) else each for each in map(function, sales)
    ]


def rows(flow: flo.Flow, sales: list[Sale]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = flow.on(flo.here).run(sales=sales)["out"].to_pylist()
    return found


class Maybe(NamedTuple):
    n: int | None
    x: float


UNCLEAR: list[Callable[[Any], Any]] = [
    lambda m: m.n is None,
    lambda m: (m.n or 0) + 1,
    lambda m: m.x / m.x,
    lambda m: isinstance(m.x, int),
    lambda m: round(m.x),
    lambda m: m.x // 2,
]


@pytest.mark.parametrize("function", UNCLEAR, ids=range(len(UNCLEAR)))
def test_a_function_of_which_columns_might_compute_something_else_is_called(function: Callable[[Any], Any]) -> None:
    assert trace_function(function, Maybe) is None


def maps(flow: flo.Flow) -> list[MapTables]:
    """The projections of the program on tables."""
    return [each for each in forms(flow.on(flo.here).loop()._loop.nodes) if isinstance(each, MapTables)]


def test_projections_one_after_the_other_are_one() -> None:
    flow = flo.Flow("less")
    sales = flow.input("sales", flo.ZSet[Sale])
    renamed = sales.select("shop", cost="price").rename({"cost": "value"})
    flow.output("out", renamed.with_columns(double=nw.col("value") * 2).select("double", place="shop"))
    (fused,) = maps(flow)
    assert fused.like.f.reads == (("shop", "price"),)
    found = flow.on(flo.here).run(sales=SALES[:2])["out"].to_pylist()
    assert found == [{"double": 6, "place": 1, "_weight": 2}]


@pytest.mark.parametrize("reads_both", [True, False])
def test_what_is_computed_once_is_not_computed_twice(reads_both: bool) -> None:
    flow = flo.Flow("less")
    sales = flow.input("sales", flo.ZSet[Sale])
    doubled = sales.select("shop", double=nw.col("price") * 2)
    flow.output("out", doubled.select(one="double", other="double" if reads_both else "shop"))
    assert len(maps(flow)) == 1 + reads_both
    found = flow.on(flo.here).run(sales=SALES[:1])["out"].to_pylist()
    assert found == [{"one": 6, "other": 6 if reads_both else 1, "_weight": 1}]


def test_a_column_by_two_names_is_read_by_the_next_projection() -> None:
    flow = flo.Flow("less")
    sales = flow.input("sales", flo.ZSet[Sale])
    twice = sales.select(a="price", b="price")
    flow.output("out", twice.select(sum=nw.col("a") + nw.col("b")))
    found = flow.on(flo.here).run(sales=SALES[:1])["out"].to_pylist()
    assert found == [{"sum": 6, "_weight": 1}]

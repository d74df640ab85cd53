"""Medians, quantiles and percentiles on tables: what values give, without reading the group."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.api.aggregates import AggregateSpec
from flo.columns.indices import take_rows
from flo.columns.layout import Layout
from flo.core.checkpoint import decode, encode
from flo.core.graph import Node
from flo.core.term import Lifting, Lowering
from flo.tables.operators import group_parts
from flo.tables.operators.group_by import GroupByTables
from flo.tables.state import merging, ranked, ranks
from flo.tables.state.keys import Keys
from flo.tables.state.order import Order
from flo.tables.state.ranked import Ranked, Span
from flo.tables.state.run import Run
from tests.engines.engine import comparable
from tests.quick import sample
from tests.spark.simulated import as_plain
from tests.tables.patches import colliding, whole_deltas


class Level(IntEnum):
    LOW = 3
    HIGH = 1


class Row(NamedTuple):
    k: str
    i: int
    f: float
    d: Decimal
    n: int | None
    s: str
    day: date
    level: Level
    ok: bool


FLOATS = (0.0, -0.0, 0.1, -2.5, 1e300, 5e-324, float("inf"), float("-inf"), float("nan"))
INTS = (-(2**63), -(2**63) + 1, -1, 0, 1, 2, 2**53 + 1, 2**63 - 1)
AGGREGATES: dict[str, dict[str, Any]] = {
    "ints": {"m": flo.median("i"), "q": flo.quantile("i", 0.3), "p": flo.quantile("i", 0.99)},
    "floats": {"m": flo.median("f"), "q": flo.quantile("f", 0.9), "l": flo.quantile("f", 0.25, interpolation="lower")},
    "decimals": {"m": flo.median("d"), "q": flo.quantile("d", 1 / 3)},
    "nulls": {"m": flo.median("n"), "w": flo.median("i", where=nw.col("ok")), "c": flo.count()},
    "others": {
        "s": flo.quantile("s", 0.5, interpolation="lower"),
        "day": flo.quantile("day", 0.7, interpolation="lower"),
        "level": flo.quantile("level", 0.5, interpolation="lower"),
        "yes": flo.quantile("ok", 0.5, interpolation="lower"),
    },
    "percentiles": {
        f"p{place}": AggregateSpec("percentile", ("f",), None, options)
        for place, options in enumerate(
            [(0.3, False, False, False), (0.3, True, True, False), (0.7, True, False, True), (0.0, False, False, True)]
        )
    },
    "shared": {
        "m": flo.median("i"),
        "low": flo.min("i"),
        "high": flo.max("i"),
        "which": flo.arg_max("s", by="i"),
        "mode": flo.mode("i"),
        "d": flo.count_distinct("i"),
    },
}


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas() -> Iterator[None]:
    yield from whole_deltas()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are read at once and merged at once, so that small groups are searched in several runs."""
    monkeypatch.setattr(ranks, "MOST", 3)
    monkeypatch.setattr(ranks, "PIVOTS", 2)
    monkeypatch.setattr(merging, "SMALLEST_PART", 4)


def draw(rng: random.Random) -> Row:
    return Row(
        rng.choice("aaaaabc"),
        rng.choice(INTS) if rng.random() < 0.3 else rng.randrange(12),
        rng.choice(FLOATS) if rng.random() < 0.5 else rng.random(),
        Decimal(rng.randrange(-999, 999)).scaleb(-2) if rng.random() < 0.9 else Decimal(10**19),
        rng.choice((None, 1, 2, 3)),
        rng.choice(("", "a", "b", "ß")),
        date(2026, 1, rng.randint(1, 9)),
        rng.choice(list(Level)),
        rng.random() < 0.5,
    )


def shuffled(rng: random.Random, count: int) -> list[dict[Row, int]]:
    """Changes in deltas of all sizes, in any order: retractions may come first, and many rows go again."""
    rows = [draw(rng) for _ in range(count)]
    changes = [(row, rng.choice((1, 1, 2, 5))) for row in rows]
    changes += [(row, -weight) for row, weight in rng.sample(changes, count // 2)]
    if rng.random() < 0.5:
        rng.shuffle(changes)
    found: list[dict[Row, int]] = []
    while changes:
        delta = Counter[Row]()
        for row, weight in [changes.pop(0) for _ in range(min(len(changes), rng.choice((1, 1, 5, 40))))]:
            delta[row] += weight
        found.append(dict(delta))
    return found


def expect_same(aggregates: dict[str, Any], deltas: list[dict[Any, int]], *, restore: bool = False) -> None:
    """Runs on values and on tables, which agree after every delta."""
    flow = flo.Flow("quantiles")
    rows = flow.input("rows", flo.ZSet[Row])
    flow.output("groups", rows.group_by("k").agg(**aggregates))
    flow.output("pairs", rows.group_by("k", "ok").agg(**aggregates))
    flow.output("whole", rows.agg(**aggregates))
    here = flow.on(flo.here)
    on_values, on_tables = flow.loop(negative="allow"), here.loop(negative="allow")
    types = dict(zip(flow._outputs, here._dag.output_types, strict=True))
    for step, delta in enumerate(deltas):
        for loop in (on_values, on_tables):
            loop.push(rows=delta)
            loop.run()
        for name, kind in types.items():
            expected, found = on_values.result()[name], as_plain(kind, on_tables.result()[name])
            assert comparable(found) == comparable(expected), (name, step)
        if restore:
            on_tables._loop.nodes[:] = map(restored, on_tables._loop.nodes)


def restored(node: Node) -> Node:
    """The node with its state as it comes from a checkpoint."""
    if not isinstance(node.operator, GroupByTables):
        return node
    lowering = Lowering()
    lifted = Lifting(lowering.names)(decode(encode(lowering(node.operator))))
    assert lifted == node.operator
    return Node(node.state, lifted.with_origins(node.operator), node.origin)


@pytest.mark.every(check=5, test=6)
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("collide", [False, True])
def test_random_changes_give_what_values_give(name: str, collide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if collide:
        colliding(monkeypatch)
    for seed in sample(range(4), step=4):
        expect_same(AGGREGATES[name], shuffled(random.Random(f"{name} {seed}"), 40), restore=seed == 0)


def test_heavy_weights() -> None:
    rows = [draw(random.Random(seed)) for seed in range(9)]
    deltas: list[dict[Any, int]] = [{row: 2**40 + place for place, row in enumerate(rows)}, {rows[0]: -(2**40)}]
    expect_same(AGGREGATES["ints"], [*deltas, {rows[1]: -(2**41)}, {rows[1]: 2**41, rows[2]: -3}])


@pytest.mark.usefixtures("small")
def test_a_value_that_is_owed_does_not_count() -> None:
    """The median of the values that are there, while others were retracted before they came."""
    rows = [draw(random.Random(1))._replace(k="a", i=place) for place in range(40)]
    early = dict.fromkeys(rows[:10], -2)
    expect_same(
        AGGREGATES["shared"], [dict.fromkeys(rows[10:], 1), early, dict.fromkeys(rows, 1), dict.fromkeys(rows, 1)]
    )


def of_rows(count: int, groups: int, *, seed: int = 1, weight: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {"k": rng.integers(0, groups, count), "x": rng.random(count), "_weight": np.full(count, weight)}
    return pa.table(columns)


class Measured(NamedTuple):
    k: int
    x: float


@pytest.mark.parametrize("groups", [1, 5])
def test_a_small_delta_does_not_read_the_group(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the first delta after other groups had changed, of which the results before are not at hand."""
    flow = flo.Flow("medians")
    rows = flow.input("rows", flo.ZSet[Measured])
    flow.output("out", rows.group_by("k").agg(m=flo.median("x"), p=flo.quantile("x", 0.99), low=flo.min("x")))
    loop = flow.on(flo.here).loop()
    loaded = of_rows(100_000 * groups, groups)
    loop.push(rows=loaded)
    loop.run()
    read = count_rows(monkeypatch)
    for place in range(3):
        for delta in (
            of_rows(1, groups, seed=place + 2),
            loaded.slice(place, 1).set_column(2, "_weight", pa.array([-1])),
        ):
            loop.push(rows=delta)
            loop.run()
            assert 0 < sum(read) < 8 * ranks.MOST < loaded.num_rows / groups / 2  # two quantiles, before and after
            read.clear()


def count_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows are taken from here on, each time, to compute aggregates. Merges, which deltas pay for, do not
    count."""
    read: list[int] = []

    def counting(table: pa.Table, indices: Any) -> pa.Table:
        if sys._getframe(1).f_code.co_name != "_consolidate":
            read.append(len(indices))
        return take_rows(table, indices)

    for module in (group_parts, ranks, ranked):
        monkeypatch.setattr(module, "take_rows", counting)
    return read


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", ["int64", "float64", "timestamp[us]", "date32[day]", "uint8"])
def test_a_search_in_each_range_finds_what_one_in_all_finds(
    descending: bool, backwards: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    layout = Layout.of(tuple[int])
    assert layout is not None
    order = Order(("x",), descending, layout, by_text=False)
    numbers = np.sort(rng.integers(0, 20, 60)).astype(kind if kind in ("float64", "uint8") else np.int64)
    if kind == "float64":
        numbers[-5:], numbers[0] = np.nan, -np.inf
    values = pa.array(numbers, pa.float64()) if kind == "float64" else of_kind(numbers, kind)
    if descending != backwards:
        values = values[::-1]
    run = Run((), Keys(np.zeros(60, np.uint64), True), pa.table({"x": values, "±": np.ones(60, np.int64)}))
    asked = values.take(pa.array(rng.integers(0, 60, 30)))
    starts = np.repeat([0, 10, 10], 10)
    span = Span(run, np.arange(30), starts, np.repeat([60, 40, 55], 10), backwards)
    searched = span.since(asked, order)
    monkeypatch.setattr(ranked, "FEW", 0)
    monkeypatch.setattr(ranked, "WORTH_NUMBERS", 60)
    in_all = span.since(asked, order)
    monkeypatch.setattr(Order, "numbers_in_place", lambda *_: None)
    by_values = span.since(asked, order)
    for other in (in_all, by_values):
        assert np.array_equal(searched.starts, other.starts)
        assert np.array_equal(searched.ends, other.ends)


def of_kind(numbers: Any, kind: str) -> pa.Array:
    types = {"int64": pa.int64(), "uint8": pa.uint8(), "timestamp[us]": pa.timestamp("us"), "date32[day]": pa.date32()}
    return pa.array(numbers).cast(pa.int32() if kind == "date32[day]" else pa.array(numbers).type).cast(types[kind])


def test_min_max_and_median_share_the_values() -> None:
    flow = flo.Flow("shared")
    rows = flow.input("rows", flo.ZSet[Measured])
    flow.output("out", rows.group_by("k").agg(m=flo.median("x"), low=flo.min("x"), high=flo.max("x")))
    loop = flow.on(flo.here).loop()
    loop.push(rows=of_rows(10, 2))
    loop.run()
    (operator,) = (node.operator for node in loop._loop.nodes if isinstance(node.operator, GroupByTables))
    assert [trace.rows for trace in operator.traces if type(trace) is Ranked] == [10, 0]


class Long(NamedTuple):
    d: Annotated[Decimal, pa.decimal128(38, 2)]


def test_quantiles_between_decimals_have_the_digits_of_their_column() -> None:
    flow = flo.Flow("long")
    rows = flow.input("rows", flo.ZSet[Long])
    flow.output("out", rows.agg(m=flo.median("d"), q=flo.quantile("d", 0.3), a=flo.avg("d")))
    given = [Long(Decimal("1.25")), Long(Decimal("1.30"))]
    (row,) = flow.run(rows=given)["out"]
    assert row == (Decimal("1.28"), Decimal("1.26"), Decimal("1.28"))
    (result,) = flow.on(flo.here).run(rows=given)["out"].drop(["_weight"]).to_pylist()
    assert tuple(result.values()) == row

"""Aggregates of z-sets on every engine: rows that change, and go, as rows are retracted."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("aggregate verbs", sample=("sum_and_avg_by", "min_and_max"))
DELTAS = ({1: 4, 6: 2}, {6: -2}, {1: -4})
"""The last one takes back all that is left."""


class Sale(NamedTuple):
    shop: str
    item: str | None
    price: int
    weight: float


TEA, CAKE, MORE, NUTS = (
    Sale("a", "tea", 2, 0.1),
    Sale("a", None, 5, 0.2),
    Sale("a", "tea", 7, 0.3),
    Sale("b", "nuts", 3, 0.5),
)
SALES = ({TEA: 1, CAKE: 2, NUTS: 1}, {MORE: 1, CAKE: -1}, {CAKE: -1, NUTS: -1})


def sales(p: Program) -> flo.Stream:
    return p.input(flo.ZSet[Sale], *SALES)


@FAMILY.program
def count(p: Program) -> None:
    """Of all rows there is always one result."""
    p.expect(p.input(flo.ZSet[int], *DELTAS).agg(n=flo.count()), {(6,): 1}, {(4,): 1}, {(0,): 1})
    p.expect(sales(p).agg(n=flo.count(), items=flo.count("item")), {(4, 2): 1}, {(4, 3): 1}, {(2, 2): 1})


@FAMILY.program
def sum_of_plain_elements(p: Program) -> None:
    """The column of a plain element is `value`."""
    numbers = p.input(flo.ZSet[int], *DELTAS)
    sums = numbers.agg(sum=flo.sum("value"), negative=flo.sum(lambda x: -x))
    p.expect(sums, {(16, -16): 1}, {(4, -4): 1}, {(None, None): 1})
    p.expect(numbers.group_by("value").agg(n=flo.count()), {(1, 4): 1, (6, 2): 1}, {(1, 4): 1}, {})


@FAMILY.program
def avg(p: Program) -> None:
    numbers = p.input(flo.ZSet[int], {1: 3, 6: 2}, {6: -2}, {1: -3})
    means = numbers.agg(avg=flo.avg("value"), next=flo.avg(lambda x: x + 1))
    p.expect(means, {(3.0, 4.0): 1}, {(1.0, 2.0): 1}, {(None, None): 1})
    p.expect(sales(p).agg(avg=flo.avg("price")), {(3.75,): 1}, {(4.25,): 1}, {(4.5,): 1})


@FAMILY.program
def count_distinct(p: Program) -> None:
    numbers = p.input(flo.ZSet[int], *DELTAS)
    counts = numbers.agg(all=flo.count_distinct("value"), signs=flo.count_distinct(lambda x: x > 0))
    p.expect(counts, {(2, 1): 1}, {(1, 1): 1}, {(0, 0): 1})
    p.expect(
        sales(p).group_by("shop").agg(items=flo.count_distinct("item"), prices=flo.count_distinct(lambda s: s.price)),
        {("a", 1, 2): 1, ("b", 1, 1): 1},
        {("a", 1, 3): 1, ("b", 1, 1): 1},
        {("a", 1, 2): 1},
    )


@FAMILY.program
def min_and_max(p: Program) -> None:
    numbers = p.input(flo.ZSet[int], *DELTAS)
    found = numbers.agg(min=flo.min("value"), max=flo.max("value"), other=flo.max(lambda x: -x))
    p.expect(found, {(1, 6, -1): 1}, {(1, 1, -1): 1}, {(None, None, None): 1})
    p.expect(
        sales(p).group_by("shop").agg(min=flo.min("price"), max=flo.max(nw.col("price") * 2)),
        {("a", 2, 10): 1, ("b", 3, 6): 1},
        {("a", 2, 14): 1, ("b", 3, 6): 1},
        {("a", 2, 14): 1},
    )


@FAMILY.program
def groups_of_columns_and_functions(p: Program) -> None:
    p.expect(
        sales(p).group_by("shop", "item").agg(n=flo.count()),
        {("a", "tea", 1): 1, ("a", None, 2): 1, ("b", "nuts", 1): 1},
        {("a", "tea", 2): 1, ("a", None, 1): 1, ("b", "nuts", 1): 1},
        {("a", "tea", 2): 1},
    )
    p.expect(
        sales(p).group_by(item=lambda sale: sale.item).agg(n=flo.count()),
        {("tea", 1): 1, (None, 2): 1, ("nuts", 1): 1},
        {("tea", 2): 1, (None, 1): 1, ("nuts", 1): 1},
        {("tea", 2): 1},
    )
    p.expect(
        sales(p).group_by(both=lambda sale: (sale.shop, sale.price > 4)).agg(n=flo.count()),
        {(("a", False), 1): 1, (("a", True), 2): 1, (("b", False), 1): 1},
        {(("a", False), 1): 1, (("a", True), 2): 1, (("b", False), 1): 1},
        {(("a", False), 1): 1, (("a", True), 1): 1},
    )


class Opaque:
    """A class that has no columns."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and (self.name, self.size) == (other.name, other.size)

    def __hash__(self) -> int:
        return hash((self.name, self.size))


def opaque(pair: tuple[str, int]) -> Opaque:
    return Opaque(*pair)


def name_of(given: Opaque) -> str:
    return given.name


def size_of(given: Opaque) -> int:
    return given.size


@FAMILY.program
def elements_without_columns(p: Program) -> None:
    """Functions need no columns; `n` of all rows needs nothing of them."""
    pairs = p.input(flo.ZSet[tuple[str, int]], {("a", 1): 1, ("b", 5): 2}, {("b", 5): -1}, {("a", 1): -1})
    things = pairs.map(opaque)
    by_name = things.group_by(name=name_of).agg(total=flo.sum(size_of), most=flo.max(size_of))
    p.expect(by_name, {("a", 1, 1): 1, ("b", 10, 5): 1}, {("a", 1, 1): 1, ("b", 5, 5): 1}, {("b", 5, 5): 1})
    p.expect(things.agg(n=flo.count(), total=flo.sum(size_of)), {(3, 11): 1}, {(2, 6): 1}, {(1, 5): 1})


@FAMILY.program
def sum_and_avg_by(p: Program) -> None:
    sums = sales(p).group_by("shop").agg(sum=flo.sum("price"), tens=flo.sum(nw.col("price") * 10))
    p.expect(sums, {("a", 12, 120): 1, ("b", 3, 30): 1}, {("a", 14, 140): 1, ("b", 3, 30): 1}, {("a", 9, 90): 1})
    p.expect(
        sales(p).group_by(shop=lambda sale: sale.shop).agg(avg=flo.avg("price")),
        {("a", 4.0): 1, ("b", 3.0): 1},
        {("a", 14 / 3): 1, ("b", 3.0): 1},
        {("a", 4.5): 1},
    )


@FAMILY.program
def sum_of_floats_is_exact(p: Program) -> None:
    """As if what was retracted had never been there, and in any order."""
    rows = p.input(flo.ZSet[float], {1e100: 1, 0.1: 1, 0.2: 1}, {0.3: 1}, {1e100: -1})
    p.expect(rows.agg(sum=flo.sum("value")), {(1e100,): 1}, {(1e100,): 1}, {(0.6,): 1})
    p.expect(
        sales(p).group_by("shop").agg(sum=flo.sum("weight")),
        {("a", 0.5): 1, ("b", 0.5): 1},
        {("a", 0.6): 1, ("b", 0.5): 1},
        {("a", 0.4): 1},
    )


@FAMILY.program
def sum_and_avg_of_decimals(p: Program) -> None:
    prices = p.input(flo.ZSet[Decimal], {Decimal("0.1"): 3}, {Decimal("2.5"): 1}, {Decimal("0.1"): -3})
    p.expect(
        prices.agg(sum=flo.sum("value"), avg=flo.avg("value")),
        {(Decimal("0.3"), Decimal("0.1")): 1},
        {(Decimal("2.8"), Decimal("0.7")): 1},
        {(Decimal("2.5"), Decimal("2.5")): 1},
    )


@FAMILY.program
def the_largest_is_retracted(p: Program) -> None:
    rows = p.input(flo.ZSet[tuple[str, int]], {("a", 1): 1, ("a", 9): 1}, {("a", 9): -1}, {("a", 1): -1, ("b", 4): 1})
    p.expect(rows.group_by(key="0").agg(max=flo.max("1")), {("a", 9): 1}, {("a", 1): 1}, {("b", 4): 1})


@FAMILY.program
def linear(p: Program) -> None:
    """Of one total, and of several: price for each weight."""
    texts = sales(p).group_by("shop").agg(total=flo.linear("price", lambda total: f"{total} in all"))
    p.expect(
        texts,
        {("a", "12 in all"): 1, ("b", "3 in all"): 1},
        {("a", "14 in all"): 1, ("b", "3 in all"): 1},
        {("a", "9 in all"): 1},
    )
    ratio = flo.linear(lambda sale: (sale.price, sale.weight), lambda totals: totals[0] / totals[1])
    p.expect(
        sales(p).group_by(shop=lambda sale: sale.shop).agg(per_weight=ratio),
        {("a", 24.0): 1, ("b", 6.0): 1},
        {("a", 14 / 0.6): 1, ("b", 6.0): 1},
        {("a", 22.5): 1},
    )


@FAMILY.program
def aggregate_of_an_aggregate(p: Program) -> None:
    """The inner rows are retracted, and the outer ones follow."""
    totals = sales(p).group_by("shop").agg(sum=flo.sum("price"))
    p.expect(totals.agg(max=flo.max("sum")), {(12,): 1}, {(14,): 1}, {(9,): 1})


@FAMILY.program
def aggregates_of_inner_streams(p: Program) -> None:
    """A row for each inner stream, also for one without elements."""
    batches = p.input(flo.Sequence[int], [1, 2, 3], bounded=True).batch(2)
    found = batches.nest(lambda batch: batch.to_zset().agg(n=flo.count(), sum=flo.sum("value"))).flatten()
    p.expect(found, {(2, 3): 1, (1, 3): 1})


@FAMILY.on_every_engine
def test_aggregate_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

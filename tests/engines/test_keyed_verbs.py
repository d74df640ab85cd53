"""Verbs of keyed streams on every engine: each key has a stream of its own."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("keyed verbs", sample=("per_key",))


class Sale(NamedTuple):
    shop: str | None
    price: int


TEA, NUTS, CAKE, GIFT = Sale("a", 2), Sale("b", 3), Sale("a", 4), Sale(None, 0)


def running(stream: flo.Stream) -> flo.Stream:
    return stream.scan(0, lambda total, sale: 10 * total + sale.price)


@FAMILY.program
def key_by(p: Program) -> None:
    sales = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE, GIFT])
    p.expect(sales.key_by("shop"), {"a": [TEA], "b": [NUTS]}, {"a": [TEA, CAKE], "b": [NUTS], None: [GIFT]})
    p.expect(
        sales.key_by(lambda sale: sale.price > 2),
        {False: [TEA], True: [NUTS]},
        {False: [TEA, GIFT], True: [NUTS, CAKE]},
    )


@FAMILY.program
def key_by_of_other_collections(p: Program) -> None:
    bag, each = p.input(flo.Bag[Sale], [TEA, TEA], [NUTS]), p.input(flo.Set[Sale], {TEA}, {CAKE, TEA})
    p.expect(bag.key_by("shop"), {"a": {TEA: 2}}, {"a": {TEA: 2}, "b": {NUTS: 1}})
    p.expect(each.key_by("shop"), {"a": {TEA}}, {"a": {TEA, CAKE}})


@FAMILY.program
def key_by_of_a_zset(p: Program) -> None:
    """A key of which nothing is left is gone."""
    rows = p.input(flo.ZSet[Sale], {TEA: 1, NUTS: 1}, {NUTS: -1, CAKE: 2})
    p.expect(rows.key_by("shop").entries(), {("a", TEA): 1, ("b", NUTS): 1}, {("a", TEA): 1, ("a", CAKE): 2})


@FAMILY.program
def map_values(p: Program) -> None:
    prices = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE]).key_by("shop").map_values("price")
    p.expect(prices, {"a": [2], "b": [3]}, {"a": [2, 4], "b": [3]})
    bag = p.input(flo.Bag[Sale], [TEA, CAKE], [TEA]).key_by("shop").map_values(lambda sale: sale.price > 1)
    p.expect(bag, {"a": {True: 2}}, {"a": {True: 3}})
    one = p.input(flo.Set[Sale], {TEA, CAKE}, {NUTS}).key_by("shop").map_values(lambda sale: sale.price > 1)
    p.expect(one, {"a": {True}}, {"a": {True}, "b": {True}})
    rows = (
        p.input(flo.ZSet[Sale], {TEA: 1, NUTS: 1}, {CAKE: 1, TEA: -1}).key_by("shop").map_values(nw.col("price") * 10)
    )
    p.expect(rows.entries(), {("a", 20): 1, ("b", 30): 1}, {("a", 40): 1, ("b", 30): 1})


@FAMILY.program
def filter_keys(p: Program) -> None:
    keyed = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE, GIFT]).key_by("shop")
    p.expect(keyed.filter_keys(lambda shop: shop == "a"), {"a": [TEA]}, {"a": [TEA, CAKE]})
    by_price = p.input(flo.Bag[Sale], [TEA, NUTS], [GIFT]).key_by("price")
    p.expect(by_price.filter_keys(nw.col("value") > 2), {3: {NUTS: 1}}, {3: {NUTS: 1}})


@FAMILY.program
def entries(p: Program) -> None:
    sales, each = p.input(flo.Sequence[Sale], [TEA, TEA], [NUTS]), p.input(flo.Set[Sale], {TEA}, {CAKE})
    p.expect(sales.key_by("shop").entries(), {("a", TEA): 2}, {("a", TEA): 2, ("b", NUTS): 1})
    p.expect(sales.to_bag().key_by("price").entries(), {(2, TEA): 2}, {(2, TEA): 2, (3, NUTS): 1})
    p.expect(each.key_by("shop").entries(), {("a", TEA)}, {("a", TEA), ("a", CAKE)})


@FAMILY.program
def per_key(p: Program) -> None:
    keyed = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE, GIFT], [NUTS]).key_by("shop")
    p.expect(
        keyed.per_key(running),
        {"a": [2], "b": [3]},
        {"a": [2, 24], "b": [3], None: [0]},
        {"a": [2, 24], "b": [3, 33], None: [0]},
    )
    p.expect(
        keyed.per_key(lambda stream: stream.enumerate().map("0")).entries(),
        {("a", 0): 1, ("b", 0): 1},
        {("a", 0): 1, ("b", 0): 1, ("a", 1): 1, (None, 0): 1},
        {("a", 0): 1, ("b", 0): 1, ("a", 1): 1, (None, 0): 1, ("b", 1): 1},
    )


@FAMILY.program
def per_key_of_a_stream_that_ends(p: Program) -> None:
    keyed = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE], bounded=True).key_by("shop")
    p.expect(keyed.per_key(lambda stream: stream.map("price").sum()), {"a": [6], "b": [3]})
    p.expect(keyed.per_key(lambda stream: stream.last()), {"a": [CAKE], "b": [NUTS]})
    p.expect(keyed.per_key(lambda stream: stream.sort(lambda sale: -sale.price).take(1)), {"a": [CAKE], "b": [NUTS]})


@FAMILY.program
def per_key_of_a_zset(p: Program) -> None:
    keyed = p.input(flo.ZSet[Sale], {TEA: 1, NUTS: 1}, {CAKE: 2, NUTS: -1}, {TEA: -1}).key_by("shop")
    counts = keyed.per_key(lambda stream: stream.group_by("price").agg(n=flo.count())).entries()
    p.expect(counts, {("a", (2, 1)): 1, ("b", (3, 1)): 1}, {("a", (2, 1)): 1, ("a", (4, 2)): 1}, {("a", (4, 2)): 1})
    p.expect(
        keyed.per_key(lambda stream: stream.group_by("shop").agg(most=flo.max("price"))).entries(),
        {("a", ("a", 2)): 1, ("b", ("b", 3)): 1},
        {("a", ("a", 4)): 1},
        {("a", ("a", 4)): 1},
    )


@FAMILY.program
def per_key_with_batches_and_windows(p: Program) -> None:
    """Every key has its own batches, and its own time."""
    sales = p.input(flo.Sequence[Sale], [TEA, NUTS, TEA], [NUTS, CAKE])
    batches = sales.key_by("shop").per_key(lambda stream: stream.batch(2).nest(lambda batch: batch.count()).flatten())
    p.expect(batches, {"a": [2], "b": []}, {"a": [2], "b": [2]})
    times = p.input(flo.Sequence[tuple[str, int]], [("a", 1), ("b", 90)], [("a", 5), ("a", 11), ("b", 3)]).key_by("0")

    def sums(stream: flo.Stream) -> tuple[flo.Stream, flo.Stream]:
        windows = stream.tumbling(10, "1")
        return windows.nest(lambda window: window.map("1").sum()).flatten(), windows.late

    closed, late = times.per_key(sums)
    p.expect(closed.entries(), {}, {("a", 6): 1})
    p.expect(late.entries(), {}, {("b", ("b", 3)): 1})


@FAMILY.program
def per_key_of_two_streams(p: Program) -> None:
    sales, names = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE]), p.input(flo.Sequence[str], ["a", "b"], ["a", "c"])
    pairs = (
        sales.key_by("shop")
        .map_values("price")
        .per_key(lambda one, other: one.zip(other), names.key_by(lambda name: name))
    )
    p.expect(
        pairs.entries(),
        {("a", (2, "a")): 1, ("b", (3, "b")): 1},
        {("a", (2, "a")): 1, ("b", (3, "b")): 1, ("a", (4, "a")): 1},
    )


@FAMILY.program
def join_on_keys(p: Program) -> None:
    """Sequences and bags give pairs without an order."""
    sales, others = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE]), p.input(flo.Sequence[Sale], [TEA], [CAKE, GIFT])
    one, other = sales.key_by("shop"), others.key_by("shop")
    p.expect(
        one.join(other), {"a": {(TEA, TEA): 1}}, {"a": {(TEA, TEA): 1, (TEA, CAKE): 1, (CAKE, TEA): 1, (CAKE, CAKE): 1}}
    )
    p.expect(
        one.join(other, into=lambda left, right: left.price + right.price), {"a": {4: 1}}, {"a": {4: 1, 6: 2, 8: 1}}
    )


@FAMILY.program
def join_of_zsets_on_keys(p: Program) -> None:
    one = p.input(flo.ZSet[Sale], {TEA: 1, NUTS: 1}, {CAKE: 1}, {TEA: -1}).key_by("shop")
    other = p.input(flo.ZSet[str], {"a": 2}, {"b": 1}, {"b": -1}).key_by(lambda shop: shop)
    prices = one.join(other, into=lambda sale, shop: sale.price).entries()
    p.expect(prices, {("a", 2): 2}, {("a", 2): 2, ("a", 4): 2, ("b", 3): 1}, {("a", 4): 2})


class Visit(NamedTuple):
    user: str | None
    at: int


class Visits(NamedTuple):
    count: int
    last: int | None


def shift(total: int, sale: Sale) -> int:
    return 10 * total + sale.price


def visited(visits: Visits, visit: Visit) -> Visits:
    return Visits(visits.count + 1, visit.at)


@FAMILY.program
def current(p: Program) -> None:
    """One row for each key, which replaces the one before."""
    sales = p.input(flo.Sequence[Sale], [TEA, NUTS], [CAKE, GIFT])
    totals = sales.key_by("shop").current(0, shift)
    p.expect(totals, {("a", 2): 1, ("b", 3): 1}, {("a", 24): 1, ("b", 3): 1, (None, 0): 1})
    p.expect(totals.agg(most=flo.max("1")), {(3,): 1}, {(24,): 1})


@FAMILY.program
def current_by_a_clock(p: Program) -> None:
    """A key expires when nothing has come for 30, by the clock or by its own next row."""
    visits = p.input(
        flo.Sequence[Visit],
        [Visit("ann", 10), Visit("ann", 25), Visit(None, 30)],
        [Visit("ann", 71), Visit(None, 68)],
        [Visit("bob", 150)],
    )
    clock = visits.clock("at", lateness=5)
    states = clock.rows.key_by("user").current(Visits(0, None), visited, clock=clock, keep=30)
    p.expect(
        states,
        {("ann", Visits(2, 25)): 1, (None, Visits(1, 30)): 1},
        {("ann", Visits(1, 71)): 1, (None, Visits(1, 68)): 1},
        {("bob", Visits(1, 150)): 1},
    )
    gone = {("ann", Visits(2, 25)): 1, (None, Visits(1, 30)): 1}
    p.expect(states.expired, {}, gone, {**gone, ("ann", Visits(1, 71)): 1, (None, Visits(1, 68)): 1})


@FAMILY.on_every_engine
def test_keyed_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

"""Verbs of z-sets on every engine, with rows that are retracted."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("z-set verbs", sample=("top_by_a_column",))
Numbers = flo.ZSet[int]


class Bid(NamedTuple):
    lot: str
    price: int
    who: str | None


LOW, HIGH, OTHER, BEST = Bid("a", 1, None), Bid("a", 5, "ann"), Bid("b", 3, "bob"), Bid("a", 9, None)
BIDS = ({LOW: 1, HIGH: 1, OTHER: 1}, {BEST: 1, LOW: -1}, {BEST: -1})


def repeat(x: int) -> list[int]:
    return [x] * x


@FAMILY.program
def map_adds_the_weights_of_equal_results(p: Program) -> None:
    p.expect(p.input(Numbers, {1: 1, -1: 2}, {1: -1}, {-1: -2}).map(abs), {1: 3}, {1: 2}, {})
    lots = p.input(flo.ZSet[Bid], *BIDS).map("lot")
    p.expect(lots, {"a": 2, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 1})


@FAMILY.program
def filter_by_a_function_and_a_column(p: Program) -> None:
    bids = p.input(flo.ZSet[Bid], *BIDS)
    p.expect(bids.filter(lambda bid: bid.who is None), {LOW: 1}, {BEST: 1}, {})
    p.expect(bids.filter(nw.col("price") > 2), {HIGH: 1, OTHER: 1}, {HIGH: 1, OTHER: 1, BEST: 1}, {HIGH: 1, OTHER: 1})


@FAMILY.program
def flat_map(p: Program) -> None:
    p.expect(p.input(Numbers, {2: 1, 0: 5}, {3: 2, 2: -1}, {3: -1}).flat_map(repeat), {2: 2}, {3: 6}, {3: 3})


@FAMILY.program
def distinct(p: Program) -> None:
    """A row that is owed, with a negative weight, is not there."""
    rows = p.input(Numbers, {1: 2, 2: -1, 3: 1}, {1: -1, 2: 1, 3: -1}, {1: -1, 2: 1})
    p.expect(rows.distinct(), {1: 1, 3: 1}, {1: 1}, {2: 1})
    owners = p.input(flo.ZSet[Bid], *BIDS).map("who")
    p.expect(owners.distinct(), {None: 1, "ann": 1, "bob": 1}, {None: 1, "ann": 1, "bob": 1}, {"ann": 1, "bob": 1})


@FAMILY.program
def negate(p: Program) -> None:
    p.expect(p.input(Numbers, {1: 2, 2: -1}, {1: -2}).negate(), {1: -2, 2: 1}, {2: 1})


@FAMILY.program
def map_weights(p: Program) -> None:
    rows = p.input(Numbers, {1: 2, 3: -1}, {1: -2, 3: 2})
    p.expect(rows.map_weights(lambda x, weight: x * weight), {1: 2, 3: -3}, {3: 3})
    p.expect(rows.map_weights(nw.col("weight") * 10), {1: 20, 3: -10}, {3: 10})


@FAMILY.program
def union_and_minus(p: Program) -> None:
    one, other = p.input(Numbers, {1: 1, 2: 1}, {2: 1}, {1: -1}), p.input(Numbers, {1: 1}, {2: 2}, {1: -1})
    p.expect(one.union(other), {1: 2, 2: 1}, {1: 2, 2: 4}, {2: 4})
    p.expect(one.minus(other), {2: 1}, {}, {})


@FAMILY.program
def to_bag_and_set_at_the_end(p: Program) -> None:
    rows = p.input(Numbers, {1: -1, 2: 2}, {1: 3, 3: 1}, {3: -1}, bounded=True)
    p.expect(rows.to_bag(), {1: 2, 2: 2})
    p.expect(rows.to_set(), {1, 2})


@FAMILY.program
def top(p: Program) -> None:
    """What was second comes back when the first is retracted. A row counts as often as its weight."""
    rows = p.input(Numbers, {5: 1, 3: 2, 1: 1}, {9: 1, 5: -1}, {9: -1, 3: -1})
    p.expect(rows.top(2, lambda x: x), {5: 1, 3: 1}, {9: 1, 3: 1}, {3: 1, 1: 1})
    p.expect(rows.top(2, lambda x: x, descending=False), {1: 1, 3: 1}, {1: 1, 3: 1}, {1: 1, 3: 1})
    p.expect(rows.top(0, lambda x: x), {}, {}, {})


@FAMILY.program
def top_by_a_column(p: Program) -> None:
    bids = p.input(flo.ZSet[Bid], *BIDS)
    p.expect(bids.top(1, "price", by="lot"), {HIGH: 1, OTHER: 1}, {BEST: 1, OTHER: 1}, {HIGH: 1, OTHER: 1})
    p.expect(
        bids.top(1, lambda bid: bid.price, by=lambda bid: bid.who is None),
        {HIGH: 1, LOW: 1},
        {HIGH: 1, BEST: 1},
        {HIGH: 1},
    )


@FAMILY.program
def top_with_a_direction_for_each_column(p: Program) -> None:
    bids = p.input(flo.ZSet[Bid], *BIDS)
    first = bids.top(2, ("lot", "price"), descending=(True, False))
    p.expect(first, {OTHER: 1, LOW: 1}, {OTHER: 1, HIGH: 1}, {OTHER: 1, HIGH: 1})


@FAMILY.on_every_engine
def test_zset_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

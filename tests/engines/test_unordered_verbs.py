"""Verbs of bags and of sets on every engine."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("unordered verbs", sample=("union_of_bags",))
Bag, Set = flo.Bag[int], flo.Set[int]


class Sale(NamedTuple):
    shop: str
    price: int


TEA, COFFEE, CAKE = Sale("a", 2), Sale("b", 3), Sale("a", 4)


def repeat(x: int) -> list[int]:
    return [x] * x


@FAMILY.program
def map_of_a_bag(p: Program) -> None:
    p.expect(p.input(Bag, [1, 2, -1], [1]).map(abs), {1: 2, 2: 1}, {1: 3, 2: 1})
    p.expect(p.input(flo.Bag[Sale], [TEA], [CAKE]).map("shop"), {"a": 1}, {"a": 2})


@FAMILY.program
def map_of_a_set(p: Program) -> None:
    p.expect(p.input(Set, {1, 2, -1}, {-2, 3}).map(abs), {1, 2}, {1, 2, 3})
    p.expect(p.input(flo.Set[Sale], {TEA}, {CAKE}).map("shop"), {"a"}, {"a"})


@FAMILY.program
def filter_of_a_bag_and_a_set(p: Program) -> None:
    p.expect(p.input(Bag, [1, 2], [1, 4]).filter(lambda x: x % 2 == 1), {1: 1}, {1: 2})
    p.expect(p.input(flo.Set[Sale], {TEA}, {COFFEE, CAKE}).filter(nw.col("price") > 2), set(), {COFFEE, CAKE})


@FAMILY.program
def flat_map_of_a_bag_and_a_set(p: Program) -> None:
    p.expect(p.input(Bag, [2], [0, 2]).flat_map(lambda x: [x, x + 1]), {2: 1, 3: 1}, {2: 2, 3: 2, 0: 1, 1: 1})
    p.expect(p.input(Set, {2}, {0, 3}).flat_map(repeat), {2}, {2, 3})


@FAMILY.program
def fold_count_and_sum_of_a_bag(p: Program) -> None:
    numbers = p.input(Bag, [2, 2], [5], bounded=True)
    p.expect(numbers.fold(1, lambda total, x: total + x), [10])
    p.expect(numbers.count(), [3])
    p.expect(numbers.sum(), [9])
    p.expect(numbers.sort(), [2, 2, 5])
    p.expect(numbers.sort(lambda x: -x), [5, 2, 2])


@FAMILY.program
def fold_count_and_sum_of_a_set(p: Program) -> None:
    numbers = p.input(Set, {2, 3}, {2, 5}, bounded=True)
    p.expect(numbers.fold(1, lambda total, x: total + x), [11])
    p.expect(numbers.count(), [3])
    p.expect(numbers.sum(), [10])
    p.expect(numbers.sort(), [2, 3, 5])
    p.expect(p.input(flo.Set[Sale], {CAKE}, {TEA, COFFEE}, bounded=True).sort("price"), [TEA, COFFEE, CAKE])


@FAMILY.program
def to_other_collections(p: Program) -> None:
    bag, numbers = p.input(Bag, [1, 1], [2, 1]), p.input(Set, {1}, {1, 2})
    p.expect(bag.to_set(), {1}, {1, 2})
    p.expect(bag.to_zset(), {1: 2}, {1: 3, 2: 1})
    p.expect(numbers.to_bag(), {1: 1}, {1: 1, 2: 1})
    p.expect(numbers.to_zset(), {1: 1}, {1: 1, 2: 1})


@FAMILY.program
def union_of_bags(p: Program) -> None:
    p.expect(p.input(Bag, [1, 2], [1]).union(p.input(Bag, [1], [3, 3])), {1: 2, 2: 1}, {1: 3, 2: 1, 3: 2})


@FAMILY.program
def union_of_sets(p: Program) -> None:
    p.expect(p.input(Set, {1, 2}, {3}).union(p.input(Set, {1}, {3, 4})), {1, 2}, {1, 2, 3, 4})


@FAMILY.program
def intersection_and_difference(p: Program) -> None:
    left, right = p.input(Set, {1, 2}, {3}), p.input(Set, {2, 4}, {1})
    p.expect(left.intersection(right), {2}, {1, 2})
    gone = p.input(Set, {2}, {3, 9}, bounded=True)
    p.expect(left.difference(gone), {1})
    p.expect(left.difference(p.flow.constant(Set, {2})), {1}, {1, 3})


@FAMILY.program
def join_of_bags(p: Program) -> None:
    """A pair is there as often as both of its sides together."""
    left, right = p.input(flo.Bag[Sale], [TEA, TEA], [CAKE]), p.input(flo.Bag[str], ["a"], ["a", "c"])
    pairs = left.join(right, "shop", lambda shop: shop)
    p.expect(pairs, {(TEA, "a"): 2}, {(TEA, "a"): 4, (CAKE, "a"): 2})
    prices = left.join(right, lambda sale: sale.shop, lambda shop: shop, lambda sale, shop: sale.price)
    p.expect(prices, {2: 2}, {2: 4, 4: 2})


@FAMILY.program
def join_of_sets(p: Program) -> None:
    left, right = p.input(flo.Set[Sale], {TEA, CAKE}, {COFFEE}), p.input(flo.Set[str], {"a"}, {"b", "c"})
    p.expect(
        left.join(right, "shop", lambda shop: shop),
        {(TEA, "a"), (CAKE, "a")},
        {(TEA, "a"), (CAKE, "a"), (COFFEE, "b")},
    )
    p.expect(left.join(right, "shop", lambda shop: shop, lambda sale, shop: shop), {"a"}, {"a", "b"})


@FAMILY.program
def join_of_nodes_with_edges(p: Program) -> None:
    nodes, edges = p.input(Set, {1}, {3}), p.input(flo.Set[tuple[int, int]], {(1, 2), (3, 4)}, {(1, 5)})
    p.expect(nodes.join(edges), {2}, {2, 4, 5})


@FAMILY.on_every_engine
def test_unordered_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

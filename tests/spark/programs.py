"""Programs to run in three ways: those of the gallery, those with corners, and those that are drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from examples import auctions
from examples.paper import (
    all_together,
    composition,
    incremental_join,
    motivating,
    reachability,
    threshold,
    windowed_aggregation,
)

Data = dict[str, Any]
Pair = tuple[int, int]


class Case(NamedTuple):
    build: Callable[[], flo.Flow]
    data: Data


class Part:
    """A program within a larger one: the names of its inputs and outputs begin with its own."""

    def __init__(self, whole: flo.Flow, name: str) -> None:
        self.whole, self.name = whole, name

    def input(self, name: str, collection: Any, **options: Any) -> Any:
        return self.whole.input(f"{self.name} {name}", collection, **options)

    def constant(self, collection: Any, data: Any) -> Any:
        return self.whole.constant(collection, data)

    def output(self, name: str, stream: Any) -> None:
        self.whole.output(f"{self.name} {name}", stream)


def together(cases: Mapping[str, Case]) -> Case:
    """Programs side by side in one flow: one query runs them all."""
    whole, data = flo.Flow(", ".join(cases)), {}
    for name, case in cases.items():
        part = Part(whole, name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flo, "Flow", lambda _, part=part: part)
            case.build()
        data |= {f"{name} {each}": items for each, items in case.data.items()}
    return Case(lambda: whole, data)


def readme() -> flo.Flow:
    flow = flo.Flow("shop")
    orders = flow.input("orders", flo.Sequence[tuple[str, int, int]])
    windows = orders.tumbling(60, time=lambda order: order[2], lateness=5)
    revenue = windows.nest(lambda window: window.map(lambda order: order[1]).sum())
    flow.output("revenue", revenue)
    flow.output("record", revenue.flatten().fold_lattice(flo.Max(int)).event_when_above(100))
    flow.output("late", windows.late)
    return flow


ORDERS = [("ann", 30, 3), ("bob", 80, 20), ("cleo", 10, 62), ("ann", 5, 58), ("bob", 7, 130), ("ann", 9, 50)]
NUMBERS = [50, 40, 30, 20]
READINGS = windowed_aggregation.READINGS


def auction_data(bids: int = 30, seed: int = 0) -> Data:
    """Small auctions, with lots that come and go."""
    rng = random.Random(seed)
    lots = {auctions.Lot(lot, auctions.CATEGORIES[lot % 3]): 1 if lot % 4 else -1 for lot in range(12)}
    seconds = [second + rng.randint(-3, 3) for second in range(10, 10 + bids)]
    drawn = [auctions.Bid(rng.randrange(12), rng.randrange(9), rng.randint(1, 10_000), second) for second in seconds]
    return {"bids": drawn, "lots": lots, "referrals": {(n // 2, n) for n in range(1, 20)}}


GALLERY: dict[str, Case] = {
    "bounded fold": Case(motivating.bounded_fold, {"numbers": NUMBERS}),
    "batched fold": Case(motivating.batched_fold, {"numbers": NUMBERS}),
    "running scan": Case(motivating.running_scan, {"numbers": NUMBERS}),
    "event when above": Case(motivating.event_when_above, {"numbers": NUMBERS}),
    "composition": Case(composition.fluent, {"left": [1, 2, 3], "right": [5, 6, 7, 9]}),
    "reachability": Case(lambda: reachability.within(3), {"edges": reachability.EDGES}),
    "windowed": Case(windowed_aggregation.windowed, {"readings": READINGS}),
    "tumbling": Case(windowed_aggregation.tumbling, {"readings": READINGS}),
    "votes": Case(threshold.votes, {"ballots": ["ann", "bob", "ann", "cleo"]}),
    "final read": Case(threshold.final_read, {"numbers": [3, 9, 4]}),
    "incremental join": Case(
        incremental_join.orders_with_cities,
        {"orders": {("ann", 5): 1, ("bob", 7): 2}, "customers": {("ann", "Oslo"): -1, ("bob", "Rome"): 1}},
    ),
    "all together": Case(all_together.monitor, {"bids": all_together.BIDS, "blocked": {"ann": 1}}),
    "auctions": Case(auctions.auctions, auction_data()),
    "readme": Case(readme, {"orders": ORDERS}),
}


def twice(x: int) -> int:
    return 2 * x


def odd(x: int) -> bool:
    return x % 2 == 1


def thirds(x: int) -> int:
    return x % 3


def doubled(x: int) -> list[int]:
    return [x, x + 1]


def add(total: int, x: int) -> int:
    return total + x


def paired(x: int) -> Pair:
    return x % 4, x


def swapped(pair: Pair) -> Pair:
    return pair[1], pair[0]


def rising(pair: Pair) -> bool:
    return pair[0] <= pair[1]


def first(pair: Pair) -> int:
    return pair[0]


def second(pair: Pair) -> int:
    return pair[1]


def ends_of(left: Pair, right: Pair) -> Pair:
    return left[1], right[1]


def itself(x: int) -> int:
    return x


def running(stream: Any) -> Any:
    return stream.scan(0, lambda total, x: 2 * total + x)


def apart(x: int) -> frozenset[int]:
    """No columns."""
    return frozenset({x % 3, x % 2})


def listed(numbers: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(numbers))


class Drawn:
    """Streams by kind, and verbs that make more of them."""

    def __init__(self, seed: int, bounded: bool | None) -> None:
        self.rng = random.Random(seed)
        self.flow = flo.Flow(f"drawn {seed}")
        self.streams: dict[str, list[Any]] = {"pairs": [], "seq": [], "bag": [], "set": []}
        self.data: Data = {}
        self.unread: list[Any] = []
        collections = {"pairs": flo.ZSet[Pair], "seq": flo.Sequence[int], "bag": flo.Bag[int], "set": flo.Set[int]}
        for kind, collection in collections.items():
            ends = self.rng.random() < 0.5 if bounded is None else bounded
            self._put(kind, self.flow.input(kind, collection, bounded=ends))
            self.data[kind] = self._items(kind)
        self._put("pairs", self.flow.constant(flo.ZSet[Pair], {(1, 2): 1, (3, 5): 2}))
        self._put("seq", self.flow.constant(flo.Sequence[int], [3, 1, 4, 1, 5]))
        for _ in range(self.rng.randint(6, 10)):
            self._grow()
        for place, stream in enumerate(self.unread):
            self.flow.output(f"output{place}", stream)
        for kind, streams in self.streams.items():  # read by others too
            self.flow.output(f"{kind}_again", self.rng.choice(streams))

    def _items(self, kind: str) -> Any:
        numbers = [self.rng.randint(0, 12) for _ in range(self.rng.randint(0, 14))]
        if kind == "pairs":
            return {paired(n): self.rng.choice([1, 1, 2]) for n in numbers}
        return set(numbers) if kind == "set" else numbers

    def _put(self, kind: str, stream: Any) -> None:
        self.streams.setdefault(kind, []).append(stream)
        self.unread.append(stream)

    def _get(self, kind: str, bounded: bool = False) -> Any:
        found = self.rng.choice([each for each in self.streams[kind] if each.bounded or not bounded])
        self.unread = [each for each in self.unread if each is not found]
        return found

    def _any(self, *kinds: str) -> Any:
        return self._get(self.rng.choice(kinds))

    def _grow(self) -> None:
        verbs: list[Callable[[], tuple[str, Any]]] = [
            *(self._of_pairs, self._of_two_pairs, self._of_sequences, self._without_order),
            *(self._keyed, self._lattice, self._ended, self._of_no_columns),
        ]
        self._put(*self.rng.choice(verbs)())

    def _of_pairs(self) -> tuple[str, Any]:
        one, (left, right) = self._get("pairs"), self._sides()
        return "pairs", self.rng.choice(
            [
                lambda: one.map(self.rng.choice([swapped, ("1", "0")])),
                lambda: one.filter(self.rng.choice([rising, nw.col("0") <= nw.col("1")])).union(one),
                lambda: one.distinct(),
                lambda: one.group_by(key=left).agg(sum=flo.sum(right)).map(("key", "sum")),
                lambda: one.group_by(key=right).agg(n=flo.count()).map(("key", "n")),
                lambda: one.group_by(key=left).agg(max=flo.max(right)).map(("key", "max")),
                lambda: one.top(2, right, by=self.rng.choice([None, left])),
                lambda: one.negate(),
                lambda: one.agg(n=flo.count()).map("n").map(paired),
                lambda: one.group_by(key=right).agg(n=flo.count_distinct(left)).map(("key", "n")),
                lambda: one.map(lambda pair: pair).group_by(key=first).agg(sum=flo.sum(second)).map(("key", "sum")),
            ]
        )()

    def _sides(self) -> tuple[Any, Any]:
        """What gives the halves of a pair: columns, which are known to the planner, or functions."""
        return self.rng.choice([(first, second), ("0", "1"), ("0", "1")])

    def _of_two_pairs(self) -> tuple[str, Any]:
        one, two, (left, right) = self._get("pairs"), self._get("pairs"), self._sides()
        into = self.rng.choice([ends_of, ("1", "1_right"), ("0", "1_right")])
        return "pairs", self.rng.choice(
            [
                lambda: one.union(two),
                lambda: one.minus(two),
                lambda: one.join(two, left, left, into),
                lambda: one.join(two, left, right, into).distinct(),
                lambda: one.join(two, right, left, how="semi"),
                lambda: one.join(two, left, left, how="anti"),
            ]
        )()

    def _of_sequences(self) -> tuple[str, Any]:
        one = self._get("seq")
        more = [
            lambda: one.map(twice),
            lambda: one.filter(odd),
            lambda: one.flat_map(doubled),
            lambda: one.scan(0, add),
            lambda: one.take(3),
            lambda: one.distinct(),
            lambda: one.enumerate().map(lambda pair: pair[0] * 7 + pair[1]),
            lambda: one.batch(2).nest(lambda batch: batch.sum()).flatten(),
            lambda: one.tumbling(4, time=itself, lateness=2).nest(lambda window: window.count()).flatten(),
        ]
        if one.bounded:
            more += [lambda: one.union(self._get("seq")), lambda: one.sort(), lambda: one.sum()]
        return "seq", self.rng.choice(more)()

    def _without_order(self) -> tuple[str, Any]:
        kind = self.rng.choice(["bag", "set", "pairs"])
        if kind == "bag":
            made = [lambda: self._any("seq", "set").to_bag(), lambda: self._get("bag").map(twice)]
            return kind, self.rng.choice([*made, lambda: self._get("bag").union(self._get("bag"))])()
        if kind == "set":
            made = [lambda: self._any("seq", "bag").to_set(), lambda: self._get("set").flat_map(doubled)]
            made += [lambda: self._get("set").union(self._get("set"))]
            return kind, self.rng.choice([*made, lambda: self._get("set").intersection(self._get("set"))])()
        return kind, self._any("seq", "bag", "set").to_zset().map(paired)

    def _keyed(self) -> tuple[str, Any]:
        if self.rng.random() < 0.3:
            one, two = self._get("pairs").key_by(first), self._get("pairs").key_by(second)
            return "keyed", one.join(two)
        keyed = self._get("seq").key_by(thirds)
        ways = [
            lambda: ("keyed", keyed.per_key(running)),
            lambda: ("keyed", keyed.filter_keys(odd).map_values(twice)),
            lambda: ("keyed", keyed.per_key(lambda stream: stream.batch(2).nest(lambda batch: batch.sum()))),
            lambda: ("bag", keyed.per_key(running).entries().map(second)),
        ]
        return self.rng.choice(ways)()

    def _lattice(self) -> tuple[str, Any]:
        one = self._any("seq", "bag", "set")
        highest = one.fold_lattice(flo.Max(int))
        ways = [
            lambda: ("lattice", highest),
            lambda: ("seq", highest.event_when_above(7)),
            lambda: ("lattice", self._any("seq", "bag").sum_lattice()),
            lambda: ("lattice", one.fold_lattice(flo.SetUnion(int), apart).map_monotone(len, flo.Max(int))),
        ]
        if one.bounded:
            ways.append(lambda: ("seq", highest.to_sequence()))
        return self.rng.choice(ways)()

    def _ended(self) -> tuple[str, Any]:
        """What waits for an end, of what ends: the constants do."""
        one = self._get("seq", bounded=True)
        made = self.rng.choice([lambda: one.count(), lambda: one.to_bag().fold(0, add), lambda: one.to_set().sort()])()
        if self.rng.random() < 0.5:
            return "bag", made.to_bag().union(self._get("bag"))
        return "pairs", made.to_zset().map(paired).union(self._get("pairs"))

    def _of_no_columns(self) -> tuple[str, Any]:
        kind = self.rng.choice(["seq", "bag", "set"])
        if self.rng.random() < 0.5:
            return "lists", self._get(kind).map(apart).map(listed)
        return kind, self._get(kind).map(apart).map(sum)


def drawn(seed: int, bounded: bool | None = None) -> Case:
    """A small program: `bounded` says whether its inputs end, None to draw that too."""
    found = Drawn(seed, bounded)
    return Case(lambda: found.flow, found.data)

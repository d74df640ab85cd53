"""Extreme values of every kind of column, and a program for every verb to compare engines on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import narwhals as nw

import flo

BERLIN = ZoneInfo("Europe/Berlin")
REPEATED = [datetime(2026, 10, 25, 2, minute, tzinfo=BERLIN, fold=fold) for minute in (30, 45) for fold in (1, 0)]


@dataclass(frozen=True)
class Kind:
    """The type of a column, and values at its edges."""

    name: str
    type: Any
    values: list[Any]
    number: bool = False
    """Whether it can be summed."""


KINDS = [
    Kind(
        "float",
        float,
        [1e308, 1e308, math.nan, -1e308, -0.0, 0.0, math.inf, float("nan"), 5e-324, 0.1, 2.0**53 + 2, -math.inf],
        number=True,
    ),
    Kind("finite float", float, [1e308, 1e308, -1e308, -1e308, 1.0, 0.1, 0.2, 5e-324, -0.0, 2.0**53], number=True),
    Kind("int", int, [2**53 + 1, 2**53, 2**62, 2**62, -(2**63), 2**63 - 1, 0, -1, -(2**62), 7], number=True),
    Kind("int or None", int | None, [3, None, 2**63 - 1, None, -(2**63), 2**53 + 1, 2**53]),
    Kind(
        "str",
        str,
        ["a", "a\n", "a\x85", "a\u2028b", "", "a", "\x00", "ß", "SS", "İ", "e\u0301", "\u00e9", "\U0001f600", "\uffff"],
    ),
    Kind("str or None", str | None, ["", None, "\x85", None, "\u2028"]),
    Kind("bool", bool, [True, False, True], number=True),
    Kind(
        "decimal",
        Decimal,
        [Decimal("999.5"), Decimal("-0.000000000000000001"), Decimal(0), Decimal("999.500"), Decimal("-0.1")],
        number=True,
    ),
    Kind(
        "zoned time",
        Annotated[datetime, BERLIN],
        [*REPEATED, datetime(2026, 3, 29, 1, 59, tzinfo=BERLIN), datetime(1900, 1, 1, tzinfo=BERLIN), REPEATED[1]],
    ),
    Kind("time", datetime, [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1)]),
]


def typed(f: Callable[..., Any], *kinds: Any) -> Any:
    """The function with these annotations: its parameters, then its result."""
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    f.__annotations__ = dict(zip([*names, "return"], kinds, strict=True))
    return f


class Streams:
    """The inputs of a flow on one kind, made when a verb asks for them."""

    def __init__(self, kind: Kind, name: str) -> None:
        self.flow = flo.Flow(name)
        self.kind, self.T = kind, kind.type
        self.data: dict[str, Any] = {}
        self._made: dict[str, Any] = {}

    def _input(self, name: str, collection: Any, data: Any, bounded: bool) -> Any:
        if name not in self._made:
            self.data[name] = data
            self._made[name] = self.flow.input(name, collection, bounded=bounded)
        return self._made[name]

    @property
    def seq(self) -> Any:
        """A bounded sequence of all values."""
        return self._input("seq", flo.Sequence[self.T], self.kind.values, True)

    @property
    def open(self) -> Any:
        """An unbounded sequence of all values."""
        return self._input("open", flo.Sequence[self.T], self.kind.values, False)

    @property
    def few(self) -> Any:
        """A bounded sequence of every other value."""
        return self._input("few", flo.Sequence[self.T], self.kind.values[::2], True)

    @property
    def pairs(self) -> Any:
        """An unbounded sequence of (value, time)."""
        timed = [(value, 3 * place - 8 * (place % 3)) for place, value in enumerate(self.kind.values)]
        return self._input("pairs", flo.Sequence[tuple[self.T, int]], timed, False)

    @property
    def bag(self) -> Any:
        return self._input("bag", flo.Bag[self.T], self.kind.values, False)

    @property
    def set(self) -> Any:
        return self._input("set", flo.Set[self.T], self.kind.values, False)

    @property
    def zset(self) -> Any:
        """Weights of both signs, and one beyond the integers that a float holds."""
        weights = [1, 3, -1, 2**53 + 1, 2, 1]
        data: dict[Any, int] = {}
        for place, value in enumerate(self.kind.values):
            data[value] = data.get(value, 0) + weights[place % len(weights)]
        return self._input("zset", flo.ZSet[self.T], data, False)

    @property
    def other(self) -> Any:
        return self._input("other", flo.ZSet[self.T], dict.fromkeys(self.kind.values[1::2], 1), False)

    @property
    def rows(self) -> Any:
        """A z-set of (value, value, number)."""
        values = self.kind.values
        data: dict[Any, int] = {}
        for place, value in enumerate(values):
            row = (value, values[(place * 5 + 2) % len(values)], place)
            data[row] = data.get(row, 0) + (1 + place % 2)
        return self._input("rows", flo.ZSet[tuple[self.T, self.T, int]], data, False)

    @property
    def total(self) -> Any:
        """The type of a sum."""
        return int if self.T is bool else self.T

    def same(self) -> Any:
        return typed(lambda x: x, self.T, self.T)

    def at(self, place: int) -> Any:
        """One of the columns of `rows`."""
        row = tuple[self.T, self.T, int]
        return typed(lambda row: row[place], row, (self.T, self.T, int)[place])


Verb = Callable[[Streams], Any]
ANY: dict[str, Verb] = {
    "fixpoint": lambda g: g.zset.fixpoint(lambda found, given: given.union(found)),
    "map": lambda g: [s.map(g.same()) for s in (g.open, g.bag, g.set, g.zset)],
    "filter": lambda g: [s.filter(typed(lambda x: x is not None, g.T, bool)) for s in (g.open, g.bag, g.set, g.zset)],
    "flat_map": lambda g: [s.flat_map(typed(lambda x: [x, x], g.T, list[g.T])) for s in (g.open, g.bag, g.zset)],
    "fold": lambda g: g.seq.fold(0, typed(lambda n, x: n + (x is not None), int, g.T, int)),
    "count": lambda g: g.seq.count(),
    "last": lambda g: g.seq.last(),
    "scan": lambda g: g.open.scan(0, typed(lambda n, x: n + (x is not None), int, g.T, int)),
    "enumerate": lambda g: g.open.enumerate(),
    "take": lambda g: [g.open.take(3), g.seq.first()],
    "distinct": lambda g: [g.open.distinct(), g.zset.distinct()],
    "named": lambda g: g.zset.distinct().named("kept"),
    "batch": lambda g: [g.open.batch(2), g.open.batch(3).nest(lambda b: b.distinct()).flatten()],
    "window": lambda g: (
        g.open.enumerate().map(typed(lambda p: (p[1], p[0]), tuple[int, g.T], tuple[g.T, int])).window(3)
    ),
    "to_bag": lambda g: [g.open.to_bag(), g.set.to_bag()],
    "to_set": lambda g: [g.open.to_set(), g.bag.to_set()],
    "to_zset": lambda g: [g.open.to_zset(), g.bag.to_zset(), g.set.to_zset()],
    "union": lambda g: [
        g.seq.union(g.open),
        g.bag.union(g.open.to_bag()),
        g.set.union(g.few.to_set()),
        g.zset.union(g.other),
    ],
    "zip": lambda g: g.open.zip(g.few),
    "join": lambda g: [
        g.zset.join(g.other, g.same(), g.same()),
        g.set.join(g.few.to_set(), g.same(), g.same(), typed(lambda a, b: (a, b), g.T, g.T, tuple[g.T, g.T])),
        g.bag.join(g.few.to_bag(), g.same(), g.same(), typed(lambda a, b: (a, b), g.T, g.T, tuple[g.T, g.T])),
    ],
    "tee": lambda g: list(g.zset.tee()),
    "intersection": lambda g: g.set.intersection(g.few.to_set()),
    "difference": lambda g: g.set.difference(g.few.to_set()),
    "minus": lambda g: g.zset.minus(g.other),
    "negate": lambda g: g.zset.negate(),
    "map_weights": lambda g: g.zset.map_weights(typed(lambda x, w: 2 * w, g.T, int, int)),
    "semi_join": lambda g: g.zset.join(g.other, g.same(), g.same(), how="semi"),
    "anti_join": lambda g: g.zset.join(g.other, g.same(), g.same(), how="anti"),
    "left_join": lambda g: g.zset.join(g.other, g.same(), g.same(), how="left"),
    "right_join": lambda g: g.zset.join(g.other, g.same(), g.same(), how="right"),
    "full_join": lambda g: g.zset.join(g.other, g.same(), g.same(), how="full"),
    "group_by of functions": lambda g: [
        g.rows.group_by(key=g.at(0)).agg(n=flo.count(), different=flo.count_distinct(g.at(1))),
        g.open.to_zset().group_by(key=g.same()).agg(n=flo.count()),
    ],
    "key_by": lambda g: [
        g.open.key_by(g.same()).per_key(lambda s: s.enumerate()).entries(),
        g.open.key_by(g.same()).map_values(g.same()).filter_keys(typed(lambda k: k is not None, g.T, bool)).entries(),
    ],
    "entries": lambda g: (
        g.zset.key_by(g.same()).per_key(lambda s: s.group_by(own=g.same()).agg(n=flo.count())).entries()
    ),
    "tumbling": lambda g: [
        w := g.pairs.tumbling(10, time=typed(lambda p: p[1], tuple[g.T, int], int), lateness=3),
        w.nest(lambda s: s.map(typed(lambda p: p[0], tuple[g.T, int], g.T)).distinct()),
        w.nest(lambda s: s.count()),
        w.late,
    ],
    "sliding": lambda g: g.pairs.sliding(10, 5, time=typed(lambda p: p[1], tuple[g.T, int], int), lateness=3),
    "session": lambda g: g.pairs.session(4, time=typed(lambda p: p[1], tuple[g.T, int], int), lateness=3),
    "clock": lambda g: [
        clock := g.pairs.clock(typed(lambda p: p[1], tuple[g.T, int], int), 3),
        clock.rows.tumbling(10, clock=clock).nest(lambda s: s.count()),
        clock.late,
    ],
    "limit_ahead": lambda g: [
        limited := g.pairs.limit_ahead(typed(lambda p: p[1], tuple[g.T, int], int), 5, believe=2),
        limited.ahead,
    ],
    "dedupe": lambda g: [
        g.pairs.dedupe("0", "1", 4),
        g.pairs.key_by("1").per_key(lambda s: s.dedupe(typed(lambda p: p[0], tuple[g.T, int], g.T), "1", 4)),
    ],
    "alert": lambda g: g.open.alert(typed(lambda x: x is not None, g.T, bool)),
    "current": lambda g: [
        clock := g.pairs.clock("1", 3),
        states := clock.rows.key_by("0").current(
            0, typed(lambda n, p: n + p[1], int, tuple[g.T, int], int), clock=clock, keep=2
        ),
        states.expired,
        g.pairs.key_by("1").current(g.kind.values[0], typed(lambda last, p: p[0], g.T, tuple[g.T, int], g.T)),
    ],
    "join_interval": lambda g: [
        clock := g.pairs.clock(typed(lambda p: p[1], tuple[g.T, int], int), 3),
        clock.rows.join_interval(clock.rows, "1", (-1, 1)),
    ],
    "final": lambda g: [
        clock := g.pairs.clock("1", 3),
        clock.rows.to_zset()
        .tumble(4, "1")
        .group_by("window_end", own="0")
        .agg(n=flo.count(), different=flo.count_distinct("0"))
        .final(clock),
    ],
    "retain": lambda g: [
        kept := g.rows.retain("2", g.pairs.fold_lattice(flo.Max(int), typed(lambda p: p[1], tuple[g.T, int], int)), 5),
        kept.expired,
    ],
    "windows as columns": lambda g: [
        g.rows.tumble(4, "2"),
        g.rows.hop(4, 2, "2"),
        g.rows.session(2, "2", by="0"),
    ],
    "nest": lambda g: g.open.batch(4).nest(lambda b: b.to_bag()).flatten(),
    "flatten": lambda g: g.open.batch(4).flatten(),
    "repeat_nested": lambda g: g.seq.repeat_nested(2).nest(lambda s: s.distinct()),
    "nest_once": lambda g: g.seq.nest_once(g.open.batch(4)),
    "integrate": lambda g: g.open.batch(4).nest(lambda b: b.to_zset()).integrate(),
    "differentiate": lambda g: g.open.batch(4).nest(lambda b: b.to_zset()).differentiate(),
    "fold_lattice": lambda g: g.open.fold_lattice(
        flo.SetUnion(g.T), typed(lambda x: frozenset({x}), g.T, frozenset[g.T])
    ),
    "threshold": lambda g: (
        g.open.enumerate().map(typed(lambda p: p[0], tuple[int, g.T], int)).fold_lattice(flo.Max(int)).threshold(2)
    ),
    "select": lambda g: [
        g.rows.select("1", "2"),
        g.rows.with_columns(next=nw.col("2") + 1).rename({"0": "key"}).drop("1"),
        g.rows.select(key="1").filter(~nw.col("key").is_null()),
    ],
    "group_by": lambda g: [
        g.rows.group_by(key="0").agg(n=flo.count(), values=flo.count("1"), different=flo.count_distinct("1")),
        g.rows.agg(n=flo.count("0"), different=flo.count_distinct("1"), all=flo.sum("2")),
    ],
    "rollup": lambda g: [
        g.rows.rollup("0").agg(n=flo.count(), level=flo.grouping_id()),
        g.rows.cube("0").agg(different=flo.count_distinct("1")),
        g.rows.grouping_sets(["1"], ["0"]).agg(all=flo.sum("2")),
    ],
    "join of rows": lambda g: [
        g.rows.select(key="0", place="2").join(g.rows.select(key="1", at="2"), on="key", how=how, nulls_equal=alike)
        for how, alike in (("inner", False), ("left", True), ("full", False), ("semi", True), ("anti", False))
    ],
    "set operations": lambda g: [
        verb(g.rows.select(key="0"), g.rows.filter(nw.col("2") > 3).select(key="1"))
        for verb in (
            lambda a, b: a.union_distinct(b),
            lambda a, b: a.except_(b),
            lambda a, b: a.except_(b, all=True),
            lambda a, b: a.intersect(b),
            lambda a, b: a.intersect(b, all=True),
        )
    ],
    "over": lambda g: [
        g.rows.over("0", order_by="1").with_columns(place=flo.row_number(), last=flo.lag("1"), n=flo.count()),
        g.rows.limit(4, offset=1, order_by=["1"]),
        g.rows.over(order_by="2").with_columns(
            kinds=flo.count_distinct("0", rows=(-2, 1)), all=flo.collect("1", rows=(-1, 0)), usual=flo.mode("2")
        ),
    ],
    "join_asof": lambda g: g.rows.join_asof(g.rows.filter(nw.col("2") % 2 == 0), on="2", by="0"),
    "explode": lambda g: g.rows.map(
        typed(lambda row: (row[2], (row[0], row[1])), tuple[g.T, g.T, int], tuple[int, tuple[g.T, ...]])
    ).explode("1", position="place"),
    "tee nested": lambda g: g.open.batch(2).zip(g.open.batch(3)).nest(lambda a, b: (a.count(), b.last())),
}
ORDERED: dict[str, Verb] = {
    "sort": lambda g: [g.seq.sort(), g.few.to_bag().sort(), g.few.to_set().sort(g.same())],
    "merge": lambda g: g.seq.sort().merge(g.few.sort()),
    "min and max": lambda g: [
        g.zset.agg(min=flo.min(g.same()), max=flo.max(g.same())),
        g.rows.group_by(key=g.at(0)).agg(min=flo.min(g.at(1)), max=flo.max(g.at(1))),
    ],
    "extreme lattices": lambda g: [
        greatest := g.seq.filter(typed(lambda x: x == x, g.T, bool)).fold_lattice(flo.Max(g.T)),
        g.few.filter(typed(lambda x: x == x, g.T, bool)).fold_lattice(flo.Min(g.T)).to_sequence(),
        greatest.above(g.kind.values[0]),
        greatest.at_least(g.kind.values[0]),
        greatest.event_when_above(g.kind.values[0]),
        greatest.map_monotone(typed(lambda x: x is not None, g.T, bool), flo.Or, monotone="true of every value"),
    ],
    "ordered aggregates": lambda g: g.rows.group_by(parity=nw.col("2") % 2).agg(
        least=flo.min("0"), greatest=flo.max("0"), at=flo.arg_max("2", by="1"), first=flo.first("0", order_by="1")
    ),
    "top": lambda g: [
        g.zset.top(3, g.same()),
        g.rows.top(2, g.at(1), g.at(0)),
        g.zset.top(3, g.same(), descending=False),
    ],
}
"""Verbs that need an order of the values, which None has not."""
NUMBERS: dict[str, Verb] = {
    "linear": lambda g: g.rows.group_by(key=g.at(0)).agg(
        total=flo.linear(g.at(1), typed(lambda total: total, g.total, g.total))
    ),
    "sum_lattice": lambda g: g.seq.filter(typed(lambda x: 0 <= x < 2**54, g.T, bool)).sum_lattice().to_sequence(),
    "sum": lambda g: [
        g.seq.sum(),
        g.open.batch(3).nest(lambda b: b.sum()),
        g.pairs.tumbling(10, time=typed(lambda p: p[1], tuple[g.T, int], int)).nest(
            lambda w: w.map(typed(lambda p: p[0], tuple[g.T, int], g.T)).sum()
        ),
        g.pairs.key_by(typed(lambda p: p[1] % 2, tuple[g.T, int], int))
        .map_values(typed(lambda p: p[0], tuple[g.T, int], g.T))
        .per_key(lambda s: s.batch(2).nest(lambda b: b.sum()).flatten())
        .entries(),
    ],
    "sum and avg": lambda g: [
        g.rows.group_by(key=g.at(0)).agg(sum=flo.sum(g.at(1)), avg=flo.avg(g.at(1)), places=flo.sum(g.at(2))),
        g.zset.agg(sum=flo.sum(g.same()), avg=flo.avg(g.same())),
    ],
    "numeric aggregates": lambda g: g.rows.agg(
        all=flo.sum("0", where=nw.col("2") > 2), mean=flo.avg("1"), once=flo.sum("0", distinct=True)
    ),
}


def verbs_for(kind: Kind) -> dict[str, Verb]:
    """The verbs that take values of this kind."""
    ordered = {} if type(None) in getattr(kind.type, "__args__", ()) else ORDERED
    return {**ANY, **ordered, **(NUMBERS if kind.number else {})}


def program(kind: Kind, names: list[str]) -> Streams:
    """A flow with these verbs, an output for each result."""
    streams = Streams(kind, f"{kind.name}: {', '.join(names)}")
    for name in names:
        made = verbs_for(kind)[name](streams)
        for number, stream in enumerate(made if isinstance(made, (list, tuple)) else [made]):
            streams.flow.output(f"{name}_{number}", stream)
    return streams

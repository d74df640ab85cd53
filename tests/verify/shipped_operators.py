"""Every operator that Flo ships, on every collection that it takes."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from flo.columns.changes import change_type
from flo.core.collection import Collection
from flo.core.graph import Graph, Node, parallel, sequence
from flo.core.nest import Nest, ReadDefer, WriteDefer
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.structural import Source, Wire, identity
from flo.values.keyed import Keyed
from flo.values.lattice_orders import And, Flat, Max
from flo.values.lattice_structures import SetUnion
from flo.values.lvar import LVar
from flo.values.operators import group_aggregates, moments, zset_asof, zset_joins, zsets
from flo.values.operators.active_clocks import ActiveClock, LimitAhead
from flo.values.operators.bags import BagJoin, BagUnion, Count, FoldUnordered, SequenceDistinct, Sort, Sum
from flo.values.operators.clocks import ClockOf, MinClock
from flo.values.operators.current import LatestResults
from flo.values.operators.dedupe import Dedupe
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.final import FinalGroups
from flo.values.operators.group_by import Aggregated, GroupBy
from flo.values.operators.interval_joins import IntervalJoin
from flo.values.operators.keyed_streams import Entries, FilterKeys, KeyBy, KeyedJoin, KeyPartitions, MapValues
from flo.values.operators.lattices import FoldLattice, SumLattice
from flo.values.operators.lvars import Above, LVarToSequence, LVarUnion, MapLattice, Threshold
from flo.values.operators.nested_streams import Flatten, NestedLast, NestedZip, NestOnce, RepeatNested, RepeatNestedBy
from flo.values.operators.over import Over, WindowFunction
from flo.values.operators.pairs import MergeSorted, UnionSequences, Zip
from flo.values.operators.per_key import PerKey
from flo.values.operators.retain import Retain
from flo.values.operators.sequences import Alert, Batch, Enumerate, Fold, Last, Scan, Take, Window
from flo.values.operators.session_columns import SessionColumns
from flo.values.operators.sets import Difference, Intersection, SetJoin, ToBag, ToSet, UnionSets
from flo.values.operators.upserts import Upsert
from flo.values.operators.windows import Session, Sliding, Tumbling
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zset_streams import Differentiate, Integrate
from flo.values.operators.zsets import ToZSet, ZSetToBag, ZSetToSet
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.report import Report
from tests.verify.shipped import (
    BAG,
    ELEMENTS,
    EVERY,
    INTS,
    KEYED,
    MAX,
    NESTED,
    PAIRS,
    SET,
    SETS,
    ZSET,
    Case,
    both,
    each,
    operators_in,
)


def when(pair: tuple[int, int]) -> int:
    return pair[1]


def which(pair: tuple[int, int]) -> int:
    return pair[0]


def successor(x: int) -> int:
    return x + 1


def positive(x: int) -> bool:
    return x > 0


def negative(x: int) -> bool:
    return x < 0


def twice(x: int) -> list[int]:
    return [x, x]


def nothing_below(x: int) -> list[int]:
    return [x] if x > 0 else []


def add(x: int, y: int) -> int:
    return x + y


def newest(x: int, y: int) -> int:
    return y


def sign(x: int) -> int:
    return (x > 0) - (x < 0)


def itself(x: int) -> int:
    return x


def odd(x: int) -> int:
    return x % 2


def anywhere(x: int) -> int:
    """The same place for all."""
    return 0


def alone(x: int) -> frozenset[int]:
    return frozenset({x})


def tripled(element: int, weight: int) -> int:
    return 3 * weight


def by_sign(element: int, weight: int) -> int:
    return weight * sign(element)


def one(operator: Operator) -> Node:
    return Node(None, operator)


tee, swap, drop = Wire(1, (0, 0)), Wire(2, (1, 0)), Wire(1, ())

RUNNING_TOTAL: Graph = sequence(
    parallel(one(ReadDefer("total", INTS, INTS.value([0]).fix())), one(identity())),
    one(UnionSequences()),
    one(Fold(0, add)),
    one(tee),
    parallel(one(WriteDefer("total")), one(identity())),
)
"""The sum of this inner stream and of all before it."""
AS_OFTEN_AS_LONG: Graph = sequence(one(tee), parallel(one(identity()), one(Count())), one(RepeatNestedBy()))
"""The inner stream, repeated as many times as it has elements."""


def prepared(operator: Operator, *before: Operator) -> Nest:
    """An operator that takes only some data, behind others that make it."""
    return Nest(sequence(*map(one, before), one(operator)))


def sources(*collections: Collection) -> list[Case]:
    data = {Sequence: [1, 2], Bag: [1, 1], Set: {1, 2}}
    return [
        Case(Source(kind, (kind.value(data[type(kind)]) if type(kind) in data else kind.bottom()).fix()))
        for kind in collections
    ]


def every(values: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(most + 1) for chosen in product(values, repeat=size)]


PLUMBING = [
    *each(tee, *EVERY),
    *each(identity(), INTS, MAX, NESTED[0], KEYED[0]),
    *each(drop, INTS, MAX, NESTED[0], KEYED[0]),
    *(Case(swap, (INTS, kind)) for kind in (BAG, MAX, NESTED[0], KEYED[0])),
    Case(Wire(2, (1, 0, 1)), (INTS, BAG)),
    *sources(*EVERY),
]

ELEMENTWISE = [
    *each(Map(successor), *ELEMENTS),
    *each(Map(sign), *ELEMENTS),
    *each(Filter(positive), *ELEMENTS),
    *each(FlatMap(twice), *ELEMENTS),
    *each(FlatMap(nothing_below), *ELEMENTS),
]

SORTED = {INTS: [list(chosen) for chosen in every((1, 2), 5) if list(chosen) == sorted(chosen)]}
"""All sequences of few numbers that are sorted."""
SEQUENCES = [
    *each(Scan(0, add), INTS),
    *each(Fold(0, newest), INTS),
    *each(Enumerate(), INTS),
    *each(Take(0), INTS),
    *each(Take(1), INTS),
    *each(Alert(positive), INTS),
    *each(Alert(positive, negative), INTS),
    *each(Last(), INTS),
    *each(SequenceDistinct(), INTS),
    *each(Batch(1), INTS),
    *each(Batch(2), INTS),
    Case(Zip(), (INTS, Sequence(str))),
    Case(UnionSequences(), (INTS, INTS)),
    Case(MergeSorted(anywhere), (INTS, INTS)),
    Case(MergeSorted(), (INTS, INTS), examples=SORTED),
    *each(Nest(sequence(parallel(one(Sort()), one(Sort())), one(MergeSorted()))), Nested(INTS, BAG)),
]

PARTS, TWO = Partitioned(int, 2), {int: [0, 1]}
"""Rows that are times, in two partitions."""
BY_PARTITION = {PARTS: [{}, {0: [0]}, {1: [1]}, {0: [0, 2]}, {0: [2], 1: [1]}, {0: [0, 2], 1: [1, 1]}]}
"""Rows whose key, whether they are odd, is their partition."""


WINDOWS = [
    *each(Window(0.5), PAIRS),
    *each(Tumbling(1, when), PAIRS),
    *each(Tumbling(1, when, lateness=1, bounds=True), PAIRS),
    *each(Sliding(2, 1, when), PAIRS),
    *each(Sliding(2, 1, when, lateness=1, bounds=True), PAIRS),
    *each(Session(1, when), PAIRS),
    *each(Session(2, when, lateness=3, bounds=True), PAIRS),
    *each(Tumbling(1, itself), PARTS, examples=TWO),
    *each(Sliding(2, 1, itself, lateness=1), PARTS, examples=TWO),
    *each(Session(1, itself, bounds=True), PARTS, examples=TWO),
    *each(ClockOf(when, 1), PAIRS),
    *each(LimitAhead(when, 1, believe=2), PAIRS),
    *each(Dedupe(which, when, 1), PAIRS),
    *each(ClockOf(itself), PARTS, examples=TWO),
    *each(ClockOf(itself, in_order=True), PARTS, examples=TWO),
    *both(MinClock(), MAX),
]

UNORDERED = [
    *each(ToBag(), INTS, BAG, SET),
    *each(ToSet(), INTS, BAG, SET),
    *each(FoldUnordered(0, add), BAG, SET),
    *each(Count(), INTS, BAG, SET),
    *each(Sum(), INTS, BAG, SET, Sequence(float), Bag(float)),
    *each(Sort(), INTS, BAG, SET),
    *each(Sort(anywhere), INTS, BAG, SET),
    *both(BagUnion(), BAG),
    *both(BagJoin(), BAG),
    *both(BagJoin(sign, anywhere, add), BAG),
    *both(UnionSets(), SET),
    *both(Intersection(), SET),
    *both(Difference(), SET),
    Case(SetJoin(), (SET, Set(tuple[int, int]))),
    *both(SetJoin(sign, sign, add), SET),
]

ELSEWHERE: dict[type[Operator], str] = {
    IntervalJoin: "its clocks must be those of its rows: tests/api/test_join_interval.py",
    FinalGroups: "its clock must be that of its rows: tests/api/test_final.py",
    ActiveClock: "it depends on when `now` comes, and says so: tests/values/test_idle_partitions.py",
}
"""Operators that have no laws on any inputs whatever, and where they are checked."""
LATTICES = [
    *each(FoldLattice(Max(int)), INTS, BAG, SET),
    *each(FoldLattice(SetUnion(int), alone), INTS, BAG, SET),
    *each(SumLattice(), INTS, Sequence(float)),
    *each(SumLattice(), BAG, examples={int: [1, 2, 0]}),
    *each(MapLattice(successor, Max(int)), MAX),
    *each(MapLattice(len, Max(int)), SETS),
    *each(LVarToSequence(), MAX, SETS),
    *both(LVarUnion(), MAX, SETS),
    *each(Threshold((1,)), MAX),
    *each(Threshold((frozenset({1}),)), SETS),
    *each(Threshold((1, 2)), LVar(Flat(int)), examples={int: [1]}),
    *each(Above(1), MAX),
    *each(Above(1, strict=True), MAX),
    *each(Threshold((1,), strict=True), MAX),
    *each(Above(False), LVar(And())),
    Case(Retain(itself, 1), (ZSET, MAX)),
]

NOT_NEGATIVE = {ZSET: [dict(zip((1, 2, 3, 4), weights, strict=False)) for weights in every((1, 2), 4)]}
"""All z-sets of few elements whose weights are above zero."""
WEIGHTED = [
    *each(ToZSet(), INTS, BAG, SET),
    *each(zsets.MapWeights(tripled), ZSET),
    *each(zsets.MapWeights(by_sign), ZSET),
    *each(zsets.Negate(), ZSET),
    *each(zsets.Distinct(), ZSET),
    *each(zsets.Positive(), ZSET),
    *both(zsets.Plus(), ZSET),
    *both(zsets.Minus(), ZSET),
    *each(TopK(1), ZSET),
    *each(TopK(2, anywhere, sign, True), ZSET),
    *each(TopK(1, sign, None, (True,), 1), ZSET),
    *each(Over((WindowFunction("row_number"), WindowFunction("sum", None, None, (), ("rows", -1, 0)))), ZSET),
    *each(Over((WindowFunction("rank"), WindowFunction("lead", None, None, (1, 0))), sign, anywhere), ZSET),
    *each(SessionColumns(2), ZSET),
    *each(SessionColumns(1, None, sign), ZSET),
    *each(ZSetToBag(), ZSET, examples=NOT_NEGATIVE),
    *each(ZSetToSet(), ZSET, examples=NOT_NEGATIVE),
    *each(prepared(ZSetToBag(), zsets.Distinct()), Nested(ZSET)),
    *each(prepared(ZSetToSet(), zsets.Distinct()), Nested(ZSET)),
    *each(Integrate(), Nested(ZSET)),
    *each(Differentiate(), Nested(ZSET)),
]


class Entry(NamedTuple):
    key: int
    at: int
    value: int


CHANGE = change_type("table", Entry, ("key",), None)
LATER = change_type("table", Entry, ("key",), "at")
REST, LATER_REST = CHANGE._shape.rest, LATER._shape.rest
UPSERTS = [
    *each(
        Upsert(), Sequence(CHANGE), examples={CHANGE: [CHANGE(1, None), CHANGE(1, REST(1, 2)), CHANGE(2, REST(1, 2))]}
    ),
    *each(Upsert(), Bag(LATER), examples={LATER: [LATER(1, 1, None), LATER(1, 1, LATER_REST(1)), LATER(1, 2, None)]}),
]


class Sums(NamedTuple):
    key: int
    rows: int
    total: int | None
    mean: float | None
    spread: float | None
    bits: int | None
    twice: int | None


class Values(NamedTuple):
    key: int
    different: int
    once: int | None
    least: int | None
    last: int | None
    middle: float | None
    every: tuple[int, ...]


class Whole(NamedTuple):
    odd: int
    greatest: int | None


ROWS = ZSet(tuple[int, int])
"""Rows of a key and a number."""
GROUPS = [
    *each(
        GroupBy(
            1,
            (
                Aggregated(group_aggregates.CountRows()),
                Aggregated(group_aggregates.SumOf(), (1,)),
                Aggregated(group_aggregates.AverageOf(), (1,)),
                Aggregated(moments.Variance(), (1,)),
                Aggregated(group_aggregates.Bitwise("xor", 8), (1,)),
                Aggregated(group_aggregates.LinearOf(successor), (1,)),
            ),
            Sums,
        ),
        ROWS,
    ),
    *each(
        GroupBy(
            1,
            (
                Aggregated(group_aggregates.CountDistinctOf(), (1,)),
                Aggregated(group_aggregates.DistinctOf(group_aggregates.SumOf()), (1,)),
                Aggregated(group_aggregates.FirstOf(), (1,)),
                Aggregated(group_aggregates.FirstOf((0,), (True,), True), (1,)),
                Aggregated(group_aggregates.QuantileOf(), (1,)),
                Aggregated(group_aggregates.CollectOf(), (1,)),
            ),
            Values,
        ),
        ROWS,
    ),
    *each(
        GroupBy(
            0,
            (
                Aggregated(group_aggregates.CountRows(), (), 0),
                Aggregated(group_aggregates.FirstOf((0,), (True,)), (1,)),
            ),
            Whole,
        ),
        ZSet(tuple[bool, int]),
    ),
]

ZSET_JOINS = [
    case
    for join in (
        zset_joins.Join(),
        zset_joins.Join(sign, sign),
        zset_joins.SemiJoin(),
        zset_joins.SemiJoin(anywhere, anywhere),
        zset_joins.AntiJoin(),
        zset_joins.AntiJoin(anywhere, anywhere),
        zset_joins.LeftJoin(sign, sign),
        zset_joins.RightJoin(sign, sign),
        zset_joins.FullJoin(anywhere, anywhere),
        zset_asof.AsOfJoin(),
        zset_asof.AsOfJoin(None, None, sign, sign, forward=True),
        zset_asof.AsOfJoin(sign, sign, inner=True),
    )
    for case in both(join, ZSET)
]

KEYS = [
    *each(KeyBy(sign), *ELEMENTS),
    *each(MapValues(successor), *KEYED[:4]),
    *each(FilterKeys(positive), *KEYED),
    *each(KeyPartitions(odd), PARTS, examples=BY_PARTITION),
    *each(Entries(), *KEYED),
    *each(LatestResults(0, add), Keyed(int, INTS)),
    *both(KeyedJoin(), *KEYED[:2], Keyed(int, ZSET)),
    Case(KeyedJoin(add), (Keyed(int, INTS), Keyed(int, BAG))),
    *each(PerKey(one(Scan(0, add))), Keyed(int, INTS)),
    *each(PerKey(sequence(one(tee), parallel(one(Fold(0, add)), one(identity())))), Keyed(int, INTS)),
    *each(PerKey(one(ToZSet())), Keyed(int, BAG), Keyed(int, SET)),
    *each(PerKey(sequence(one(zsets.Distinct()), one(zsets.Negate()))), Keyed(int, ZSET)),
    *each(PerKey(one(Above(1))), Keyed(int, MAX)),
    Case(PerKey(one(Zip())), (Keyed(int, INTS), Keyed(int, INTS))),
]

NESTS = [
    *each(Nest(one(identity())), *NESTED),
    *each(Nest(RUNNING_TOTAL), Nested(INTS)),
    *each(Nest(AS_OFTEN_AS_LONG), Nested(INTS)),
    *each(Nest(one(Zip())), Nested(INTS, INTS)),
    *each(Nest(one(Take(1))), Nested(INTS)),
    *each(NestedLast(), *NESTED),
    *each(NestedLast(2), Nested(INTS, BAG)),
    *each(Flatten(), *NESTED, Nested(StreamType(INTS, bounded=False))),
    *each(RepeatNested(0), INTS),
    *each(RepeatNested(2), *EVERY),
    *(Case(NestOnce(), (kind, Nested(INTS))) for kind in EVERY),
    *(Case(NestOnce(), (INTS, kind)) for kind in NESTED[1:]),
    *both(NestedZip(), *NESTED),
    Case(NestedZip(3), (Nested(INTS), Nested(INTS), Nested(INTS))),
]

CASES = [
    *PLUMBING,
    *ELEMENTWISE,
    *SEQUENCES,
    *WINDOWS,
    *UNORDERED,
    *LATTICES,
    *WEIGHTED,
    *UPSERTS,
    *GROUPS,
    *ZSET_JOINS,
    *KEYS,
    *NESTS,
]


def names() -> list[str]:
    """The operators that have cases of their own, in their order."""
    return list(dict.fromkeys(case.operator.name for case in CASES))


def cases(name: str) -> list[Case]:
    return [case for case in CASES if case.operator.name == name]


def inside(name: str) -> list[Operator]:
    """Operators that cannot stand alone, in the graphs of this one."""
    found = [each for case in cases(name) for each in operators_in(case.operator)]
    return list({each.name: each for each in found if each.name not in names()}.values())


def reports(name: str, tries: int = 0) -> list[Report]:
    """What the checks find of an operator, in all its cases and on all types."""
    return [report for case in cases(name) for report in case.check(tries)]

"""Every operator declares the facts that engines, rewrites and checks ask for, where they can be asked.

`Operator` has a safe answer for each, so an operator that forgets one is right but slow, or its program is rejected. So
the classes of Flo must say it themselves, or a base class of theirs must, or the list of `DEFAULTS` here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

import flo
from flo.core.facts import Reads, Timing
from flo.core.operator import Bound, Deltas, Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Wire
from flo.program.dag import body_of
from flo.program.retractions import can_cancel
from flo.values.lattice import Lattice
from flo.values.operators.shapes import ElementKind, Unary
from flo.values.weighted import Bag, BagValue, ZSet
from flo.verify.functions.rejections import obligations
from tests.verify.shipped import operators_in, shipped_classes
from tests.verify.shipped_operators import CASES, ELSEWHERE

ROWS = StreamType(ZSet(int), bounded=False)
DEFAULTS = {
    "retracts": "AntiJoin AsOfJoin Differentiate FullJoin GroupBy LatestResults LeftJoin MapWeights Minus Negate Over "
    "Retain RightJoin SessionColumns TopK Upsert",
    "timing": "AntiJoin AsOfJoin BagJoin Distinct Entries FinalGroups Fixpoint Flatten FullJoin GroupBy IntervalJoin "
    "Join LatestResults LeftJoin MapWeights Minus Negate NestedLast Over Positive Retain RightJoin SemiJoin "
    "Session SessionColumns Sliding Source TopK Tumbling Upsert ZSetToBag",
    "output_key": "Entries FlatMap Flatten FullJoin MapWeights Minus Negate NestedLast Plus RightJoin Source",
    "reads": "AsOfJoin Distinct Fixpoint FlatMap FullJoin GroupBy LeftJoin MapWeights Over Positive RightJoin "
    "SessionColumns TopK",
    "demands": "ActiveClock Alert AntiJoin AsOfJoin BagJoin ClockOf Dedupe Filter FilterKeys FinalGroups FlatMap Fold "
    "FullJoin IntervalJoin Join KeyBy KeyPartitions KeyedJoin LatestResults LeftJoin LimitAhead Map MapValues "
    "MergeSorted Over Retain RightJoin Scan SemiJoin Session SessionColumns SetJoin Sliding Sort SumLattice "
    "TopK Tumbling",
}
"""The operators for which the answer of `Operator` to a fact is right. One that forgets a fact is not here."""


def facts_of(operator: Operator, inputs: StreamTypes) -> Iterator[str]:
    """The facts that are asked of an operator on inputs of these types."""
    outputs = operator.judge(inputs).outputs
    yield "keeps"
    if any(can_cancel(each.collection) for each in outputs) and body_of(operator, inputs) is None:  # a body is asked
        yield "retracts"
    if any(isinstance(each.collection, ZSet) for each in outputs):
        yield "output_key"
    if any(isinstance(each.collection, (Bag, ZSet)) for each in outputs):
        yield "timing"
    if inputs and all(isinstance(each.collection, ZSet) for each in (*inputs, *outputs)):
        yield "reads"
    if any(callable(part) or isinstance(part, Lattice) for part in parts_of(operator)):
        yield "demands"


def parts_of(operator: Any) -> list[Any]:
    return [getattr(operator, each.name) for each in fields(operator) if each.compare]


def undeclared(operator: Operator, inputs: StreamTypes) -> list[str]:
    """The facts that neither the class of the operator nor a base class of it declares."""
    kind = type(operator)
    below = kind.__mro__[: kind.__mro__.index(Operator)]
    return [fact for fact in facts_of(operator, inputs) if not any(fact in vars(base) for base in below)]


class Click(NamedTuple):
    user: int
    at: int


def elsewhere() -> Iterator[tuple[Operator, StreamTypes]]:
    """The operators without cases of their own, as verbs build them."""
    flow = flo.Flow("elsewhere")
    clicks = flow.input("clicks", flo.Sequence[Click]).clock("at")
    parts = flow.input("parts", flo.Partitioned[Click], partitions=2)
    active = parts.clock("at", idle_after=timedelta(seconds=1), because="devices are switched off")
    for stream in (
        clicks.rows.to_zset().tumble(10, "at").group_by("window_end").agg(n=flo.count()).final(clicks),
        clicks.rows.join_interval(clicks.rows, "user", (0, 1)),
        active.rows,
        clicks.rows.key_by("user").current(0, lambda n, click: n + 1, clock=clicks, keep=5),
    ):
        assert stream.source is not None
        yield stream.source.operator, tuple(each.type for each in stream.source.inputs)


def shipped() -> dict[type[Operator], list[tuple[Operator, StreamTypes]]]:
    """The classes of Flo's operators, each with the operators and the types of inputs that it is tried on."""
    tried: dict[type[Operator], list[tuple[Operator, StreamTypes]]] = {}
    for operator, inputs in elsewhere():
        tried.setdefault(type(operator), []).append((operator, inputs))
    for case in CASES:
        tried.setdefault(type(case.operator), []).extend((case.operator, types) for types in case.signatures())
    return tried


SHIPPED = shipped()
INSIDE = {type(each) for case in CASES for each in operators_in(case.operator)} - set(SHIPPED)
"""Operators that only stand in bodies: what reads and writes a defer."""


def test_every_class_is_tried() -> None:
    assert set(ELSEWHERE) <= set(SHIPPED)
    assert set(shipped_classes(Operator)) == set(SHIPPED) | INSIDE


@pytest.mark.parametrize("kind", sorted(set(SHIPPED) - {Wire}, key=str))
def test_an_operator_declares_the_facts_that_are_asked_of_it(kind: type[Operator]) -> None:
    """Wires are none of the vertices of a DAG."""
    defaults = {fact for fact, names in DEFAULTS.items() if kind.__name__ in names.split()}
    assert {fact for operator, inputs in SHIPPED[kind] for fact in undeclared(operator, inputs)} == defaults


@pytest.mark.parametrize("kind", sorted(SHIPPED, key=str))
def test_what_is_declared_fits_together(kind: type[Operator]) -> None:
    assert kind.keeps is not Bound.UNKNOWN
    for operator, inputs in SHIPPED[kind]:
        reads = operator.reads
        assert set(reads.passes) | {place for places in reads.functions.values() for place in places} <= set(
            range(operator.arity[0])
        )
        assert set(reads.functions) <= {each.name for each in fields(operator)}
        assert not reads.makes or reads.makes in reads.functions
        if operator.timing is Timing.SEES:
            assert operator.arity[1] > 1
        if operator.timing is Timing.MAKES:
            assert "f" in {each.name for each in fields(operator)}
        list(obligations(operator, inputs))  # raises for a law that there is not


@dataclass(frozen=True)
class Silent(Unary):
    """Declares nothing, and is asked everything."""

    f: Any = abs

    name = "_silent"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return inputs

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (source.of(units),)


@dataclass(frozen=True)
class SilentOnBags(Silent):
    """What only z-sets have is not asked of it."""

    name = "_silent_on_bags"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return (StreamType(Bag(int), inputs[0].bounded),)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (BagValue.terminator(),)


@dataclass(frozen=True)
class Half(Silent):
    name = "_half"
    keeps = Bound.NOTHING
    retracts = False
    reads = Reads(passes=(0,))


@dataclass(frozen=True)
class Heir(Half):
    """Has the facts of its base class."""

    name = "_heir"
    timing = Timing.LOSES


def test_an_operator_that_declares_nothing_is_caught() -> None:
    assert undeclared(Silent(), (ROWS,)) == ["keeps", "retracts", "output_key", "timing", "reads", "demands"]
    assert undeclared(SilentOnBags(), (ROWS,)) == ["keeps", "timing", "demands"]


def test_an_operator_that_forgets_one_fact_is_caught() -> None:
    assert undeclared(Half(), (ROWS,)) == ["output_key", "timing", "demands"]
    assert undeclared(Heir(), (ROWS,)) == ["output_key", "demands"]


def test_what_is_not_declared_is_answered_safely() -> None:
    assert Silent.retracts
    assert Silent.timing is Timing.LOSES
    assert Silent().output_key((("id",),), (ROWS,), ("id",)) is None
    assert Silent.reads.passes == ()
    assert not Silent.reads.functions
    assert list(Silent().demands((ROWS,))) == []

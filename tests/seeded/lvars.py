"""Reading an LVar that may still grow: the illegal ways of §6.2, and the printed rules of `threshold`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from flo.core.collection import End
from flo.core.operator import Measure, Operator, Step, Values, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.values.lattice import BOTTOM
from flo.values.lattice_orders import Flat, Max
from flo.values.lvar import LVar, LVarValue
from flo.values.sequence import Sequence, SequenceValue
from flo.verify import laws
from tests.seeded.base import INTEGERS, Seeded, ended_stream, last, open_stream, seq

RACES = (laws.EAGER_EXECUTION, laws.CONFLUENCE)


class OnLVars(Operator):
    """(LVar<L>, X) ↪ (S<L>, X)."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], LVar)
        return (StreamType(Sequence(), inputs[0].bounded),)

    def measure(self, inputs: Values) -> Measure:
        value = inputs[0]
        assert isinstance(value, LVarValue)
        return (value.end is not End.PASSED,)


@final
@dataclass(frozen=True)
class CurrentValue(Operator):
    """The first illegal `to_sequence` of §6.2: emits the value of an LVar that may still grow."""

    name = "current_value"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], LVar)
        return (StreamType(INTEGERS, inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, LVarValue)
        if value.value is not BOTTOM:
            yield Step("current-value", (value.drained(),), self, (seq(value.value),))
        elif value.end is End.ARRIVED:
            yield Step("current-value-terminated", (value.passed(),), self, (SequenceValue.terminator(),))


@final
@dataclass(frozen=True)
class ValueAtTheEnd(Operator):
    """The second illegal `to_sequence` of §6.2: waits for the end of an LVar that may have none."""

    name = "value_at_the_end"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], LVar)
        return (StreamType(Sequence(), inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, LVarValue)
        if value.end is End.ARRIVED:
            yield Step("value-at-the-end", (value.passed(),), self, (last(value.value),))

    def measure(self, inputs: Values) -> tuple[int, ...]:
        return (inputs[0].size(),)


def above(value: LVarValue, thresholds: tuple[Any, ...]) -> list[Any]:
    """The thresholds that the value has passed; none once the end was passed on."""
    return [t for t in thresholds if value.end is not End.PASSED and value.lattice.leq(t, value.value)]


@final
@dataclass(frozen=True)
class PrintedThreshold(OnLVars):
    """lvar-threshold and lvar-threshold-terminated, figure 18, where one of them or both are mended.

    `excludes`: the second rule is for an LVar below every threshold (2). `ends`: the first ends its output (14).
    """

    thresholds: tuple[Any, ...]
    excludes: bool = False
    ends: bool = False

    name = "lvar_threshold_printed"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, LVarValue)
        passed = above(value, self.thresholds)
        for t in passed:
            yield Step("lvar-threshold", (value.passed(),), self, (last(t) if self.ends else seq(t),))
        if value.end is End.ARRIVED and not (self.excludes and passed):
            yield Step("lvar-threshold-terminated", (value.passed(),), self, (last(),))


@final
@dataclass(frozen=True)
class Exactly(OnLVars):
    """Emits an event while the value is exactly t."""

    t: int

    name = "exactly"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, LVarValue)
        if value.end is not End.PASSED and value.value == self.t:
            yield Step("exactly", (value.passed(),), self, (last(self.t),))
        elif value.end is End.ARRIVED:
            yield Step("exactly-terminated", (value.passed(),), self, (last(),))


@final
@dataclass(frozen=True)
class EndsAt(OnLVars):
    """Ends its output while the value is exactly t. By the printed Definition 3.1 it is eager, by 4.2 it is not."""

    t: int

    name = "ends_at"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, LVarValue)
        if value.end is End.ARRIVED or (value.end is End.OPEN and value.value == self.t):
            yield Step("ends-at", (value.passed(),), self, (last(),))


NUMBER: LVar[Max[int]] = LVar(Max(int))
ANSWER: LVar[Flat[str]] = LVar(Flat(str))
GROWING = open_stream(NUMBER)


LVARS = (
    Seeded(
        "the value of an LVar, now",
        CurrentValue(),
        (laws.EAGER_EXECUTION,),
        "A dashboard asks for the largest price so far, and gets what has arrived when it asks. Each refresh of a "
        "replayed stream shows other numbers, and alerts on them cannot be reproduced.",
        "1 and then 2 arrive: [2] if both are there at the first step, [2, 1] if not",
        3,
        GROWING,
    ),
    Seeded(
        "the value of an LVar, at its end",
        ValueAtTheEnd(),
        (laws.OUTPUT_MAXIMALITY,),
        "Having met the race above, people wait until the value cannot change. On a stream that never ends that is "
        "for ever: the job is healthy, and its sink stays empty.",
        "no value: nothing is emitted, and [⊥] when the input is fixed",
        2,
        GROWING,
    ),
    Seeded(
        "lvar-threshold and lvar-threshold-terminated",
        PrintedThreshold((1,), ends=True),
        RACES,
        "Both rules are enabled on a value that has ended above the threshold. Whether the alarm goes off at the end "
        "of the day depends on which of them is tried first.",
        "(1, true) arrives: [⊗, 1] or [⊗]",
        1,
        ended_stream(NUMBER),
        deviation=2,
    ),
    Seeded(
        "two thresholds that can both be passed",
        PrintedThreshold((10, 20), excludes=True, ends=True),
        RACES,
        "A warning at 10 and an alarm at 20 are put into one read. If the value jumps over both, either is emitted.",
        "20 arrives: [⊗, 10] or [⊗, 20]",
        1,
        open_stream(NUMBER),
        deviation=10,
    ),
    Seeded(
        "lvar-threshold",
        PrintedThreshold((1,), excludes=True),
        (laws.BOUNDED_OUTPUTS,),
        "The rule turns its input into ⊗ and emits the threshold alone, so the end of the input can no longer be "
        "passed on. What waits for the end of the events waits for ever.",
        "(1, true) arrives: [1] stays open",
        3,
        ended_stream(NUMBER),
        deviation=14,
    ),
    Seeded(
        "lvar-threshold on votes that contradict each other",
        PrintedThreshold(("a", "b"), excludes=True, ends=True),
        RACES,
        "Two answers exclude each other, so each may be a threshold. If both are given, the first to come is emitted "
        "and the conflict is never seen.",
        "'a' ⊔ 'b' = ⊤ arrives: [⊗, 'a'] or [⊗, 'b']",
        1,
        open_stream(ANSWER),
        deviation=17,
    ),
    Seeded(
        "an event at exactly one value",
        Exactly(100),
        RACES,
        "`count == 100` is written where `count >= 100` is meant. In tests the counter goes up by one; in production "
        "it jumps from 90 to 110, and the event never comes.",
        "100 and 101 arrive: [⊗, 100] if a step comes between them, [] if not",
        2,
        open_stream(NUMBER),
    ),
    Seeded(
        "eager execution of operators",
        EndsAt(0),
        RACES,
        "Definition 3.1 asks nothing where a delta leaves no step, so this operator passes it, and all other laws. Put "
        "behind another one it gives two outcomes: whoever waits for the end sees it, or does not.",
        "0 and 1 arrive: [⊗] if a step comes between them, [] if not",
        2,
        GROWING,
        deviation=26,
    ),
)

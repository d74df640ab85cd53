"""Printed rules that fall short, as they are printed: those of sequences, of windows, and of `read_defer`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from flo.core.collection import Collection, End
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Delta, Measure, Operator, Step, Values, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import EmitOnce
from flo.values.sequence import Sequence, SequenceValue
from flo.verify import laws
from tests.seeded.base import BOUNDED, INTEGERS, PassOn, Seeded, ended_stream, last, open_stream, seq


@final
@dataclass(frozen=True)
class PrintedMapTerminator(PassOn):
    """map and map-terminator, figure 14, where [⊗] and ⊗ are one value."""

    name = "map_terminator_printed"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements:
            yield from super().steps(inputs)
        elif value.fixed():
            yield Step("map-terminator", inputs, self, (last(),))


@final
@dataclass(frozen=True)
class PrintedMap(PassOn):
    """map and map-terminator, figure 14, of a function that has a result for ⊗ too: […, h] matches [⊗]."""

    name = "map_printed"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        yield from super().steps(inputs)
        if value.ending():
            yield Step("map", (seq(),), self, (seq(0),))


@final
@dataclass(frozen=True)
class PrintedFold(PassOn):
    """fold and fold-terminator, figure 14, of a function that has a result for ⊗ too: it counts the elements."""

    count: int = 0

    name = "fold_printed"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        yield from super().steps(inputs)
        if value.ending():
            yield Step("fold", (seq(),), PrintedFold(self.count + 1), (None,))

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return PrintedFold(self.count + 1), None

    def at_the_end(self) -> Delta:
        return last(self.count)


@final
@dataclass(frozen=True)
class PrintedWindow(Operator):
    """window-first, window and window-emit, figure 15."""

    interval: int
    opened: tuple[tuple[int, int], ...] = ()
    with_end: bool = False
    """Whether the rule for the end that the paper forgets is added, so that the rest can be looked at."""

    name = "window_printed"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence)
        return (StreamType(Nested(INTEGERS), inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        for pair, rest in value.units():
            if self.opened and pair[1] - self.opened[0][1] > self.interval:
                window = NestedValue.pushing((seq(*(element for element, _ in self.opened)),))
                yield Step("window-emit", (rest,), replace(self, opened=(pair,)), (window,))
            else:
                rule = "window" if self.opened else "window-first"
                yield Step(rule, (rest,), replace(self, opened=(*self.opened, pair)), (None,))
        if self.with_end and value.ending():
            yield Step("window-terminator", (value.passed(),), self, (NestedValue.pushing().fix(),))


@final
@dataclass(frozen=True)
class PrintedNestOnce(Operator):
    """nest_once, §5.2, in words: the input, and then empty inner streams, infinitely many."""

    name = "nest_once_printed"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence)
        return (StreamType(Nested(inputs[0].collection), bounded=False),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.fixed():
            inner = value.ended(End.ARRIVED)
            yield Step("nest-once", (value.passed(),), self, (NestedValue.pushing((inner,)),))


@final
@dataclass(frozen=True)
class PrintedReadDefer(EmitOnce):
    """read-defer-emit, figure 12, with the empty order of figure 10; without a key, so that it can stand alone."""

    collection: Collection
    value: SequenceValue | None = None

    name = "read_defer_printed"
    rule = "read-defer-emit"

    def measure(self, inputs: Values) -> Measure:
        return ()


PAIRS: Sequence[tuple[int, int]] = Sequence(tuple[int, int])

PRINTED = (
    Seeded(
        "window",
        PrintedWindow(0),
        (laws.BOUNDED_OUTPUTS,),
        "None of the three rules consumes the end. A bounded input leaves the output open, with the last window "
        "inside the operator.",
        "the input ends: the output stays open",
        1,
        ended_stream(PAIRS),
        deviation=3,
    ),
    Seeded(
        "window-emit",
        PrintedWindow(-1, with_end=True),
        (laws.PRESERVATION, laws.OUTPUT_MAXIMALITY),
        "A window is pushed as ([w₁, …], true), without an end, into a stream of bounded streams. Whoever sums up a "
        "window waits for the end that it does not have.",
        "(0, 0) arrives twice, and the input ends: the window of the first is left without an end",
        6,
        open_stream(PAIRS),
        deviation=3,
    ),
    Seeded(
        "nest_once",
        PrintedNestOnce(),
        (laws.STUCK_STATE, laws.MEASURE),
        "An infinite stream is written as an operator that can always emit another empty one. The event loop never "
        "comes to rest.",
        "the input ends: an inner stream can be emitted, and another",
        3,
        BOUNDED,
        deviation=8,
    ),
    Seeded(
        "map-terminator",
        PrintedMapTerminator(),
        (laws.STUCK_STATE, laws.MEASURE),
        "There is one value for an end that has arrived and for one that was passed on. The rule is enabled by its "
        "own result, and ends its output for ever.",
        "the input ends: the step leads to where it came from",
        2,
        BOUNDED,
        deviation=9,
    ),
    Seeded(
        "map, of the end",
        PrintedMap(),
        (laws.CONFLUENCE,),
        "The rule matches […, h] and does not ask for h ≠ ⊗. A function that has a result for everything takes the end "
        "for an element, and the output stays open.",
        "the input ends: map emits an element, or map-terminator the end",
        2,
        BOUNDED,
        deviation=33,
    ),
    Seeded(
        "fold, of the end",
        PrintedFold(),
        (laws.CONFLUENCE,),
        "The rule matches […, h] and does not ask for h ≠ ⊗. A fold that counts counts the end too, and never emits.",
        "the input ends: fold counts one, or fold-terminator emits zero",
        2,
        BOUNDED,
        deviation=33,
    ),
    Seeded(
        "read-defer-emit",
        PrintedReadDefer(INTEGERS, last(1)),
        (laws.MEASURE,),
        "Figure 10 gives `read_defer` the empty order, in which nothing falls. By it no run of a loop is known to "
        "come to rest.",
        "no input: it emits, and nothing has become less",
        1,
        (),
        deviation=22,
    ),
)

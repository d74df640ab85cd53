"""What windows of event time have in common: a watermark, windows that close, and a side output for what is late."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.errors import TypeMismatch
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamType
from flo.values.event_time import TimeWindow, above_zero, expect_durations, offset_of, origin_of, window_type
from flo.values.operators.functions import as_declared
from flo.values.operators.sequences import Cut
from flo.values.operators.unary import ElementKind
from flo.values.sequence import Sequence, SequenceValue


class TimeWindows(Cut):
    """(S<T>, X) ↪ ([(S<T>, B)], X), (S<T>, X): the windows, and the late elements.

    With `bounds`, a second inner stream holds the one `TimeWindow` that says which window it is.
    """

    arity = (1, 2)
    time: Callable[[Any], Any]
    lateness: Any
    bounds: bool
    origin: Any
    """0 or the epoch, known from the first element."""
    latest: Any
    """The largest time seen, from the origin."""

    @abstractmethod
    def durations(self) -> dict[str, Any]:
        """The sizes that must be above zero, by name."""

    @abstractmethod
    def remaining(self) -> list[Values]:
        """The open windows, in order."""

    @abstractmethod
    def cleared(self) -> Operator:
        """Without open windows."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = self.expect_input(inputs)
        for name, duration in self.durations().items():
            if not above_zero(duration):
                raise TypeMismatch(f"the {name} of `{self.name}` windows must be above zero, and is {duration!r}")
        if self.lateness and not above_zero(self.lateness):
            raise TypeMismatch(f"the lateness of `{self.name}` windows is a duration, and not {self.lateness!r}")
        kind = window_type(self.time, list(self.durations().values()))
        streams = (inner, Sequence(kind)) if self.bounds else (inner,)
        return StreamType(Nested(*streams), inputs[0].bounded), StreamType(inner, inputs[0].bounded)

    def steps(self, inputs: Values) -> Iterator[Step]:
        for step in super().steps(inputs):
            closed, late = step.outputs
            if step.rule != self.rule or closed is late:  # the end, or neither
                yield step
            else:
                yield replace(step, rule=f"{self.rule}-{'emit' if late is None else 'late'}")

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        windows = self.remaining() if self.flush else []
        return self.cleared(), (NestedValue.pushing(*windows).fix(), SequenceValue.terminator())

    def offset(self, unit: Any, origin: Any) -> tuple[Any, Any]:
        """(the origin, the element's time from there)."""
        moment = self.time(unit)
        as_declared(self.time, [moment])
        if origin is None:
            origin = origin_of(moment)
            expect_durations(moment, **self.durations(), lateness=self.lateness)
        return origin, offset_of(moment, origin)

    def watermark(self, latest: Any) -> Any:
        return latest - self.lateness if self.lateness else latest

    def window(self, elements: SequenceValue, origin: Any, start: Any, end: Any) -> Values:
        if not self.bounds:
            return (elements,)
        return elements, SequenceValue.of([TimeWindow(origin + start, origin + end)], End.ARRIVED)


def emitted(closed: list[Values], late: list[Any]) -> Deltas:
    return (NestedValue.pushing(*closed) if closed else None), (SequenceValue.of(late) if late else None)

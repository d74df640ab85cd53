"""Windows of event time over a sequence: tumbling and sliding windows here, session windows in sessions.py.

The watermark is the largest time seen less the lateness. A window closes when the watermark reaches its end, and is
then emitted whole, its elements as they arrived; windows follow one another in the order of their ends. An element that
belongs to a closed window goes to the second output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.errors import TypeMismatch
from flo.core.operator import Deltas, Operator, Values
from flo.core.persistent import Elements, PersistentMap
from flo.values.event_time import place
from flo.values.operators.unary import ElementKind
from flo.values.operators.windowing import TimeWindows, emitted
from flo.values.ordered import Ordered
from flo.values.sequence import SequenceValue

NONE: Elements[Any] = Elements()


class AlignedWindows(TimeWindows):
    """Windows of one size at regular places, [n · slide, n · slide + size).

    `opened` holds the elements of those that are open, by number.
    """

    size: Any
    slide: Any
    opened: PersistentMap[int, Elements[Any]]
    order: Ordered[int]

    def start(self, number: int) -> Any:
        """Where the window of this number begins."""
        return number * self.slide

    def end(self, number: int) -> Any:
        """Where it has ended; windows of larger numbers do not end earlier."""
        next_start = self.start(number + 1)
        if self.slide == self.size:
            return next_start
        return max(self.start(number) + self.size, next_start)  # no gap where floats are rounded

    def numbers(self, offset: Any) -> list[int]:
        """The windows that this time is in."""
        number = place(offset, self.slide)
        found = []
        while self.end(number) > offset:
            found.append(number)
            number -= 1
        return found[::-1]

    def remaining(self) -> list[Values]:
        return [self._closed(number, self.opened[number], self.origin) for number in self.order]

    def cleared(self) -> Operator:
        return replace(self, opened=PersistentMap(), order=Ordered())  # type: ignore[type-var]

    def _closed(self, number: int, elements: Elements[Any], origin: Any) -> Values:
        value = SequenceValue(elements, End.ARRIVED)
        return self.window(value, origin, self.start(number), self.end(number))

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        origin, latest, opened, order = self.origin, self.latest, self.opened, self.order
        watermark = None if latest is None else self.watermark(latest)
        added: dict[int, list[Any]] = {}
        gone: list[int] = []
        closed: list[Values] = []
        late: list[Any] = []
        for unit in units:
            origin, offset = self.offset(unit, origin)
            if latest is None or offset > latest:
                latest, watermark = offset, self.watermark(offset)
                while (number := order.first()) is not None and self.end(number) <= watermark:
                    elements = opened.get(number, NONE).extended(added.pop(number, ()))
                    closed.append(self._closed(number, elements, origin))
                    order = order.removed(number)
                    gone.append(number)
            is_late = False
            for number in self.numbers(offset):
                if number in added:
                    added[number].append(unit)
                elif self.end(number) <= watermark:
                    is_late = True
                else:
                    added[number] = [unit]
                    order = order if number in opened else order.added(number)
            if is_late:
                late.append(unit)
        changes: dict[int, Any] = dict.fromkeys(gone)
        changes |= {number: opened.get(number, NONE).extended(more) for number, more in added.items()}
        operator = replace(  # type: ignore[type-var]
            self, origin=origin, latest=latest, opened=opened.updated(changes, drop=None), order=order
        )
        return operator, emitted(closed, late)


@final
@dataclass(frozen=True)
class Tumbling(AlignedWindows):
    """tumbling(size, time, lateness, …): windows side by side, [n · size, (n + 1) · size)."""

    size: Any
    time: Callable[[Any], Any]
    lateness: Any = None
    flush: bool = False
    bounds: bool = False
    origin: Any = None
    latest: Any = None
    opened: PersistentMap[int, Elements[Any]] = PersistentMap()  # noqa: RUF009
    order: Ordered[int] = Ordered()  # noqa: RUF009

    name = "tumbling"
    rule = "tumbling"

    def durations(self) -> dict[str, Any]:
        return {"size": self.size}

    @property
    def slide(self) -> Any:
        return self.size


@final
@dataclass(frozen=True)
class Sliding(AlignedWindows):
    """sliding(size, slide, time, lateness, …): windows that overlap, [n · slide, n · slide + size)."""

    size: Any
    slide: Any
    time: Callable[[Any], Any]
    lateness: Any = None
    flush: bool = False
    bounds: bool = False
    origin: Any = None
    latest: Any = None
    opened: PersistentMap[int, Elements[Any]] = PersistentMap()  # noqa: RUF009
    order: Ordered[int] = Ordered()  # noqa: RUF009

    name = "sliding"
    rule = "sliding"

    def durations(self) -> dict[str, Any]:
        return {"size": self.size, "slide": self.slide}

    def type(self, inputs: StreamTypes) -> StreamTypes:
        outputs = super().type(inputs)
        if self.slide > self.size:
            raise TypeMismatch(
                f"`sliding` windows of size {self.size!r} that begin every {self.slide!r} leave elements out",
                instead=(("{input}.filter(…).tumbling(…)", "leaves out what it says"),),
            )
        return outputs

"""Session windows: elements that follow one another closely in event time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, TypeAlias, final

from flo.core.collection import End
from flo.core.operator import Deltas, Operator, Values
from flo.core.persistent import Elements, PersistentMap
from flo.values.operators.unary import ElementKind
from flo.values.operators.windowing import TimeWindows, emitted
from flo.values.ordered import Ordered
from flo.values.sequence import SequenceValue

Run: TypeAlias = tuple[Any, Elements[tuple[int, Any]]]
"""An open session: its last time, and its elements, each with its place in the order of arrival."""


@final
@dataclass(frozen=True)
class Session(TimeWindows):
    """session(gap, time, lateness, …): elements less than `gap` apart are in one window, [first, last + gap).

    An element may extend an open session, or join two. `opened` holds the open sessions by their first time, `horizon`
    the end of the last one that closed: what is before it is late, and is in no other session.
    """

    gap: Any
    time: Callable[[Any], Any]
    lateness: Any = None
    flush: bool = False
    bounds: bool = False
    origin: Any = None
    latest: Any = None
    opened: PersistentMap[Any, Run] = PersistentMap()  # noqa: RUF009
    order: Ordered[Any] = Ordered()  # noqa: RUF009
    count: int = 0
    horizon: Any = None

    name = "session"
    rule = "session"

    def durations(self) -> dict[str, Any]:
        return {"gap": self.gap}

    def remaining(self) -> list[Values]:
        return [self._closed(first, self.opened[first], self.origin) for first in self.order]

    def cleared(self) -> Operator:
        return replace(self, opened=PersistentMap(), order=Ordered())

    def _closed(self, first: Any, session: Run, origin: Any) -> Values:
        last, elements = session
        arrived = [unit for _, unit in sorted(elements, key=itemgetter(0))]
        return self.window(SequenceValue.of(arrived, End.ARRIVED), origin, first, last + self.gap)

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        origin, latest, order, count, horizon = self.origin, self.latest, self.order, self.count, self.horizon
        watermark = None if latest is None else self.watermark(latest)
        changes: dict[Any, Run | None] = {}
        closed: list[Values] = []
        late: list[Any] = []

        def session(first: Any) -> Run:
            return changes.get(first) or self.opened[first]

        for unit in units:
            origin, offset = self.offset(unit, origin)
            if latest is None or offset > latest:
                latest, watermark = offset, self.watermark(offset)
                while (first := order.first()) is not None and session(first)[0] + self.gap <= watermark:
                    closed.append(self._closed(first, session(first), origin))
                    horizon = session(first)[0] + self.gap
                    order, changes[first] = order.removed(first), None
            before, after = order.at_most(offset), order.above(offset)
            joined = [before] if before is not None and offset < session(before)[0] + self.gap else []
            if after is not None and after < offset + self.gap:
                joined.append(after)
            if (horizon is not None and offset < horizon) or not (joined or watermark < offset + self.gap):
                late.append(unit)
                continue
            first, last, elements = offset, offset, Elements([(count, unit)])
            for start in joined:
                its_last, its_elements = session(start)
                first, last = min(first, start), max(last, its_last)
                elements = together(its_elements, elements)
            for start in joined:
                if start != first:
                    order, changes[start] = order.removed(start), None
            if first not in joined:
                order = order.added(first)
            changes[first] = (last, elements)
            count += 1
        opened = self.opened.updated(changes, drop=None)
        operator = replace(self, origin=origin, latest=latest, opened=opened, order=order, count=count, horizon=horizon)
        return operator, emitted(closed, late)


def together(elements: Elements[Any], others: Elements[Any]) -> Elements[Any]:
    """Both, not sorted: the shorter is put behind the longer, so that many unions cost little."""
    return elements.extended(others) if len(elements) >= len(others) else others.extended(elements)

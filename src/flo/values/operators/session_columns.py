"""Sessions of the rows of a z-set: every row with the bounds of its session, corrected as rows come and go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

from flo.core.elements import returned_type
from flo.core.errors import ElementError
from flo.core.operator import Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.untyped import Element, ElementFunction, TimeValue, TypeForm, Unit
from flo.values.canonical import canonical_element
from flo.values.event_time import Duration
from flo.values.operators.shapes import ElementKind, evaluate_ahead
from flo.values.operators.zsets import GroupColumns, make_delta
from flo.values.weighted import Weights

LARGEST = 2**63 - 1
"""The largest integer that is a time."""
TimedRow: TypeAlias = tuple[Element, Element, int]
"""The time of a row, the row, and its weight."""


@dataclass(frozen=True)
class SessionColumns(GroupColumns):
    """session(gap, time, by, into, groups): (ZSet<T>, X) ↪ (ZSet<R>, X).

    Rows of a group that are less than `gap` apart are in one session: from the first of their times to the last one
    plus `gap`. A row with a positive weight counts, however large the weight is, and is there with that weight and the
    bounds of its session. One without a positive weight, such as a row that was retracted before it came, neither
    counts nor is there. A row without a time has None for both bounds, whatever its weight.

    Bounds of dates are datetimes, and those of times with a zone are in UTC.
    """

    gap: Duration
    time: ElementFunction | None = None
    by: ElementFunction | None = None
    into: Callable[[Element, tuple[Element, Element]], Any] | None = None
    groups: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009

    name = "session_columns"
    recomputes = ("time", "into")

    def column_types(self, element: TypeForm) -> tuple[TypeForm, ...]:
        time = element if self.time is None else returned_type(self.time)
        return time, time

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        self.evaluate([row for row, _ in units])
        times = [self._time(row) for row, _ in units]
        timed = [unit for unit, at in zip(units, times, strict=True) if at is not None]
        rest = [(self.row(row, (None, None)), w) for (row, w), at in zip(units, times, strict=True) if at is None]
        after, (delta,) = super().consume(timed, source)
        return after, make_delta(rest if delta is None else [*rest, *delta.all_units()])  # type: ignore[attr-defined]

    def evaluate(self, rows: list[Element]) -> None:
        evaluate_ahead(self.time, rows)

    def _time(self, row: object) -> TimeValue:
        """Return the time of a row as the bound of a session."""
        at = row if self.time is None else self.time(row)
        if isinstance(at, datetime):
            return at if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(at, date):
            return datetime(at.year, at.month, at.day)
        if isinstance(at, float) and not math.isfinite(at):
            raise ElementError(f"{at} is not a time")
        return canonical_element(at)

    def rows_of(self, weights: dict[Element, int]) -> list[tuple[Element, int]]:
        timed: list[TimedRow] = [(self._time(row), row, weight) for row, weight in weights.items() if weight > 0]
        timed.sort(key=lambda each: each[0])
        sessions: list[list[TimedRow]] = []
        for each in timed:
            if not sessions or self._is_apart(each[0], sessions[-1][-1][0]):
                sessions.append([])
            sessions[-1].append(each)
        units = []
        for session in sessions:
            bounds = session[0][0], self._end_after(session[-1][0])
            units += [(self.row(row, bounds), weight) for _, row, weight in session]
        return units

    def _is_apart(self, later: Any, earlier: Any) -> bool:
        """Return whether a time that is not before another is too far behind it for one session."""
        gap: TimeValue = self.gap
        if isinstance(earlier, float):
            return bool(later > earlier and later >= earlier + gap)
        return bool(later - earlier >= gap)

    def _end_after(self, last: Any) -> TimeValue:
        """Return the end of the session that has this as its last time."""
        try:
            end = last + self.gap
        except OverflowError:
            end = math.inf
        if isinstance(end, (int, float)) and not (end <= LARGEST if isinstance(last, int) else math.isfinite(end)):
            raise ElementError(f"the window of {last} has a bound that its type does not have")
        return end

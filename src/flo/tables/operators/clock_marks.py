"""How far the clocks of operators are, for people: the largest event time and the watermark, in total and by partition.

partition  largest time   watermark
0          12:00:07       12:00:02
1          11:58:40       11:58:35     the smallest: it holds the whole back
whole      11:58:40       11:58:35
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from flo.core.operator import Operator
from flo.core.untyped import TimeValue
from flo.tables.operators.clock_streams import ClockTables
from flo.tables.operators.clocks import ClockOfAll, ClockOfPartitions, ClockState, EventTime
from flo.tables.operators.dedupe import DedupeTables
from flo.tables.operators.windows import WindowTables
from flo.values.event_time import EPOCH, UTC_EPOCH, span_of
from flo.values.operators.active_clocks import ActiveClock

MOST_SHOWN = 64
"""How many partitions are shown."""


@dataclass(frozen=True)
class ClockMark:
    """A clock of event time. Times are numbers, or microseconds since 1970."""

    latest: TimeValue
    """The largest time; of partitions the smallest of theirs. None if it is not known."""
    lateness: TimeValue
    is_moment: bool
    """Whether times are dates."""
    zoned: bool = False
    each: tuple[tuple[int, TimeValue], ...] | None = None
    """The largest time of each partition that has had a row. None if there are no partitions."""
    partitions: int = 0
    """How many partitions are known from the start."""
    idle: tuple[int, ...] = ()
    """The partitions that the whole does not wait for."""
    per_key: bool = False
    """Whether each key has a clock of its own. To read them all would take long."""

    def joined(self, other: ClockMark) -> ClockMark:
        """The clock of two shards that have one clock."""
        if self.each is None or other.each is None:
            known = [each for each in (self.latest, other.latest) if each is not None]
            return replace(self, latest=max(known, default=None))
        largest = dict(self.each)
        for partition, time in other.each:
            largest[partition] = max(time, largest.get(partition, time))
        each = tuple(sorted(largest.items()))
        return replace(self, each=each, latest=ClockOfPartitions(self.partitions, each).whole)

    def to_data(self) -> dict[str, Any]:
        """The clock as a page shows it. Each partition has its number, its largest time and its watermark, those that
        are farthest behind first. The silent ones have had no row."""
        slowest = sorted(self.each or (), key=lambda one: one[1])
        each = None if self.each is None else [[number, *self._texts(time)] for number, time in slowest[:MOST_SHOWN]]
        silent = sorted(set(range(self.partitions)) - {number for number, _ in self.each or ()})
        latest, watermark = self._texts(self.latest)
        whole = {"latest": latest, "watermark": watermark, "per_key": self.per_key, "idle": self.idle}
        return {**whole, "partitions": each, "count": len(slowest), "silent": silent[:MOST_SHOWN]}

    def _texts(self, time: TimeValue) -> tuple[str, str]:
        return ("", "") if time is None else (self._text(time), self._text(time - self.lateness))

    def _text(self, time: TimeValue) -> str:
        if not self.is_moment:
            return f"{time:,}"
        try:
            moment = (UTC_EPOCH if self.zoned else EPOCH) + timedelta(microseconds=time)
        except OverflowError:  # the watermark is before the first year
            return "before all dates"
        return moment.isoformat(" ", "milliseconds")


def read_clock(operator: Operator) -> ClockMark | None:
    """The clock of an operator, if it has one of event time that has begun."""
    if isinstance(operator, ActiveClock):
        return _read_active(operator)
    clock: ClockState | None = getattr(operator, "clock", None)
    if not isinstance(clock, ClockState):
        return None
    axis = operator.windower.axis if isinstance(operator, WindowTables) else None
    if isinstance(operator, (ClockTables, DedupeTables)):
        axis = operator._axis
    if not isinstance(axis, EventTime):
        return None
    is_moment = axis.kind is timedelta
    if isinstance(clock, ClockOfAll):
        return ClockMark(clock.latest, axis.lateness, is_moment, clock.zoned)
    if isinstance(clock, ClockOfPartitions):
        return ClockMark(clock.whole, axis.lateness, is_moment, clock.zoned, clock.each, clock.partitions)
    return ClockMark(None, axis.lateness, is_moment, per_key=True)


def _read_active(operator: ActiveClock) -> ClockMark | None:
    """A clock that does not wait for idle partitions. It has no form on tables."""
    if not operator.latest:
        return None
    is_moment = isinstance(operator.latest[0][1], timedelta)
    each = tuple((partition, span_of(time)) for partition, time in operator.latest)
    lateness = span_of(operator.lateness) if operator.lateness else 0
    whole = None if operator.whole is None else span_of(operator.whole)
    zoned = operator.origin == UTC_EPOCH if is_moment else False
    return ClockMark(whole, lateness, is_moment, zoned, each, operator.partitions, operator.idle)

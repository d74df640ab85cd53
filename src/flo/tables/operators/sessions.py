"""Session windows: rows of one group that are less than a gap apart are one session.

With a gap of 5 and a lateness of 0:

    key  time
    a    1    ┐ session [1, 3]. Its window is [1, 3 + 5): it closes when the watermark of a is at 8
    a    3    ┘
    a    10     session [10, 10]. This row moves the watermark to 10, so the session before it closes
    b    2      open: b has a watermark of its own

A row at 7 would have joined both sessions, had it come before the row at 10: it is less than 5 from 3 and from 10.

Invariant: two open sessions of a group are at least the gap apart, and an open session ends after the watermark. The
*horizon* of a group is the end of its last session that has closed. A row is late if it is before the horizon, or if
its own window [time, time + gap) has ended and no open session is near it.

Where no row of a group is behind the watermark, none is late, and the sessions follow from the times alone: they are
computed for all such groups at once (`_merge_at_once`). Otherwise the rows of a group are looked at in the order in
which they came (`Merging`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, take_rows
from flo.core.untyped import TimeValue
from flo.tables.functions import beside
from flo.tables.groups import ONE
from flo.tables.operator import register_in
from flo.tables.operators.clocks import Axis, ClockReading, EventTime, Times, running_max
from flo.tables.operators.weights import totals
from flo.tables.operators.windowers import EVERY_TIME, WINDOWERS, Assigned, Bounds, Closing, TimedDelta, Windower
from flo.tables.state.matching import match_keys
from flo.tables.state.panes import TIME, Panes, in_time_order, no_keys
from flo.tables.state.run import Run, run_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, sum_ranges, with_weights
from flo.tables.values import WEIGHT
from flo.values.event_time import span_of, too_large
from flo.values.operators.windows import Session
from flo.values.ordered import SortedKeys

FIRST, LAST = "first/", "last/"
"""The times of a session. No field of a Python class can have these names."""
FirstAndLast: TypeAlias = tuple[TimeValue, TimeValue]
"""The first time of a session, and its last."""


@dataclass(frozen=True)
class Spans:
    """Sessions, sorted by group and time."""

    groups: Indices
    """The group of each session."""
    first: Times
    """Its first time."""
    last: Times
    """Its last time. The window ends a gap later."""

    def __len__(self) -> int:
        return len(self.groups)

    def within(self, group: int) -> Spans:
        return self.of(slice(*np.searchsorted(self.groups, [group, group + 1])))

    def of(self, indices: Any) -> Spans:
        return Spans(self.groups[indices], self.first[indices], self.last[indices])

    def with_others(self, *others: Spans) -> Spans:
        """Returns these and the other sessions, in order."""
        if not any(map(len, others)):
            return self
        every = (self, *others)
        groups = np.concatenate([spans.groups for spans in every])
        first = np.concatenate([spans.first for spans in every])
        last = np.concatenate([spans.last for spans in every])
        return Spans(groups, first, last).of(np.lexsort((first, groups)))

    def find(self, groups: Indices, times: Times) -> Indices:
        """Returns the index of the session that holds each time of a group; -1 if none does."""
        count = len(self)
        if not count:
            return np.full(len(times), -1)
        if self.groups[0] == self.groups[-1]:
            sessions = np.searchsorted(self.first, times, side="right") - 1
        else:
            kind = np.repeat([0, 1], [count, len(times)])
            order = np.lexsort((kind, np.concatenate([self.first, times]), np.concatenate([self.groups, groups])))
            sessions = np.empty(len(order), np.int64)
            sessions[order] = np.cumsum(kind[order] == 0) - 1
            sessions = sessions[count:]
        inside = (sessions >= 0) & (self.groups[sessions] == groups) & (times <= self.last[sessions])
        return np.where(inside, sessions, -1)


@dataclass(frozen=True, eq=False)
class OpenSessions(Trace):
    """The sessions that are open, as rows: key columns, first time, last time, and weight."""

    ordered: SortedKeys[FirstAndLast] | None = None
    """The sessions where there are no key columns; the trace is empty then. A checkpoint does without them: they follow
    from the rows that wait."""

    term = "sessions"

    def of(self, keys: Run, dtype: Any) -> Spans:
        nothing = np.zeros(0, dtype)
        met = [(run.table, *match_keys(keys, run)) for run in self.runs]
        groups = np.concatenate([nothing.astype(np.int64), *(ours for _, ours, _ in met)])
        first, last = (
            np.concatenate([nothing, *(table[name].to_numpy()[theirs] for table, _, theirs in met)])
            for name in (FIRST, LAST)
        )
        weights = np.concatenate([groups[:0], *(numbers_in(table, WEIGHT)[theirs] for table, _, theirs in met)])
        order = np.lexsort((last, first, groups))
        spans = Spans(groups, first, last).of(order)
        new = np.any([each[1:] != each[:-1] for each in (spans.groups, spans.first, spans.last)], axis=0)
        starts = np.flatnonzero(np.concatenate([[True], new])[: len(spans)])
        return spans.of(starts[sum_ranges(weights[order], starts) > 0]) if len(starts) else spans

    def replaced(self, keys: Run, before: Spans, after: Spans) -> OpenSessions:
        """Returns the sessions with those of these keys that were `before` replaced by those `after`."""
        parts = [_with_keys(keys, before, -1), _with_keys(keys, after, 1)]
        delta = totals(pa.concat_tables(parts), (*keys.columns, FIRST, LAST))
        return replace(self, columns=keys.columns).extend(run_of(delta.table, keys.columns))


NO_SESSIONS = OpenSessions(())


def _with_keys(keys: Run, spans: Spans, weight: int) -> pa.Table:
    """Sessions as rows: with the columns of their keys, and this weight."""
    table = beside(take_rows(keys.table, spans.groups), pa.table({FIRST: spans.first, LAST: spans.last}))
    return with_weights(table, np.full(len(spans), weight))


@dataclass
class Merging:
    """The sessions of one group while the rows of a delta come."""

    gap: TimeValue
    spans: SortedKeys[FirstAndLast]
    """Those that are open."""
    horizon: TimeValue
    """The end of the last session that has closed; None if none has."""
    closed: list[FirstAndLast] = field(default_factory=list)
    """Those that have closed in this delta."""

    def near(self, first: TimeValue, last: TimeValue) -> list[FirstAndLast]:
        """The open sessions that are less than the gap from here."""
        before = self.spans.at_most((first, math.inf))
        sessions = [before] if before is not None and first < before[1] + self.gap else []
        after = self.spans.above((first, math.inf))
        while after is not None and after[0] < last + self.gap:
            sessions.append(after)
            after = self.spans.above(after)
        return sessions

    def add(self, first: TimeValue, last: TimeValue, mark: TimeValue) -> None:
        """Adds rows that are not late: as new sessions, or to sessions that are near."""
        near = self.near(first, last)
        if not near and last + self.gap <= mark:
            self._end((first, last))
            return
        for span in near:
            self.spans = self.spans.removed(span)
            first, last = min(first, span[0]), max(last, span[1])
        self.spans = self.spans.added((first, last))

    def is_late(self, time: TimeValue, mark: TimeValue) -> bool:
        """Whether a row behind the watermark is late."""
        if self.horizon is not None and time < self.horizon:
            return True
        return time + self.gap <= mark and not self.near(time, time)

    def close(self, mark: TimeValue) -> None:
        """Closes the sessions that have ended at this watermark."""
        while (span := self.spans.first()) is not None and span[1] + self.gap <= mark:
            self.spans = self.spans.removed(span)
            self._end(span)

    def _end(self, span: FirstAndLast) -> None:
        """Closes a session, and moves the horizon to its end."""
        self.closed.append(span)
        end = span[1] + self.gap
        self.horizon = end if self.horizon is None else max(self.horizon, end)

    def take(self, times: Times, kept: Times, marks: Times) -> Indices:
        """Adds rows, and returns those that are late. Rows between two that are behind the watermark are added at once.

        A row that is not behind the watermark is never late, and cannot follow a session that has closed: of such rows,
        it does not matter when in a delta each one comes. So they are sorted, and only what they amount to, [first,
        last], meets the open sessions. A row behind the watermark is looked at by itself, in its turn.
        """
        behind = times < marks
        turns = np.cumsum(behind | np.concatenate([[False], behind[:-1]]))
        order = np.lexsort((kept, turns)) if turns[-1] else in_time_order(kept)
        moments, turns = times[order], turns[order]
        apart = (turns[1:] != turns[:-1]) | (moments[1:] >= moments[:-1] + self.gap)
        starts = np.flatnonzero(np.concatenate([[True], apart]))
        ends = np.append(starts[1:], len(moments)) - 1
        turn_ends = np.searchsorted(turns, turns[starts], side="right") - 1
        late = []
        for first, last, row, mark, lone, ending in zip(
            moments[starts].tolist(),
            moments[ends].tolist(),
            order[starts].tolist(),
            marks[turn_ends].tolist(),
            behind[order[starts]].tolist(),
            (ends == turn_ends).tolist(),
            strict=True,
        ):
            if lone and self.is_late(first, mark):
                late.append(row)
                continue
            self.add(first, last, mark)
            if ending:
                self.close(mark)
        return np.sort(np.array(late, np.int64))


class MergedSessions(NamedTuple):
    """Sessions after a delta."""

    ended: Spans
    """Those that close."""
    left: Spans
    """Those that stay open."""


@final
@dataclass(frozen=True)
class Sessions(Windower):
    """Rows less than `gap` apart are in one window, [first, last + gap)."""

    axis: Axis
    gap: TimeValue

    def assign(self, delta: TimedDelta, opened: OpenSessions | None, panes: Panes) -> Assigned:
        groups, times, marks = delta.groups, delta.times, delta.marks
        opened = opened or NO_SESSIONS
        assert marks is not None
        if times.dtype == np.float64 and (lost := times + self.gap <= times).any():
            raise too_large(times[lost][0].item(), self.gap)
        if delta.partitioned:
            return self._assign_partitioned(delta, opened, panes)
        one_by_one = np.ones(1, bool)  # one group of all rows: its open sessions are in order, and few are looked at
        before = _spans(0, [], times.dtype)
        if not delta.is_one:
            before = opened.of(groups.keys, times.dtype)
            one_by_one = np.zeros(len(groups.counts), bool)
            one_by_one[delta.ids[delta.exact < marks]] = True
        at_once = self._merge_at_once(delta, before, one_by_one)
        closed, left, late = [at_once.ended], [at_once.left], [np.zeros(0, np.int64)]
        starts = groups.firsts
        for group in np.flatnonzero(one_by_one).tolist():
            part = slice(starts[group], starts[group] + groups.counts[group])
            spans = self._read_ordered(opened, panes) if delta.is_one else _in_order(before.within(group))
            horizon = delta.before.closed[group]
            merging = Merging(self.gap, spans, None if horizon is np.ma.masked else horizon.item() + self.gap)
            late.append(part.start + merging.take(delta.exact[part], times[part], marks[part]))
            closed.append(_spans(group, sorted(merging.closed), times.dtype))
            if delta.is_one:
                opened = replace(opened, ordered=merging.spans)
            else:
                left.append(_spans(group, list(merging.spans), times.dtype))
        ended = closed[0].with_others(*closed[1:])
        if not delta.is_one:
            opened = opened.replaced(groups.keys, before, left[0].with_others(*left[1:]))
        return self._assign_ended(delta, ended, np.concatenate(late), opened)

    def _assign_partitioned(self, delta: TimedDelta, opened: OpenSessions, panes: Panes) -> Assigned:
        """Assigns rows of several partitions to sessions. A row behind the watermark of its own partition is late."""
        assert delta.marks is not None
        is_late = delta.exact < delta.marks
        horizon = delta.before.closed[0]
        spans = self._read_ordered(opened, panes)
        merging = Merging(self.gap, spans, None if horizon is np.ma.masked else horizon.item() + self.gap)
        if not is_late.all():
            rows = ~is_late
            merging.take(delta.exact[rows], delta.times[rows], np.full(np.count_nonzero(rows), -np.inf))
        if delta.latest is not None:
            merging.close(self.axis.watermark(delta.latest)[0])
        ended = _spans(0, merging.closed, delta.times.dtype)
        return self._assign_ended(delta, ended, np.flatnonzero(is_late), replace(opened, ordered=merging.spans))

    def _merge_at_once(self, delta: TimedDelta, before: Spans, one_by_one: Mask) -> MergedSessions:
        """Merges the sessions of the groups in which no row is behind the watermark."""
        if one_by_one.all():
            return MergedSessions(before.of(slice(0)), before.of(slice(0)))
        rows = np.flatnonzero(~one_by_one[delta.ids])
        lone = Spans(delta.ids[rows], delta.times[rows], delta.times[rows])
        sessions = self._merge(before.of(~one_by_one[before.groups]).with_others(lone))
        assert delta.latest is not None
        over = self.axis.exact(sessions.last) + self.gap <= self.axis.watermark(delta.latest)[sessions.groups]
        return MergedSessions(sessions.of(over), sessions.of(~over))

    def _merge(self, spans: Spans) -> Spans:
        """Merges sessions that are less than the gap apart."""
        if not len(spans):
            return spans
        until = running_max(spans.last, spans.groups)
        ends = self.axis.exact(until) + self.gap
        apart = (spans.groups[1:] != spans.groups[:-1]) | (spans.first[1:] >= ends[:-1])
        starts = np.flatnonzero(np.concatenate([[True], apart]))
        return Spans(spans.groups[starts], spans.first[starts], until[np.append(starts[1:], len(spans)) - 1])

    def _assign_ended(self, delta: TimedDelta, ended: Spans, late: Indices, opened: OpenSessions) -> Assigned:
        """Assigns the rows of a delta to the sessions that have ended; all others, unless they are late, wait."""
        kept = np.ones(len(delta.times), bool)
        kept[late] = False
        which = ended.find(delta.ids, delta.times)
        rows = np.flatnonzero(kept & (which >= 0))
        lasts = np.flatnonzero(np.append(ended.groups[1:] != ended.groups[:-1], True)[: len(ended)])
        closed = delta.before.closed.copy()
        closed[ended.groups[lasts]] = ended.last[lasts]  # sessions close in the order of time
        some = ended.groups[lasts]
        closing = SessionsClosing(
            self, some, self._horizon(delta.before.closed[some]), self._horizon(closed[some]), ended
        )
        waits = kept & (which < 0)
        return Assigned(late, rows, which[rows], None, waits, closing, opened, closed)

    def _horizon(self, closed: Any) -> Times:
        """The end of the last session that has closed, given its last time; a time before all if none has."""
        ends = self.axis.bounds(self.axis.exact(np.asarray(closed.filled(0))) + self.gap)
        lowest = -np.inf if self.axis.kind is float else -(1 << 63)
        return np.where(np.ma.getmaskarray(closed), lowest, ends)

    def remaining(
        self, keys: Run, before: ClockReading, opened: OpenSessions | None, panes: Panes
    ) -> tuple[Closing, OpenSessions | None]:
        opened, dtype = opened or NO_SESSIONS, before.latest.dtype
        if keys is not ONE:
            spans = opened.of(keys, dtype)
            opened = opened.replaced(keys, spans, spans.of(slice(0))) if len(spans) else opened
        else:
            spans, opened = _spans(0, list(self._read_ordered(opened, panes)), dtype), NO_SESSIONS
        groups = np.unique(spans.groups)
        return SessionsClosing(self, groups, self._horizon(before.closed[groups]), None, spans), opened

    def reach(self, time: TimeValue, mark: TimeValue) -> Bounds:
        return Bounds(time, time + self.gap)

    def gone(self, reading: ClockReading) -> Times:
        return self._horizon(reading.closed)

    def _read_ordered(self, opened: OpenSessions, panes: Panes) -> SortedKeys[FirstAndLast]:
        """The open sessions where there are no key columns: as they were kept, or computed from the rows that wait."""
        if opened.ordered is not None:
            return opened.ordered
        rows = panes.read_waiting(no_keys)
        if rows is None:
            return SortedKeys()
        times = rows[TIME].to_numpy()
        times = times[np.argsort(times, kind="stable")]
        exact = self.axis.exact(times)
        apart = exact[1:] >= exact[:-1] + self.gap
        return SortedKeys(
            zip(times[np.append(True, apart)].tolist(), times[np.append(apart, True)].tolist(), strict=True)
        )


@final
@dataclass(frozen=True)
class SessionsClosing(Closing):
    """The sessions that close; each is numbered by its index."""

    windower: Sessions
    groups: Indices
    since: Times
    until: Times | None
    spans: Spans

    @property
    def gone(self) -> Any:  # type: ignore[override]
        return EVERY_TIME if self.until is None else self.until

    def holding(self, groups: Indices, times: Times) -> tuple[Indices, Indices | None]:
        return self.spans.find(self.groups[groups], times), None

    def bounds(self, numbers: Indices) -> Bounds:
        exact = self.windower.axis.exact
        return Bounds(exact(self.spans.first[numbers]), exact(self.spans.last[numbers]) + self.windower.gap)


def _in_order(spans: Spans) -> SortedKeys[FirstAndLast]:
    return SortedKeys(zip(spans.first.tolist(), spans.last.tolist(), strict=True))


def _spans(group: int, spans: list[FirstAndLast], dtype: Any) -> Spans:
    first, last = (np.array([span[at] for span in spans], dtype) for at in (0, 1))
    return Spans(np.full(len(spans), group), first, last)


@register_in(WINDOWERS, Session)
def make_sessions(like: Any, inputs: Any) -> Windower:
    return Sessions(EventTime(like, inputs), span_of(like.gap))

"""Session windows on tables: rows that are close in time are found for a whole delta, and joined to open sessions.

A row that is not behind the watermark is never late, and cannot follow a session that has closed: of such rows, it does
not matter when in a delta each one comes. So they are sorted, and only what they amount to, [first, last], meets the
open sessions. A row behind the watermark may be late, and is looked at by itself, in its turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, Places, taken
from flo.core.operator import Delta, Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.operators.window_times import Times, exact, key_of, keys_of_times, number
from flo.tables.operators.windowing import TimeWindowTables, counted
from flo.tables.state.packing import arranged, grouped
from flo.tables.translate import form_of
from flo.values.operators.windows import Session
from flo.values.ordered import Ordered

Span = tuple[Any, Any]
"""The first time and the last."""


@dataclass
class Sessions:
    """The open sessions while a delta is consumed, those that have closed, and the end of the last of them."""

    gap: Any
    spans: Ordered[Span]
    horizon: Any
    closed: list[Span] = field(default_factory=list)

    def joined(self, first: Any, last: Any) -> list[Span]:
        """The open sessions that are less than the gap from here."""
        before = self.spans.at_most((first, math.inf))
        found = [before] if before is not None and first < before[1] + self.gap else []
        after = self.spans.above((first, math.inf))
        while after is not None and after[0] < last + self.gap:
            found.append(after)
            after = self.spans.above(after)
        return found

    def add(self, first: Any, last: Any, mark: Any) -> None:
        """Rows that are not late: a session of their own, or part of those that are near."""
        joined = self.joined(first, last)
        if not joined and last + self.gap <= mark:
            self._ended((first, last))
            return
        for span in joined:
            self.spans = self.spans.removed(span)
            first, last = min(first, span[0]), max(last, span[1])
        self.spans = self.spans.added((first, last))

    def late(self, time: Any, mark: Any) -> bool:
        """Whether a row behind the watermark is too late."""
        if self.horizon is not None and time < self.horizon:
            return True
        return time + self.gap <= mark and not self.joined(time, time)

    def close(self, mark: Any) -> None:
        """What has ended when the watermark is here."""
        while (span := self.spans.first()) is not None and span[1] + self.gap <= mark:
            self.spans = self.spans.removed(span)
            self._ended(span)

    def _ended(self, span: Span) -> None:
        self.closed.append(span)
        end = span[1] + self.gap
        self.horizon = end if self.horizon is None else max(self.horizon, end)


@final
@dataclass(frozen=True)
class SessionTables(TimeWindowTables[Session]):
    """session(…): `spans` says where the open sessions begin and end. It follows from the rows that wait, so a
    checkpoint does without it."""

    horizon: Any = None
    spans: Ordered[Span] | None = field(default=None, compare=False, kw_only=True)

    name = "session_tables"

    @property
    def gap(self) -> Any:
        like: Any = self.like
        return number(like.gap)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        origin, moments = self.times(table)
        times = exact(moments, (self.gap, self.lateness))
        sessions = Sessions(self.gap, self._spans(), self.horizon)
        late = self.meet(sessions, times, keys_of_times(moments))
        kept = np.ones(len(times), bool)
        kept[late] = False
        closing = kept & (times < sessions.horizon) if sessions.closed else np.zeros(len(times), bool)
        windows = self._closed(sorted(sessions.closed), table, np.flatnonzero(closing), moments[closing])
        waiting = self.waiting(table, moments, np.flatnonzero(kept & ~closing))
        if sessions.closed:
            waiting = waiting.without(key_of(sessions.horizon, self.kind))
        after = self.after(table, origin, moments, waiting, spans=sessions.spans, horizon=sessions.horizon)
        return after, (windows, self.emitted(taken(table, late), 1) if len(late) else None)

    def _spans(self) -> Ordered[Span]:
        if self.spans is not None:
            return self.spans
        times = np.sort(self.oldest()[2])
        if not len(times):
            return Ordered()
        times = exact(times, (self.gap, self.lateness))
        apart = times[1:] >= times[:-1] + self.gap
        firsts, lasts = times[np.append(True, apart)], times[np.append(apart, True)]
        return Ordered(zip(firsts.tolist(), lasts.tolist(), strict=True))

    def meet(self, sessions: Sessions, times: Times, keys: Numbers) -> Places:
        """Takes the rows into the sessions, in turns: between two rows behind the watermark, all rows at once. Gives
        those that are late."""
        marks = self.marks(times)
        behind = times < marks
        turns = np.cumsum(behind | np.concatenate([[False], behind[:-1]]))
        order = np.lexsort((keys, turns)) if turns[-1] else arranged(keys)
        moments, turns = times[order], turns[order]
        apart = (turns[1:] != turns[:-1]) | (moments[1:] >= moments[:-1] + self.gap)
        starts = np.flatnonzero(np.concatenate([[True], apart]))
        ends = np.append(starts[1:], len(moments)) - 1
        turn_ends = np.searchsorted(turns, turns[starts], side="right") - 1
        late = []
        for first, last, place, mark, lone, ending in zip(
            moments[starts].tolist(),
            moments[ends].tolist(),
            order[starts].tolist(),
            marks[turn_ends].tolist(),
            behind[order[starts]].tolist(),
            (ends == turn_ends).tolist(),
            strict=True,
        ):
            if lone and sessions.late(first, mark):
                late.append(place)
                continue
            sessions.add(first, last, mark)
            if ending:
                sessions.close(mark)
        return np.array(late, np.int64)

    def _closed(self, spans: list[Span], table: pa.Table | None, places: Places, times: Times) -> Delta:
        """These sessions, with these rows of a delta."""
        if not spans:
            return None
        firsts, lasts = (exact(np.array(each), (self.gap, self.lateness)) for each in zip(*spans, strict=True))
        old, order, old_times = self.oldest(lasts[-1] + self.gap)
        if old is not None:
            places, times = np.concatenate([order, places + old.num_rows]), np.concatenate([old_times, times])
            table = old if table is None else pa.concat_tables([old, table])
        order, _, counts = grouped(np.searchsorted(firsts, times, side="right") - 1)
        streams = np.repeat(np.arange(len(spans)), counts)
        return self.closed(taken(table, places[order]), streams, firsts, lasts + self.gap)

    def remaining(self) -> Delta:
        nothing = np.zeros(0, np.float64 if self.kind is float else np.int64)
        return self._closed(list(self._spans()), None, nothing.astype(np.int64), nothing)

    def cleared(self) -> Operator:
        return replace(super().cleared(), spans=None)


@form_of(Session)
def session(like: Any, inputs: StreamTypes) -> Operator | None:
    return SessionTables(like) if counted(like) else None

"""Sessions in the body of `per_key`: rows of all keys that are close in time are found at once.

Where no row of a key is behind the watermark, none is late, and the sessions are what all times and the open sessions
amount to. The other keys are looked at one by one, as if each were alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, taken
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import beside
from flo.tables.groups import Groups
from flo.tables.operators.per_key import every_key
from flo.tables.operators.per_key_cuts import Cuts, together
from flo.tables.operators.per_key_windows import TIME, WindowsOfEveryKey, marks_of, reached
from flo.tables.operators.sessions import Sessions, SessionTables
from flo.tables.operators.weights import NOTHING, totals
from flo.tables.operators.window_times import Times, exact, keys_of_times
from flo.tables.operators.windowing import counted
from flo.tables.state.run import Run, pairs, run_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, added, weighing
from flo.tables.streams import KeyedStreams
from flo.tables.values import WEIGHT
from flo.values.operators.windows import Session
from flo.values.ordered import Ordered

FIRST, LAST, CLOSED = "first/", "last/", "closed/"
"""The times of a session, and the last time of the last one that has closed."""


@dataclass(frozen=True)
class Spans:
    """Sessions by key and time: whose each is, its first time and its last."""

    owners: Places
    first: Times
    last: Times

    def __len__(self) -> int:
        return len(self.owners)

    def owned(self, owner: int) -> Spans:
        return self.of(slice(*np.searchsorted(self.owners, [owner, owner + 1])))

    def of(self, places: Any) -> Spans:
        return Spans(self.owners[places], self.first[places], self.last[places])

    def with_others(self, *others: Spans) -> Spans:
        """All, in their order."""
        every = (self, *others)
        owners = np.concatenate([spans.owners for spans in every])
        first = np.concatenate([spans.first for spans in every])
        last = np.concatenate([spans.last for spans in every])
        return Spans(owners, first, last).of(np.lexsort((first, owners)))

    def holding(self, owners: Places, times: Times) -> Places:
        """Which of them each time of an owner is in, or -1."""
        count = len(self)
        kind = np.repeat([0, 1], [count, len(times)])
        order = np.lexsort((kind, np.concatenate([self.first, times]), np.concatenate([self.owners, owners])))
        latest = np.cumsum(kind[order] == 0) - 1
        found = np.empty(len(order), np.int64)
        found[order] = latest
        found = found[count:]
        if not count:
            return found
        inside = (found >= 0) & (self.owners[found] == owners) & (times <= self.last[found])
        return np.where(inside, found, -1)


def merged(spans: Spans, gap: Any) -> Spans:
    """Those that are less than the gap apart as one."""
    if not len(spans):
        return spans
    until = reached(spans.last, spans.owners)
    ends = exact(until, (gap,)) + gap
    apart = (spans.owners[1:] != spans.owners[:-1]) | (spans.first[1:] >= ends[:-1])
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    return Spans(spans.owners[starts], spans.first[starts], until[np.append(starts[1:], len(spans)) - 1])


@final
@dataclass(frozen=True)
class SessionsOfEveryKey(WindowsOfEveryKey[Session]):
    """session(…). `spans` has the open sessions of each key. The pane of a row is its time in gaps."""

    form: SessionTables
    spans: Trace = field(default=NOTHING)

    name = "sessions_of_every_key"

    def added(self, rows: Groups) -> tuple[Self, KeyedStreams, pa.Table | None]:
        keys, gap = rows.keys, self.form.gap
        clocks, places, known = self.clocks_of(keys)
        zoned, moments = self.times(rows, clocks)
        ids = np.repeat(np.arange(keys.rows), rows.counts)
        largest = marks_of(moments, ids, clocks)
        latest = largest[np.cumsum(rows.counts) - 1]
        before, horizon = self._open(keys), _horizons(keys.rows, places, known, moments.dtype)
        behind = self._exactly(moments) < self._marks(largest)
        alone = np.zeros(keys.rows, bool)
        alone[ids[behind]] = True
        every = np.flatnonzero(~alone[ids])
        easy = before.of(~alone[before.owners]).with_others(Spans(ids[every], moments[every], moments[every]))
        easy = merged(easy, gap)
        over = self._exactly(easy.last) + gap <= self._marks(latest)[easy.owners]
        closed, opened, late = [easy.of(over)], [easy.of(~over)], [np.zeros(0, np.int64)]
        for owner in np.flatnonzero(alone).tolist():
            part = slice(*np.searchsorted(ids, [owner, owner + 1]))
            sessions = self._sessions(before.owned(owner), horizon[owner])
            form = replace(self.form, latest=clocks.latest[owner].item() if clocks.known[owner] else None)
            some = form.meet(sessions, self._exactly(moments[part]), keys_of_times(moments[part]))
            closed.append(_spans(owner, sorted(sessions.closed), moments.dtype))
            opened.append(_spans(owner, list(sessions.spans), moments.dtype))
            late.append(part.start + np.sort(some))
        whole, left = (each[0].with_others(*each[1:]) for each in (closed, opened))
        lasts = np.flatnonzero(np.append(whole.owners[1:] != whole.owners[:-1], True)[: len(whole)])
        horizon[whole.owners[lasts]] = whole.last[lasts]  # sessions close in the order of time
        too_late = np.concatenate(late)
        kept = np.ones(len(ids), bool)
        kept[too_late] = False
        which = whole.holding(ids, moments)
        table = self.in_panes(rows.rows, self._panes(moments), **{TIME: moments})
        done = kept & (which >= 0)
        found, gone = self._closed(keys, whole, which[done], table.filter(pa.array(done)))
        after = replace(
            self,
            waiting=self.kept(table.filter(pa.array(kept & ~done)), gone),
            count=self.count + len(ids),
            clocks=self.grown(keys, latest, np.full(keys.rows, zoned), **{CLOSED: _column(horizon)}),
            spans=self._changed(keys, before, left),
        )
        return after, found, taken(rows.rows, too_late) if len(too_late) else None

    def _exactly(self, times: Times) -> Times:
        return exact(times, (self.form.gap, self.form.lateness)) if len(times) else times

    def _panes(self, times: Times) -> Places:
        gap, most = self.form.gap, 2.0**62
        panes: Times = (
            times // min(gap, (1 << 63) - 1) if times.dtype == np.int64 else np.clip(times // gap, -most, most)
        )
        return panes.astype(np.int64, copy=False)

    def _marks(self, latest: Times) -> Times:
        marks: Times = self._exactly(latest) - self.form.lateness
        return marks

    def _sessions(self, spans: Spans, closed: Any) -> Sessions:
        """The open sessions of one key, and the end of the last that has closed."""
        gap = self.form.gap
        both = Ordered(zip(spans.first.tolist(), spans.last.tolist(), strict=True))
        return Sessions(gap, both, None if closed is np.ma.masked else closed.item() + gap)

    def _open(self, keys: Run) -> Spans:
        """The open sessions of these keys."""
        nothing = np.zeros(0, np.float64 if self.form.kind is float else np.int64)
        met = [(run.table, *pairs(keys, run)) for run in self.spans]
        owners = np.concatenate([nothing.astype(np.int64), *(ours for _, ours, _ in met)])
        first, last = (
            np.concatenate([nothing, *(table[name].to_numpy()[theirs] for table, _, theirs in met)])
            for name in (FIRST, LAST)
        )
        weights = np.concatenate([owners[:0], *(numbers_in(table, WEIGHT)[theirs] for table, _, theirs in met)])
        order = np.lexsort((last, first, owners))
        spans = Spans(owners, first, last).of(order)
        new = np.any([each[1:] != each[:-1] for each in (spans.owners, spans.first, spans.last)], axis=0)
        starts = np.flatnonzero(np.concatenate([[True], new])[: len(spans)])
        return spans.of(starts[added(weights[order], starts) > 0]) if len(starts) else spans

    def _changed(self, keys: Run, before: Spans, after: Spans) -> Trace:
        parts = [weighing(_table(keys, spans), np.full(len(spans), sign)) for spans, sign in ((before, -1), (after, 1))]
        delta = totals(pa.concat_tables(parts), (*self.keys, FIRST, LAST))
        by_key = replace(self.spans, columns=self.keys)
        return by_key.extended(run_of(delta.table, self.keys))

    def _closed(
        self, keys: Run, spans: Spans, which: Places, rows: pa.Table | None
    ) -> tuple[KeyedStreams, pa.Table | None]:
        """These sessions, with rows that have just come; and those of their rows that waited."""
        cuts = Cuts(taken(keys.table, spans.owners), self._panes(spans.first), self._panes(spans.last))
        old, waiting = self.found(cuts)
        if waiting is not None:
            times = waiting[TIME].to_numpy()
            places = np.flatnonzero((times >= spans.first[old]) & (times <= spans.last[old]))
            old, waiting = old[places], taken(waiting, places)
        which = np.concatenate([old, which])
        if not len(which):
            return self.nothing(), None
        rows = waiting if rows is None else together(waiting, rows)
        starts, lasts = self._exactly(spans.first), self._exactly(spans.last)
        return self.windows(cuts, which, rows, starts, lasts + self.form.gap), waiting

    def ending(self, keys: Run) -> tuple[Self, KeyedStreams]:
        spans = self._open(keys)
        closed, gone = self._closed(keys, spans, np.zeros(0, np.int64), None)
        after = replace(self, waiting=self.kept(None, gone), spans=self._changed(keys, spans, spans.of(slice(0))))
        return after, closed if self.like.flush else self.nothing()


def _horizons(count: int, places: Places, known: pa.Table | None, kind: Any) -> Any:
    """The last time of the last session that has closed, for each key that has one."""
    horizons: Any = np.ma.array(np.zeros(count, kind), mask=True)
    if known is not None:
        there = np.flatnonzero(known[CLOSED].is_valid().to_numpy())
        horizons[places[there]] = known[CLOSED].drop_null().to_numpy()
    return horizons


def _column(horizons: Any) -> pa.Array:
    return pa.array(horizons.filled(0), mask=np.ma.getmaskarray(horizons))


def _spans(owner: int, spans: list[Any], kind: Any) -> Spans:
    first, last = (np.array([span[at] for span in spans], kind) for at in (0, 1))
    return Spans(np.full(len(spans), owner), first, last)


def _table(keys: Run, spans: Spans) -> pa.Table:
    return beside(taken(keys.table, spans.owners), pa.table({FIRST: spans.first, LAST: spans.last}))


@every_key(Session)
def session(like: Session, inputs: StreamTypes) -> Operator | None:
    return SessionsOfEveryKey(like, SessionTables(like)) if counted(like) else None

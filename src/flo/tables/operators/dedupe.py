"""`dedupe` on tables: the first row of each key, for all rows or for each group.

With `keep` = 10. `m` is the largest time up to a row, and `mark` the largest time when the key was emitted:

    row  key  time  m      mark before   emitted
    r    a    1     1                    r, and the mark of a is 1
    s    a    9     9      1             no: 9 - 1 is not more than 10
    u    a    12    12     1             u, and the mark of a is 12

Invariant: the trace has the mark of every key that is remembered. A mark that is more than `keep` before the largest
time is gone, whether a run has it or not: it leaves when its run merges.

The rows of a delta are sorted by key. As m never falls, the first row of a key that is emitted is searched for by
halves, and so is the next.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, bisect_ranges, take_rows
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TimeValue
from flo.tables.functions import beside, with_key
from flo.tables.groups import ONE, Groups, distinct_keys
from flo.tables.operator import Grouping, OnTables, Placement
from flo.tables.operators.clocks import (
    LARGE,
    ClockState,
    EventTime,
    Times,
    durations_of,
    kind_of,
    new_clock,
)
from flo.tables.state.keys import Keys
from flo.tables.state.run import Run
from flo.tables.state.trace import Latest
from flo.tables.translate import form_of
from flo.values.event_time import span_of
from flo.values.operators.dedupe import Dedupe

MARK = "mark/"
"""The column with the largest time when a key was emitted. No field of a Python class can have this name."""


def _exact(latest: Times, marks: Times) -> tuple[Times, Times]:
    """Return both as Python's own integers, if a difference could overflow."""
    if marks.dtype == np.float64 or not len(marks) or not len(latest):
        return latest, marks
    small = latest.dtype != object and int(latest.max()) - int(marks.min()) < LARGE
    return (latest, marks) if small else (latest.astype(object), marks.astype(object))


@dataclass(frozen=True)
class Forgetting:
    """Which marks are gone: those that are more than `keep` before the clock of their group."""

    clock: ClockState
    groups: tuple[str, ...]
    kind: type
    keep: TimeValue

    def find_gone(self, rows: pa.Table) -> Any:
        """Return which rows of a trace of marks are gone."""
        latest, marks = _exact(self._clock_of(rows), rows[MARK].to_numpy())
        return (latest - marks > self.keep).astype(bool)

    def _clock_of(self, rows: pa.Table) -> Times:
        """Return the clock of the group of each row."""
        if not self.groups:
            return self.clock.read(ONE, self.kind).latest
        keys, equal = distinct_keys(rows, self.groups)
        return self.clock.read(keys, self.kind).latest[equal.numbers()]


@dataclass(frozen=True, eq=False)
class Marks(Latest):
    """The mark of each key. The operator that holds the trace knows which are gone; that is not stored."""

    forgetting: Forgetting | None = field(default=None, kw_only=True)

    term = "marks"

    @property
    def how(self) -> tuple[object, ...]:
        return (*super().how, self.forgetting)

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        whole = super().join(runs, fully=fully, oldest=oldest)
        if self.forgetting is None or not whole.rows:
            return whole
        kept = np.flatnonzero(~self.forgetting.find_gone(whole.table))
        return whole if len(kept) == whole.rows else whole.take(kept)


@form_of(Dedupe)
@final
@dataclass(frozen=True, eq=False)
class DedupeTables(OnTables[Dedupe]):
    """The first row of each key in each group."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY

    clock: ClockState | None = None
    """The largest time; None before the first row."""
    marks: Marks = field(default=Marks(()))

    name = "dedupe_tables"

    @classmethod
    def fits(cls, like: Dedupe, inputs: StreamTypes) -> bool:
        return kind_of(like.time, durations_of(like)) is not None

    @property
    def computes(self) -> bool:
        return False

    @property
    def _keep(self) -> TimeValue:
        return span_of(self.like.keep)

    @property
    def _axis(self) -> EventTime:
        return EventTime(self.like, self.inputs)

    def _remembered(self, clock: ClockState | None, columns: tuple[str, ...]) -> Marks:
        """The marks by these columns, without those that are gone by a clock."""
        forgetting = None if clock is None else Forgetting(clock, self.keys, self._axis.kind, self._keep)
        return replace(self.marks, columns=columns, forgetting=forgetting)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        groups, axis, clock = Groups.of(table, self.keys), self._axis, self.clock or new_clock(self.keys)
        before = clock.read(groups.keys, axis.kind)
        zoned, times = axis.times(groups, before)
        reached, latest, clock = clock.reach(groups, times, before)
        assert latest is not None, "only partitions that have sent nothing make it unknown"
        clock = clock.moved(groups.keys, before.moved(latest, zoned, before.closed))
        rows, columns = with_key(groups.rows, self.like.on, self.inputs[0])
        columns = (*self.keys, *columns)
        run, (order, firsts) = distinct_keys(rows, columns)
        known, state = self._remembered(self.clock, columns).look_up(run)
        emitted, last = self._find_first(axis.exact(reached)[order], firsts, known, state)
        marked = np.flatnonzero(last >= 0)
        marks = beside(run.take(marked).table, pa.table({MARK: reached[order[last[marked]]]}))
        delta = Run(columns, Keys(run.keys.at(marked), run.keys.exact), marks)
        after = replace(self, clock=clock, marks=self._remembered(clock, columns).extend(delta))
        return after, (self.emitted(take_rows(groups.rows, np.sort(order[emitted]))),)

    def _find_first(
        self, reached: Times, firsts: Indices, known: Indices, state: pa.Table | None
    ) -> tuple[Indices, Indices]:
        """Returns which rows, sorted by key, are emitted, and for each key the last of them; -1 if there is none."""
        ends, keep = np.append(firsts[1:], len(reached)), self._keep
        begins = firsts.copy()
        if state is not None:
            reached, marks = _exact(reached, state[MARK].to_numpy())
            begins[known] = bisect_ranges(
                firsts[known], ends[known], lambda rows, which: (reached[rows] - marks[which] <= keep).astype(bool)
            )
        begun = np.flatnonzero(begins < ends)
        last = np.full(len(firsts), -1, np.int64)
        last[begun] = first = begins[begun]
        following = bisect_ranges(
            first + 1, ends[begun], lambda rows, which: (reached[rows] - reached[first[which]] <= keep).astype(bool)
        )
        more: list[int] = []
        again = np.flatnonzero(following < ends[begun])
        moments = reached.tolist() if len(again) else []
        for key, at in zip(begun[again].tolist(), following[again].tolist(), strict=True):
            while at < ends[key]:
                more.append(at)
                last[key], mark = at, moments[at]
                at = bisect_left(moments, True, at + 1, int(ends[key]), key=lambda time: time - mark > keep)
        return np.concatenate([first, np.array(more, np.int64)]), last

    def _content(self) -> Marks:
        """The marks that are remembered."""
        return self._remembered(self.clock, self.marks.columns).consolidate()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DedupeTables):
            return NotImplemented
        return (self.like, self.clock) == (other.like, other.clock) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self.like)

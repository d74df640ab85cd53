"""What cuts the sequence of every key into inner streams: rows wait by key and pane until theirs is complete.

A pane is a part of the sequence that inner streams are made of: a batch, a slide of time, a gap. Which panes an inner
stream has is known, so that its rows are found without a look at others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, expanded, taken
from flo.core.collection import End
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.groups import Groups
from flo.tables.keyed import ENDED, KeyedRows
from flo.tables.operator import Op
from flo.tables.operators.batches import BatchTables
from flo.tables.operators.keyed import keyed_delta
from flo.tables.operators.per_key import WithForm, every_key
from flo.tables.operators.waiting import ARRIVAL
from flo.tables.operators.weights import NOTHING
from flo.tables.state.run import Run, pairs, run_of
from flo.tables.state.totals import Totals, grouped, numbers_in
from flo.tables.state.trace import Trace, added, weighing
from flo.tables.streams import KeyedStreamColumns, KeyedStreams, Streams, inner_of, numbered
from flo.tables.values import WEIGHT, layout_of
from flo.values.operators.sequences import Batch

PANE = "/"
"""The column of a row's pane. No field of a Python class can have this name, nor the next."""
_CUT = "|"
_MARKS = [pa.field(name, pa.int64(), nullable=False) for name in (ARRIVAL, PANE, WEIGHT)]


@dataclass(frozen=True)
class Cuts:
    """Inner streams that are complete: whose each is, and its panes from the first to the last."""

    keys: pa.Table
    first: Places
    last: Places

    @property
    def count(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class CutOfEveryKey(WithForm[Op]):
    """`waiting` has the rows of inner streams that are open, by key and pane."""

    waiting: Trace = field(default=NOTHING)
    count: int = 0
    """How many rows have come."""

    @property
    def rule(self) -> str:
        return self.like.name

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,) = values
        after, closed, late = self, self.nothing(), None
        if value.table.num_rows:
            after, closed, late = self.added(Groups.of(value.table, self.keys))
        gone = Groups.of(value.keys.filter(value.keys[ENDED]), self.keys).keys
        if gone.rows:
            after, left = after.ending(gone)
            closed = closed.concat(left)
        streams = replace(closed, keys=value.keys)
        others = [keyed_delta(of, late, value.keys) for of in self.outputs[1:]]  # type: ignore[arg-type]
        return after, (streams if streams.has_content() else None, *others)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        _, left = self.ending(self.every_key())
        others = (self.ended(place) for place in range(1, len(self.outputs)))
        return self.cleared(), (left.fix(), *others)

    def added(self, rows: Groups) -> tuple[Self, KeyedStreams, pa.Table | None]:
        """With these rows; the inner streams that are complete; rows that are in none."""
        raise NotImplementedError

    def ending(self, keys: Run) -> tuple[Self, KeyedStreams]:
        """Without what is open of these keys, which have ended; and that, if it is to be emitted."""
        raise NotImplementedError

    def every_key(self) -> Run:
        """The keys that may have something open."""
        raise NotImplementedError

    def cleared(self) -> Self:
        """When all has ended."""
        return type(self)(self.like, self.form, inputs=self.inputs, outputs=self.outputs, keys=self.keys)

    def nothing(self) -> KeyedStreams:
        return KeyedStreamColumns(self.outputs[0]).bottom()  # type: ignore[arg-type]

    def in_panes(self, rows: pa.Table, panes: Places, **more: Places) -> pa.Table:
        """Rows with what is kept beside them."""
        columns = [self.count + np.arange(rows.num_rows), panes, np.ones(rows.num_rows, np.int64)]
        for marked, column in zip(_MARKS, columns, strict=True):
            rows = rows.append_column(marked, pa.array(column, pa.int64()))
        for name, column in more.items():
            rows = rows.append_column(pa.field(name, pa.array(column).type, nullable=False), pa.array(column))
        return rows

    def found(self, cuts: Cuts) -> tuple[Places, pa.Table | None]:
        """(for each row that waits in the panes of these inner streams, which of them; the rows)."""
        counts = cuts.last - cuts.first + 1
        if not self.waiting.runs or not counts.sum():
            return np.zeros(0, np.int64), None
        which = np.repeat(np.arange(cuts.count), counts)
        asked = taken(cuts.keys, which)
        asked = asked.append_column(_MARKS[1], pa.array(expanded(cuts.first, counts)))
        run = run_of(asked.append_column(_CUT, pa.array(which)), (*self.keys, PANE))
        met = [(each, *pairs(run, each)) for each in self.waiting]
        places = np.concatenate([numbers_in(run.table, _CUT)[ours] for _, ours, _ in met])
        rows = pa.concat_tables([taken(each.table, theirs) for each, _, theirs in met])
        return _there(places, rows)

    def kept(self, new: pa.Table | None, gone: pa.Table | None) -> Trace:
        """What waits, with rows that came and without rows that have left."""
        parts = [] if new is None else [new]
        if gone is not None and gone.num_rows:
            parts.append(weighing(gone, -np.ones(gone.num_rows, np.int64)))
        rows = pa.concat_tables(parts) if parts else None
        if rows is None or not rows.num_rows:
            return self.waiting
        columns = (*self.keys, PANE)
        return replace(self.waiting, columns=columns).extended(run_of(rows.combine_chunks(), columns))

    def whole(self, cuts: Cuts, which: Places, rows: pa.Table) -> tuple[Places, KeyedStreams]:
        """(those of the inner streams that have rows, they with their rows, which are given in any order)."""
        if not len(which):
            return which, self.nothing()
        order = np.lexsort((numbers_in(rows, ARRIVAL), which))
        there, streams = np.unique(which[order], return_inverse=True)
        of: Any = self.outputs[0]
        names = list(layout_of(inner_of(of.inner)[0]).names)
        table = numbered(taken(rows.select(names), order), streams)
        whole = Streams(of.inner, len(there), (table,))
        nothing = self.nothing()
        owners = taken(cuts.keys, there).cast(nothing.owners.schema)  # keys of a state may be null, as far as it knows
        return there, replace(nothing, streams=whole, owners=owners)


def _there(which: Places, rows: pa.Table) -> tuple[Places, pa.Table]:
    """Without rows that have left: they are there twice, and add up to nothing."""
    weights = numbers_in(rows, WEIGHT)
    if not len(weights) or weights.min() > 0:
        return which, rows
    order = np.lexsort((numbers_in(rows, ARRIVAL), which))
    pair = np.stack([which[order], numbers_in(rows, ARRIVAL)[order]])
    firsts = np.flatnonzero(np.concatenate([[True], (pair[:, 1:] != pair[:, :-1]).any(axis=0)]))
    left = order[firsts[added(weights[order], firsts) > 0]]
    return which[left], taken(rows, left)


def together(old: pa.Table | None, new: pa.Table) -> pa.Table:
    return new if old is None else pa.concat_tables([old, new])


@final
@dataclass(frozen=True)
class BatchOfEveryKey(CutOfEveryKey[Batch]):
    """batch(n): a batch is a pane. `counts` has how many rows each key had."""

    counts: Totals = field(default=Totals(()))

    name = "batch_of_every_key"

    def added(self, rows: Groups) -> tuple[Self, KeyedStreams, pa.Table | None]:
        counts, size = replace(self.counts, columns=self.keys), self.like.count
        before = counts.known(rows.keys)[WEIGHT]
        panes = (rows.positions() + np.repeat(before, rows.counts)) // size
        done = (before + rows.counts) // size
        complete = panes < np.repeat(done, rows.counts)
        number = done - before // size
        first = expanded(before // size, number)
        cuts = Cuts(taken(rows.keys.table, np.repeat(np.arange(rows.keys.rows), number)), first, first)
        old, waiting = self.found(cuts)
        table = self.in_panes(rows.rows, panes)
        begins = np.cumsum(number) - number - before // size
        new = (panes + np.repeat(begins, rows.counts))[complete]
        _, closed = self.whole(cuts, np.concatenate([old, new]), together(waiting, table.filter(pa.array(complete))))
        kept = self.kept(table.filter(pa.array(~complete)), waiting)
        delta, _ = grouped(rows.keys.table, rows.keys.keys, rows.counts, [])
        after = replace(self, waiting=kept, count=self.count + len(panes), counts=counts.extended(delta))
        return after, closed, None

    def ending(self, keys: Run) -> tuple[Self, KeyedStreams]:
        last = replace(self.counts, columns=self.keys).known(keys)[WEIGHT] // self.like.count
        cuts = Cuts(keys.table, last, last)
        which, rows = self.found(cuts)
        if rows is None or not rows.num_rows:
            return self, self.nothing()
        closed = self.whole(cuts, which, rows)[1] if self.like.flush else self.nothing()
        return replace(self, waiting=self.kept(None, rows)), closed

    def every_key(self) -> Run:
        table = replace(self.counts, columns=self.keys).table()
        keys = self.nothing().owners if table is None else table.select(list(self.keys))
        return run_of(keys, self.keys)


@every_key(Batch)
def batch(like: Batch, inputs: StreamTypes) -> Operator | None:
    return BatchOfEveryKey(like, BatchTables(like))

"""session(gap, time) of z-sets on tables: each row with the bounds of its session, which change when rows come or go.

With a gap of 5:

    key  time    start  end          a row (a, 7) arrives       start  end
    a    1       1      8     ┐      - its old bounds, and      1      15   ┐
    a    3       1      8     ┘      + its new ones             1      15   │ 7 is less than 5 from 3 and from 10:
    a    7                           +                          1      15   │ one session of all rows
    a    10      10     15           - and +                    1      15   ┘

Invariant: the output has every row that is present with the bounds of its session now, [first, last + gap); a row
without a time has none. A row that was retracted more often than it came is *owed*, and kept apart, so that `rows` has
no row of a negative weight.

Only sessions that change are read: those around the rows of a delta, found in the trace by key and time
(state/chains.py). If the bounds of a session stay the same, only the rows that come or go are emitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import expand_ranges, one_chunk, take_rows
from flo.columns.projection import Widened
from flo.columns.windowing import session_bounds, time_kind
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import AT, plain_columns, result_layout, results, runs_on_columns, with_group
from flo.tables.operator import Cut, kept, register_in
from flo.tables.operators.elementwise import like_rows
from flo.tables.operators.ordering import InGroups, widen
from flo.tables.state.chains import SessionElements, Spacing, Stored, find_elements
from flo.tables.state.keys import keys_of
from flo.tables.state.order import Order
from flo.tables.state.ranked import Ranked, groups_in, owners_of, ranked_run
from flo.tables.state.run import Run
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import add_checked, group_equal_rows, sum_ranges, weigh, with_weights
from flo.tables.translate import FORMS
from flo.tables.values import WEIGHT, layout_of
from flo.values.operators.session_columns import SessionColumns
from flo.values.row_functions import passed_by

NO_ROWS = Ranked(())


class SortedDelta(NamedTuple):
    """The rows of a delta."""

    rows: Run
    """Those with a time, by key and time."""
    alone: pa.Table
    """Those without a time."""
    spacing: Spacing
    """The column of the time, and the gap."""


class Split(NamedTuple):
    """A delta in two, by what happens to its rows."""

    present: Run
    """How the rows that are present change."""
    owed: Run
    """How those change that were retracted more often than they came."""


@final
@dataclass(frozen=True)
class SessionTables(InGroups[SessionColumns]):
    """Rows with the bounds of their sessions."""

    cancels = True

    rows: Ranked = kept(NO_ROWS, Cut.BY_KEY)
    """The rows that have a time, by key and time. In all, none of them has a negative weight."""
    owed: Ranked = kept(NO_ROWS, Cut.BY_KEY)
    """Rows that were retracted more often than they came, with negative weights."""

    name = "session_tables"

    @property
    def by_row(self) -> bool:
        return not all(map(runs_on_columns, (self.like.by, self.like.time)))

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return passed_by(self.like.into, columns)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta, alone, spacing = self._sort(table.combine_chunks())
        parts = [self._with_bounds(alone, None)] if alone.num_rows else []
        if not delta.rows:
            return self, (self.emitted(parts[0] if parts else None),)
        order = self._order(spacing.column)
        rows, owed = (replace(trace, columns=delta.columns, order=order) for trace in (self.rows, self.owed))
        groups = groups_in(delta)
        stored = Stored.of(rows.runs, groups, spacing)
        moved, owing = self._split(stored, owed, delta, groups, spacing)
        if moved.rows:
            elements = find_elements(stored, groups, moved, owners_of(groups, moved), spacing)
            parts.append(self._find_changes(stored, moved, elements, spacing))
        after = replace(self, rows=rows.extend(moved), owed=owed.extend(owing))
        return after, (self.emitted(pa.concat_tables(parts) if parts else None),)

    def _sort(self, table: pa.Table) -> SortedDelta:
        of, like = self.inputs[0], self.like
        table, columns = with_group(table, like.by, of)
        (at,) = plain_columns(like.time, of) or (AT,)
        if at not in table.column_names:
            times = results(like.time, of, table)
            table = table.append_column(times.schema.field(0).with_name(at), times.column(0))
        unknown = np.asarray(one_chunk(table[at]).is_null())
        alone, table = (take_rows(table, np.flatnonzero(which)) for which in (unknown, ~unknown))
        groups = (*columns, *self.keys)
        run = ranked_run(table, groups, keys_of([table[name] for name in groups]), self._order(at))
        return SortedDelta(run, alone, Spacing(at, like.gap))

    def _order(self, column: str) -> Order:
        return Order((column,), False, layout_of(self.inputs[0]), by_text=False, group_columns=self.keys)

    def _split(self, stored: Stored, owed: Ranked, delta: Run, groups: Run, spacing: Spacing) -> Split:
        """Splits a delta: insertions first pay what is owed, and retractions owe what is not present.

        So how often a row is present is looked up if it is retracted, or if any rows are owed."""
        weights = numbers_in(delta.table, WEIGHT)
        asked = np.arange(delta.rows) if owed.runs else np.flatnonzero(weights < 0)
        if not len(asked):
            return Split(delta, delta.part(0, 0))
        owners, times = owners_of(groups, delta)[asked], spacing.read(delta)[asked]
        names = [*layout_of(self.inputs[0]).names, *self.keys]
        parts, kinds = [take_rows(delta.table.select([*names, WEIGHT]), asked)], [np.zeros(len(asked), np.int64)]
        numbers = keys_of([parts[0][name] for name in names]).numbers
        for kind, trace in ((1, stored), (2, Stored.of(owed.runs, groups, spacing))):
            for place, run in enumerate(trace.runs):
                low, high = trace.find_ties(place, owners, times)
                some = np.flatnonzero(low < high)
                low, once = np.unique(low[some], return_index=True)  # rows of one time are one range
                part = take_rows(run.table.select([*names, WEIGHT]), expand_ranges(low, high[some[once]] - low))
                same = np.isin(keys_of([part[name] for name in names]).numbers, numbers)
                parts.append(take_rows(part, np.flatnonzero(same)))
                kinds.append(np.full(parts[-1].num_rows, kind))
        table, kind_of = pa.concat_tables(parts), np.concatenate(kinds)
        distinct = group_equal_rows(table.select(names).combine_chunks())
        equal, firsts = distinct
        every = numbers_in(table, WEIGHT)[equal]
        new, there, owing = (sum_ranges(np.where(kind_of[equal] == each, every, 0), firsts) for each in (0, 1, 2))
        sums = add_checked(add_checked(there, new), owing)
        row = distinct.numbers()[: len(asked)]
        moved, more = weights.copy(), np.zeros(delta.rows, np.int64)
        moved[asked], more[asked] = (np.maximum(sums, 0) - there)[row], (np.minimum(sums, 0) - owing)[row]
        return Split(weigh(delta, moved), weigh(delta, more))

    def _find_changes(self, stored: Stored, moved: Run, elements: SessionElements, spacing: Spacing) -> pa.Table:
        """Returns the output rows that are no longer right, with negative weights, and the new ones."""
        (old_first, old_last), (first, last) = (
            elements.find_sessions(there, spacing) for there in (elements.was, elements.now)
        )
        other = elements.was & ~(elements.now & (old_first == first) & (old_last == last))
        tables, owners = [], []
        for run, spot in zip(stored.runs, elements.spots, strict=True):
            some = np.flatnonzero(other[spot.elements])
            counts = spot.ends[some] - spot.starts[some]
            tables.append(take_rows(run.table, expand_ranges(spot.starts[some], counts)))
            owners.append(np.repeat(spot.elements[some], counts))
        before = np.concatenate([*owners, np.zeros(0, np.int64)])
        owner = np.concatenate([before, elements.changed])
        rows = pa.concat_tables([*tables, moved.table.select(moved.table.column_names)])
        gone, come = np.arange(len(before)), np.flatnonzero(elements.now[owner])
        chosen = np.concatenate([gone, come])
        weights = numbers_in(rows, WEIGHT)
        rows = with_weights(take_rows(rows, chosen), np.concatenate([-weights[gone], weights[come]]))
        first, last = (
            np.concatenate([old[owner[gone]], new[owner[come]]]) for old, new in ((old_first, first), (old_last, last))
        )
        bound = layout_of(self.outputs[0]).cells[-1].arrow
        return self._with_bounds(rows, session_bounds(first, last, self.like.gap, bound))

    def _with_bounds(self, rows: pa.Table, bounds: tuple[pa.Array, pa.Array] | None) -> pa.Table:
        """The output rows: those of the input with their bounds, or null."""
        bounds = bounds or (pa.nulls(rows.num_rows, layout_of(self.outputs[0]).cells[-1].arrow),) * 2
        return like_rows(widen(rows, bounds, self.inputs[0], self.outputs[0], self.like.into), rows, self.keys)


@register_in(FORMS, SessionColumns)
def session_columns(like: SessionColumns, inputs: StreamTypes) -> Operator | None:
    """Returns the form of sessions, if the times are one column."""
    layout = result_layout(like.time, inputs[0].collection)
    if layout is None or layout.form != "value" or time_kind(layout.cells[0].arrow) is None:
        return None
    return SessionTables(like) if like.into is None or isinstance(like.into, Widened) else None

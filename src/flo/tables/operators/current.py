"""`current` on tables: the latest result of a running function for each key, in a trace by key.

`keep` is 30. The clock moves from 50 to 60, so keys whose last row is before 30 expire:

    key  result  last          states              emitted            expired
    ann  2       25            ann: deleted        - (ann, 2)         (ann, 2)
    bob  1       41            bob: 1, 41

Invariant: the trace has the result of every key that has not expired, with the largest time of its rows, and the sum of
the first output is these results. `waiting` has the keys by that time, so those that expire are found without a scan.

The function is called as on values, row by row. What is looked up, written and emitted are the keys of a delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.changes import REST
from flo.columns.expression import Expression, calling
from flo.columns.indices import Indices, one_chunk, take_rows
from flo.columns.layout import VALUE, Layout
from flo.columns.windowing import TimeNumbers, time_kind
from flo.core.elements import returned_type
from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TimeValue
from flo.tables.functions import apply_function, elements_of, written
from flo.tables.groups import Groups
from flo.tables.keyed import expect_keyed, has_key_columns, inner_of, key_layout, key_names, keys_in
from flo.tables.operator import register_in, to_output_type, to_table_type, to_value_type
from flo.tables.operators.clocked_windows import clocked_steps
from flo.tables.operators.keyed import OnKeyed
from flo.tables.operators.upserts import Current
from flo.tables.state.expiring import Expiring, Interval
from flo.tables.state.run import Run, run_of
from flo.tables.state.trace import with_weights
from flo.tables.translate import CHOICES
from flo.tables.values import WEIGHT, layout_of
from flo.values.event_time import span_of
from flo.values.operators.current import LatestResults, State
from flo.values.operators.retain import to_number

RESULT, LAST = "result", "last"
"""The parts of what is kept of a key."""


@final
@dataclass(frozen=True)
class CurrentTables(OnKeyed[LatestResults]):
    """The latest result of each key."""

    states: Current = field(default=Current(()))
    """The result of each key, and the largest time of its rows; null if it has expired."""
    waiting: Expiring = field(default=Expiring(()))
    """The keys by that time, if they expire."""
    mark: TimeValue = None
    """Keys whose largest time is before it, a number, have expired."""

    name = "current_tables"
    cancels = True

    @property
    def _results(self) -> Layout:
        """How results lie in columns."""
        layout = Layout.of(returned_type(self.like.f))
        assert layout is not None, "a function whose results have no columns runs on values"
        return layout

    @property
    def _times(self) -> pa.DataType:
        return pa.float64() if isinstance(self.like.time, Expression) and _kind(self.like) is float else pa.int64()

    def take_in(self, *values: Any) -> tuple[Operator, Deltas]:
        (value,) = values
        if not value.table.num_rows:
            return self, (None,) * len(self.outputs)
        groups = Groups.of(value.table, key_names(self.inputs[0]))
        states = replace(self.states, columns=groups.keys.columns)
        known, rows = states.look_up(groups.keys)
        old = None if rows is None else rows.filter(one_chunk(rows[REST]).is_valid())
        if rows is not None:
            known = known[np.asarray(one_chunk(rows[REST]).is_valid())]
        results, times, gone, expired = self._follow(groups, known, old)
        new = self._with_rest(groups.keys.table, results, times)
        changes = [self._pairs(new, 1)] if old is None else [self._pairs(old, -1), self._pairs(new, 1)]
        after = replace(self, states=states.extend(replace(groups.keys, table=new)))
        outputs = [self.emitted(pa.concat_tables(changes))]
        if self.like.by_clock:
            after = replace(after, waiting=self._moved(old, new))
            ended = self._with_rest(take_rows(groups.keys.table, gone), expired, [None] * len(expired))
            outputs.append(self.emitted(self._pairs(ended, 1), 1))
        return after, tuple(outputs)

    @calling
    def _follow(
        self, groups: Groups, known: Indices, old: pa.Table | None
    ) -> tuple[list[Any], list[Any], Indices, list[Any]]:
        """Calls the function: returns the result and the largest time of each key, and the keys and results of those
        that expired before one of these rows."""
        before: list[State | None] = [None] * groups.keys.rows
        if old is not None:
            results, times = self._read(old)
            for index, *state in zip(known.tolist(), results, times, strict=True):
                before[index] = (state[0], state[1])
        inner = inner_of(expect_keyed(self.inputs[0]))
        units = groups.split(elements_of(inner, groups.rows))
        moments = None
        if self.like.time is not None:
            times = one_chunk(apply_function(self.like.time, (inner,), groups.rows)[VALUE])
            moments = groups.split(TimeNumbers.of(self.like.name, times).numbers.tolist())
        every = self.like.follow_all(before, units, moments)
        gone = np.repeat(np.arange(len(every)), [len(each.expired) for each in every])
        expired = [result for each in every for result in each.expired]
        return [each.results[-1] for each in every], [each.last for each in every], gone, expired

    def _with_rest(self, keys: pa.Table, results: list[Any], times: list[Any]) -> pa.Table:
        """Keys with what is kept of them."""
        result = self._results.as_array(written(results, returned_type(self.like.f)))
        rest = pa.StructArray.from_arrays([result, pa.array(times, self._times)], names=[RESULT, LAST])
        return keys.select(list(key_names(self.inputs[0]))).append_column(REST, rest)

    def _read(self, rows: pa.Table) -> tuple[list[Any], list[Any]]:
        """The results and the times in rows of the trace."""
        result, last = one_chunk(rows[REST]).flatten()
        layout = self._results
        columns = [result] if layout.form == "value" else result.flatten()
        return layout.to_elements(pa.Table.from_arrays(columns, schema=layout.schema)), last.to_pylist()

    def _pairs(self, rows: pa.Table, weight: int) -> pa.Table:
        """Rows of the trace as pairs of a key and its result, with this weight."""
        of, keys = self.inputs[0], keys_in(expect_keyed(self.inputs[0]), rows)
        pair = [key_layout(of).as_array(keys), one_chunk(rows[REST]).flatten()[0]]
        schema = layout_of(self.outputs[0]).schema
        cast = [each.cast(kind) if each.type != kind else each for each, kind in zip(pair, schema.types, strict=True)]
        return with_weights(pa.Table.from_arrays(cast, schema=schema), np.full(rows.num_rows, weight, np.int64))

    def _moved(self, old: pa.Table | None, new: pa.Table) -> Expiring:
        """The keys by their largest times, when these of some keys have changed."""
        waiting = self.waiting
        for rows, weight in ((old, -1), (new, 1)):
            if rows is not None and rows.num_rows:
                keys = with_weights(rows.drop_columns([REST]), np.full(rows.num_rows, weight, np.int64))
                waiting = waiting.add(keys, one_chunk(rows[REST]).flatten()[1].to_numpy())
        return waiting

    def steps(self, inputs: Values) -> Iterator[Step]:
        return clocked_steps(self, inputs) if self.like.by_clock else super().steps(inputs)

    def at(self, moment: TimeValue) -> tuple[Operator, Deltas]:
        """Moves the clock to a moment: returns the operator, and the keys that expire."""
        mark = to_number(moment) - span_of(self.like.keep)
        if self.mark is not None and mark <= self.mark:
            return self, (None, None)
        due, waiting = self.waiting.take(Interval(self.mark, mark))
        after = replace(self, mark=mark, waiting=waiting)
        if due is None:
            return after, (None, None)
        keys = run_of(due.drop_columns([WEIGHT]), key_names(self.inputs[0]))
        known, rows = self.states.look_up(keys)
        assert rows is not None, "a key that waits has a state"
        rows = take_rows(rows, np.argsort(known))
        nothing = pa.nulls(rows.num_rows, rows.schema.field(REST).type)
        gone = rows.set_column(rows.schema.get_field_index(REST), REST, nothing)
        after = replace(after, states=self.states.extend(Run(keys.columns, keys.keys, gone)))
        return after, (self.emitted(self._pairs(rows, -1)), self.emitted(self._pairs(rows, 1), 1))

    def finished(self) -> tuple[Operator, Deltas]:
        return self.reset(), (self.ended(0), self.ended(1))


def _kind(like: LatestResults) -> type | None:
    """What the times of a clock's rows are counted in; None if they are not a column of times."""
    if not isinstance(like.time, Expression) or like.time.layout.form != "value":
        return None
    return time_kind(like.time.layout.cells[0].arrow)


@register_in(CHOICES, LatestResults)
def current(like: LatestResults, inputs: StreamTypes) -> tuple[StreamTypes, Operator] | None:
    """Returns the form on tables, if keys, results and times have columns; the clock stays one value."""
    rows, types = to_table_type(inputs[0]), tuple(map(to_value_type, inputs))
    if rows is None or not has_key_columns(types[0].collection) or (like.by_clock and _kind(like) is None):
        return None
    outputs = like.type(types)
    if any(to_output_type(each) is None for each in outputs) or not layout_of(outputs[0].collection).hashable:
        return None
    return (rows, *inputs[1:]), CurrentTables(like)

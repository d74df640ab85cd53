"""`group_by` on tables: several aggregates of each group in one operator.

Sum and max of n by key. Two groups exist, and a delta arrives:

    totals                  delta                results            emitted
    key  weight  sum        key  n  weight       before   after     key  sum  max  weight
    a    2       7          a    5  +1           (7, 4)   (12, 5)   a    7    4    -1
                                                                    a    12   5    +1
    b    1       3          b    3  -1           (3, 3)   no group  b    3    3    -1

Invariant: the output has one row for each group whose weight is positive, with the results of its rows now.

An aggregate is a *part* (group_part.py). Linear aggregates share one trace, `totals`: the weight of each group and its
sums. The others have traces of their own, which *keepers* maintain. Of the groups of a delta the results before and
after are compared, and rows are emitted for those that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import (
    Indices,
    Mask,
    Numbers,
    first_of_each,
    has_any,
    one_chunk,
    take_ascending,
    take_rows,
    to_arrow,
)
from flo.core.errors import ElementError, brief
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import ALL
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept, register_in
from flo.tables.operators.group_part import AggregatePart, Delta, Keeper, Reading, Summand, Traces
from flo.tables.operators.group_parts import keepers_of, parts_of
from flo.tables.operators.weights import sum_equal_rows
from flo.tables.state.grouping import KeyGroups, RowsByKey, group_by_key, group_by_number, group_in_slots
from flo.tables.state.keys import Keys, equal_values, estimate_distinct, extend_keys, keys_of
from flo.tables.state.run import Run
from flo.tables.state.totals import (
    SummedRun,
    Sums,
    Totals,
    add_sums,
    concat_sums,
    normalize,
    numbers_in,
    run_of_sums,
    sums_of,
)
from flo.tables.state.trace import EqualRows, sum_checked
from flo.tables.translate import FORMS
from flo.tables.values import SUMMED, WEIGHT, WEIGHT_FIELD, layout_of
from flo.values.operators.group_by import GroupBy


class State(NamedTuple):
    """The groups of a delta, before or after it."""

    sums: Sums
    traces: dict[Keeper, Traces]


class SummedDelta(NamedTuple):
    """A delta by group."""

    rows: Delta
    groups: Run
    """Each group once."""
    sums: Sums
    """The weight of the rows of each group, and their sums."""


class GroupResults(NamedTuple):
    """The results of the groups of the last delta."""

    groups: Run
    columns: list[pa.Array]
    """One for each aggregate."""

    def is_of(self, groups: Run) -> bool:
        """Whether these are its groups."""
        mine = self.groups
        if mine.rows != groups.rows or has_any(mine.keys.numbers != groups.keys.numbers):
            return False
        return mine.table.equals(groups.table)  # type: ignore[no-any-return]


@final
@dataclass(frozen=True)
class GroupByTables(OnTables[GroupBy]):
    """Old rows are retracted and new ones inserted, of the groups whose results changed."""

    totals: Totals = kept(Totals(()), Cut.BY_KEY)
    """The weight of each group, and the sums of all linear aggregates."""
    traces: Traces = kept((), Cut.BY_GROUP)
    """The traces of all keepers, one after the other."""
    append_only: bool = kept(False, Cut.LATEST)
    """Whether traces may lack rows, because none was ever retracted: then none can be from now on."""

    name = "group_by_tables"
    rule = "group-by"
    placement = Placement.BY_KEY
    grouping = Grouping.ANY

    @cached_property
    def _parts(self) -> tuple[AggregatePart, ...]:
        """The aggregates."""
        parts = parts_of(self.like.aggregates, layout_of(self.inputs[0]), layout_of(self.outputs[0]))
        assert parts is not None
        return parts

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        """The columns of a row."""
        return layout_of(self.inputs[0]).names

    @cached_property
    def _group(self) -> tuple[str, ...]:
        """The columns that are the group."""
        return self._columns[: self.like.keys]

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        return self._group

    def key_numbers(self, place: int, table: pa.Table) -> Numbers:
        return keys_of(self._keys(table, ()).columns).numbers

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns if set(columns) <= set(self._group) else None

    def _keys(self, table: pa.Table, more: tuple[str, ...]) -> pa.Table:
        """The columns of the group of each row, with more of them; one constant column if there are none."""
        if self._group or more:
            return table.select([*self._group, *more])
        return pa.table({ALL: np.zeros(table.num_rows, np.int8)})

    @property
    def keeps_sums(self) -> bool:
        """Whether sums are all that it keeps."""
        return not self._keepers

    @cached_property
    def _keepers(self) -> tuple[Keeper, ...]:
        """The keepers of the traces: parts with equal keepers share one."""
        return keepers_of(self._parts)

    @cached_property
    def _places(self) -> dict[Summand, int]:
        """The numbers of the sums: parts with equal summands share one."""
        summands = dict.fromkeys(summand for part in self._parts for summand in part.summands())
        return {summand: place for place, summand in enumerate(summands)}

    @property
    def sums_early(self) -> bool:
        return not self.keys

    @property
    def reduces_appends(self) -> bool:
        return not self.keeps_sums and all(keeper.needs is not None for keeper in self._keepers)

    def sum_early(
        self, table: pa.Table, few: Callable[[int, int], bool], *, reduce: bool = False
    ) -> tuple[pa.Table, Numbers]:
        """The weight of each group, and its sums, if these are all that it keeps. Otherwise equal rows once; with
        `reduce`, the rows that the results depend on, with the sums of all rows of a group beside one of its rows."""
        columns = self._keys(table, ())
        groups = group_in_slots(columns)
        if not self.keeps_sums:
            keys = keys_of(columns.columns) if groups is None else groups.keys_of_rows()
            if reduce and self._needs_few(table, keys, few):
                return self._reduce(table.combine_chunks(), groups or group_by_number(columns, keys), keys)
            return sum_equal_rows(self, table, keys, few)
        if groups is None or not few(table.num_rows, groups.keys.rows):
            keys = keys_of(columns.columns)
            if not few(table.num_rows, estimate_distinct(keys.numbers)):
                return table, keys.numbers
            groups = group_by_number(columns, keys)
        _, run, sums = self._sum_part(table, groups)
        own = run.table.select(list(self._group))
        return run_of_sums(own, run.keys, _rename_weight(sums), always=SUMMED).table, run.keys.numbers

    def _sum_part(self, table: pa.Table, groups: KeyGroups) -> SummedDelta:
        """Adds up rows, which are a part of a delta. If a weight does not fit 64 bits, each row is a group of its own:
        together with the rows of other parts it may fit."""
        try:
            return self.sum_rows(table, groups)
        except ElementError:
            every, columns = np.arange(table.num_rows), self._keys(table, ())
            apart = Run(groups.keys.columns, keys_of(columns.columns), columns)
            return self.sum_rows(table, KeyGroups(EqualRows(every, every), apart))

    def _needs_few(self, table: pa.Table, keys: Keys, few: Callable[[int, int], bool]) -> bool:
        """Whether the results depend on few rows while no row is retracted. `keys` are those of the groups."""
        values = {keeper.needs for keeper in self._keepers if keeper.needs is not None}
        numbers = (extend_keys(keys, [table[name] for name in names]).numbers for names in values)
        return all(few(table.num_rows, estimate_distinct(each)) for each in numbers)

    def _reduce(self, table: pa.Table, by_key: KeyGroups, keys: Keys) -> tuple[pa.Table, Numbers]:
        """The rows that the results depend on while no row is retracted, with the sums of all."""
        delta, groups, sums = self._sum_part(table, by_key)
        assert delta.owners is not None
        rows = np.arange(table.num_rows)
        if delta.weights.min() > 0:  # otherwise `consume` rejects it
            rows = np.unique(np.concatenate([keeper.choose_rows(delta) for keeper in self._keepers]))
            lacks = np.bincount(delta.owners[rows], minlength=groups.rows) == 0
            if has_any(lacks):  # no row of the group counts
                rows = np.union1d(rows, first_of_each(delta.owners, groups.rows)[lacks])
        bearers = first_of_each(delta.owners[rows], groups.rows)
        reduced = take_rows(table, rows)
        for name, column in _rename_weight(sums).items():
            spread = np.zeros(len(rows), np.int64)
            spread[bearers] = column
            reduced = reduced.append_column(name, to_arrow(spread))
        return reduced, keys.at(rows)

    def _add_sums(self, table: pa.Table, rows: RowsByKey) -> Sums:
        """Adds up the sums that `sum_early` has made of several parts, by group."""
        sums = {WEIGHT: sum_checked(numbers_in(table, SUMMED), rows.add)}
        for name in table.column_names:
            if name not in (*self._columns, SUMMED, WEIGHT):  # a part without a digit has null
                sums[name] = sum_checked(np.asarray(pc.fill_null(one_chunk(table[name]), 0)), rows.add)
        return normalize(sums)

    def sum_rows(self, table: pa.Table, by_key: KeyGroups | None = None) -> SummedDelta:
        """Groups the rows of a delta, unless they are grouped `by_key` already, and adds up the summands of each
        group."""
        table = table.combine_chunks()
        is_summed = table.schema.get_field_index(SUMMED) >= 0
        keys = self._keys(table, self.keys)
        weights = numbers_in(table, SUMMED if is_summed and self.keeps_sums else WEIGHT)
        delta, (rows, groups) = Delta(table, keys, weights), by_key or group_by_key(keys)
        if is_summed:
            sums = self._add_sums(table, rows)
        else:
            columns = {place: summand.column(delta) for summand, place in self._places.items()}
            summed = {place: column for place, column in columns.items() if column is not None}
            sums = sums_of(delta.weights, summed, rows)
        if self._keepers:
            delta = replace(delta, groups=groups, owners=rows.numbers())
        return SummedDelta(delta, groups, sums)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta, groups, sums = self.sum_rows(table)
        append_only = self.append_only
        if self._keepers and SUMMED in delta.table.column_names:
            append_only = True
        if append_only and has_any(delta.weights < 0):
            raise self._retracted(delta)
        old, new = self._traces(), {}
        for keeper, traces in old.items():
            new[keeper], sums_of_keeper = keeper.advance(delta, traces, self._places)
            sums = sums | sums_of_keeper
        run = SummedRun(groups.keys, groups.table, sums)
        totals = self.totals if self.totals.runs else Totals(run.columns)
        before = totals.look_up(groups)
        after = add_sums(before, sums)
        results = self._results(groups, {0: State(before, old), 1: State(after, new)}, delta.read)
        every = tuple(trace for traces in new.values() for trace in traces)
        latest = GroupResults(groups, [column[groups.rows :] for column in results])
        changed = self._compare(groups, before[WEIGHT] > 0, after[WEIGHT] > 0, results)
        grown = self.with_state(totals=totals.extend(run), traces=every, append_only=append_only, _latest=latest)
        return grown, (self.emitted(changed),)

    def _retracted(self, delta: Delta) -> ElementError:
        """A row is retracted, but the state may lack the row that is the first now."""
        row = delta.table.select(self._columns).slice(int(np.argmin(delta.weights)), 1)
        return ElementError(
            f"{{input}} retracts the row {brief(layout_of(self.inputs[0]).to_elements(row)[0])}, but the state of "
            f"`{self.like.name}` was built from rows that are never retracted, and lacks others that would be needed",
            instead=(('.named("…")', 'with a new name: the state is filled from all rows, if `changed="fill"`'),),
        )

    def consume_all(self, table: pa.Table) -> tuple[Operator, Deltas]:
        """The results of groups that are complete. Nothing is kept, and there were no results before."""
        delta, groups, sums = self.sum_rows(table)
        traces: dict[Keeper, Traces] = {}
        for keeper in self._keepers:
            traces[keeper], sums_of_keeper = keeper.advance(delta, keeper.initial(), self._places)
            sums = sums | sums_of_keeper
        return self, (self.emitted(self._results_of(groups, State(sums, traces), delta.read)),)

    @cached_property
    def _latest(self) -> GroupResults | None:
        """The results of the groups that the delta before had: it is likely that the next has the same.

        Not a part of the state, since it follows from that; `consume` sets it."""
        return None

    def _traces(self) -> dict[Keeper, Traces]:
        """The traces of each keeper."""
        if not self.traces:
            return {keeper: keeper.initial() for keeper in self._keepers}
        ends = np.cumsum([keeper.traces for keeper in self._keepers])
        return {keeper: self.traces[end - keeper.traces : end] for keeper, end in zip(self._keepers, ends, strict=True)}

    def _results(self, groups: Run, states: dict[int, State], read: dict[Any, Any]) -> list[pa.Array]:
        """The results of these groups before and after the delta, a column for each aggregate."""
        known = self._latest.columns if self._latest is not None and self._latest.is_of(groups) else None
        if known is not None:
            states = {1: states[1]}
        sums = reduce(concat_sums, [state.sums for state in states.values()])
        traces = {number: state.traces for number, state in states.items()}
        reading = Reading(groups, sums, self._places, traces, lambda place: self._name(groups, place), read)
        columns = [_cast(part.results(reading), part.cell.arrow) for part in self._parts]
        if known is None:
            return columns
        return [pa.concat_arrays(map(one_chunk, both)) for both in zip(known, columns, strict=True)]

    def _compare(self, groups: Run, existed: Mask, exist: Mask, columns: list[pa.Array]) -> pa.Table:
        """Returns the output rows that are no longer right, with weight -1, and the new ones. `existed` and `exist` say
        whether each group exists before and after; `columns` have the results before, and then those after."""
        count, there, equal = groups.rows, np.concatenate([existed, exist]), existed & exist
        for column in columns:
            if not has_any(equal):
                break
            equal &= equal_values(column[:count], column[count:])
        changed = (there & ~np.concatenate([equal, equal])).nonzero()[0]
        return self._rows(groups, columns, changed, np.where(changed < count, -1, 1))

    def _rows(self, groups: Run, columns: list[pa.Array], which: Indices, weights: Indices) -> pa.Table:
        """Returns the output rows of results, given their indices; the n-th of m groups has those at n, n + m and so
        on."""
        own, names = groups.table, (*self._group, *self.keys)
        twice = len(which) and which[-1] >= groups.rows
        keys = [pa.concat_arrays([key, key]) if twice else key for key in (one_chunk(own[name]) for name in names)]
        results = [*keys[: len(self._group)], *columns, *keys[len(self._group) :]]
        arrays = [*[take_ascending(column, which) for column in results], to_arrow(weights)]
        more = [own.schema.field(name) for name in self.keys]
        schema = self.output_layout.schema
        return pa.Table.from_arrays(
            arrays, schema=pa.schema([*schema, *more, WEIGHT_FIELD]) if more else schema.append(WEIGHT_FIELD)
        )

    def results_of(self, groups: Run, sums: Sums) -> pa.Table:
        """The rows of these groups, given the sums of all rows that they have. Without other state than sums."""
        return self._results_of(groups, State(sums, {}), {})

    def _results_of(self, groups: Run, state: State, read: dict[Any, Any]) -> pa.Table:
        """The rows of these groups in a state."""
        columns = self._results(groups, {1: state}, read)
        there = np.flatnonzero(state.sums[WEIGHT] > 0)
        return self._rows(groups, columns, there, np.ones(len(there), np.int64))

    def _name(self, groups: Run, place: int) -> str:
        """A group in an error message, given the index of a result."""
        row = groups.table.select(self._group).slice(place % groups.rows, 1).to_pylist()[0] if self._group else {}
        return brief(tuple(row.values())) if row else "all rows"


def _rename_weight(sums: Sums) -> Sums:
    """The sums as they are sent, where a column of weights may be that of rows."""
    return {SUMMED if name == WEIGHT else name: column for name, column in sums.items()}


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array if array.type == kind else array.cast(kind)


@register_in(FORMS, GroupBy)
def group_by(like: GroupBy, inputs: StreamTypes) -> Operator | None:
    """Returns the form of `group_by`, if all aggregates have parts for these columns."""
    (output,) = like.type(inputs)
    parts = parts_of(like.aggregates, layout_of(inputs[0].collection), layout_of(output.collection))
    if parts is None:
        return None
    return GroupByTables(like, traces=tuple(trace for keeper in keepers_of(parts) for trace in keeper.initial()))

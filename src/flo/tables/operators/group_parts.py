"""The aggregates of `group_by` on tables, each a *part* of the operator.

A part adds columns to the totals that all linear aggregates share, or keeps traces of its own, and computes its column
of results for some groups. The results are those of the aggregator on values, bit for bit.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell
from flo.columns.indices import Places, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.tables.operators.weights import flips, totals
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.limbs import has_digits
from flo.tables.state.order import Order
from flo.tables.state.python_order import comparisons
from flo.tables.state.ranked import Known, Ranked, groups_in, heads_of, leading, ranked_run
from flo.tables.state.run import Run, pairs, run_of
from flo.tables.state.totals import Sums, as_array, as_decimals, as_floats, digits_of, grouped, numbers_in
from flo.tables.state.trace import Trace, added_up, weighing
from flo.tables.values import WEIGHT
from flo.values.operators import group_aggregates as on_values
from flo.values.operators.group_by import Aggregated

Bools: TypeAlias = npt.NDArray[np.bool_]
Traces: TypeAlias = tuple[Trace, ...]
Namer: TypeAlias = Callable[[int], str]
"""Names a group for an error message, given its index."""
OWNER = "=owner"
"""The column with the index of the group that a row belongs to."""


@dataclass(frozen=True)
class Delta:
    """The rows of a delta with the columns of their groups, and each group once."""

    table: pa.Table
    keys: pa.Table
    numbers: Keys
    weights: Places
    groups: Run | None = None

    def choose(self, which: Bools | None) -> Delta:
        """Some of the rows."""
        if which is None or which.all():
            return self
        mask = pa.array(which)
        numbers = Keys(self.numbers.numbers[which], self.numbers.exact)
        return Delta(self.table.filter(mask), self.keys.filter(mask), numbers, self.weights[which], self.groups)


@dataclass(frozen=True)
class Part(ABC):
    """One aggregate."""

    of: Aggregated
    names: tuple[str, ...]
    """The columns of the arguments."""
    cells: tuple[Cell, ...]
    where: str | None
    """The column that says which rows count."""
    cell: Cell
    """The column of the results."""
    place: int
    """The number of the first of its sums."""

    traces: ClassVar[int] = 0
    """How many traces it keeps."""

    @property
    def sums(self) -> int:
        """How many sums it adds to the totals."""
        return 0

    def fits(self) -> bool:
        """Whether it computes what the aggregator does, for columns of these types."""
        return True

    def initial(self) -> Traces:
        return ()

    def linear(self, delta: Delta) -> dict[int, pa.Array]:
        """The numbers of each row that are summed."""
        return {}

    def advance(self, delta: Delta, traces: Traces) -> tuple[Traces, Sums]:
        """Its traces with a delta, and more sums for each group of the delta."""
        return traces, {}

    def results(self, groups: Run, sums: Sums, traces: Traces, name: Namer) -> pa.Array:
        """The results of these groups."""
        raise NotImplementedError

    @property
    def selective(self) -> bool:
        """Whether some rows may not count."""
        skips = self.of.aggregator.skips_nulls and any(cell.nullable for cell in self.cells)
        return skips or self.where is not None

    def counted(self, table: pa.Table) -> Bools | None:
        """Which rows count; None if all do."""
        found: Bools | None = None
        if self.where is not None:
            found = np.asarray(pc.fill_null(one_chunk(table[self.where]), False))
        if self.of.aggregator.skips_nulls:
            for name, cell in zip(self.names, self.cells, strict=True):
                if cell.nullable and table[name].null_count:
                    there = np.asarray(table[name].is_valid())
                    found = there if found is None else found & there
        return found


def _fill(column: pa.ChunkedArray | pa.Array, counted: Bools | None) -> pa.Array:
    """The column with zeros in the rows that do not count."""
    array = one_chunk(column)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if counted is None:
        return array
    zero = pa.scalar(Decimal(0) if pa.types.is_decimal(array.type) else 0).cast(array.type)
    return pc.if_else(pa.array(counted), array, zero)


def _or_null(array: pa.Array, there: Bools) -> pa.Array:
    """The array with nulls where there is no result."""
    return array if there.all() else pc.if_else(pa.array(there), array, pa.scalar(None, array.type))


@final
@dataclass(frozen=True)
class LinearPart(Part):
    """count, sum, avg, bool_and and bool_or: sums, and how many values there are."""

    @property
    def sums(self) -> int:
        return 2

    def fits(self) -> bool:
        return all(_has_sums(cell.arrow) for cell in self.cells) or isinstance(self.of.aggregator, on_values.CountRows)

    def linear(self, delta: Delta) -> dict[int, pa.Array]:
        counted = self.counted(delta.table)
        found = {}
        if self.selective:
            there = np.ones(delta.table.num_rows, np.int8) if counted is None else counted.astype(np.int8)
            found[self.place] = pa.array(there)
        if not isinstance(self.of.aggregator, on_values.CountRows):
            found[self.place + 1] = _fill(delta.table[self.names[0]], counted)
        return found

    def results(self, groups: Run, sums: Sums, traces: Traces, name: Namer) -> pa.Array:
        count = integers(sums, self.place) if self.selective else sums[WEIGHT]
        match self.of.aggregator:
            case on_values.CountRows():
                return pa.array(count)
            case on_values.AllTrue():
                found = pa.array(integers(sums, self.place + 1) == count)
            case on_values.AnyTrue():
                found = pa.array(integers(sums, self.place + 1) != 0)
            case on_values.AverageOf():
                found = self._average({**sums, WEIGHT: np.where(count == 0, 1, count)}, name)
            case _:
                found = as_array(sums, self.place + 1, self.cell.arrow, name)
        return _or_null(found, count != 0)

    def _average(self, sums: Sums, name: Namer) -> pa.Array:
        kind = self.cell.arrow
        if pa.types.is_decimal(kind):
            return as_decimals(sums, self.place + 1, self.cells[0].arrow, kind, name, mean=True)
        return pa.array(as_floats(sums, self.place + 1, mean=True))


def _has_sums(kind: pa.DataType) -> bool:
    """Whether the numbers of such a column can be summed."""
    summed = pa.types.is_boolean(kind) or has_digits(kind)
    return summed and not (pa.types.is_decimal(kind) and kind.scale < 0)


def integers(sums: Sums, place: int) -> Places:
    """A sum of small integers."""
    return digits_of(sums, place).carried().to_ints()[0]


@final
@dataclass(frozen=True)
class DistinctPart(Part):
    """count_distinct and sum_distinct: the weight of each value, and sums over the values that are present."""

    traces = 1

    @property
    def sums(self) -> int:
        return 2

    def fits(self) -> bool:
        summed = isinstance(self.of.aggregator, on_values.SumDistinctOf)
        return all(cell.hashable for cell in self.cells) and (not summed or _has_sums(self.cells[0].arrow))

    def initial(self) -> Traces:
        return (Trace(()),)

    def advance(self, delta: Delta, traces: Traces) -> tuple[Traces, Sums]:
        some = delta.choose(self.counted(delta.table))
        both = weighing(some.keys, some.weights)
        for name in self.names:
            both = both.append_column(name, some.table[name])
        values = totals(both, tuple(name for name in both.column_names if name != WEIGHT))
        moved = flips(traces[0], values)
        come = np.flatnonzero(moved)
        rows = take_rows(values.table, come)
        keys = rows.select(some.keys.column_names)
        columns = {}
        if isinstance(self.of.aggregator, on_values.SumDistinctOf):
            columns[self.place + 1] = _fill(rows[self.names[0]], None)
        run, sums = grouped(keys, keys_of(keys.columns), moved[come], columns)
        assert delta.groups is not None
        ours, theirs = pairs(delta.groups, Run(run.columns, run.keys, run.table))
        found: Sums = {}
        for name, column in sums.items():
            wide = np.zeros(delta.groups.rows, np.int64)
            wide[ours] = column[theirs]
            found[f"{self.place}:0" if name == WEIGHT else name] = wide
        return (replace(traces[0], columns=values.columns).extended(values),), found

    def results(self, groups: Run, sums: Sums, traces: Traces, name: Namer) -> pa.Array:
        count = integers(sums, self.place)
        if isinstance(self.of.aggregator, on_values.CountDistinctOf):
            return pa.array(count)
        return _or_null(as_array(sums, self.place + 1, self.cell.arrow, name), count != 0)


def _rows(delta: Delta, names: tuple[str, ...]) -> pa.Table:
    """Groups, arguments and weights."""
    table = delta.keys
    for name in names:
        table = table.append_column(delta.table.schema.field(name), delta.table[name])
    return weighing(table, delta.weights)


@final
@dataclass(frozen=True)
class FirstPart(Part):
    """min, max, arg_min, arg_max, first and last: values in order, and the first of each group."""

    traces = 2

    def fits(self) -> bool:
        return comparisons(self._layout) is not None

    @property
    def _by(self) -> tuple[int, ...]:
        assert isinstance(self.of.aggregator, on_values.FirstOf)
        return self.of.aggregator.by

    @property
    def _layout(self) -> Layout | None:
        return Layout.of(tuple[tuple(kind_of(self.cells[place]) for place in self._by)])  # type: ignore[misc]

    @property
    def _order(self) -> Order:
        assert isinstance(self.of.aggregator, on_values.FirstOf)
        layout = self._layout
        assert layout is not None
        columns = tuple(self.names[place] for place in self._by)
        return Order(columns, self.of.aggregator.descending, layout, by_text=False, key=layout, decisive=True)

    def initial(self) -> Traces:
        return Ranked(()), Trace(())

    def advance(self, delta: Delta, traces: Traces) -> tuple[Traces, Sums]:
        some = delta.choose(self.counted(delta.table))
        if not some.table.num_rows:
            return traces, {}
        rows, heads = traces
        assert isinstance(rows, Ranked)
        columns, order = tuple(some.keys.column_names), self._order
        run = ranked_run(_rows(some, self.names), columns, some.numbers, order)
        rows = replace(rows, columns=columns, order=order)
        if not run.rows:
            return (rows, heads), {}
        groups = groups_in(run)
        old = heads_of(heads, groups)
        new = leading([*rows.runs, run], groups, 1, order, Known.of(run, old, groups, order).begin(order))
        parts = [
            weighing(head.table, np.multiply(head.times, sign))
            for head, sign in ((old, -1), (new, 1))
            if head is not None
        ]
        if parts:
            changed = run_of(added_up(pa.concat_tables(parts)), columns)
            heads = replace(heads, columns=columns).extended(changed)
        return (rows.extended(run), heads), {}

    def results(self, groups: Run, sums: Sums, traces: Traces, name: Namer) -> pa.Array:
        head = heads_of(traces[1], groups)
        if head is None:
            return pa.nulls(groups.rows, self.cell.arrow)
        return scattered(one_chunk(head.table[self.names[0]]), head.groups, groups.rows)


def _present(table: pa.Table) -> pa.Table:
    """The rows with a positive weight. (A filter by an expression takes ten times as long on few rows.)"""
    return table.filter(pa.array(numbers_in(table, WEIGHT) > 0))


def kind_of(cell: Cell) -> Any:
    return cell.kind | None if cell.nullable else cell.kind


def scattered(array: pa.Array, places: Places, count: int) -> pa.Array:
    """An array with these values at these indices, and nulls elsewhere."""
    indices = np.full(count, -1)
    indices[places] = np.arange(len(array))
    return array.take(pa.array(indices, mask=indices < 0))


@final
@dataclass(frozen=True)
class ValuesPart(Part):
    """collect, string_agg, quantile, median and mode: all values, of which those of a changed group are read again."""

    traces = 1

    def fits(self) -> bool:
        return comparisons(self._layout) is not None and all(cell.hashable for cell in self.cells)

    @property
    def _by(self) -> tuple[int, ...]:
        return (*range(1, len(self.cells)), 0)

    @property
    def _layout(self) -> Layout | None:
        return Layout.of(tuple[tuple(kind_of(self.cells[place]) for place in self._by)])  # type: ignore[misc]

    def initial(self) -> Traces:
        return (Trace(()),)

    def advance(self, delta: Delta, traces: Traces) -> tuple[Traces, Sums]:
        some = delta.choose(self.counted(delta.table))
        columns = tuple(some.keys.column_names)
        run = run_of(_rows(some, self.names).combine_chunks(), columns)
        return (replace(traces[0], columns=columns).extended(run),), {}

    def results(self, groups: Run, sums: Sums, traces: Traces, name: Namer) -> pa.Array:
        met = [(run, *pairs(groups, run)) for run in traces[0]]
        tables = [
            take_rows(run.table.select([*self.names, WEIGHT]), theirs).append_column(OWNER, pa.array(ours, pa.int64()))
            for run, ours, theirs in met
        ]
        table = _present(added_up(pa.concat_tables(tables))) if tables else None
        if table is None or not table.num_rows:
            return self._nothing(groups.rows)
        table = table.combine_chunks()
        owners = numbers_in(table, OWNER)
        layout = self._layout
        assert layout is not None
        down = (*getattr(self.of.aggregator, "descending", ()), False)
        columns = tuple(self.names[place] for place in self._by)
        order = Order(columns, down, layout, by_text=False, key=layout, decisive=True)
        places, _ = order.sorted(table, owners)
        values = one_chunk(table[self.names[0]]).take(pa.array(places))
        return self._of_values(values, numbers_in(table, WEIGHT)[places], owners[places], groups.rows)

    def _nothing(self, count: int) -> pa.Array:
        if isinstance(self.of.aggregator, on_values.CollectOf):
            return pa.array([[]] * count, self.cell.arrow)
        return pa.nulls(count, self.cell.arrow)

    def _of_values(self, values: pa.Array, times: Places, owners: Places, count: int) -> pa.Array:
        """The results from values in order, with the group of each and how often it is there."""
        aggregator = self.of.aggregator
        starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
        present = owners[starts]
        match aggregator:
            case on_values.ModeOf():
                most = np.repeat(np.maximum.reduceat(times, starts), np.diff(starts, append=len(owners)))
                chosen = np.flatnonzero(times == most)
                first = chosen[np.concatenate([[True], owners[chosen][1:] != owners[chosen][:-1]])]
                return scattered(values.take(pa.array(first)), present, count)
            case on_values.QuantileOf():
                return self._quantiles(aggregator, values, times, starts, present, count)
            case _:
                return self._lists(aggregator, values, times, owners, count)

    def _quantiles(
        self, of: on_values.QuantileOf, values: pa.Array, times: Places, starts: Places, present: Places, count: int
    ) -> pa.Array:
        until = np.cumsum(times)
        before = until[starts] - times[starts]
        ends = np.append(starts[1:], len(times)) - 1
        last = (until[ends] - before - 1).astype(object)
        at = [of.at * int(each) for each in last]
        lows = np.array([int(each) for each in at], np.int64)
        highs = np.array([-int(-each // 1) for each in at], np.int64)
        low, high = (
            values.take(pa.array(np.searchsorted(until, before + each, side="right"))) for each in (lows, highs)
        )
        if not of.continuous:
            return scattered(low, present, count)
        parts = [each - int(each) for each in at]
        wide = self.cells[0].to_values
        found = [
            on_values.between(one, other, part, of.places)
            for one, other, part in zip(wide(low), wide(high), parts, strict=True)
        ]
        return scattered(self.cell.to_array(found), present, count)

    def _lists(self, of: Any, values: pa.Array, times: Places, owners: Places, count: int) -> pa.Array:
        if not of.distinct:
            values, owners = values.take(pa.array(np.repeat(np.arange(len(times)), times))), np.repeat(owners, times)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))])
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        if isinstance(of, on_values.CollectOf):
            return lists.cast(self.cell.arrow)
        return _or_null(pc.binary_join(lists, of.separator), np.diff(offsets) > 0)


PARTS: dict[type[on_values.Aggregator], type[Part]] = {
    on_values.CountRows: LinearPart,
    on_values.SumOf: LinearPart,
    on_values.AverageOf: LinearPart,
    on_values.AllTrue: LinearPart,
    on_values.AnyTrue: LinearPart,
    on_values.CountDistinctOf: DistinctPart,
    on_values.SumDistinctOf: DistinctPart,
    on_values.FirstOf: FirstPart,
    on_values.CollectOf: ValuesPart,
    on_values.StringAggOf: ValuesPart,
    on_values.QuantileOf: ValuesPart,
    on_values.ModeOf: ValuesPart,
}


def parts_of(aggregates: tuple[Aggregated, ...], inputs: Layout, outputs: Layout) -> tuple[Part, ...] | None:
    """The parts that compute these aggregates; None if one of them has none for such columns."""
    found: list[Part] = []
    place = 0
    for each, cell in zip(aggregates, outputs.cells[len(outputs.cells) - len(aggregates) :], strict=True):
        kind = PARTS.get(type(each.aggregator))
        if kind is None:
            return None
        names = tuple(inputs.names[at] for at in each.places)
        cells = tuple(inputs.cells[at] for at in each.places)
        where = None if each.where is None else inputs.names[each.where]
        part = kind(each, names, cells, where, cell, place)
        if not part.fits():
            return None
        found.append(part)
        place += part.sums
    return tuple(found)

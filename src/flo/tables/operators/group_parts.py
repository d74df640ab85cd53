"""Aggregates that keep the values of a group, each a part of `group_by` on tables: count_distinct, collect and others.

`count_distinct(y)` keeps the weight of each value. Its sum changes when the weight of a value rises above zero or falls
to it:

    trace                    delta                    weight           count_distinct of a
    group  y     weight      group  y     weight      before  after
    a      red   2           a      red   -2          2       0        -1
    a      blue  1           a      blue  +1          1       2         0
                             a      gold  +1          0       1        +1

`collect`, `string_agg` and `mode` keep the values of each group in a trace; those of a group that changed are read
again, and sorted.

Invariant: the results are those of the aggregator on values, bit for bit. `PARTS` has the part of each aggregator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, one_chunk, take_rows
from flo.columns.indices import grouped as group_indices
from flo.columns.layout import Layout
from flo.tables.functions import beside
from flo.tables.operators.group_orders import FirstPart, QuantilePart, orders_for
from flo.tables.operators.group_part import (
    AggregatePart,
    Delta,
    Keeper,
    Own,
    Reading,
    Summand,
    Traces,
    ValuesKeeper,
    or_null,
    scatter,
)
from flo.tables.operators.group_sums import BitsPart, FinishedPart, LinearPart, MomentsPart
from flo.tables.operators.weights import find_flips
from flo.tables.state.comparison import comparisons
from flo.tables.state.keys import Keys, extend_keys
from flo.tables.state.matching import match_keys
from flo.tables.state.order import Order
from flo.tables.state.run import Run, run_of
from flo.tables.state.totals import Summed, Sums, numbers_in, sums_of
from flo.tables.state.trace import EqualRows, group_equal_rows, sum_ranges, with_weights
from flo.tables.values import WEIGHT
from flo.values.operators import group_aggregates as on_values
from flo.values.operators import moments
from flo.values.operators.group_by import Aggregated

OWNER = "=owner"
"""The column with the index of the group, or of the result, that a row belongs to."""
PRESENT = "present"
"""The sum of the values that are present."""


@final
@dataclass(frozen=True)
class DistinctValues(ValuesKeeper):
    """Keeps the weight of each value of some columns, and gives sums over the values that are present."""

    def advance(self, delta: Delta, traces: Traces, places: Mapping[Summand, int]) -> tuple[Traces, Sums]:
        values, owners = self._values(delta)
        moved = find_flips(traces[0], values)
        trace = replace(traces[0], columns=values.columns).extend(values)
        come = np.flatnonzero(moved)
        if not len(come):
            return (trace,), {}
        assert delta.groups is not None
        present = places[Own(self, PRESENT)]
        own = [(each.sum, place) for each, place in places.items() if isinstance(each, Own) and each.keeper == self]
        more = [(summand, place) for summand, place in own if isinstance(summand, Summand)]
        if not more:
            counts = np.zeros(delta.groups.rows, np.int64)
            np.add.at(counts, owners[come], moved[come])
            return (trace,), {f"{present}:0": counts}
        some = take_rows(values.table, come)
        flips = Delta(some, some, moved[come])
        columns: dict[int, Summed] = {}
        for summand, place in more:
            summed = summand.column(flips)
            assert summed is not None, "no keeper within a keeper"
            columns[place] = summed
        sums: Sums = {}
        order, groups, counts = group_indices(owners[come])
        for name, column in sums_of(flips.weights, columns, EqualRows(order, np.cumsum(counts) - counts)).items():
            wide = np.zeros(delta.groups.rows, np.int64)
            wide[groups] = column
            sums[f"{present}:0" if name == WEIGHT else name] = wide
        return (trace,), sums

    def _values(self, delta: Delta) -> tuple[Run, Indices]:
        """Returns each value of each group with its weight, and for each the index of the group.

        Numbers of groups are compared in place of their keys, which are hashed and compared once for all aggregates.
        """
        (values, numbers), groups, mask = self._numbers(delta), delta.groups, delta.mask(self.which)
        assert groups is not None
        order, firsts = group_equal_rows(values, numbers)
        sums = sum_ranges((delta.weights if mask is None else delta.weights[mask])[order], firsts)
        kept = np.flatnonzero(sums)
        indices = order[firsts[kept]]
        owners = numbers_in(values, OWNER)[indices]
        table = beside(take_rows(groups.table, owners), take_rows(values.drop_columns([OWNER]), indices))
        keys = Keys(numbers.at(indices), numbers.exact)
        return Run((*groups.columns, *self.names), keys, with_weights(table, sums[kept])), owners

    def _numbers(self, delta: Delta) -> tuple[pa.Table, Keys]:
        """Returns the values of the rows that count, with the index of the group of each, and their key numbers."""
        assert delta.groups is not None
        assert delta.owners is not None
        table, owners, groups = delta.table.select(list(self.names)), delta.owners, delta.groups
        mask = delta.mask(self.which)
        if mask is not None:
            table, owners = table.filter(pa.array(mask)), owners[mask]
        numbers = extend_keys(Keys(groups.keys.at(owners), groups.keys.exact), table.columns)
        return table.add_column(0, OWNER, pa.array(owners)), numbers

    @property
    def needs(self) -> tuple[str, ...]:
        return self.names

    def choose_rows(self, delta: Delta) -> Indices:
        order, firsts = group_equal_rows(*self._numbers(delta))
        return delta.rows_in(self.which)[order[firsts]]


@final
@dataclass(frozen=True)
class DistinctPart(AggregatePart):
    """count_distinct, and linear aggregates of the different values: sums over the values that are present."""

    @cached_property
    def _inner(self) -> AggregatePart | None:
        """The aggregate of these values, each once; None if they are counted."""
        if not isinstance(self.of.aggregator, on_values.DistinctOf):
            return None
        inner = self.of.aggregator.of
        cells = tuple(replace(cell, nullable=False) for cell in self.cells)
        return PARTS[type(inner)](replace(self.of, aggregator=inner), self.names, cells, None, self.cell)

    def fits(self) -> bool:
        return all(cell.hashable for cell in self.cells) and (self._inner is None or self._inner.fits())

    def keeper(self) -> DistinctValues:
        return DistinctValues(self.names, self.which)

    @property
    def _sums(self) -> dict[Summand, Own]:
        """The sums that the aggregate reads, as the keeper gives them."""
        return {} if self._inner is None else {each: Own(self.keeper(), each) for each in self._inner.summands()}

    def summands(self) -> tuple[Summand, ...]:
        return (Own(self.keeper(), PRESENT), *self._sums.values())

    def results(self, reading: Reading) -> pa.Array:
        present = reading.integers(Own(self.keeper(), PRESENT))
        if self._inner is None:
            return pa.array(present)
        places = {each: reading.places[own] for each, own in self._sums.items()}
        sums = {**reading.sums, WEIGHT: present}
        return self._inner.results(replace(reading, sums=sums, places=places, known={}))


@final
@dataclass(frozen=True)
class GroupValues(ValuesKeeper):
    """Keeps the values of each group."""

    def advance(self, delta: Delta, traces: Traces, places: Mapping[Summand, int]) -> tuple[Traces, Sums]:
        some = delta.choose(self.which, self.names)
        columns = tuple(some.keys.column_names)
        run = run_of(some.rows(self.names).combine_chunks(), columns)
        return (replace(traces[0], columns=columns).extend(run),), {}

    def rows_of(self, reading: Reading) -> pa.Table | None:
        """Reads the values of groups with their weights, and the index of the result that each is for. Some cancel
        out."""
        tables = []
        for state, traces in enumerate(reading.traces.values()):
            for run in traces[self][0]:
                ours, theirs = match_keys(reading.groups, run)
                results = pa.array(ours + state * reading.groups.rows, pa.int64())
                rows = take_rows(run.table.select([*self.names, WEIGHT]), theirs)
                tables.append(rows.append_column(OWNER, results))
        return pa.concat_tables(tables).combine_chunks() if tables else None


class ValuesInOrder(NamedTuple):
    """Values by result and in order, each once."""

    values: pa.Array
    times: Indices
    """How often each is present."""
    owners: Indices
    """The index of the result that each is for."""


@final
@dataclass(frozen=True)
class ValuesPart(AggregatePart):
    """Aggregates of all values: collect, string_agg and mode. Those of a changed group are read again."""

    def fits(self) -> bool:
        return comparisons(self._layout) is not None and all(cell.hashable for cell in self.cells)

    @property
    def _by(self) -> tuple[int, ...]:
        """The arguments by which values are sorted: those of the order, and then the value."""
        return (*range(1, len(self.cells)), 0)

    @property
    def _layout(self) -> Layout | None:
        return Layout.of(tuple[tuple(self.cells[place].annotation for place in self._by)])  # type: ignore[misc]

    def keeper(self) -> GroupValues:
        return GroupValues(self.names, self.which)

    def results(self, reading: Reading) -> pa.Array:
        keeper = self.keeper()
        table = reading.once(keeper, lambda: keeper.rows_of(reading))
        down = (*getattr(self.of.aggregator, "descending", ()), False)
        ordered = None if table is None else reading.once((keeper, down), lambda: self._sort(table, down))
        if ordered is None or not len(ordered.values):
            return self._nothing(reading.states)
        return self._of_values(*ordered, reading.states)

    def _sort(self, table: pa.Table, down: tuple[bool, ...]) -> ValuesInOrder:
        """Sorts values. Equal ones meet, so their weights are added up here, and only those that are present stay."""
        layout, owners = self._layout, numbers_in(table, OWNER)
        assert layout is not None
        columns = tuple(self.names[place] for place in self._by)
        order, firsts = Order(columns, down, layout, by_text=False, key=layout, decisive=True).sort(table, owners)
        times = sum_ranges(numbers_in(table, WEIGHT)[order], firsts)
        there = order[firsts[times > 0]]
        return ValuesInOrder(one_chunk(table[self.names[0]]).take(pa.array(there)), times[times > 0], owners[there])

    def _nothing(self, count: int) -> pa.Array:
        """The results of groups without values."""
        if isinstance(self.of.aggregator, on_values.CollectOf):
            return pa.array([[]] * count, self.cell.arrow)
        return pa.nulls(count, self.cell.arrow)

    def _of_values(self, values: pa.Array, times: Indices, owners: Indices, count: int) -> pa.Array:
        """Computes `count` results from values in order; `times` says how often each is present, `owners` for which
        result."""
        aggregator = self.of.aggregator
        starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
        present = owners[starts]
        match aggregator:
            case on_values.ModeOf():
                most = np.repeat(np.maximum.reduceat(times, starts), np.diff(starts, append=len(owners)))
                chosen = np.flatnonzero(times == most)
                differs = owners[chosen][1:] != owners[chosen][:-1]
                ends = [differs, [True]] if aggregator.greatest else [[True], differs]
                first = chosen[np.concatenate(ends)]
                return scatter(values.take(pa.array(first)), present, count)
            case _:
                return self._lists(aggregator, values, times, owners, count)

    def _lists(self, of: Any, values: pa.Array, times: Indices, owners: Indices, count: int) -> pa.Array:
        """The results of collect and string_agg."""
        if not of.distinct:
            values, owners = values.take(pa.array(np.repeat(np.arange(len(times)), times))), np.repeat(owners, times)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))])
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        if isinstance(of, on_values.CollectOf):
            return lists.cast(self.cell.arrow)
        return or_null(pc.binary_join(lists, of.separator), np.diff(offsets) > 0)


PARTS: dict[type[on_values.Aggregator], type[AggregatePart]] = {
    on_values.CountRows: LinearPart,
    on_values.SumOf: LinearPart,
    on_values.AverageOf: LinearPart,
    on_values.AllTrue: LinearPart,
    on_values.AnyTrue: LinearPart,
    on_values.Bitwise: BitsPart,
    moments.Variance: MomentsPart,
    moments.Covariance: MomentsPart,
    moments.Correlation: MomentsPart,
    on_values.LinearOf: FinishedPart,
    on_values.CountDistinctOf: DistinctPart,
    on_values.DistinctOf: DistinctPart,
    on_values.FirstOf: FirstPart,
    on_values.CollectOf: ValuesPart,
    on_values.StringAggOf: ValuesPart,
    on_values.QuantileOf: QuantilePart,
    on_values.PercentileOf: QuantilePart,
    on_values.ModeOf: ValuesPart,
}


def parts_of(aggregates: tuple[Aggregated, ...], inputs: Layout, outputs: Layout) -> tuple[AggregatePart, ...] | None:
    """The parts that compute these aggregates; None if one of them has none for such columns."""
    parts: list[AggregatePart] = []
    for each, cell in zip(aggregates, outputs.cells[len(outputs.cells) - len(aggregates) :], strict=True):
        kind = PARTS.get(type(each.aggregator))
        if kind is None:
            return None
        names = tuple(inputs.names[at] for at in each.places)
        cells = tuple(inputs.cells[at] for at in each.places)
        if each.where is not None and not pa.types.is_boolean(inputs.cells[each.where].arrow):
            return None
        where = None if each.where is None else inputs.names[each.where]
        part = kind(each, names, cells, where, cell)
        if not part.fits():
            return None
        parts.append(part)
    return tuple(parts)


def keepers_of(parts: tuple[AggregatePart, ...]) -> tuple[Keeper, ...]:
    """The keepers that maintain the traces of these parts, each once."""
    keepers = (part.keeper() for part in parts)
    first, counted = ([part.wanted for part in parts if isinstance(part, kind)] for kind in (FirstPart, QuantilePart))
    orders = orders_for(first, counted)
    return (*dict.fromkeys(keeper for keeper in keepers if keeper is not None), *orders)

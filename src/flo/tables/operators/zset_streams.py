"""Integration and differentiation of z-sets on tables, where the inner z-sets are complete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import expand_ranges, take_rows
from flo.core.collection import End
from flo.core.operator import Step, Values
from flo.tables.operator import Grouping, OnTables, Op, Placement
from flo.tables.operators.weights import NOTHING, totals
from flo.tables.state.run import Run
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, net_changes, weighing
from flo.tables.streams import STREAM, Streams, inner_of, numbered, numbers
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, schema_of
from flo.values.operators.zset_streams import Differentiate, Integrate


@dataclass(frozen=True)
class RunningTables(OnTables[Op]):
    """Each inner z-set plus what is remembered of those before it."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    before: Trace = field(default=NOTHING)

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        assert isinstance(value, Streams)
        if value.count:
            after, table = self.all_of(value)
            sent = Streams(value.of, value.count, (table,))
            yield Step(f"{self.rule}-step", (value.drained(),), after, (sent,))
        elif value.end is End.ARRIVED:
            yield Step(f"{self.rule}-terminated", (value.passed(),), self.reset(), (self.ended(),))

    def all_of(self, value: Streams) -> tuple[Self, pa.Table]:
        """The operator, and the rows of all outputs, behind these inner z-sets."""
        raise NotImplementedError

    def known(self, value: Streams) -> pa.Table:
        """The rows that are remembered, each once."""
        table = self.before.table()
        return schema_of(inner_of(value.of)[0]).empty_table() if table is None else table


def by_stream(table: pa.Table) -> pa.Table:
    return take_rows(table, np.argsort(numbers(table), kind="stable"))


def summed(table: pa.Table) -> Run:
    """The rows of all streams together."""
    rows = table.drop_columns([STREAM])
    return totals(rows, tuple(name for name in rows.column_names if name != WEIGHT))


@form_of(Integrate)
@final
@dataclass(frozen=True)
class IntegrateTables(RunningTables[Integrate]):
    """integrate: a row is in its own output and in all behind it. An output has as many rows as the sum."""

    name = "integrate_tables"

    def all_of(self, value: Streams) -> tuple[Self, pa.Table]:
        table, count = value.tables[0], value.count
        before = self.known(value)
        repeated = np.tile(np.arange(before.num_rows), count)
        old = numbered(take_rows(before, repeated), np.repeat(np.arange(count), before.num_rows))
        begins = numbers(table)
        follows = count - begins
        rows = take_rows(table, np.repeat(np.arange(table.num_rows), follows))
        new = rows.set_column(0, rows.schema.field(0), pa.array(expand_ranges(begins, follows)))
        grown = self.before.extended(summed(table))
        return replace(self, before=grown), by_stream(net_changes(pa.concat_tables([old, new])))


@form_of(Differentiate)
@final
@dataclass(frozen=True)
class DifferentiateTables(RunningTables[Differentiate]):
    """differentiate: a row is in its own output, and is taken back in the next."""

    name = "differentiate_tables"

    def all_of(self, value: Streams) -> tuple[Self, pa.Table]:
        table, before = value.tables[0], self.known(value)
        begins = numbers(table)
        last = begins == value.count - 1
        followed = table.filter(pa.array(~last))
        back = followed.set_column(0, followed.schema.field(0), pa.array(begins[~last] + 1))
        first = numbered(before, np.zeros(before.num_rows, np.int64))
        taken_back = pa.concat_tables([first, back])
        taken_back = weighing(taken_back, -numbers_in(taken_back, WEIGHT))
        current = NOTHING.extended(summed(table.filter(pa.array(last))))
        return replace(self, before=current), by_stream(net_changes(pa.concat_tables([table, taken_back])))

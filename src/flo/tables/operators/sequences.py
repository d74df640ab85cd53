"""Operators on sequences of rows that give rows as they come: running results, positions, the first ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import pyarrow as pa

from flo.columns.indices import Places
from flo.core.collection import Collection
from flo.core.operator import Deltas, Operator
from flo.tables.functions import written
from flo.tables.groups import ONE, Counts, Groups, with_keys
from flo.tables.operator import Grouping, OnTables, Op, Placement
from flo.tables.operators.results import Reaching
from flo.tables.state.run import Run
from flo.tables.translate import form_of
from flo.tables.values import layout_of, of_elements
from flo.values.operators.sequences import Enumerate, Scan, Take


@form_of(Scan)
@final
@dataclass(frozen=True)
class ScanTables(Reaching[Scan]):
    """The running result of each group."""

    name = "scan_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        groups = Groups.of(table, self.keys)
        after, outputs = self.called_by_group(groups)
        found = written(
            [result for output in outputs for result in output.all_units()], of_elements(self.outputs[0]).element
        )
        return after, (self.emitted(with_keys(found, groups.rows, self.keys)),)


@dataclass(frozen=True)
class PlacedTables(OnTables[Op]):
    """Goes by the position of an element in its group: `counts` has how many each group had."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY
    keeps_positions = False

    counts: Counts = field(default=Counts())

    def placed(self, table: pa.Table) -> tuple[Self, Groups, Places]:
        """With these rows; they by group, and the position of each."""
        groups = Groups.of(table, self.keys)
        before = groups.beside(self.counts.known(groups.keys))
        after = replace(self, counts=self.counts.added(groups.keys, groups.counts))
        return after, groups, groups.positions() + before


@form_of(Enumerate)
@final
@dataclass(frozen=True)
class EnumerateTables(PlacedTables[Enumerate]):
    """Every element with its position."""

    name = "enumerate_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, groups, positions = self.placed(table)
        numbers = pa.array(positions + self.like.position)
        found = side_by_side(self.outputs[0], numbers, layout_of(self.inputs[0]).as_array(groups.rows))
        return after, (self.emitted(with_keys(found, groups.rows, self.keys)),)


def side_by_side(pairs: Collection, one: pa.Array, other: pa.Array) -> pa.Table:
    return pa.Table.from_arrays([one, other], schema=layout_of(pairs).schema)


@form_of(Take)
@final
@dataclass(frozen=True)
class TakeTables(PlacedTables[Take]):
    """The first elements of each group, and then the end of its stream."""

    name = "take_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, groups, positions = self.placed(table)
        found = self.emitted(groups.rows.filter(pa.array(positions < self.like.count)))
        if not self.keys and after.has_ended(ONE)[0]:
            return after, (self.ended() if found is None else found.fix(),)
        return after, (found,)

    def has_ended(self, groups: Run) -> Any:
        return self.counts.known(groups) >= max(1, self.like.count)  # the end of nothing too

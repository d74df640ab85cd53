"""Operators on sequences of rows: scan and fold call Python for every row, enumerate, take and last look at none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import taken
from flo.core.collection import Collection, End
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import elements_of, written
from flo.tables.operator import Grouping, OnTables, Placement
from flo.tables.operators.folds import TotalTables
from flo.tables.translate import form_of
from flo.tables.values import Rows, layout_of, of_elements, ordered
from flo.values.operators.bags import FoldUnordered
from flo.values.operators.sequences import Enumerate, Fold, Last, Scan, Take
from flo.values.sequence import SequenceValue


@final
@dataclass(frozen=True)
class ScanTables(OnTables[Scan]):
    """`acc` is the last result."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    acc: Any

    name = "scan_tables"
    rule = "scan"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        like: Any = self.like
        after, (results,) = replace(like, acc=self.acc).consume(elements_of(self.inputs[0], table), SequenceValue)
        found = written(results.all_units(), of_elements(self.outputs[0]).element)
        return replace(self, acc=after.acc), (self.emitted(found),)


@final
@dataclass(frozen=True)
class FoldTables(TotalTables[Fold | FoldUnordered]):
    """fold and fold_unordered. `acc` is the result so far."""

    acc: Any

    name = "fold_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        table, weights = self.weighted(table)
        elements = elements_of(self.inputs[0], table)
        units = elements if ordered(self.inputs[0]) else list(zip(elements, weights.tolist(), strict=True))
        after, _ = self._now().consume(units, of_elements(self.inputs[0]).value_class)
        return replace(self, acc=after.acc), (None,)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        _, (result,) = self._now().finish(of_elements(self.inputs[0]).value_class)
        table = written(result.all_units(), of_elements(self.outputs[0]).element)
        return self, (Rows(of_elements(self.outputs[0]), table, End.ARRIVED),)

    def _now(self) -> Any:
        like: Any = self.like
        return replace(like, acc=self.acc)


@final
@dataclass(frozen=True)
class EnumerateTables(OnTables[Enumerate]):
    """`position` is that of the next row."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    position: int = 0

    name = "enumerate_tables"
    rule = "enumerate"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after = self.position + table.num_rows
        places = pa.array(np.arange(self.position, after))
        found = side_by_side(self.outputs[0], places, layout_of(self.inputs[0]).as_array(table))
        return replace(self, position=after), (self.emitted(found),)


def side_by_side(pairs: Collection, one: pa.Array, other: pa.Array) -> pa.Table:
    return pa.Table.from_arrays([one, other], schema=layout_of(pairs).schema)


@final
@dataclass(frozen=True)
class TakeTables(OnTables[Take]):
    """`left` is how many rows are still to come."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    left: int

    name = "take_tables"
    rule = "take"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        found, left = table.slice(0, self.left), max(0, self.left - table.num_rows)
        return replace(self, left=left), (
            self.emitted(found) if left else Rows(of_elements(self.outputs[0]), found, End.ARRIVED),
        )


@final
@dataclass(frozen=True)
class LastTables(OnTables[Last]):
    """`kept` has the last row, if any."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    kept: Rows | None = field(default=None)

    name = "last_tables"
    rule = "last"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        newest = taken(table, np.array([table.num_rows - 1]))  # a copy: a slice would hold on to all of them
        return replace(self, kept=Rows(of_elements(self.inputs[0]), newest)), (None,)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        return self, (self.ended() if self.kept is None else self.kept.fix(),)


@form_of(Scan)
def scan(like: Scan, inputs: StreamTypes) -> Operator | None:
    return ScanTables(like, like.acc)


@form_of(Fold, FoldUnordered)
def fold(like: Fold | FoldUnordered, inputs: StreamTypes) -> Operator | None:
    return FoldTables(like, like.acc)


@form_of(Enumerate)
def enumerated(like: Enumerate, inputs: StreamTypes) -> Operator | None:
    return EnumerateTables(like)


@form_of(Take)
def take(like: Take, inputs: StreamTypes) -> Operator | None:
    return TakeTables(like, like.count)


@form_of(Last)
def last(like: Last, inputs: StreamTypes) -> Operator | None:
    return LastTables(like)

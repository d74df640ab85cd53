"""What operators on groups have in common: rows of a group must be in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from flo.columns.indices import Numbers
from flo.tables.functions import group_numbers, own_columns
from flo.tables.operator import OnTables, Placement
from flo.tables.values import layout_of
from flo.values.operators.zset_aggregates import Aggregate
from flo.values.operators.zset_ranking import TopK

G = TypeVar("G", bound=Aggregate | TopK, covariant=True)


@dataclass(frozen=True)
class ByGroup(OnTables[G]):
    """Goes by the groups of `like.by`. The output has the group first, beside its result."""

    placement = Placement.BY_KEY

    def key_numbers(self, place: int, table: pa.Table) -> Numbers:
        return group_numbers(self.like.by, self.inputs[0], table)

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        by = self.like.by
        return () if by is None else own_columns(by)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        one = len(columns) == 1 and columns == self.key_columns(0)
        return (layout_of(self.outputs[0]).names[0],) if one else None

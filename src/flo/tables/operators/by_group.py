"""What operators on groups have in common: rows of a group must be in one place."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from flo.columns.indices import Numbers
from flo.tables.functions import group_numbers, own_columns
from flo.tables.operator import OnTables, Placement
from flo.tables.values import layout_of


@dataclass(frozen=True)
class ByGroup(OnTables):
    """Goes by the groups of `like.by`. The output has the group first, beside its result."""

    placement = Placement.BY_KEY

    def key_numbers(self, place: int, table: pa.Table) -> Numbers:
        return group_numbers(self.like.by, self.inputs[0], table)  # type: ignore[attr-defined]

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        by = self.like.by  # type: ignore[attr-defined]
        return () if by is None else own_columns(by)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        one = len(columns) == 1 and columns == self.key_columns(0)
        return (layout_of(self.outputs[0]).names[0],) if one else None

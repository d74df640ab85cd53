"""What comes of two rows that meet, for whole tables of them: `into`, pairs, or one of the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import one_chunk
from flo.columns.layout import Layout
from flo.core.collection import Collection
from flo.core.elements import returned_type
from flo.core.operator import Operator
from flo.tables.functions import called, elements_of, written
from flo.tables.operator import OnTables
from flo.tables.values import layout_of
from flo.values.operators.sets import SetJoin
from flo.values.operators.shapes import as_declared
from flo.values.operators.zset_joins import Join


@dataclass(frozen=True)
class Joined:
    """How the rows of a join's output are made."""

    like: Any
    inputs: tuple[Collection, ...]
    output: Collection

    @classmethod
    def of(cls, join: OnTables[Operator]) -> Joined:
        return cls(join.like, join.inputs, join.outputs[0])

    @property
    def needed(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each side that are looked at."""
        left, right = (layout_of(of).names for of in self.inputs)
        if isinstance(self.like.into, Expression):
            return self.like.into.reads
        if self._only_left():
            return left, ()
        return ((), (right[1],)) if self._destinations() else (left, right)

    def results(self, left: pa.Table | None, right: pa.Table | None) -> pa.Table:
        """The results for rows side by side; None where there is no partner."""
        into, layout = self.like.into, layout_of(self.output)
        if isinstance(into, Expression):
            return self._computed(into, left, right)
        if into is not None:
            return self._called(into, left, right)
        if self._only_left():
            assert left is not None
            return layout.fitted(left)
        if self._destinations():
            assert right is not None
            return _unpacked(layout, one_chunk(right[layout_of(self.inputs[1]).names[1]]))
        count = (right if left is None else left).num_rows  # type: ignore[union-attr]
        sides = [
            pa.nulls(count, cell.arrow) if table is None else layout_of(of).as_array(table)
            for of, table, cell in zip(self.inputs, (left, right), layout.cells, strict=True)
        ]
        return pa.Table.from_arrays(sides, schema=layout.schema)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """These columns of the left side as columns of the output, if it has them."""
        into = self.like.into
        return into.passed(columns) if isinstance(into, Expression) else columns if self._only_left() else None

    def _only_left(self) -> bool:
        """A z-set's join on whole elements gives these, not pairs of equal ones."""
        return (
            isinstance(self.like, Join)
            and self.like.into is None
            and self.like.on is None
            and self.like.other_on is None
        )

    def _destinations(self) -> bool:
        return isinstance(self.like, SetJoin) and self.like.into is None and self.like.other_on is None

    def _computed(self, into: Expression, *tables: pa.Table | None) -> pa.Table:
        count = next(table.num_rows for table in tables if table is not None)
        rows = []
        for table, layout, reads in zip(tables, into.inputs, into.reads, strict=True):
            fields = [layout.schema.field(name) for name in reads]
            empty = [pa.nulls(count, field.type) for field in fields]
            rows.append(pa.Table.from_arrays(empty, schema=pa.schema(fields)) if table is None else table.select(reads))
        return layout_of(self.output).fitted(into.results(*rows))

    def _called(self, into: Any, *tables: pa.Table | None) -> pa.Table:
        count = next(table.num_rows for table in tables if table is not None)
        elements = [
            [None] * count if table is None else elements_of(of, table)
            for of, table in zip(self.inputs, tables, strict=True)
        ]
        results = called(into, *elements)
        as_declared(into, results)
        return written(results, returned_type(into))


def _unpacked(layout: Layout, array: pa.Array) -> pa.Table:
    """A column of elements as the columns of their layout."""
    arrays = [array] if layout.form == "value" else array.flatten()
    return pa.Table.from_arrays(arrays, schema=layout.schema)

"""Functions from a row to any number of rows, as `flat_map` takes them, such as `explode`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Optional, get_args, get_origin

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, one_chunk
from flo.columns.layout import Layout
from flo.columns.row_types import row_type
from flo.core.type_relations import is_union, without_none
from flo.core.untyped import TypeForm
from flo.values.canonical import instant_element
from flo.values.row_functions import RowFunction


class Flattening(RowFunction, ABC):
    """A function from a row to rows. `returns` is its type, which `returned_type` reads."""

    takes = 1
    returns: TypeForm

    @abstractmethod
    def __call__(self, element: object) -> list[Any]:
        """Return the rows for one row."""

    @abstractmethod
    def flattened(self, table: pa.Table) -> tuple[pa.Table, Indices]:
        """Return the rows for every row of a table, and the index of the row that each is from."""

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return None  # unless it says so

    def copies(self, column: str) -> tuple[str, ...]:
        return self.passed((column,)) or ()


class Exploding(Flattening):
    """The rows of the items of a list column, as `flat_map` takes it. Identified by its text."""

    def __init__(self, column: str, keep_empty: bool, layout: Layout, items: object) -> None:
        self.column = column
        self.keep_empty = keep_empty
        self.input = layout
        self.row = row_type(
            {
                name: (items if name == column else cell.annotation)
                for name, cell in zip(layout.names, layout.cells, strict=True)
            }
        )
        self.returns = list[self.row]  # type: ignore[name-defined]
        self.__name__ = f"explode({column}{', keep_empty' if keep_empty else ''})"

    @classmethod
    def of(cls, column: str, keep_empty: bool, layout: Layout) -> Exploding | None:
        """Return the function; None if the column has no items."""
        cell = layout.cells[layout.names.index(column)]
        items = item_type(cell.kind)
        if items is None:
            return None
        return cls(column, keep_empty, layout, Optional[items] if keep_empty else items)  # noqa: UP045

    @property
    def output(self) -> Layout:
        """The layout of the rows that it makes."""
        layout = Layout.of(self.row)
        assert layout is not None
        return layout

    def __call__(self, element: object) -> list[Any]:
        values = dict(zip(self.input.names, (column[0] for column in self.input.split([element])), strict=True))
        items = list(values[self.column] or ()) or ([None] if self.keep_empty else [])
        rows = (self.row(*(values | {self.column: item}).values()) for item in items)
        return [instant_element(row) for row in rows]

    def flattened(self, table: pa.Table) -> tuple[pa.Table, Indices]:
        lists = one_chunk(table[self.column])
        counts = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
        items, output = pc.list_flatten(lists), self.output
        if self.keep_empty:
            ends = np.cumsum(counts)
            counts = np.maximum(counts, 1)
            places, starts = np.arange(counts.sum()), np.cumsum(counts) - counts
            empty = np.zeros(len(places), bool)
            empty[starts[np.diff(ends, prepend=0) == 0]] = True
            items = items.take(pa.array(np.cumsum(~empty) - 1, mask=empty))
        rows = np.repeat(np.arange(table.num_rows), counts)
        taken = table.select([name for name in self.input.names if name != self.column]).take(pa.array(rows))
        columns = [items if name == self.column else taken[name] for name in output.names]
        return pa.Table.from_arrays(columns, schema=output.schema), rows

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return None if self.column in columns else columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exploding) and (other.__name__, other.input) == (self.__name__, self.input)

    def __hash__(self) -> int:
        return hash(self.__name__)


def item_type(kind: TypeForm) -> TypeForm:
    """Return the type of the items of `list[int]`, `tuple[int, ...]` and the like; None if there are none."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return item_type(parts[0])
    if type(None) in parts and not is_union(without_none(kind)[1]):
        return item_type(without_none(kind)[1])
    if origin is list or (origin is tuple and len(parts) == 2 and parts[1] is ...):
        return parts[0]
    return None

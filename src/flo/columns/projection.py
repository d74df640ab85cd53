"""Functions that make rows of a row: a projection, some columns of which are Python functions of the row; a row with
the results of an operator as more columns; and any number of rows, as `flat_map` takes them, such as `explode`.

Columns and expressions are evaluated together, on whole columns where rows are tables; functions row by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Optional, get_args, get_origin

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import fields_of
from flo.columns.expression import Expression
from flo.columns.expression_text import expression_text
from flo.columns.indices import Indices, Mask, one_chunk, ranges
from flo.columns.layout import Layout
from flo.columns.readable import readable
from flo.columns.row_types import row_type
from flo.core.elements import returned_type
from flo.core.errors import shorten
from flo.core.labels import identity, label
from flo.core.type_relations import is_union, without_none
from flo.core.untyped import Element, TypeForm
from flo.values.canonical import instant_element
from flo.values.operators.shapes import expect_declared
from flo.values.row_functions import RowFunction


class Projection(RowFunction):
    """A function of a row that makes a row. Each column is a column, an expression, or a function with a known type."""

    takes = 1

    def __init__(self, given: Mapping[str, object], element: Element) -> None:
        """The functions in `given` are callables; all else is columns. Only these need rows with a layout."""
        self.given, self.element = dict(given), element
        self.functions: dict[str, Callable[[Any], Any]] = {name: each for name, each in given.items() if callable(each)}
        columns = {name: each for name, each in given.items() if name not in self.functions}
        self.columns: Expression | None = None
        if columns:
            self.columns = Expression(columns, (Layout.expect(element),))
        self.text = _text(given, identity)
        self.__name__ = shorten(", ".join(_described(name, each) for name, each in given.items()))
        known = (fields_of(self.columns.kind) if self.columns is not None else None) or {}
        of_functions = {name: returned_type(f) for name, f in self.functions.items()}
        self.returns = row_type({name: {**known, **of_functions}[name] for name in given})
        self.layout = Layout.expect(self.returns)

    def copies(self, column: str) -> tuple[str, ...]:
        return () if self.columns is None else self.columns.copies(column)

    def calling(self, functions: Mapping[str, Any]) -> Projection:
        """Return the same projection with other functions."""
        return Projection({**self.given, **functions}, self.element)

    def prepare(self, rows: list[Element]) -> None:
        """Evaluate the expressions for many rows at once."""
        if self.columns is not None:
            self.columns.prepare(rows)

    def __call__(self, row: object) -> Any:
        values = {} if self.columns is None else dict(zip(self.columns.layout.names, self.columns(row), strict=True))
        for name, function in self.functions.items():
            values[name] = value = function(row)
            expect_declared(function, [value])
        return instant_element(self.returns(*(values[name] for name in self.layout.names)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Projection):
            return NotImplemented
        mine, others = ((each.functions, each.columns, each.returns) for each in (self, other))
        return self is other or mine == others

    def __hash__(self) -> int:
        return hash(self.text)


class Widened(RowFunction):
    """A function of a row and more values that makes the row with these as named columns.

    A new column with the name of an old one replaces it, in its place; the others follow in their order.
    """

    def __init__(self, layout: Layout, more: dict[str, Any]) -> None:
        own = dict(zip(layout.names, (cell.annotation for cell in layout.cells), strict=True))
        self.inputs = layout
        self.more = tuple(more)
        self.returns = row_type({**own, **more})  # read by `returned_type`
        self.names = tuple(own | more)
        self.__name__ = f"with_columns({', '.join(self.more)})"
        places = {name: len(layout.names) + place for place, name in enumerate(self.more)}
        self._places = tuple(places.get(name, place) for place, name in enumerate(layout.names)) + tuple(
            place for name, place in places.items() if name not in own
        )

    def copies(self, column: str) -> tuple[str, ...]:
        return (column,) if column in self.inputs.names and column not in self.more else ()

    def __call__(self, row: object, results: tuple[object, ...]) -> Any:
        values = [*(column[0] for column in self.inputs.split([row])), *results]
        return self.returns(*(values[place] for place in self._places))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Widened):
            return NotImplemented
        return (self.inputs, self.returns, self.more) == (other.inputs, other.returns, other.more)

    def __hash__(self) -> int:
        return hash(self.__name__)


def _described(name: str, given: object) -> str:
    return f"{name}={label(given)}" if callable(given) else readable({name: given})


def _text(given: Mapping[str, object], named: Callable[[Any], str]) -> str:
    parts = (f"{name}: {named(each) if callable(each) else expression_text(each)}" for name, each in given.items())
    return f"{{{', '.join(parts)}}}"


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

    def __init__(self, column: str, keep_empty: bool, layout: Layout, items: object, position: str | None) -> None:
        self.column = column
        self.keep_empty = keep_empty
        self.input = layout
        self.position = position
        fields: dict[str, Any] = {
            name: (items if name == column else cell.annotation)
            for name, cell in zip(layout.names, layout.cells, strict=True)
        }
        if position is not None:
            fields[position] = Optional[int] if keep_empty else int  # noqa: UP045
        self.row = row_type(fields)
        self.returns = list[self.row]  # type: ignore[name-defined]
        options = f"{', keep_empty' if keep_empty else ''}{'' if position is None else f', position={position}'}"
        self.__name__ = f"explode({column}{options})"

    @classmethod
    def of(cls, column: str, keep_empty: bool, layout: Layout, position: str | None = None) -> Exploding | None:
        """Return the function; None if the column has no items. `position` names a column for that of the item."""
        cell = layout.cells[layout.names.index(column)]
        items = item_type(cell.kind)
        if items is None:
            return None
        return cls(column, keep_empty, layout, Optional[items] if keep_empty else items, position)  # noqa: UP045

    @property
    def output(self) -> Layout:
        """The layout of the rows that it makes."""
        return Layout.expect(self.row)

    def __call__(self, element: object) -> list[Any]:
        values = dict(zip(self.input.names, (column[0] for column in self.input.split([element])), strict=True))
        items: list[Any] = list(values[self.column] or ())
        places: list[int | None] = [*range(len(items))]
        if self.keep_empty and not items:
            items, places = [None], [None]
        rows = (
            self.row(*(values | {self.column: item} | ({} if self.position is None else {self.position: at})).values())
            for item, at in zip(items, places, strict=True)
        )
        return [instant_element(row) for row in rows]

    def flattened(self, table: pa.Table) -> tuple[pa.Table, Indices]:
        lists = one_chunk(table[self.column])
        counts = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
        items, output = pc.list_flatten(lists), self.output
        empty: Mask | None = None
        if self.keep_empty:
            ends = np.cumsum(counts)
            counts = np.maximum(counts, 1)
            empty = np.zeros(counts.sum(), bool)
            empty[(np.cumsum(counts) - counts)[np.diff(ends, prepend=0) == 0]] = True
            items = items.take(pa.array(np.cumsum(~empty) - 1, mask=empty))
        rows, places = ranges(np.zeros(table.num_rows, np.int64), counts)
        taken = table.select([name for name in self.input.names if name != self.column]).take(pa.array(rows))
        added: dict[str | None, pa.Array] = {self.column: items, self.position: pa.array(places, mask=empty)}
        columns = [added[name] if name in added else taken[name] for name in output.names]
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

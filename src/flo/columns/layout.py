"""The layout of a collection's elements in a table: a column per field of a row, or one column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, get_args, get_origin, is_typeddict

import pyarrow as pa

from flo.columns.cell import Cell, cell_of, columns_of, each_column, fields_of
from flo.columns.indices import one_chunk
from flo.core.errors import ElementError
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.values.canonical import instant_element
from flo.values.exact import ALL_DIGITS

VALUE = "value"
"""The name of the single column of elements that are not rows."""


@dataclass(frozen=True)
class Layout:
    """The columns of one element type."""

    element: Any
    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    split: Callable[[list[Any]], list[list[Any]]]
    """Converts elements to a list per column."""
    make: AnyFunction
    """Converts one value per column to an element."""

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(n, c.arrow, c.nullable) for n, c in zip(self.names, self.cells, strict=True)])

    @cached_property
    def sums(self) -> frozenset[str]:
        """The columns of integer sums, which users get with 64 bits. Those of `flo.Int128` keep all digits."""
        return frozenset(name for name, cell in self._columns() if cell.wide and ALL_DIGITS not in get_args(cell.kind))

    def to_table(self, elements: list[Element]) -> pa.Table:
        """Convert elements to a table. Raises Arrow's error if an element does not fit."""
        return pa.Table.from_arrays(list(self.to_arrays(elements, self.names).values()), schema=self.schema)

    def to_arrays(self, elements: list[Element], names: tuple[str, ...]) -> dict[str, pa.Array]:
        """Convert elements to some of their columns, by name."""
        columns = self.split(elements) if elements else [[] for _ in self.names]
        arrays = {}
        for cell, values, field in zip(self.cells, columns, self.schema, strict=True):
            if field.name in names:
                arrays[field.name] = cell.to_array(values)
                expect_no_nulls(field, arrays[field.name])
        return arrays

    def to_elements(self, table: pa.Table) -> list[Element]:
        columns = [cell.to_values(table[name]) for name, cell in zip(self.names, self.cells, strict=True)]
        elements = map(self.make, *columns)
        return list(map(instant_element, elements) if any(_is_zoned(cell.arrow) for cell in self.cells) else elements)

    def fitted(self, table: pa.Table) -> pa.Table:
        """Cast a table to exactly these columns and types. Arrow cannot cast null rows in a column, to the same type
        either, if their fields are never null."""
        if table.schema.equals(self.schema):
            return table
        return pa.Table.from_arrays(self.cast([table[name] for name in self.names]), schema=self.schema)

    def cast(self, columns: list[Any]) -> list[Any]:
        """Return arrays with exactly the types of these columns. Raises if the type has no value that equals one."""
        return [_cast(column, name, cell.arrow) for column, (name, cell) in zip(columns, self._columns(), strict=True)]

    def _columns(self) -> Iterator[tuple[str, Cell]]:
        return zip(self.names, self.cells, strict=True)

    @cached_property
    def hashable(self) -> bool:
        """Whether elements can be compared by hash, as bags, sets and z-sets need."""
        plain = get_origin(self.element) or self.element
        return all(cell.hashable for cell in self.cells) and getattr(plain, "__hash__", 1) is not None

    @cached_property
    def has_fields(self) -> bool:
        """Whether an element is a row: a named tuple or a dataclass, not a plain value or tuple."""
        return bool(fields_of(self.element))

    @cached_property
    def form(self) -> Any:
        """How Python sees an element: as a `value`, as a tuple, or as a class that only equals itself."""
        fields = fields_of(self.element)
        if fields is None:
            return tuple if self.names != (VALUE,) else "value"
        return tuple if issubclass(get_origin(self.element) or self.element, tuple) else self.element

    def as_array(self, table: pa.Table) -> pa.Array:
        """Return the elements as one column, as a tuple would contain them."""
        arrays = [one_chunk(table[name]) for name in self.names]
        if self.form == "value":
            return arrays[0]
        return pa.StructArray.from_arrays(arrays, fields=list(self.schema))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and other.element == self.element

    def __hash__(self) -> int:
        return hash(str(self.element))

    @staticmethod
    def of(element: object) -> Layout | None:
        """Return the layout of an element type; None if a table cannot represent its elements, so they stay values."""
        try:
            return _layout_of(element)
        except TypeError:  # an unhashable annotation
            return None

    @staticmethod
    def expect(element: object) -> Layout:
        """Return the layout of an element type that has one."""
        layout = Layout.of(element)
        assert layout is not None, "elements have columns"
        return layout


def _is_zoned(kind: pa.DataType) -> bool:
    """Return whether the column has times with a zone."""
    if pa.types.is_struct(kind) or pa.types.is_list(kind):
        return any(_is_zoned(kind.field(index).type) for index in range(kind.num_fields))
    return pa.types.is_timestamp(kind) and kind.tz is not None


def expect_no_nulls(field: pa.Field, array: pa.Array) -> None:
    """Raise if there are nulls where the type has none. Arrow does not check this."""
    if array.null_count and not field.nullable:
        raise ValueError(f"`{field.name}` must be {field.type} without nulls; got None")
    if pa.types.is_struct(field.type):
        there = array.drop_null()
        for index, part in enumerate(field.type):
            expect_no_nulls(part, there.field(index))
    elif pa.types.is_list(field.type):
        expect_no_nulls(field.type.value_field, array.flatten())


@lru_cache(maxsize=1024)
def _layout_of(element: object) -> Layout | None:
    fields = fields_of(element)
    if fields:
        if is_typeddict(element):
            return None  # dicts are not hashable: `rows` makes a row type of it
        names = tuple(fields)
        return _whole(element, names, [cell_of(kind) for kind in fields.values()], columns_of(element, names), element)
    parts = get_args(element)
    if get_origin(element) is tuple and parts and parts[-1] is not ... and parts != ((),):
        names = tuple(str(index) for index in range(len(parts)))
        return _whole(element, names, [cell_of(p) for p in parts], each_column, lambda *values: values)
    return _whole(element, (VALUE,), [cell_of(element)], lambda elements: [elements], lambda value: value)


def _whole(element: TypeForm, names: tuple[str, ...], cells: list[Cell | None], split: Any, make: Any) -> Layout | None:
    known = tuple(cell for cell in cells if cell is not None)
    return Layout(element, names, known, split, make) if len(known) == len(cells) else None


def _cast(column: Any, name: str, kind: pa.DataType) -> Any:
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowInvalid as error:
        raise ElementError(
            f"a value does not fit the column `{name}`: {error}",
            facts=(("expected", f"a {kind} that equals it"), ("got", f"one of {column.type} that none equals")),
            instead=(("map(float)", "rounds integers to the nearest float"),)
            if pa.types.is_integer(column.type)
            else (),
        ) from error

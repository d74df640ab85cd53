"""Values that are Arrow tables: a sequence is rows in order; a bag, set or z-set is rows with weights."""

from __future__ import annotations

from dataclasses import Field, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import one_chunk
from flo.columns.layout import MISFITS, Layout
from flo.columns.row_types import OWN
from flo.core.collection import Collection, End, Form, FormedValue, Value, call
from flo.core.errors import brief
from flo.core.term import Lowering, Term
from flo.values.element_value import ElementCollection

WEIGHT = OWN
"""The weight column. No column of a user has this name."""
WEIGHT_FIELD = pa.field(WEIGHT, pa.int64(), nullable=False)
SUMMED = f"{OWN}Σ"
"""The weight column of a table whose rows are sums of rows by group (`OnTables.sum_early`)."""
COPY = f"{OWN}copy"
"""The column that says which rows of a table are copies of those in the shard of their key."""


class TableValue(FormedValue):
    """A value made of tables. Two are equal if they are equal as Python values."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    of: Collection
    end: End

    def with_end(self, end: End) -> Self:
        return replace(self, end=end)

    def has_content(self) -> bool:
        return self.size() > (self.end is End.ARRIVED)

    def fix(self) -> Self:
        return self if self.fixed() else self.with_end(End.ARRIVED)

    def fixed(self) -> bool:
        return self.end is not End.OPEN

    def drained(self) -> Self:
        """The value without its content."""
        return self.empty().with_end(self.end)

    def passed(self) -> Self:
        """⊗: the value after its end was passed on."""
        return self.empty().with_end(End.PASSED)

    def take(self) -> tuple[Self, Self]:
        return (self.passed() if self.end is End.ARRIVED else self.drained()), self

    @cached_property
    def _canonical(self) -> Any:
        return self.value()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.of == other.of and bool(self._canonical == other._canonical)

    def __hash__(self) -> int:
        return hash((self.of, self.end))

    def lower(self, lower: Lowering) -> Term:
        return call(self.kind, self.of, self.value(), lower=lower)


@dataclass(frozen=True, eq=False)
class Rows(TableValue):
    """A value as a table. `++` appends rows; equal rows are consolidated only where an operator needs it."""

    of: ElementCollection[Any]
    table: pa.Table
    end: End = End.OPEN

    kind = "rows"

    def concat(self, delta: Rows) -> Rows:
        if self.end is not End.OPEN:
            return self
        if not delta.table.num_rows:
            return self if delta.end is End.OPEN else replace(self, end=delta.end)
        if not self.table.num_rows:
            return delta
        return Rows(self.of, pa.concat_tables([self.table, delta.table]), delta.end)

    def empty(self) -> Rows:
        return Rows(self.of, self.drained().table)

    def drained(self) -> Rows:
        table = self.table
        if not table.num_rows:
            return self
        place_of = table.schema.get_field_index
        others = place_of(SUMMED) >= 0 or place_of(COPY) >= 0  # columns that rows have not
        return Rows(self.of, schema_of(self.of).empty_table() if others else table.slice(0, 0), self.end)

    def has_content(self) -> bool:
        return bool(self.table.num_rows)

    def send(self, at_most: int | None = None) -> tuple[Rows, Rows]:
        if at_most is None or at_most >= self.table.num_rows:
            return self.take()
        return replace(self, table=self.table.slice(at_most)), Rows(self.of, self.table.slice(0, at_most))

    def size(self) -> int:
        return int(self.table.num_rows) + (self.end is End.ARRIVED)

    def value(self) -> Any:
        """The same value, as Python values."""
        layout = layout_of(self.of)
        elements = layout.to_elements(self.table)
        units = elements if is_ordered(self.of) else zip(elements, self.table[WEIGHT].to_pylist(), strict=True)
        return self.of.value_class.of(units, self.end)

    def __hash__(self) -> int:
        return hash(self._canonical)

    @classmethod
    def lift(cls, *parts: Any) -> Rows:
        return rows_of(*parts)


def is_ordered(collection: Collection) -> bool:
    """Whether rows of the collection are ordered: it is a sequence."""
    return not getattr(collection, "unordered", True)


def of_elements(of: Collection) -> ElementCollection[Any]:
    """The same collection, which must be one of elements."""
    return of  # type: ignore[return-value]


def layout_of(collection: Collection) -> Layout:
    layout = Layout.of(collection.element)  # type: ignore[attr-defined]
    assert layout is not None, f"{collection} has no columns"
    return layout


@lru_cache(maxsize=1024)
def schema_of(collection: Collection) -> pa.Schema:
    """The schema of tables of a collection, with the weight column unless it is a sequence."""
    schema = layout_of(collection).schema
    return schema if is_ordered(collection) else schema.append(WEIGHT_FIELD)


def plain_zeros(of: Collection, table: pa.Table) -> pa.Table:
    """Replaces -0.0 by 0.0, except in a sequence: equal rows of other collections are one row (`canonical`)."""
    for name in _float_columns(of):
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.schema.field(index), _plain_zeros(one_chunk(table.column(index))))
    return table


@lru_cache(maxsize=1024)
def _float_columns(of: Collection) -> tuple[str, ...]:
    """The columns that may have -0.0 where there should be 0.0."""
    return () if is_ordered(of) else tuple(field.name for field in layout_of(of).schema if _has_floats(field.type))


ZEROS = {kind.id: pa.scalar(0.0, kind) for kind in (pa.float32(), pa.float64())}
"""Zero, by the id of the type."""
STRUCT = pa.struct([]).id


def _has_floats(kind: pa.DataType) -> bool:
    return kind.id in ZEROS or (kind.id == STRUCT and any(_has_floats(field.type) for field in kind))


def _plain_zeros(array: pa.Array) -> pa.Array:
    if array.type.id == STRUCT:
        fields = list(array.type)
        parts = [_plain_zeros(part) if _has_floats(part.type) else part for part in array.flatten()]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    return pc.add(array, ZEROS[array.type.id])


def rows_of(collection: ElementCollection[Any], value: Any) -> Rows:
    """A Python value as a table."""
    layout = layout_of(collection)
    if is_ordered(collection):
        return Rows(collection, layout.to_table(value.all_units()), value.end)
    units = value.all_units()
    table = layout.to_table([element for element, _ in units])
    weights = pa.array([weight for _, weight in units], pa.int64())
    return Rows(collection, table.append_column(WEIGHT_FIELD, weights), value.end)


def to_rows(of: ElementCollection[Any], value: Any) -> Rows:
    """A Python value as a table. An error names the element that does not fit."""
    try:
        return rows_of(of, value)
    except MISFITS as error:
        for element in value.elements_list():
            try:
                rows_of(of, of.value_class.of([element] if hasattr(value, "elements") else [(element, 1)]))
            except Exception as fault:
                raise layout_of(of).no_fit("an element of {input}", fault, ("given", brief(element))) from error
        raise


class Columns(Form[ElementCollection[Any]]):
    """A collection whose values are tables. To users it is the same type as its base."""

    name = "Columns"

    def bottom(self) -> Rows:
        return Rows(self.base, schema_of(self.base).empty_table())

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, Rows):
            return f"expected a table of {self.base}; got a {value.kind}"
        expected = schema_of(self.base)
        if not value.table.schema.equals(expected):
            columns = columns_text(value.table.schema)
            return f"the columns are {columns}; expected those of {self.base}: {columns_text(expected)}"
        return None

    def formed(self, value: Any) -> Rows:
        return rows_of(self.base, value)


def columns_text(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema if field.name != WEIGHT)

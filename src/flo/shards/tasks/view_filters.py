"""Filters that Spark pushes down to a view: which of them mean the same on Arrow, and how they are applied.

    WHERE shop = 'a' AND NOT price > 5          rows that are kept
    EqualTo(shop, 'a')   on Arrow               (a, 3)
    Not(GreaterThan(price, 5))   on Arrow       not (b, 3), (a, 7) and (a, null)
    GreaterThan(rate, 0.5)   left to Spark      rate is a float

Invariant: a filter keeps the rows for which it is true, not those for which it is null. Columns of floats are left to
Spark, for which NaN equals itself and is the largest number, except for the question whether they are null.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

COMPARISONS = {
    "EqualTo": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}


@dataclass(frozen=True)
class Condition:
    """A comparison of a column with constants. `name` is that of Spark's filter."""

    name: str
    column: str
    values: tuple[Any, ...] = ()
    negated: bool = False

    def mask(self, table: pa.Table) -> pa.ChunkedArray:
        """For each row true, false or null."""
        mask = self._mask(table[self.column])
        return pc.invert(mask) if self.negated else mask

    def _mask(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The comparison, before it is negated."""
        if self.name in ("IsNull", "IsNotNull"):
            return pc.is_null(column) if self.name == "IsNull" else pc.is_valid(column)
        values = [pa.scalar(value, column.type) for value in self.values]
        if self.name == "In":
            return reduce(pc.or_kleene, [pc.equal(column, value) for value in values])
        if self.name == "EqualNullSafe":
            same = pc.fill_null(pc.equal(column, values[0]), False)
            return same if values[0].is_valid else pc.is_null(column)
        return COMPARISONS[self.name](column, values[0])


def filter_rows(table: pa.Table, conditions: Iterable[Condition]) -> pa.Table:
    """The rows for which all conditions are true."""
    for condition in conditions:
        table = table.filter(condition.mask(table))  # drops rows for which it is null
    return table


def condition_of(given: Any, schema: pa.Schema) -> Condition | None:
    """The condition that a filter of Spark stands for; None if Spark must evaluate it."""
    name = type(given).__name__
    if name == "Not":
        child = condition_of(given.child, schema)
        return child and Condition(child.name, child.column, child.values, not child.negated)
    if name not in (*COMPARISONS, "EqualNullSafe", "In", "IsNull", "IsNotNull"):
        return None
    if len(given.attribute) != 1 or schema.names.count(given.attribute[0]) != 1:
        return None
    (column,) = given.attribute
    if name in ("IsNull", "IsNotNull"):
        return Condition(name, column)
    values = tuple(given.value) if name == "In" else (given.value,)
    if not values or not all(_is_comparable(value, schema.field(column).type, name) for value in values):
        return None
    return Condition(name, column, values)


def _is_comparable(value: Any, kind: pa.DataType, name: str) -> bool:
    """Whether Arrow compares values of this type with such a constant as Spark does."""
    types = pa.types
    if value is None:
        return _is_comparable_type(kind)
    if types.is_boolean(kind):
        return type(value) is bool and name in ("EqualTo", "EqualNullSafe", "In")
    if types.is_signed_integer(kind):
        return type(value) is int and abs(value) < 1 << (kind.bit_width - 1)
    if types.is_string(kind):
        return type(value) is str
    if types.is_date32(kind):
        return type(value) is datetime.date
    if types.is_timestamp(kind):
        return type(value) is datetime.datetime and (value.tzinfo is None) == (kind.tz is None)
    if types.is_decimal128(kind):
        return type(value) is Decimal and _fits(value, kind)
    return False


def _is_comparable_type(kind: pa.DataType) -> bool:
    """Whether Arrow compares values of this type as Spark does."""
    types = pa.types
    tests = (types.is_signed_integer, types.is_string, types.is_date32, types.is_timestamp, types.is_decimal128)
    return any(test(kind) for test in tests)


def _fits(value: Decimal, kind: pa.Decimal128Type) -> bool:
    """Whether a decimal can be written in a column without being rounded."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -kind.scale and value.adjusted() < kind.precision - kind.scale

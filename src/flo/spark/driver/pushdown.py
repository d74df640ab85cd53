"""The column expressions that Catalyst may run, and how: those that give the same results there as on Arrow, for all
values.

An expression is pushed down only if all functions that it calls are listed, for the types of their operands. Tests
compare each entry with Spark on values that distinguish the engines; an entry without such a test fails. Not listed
are, among others, arithmetic that may overflow (Spark raises its own errors), comparisons of floats (for Spark nan is
the largest number and equal to itself), regular expressions (the rules for `$`, `.` and blanks differ), the case of
letters, and times with zones. Expressions that are not pushed down run on Arrow, inside the stage.

Of arithmetic there is what cannot overflow: `%` with a positive literal; and the product of an integer and a literal
decimal of few digits, which is exact, and to which `with_digits` gives Flo's number of digits. `catalyst_columns` has
the functions as columns of Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any, Self

import narwhals as nw
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from flo.columns.evaluation import ColumnFunction, FunctionCall, arguments_of, every_node
from flo.columns.expression import Expression
from flo.shards.tasks.input_task import OFFSET, PARTITION
from flo.spark.driver.catalyst_columns import DAY_FORMAT, TIME_FORMATS, catalyst_column
from flo.sql.java import Java, list_of
from flo.tables.io.files import WEIGHTS
from flo.tables.operators.elementwise import CountedTables, FilterTables, MapTables
from flo.tables.values import layout_of
from flo.values.weighted import Bag, ZSet

PASSED = ("int64", "double", "bool", "string", "binary", "date32[day]", "timestamp[us]", "decimal")
"""The types whose columns pass through Spark unchanged. Decimals are one, whatever their digits are."""
DECIMAL = re.compile(r"decimal128\(\d+, \d+\)")
FEW_DIGITS = 17
"""With so many digits, Spark's product with an integer, to which it gives 20 digits, has no more than 38."""
COMPARED = ("int64", "string", "bool", "date32[day]")
"""The types that Spark compares as Arrow does: strings by their UTF-8 bytes."""
ORDERED = ("int64", "string", "date32[day]")
LITERALS = ("literal int64", "literal string", "literal bool")
REMAINDER = "__mod__"
COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__")
LARGEST_DIVISOR = 2**62
"""Up to here a remainder and its divisor add up to 64 bits, as in Spark's `pmod`."""
LARGEST_INDEX = 2**31 - 1
"""Spark's lists have no more items."""
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_#]*")
"""Names that mean one column to Spark. Columns of SQL that were renamed have a `#`."""

FunctionKey = tuple[str, tuple[str, ...]]
Allowed = Callable[[FunctionCall], bool]


def _always(call: FunctionCall) -> bool:
    return True


def _is_plain_value(call: FunctionCall) -> bool:
    return call.options["value"] is not None and call.options["dtype"] is None


def _is_short_decimal(call: FunctionCall) -> bool:
    value = call.options["value"]
    if not isinstance(value, Decimal) or not value.is_finite() or call.options["dtype"] is not None:
        return False
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and -FEW_DIGITS <= exponent <= 0 and len(digits) <= FEW_DIGITS


def _compares_exactly(call: FunctionCall) -> bool:
    """Whether Spark has a type for a decimal and an integer, which has up to 20 digits there: of at most 38 digits."""
    digits, places = map(int, re.findall(r"\d+", call.operands[0])[1:])
    return max(digits - places, 20) + places <= 38


def _by_kleene(call: FunctionCall) -> bool:
    return call.options["ignore_nulls"] is False


def _is_literal_pattern(call: FunctionCall) -> bool:
    return call.options["literal"] is True


def _replaces_text(call: FunctionCall) -> bool:
    return call.options["literal"] is True and bool(call.options["pattern"])


def _has_plain_separator(call: FunctionCall) -> bool:
    by = call.options["by"]
    return isinstance(by, str) and bool(by) and by.isascii() and by.isprintable()


def _is_index(call: FunctionCall) -> bool:
    return bool(0 <= call.options["index"] < LARGEST_INDEX)


def _is_part_of_time(call: FunctionCall) -> bool:
    return call.options["format"] in (DAY_FORMAT, *TIME_FORMATS)


def _is_list_of(kind: type) -> Allowed:
    """Whether an option is a non-empty list of values of a type, without None."""

    def is_list(call: FunctionCall) -> bool:
        given = call.options["other"]
        return isinstance(given, (list, tuple)) and bool(given) and all(type(each) is kind for each in given)

    return is_list


def _either_side(kind: str) -> list[tuple[str, str]]:
    """Two columns of a type, or a column and a literal. A literal date does not work in an expression on Spark."""
    literal = f"literal {kind}"
    return [(kind, kind), (kind, literal)] if literal in LITERALS else [(kind, kind)]


ALLOWED: dict[FunctionKey, Allowed] = {
    **{("col", (kind,)): _always for kind in PASSED},
    **{("result", (kind,)): _always for kind in PASSED},
    **{("lit", (kind,)): _is_plain_value for kind in LITERALS},
    **{(name, both): _always for name in ("__eq__", "__ne__") for kind in COMPARED for both in _either_side(kind)},
    **{(name, both): _always for name in COMPARISONS for kind in ORDERED for both in _either_side(kind)},
    **{(name, both): _always for name in ("__and__", "__or__") for both in _either_side("bool")},
    ("__invert__", ("bool",)): _always,
    **{("all_horizontal", ("bool",) * count): _by_kleene for count in (1, 2, 3)},
    (REMAINDER, ("int64", "literal int64")): _always,
    ("lit", ("literal decimal",)): _is_short_decimal,
    ("__mul__", ("int64", "literal decimal")): _always,
    **{(name, ("decimal", "literal int64")): _compares_exactly for name in COMPARISONS},
    ("is_between", ("decimal", "literal int64", "literal int64")): _compares_exactly,
    **{("is_null", (kind,)): _always for kind in PASSED},
    **{("fill_null", both): _always for kind in COMPARED for both in _either_side(kind)},
    **{
        ("is_between", (kind, low, high)): _always
        for kind in ("int64", "string")
        for low, high in product((kind, f"literal {kind}"), repeat=2)
    },
    ("is_in", ("int64",)): _is_list_of(int),
    ("is_in", ("string",)): _is_list_of(str),
    **{(f"str.{name}", ("string", "literal string")): _always for name in ("starts_with", "ends_with")},
    ("str.contains", ("string", "literal string")): _is_literal_pattern,
    **{("when_then", ("bool", kind, kind)): _always for kind in COMPARED},
    **{("when_then", ("bool", *both)): _always for both in product(("string", "literal string"), repeat=2)},
    ("str.len_chars", ("string",)): _always,
    ("__sub__", ("int32", "int32")): _always,  # of lengths: no column has this type
    ("str.replace_all", ("string", "literal string")): _replaces_text,
    ("str.split", ("string",)): _has_plain_separator,
    ("list.get", ("list<item: string>",)): _is_index,
    ("dt.hour", ("timestamp[us]",)): _always,
    ("dt.to_string", ("timestamp[us]",)): _is_part_of_time,
}
"""For each function and the types of its operands: a predicate on the call."""


RESERVED = (WEIGHTS, PARTITION, OFFSET)
"""Columns that a DataFrame may have besides those of the rows."""


def expression_of(operator: Any) -> Any:
    """The function of a map or a filter."""
    return getattr(operator.like, "keep" if isinstance(operator, FilterTables) else "f")


def is_pushed_down(operator: Any) -> bool:
    """Whether an operator is a map or a filter that Catalyst may run."""
    if not isinstance(operator, (MapTables, FilterTables)) or not isinstance(expression_of(operator), Expression):
        return False
    return WEIGHTS not in layout_of(operator.outputs[0]).names and runs_in_catalyst(expression_of(operator))


def passes_rows(operator: Any) -> bool:
    """Whether the output has the rows of the input, as they are: a bag as a z-set."""
    of_bag = isinstance(operator, CountedTables) and isinstance(operator.inputs[0], Bag)
    return of_bag and isinstance(operator.outputs[0], (Bag, ZSet))


@dataclass(frozen=True)
class CatalystStep:
    """A filter or a projection of DataFrames. It is made once and run on each micro-batch: to make a column takes
    several calls of Java, and a projection has many columns."""

    name: str
    """The method of Spark's Dataset."""
    given: Java
    """The condition, or the sequence of columns."""

    @classmethod
    def where(cls, condition: Column) -> Self:
        return cls("filter", condition._jc)

    @classmethod
    def select(cls, columns: Iterable[Column]) -> Self:
        return cls("select", list_of([each._jc for each in columns]))

    @classmethod
    def of(cls, operator: Any, beside: Iterable[str] = ()) -> Self:
        """A map or a filter that Catalyst may run, which keeps the columns `beside` those of the rows."""
        columns = _columns_of(operator)
        if isinstance(operator, FilterTables):
            return cls.where(*columns)
        return cls.select([*map(sf.col, beside), *columns])

    def over(self, frame: DataFrame) -> DataFrame:
        """The rows of a DataFrame after it."""
        return DataFrame(getattr(frame._jdf, self.name)(self.given), frame.sparkSession)


def _columns_of(operator: Any) -> list[Column]:
    """The columns of a map, or the condition of a filter, as columns of Spark."""
    expression = expression_of(operator)
    given, schema = expression.inputs[0].schema, expression.schema
    return [
        with_digits(catalyst_column(each, given), field.type).alias(name)
        for (name, each), field in zip(expression.columns, schema, strict=True)
    ]


def runs_in_catalyst(expression: Expression) -> bool:
    """Whether Spark gives the same result for every row, in the same columns, of an expression that reads one."""
    flat = expression.schema.names == list(expression.layout.names)  # not a row type in one column
    names = (*expression.inputs[0].names, *RESERVED), (*expression.layout.names, *RESERVED)
    reads = any(call.function == "col" for call in expression.calls)
    listed = all(map(_is_allowed, expression.calls)) and all(map(_has_plain_divisors, expression.columns))
    return flat and reads and listed and all(map(are_distinct_names, names))


def are_distinct_names(names: Iterable[str]) -> bool:
    """Whether each name means one column to Spark, which ignores case and reads dots as fields."""
    known = list(dict.fromkeys(names))
    return all(map(PLAIN_NAME.fullmatch, known)) and len({name.lower() for name in known}) == len(known)


def _is_allowed(call: FunctionCall) -> bool:
    allowed = ALLOWED.get(key_of(call))
    return allowed is not None and allowed(call)


def key_of(call: FunctionCall) -> FunctionKey:
    """The function and the types of its operands, as `ALLOWED` has them."""
    return call.function, tuple(DECIMAL.sub("decimal", each) for each in call.operands)


def passes_unchanged(kind: pa.DataType) -> bool:
    """Whether columns of a type pass through Spark unchanged."""
    return DECIMAL.sub("decimal", str(kind)) in PASSED


def with_digits(column: Column, kind: pa.DataType) -> Column:
    """A column with the digits of a decimal type, which has room for it: Spark gives a product more."""
    return column.cast(f"decimal({kind.precision}, {kind.scale})") if pa.types.is_decimal(kind) else column


def _has_plain_divisors(column: tuple[str, nw.Expr | ColumnFunction]) -> bool:
    """Whether it is an expression of Narwhals, and all remainders are of a positive integer, as it is."""
    _, expression = column
    if isinstance(expression, ColumnFunction):
        return False
    divisors = [given for node in every_node(expression) if node.name == REMAINDER for given in arguments_of(node)]
    return all(type(given) is int and 0 < given <= LARGEST_DIVISOR for given in divisors)

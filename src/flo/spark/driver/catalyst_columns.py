"""Column expressions as columns of Spark, for the functions that `pushdown` lists: with the results that they have on
Arrow, for all values.

    nw.col("url").str.split("/").list.get(3)        get(split(url, '/', -1), 3)
    nw.col("at").dt.to_string("%H:%M")              the minutes of all days have 1,440 texts: the one at its place

`get` gives null where a list has no such item, and so needs no condition around it: Catalyst computes what is in a
branch of a condition again for each, and what is not only once for a row.

A time is written by its parts, of which a table has the texts. Spark's own formats are slower, and read a time without
a zone in that of the session, which may not have it. Catalyst makes the table of a literal, once for each plan.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import narwhals as nw
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf

from flo.columns.evaluation import COLUMNS, arguments_of, columns_named, nodes_of
from flo.columns.node_functions import RENAMES
from flo.columns.nodes import ColumnNode

DAY_FORMAT = "%Y-%m-%d"
MINUTES = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(24 * 60)]
"""The texts of all minutes of a day."""
TIME_FORMATS = {"%H:%M": (0, 5), "%H": (0, 2), "%M": (3, 5)}
"""Formats of times, as parts of the text of a minute."""
HUNDRED = [f"{number:02}" for number in range(100)]
DAYS = [f"-{number // 32:02}-{number % 32:02}" for number in range(13 * 32)]
"""The texts of all months and days, at 32 · month + day."""


def catalyst_column(expression: nw.Expr, schema: pa.Schema) -> Column:
    """An expression of the columns of a schema, as a column of Spark."""
    (column,) = _columns(expression, schema)
    return column


def _columns(given: object, schema: pa.Schema) -> list[Column]:
    """An expression or a literal as columns of Spark: several if it names several columns."""
    if not isinstance(given, nw.Expr):
        return [sf.lit(given)]
    first, *more = nodes_of(given)
    if first.kind.name in COLUMNS:
        columns = [sf.col(name) for name in columns_named(first, schema)]
    elif first.name == "lit":
        columns = [sf.lit(first.kwargs["value"])]
    else:
        columns = [FUNCTIONS[first.name](first, *_arguments(first, schema))]
    for node in more:
        if node.name not in RENAMES:
            arguments = _arguments(node, schema)
            columns = [FUNCTIONS[node.name](node, column, *arguments) for column in columns]
    return columns


def _arguments(node: ColumnNode, schema: pa.Schema) -> list[Column]:
    return [column for given in arguments_of(node) for column in _columns(given, schema)]


def _is_between(node: ColumnNode, value: Column, low: Column, high: Column) -> Column:
    closed = node.kwargs["closed"]
    above = value >= low if closed in ("left", "both") else value > low
    return above & (value <= high if closed in ("right", "both") else value < high)


def _choice(condition: Column, then: Column, otherwise: Column) -> Column:
    return sf.when(condition, then).otherwise(otherwise)


def _split(node: ColumnNode, text: Column) -> Column:
    return sf.split(text, re.escape(node.kwargs["by"]))


def _item(node: ColumnNode, items: Column) -> Column:
    return sf.get(items, sf.lit(node.kwargs["index"]))


def _replaced(node: ColumnNode, text: Column, value: Column) -> Column:
    return sf.replace(text, sf.lit(node.kwargs["pattern"]), value)


def _formatted(node: ColumnNode, time: Column) -> Column:
    form = node.kwargs["format"]
    if form == DAY_FORMAT:
        return _day(time.cast("date"))
    start, end = TIME_FORMATS[form]
    return _text_at([each[start:end] for each in MINUTES], sf.hour(time) * 60 + sf.minute(time))


def _day(date: Column) -> Column:
    """The text of a date. How Spark writes the others, before the year 0 and after 9999, depends on its settings."""
    year, day = sf.year(date), _text_at(DAYS, sf.month(date) * 32 + sf.day(date))
    century, rest = (_text_at(HUNDRED, each) for each in ((year / 100).cast("int"), year % 100))
    short, long = sf.concat(century, rest, day), sf.format_string("%05d%s", year, day)
    return sf.when(year.between(0, 9999), short).when(year.isNotNull(), long)


def _text_at(texts: Iterable[str], place: Column) -> Column:
    """One of these texts. Catalyst computes the array before a plan runs."""
    return sf.get(sf.split(sf.lit(",".join(texts)), ","), place)


def _of_columns(function: Callable[..., Column]) -> Callable[..., Column]:
    """A function that needs no options."""
    return lambda node, *columns: function(*columns)


def _as_long(function: Callable[[Column], Column]) -> Callable[..., Column]:
    """A function whose results are 64-bit integers, so that their differences cannot overflow."""
    return lambda node, column: function(column).cast("bigint")


def _is_in(node: ColumnNode, value: Column) -> Column:
    return value.isin(list(node.kwargs["other"]))


def _all(*conditions: Column) -> Column:
    return reduce(operator.and_, conditions)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_columns(getattr(operator, name)) for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__")},
    **{name: _of_columns(getattr(operator, name)) for name in ("__ge__", "__and__", "__or__", "__mul__", "__sub__")},
    "__invert__": _of_columns(operator.invert),
    "__mod__": _of_columns(sf.pmod),
    "all_horizontal": _of_columns(_all),
    "dt.hour": _as_long(sf.hour),
    "dt.to_string": _formatted,
    "fill_null": _of_columns(sf.coalesce),
    "is_between": _is_between,
    "is_in": _is_in,
    "is_null": _of_columns(sf.isnull),
    "list.get": _item,
    "str.contains": _of_columns(sf.contains),
    "str.ends_with": _of_columns(sf.endswith),
    "str.len_chars": _as_long(sf.char_length),
    "str.replace_all": _replaced,
    "str.split": _split,
    "str.starts_with": _of_columns(sf.startswith),
    "when_then": _of_columns(_choice),
}
"""For each function: its column of Spark, of its node and its operands."""

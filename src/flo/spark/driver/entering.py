"""Inputs as the program reads them: the columns that it names, and at their start what Spark can do itself.

Maps and filters that are column expressions, and that come first, are handed to Catalyst if all their functions are
listed in `pushdown`: it reads no more columns and rows than they need, but for the columns that must be seen to be
without nulls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import StringType

from flo.columns.expression import Expression
from flo.core.errors import ElementError, OrderError, TypeMismatch
from flo.core.graph import Graph, Node, Sequential, sequence
from flo.core.operator import Operator
from flo.core.structural import identity
from flo.spark.driver.faults import MISFIT
from flo.spark.driver.pushdown import are_told_apart, runs_in_catalyst
from flo.spark.plan.stages import Entry
from flo.spark.tasks.arriving import OFFSET, PARTITION, rows_in
from flo.tables.io.files import WEIGHTS, Piece
from flo.tables.io.fitting import Unfit, fitted
from flo.tables.operators.elementwise import FilterTables, MapTables
from flo.tables.values import Columns, layout_of, of_elements, ordered
from flo.values.weighted import Bag, ZSet

ZONES = (
    ("timestamp_ntz", "the type of Spark for moments without a zone, as `datetime` has them"),
    ('Annotated[datetime, pa.timestamp("us", "UTC")]', "for `timestamp`, whose moments have one"),
)


@dataclass(frozen=True)
class Entering:
    """An input at the start of a query: the frame that is read, and what is left to do with its rows."""

    frame: DataFrame
    entry: Entry
    position: str | None = None
    """The column that has the place of a row."""
    counted: bool = False
    """Whether Spark counts the rows, under the name `counter(…)`: tasks do not see those that it leaves out."""


@dataclass(frozen=True)
class Native:
    """What Spark does itself at an input, and what is left."""

    operators: tuple[Operator, ...]
    entry: Entry

    @classmethod
    def of(cls, entry: Entry) -> Native:
        operators: tuple[Operator, ...] = ()
        while isinstance(entry.type.collection, Columns) and (found := _first(entry.graph)) is not None:
            operator, rest = found
            if WEIGHTS in layout_of(operator.outputs[0]).names or not runs_in_catalyst(_expression(operator)):
                break
            operators = (*operators, operator)
            entry = replace(entry, graph=rest, type=operator.type((entry.type,))[0])
        return cls(operators, entry)


def entering(name: str, frame: DataFrame, entry: Entry, native: Native | None, position: str | None) -> Entering:
    """Refuses a frame that cannot fit, before anything runs."""
    of: Any = rows_in(entry.type.collection)
    if of is None:
        raise TypeMismatch(
            f"the input `{name}` is {entry.type.collection}, and rows of a DataFrame are no elements of it",
            instead=(("flo.Bag[…], then key_by(…)", "rows, and what is made of them"),),
        )
    named, position = position, _ordered_by(name, of, frame, position)
    try:
        fitted(Piece(to_arrow_schema(frame.schema, timezone="UTC").empty_table()), of)
    except Unfit as error:
        instead = ZONES if "timestamp[" in str(error) else ()  # the type, and no column of that name
        refused = ElementError(f"{{input}} does not fit: {error}", facts=(("{input}", str(of)),), instead=instead)
        refused.input_name = f"`{name}`"
        raise refused from None
    partition = PARTITION if position != named else None
    if position is not None and "." in position:  # PySpark takes it for a field of a column
        plain = position.replace(".", " ")
        frame, position = frame.withColumnRenamed(position, plain), plain
    beside = [each for each in (position, WEIGHTS, partition) if each is not None and each in frame.columns]
    names = [each for each in layout_of(of).names if each in frame.columns]
    frame = frame.select(*(sf.col(f"`{each}`") for each in dict.fromkeys([*(names or frame.columns), *beside])))
    if native is None or not native.operators or not _has_types_of(frame, of):
        return Entering(frame, entry, position)
    frame = _refusing(name, frame, of)
    if position is not None:  # a map may put something else there
        beside[0] = f"{position} as it came"
        frame, position = frame.withColumn(beside[0], sf.col(f"`{position}`")), beside[0]
    counted = any(isinstance(operator, FilterTables) for operator in native.operators)
    if counted:
        frame = frame.observe(counter(name), sf.count(sf.lit(1)))
    for operator in native.operators:
        frame = _native(frame, operator, beside)
    return Entering(frame, native.entry, position, counted)


def counter(name: str) -> str:
    """What Spark calls the number of rows that it has read of an input."""
    return f"rows of {name}"


def read_as(name: str, frame: DataFrame, entry: Entry, position: str | None) -> str:
    """How an input is read: who goes on from a checkpoint must read it in the same way."""
    how = "streaming" if frame.isStreaming else "read whole"
    position = _ordered_by(name, rows_in(entry.type.collection), frame, position)
    if position is None:
        return f"{name}: {how}"
    return f"{name}: {how}, in the order of `{position}` {frame.schema[position].dataType.simpleString()}"


def _ordered_by(name: str, of: Any, frame: DataFrame, position: str | None) -> str | None:
    """The column that has the place of a row: the one that is named, or for a sequence the offset of its source."""
    if ordered(of) and position is None and {PARTITION, OFFSET} <= set(frame.columns):
        return OFFSET
    if ordered(of) and position is None:
        raise OrderError(
            f"the input `{name}` is a Sequence, and rows of a DataFrame have no order",
            instead=(
                (f'order={{"{name}": "offset"}}', "the column that has the place of a row"),
                ("flo.Bag[…]", "a collection without order"),
            ),
        )
    if position is not None and position not in frame.columns:
        raise ElementError(f"the input `{name}` has no column `{position}`, which is to say the order of its rows")
    if position is not None and not _orders(to_arrow_type(frame.schema[position].dataType, timezone="UTC")):
        raise ElementError(
            f"the column `{position}` of the input `{name}` is {frame.schema[position].dataType.simpleString()}, "
            "and is to say the order of its rows: numbers, dates, times and texts do"
        )
    return position


def _orders(kind: pa.DataType) -> bool:
    t = pa.types
    return any(test(kind) for test in (t.is_integer, t.is_floating, t.is_decimal, t.is_temporal, t.is_string))


def _first(graph: Graph) -> tuple[Any, Graph] | None:
    """The first operator of a chain, if it is an expression that Spark might run, and what is left."""
    before: list[Graph] = []
    while isinstance(graph, Sequential):
        before.append(graph.right)
        graph = graph.left
    if not isinstance(graph, Node):
        return None
    operator = graph.operator
    if isinstance(operator, (MapTables, FilterTables)) and isinstance(_expression(operator), Expression):
        after = Node((Columns(of_elements(operator.outputs[0])).bottom(),), identity(1))
        return operator, sequence(*(before[::-1] or [after]))
    return None


def _expression(operator: Any) -> Any:
    """The function of a map, or of a filter."""
    return getattr(operator.like, "keep" if isinstance(operator, FilterTables) else "f")


def _has_types_of(frame: DataFrame, of: Any) -> bool:
    """Whether the columns are of the very types of the rows: then nulls and weights are all that might not fit."""
    layout, there = layout_of(of), to_arrow_schema(frame.schema, timezone="UTC")
    wanted = list(layout.schema)
    if has_weights(frame, of):
        wanted.append(pa.field(WEIGHTS, pa.int64()))
    same = all(field.name in there.names and there.field(field.name).type == field.type for field in wanted)
    by_bytes = all(each.dataType == StringType() for each in frame.schema if isinstance(each.dataType, StringType))
    return same and by_bytes and are_told_apart(frame.columns) and all(cell.among is None for cell in layout.cells)


def has_weights(frame: DataFrame, of: Any) -> bool:
    """Whether a column has the weights of the rows. Without one every row is an insertion."""
    return isinstance(of, (Bag, ZSet)) and WEIGHTS in frame.columns and WEIGHTS not in layout_of(of).names


def _refusing(name: str, frame: DataFrame, of: Any) -> DataFrame:
    """The same frame, which raises where a row does not fit: what Spark leaves out is not seen in Python."""
    never_null = [
        field.name for field in layout_of(of).schema if not field.nullable and frame.schema[field.name].nullable
    ]
    checks = [(sf.col(column).isNull(), f"`{column}` is null") for column in never_null]
    if has_weights(frame, of):
        checks.append((sf.col(WEIGHTS).isNull(), f"`{WEIGHTS}` is null"))
    if has_weights(frame, of) and isinstance(of, Bag):
        checks.append((sf.col(WEIGHTS) < 1, f"`{WEIGHTS}` is less than 1, and a Bag counts from there"))
    if not checks:
        return frame
    fits: Any = sf
    for odd, reason in checks:
        fits = fits.when(odd, sf.raise_error(sf.lit(MISFIT.format(name, reason))))
    # not the same for equal rows, as far as Catalyst knows: it moves no filter to before this one
    return frame.where(fits.otherwise(sf.spark_partition_id() >= 0))


def _native(frame: DataFrame, operator: Any, beside: list[str]) -> DataFrame:
    rows = nw.from_native(frame)
    if isinstance(operator, FilterTables):
        return rows.filter(_expression(operator).columns[0][1]).to_native()
    columns = dict(_expression(operator).columns)
    return rows.select(**{name: nw.col(name) for name in beside} | columns).to_native()

"""Inputs as the program reads them: the columns that it names, and at their start what Spark can do itself.

Maps and filters that are column expressions, and that come first, are handed to Catalyst: it reads no more columns and
rows than they need. Before that each is tried on examples, here and on Spark: one that does not give the same on both
stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from flo.columnar.expression import Expression
from flo.columnar.fitting import Unfit, fitted
from flo.columnar.inputs import WEIGHTS, Piece
from flo.columnar.operators.elementwise import FilterTables, MapTables
from flo.columnar.rows import Columns, layout_of, ordered
from flo.columnar.trial import example_rows, tables
from flo.core.errors import ElementError, OrderError, TypeMismatch
from flo.core.graph import Graph, Node, Sequential, sequence
from flo.core.operator import Operator
from flo.core.wire import identity
from flo.spark.arriving import OFFSET, PARTITION, rows_in
from flo.spark.stages import Entry


@dataclass(frozen=True)
class Entering:
    """An input at the start of a query: the frame that is read, and what is left to do with its rows."""

    frame: DataFrame
    entry: Entry
    position: str | None = None
    """The column that has the place of a row."""


@dataclass(frozen=True)
class Native:
    """What Spark does itself at an input, and what is left."""

    operators: tuple[Operator, ...]
    entry: Entry

    @classmethod
    def of(cls, spark: SparkSession, entry: Entry) -> Native:
        operators: tuple[Operator, ...] = ()
        while isinstance(entry.type.collection, Columns) and (found := _first(entry.graph)) is not None:
            operator, rest = found
            if not runs_alike(spark, operator):
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
        refused = ElementError(f"{{input}} does not fit: {error}", facts=(("{input}", str(of)),))
        refused.input_name = f"`{name}`"
        raise refused from None
    partition = PARTITION if position != named else None
    beside = [each for each in (WEIGHTS, position, partition) if each is not None and each in frame.columns]
    names = [each for each in layout_of(of).names if each in frame.columns]
    frame = frame.select(*dict.fromkeys([*(names or frame.columns), *beside]))
    for operator in native.operators if native else ():
        frame = _native(frame, operator, beside)
    return Entering(frame, native.entry if native else entry, position)


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
    return position


def _first(graph: Graph) -> tuple[Any, Graph] | None:
    """The first operator of a chain, if it is an expression that Spark might run, and what is left."""
    before: list[Graph] = []
    while isinstance(graph, Sequential):
        before.append(graph.right)
        graph = graph.left
    if not isinstance(graph, Node):
        return None
    operator = graph.operator
    function = getattr(operator, "like", None)
    f = getattr(function, "f", getattr(function, "keep", None))
    if isinstance(operator, (MapTables, FilterTables)) and isinstance(f, Expression):
        after = Node((Columns(operator.outputs[0]).bottom(),), identity(1))
        return operator, sequence(*(before[::-1] or [after]))
    return None


def _native(frame: DataFrame, operator: Any, beside: list[str]) -> DataFrame:
    rows = nw.from_native(frame)
    if isinstance(operator, FilterTables):
        return rows.filter(operator.like.keep.columns[0][1]).to_native()  # type: ignore[attr-defined]
    columns = dict(operator.like.f.columns)
    return rows.select(**columns, **{name: nw.col(name) for name in beside}).to_native()


def runs_alike(spark: SparkSession, operator: Any) -> bool:
    """Whether Spark gives of examples what Arrow gives."""
    function: Expression = getattr(operator.like, "f", None) or operator.like.keep
    try:
        rows = tables(function, example_rows(function.inputs))
        expected = function.over(rows)
        given = spark.createDataFrame(rows)
        found = nw.from_native(given).select(**dict(function.columns)).to_native().toArrow()
        return bool(found.schema.types == expected.schema.types and _texts(found) == _texts(expected))
    except Exception:  # one of them cannot run it: rows stay what they are
        return False


def _texts(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))

"""Evaluates expressions on Arrow and in batch Spark, and compares them row by row, errors included."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.evaluation import InputRows
from flo.shards.tasks.context import Code
from flo.sql import plan
from flo.sql.catalyst import UnsupportedQueryError, stand_in
from flo.sql.java import items_of
from flo.sql.nodes import Expr, SqlError, evaluate
from flo.sql.plan_reader import read_frame
from flo.sql.query import planning_session
from tests.sql.extremes import TYPES


@contextmanager
def session(spark: Any, mode: str) -> Iterator[Any]:
    """Yield a session with a mode, in a time zone that has summer time."""
    with planning_session(spark) as copy:
        copy.conf.set("spark.sql.ansi.enabled", "false" if mode == "LEGACY" else "true")
        copy.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        yield copy


@dataclass
class Planned:
    """An expression that was planned: as a node, and as Catalyst has it."""

    sql: str
    node: Expr
    native: Any
    failing: dict[int, str] = field(default_factory=dict)
    """Rows that fail on Arrow, with the condition."""


def plan_all(spark: Any, expressions: Sequence[str], table: pa.Table) -> list[Planned | Exception]:
    """Return the expressions as Catalyst plans them; an exception for those that it does not."""
    from pyspark.errors import PySparkException

    number = stand_in(spark, "extremes", _schema(table))

    def some(texts: Sequence[str]) -> list[Planned | Exception]:
        columns = ", ".join(f"{text} AS c{place}" for place, text in enumerate(texts))
        try:
            frame = spark.sql(f"SELECT {columns} FROM extremes")
            native = items_of(frame._jdf.queryExecution().optimizedPlan().projectList())
            relation = read_frame(frame, {number: "extremes"})
            assert isinstance(relation, plan.Project)
            return [
                Planned(text, Code.of(named.given).load(), given)  # as tasks get it
                for text, named, given in zip(texts, relation.given, native, strict=True)
            ]
        except (PySparkException, UnsupportedQueryError) as error:
            if len(texts) == 1:
                return [error]
            middle = len(texts) // 2
            return some(texts[:middle]) + some(texts[middle:])

    return [each for start in range(0, len(expressions), 64) for each in some(expressions[start : start + 64])]


def _schema(table: pa.Table) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(table.schema, prefer_timestamp_ntz=True)


def needed(given: Planned, table: pa.Table) -> pa.Table:
    """Return the rows that an expression is compared on: of one column all values, once."""
    columns = sorted(given.node.reads)
    if all(each.startswith("a_") for each in columns) and len(columns) < 2:
        return table.slice(0, max([1, *(len(TYPES[each[2:]][1]) for each in columns)]))
    return table


def on_arrow(given: Planned, table: pa.Table) -> pa.Array:
    """Return the results on Arrow, null where the row fails; notes the rows that fail."""
    count = table.num_rows
    try:
        found = evaluate(given.node, InputRows.of(table))
        return pa.repeat(found, count) if isinstance(found, pa.Scalar) else found
    except SqlError as error:
        if count == 1:
            given.failing[table["row"][0].as_py()] = error.condition
            return pa.nulls(1, given.node.type)
    half = count // 2
    parts = [on_arrow(given, table.slice(start, many)) for start, many in ((0, half), (half, count - half))]
    return pa.concat_arrays(parts)


def in_spark(spark: Any, given: Sequence[Planned], table: pa.Table) -> list[pa.Array | Exception]:
    """Return the results in Spark, null in rows that fail on Arrow: such a row must be the only one to fail."""
    from pyspark.errors import PySparkException

    rows, guards = table["row"].to_pylist(), {}
    for place, each in enumerate(given):
        if each.failing:
            last = needed(each, table)["row"][-1].as_py()
            guards[f"fails{place}"] = pa.array([row in each.failing or row > last for row in rows])
    guarded = pa.table({**dict(zip(table.column_names, table.columns, strict=True)), **guards})
    spark.createDataFrame(guarded, _schema(guarded)).createOrReplaceTempView("guarded")

    def some(places: Sequence[int]) -> list[pa.Array | Exception]:
        columns = [
            f"if(fails{place}, NULL, {given[place].sql})" if given[place].failing else given[place].sql
            for place in places
        ]
        named = ", ".join(f"{text} AS c{place}" for place, text in enumerate(columns))
        try:
            result = spark.sql(f"SELECT {named} FROM guarded").toArrow()
            return [result.column(place).combine_chunks() for place in range(len(places))]
        except PySparkException as error:
            if len(places) == 1:
                return [error]
            middle = len(places) // 2
            return some(places[:middle]) + some(places[middle:])

    return some(range(len(given)))


def differences(found: pa.Array, wanted: pa.Array) -> list[int]:
    """Return the rows that differ, bit for bit; all NaN are equal."""
    if wanted.type != found.type:
        wanted = wanted.cast(found.type)
    one, other = _bits(found), _bits(wanted)
    if one.equals(other):
        return []
    if pa.types.is_nested(one.type):
        pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
        return [row for row, (a, b) in enumerate(pairs) if repr(a) != repr(b)]
    same = pc.or_(pc.fill_null(pc.equal(one, other), False), pc.and_(one.is_null(), other.is_null()))
    return [int(row) for row in np.nonzero(~same.to_numpy(zero_copy_only=False))[0]]


def _bits(data: pa.Array) -> pa.Array:
    if not pa.types.is_floating(data.type):
        return data
    numbers = data.fill_null(0.0).to_numpy(zero_copy_only=False).copy()
    numbers[np.isnan(numbers)] = math.nan
    return pa.array(
        numbers.view(np.int64 if data.type.bit_width == 64 else np.int32), mask=data.is_null().to_numpy(False)
    )


class RowByRow:
    """Evaluates expressions of Catalyst on single rows, to see which error each of them raises."""

    def __init__(self, spark: Any, table: pa.Table) -> None:
        jvm = spark._jvm
        frame = spark.createDataFrame(table, _schema(table))
        self.rows = frame._jdf.queryExecution().executedPlan().executeCollect()
        self.places = {row: place for place, row in enumerate(table["row"].to_pylist())}
        self.binder = getattr(getattr(jvm.org.apache.spark.sql.catalyst.expressions, "BindReferences$"), "MODULE$")
        self.sequence = getattr(jvm.org.apache.spark.sql.catalyst.expressions, "package$AttributeSeq")
        stand = spark.table("extremes")._jdf.queryExecution().optimizedPlan()
        self.output = self.sequence(stand.output())

    def conditions(self, given: Planned, rows: Sequence[int]) -> Iterator[tuple[int, str | None]]:
        """Yield rows with the condition of the error that each raises; None if it raises none."""
        bound = self.binder.bindReference(given.native.child(), self.output, False)
        for row in rows:
            try:
                bound.eval(self.rows[self.places[row]])
            except Exception as error:
                yield row, condition_of(error)
            else:
                yield row, None


def condition_of(error: Any) -> str:
    """Return the name of an error of Spark."""
    found = error.getCondition() if hasattr(error, "getCondition") else None
    if found is None and type(error).__name__ == "ArithmeticException":
        return "ARITHMETIC_OVERFLOW"  # Java's own error has no name
    if found == "DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION":  # Spark 4.1 suggests to switch errors off, too
        return "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"
    return str(found or repr(error)[:200])

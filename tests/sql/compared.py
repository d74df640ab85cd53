"""One query compared with batch Spark after every delta: the rows, or the name of the error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import flo
from tests.sql.oracle import bag_of, condition, make_flow

Rows = Sequence[tuple[Any, ...]]
"""Rows with their weights."""


def compare(
    spark: Any, text: str, schemas: Mapping[str, pa.Schema], deltas: Sequence[Mapping[str, Rows]]
) -> list[Counter[Any] | str]:
    """Raise unless the maintained rows are those of batch Spark after each delta, to the first error. Return them."""
    expected, now = [], {name: Counter[Any]() for name in schemas}
    for delta in deltas:
        for name, rows in delta.items():
            for *row, weight in rows:
                now[name][tuple(row)] += weight
        content = {name: _table(schema, [*now[name].elements()]) for name, schema in schemas.items()}
        expected.append(batch(spark, text, content))
    found = list(_maintained(text, schemas, deltas))
    if isinstance(found[-1], str):
        expected = expected[: len(found)]
    assert found == expected, f"{text}\n  Flo:   {found}\n  Spark: {expected}"
    return found


def batch(spark: Any, text: str, content: Mapping[str, pa.Table]) -> Counter[Any] | str:
    """Return what batch Spark gives: the rows, or the name of the error."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_schema

    for name, table in content.items():
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        spark.createDataFrame(table, schema).createOrReplaceTempView(name)
    try:
        return bag_of(spark.sql(text).toArrow())
    except PySparkException as error:
        return str(error.getCondition())
    except Py4JJavaError as error:  # Java's own error, which has no name in Spark
        return str(error.java_exception)
    finally:
        for name in content:
            spark.catalog.dropTempView(name)


def _maintained(text: str, schemas: Mapping[str, pa.Schema], deltas: Sequence[Mapping[str, Rows]]) -> Any:
    loop, now = make_flow(text, schemas).on(flo.here).loop(), Counter[Any]()
    for delta in deltas:
        try:
            loop.push(**{name: _changes(schemas[name], rows) for name, rows in delta.items()})
            loop.run()  # an aggregate of no rows is a row
            changes = loop.pull("out")
        except flo.FloError as error:
            yield condition(error)
            return
        for row, weight in bag_of(changes).items():
            now[row] += weight
        now = Counter({row: weight for row, weight in now.items() if weight})
        yield Counter(now)


def _changes(schema: pa.Schema, rows: Rows) -> pa.Table:
    return _table(pa.schema([*schema, pa.field("_weight", pa.int64(), False)]), rows)


def _table(schema: pa.Schema, rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table(
        [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )

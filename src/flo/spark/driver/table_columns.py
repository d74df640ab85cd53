"""The columns of a Delta or Iceberg table whose output has other ones now.

    the table                 the output               the table then
    shop  total: int          shop  total: long  n     shop  total: long  n: null, until the difference is written
    shop  city                shop                     shop  city: null

Invariant: `read_table` gives the rows as they are after `evolve_table`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructField

from flo.core.errors import TypeMismatch
from flo.shards.checkpoint.column_fit import widens
from flo.shards.sinks.keyed_output import KeyedOutput
from flo.shards.sinks.output_changes import loose_schema
from flo.spark.driver.spark_changes import spark_schema_of
from flo.sql.catalyst import quoted

Alters = Callable[[DataType, DataType], bool]
"""Whether a kind of tables can give a column another type, with its values."""


def arrow_rows(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    """The rows of a DataFrame as a table with these columns, which may be null."""
    return frame.toArrow().select(schema.names).cast(loose_schema(schema))


def read_table(frame: DataFrame, rows: KeyedOutput, alters: Alters) -> pa.Table:
    """The rows of a table, with null in columns that it does not have, or not with a type that fits."""
    columns = [_column(frame, field, alters).alias(field.name) for field in spark_schema_of(rows)]
    return arrow_rows(frame.select(*columns), rows.schema)


def evolve_table(spark: SparkSession, table: str, rows: KeyedOutput, alters: Alters) -> Iterator[str]:
    """The statements that give a table the columns of the output. One that it does not have any more becomes null."""
    assert rows.changed is not None
    frame = spark.table(table)
    for field in spark_schema_of(rows):
        name, kind = quoted(field.name), field.dataType.simpleString()
        before = _type_of(frame, field.name)
        if before is not None and before != field.dataType and rows.changed.has_other_type(field.name):
            if field.name in rows.key:
                raise TypeMismatch(
                    f"the key column `{field.name}` of the output `{rows.name}` has another type than in {table}",
                    facts=(("in the table", before.simpleString()), ("in the output", kind)),
                    instead=(("another table", "gets all rows"),),
                )
            if alters(before, field.dataType):
                yield f"ALTER TABLE {table} ALTER COLUMN {name} TYPE {kind}"
                continue
            yield f"ALTER TABLE {table} DROP COLUMN {name}"
            before = None
        if before is None:
            yield f"ALTER TABLE {table} ADD COLUMNS ({name} {kind})"
    for each in sorted(rows.changed.removed.intersection(frame.columns)):
        yield f"UPDATE {table} SET {quoted(each)} = NULL WHERE {quoted(each)} IS NOT NULL"


def rewritten(frame: DataFrame, rows: KeyedOutput) -> DataFrame | None:
    """The rows of a table with the types of the output, for a table that is written anew; None if it has them."""
    assert rows.changed is not None
    others = [
        field
        for field in spark_schema_of(rows)
        if rows.changed.has_other_type(field.name) and _type_of(frame, field.name) not in (None, field.dataType)
    ]
    if not others:
        return None
    new = {field.name: _column(frame, field, widens_on_spark).alias(field.name) for field in others}
    return frame.select(*(new.get(name, sf.col(quoted(name))) for name in frame.columns))


def widens_on_spark(before: DataType, now: DataType) -> bool:
    """Whether all values of a type are values of another."""
    return widens(to_arrow_type(before), to_arrow_type(now))


def _column(frame: DataFrame, field: StructField, alters: Alters) -> Column:
    before = _type_of(frame, field.name)
    if before is None or (before != field.dataType and not alters(before, field.dataType)):
        return sf.lit(None).cast(field.dataType)
    return sf.col(quoted(field.name)).cast(field.dataType)


def _type_of(frame: DataFrame, name: str) -> DataType | None:
    return frame.schema[name].dataType if name in frame.columns else None

"""Rows of sources that have an order, with their partition and offset: messages of Kafka, and files of Parquet.

Messages are decoded by a row type. One that cannot be decoded ends the query. With `on_error="divert"` it is diverted:
the beginning of its text, the reason, the topic and partition as its file, and the offset as its number.

Rows of Parquet files are in the order of the names of their files, and of where they stand in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Literal, TypeAlias, get_args

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from flo.columns.layout import Layout
from flo.core.elements import type_name
from flo.core.errors import NameTakenError, TypeMismatch, UnknownNameError, brief
from flo.shards.tasks.input_task import MALFORMED, OFFSET, PARTITION
from flo.spark.avro_messages import AvroSchema, decode_avro
from flo.spark.json_messages import decode_json, json_problem, parse_json
from flo.sql.catalyst import quoted
from flo.tables.io.diverted import SCHEMA

Encoding: TypeAlias = Literal["json", "avro", "raw"]
MESSAGE = ("key", "value", "topic", PARTITION, OFFSET, "timestamp")
"""The columns of Spark's source for Kafka."""
LONGEST = 10_000
"""How many characters of a malformed message are kept. So all columns beside the rows are small."""


def rows_of_kafka(
    frame: DataFrame, row: object, encoding: Encoding = "json", avro_schema: AvroSchema | None = None
) -> DataFrame:
    """Return the messages of Kafka as rows of a type, with the columns `partition` and `offset`.

    - `frame`: what `spark.readStream.format("kafka")…load()` gives, or `spark.read`.
    - `row`: a NamedTuple, a dataclass or `flo.rows(…)`.
    - `encoding`: how the column `value` is encoded. With `"raw"` the row has columns of the message: `key` and `value`
      as `str` or `bytes`, `topic`, `partition`, `offset`, `timestamp`.
    - `avro_schema`: for `"avro"`, the schema that all messages were written with; or a dictionary of schemas by id, if
      each message begins with the id of its schema, as those of a schema registry do. Spark needs its Avro package.
    """
    layout = Layout.of(row)
    if layout is None or layout.form == "value":
        raise TypeMismatch(
            f"`row` must be a row type with named columns; got {type_name(row)}",
            instead=(("a NamedTuple, a dataclass or flo.rows(…)", "has columns"),),
        ).at_users_line()
    missing = [name for name in MESSAGE if name not in frame.columns]
    if missing:
        raise UnknownNameError(
            f"the frame has no column `{missing[0]}`, which messages of Kafka have",
            facts=(("columns", ", ".join(frame.columns)),),
            instead=(('spark.readStream.format("kafka").options(…).load()', "reads messages"),),
        ).at_users_line()
    if encoding not in get_args(Encoding):
        raise TypeMismatch(
            f"`encoding` must be one of {', '.join(get_args(Encoding))}; got {brief(encoding)}"
        ).at_users_line()
    schema = from_arrow_schema(layout.schema, prefer_timestamp_ntz=True)
    if encoding == "raw":
        return _raw(frame, schema, layout.schema)
    taken = [name for name in (PARTITION, OFFSET, MALFORMED) if name in schema.names]
    if taken:
        raise NameTakenError(f"the rows have a column `{taken[0]}`, which says where a message is").at_users_line()
    if encoding == "avro":
        rows, wrong = decode_avro(frame, schema, avro_schema)
        decoded = frame.withColumn("decoded", rows)
    else:
        value = sf.col("value")
        decoded = frame.withColumns({"decoded": decode_json(value, schema), "parsed": parse_json(value)})
        wrong = json_problem(value, sf.col("parsed"), sf.col("decoded"), schema)
    problem = sf.coalesce(sf.when(sf.col("value").isNull(), "the message has no value"), wrong)
    return _with_rows(decoded, layout.schema, {f.name: sf.col(f"decoded.`{f.name}`") for f in schema}, problem)


def _raw(frame: DataFrame, schema: StructType, kinds: pa.Schema) -> DataFrame:
    """The columns of messages as they are."""
    for field in kinds:
        if field.name not in MESSAGE:
            raise UnknownNameError(
                f"a message has no column `{field.name}`", facts=(("columns", ", ".join(MESSAGE)),)
            ).at_users_line()
    columns = {field.name: sf.col(field.name).cast(field.dataType) for field in schema}
    texts = [name for name in ("key", "value") if name in kinds.names and pa.types.is_string(kinds.field(name).type)]
    wrong = [sf.when(~sf.is_valid_utf8(sf.col(name).cast("string")), f"`{name}` is not UTF-8") for name in texts]
    return _with_rows(frame, kinds, columns, sf.coalesce(*wrong, sf.lit(None).cast("string")))


def _with_rows(frame: DataFrame, kinds: pa.Schema, columns: dict[str, Column], problem: Column) -> DataFrame:
    """The rows, where each message is, and why it has none."""
    nulls = [sf.when(columns[field.name].isNull(), f"`{field.name}` is null") for field in kinds if not field.nullable]
    problem = sf.coalesce(problem, *nulls)
    readable = sf.when(sf.is_valid_utf8(text := sf.col("value").cast("string")), text).otherwise(sf.hex("value"))
    where = sf.concat(sf.col("topic"), sf.lit(", partition "), sf.col(PARTITION).cast("string"))
    parts = (sf.substring(readable, 1, LONGEST), problem, where, sf.col(OFFSET))
    malformed = sf.struct(*(part.alias(name) for part, name in zip(parts, SCHEMA.names, strict=True)))
    places = {name: sf.col(name) for name in (PARTITION, OFFSET) if name not in columns}
    every = {**columns, **places, MALFORMED: sf.when(problem.isNotNull(), malformed)}
    return frame.select(*(each.alias(name) for name, each in every.items()))


DIGITS = 19
"""The most digits that the number of a row has."""


def rows_of_files(frame: DataFrame, prefixes: Sequence[str] = ("",)) -> DataFrame:
    """Return the rows of Parquet files with the columns `partition` and `offset`, which give their order.

    - `frame`: what `spark.readStream.schema(…).parquet(folder)` gives, or `spark.read`.
    - `prefixes`: a partition for each, numbered from 0: the files whose names begin with it. By default all files are
      one partition. A row of any other file does not fit.

    The files of a partition are in the order of their names, and must arrive in it.
    """
    if isinstance(prefixes, str) or not prefixes or not all(isinstance(each, str) for each in prefixes):
        raise TypeMismatch(f"`prefixes` must be a list of texts; got {brief(prefixes)}").at_users_line()
    both = [(one, other) for one, other in permutations(prefixes, 2) if other.startswith(one)]
    if both:
        raise TypeMismatch(
            f"a file whose name begins with {both[0][1]!r} begins with {both[0][0]!r} too"
        ).at_users_line()
    taken = [name for name in (PARTITION, OFFSET, MALFORMED) if name in frame.columns]
    if taken:
        raise NameTakenError(f"the rows have a column `{taken[0]}`, which says where a row stands").at_users_line()
    try:
        frame.select("_metadata.file_name", "_metadata.row_index")
    except AnalysisException:
        raise TypeMismatch(
            "the frame does not say in which file a row is, and where: only files of Parquet do",
            facts=(("columns", ", ".join(frame.columns)),),
            instead=(
                ("spark.readStream.schema(…).parquet(folder)", "reads such files"),
                ('order={"name": "column"}', "names a column that orders the rows of other sources"),
            ),
        ).at_users_line() from None
    name, number = sf.col("_metadata.file_name"), sf.col("_metadata.row_index")
    partition = sf.lit(None).cast("int")
    for place, prefix in reversed(list(enumerate(prefixes))):
        partition = sf.when(name.startswith(prefix), place).otherwise(partition)
    reason = sf.lit(f"the name of its file begins with none of {', '.join(map(repr, prefixes))}")
    row = sf.to_json(sf.struct(*(sf.col(quoted(each)) for each in frame.columns)))
    parts = (row, reason, name, number + 1)
    malformed = sf.struct(*(part.alias(each) for part, each in zip(parts, SCHEMA.names, strict=True)))
    return frame.select(
        "*",
        partition.alias(PARTITION),
        sf.concat(name, sf.lit(" "), sf.lpad(number.cast("string"), DIGITS, "0")).alias(OFFSET),
        sf.when(partition.isNull(), malformed).alias(MALFORMED),
    )

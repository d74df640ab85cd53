"""Messages of Kafka as rows, with their partition and offset.

Messages are decoded by a row type. One that cannot be decoded ends the query. With `on_error="divert"` it is diverted:
the beginning of its text, the reason, the topic and partition as its file, and the offset as its number.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias, get_args

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from flo.columns.layout import Layout
from flo.core.errors import NameTakenError, TypeMismatch, UnknownNameError, brief
from flo.core.type_names import type_name
from flo.shards.tasks.input_task import MALFORMED, OFFSET, PARTITION
from flo.spark.avro_messages import AvroSchema, decode_avro
from flo.spark.json_messages import decode_json, json_problem, parse_json
from flo.spark.protobuf_messages import DescriptorSet, decode_protobuf
from flo.tables.io.diverted import SCHEMA

Encoding: TypeAlias = Literal["json", "avro", "protobuf", "raw"]
MESSAGE = ("key", "value", "topic", PARTITION, OFFSET, "timestamp")
"""The columns of Spark's source for Kafka."""
LONGEST = 10_000
"""How many characters of a malformed message are kept. So all columns beside the rows are small."""


def rows_of_kafka(
    frame: DataFrame,
    row: object,
    encoding: Encoding = "json",
    avro_schema: AvroSchema | None = None,
    *,
    descriptor_set: DescriptorSet | None = None,
    message: str | None = None,
    schema_ids: Collection[int] | None = None,
) -> DataFrame:
    """Return the messages of Kafka as rows of a type, with the columns `partition` and `offset`.

    - `frame`: what `spark.readStream.format("kafka")…load()` gives, or `spark.read`.
    - `row`: a NamedTuple, a dataclass or `flo.rows(…)`.
    - `encoding`: how the column `value` is encoded. With `"raw"` the row has columns of the message: `key` and `value`
      as `str` or `bytes`, `topic`, `partition`, `offset`, `timestamp`.
    - `avro_schema`: for `"avro"`, the schema that all messages were written with; or a dictionary of schemas by id, if
      each message begins with the id of its schema, as those of a schema registry do. Spark needs its Avro package.
    - `descriptor_set`, `message`: for `"protobuf"`, what `protoc --include_imports --descriptor_set_out=…` writes, as
      bytes or the path of the file, and the full name of the message, such as `"shop.Order"`.
    - `schema_ids`: for `"protobuf"`, the ids that messages may begin with, if they are those of a schema registry:
      `flo.spark.registered_schemas(url, subject, "protobuf")`.
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
    elif encoding == "protobuf":
        read = decode_protobuf(schema, layout.schema, descriptor_set, message, schema_ids)
        decoded = frame.withColumn("read", read).withColumn("decoded", sf.col("read.row"))
        wrong = sf.col("read.problem")
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

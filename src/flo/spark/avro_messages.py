"""Messages of Avro as rows.

The bytes of Avro say nothing about their schema, so they can be read only with the schema that wrote them. A message of
a schema registry says which one it is: a byte 0, the id of the schema in four bytes, and then the record. Without an id
all messages must be of one schema. To find those that are not, a record is encoded again and compared: that finds bytes
that are left over, but not every other schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DoubleType, FloatType, IntegerType, LongType, StructType

from flo.core.errors import TypeMismatch, UnknownNameError, brief
from flo.spark.driver.spark_changes import expect_format

AvroSchema = str | Mapping[int, str]
"""The schema of all messages, or the schemas by the ids that messages begin with."""
HEADER = 5
"""How many bytes stand before the record of a message that has the id of its schema."""
WIDER: dict[type[DataType], DataType] = {IntegerType: LongType(), FloatType: DoubleType()}
"""Numbers are read as the widest of their kind, whatever schema a message has."""


def decode_avro(frame: DataFrame, schema: StructType, written: AvroSchema | None) -> tuple[Column, Column]:
    """The row of a message, or null; and why it has none, or null."""
    if not written:
        raise TypeMismatch('`encoding="avro"` needs `avro_schema`, the schema that wrote the messages').at_users_line()
    expect_format(frame.sparkSession, "avro")
    value = sf.col("value")
    if isinstance(written, str):
        row, problem = _decode(frame, schema, written, value, "`avro_schema`")
        return row, problem
    rows: Column | None = None
    problems: Column | None = None
    number = sf.conv(sf.hex(sf.substring(value, 2, 4)), 16, 10).cast("long")
    kinds: dict[str, tuple[int, DataType]] = {}
    for id_, text in written.items():
        if not isinstance(id_, int) or isinstance(id_, bool) or not 0 <= id_ < 1 << 32:
            raise TypeMismatch(f"the keys of `avro_schema` must be ids of schemas; got {brief(id_)}").at_users_line()
        body = sf.substring(value, HEADER + 1, (1 << 31) - 1)
        row, problem = _decode(frame, schema, text, body, f"the schema {id_} of `avro_schema`")
        decoded = frame.select(row.alias("row")).schema["row"].dataType
        assert isinstance(decoded, StructType)
        for field in decoded.fields:
            first, kind = kinds.setdefault(field.name, (id_, field.dataType))
            if kind != field.dataType:
                raise TypeMismatch(
                    f"the schemas of `avro_schema` must give `{field.name}` one type; {first} has "
                    f"{kind.simpleString()}, {id_} has {field.dataType.simpleString()}"
                ).at_users_line()
        rows = sf.when(number == id_, row) if rows is None else rows.when(number == id_, row)
        problems = sf.when(number == id_, problem) if problems is None else problems.when(number == id_, problem)
    assert rows is not None
    assert problems is not None
    has_id = (sf.length(value) >= HEADER) & (sf.hex(sf.substring(value, 1, 1)) == "00")
    given = ", ".join(map(str, written))
    unknown = sf.concat(sf.lit("its schema has the id "), number.cast("string"), sf.lit(f"; `avro_schema` has {given}"))
    problem = sf.when(~has_id, "the message does not begin with the id of a schema: a byte 0 and four bytes")
    problem = problem.when(~number.isin(*written), unknown).otherwise(problems)
    return sf.when(has_id, rows), problem


def _decode(frame: DataFrame, schema: StructType, text: str, value: Column, name: str) -> tuple[Column, Column]:
    """The row in bytes of this schema, or null; and why there is none."""
    from pyspark.sql.avro.functions import from_avro, to_avro

    # Spark decodes bytes that do not fit to a row of nulls. A record with one field has the same bytes as the field
    # alone, so that field is null then, and not a row of nulls.
    try:
        type_of_row = json.loads(text)
    except (TypeError, ValueError) as error:
        raise TypeMismatch(f"{name} is not JSON: {error}").at_users_line() from None
    around = json.dumps({"type": "record", "name": "FloMessage", "fields": [{"name": "row", "type": type_of_row}]})
    message = from_avro(value, around, {"mode": "PERMISSIVE"})
    row = message["row"]
    kind = frame.select(row.alias("row")).schema["row"].dataType
    fields = kind.names if isinstance(kind, StructType) else []
    missing = [each for each in schema.names if each not in fields]
    if missing:
        raise UnknownNameError(
            f"{name} has no field `{missing[0]}`, which the rows have",
            facts=(("fields", ", ".join(fields) or kind.simpleString()),),
        ).at_users_line()
    assert isinstance(kind, StructType)
    columns = [row[each].cast(WIDER.get(type(kind[each].dataType), kind[each].dataType)) for each in schema.names]
    narrow = sf.struct(*(column.alias(each) for column, each in zip(columns, schema.names, strict=True)))
    problem = sf.when(row.isNull(), f"the bytes are not of {name}")
    if _is_canonical(type_of_row):
        problem = problem.when(to_avro(message, around) != value, f"the bytes are not of {name}, but of another schema")
    return sf.when(row.isNotNull(), narrow), problem


def _is_canonical(kind: object) -> bool:
    """Whether values of a schema have one encoding. Arrays and maps have several, as they may be cut into blocks; and
    Spark cannot write each union that it reads."""
    if isinstance(kind, list):
        return len([each for each in kind if each != "null"]) <= 1 and all(map(_is_canonical, kind))
    if isinstance(kind, dict):
        if kind.get("type") == "record":
            return all(_is_canonical(field.get("type")) for field in kind.get("fields", ()))
        return kind.get("type") not in ("array", "map") and (
            not isinstance(kind.get("type"), dict | list) or _is_canonical(kind["type"])
        )
    return True

"""Messages of Protobuf as rows.

A message says neither its type nor its schema; a descriptor set has both. Fields are known by their numbers, so a
message of another version of the same type can be read: fields that are new are ignored, and those that it lacks have
their defaults. A message of a schema registry begins with the id of its schema and with its place in the file:

    00  00 00 00 07  02 00  08 01 12 …
    0   schema 7     [0]    the message        the first message of the file, which is also written as a single 00
                     │
                     └─ a count and so many indexes, as signed varints: [1, 0] is the first one inside of the second

Python decodes messages on the executors: Spark's own package is not published for all of its versions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StringType, StructType

from flo.core.errors import FloError, TypeMismatch, UnknownNameError, brief
from flo.spark.arrow_rows import arrow_type

DescriptorSet: TypeAlias = bytes | str | Path
"""What `protoc --include_imports --descriptor_set_out=FILE` writes, or the path of the file."""
TIMESTAMP = "google.protobuf.Timestamp"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ID, NEGATIVE = 5, 1 << 63
"""How many bytes an id has with the byte before it; and the first integer that has more than 64 bits with its sign."""


class UnfitMessage(Exception):
    """A message has no row."""


@dataclass(frozen=True)
class ProtobufMessages:
    """Decodes messages of one type. It is sent to tasks."""

    files: bytes
    name: str
    row: pa.DataType
    ids: frozenset[int] | None
    loose: pa.DataType
    """The type of rows without `not null`, which Spark cannot keep inside of a null."""

    def __call__(self, values: pa.Array) -> pa.Array:
        """For each message its row, or the reason why it has none."""
        rows, problems = [], list[str | None]()
        for value in values.to_pylist():
            row, problem = None, None
            try:
                row = None if value is None else self.decode(value)
            except UnfitMessage as misfit:
                problem = str(misfit)
            rows.append(row)
            problems.append(problem)
        return pa.StructArray.from_arrays(
            [pa.array(rows, self.loose), pa.array(problems, pa.string())], ["row", "problem"]
        )

    def decode(self, value: bytes) -> dict[str, Any]:
        from google.protobuf.message import DecodeError

        kind = message_class(self.files, self.name)
        body = value if self.ids is None else self._without_prefix(value, place_of(kind.DESCRIPTOR))
        try:
            message = kind.FromString(body)
        except DecodeError:
            raise UnfitMessage(f"the bytes are not a message {self.name}") from None
        missing = message.FindInitializationErrors()
        if missing:
            raise UnfitMessage(f"the required field `{missing[0]}` is missing")
        return _row(message, self.row, "")

    def _without_prefix(self, value: bytes, place: list[int]) -> bytes:
        assert self.ids is not None
        if len(value) <= ID or value[0]:
            raise UnfitMessage("the message does not begin with the id of a schema: a byte 0 and four bytes")
        number = int.from_bytes(value[1:ID], "big")
        if number not in self.ids:
            given = ", ".join(map(str, sorted(self.ids)))
            raise UnfitMessage(f"its schema has the id {number}; `schema_ids` has {given}")
        count, at = _varint(value, ID)
        indexes = [0] if count == 0 else []
        for _ in range(min(count, len(value))):
            index, at = _varint(value, at)
            indexes.append(index)
        if indexes != place:
            raise UnfitMessage(f"it is another message: its place in the file is {indexes}; {self.name} has {place}")
        return value[at:]


def decode_protobuf(
    schema: StructType, kinds: pa.Schema, files: DescriptorSet | None, name: str | None, ids: Collection[int] | None
) -> Column:
    """A column with the row of a message, and why it has none."""
    if files is None or not isinstance(name, str):
        raise TypeMismatch(
            '`encoding="protobuf"` needs `descriptor_set` and `message`',
            instead=(
                ("protoc --include_imports --descriptor_set_out=shop.pb shop.proto", "writes the descriptor set"),
                ('descriptor_set="shop.pb", message="shop.Order"', "reads messages of a type"),
            ),
        ).at_users_line()
    if ids is not None and not all(isinstance(each, int) and 0 <= each < 1 << 32 for each in ids):
        raise TypeMismatch(f"`schema_ids` must be ids of schemas; got {brief(list(ids))}").at_users_line()
    content = _read(files)
    expect_fields(message_class(content, name).DESCRIPTOR, kinds, "")
    given = None if ids is None else frozenset(ids)
    loose = schema.toNullable()
    decode = ProtobufMessages(content, name, pa.struct(list(kinds)), given, arrow_type(loose))
    returned = StructType().add("row", loose).add("problem", StringType())
    return arrow_udf(_as_function(decode), returned)("value")  # type: ignore[call-overload, no-any-return]


def _as_function(decode: ProtobufMessages) -> Callable[[pa.Array], pa.Array]:
    def decode_messages(values: pa.Array) -> pa.Array:
        return decode(values)

    return decode_messages


def _read(files: DescriptorSet) -> bytes:
    try:
        return files if isinstance(files, bytes) else Path(files).read_bytes()
    except (OSError, TypeError) as error:
        raise FloError(f"the descriptor set {brief(files)} cannot be read: {error}").at_users_line() from None


@lru_cache
def message_class(files: bytes, name: str) -> Any:
    """The class of a message. Raises if the descriptor set does not have it."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise FloError(
            f'`encoding="protobuf"` needs a package that is not installed: {error}',
            instead=(("pip install 'flo-streams[protobuf]'", "on the driver and on the executors"),),
        ).at_users_line() from None
    try:
        every = descriptor_pb2.FileDescriptorSet.FromString(files)
    except DecodeError:
        raise TypeMismatch("`descriptor_set` has other bytes than a descriptor set").at_users_line() from None
    pool = descriptor_pool.DescriptorPool()
    for file in every.file:
        try:
            pool.AddSerializedFile(file.SerializeToString())
        except TypeError as error:
            raise TypeMismatch(
                f"`descriptor_set` does not have all that {file.name} needs: {error}",
                instead=(("protoc --include_imports --descriptor_set_out=…", "includes the files that it imports"),),
            ).at_users_line() from None
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except KeyError:
        prefixes = [(f"{file.package}." if file.package else "", file) for file in every.file]
        known = [f"{prefix}{each.name}" for prefix, file in prefixes for each in file.message_type]
        raise UnknownNameError(
            f"`descriptor_set` has no message `{name}`", facts=(("messages", ", ".join(known) or "none"),)
        ).at_users_line() from None


def place_of(kind: Any) -> list[int]:
    """The indexes of a message in its file: those of the messages around it, and its own."""
    around = kind.containing_type
    beside = kind.file.message_types_by_name.values() if around is None else around.nested_types
    return [*([] if around is None else place_of(around)), [each.name for each in beside].index(kind.name)]


def expect_fields(kind: Any, columns: pa.Schema | pa.StructType, path: str) -> None:
    """Raises if a message cannot give these columns."""
    for column in columns:
        name = f"{path}{column.name}"
        field = kind.fields_by_name.get(column.name)
        if field is None:
            raise UnknownNameError(
                f"the message {kind.full_name} has no field `{column.name}`, which the rows have",
                facts=(("fields", ", ".join(kind.fields_by_name)),),
            ).at_users_line()
        expected = column.type
        if field.is_repeated:
            if _is_map(field) or not pa.types.is_list(expected):
                raise _mismatch(name, field, expected)
            expected = expected.value_type
        if pa.types.is_struct(expected) and field.message_type is not None:
            expect_fields(field.message_type, expected, f"{name}.")
        elif not _fits(field, expected):
            raise _mismatch(name, field, column.type)


def _fits(field: Any, expected: pa.DataType) -> bool:
    """Whether the values of a field, or of its items, are of this type."""
    if field.message_type is not None:
        is_instant = pa.types.is_timestamp(expected) and expected.tz is not None
        return bool(field.message_type.full_name == TIMESTAMP and is_instant)
    checks: dict[int, Callable[[pa.DataType], bool]] = {
        field.CPPTYPE_DOUBLE: pa.types.is_float64,
        field.CPPTYPE_FLOAT: pa.types.is_float64,
        field.CPPTYPE_BOOL: pa.types.is_boolean,
        field.CPPTYPE_ENUM: pa.types.is_string,
    }
    of_text = pa.types.is_binary if field.type == field.TYPE_BYTES else pa.types.is_string
    checks[field.CPPTYPE_STRING] = of_text
    return bool(checks.get(field.cpp_type, pa.types.is_int64)(expected))


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _mismatch(name: str, field: Any, expected: pa.DataType) -> TypeMismatch:
    kinds = {getattr(field, each): each[5:].lower() for each in dir(field) if each.startswith("TYPE_")}
    kind = "a map" if _is_map(field) else kinds[field.type]
    if field.message_type is not None and not _is_map(field):
        kind = field.message_type.full_name
    many = "repeated " if field.is_repeated and not _is_map(field) else ""
    return TypeMismatch(
        f"the column `{name}` is {expected}, but the field of {field.containing_type.full_name} is {many}{kind}",
        instead=(("docs/connectors.md#protobuf", "which column types fit which fields"),),
    ).at_users_line()


def _row(message: Any, columns: pa.StructType, path: str) -> dict[str, Any]:
    """The columns of a message. A field that can be absent, and is, is null."""
    row: dict[str, Any] = {}
    for column in columns:
        field, name = message.DESCRIPTOR.fields_by_name[column.name], f"{path}{column.name}"
        if field.has_presence and not message.HasField(column.name):
            row[column.name] = None
        elif field.is_repeated:
            of = column.type.value_type
            row[column.name] = [_value(each, field, of, name) for each in getattr(message, column.name)]
        else:
            row[column.name] = _value(getattr(message, column.name), field, column.type, name)
    return row


def _value(value: Any, field: Any, kind: pa.DataType, name: str) -> Any:
    if pa.types.is_struct(kind):
        inner_row = _row(value, kind, f"{name}.")
        null = next((each.name for each in kind if not each.nullable and inner_row[each.name] is None), None)
        if null is not None:
            raise UnfitMessage(f"`{name}.{null}` is null")
        return inner_row
    if pa.types.is_timestamp(kind):
        if value.nanos % 1000:
            raise UnfitMessage(f"`{name}` must be a time with at most six decimals; got {value.nanos} nanoseconds")
        try:
            return EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        except OverflowError:
            raise UnfitMessage(f"`{name}` must be a time from year 1 to 9999; got {value.seconds} seconds") from None
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        if known is None:
            raise UnfitMessage(f"`{name}` must be a value of {field.enum_type.full_name}; got {value}")
        return known.name
    if pa.types.is_int64(kind) and value >= NEGATIVE:
        raise UnfitMessage(f"`{name}` must be an integer of 64 bits; got {value}")
    return value


def _varint(value: bytes, at: int) -> tuple[int, int]:
    """A signed varint in bytes, and where the next one begins."""
    number = shift = 0
    while True:
        if at >= len(value) or shift > 63:
            raise UnfitMessage("the message does not have its place in the file after the id of its schema")
        byte = value[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number >> 1 ^ -(number & 1), at

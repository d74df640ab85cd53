"""Messages of Protobuf as rows: types, defaults, absent fields, and the prefix of a schema registry."""

from __future__ import annotations

from dataclasses import make_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

import flo
from flo.columns.layout import Layout
from flo.spark import registered_schemas, rows_of_kafka
from flo.spark.protobuf_messages import ProtobufMessages, UnfitMessage, expect_fields, message_class, place_of
from tests.spark.registry import registry

descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
timestamp_pb2 = pytest.importorskip("google.protobuf.timestamp_pb2")
Field = descriptor_pb2.FieldDescriptorProto


class Item(NamedTuple):
    size: int
    note: str | None


class Order(NamedTuple):
    id: int
    shop: str
    big: int
    price: float
    near: float
    paid: bool
    data: bytes
    status: str
    comment: str | None
    at: Annotated[datetime, UTC] | None
    item: Item | None
    items: list[Item]
    tags: list[str]


class Narrow(NamedTuple):
    id: int
    comment: str


def row_of(**columns: Any) -> Any:
    """A row type with these columns."""
    return make_dataclass("Row", columns.items(), frozen=True)


SCALARS = {
    "id": Field.TYPE_SINT32,
    "shop": Field.TYPE_STRING,
    "big": Field.TYPE_UINT64,
    "price": Field.TYPE_DOUBLE,
    "near": Field.TYPE_FLOAT,
    "paid": Field.TYPE_BOOL,
    "data": Field.TYPE_BYTES,
}


def descriptors(*, imports: bool = True) -> bytes:
    """The descriptor set of these messages: Other, and Order with Item, Status and a map."""
    every = descriptor_pb2.FileDescriptorSet()
    if imports:
        timestamp_pb2.DESCRIPTOR.CopyToProto(every.file.add())
    file = every.file.add(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    file.message_type.add(name="Other").field.add(name="shop", number=1, type=Field.TYPE_INT64, label=1)
    order = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(SCALARS.items(), 1):
        order.field.add(name=name, number=number, type=kind, label=1)
    status = order.enum_type.add(name="Status")
    for number, name in enumerate(("NEW", "SENT")):
        status.value.add(name=name, number=number)
    order.field.add(name="status", number=8, type=Field.TYPE_ENUM, type_name=".shop.Order.Status", label=1)
    order.oneof_decl.add(name="_comment")
    more = {"oneof_index": 0, "proto3_optional": True}
    order.field.add(name="comment", number=9, type=Field.TYPE_STRING, label=1, **more)
    order.field.add(name="at", number=10, type=Field.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    item = order.nested_type.add(name="Item")
    item.field.add(name="size", number=1, type=Field.TYPE_INT32, label=1)
    item.oneof_decl.add(name="_note")
    item.field.add(name="note", number=2, type=Field.TYPE_STRING, label=1, **more)
    order.field.add(name="item", number=11, type=Field.TYPE_MESSAGE, type_name=".shop.Order.Item", label=1)
    order.field.add(name="items", number=12, type=Field.TYPE_MESSAGE, type_name=".shop.Order.Item", label=3)
    order.field.add(name="tags", number=13, type=Field.TYPE_STRING, label=3)
    entry = order.nested_type.add(name="PricesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=Field.TYPE_INT64, label=1)
    order.field.add(name="prices", number=14, type=Field.TYPE_MESSAGE, type_name=".shop.Order.PricesEntry", label=3)
    old = every.file.add(name="old.proto", package="old", syntax="proto2")
    old.message_type.add(name="Sale").field.add(name="shop", number=1, type=Field.TYPE_STRING, label=2)
    return bytes(every.SerializeToString())


FILES = descriptors()


def made(**fields: Any) -> Any:
    return message_class(FILES, "shop.Order")(**fields)


def decoder(row: Any = Order, name: str = "shop.Order", ids: frozenset[int] | None = None) -> ProtobufMessages:
    layout = Layout.of(row)
    assert layout is not None
    kind = pa.struct(list(layout.schema))
    return ProtobufMessages(FILES, name, kind, ids, kind)


DEFAULTS: dict[str, Any] = {
    "id": 0,
    "shop": "",
    "big": 0,
    "price": 0.0,
    "near": 0.0,
    "paid": False,
    "data": b"",
    "status": "NEW",
    "comment": None,
    "at": None,
    "item": None,
    "items": [],
    "tags": [],
}
FULL = made(
    id=-(1 << 31),
    shop="é\0",
    big=(1 << 63) - 1,
    price=float("-inf"),
    near=0.1,
    paid=True,
    data=b"\xff\x00",
    status=1,
    comment="",
    items=[{"size": -1}, {"size": 0, "note": ""}],
    tags=["a", ""],
)
FULL.at.FromDatetime(datetime(2026, 1, 31, 10, 0, 0, 123456))
FULL.item.SetInParent()
READ = {
    **DEFAULTS,
    "id": -(1 << 31),
    "shop": "é\0",
    "big": (1 << 63) - 1,
    "price": float("-inf"),
    "near": 0.10000000149011612,
    "paid": True,
    "data": b"\xff\x00",
    "status": "SENT",
    "comment": "",
    "at": datetime(2026, 1, 31, 10, 0, 0, 123456, tzinfo=UTC),
    "item": {"size": 0, "note": None},
    "items": [{"size": -1, "note": None}, {"size": 0, "note": ""}],
    "tags": ["a", ""],
}


def test_values_defaults_and_absent_fields() -> None:
    decode = decoder().decode
    assert decode(FULL.SerializeToString()) == READ
    assert decode(b"") == DEFAULTS
    newer = b"\xf8\x07\x05"  # a field that the descriptor does not have
    assert decode(made(shop="a").SerializeToString() + newer) == DEFAULTS | {"shop": "a"}


def test_messages_that_do_not_fit() -> None:
    whole = FULL.SerializeToString()
    for value, reason in (
        (whole[:-1], "the bytes are not a message shop.Order"),
        (b"\x12\x01\xff", "the bytes are not a message shop.Order"),  # not UTF-8
        (made(big=1 << 63).SerializeToString(), "`big` must be an integer of 64 bits; got 9223372036854775808"),
        (b"\x40\x09", "`status` must be a value of shop.Order.Status; got 9"),
        (made(at={"nanos": 1}).SerializeToString(), "`at` must be a time with at most six decimals"),
        (made(at={"seconds": 1 << 50}).SerializeToString(), "`at` must be a time from year 1 to 9999"),
    ):
        with pytest.raises(UnfitMessage, match=reason):
            decoder().decode(value)
    sale = row_of(shop=str)
    with pytest.raises(UnfitMessage, match="the required field `shop` is missing"):
        decoder(sale, "old.Sale").decode(b"")
    strict = row_of(item=row_of(size=int, note=str) | None)
    with pytest.raises(UnfitMessage, match=r"`item\.note` is null"):
        decoder(strict).decode(whole)


def test_the_prefix_of_a_schema_registry() -> None:
    body = made(shop="a").SerializeToString()
    decode = decoder(ids=frozenset({7, 300})).decode
    for head in (b"\0\0\0\0\x07", b"\0\0\0\x01\x2c"):
        assert decode(head + b"\x02\x02" + body)["shop"] == "a"  # one index: 1
    none = "does not begin with the id of a schema"
    short = "does not have its place in the file"
    head = b"\0\0\0\0\x07"
    for value, reason in (
        (b"\0\0\0\0\x08\x02\x02", "its schema has the id 8; `schema_ids` has 7, 300"),
        (b"\x01" + head[1:] + b"\x02\x02", none),
        (head[:3], none),
        (head, none),
        (head + b"\x02", short),
        (head + b"\x02" + b"\xff" * 12, short),
        (head + b"\x00" + body, r"it is another message: its place in the file is \[0\]; shop.Order has \[1\]"),
        (head + b"\x04\x02\x00" + body, r"its place in the file is \[1, 0\]"),
        (head + b"\x01" + body, r"its place in the file is \[\]"),
    ):
        with pytest.raises(UnfitMessage, match=reason):
            decode(value)
    assert place_of(message_class(FILES, "shop.Order.Item").DESCRIPTOR) == [1, 0]
    first = decoder(row_of(shop=int), "shop.Other", frozenset({7})).decode
    assert first(head + b"\0\x08\x05") == first(head + b"\x02\0\x08\x05") == {"shop": 5}, "both spellings of the first"


def test_row_types_that_do_not_fit() -> None:
    kind = message_class(FILES, "shop.Order").DESCRIPTOR
    for column, of, text in (
        ("id", str, "the column `id` is string, but the field of shop.Order is sint32"),
        ("id", float, "but the field of shop.Order is sint32"),
        ("price", int, "is double"),
        ("price", Decimal, "is double"),
        ("near", int, "is float"),
        ("shop", bytes, "is string"),
        ("data", str, "is bytes"),
        ("status", int, "is enum"),
        ("at", datetime, "is google.protobuf.Timestamp"),
        ("at", int, "is google.protobuf.Timestamp"),
        ("item", str, "is shop.Order.Item"),
        ("item", list[Item], "is shop.Order.Item"),
        ("items", Item, "is repeated shop.Order.Item"),
        ("tags", list[int], "is repeated string"),
        ("tags", str, "is repeated string"),
        ("prices", list[row_of(key=str, value=int)], "is a map"),  # type: ignore[misc]
        ("item", row_of(size=str), r"`item\.size` is string, but the field of shop.Order.Item is int32"),
    ):
        layout = Layout.of(row_of(**{column: of}))
        assert layout is not None
        with pytest.raises(flo.TypeMismatch, match=text):
            expect_fields(kind, layout.schema, "")


def messages(spark: Any, values: list[bytes | None]) -> Any:
    rows = [(None, value, "orders", 0, place) for place, value in enumerate(values)]
    frame = spark.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset long")
    return frame.withColumn("timestamp", sf.now())


def read(spark: Any, values: list[bytes | None], row: Any = Order, **more: Any) -> Any:
    given = {"descriptor_set": FILES, "message": "shop.Order"} | more
    return rows_of_kafka(messages(spark, values), row, "protobuf", **given)


@pytest.mark.slow
@pytest.mark.thorough
def test_on_spark(spark: Any, tmp_path: Path) -> None:
    whole = FULL.SerializeToString()
    frame = read(spark, [whole, b"", whole[:-1], None]).orderBy("offset")
    table = frame.toArrow().to_pylist()
    names = list(DEFAULTS)
    assert [{name: row[name] for name in names} for row in table[:2]] == [READ, DEFAULTS]
    reasons = [row["_malformed"] and row["_malformed"]["reason"] for row in table]
    assert reasons == [None, None, "the bytes are not a message shop.Order", "the message has no value"]

    file = tmp_path / "shop.pb"
    file.write_bytes(FILES)
    head = b"\0\0\0\0\x07\x02\x02"
    values = [head + made(id=1, comment="x").SerializeToString(), head, b"\0\0\0\0\x09\x02\x02", None]
    with registry() as server:
        server.register("orders-value", 7, 'syntax = "proto3"; …', schemaType="PROTOBUF")
        ids = registered_schemas(server.url, "orders-value", "protobuf")
    orders = rows_of_kafka(
        messages(spark, values), Narrow, "protobuf", descriptor_set=file, message="shop.Order", schema_ids=ids
    )
    flow = flo.Flow("orders")
    flow.output("orders", flow.input("orders", flo.Bag[Narrow], bounded=True))
    found = flow.on(spark).run(orders=orders, on_error="divert", shards=1)
    assert found["orders"].toArrow().to_pylist() == [{"id": 1, "comment": "x", "_weight": 1}]
    diverted = found["orders diverted"].toArrow().sort_by("number").to_pylist()
    assert [(row["number"], row["reason"]) for row in diverted] == [
        (1, "`comment` is null"),
        (2, "its schema has the id 9; `schema_ids` has 7"),
        (3, "the message has no value"),
    ]
    with pytest.raises(flo.ElementError, match="`comment` is null"):
        flow.on(spark).run(orders=orders, shards=1)

    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (flo.TypeMismatch, "needs `descriptor_set` and `message`", {"message": None}),
        (flo.UnknownNameError, "has no message `shop.Sale`", {"message": "shop.Sale"}),
        (flo.UnknownNameError, "shop.Other has no field `id`", {"message": "shop.Other"}),
        (flo.TypeMismatch, "has other bytes than a descriptor set", {"descriptor_set": b"\xff"}),
        (flo.TypeMismatch, "does not have all that shop.proto needs", {"descriptor_set": descriptors(imports=False)}),
        (flo.FloError, "cannot be read: .*No such file", {"descriptor_set": str(tmp_path / "gone.pb")}),
        (flo.TypeMismatch, "`schema_ids` must be ids of schemas", {"schema_ids": ["7"]}),
    ]
    for error, text, more in cases:
        with pytest.raises(error, match=text):
            read(spark, [], Narrow, **more)

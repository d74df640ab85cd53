"""Rows with parts that are rows, lists or nothing: they come from Java and go back to Spark as they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

import flo
from flo.shards.tasks.input_task import combine_batches


class Item(NamedTuple):
    number: int
    tags: tuple[str, ...]


class Order(NamedTuple):
    id: int
    item: Item | None
    items: tuple[Item | None, ...]


def test_lists_within_empty_lists_have_offsets() -> None:
    """Arrow crashes when it measures them without; Java leaves them out."""
    inner = pa.Array.from_buffers(pa.list_(pa.string()), 0, [None, None], children=[pa.array([], pa.string())])
    lists = pa.Array.from_buffers(pa.list_(inner.type), 2, [None, pa.py_buffer(bytes(12))], children=[inner])
    (table,) = combine_batches([pa.record_batch([lists], ["lists"])])
    (chunk,) = table["lists"].chunks
    assert chunk.values.buffers()[1] is not None
    assert table.to_pylist() == [{"lists": []}, {"lists": []}]


def test_rows_without_a_part_pass_through_spark(spark: Any) -> None:
    flow = flo.Flow("orders")
    flow.output("orders", flow.input("orders", flo.ZSet[Order]).distinct())
    rows = [(1, None, []), (2, (1, ["a"]), []), (3, None, [None, (2, [])])]
    item = "struct<number: long, tags: array<string>>"
    schema = f"id long, item {item}, items array<{item}>"
    for some in (rows, rows[:2]):  # the second has empty lists of items only
        frame = spark.createDataFrame(some, schema).coalesce(1)
        result = flow.on(spark).run(orders=frame, shards=2)["orders"]
        assert sorted(row.id for row in result.collect()) == [row[0] for row in some]
        assert result.where("item IS NULL").count() == sum(row[1] is None for row in some)

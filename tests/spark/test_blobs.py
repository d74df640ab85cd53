"""What moves between tasks comes as it was sent, however Spark hands it over."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flo.shards.tasks import context
from flo.shards.tasks.blobs import (
    ALIGNED,
    GROWN,
    LARGE,
    PIECE,
    REPORT,
    SCHEMA,
    Blob,
    pack_table,
    read_blobs,
    report_blob,
    unpack_table,
    unpickle,
    write_packed,
)
from flo.shards.tasks.context import FORGOTTEN, LOADED, Code, enter_task
from flo.tables.values import WEIGHT, WEIGHT_FIELD

SIZES = [0, 1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 7]


def _blob(number: int, size: int) -> Blob:
    return Blob(number % 3, number, number % 2, number, data=pa.py_buffer(random.Random(number).randbytes(size)))


def _content(given: Any) -> list[tuple[Any, ...]]:
    found = list(given)
    plain = [(each.shard, each.delivery, each.origin, each.part, each.ended) for each in found]
    return sorted(zip(plain, [each.data.to_pybytes() for each in found], strict=True))


def test_no_row_carries_more_than_a_piece() -> None:
    rows = _blob(0, 5 * PIECE + 7).batch()
    assert rows.num_rows == 6
    assert max(len(each) for each in rows["data"].to_pylist()) == PIECE


@pytest.mark.parametrize("seed", range(4))
def test_blobs_come_whole_in_any_order_of_rows_and_any_batches(seed: int) -> None:
    rng = random.Random(seed)
    sent = [_blob(number, size) for number, size in enumerate(SIZES)]
    rows = [batch.slice(row, 1) for batch in (each.batch() for each in sent) for row in range(batch.num_rows)]
    rng.shuffle(rows)
    cut = rng.randrange(len(rows))
    batches = [
        pa.Table.from_batches(some, SCHEMA).combine_chunks().to_batches()[0]
        for some in (rows[:cut], rows[cut:])
        if some
    ]
    assert _content(read_blobs(batches)) == _content(sent)


def test_pieces_that_came_together_are_not_copied() -> None:
    batch = _blob(0, 3 * PIECE).batch()
    (found,) = read_blobs([batch])
    assert found.data is not None
    assert found.data.address == batch["data"].buffers()[2].address


def test_numbers_begin_where_they_may_and_few_hold_no_memory_of_many() -> None:
    sent = [report_blob(0, 0, "odd" * size) for size in range(3)] + [
        _blob(1, 3 * PIECE),
        _blob(2, 10 * PIECE),
        _blob(3, 16),
    ]
    whole = pa.Table.from_batches([each.batch() for each in sent], SCHEMA).combine_chunks().to_batches()[0]
    content = whole["data"].buffers()[2]
    found = {each.part: each.data for each in read_blobs([whole]) if each.delivery != REPORT}
    assert {part: data.to_pybytes() for part, data in found.items()} == {
        each.part: each.data.to_pybytes() for each in sent[3:] if each.data is not None
    }
    assert all(data.address % ALIGNED == 0 for data in found.values())
    assert not content.address <= found[3].address < content.address + content.size


@pytest.mark.parametrize("rows", [10, GROWN // 16 + 1])
def test_a_packed_table_has_the_size_that_it_needs(rows: int) -> None:
    table = pa.table({"n": np.arange(rows), WEIGHT: np.ones(rows, np.int64)})
    packed = pack_table(table)
    sink = pa.BufferOutputStream()
    write_packed(table, sink)
    assert packed.equals(sink.getvalue())
    assert unpack_table(packed).equals(table.cast(pa.schema([("n", pa.int64()), WEIGHT_FIELD])))


def test_a_file_that_cannot_be_written_is_named_with_the_setting(tmp_path: Path) -> None:
    blob = Blob(0, 0, 0, table=pa.table({"n": np.arange(LARGE)}))
    with pytest.raises(OSError, match=rf"`spark.local.dir`, to '{tmp_path}/gone/.*No such file"):
        blob.batch(f"{tmp_path}/gone")


def test_large_blobs_are_in_files_until_they_arrive(tmp_path: Path) -> None:
    large, small = pa.table({"n": np.arange(LARGE // 8)}), pa.table({"n": np.arange(LARGE // 8 - 1)})
    sent = [Blob(number, number, 0, table=each) for number, each in enumerate((large, small))]
    batches = [each.batch(str(tmp_path)) for each in sent]
    assert batches[0].num_rows == 1
    assert len(list(tmp_path.iterdir())) == 1
    received = sorted(read_blobs(batches), key=lambda blob: blob.shard)
    passed_on = sorted(read_blobs([each.batch() for each in received]), key=lambda blob: blob.shard)
    for (file,) in [list(tmp_path.iterdir())]:
        file.unlink()
    for found in (received, passed_on):
        assert [each.rows() for each in found] == [large, small]


def test_ends_and_notes_stay_apart() -> None:
    said = "x" * (2 * PIECE)
    sent = [report_blob(0, 0, said), report_blob(0, 0, "another"), Blob(0, 4, 0, ended=True)]
    found = list(read_blobs([each.batch() for each in sent]))
    assert [unpickle(each.data) for each in found if each.delivery == REPORT] == [said, "another"]
    assert [(each.delivery, each.ended, each.data) for each in found if each.ended] == [(4, True, None)]


EXEMPT = """
import gc, weakref
from flo.spark.tasks.spark_task import exempt_from_gc

class Loop:
    def __init__(self):
        self.itself = self

item = Loop()
gone = weakref.ref(item)
exempt_from_gc()
assert gc.get_freeze_count() > 0
del item
gc.collect()
exempt_from_gc()
assert gone() is not None  # it is not looked at
exempt_from_gc(again=True)
assert gone() is None
"""


def test_what_is_exempt_and_no_longer_used_goes_when_that_is_asked_for() -> None:
    """In a process of its own: to look at all that a test process holds takes long, and undoes that it is exempt."""
    subprocess.run([sys.executable, "-c", EXEMPT], check=True)


def test_a_task_is_told_now_and_then_that_loaded_code_was_dropped() -> None:
    asked: list[bool] = []
    enter_task(0, lambda: None, asked.append)  # type: ignore[arg-type, return-value]
    context._load.cache_clear()
    try:
        for number in range(LOADED + 2 * FORGOTTEN):
            assert Code.of(number).load() == number
    finally:
        context._load.cache_clear()
        enter_task(0, lambda: None)  # type: ignore[arg-type, return-value]
    assert asked == [False] * LOADED + 2 * [*[False] * (FORGOTTEN - 1), True]

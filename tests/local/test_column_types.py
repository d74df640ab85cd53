"""Which changes of a column's type lose no value, so that what is kept and what sinks have can stay."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flo.shards.checkpoint.column_fit import widens

CHAINS = [
    [pa.null(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.decimal128(19, 0), pa.decimal128(21, 2)],
    [pa.int32(), pa.float64()],
    [pa.uint8(), pa.uint32()],
    [pa.float32(), pa.float64()],
    [pa.string(), pa.large_string()],
    [pa.list_(pa.int32()), pa.list_(pa.int64())],
    [pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int64())])],
    [pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64())],
]
OTHERS = [
    (pa.int64(), pa.float64()),
    (pa.int32(), pa.float32()),
    (pa.uint8(), pa.int64()),
    (pa.int64(), pa.decimal128(18, 0)),
    (pa.decimal128(5, 2), pa.decimal128(6, 4)),
    (pa.int64(), pa.string()),
    (pa.string(), pa.binary()),
    (pa.float64(), pa.int64()),
    (pa.timestamp("us"), pa.timestamp("us", "UTC")),
    (pa.struct([("x", pa.int32())]), pa.struct([("y", pa.int32())])),
    (pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int32()), ("y", pa.int32())])),
]


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: str(chain[-1]))
def test_a_type_widens_to_all_that_follow_and_to_none_before(chain: list[pa.DataType]) -> None:
    for number, kind in enumerate(chain):
        assert all(widens(kind, other) for other in chain[number:])
        assert not any(widens(kind, other) for other in chain[:number] if not pa.types.is_large_string(kind))


@pytest.mark.parametrize(("before", "now"), OTHERS, ids=str)
def test_a_type_that_lacks_some_values(before: pa.DataType, now: pa.DataType) -> None:
    assert not widens(before, now)

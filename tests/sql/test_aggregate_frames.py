"""Aggregates of frames, other than counts, sums, means and extremes, compared with batch Spark after every delta."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.sql.compared import compare

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), False),
        pa.field("shop", pa.string()),
        pa.field("v", pa.int64()),
        pa.field("x", pa.float64()),
    ]
)
ROWS = [
    (row, ("a", "b", None)[row % 3], (7, 2**62, None, -(2**62), 7)[row % 5], (1.5, None, -2.0, 1e100)[row % 4], 1)
    for row in range(18)
]
DELTAS = [
    {"t": ROWS[::2]},
    {"t": ROWS[1::2]},
    {"t": [(*ROWS[4][:4], -1), (*ROWS[7][:4], -1), (18, "a", 7, 0.25, 2)]},
]
AGGREGATES = {
    "spread": "stddev(v % 5) OVER w AS a, var_pop(x / 1e100) OVER w AS b, covar_samp(id, v % 5) OVER w AS c",
    "lists": "collect_list(v) OVER w AS a, array_sort(collect_set(shop) OVER w) AS b",
    "ranks": "percentile(v % 5, 0.25) OVER w AS a, percentile(x, array(0.1, 1)) OVER w AS b",
    "chosen": "max_by(v, id) OVER w AS a, min_by(shop, id) OVER w AS b, bool_and(v > 0) OVER w AS c",
    "bits": "bit_or(v) OVER w AS a, bit_xor(id) OVER w AS b, count_if(v > 0) OVER w AS c",
}
FRAMES = {
    "rows around": "ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "running": "PARTITION BY shop ORDER BY id",
    "range": "PARTITION BY shop ORDER BY id RANGE BETWEEN 4 PRECEDING AND CURRENT ROW",
}


@pytest.mark.every(test=12)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("asked", AGGREGATES)
def test_it_is_as_in_batch_spark(spark: Any, asked: str, frame: str) -> None:
    text = f"SELECT id, {AGGREGATES[asked]} FROM t WINDOW w AS ({FRAMES[frame]})"
    found = compare(spark, text, {"t": SCHEMA}, DELTAS)
    assert not any(isinstance(each, str) for each in found), found

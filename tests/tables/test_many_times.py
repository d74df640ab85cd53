"""Many times at once are rounded and formatted as Arrow does it one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from flo.columns.times import _by_narwhals, _formatted, _start_of

COUNT = 500
FORMATS = ("%Y-%m-%d", "%H:%M", "%H", "%d %% %M", "%j %a %B", "%I %p", "%y%U%W%V%G%u%w", "%e %h %F %R", "%H:%M:%S", "x")


def some_times(unit: str, span: int, in_order: bool) -> pa.Array:
    """Times from both sides of 1970."""
    rng = np.random.default_rng(1)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = rng.integers(-span * per_second, span * per_second, COUNT)
    return pa.array(np.sort(numbers) if in_order else numbers).cast(pa.timestamp(unit))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("span", [100, 10**6, 4 * 10**9])
def test_starts_and_texts(unit: str, span: int) -> None:
    for in_order in (True, False):
        times = some_times(unit, span, in_order)
        for every in ("1s", "2s", "7s", "1m", "15m", "1h", "5h", "1d", "3d"):
            found = _start_of(times, every)
            assert found.type == times.type
            assert found.equals(_by_narwhals("truncate", times, every=every)), every
        for text in FORMATS:
            assert _formatted(times, text).equals(_by_narwhals("to_string", times, format=text)), text


def test_nulls_and_few_times() -> None:
    times = pa.concat_arrays([some_times("us", 10**6, in_order=True), pa.nulls(3, pa.timestamp("us"))])
    for some in (times, times.slice(0, 2), times.slice(0, 0)):
        assert _start_of(some, "10s").equals(_by_narwhals("truncate", some, every="10s"))
        assert _formatted(some, "%H").equals(_by_narwhals("to_string", some, format="%H"))

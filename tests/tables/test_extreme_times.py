"""Event times at the ends of their types: windows, clocks, `retain` and interval joins as on values, or one error."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest

import flo
from flo.spark.on_spark import OnSpark
from tests.quick import times
from tests.spark.simulated import NO_SPARK, as_plain


class Whole(NamedTuple):
    key: int
    at: int


class Real(NamedTuple):
    key: int
    at: float


class Dated(NamedTuple):
    key: int
    at: datetime


FIRST, LAST = -(1 << 63), (1 << 63) - 1
LARGEST = 1.7976931348623157e308


def on_values(flow: flo.Flow, parts: list[dict[str, Any]]) -> Any:
    loop = flow.loop()
    for part in parts:
        loop.push(**part)
        loop.run()
    return dict(loop.result())


def on_tables(flow: flo.Flow, parts: list[dict[str, Any]]) -> Any:
    loop = flow.on(flo.here).loop()
    for part in parts:
        loop.push(**part)
    types = OnSpark(flow, NO_SPARK)._output_types
    return {name: as_plain(types[name], found) for name, found in loop.result().items()}


def both(flow: flo.Flow, *parts: dict[str, Any]) -> Any:
    """The result, which is the same on values and on tables."""
    found = on_values(flow, list(parts))
    assert on_tables(flow, list(parts)) == found
    return found


def counts(windows: Any) -> Any:
    return windows.nest(lambda window, *bounds: window.count()).flatten()


def test_a_clock_that_is_far_ahead_of_all_windows_closes_them() -> None:
    """The clock has seen a time that no window of floats could have; the windows do not get its row."""
    flow = flo.Flow("far")
    clock = flow.input("rows", flo.Sequence[Real]).clock("at")
    near = clock.rows.filter(lambda row: row.at < 1e9)
    for size in (0.1, 10):
        flow.output(f"tumbling {size}", counts(near.tumbling(size, clock=clock)))
        flow.output(f"sliding {size}", counts(near.sliding(2 * size, size, clock=clock)))
    found = both(
        flow, {"rows": [Real(0, -0.0), Real(0, 0.0)]}, {"rows": [Real(0, 1e300)]}, {"rows": [Real(0, LARGEST)]}
    )
    assert found == {"tumbling 0.1": [2], "tumbling 10": [2], "sliding 0.1": [2, 2], "sliding 10": [2, 2]}


@pytest.mark.parametrize("run", [on_values, on_tables])
@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize(
    ("cut", "size"),
    [
        (lambda rows, *given, **by: rows.tumbling(0.1, *given, **by), 0.1),
        (lambda rows, *given, **by: rows.sliding(20, 10, *given, **by), 10),
        (lambda rows, *given, **by: rows.session(3, *given, **by), 3),
    ],
)
@pytest.mark.parametrize("time", [1e300, -LARGEST])
def test_a_time_that_is_too_large_for_its_window_is_rejected(
    run: Any, follows: bool, cut: Callable[..., Any], size: float, time: float
) -> None:
    flow = flo.Flow("large")
    rows = flow.input("rows", flo.Sequence[Real])
    clock = rows.clock("at")
    flow.output("counts", counts(cut(clock.rows, clock=clock) if follows else cut(rows, "at")))
    with pytest.raises(flo.ElementError, match=rf"the time -?1\.?\d*e\+30\d is too large for windows of {size}"):
        run(flow, [{"rows": [Real(0, time)]}])


def test_a_clock_may_be_behind_all_integers() -> None:
    flow = flo.Flow("behind")
    clock = flow.input("rows", flo.Sequence[Whole]).clock("at", lateness=7)
    flow.output("clock", clock)
    flow.output("counts", counts(clock.rows.tumbling(10, clock=clock)))
    assert both(flow, {"rows": [Whole(0, FIRST)]})["clock"] == FIRST - 7
    assert both(flow, {"rows": [Whole(0, FIRST)]}, {"rows": [Whole(0, LAST)]})["counts"] == [1]


def test_an_interval_beyond_all_integers_has_no_rows() -> None:
    flow = flo.Flow("pairs")
    left, right = (flow.input(name, flo.Sequence[Whole]).clock("at") for name in ("left", "right"))
    flow.output("pairs", left.rows.join_interval(right.rows, on="key", between=(5, 9)))
    flow.output("before", left.rows.join_interval(right.rows, on="key", between=(-9, -5)))
    for parts in ([{"left": [Whole(0, LAST - 1)]}, {"right": [Whole(0, LAST)]}], [{"right": [Whole(0, LAST)]}]):
        assert not both(flow, *parts, {"left": [Whole(0, LAST - 1)]})["pairs"]
    assert not both(flow, {"left": [Whole(0, FIRST + 1)]}, {"right": [Whole(0, FIRST)]})["before"]
    found = both(flow, {"left": [Whole(0, LAST - 6)]}, {"right": [Whole(0, LAST)]})
    assert sum(found["pairs"].values()) == 1


def test_a_clock_between_two_integers() -> None:
    """-11 is the end of a window that the clock, at -11.5, has not passed; a row at 3 is before 3.5."""
    flow = flo.Flow("between")
    whole = flow.input("whole", flo.Sequence[Whole]).clock("at")
    real = flow.input("real", flo.Sequence[Real])
    flow.output("counts", counts(whole.rows.tumbling(1, clock=flo.min_clock(whole, real.clock("at")))))
    flow.output("kept", whole.rows.to_zset().select("at").retain("at", real.clock(lambda row: row.at)))
    rows = [Whole(0, at) for at in (-13, -12, 3, 4)]
    assert both(flow, {"whole": rows, "real": [Real(0, -11.5)]})["counts"] == [1]
    found = both(flow, {"whole": rows, "real": [Real(0, 3.5)]})
    assert found["counts"] == [1, 1]
    assert [row.at for row in found["kept"]] == [4]


@pytest.mark.parametrize("run", [on_values, on_tables])
@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize(
    ("cut", "at"),
    [
        (lambda rows, *given, **by: rows.tumbling(timedelta(days=7), *given, **by), datetime.max),
        (lambda rows, *given, **by: rows.tumbling(timedelta(days=7), *given, **by), datetime.min),
        (lambda rows, *given, **by: rows.sliding(timedelta(2), timedelta(1), *given, **by), datetime.min),
        (lambda rows, *given, **by: rows.session(timedelta(1), *given, **by), datetime.max),
    ],
)
def test_a_window_with_a_bound_that_datetimes_do_not_have(
    run: Any, follows: bool, cut: Callable[..., Any], at: datetime
) -> None:
    """The row is rejected when it comes, and not when its window closes."""
    flow = flo.Flow("bounds")
    rows = flow.input("rows", flo.Sequence[Dated])
    clock = rows.clock("at")
    windows = cut(clock.rows, clock=clock, bounds=True) if follows else cut(rows, "at", bounds=True)
    flow.output("bounds", windows.nest(lambda window, bounds: bounds).flatten())
    with pytest.raises(flo.ElementError, match=f"the window of {at} has a bound that its type does not have"):
        run(flow, [{"rows": [Dated(0, at)]}])


def test_a_late_row_needs_no_bounds() -> None:
    flow = flo.Flow("late")
    windows = flow.input("rows", flo.Sequence[Dated]).tumbling(timedelta(days=7), "at", bounds=True)
    flow.output("bounds", windows.nest(lambda window, bounds: bounds).flatten())
    flow.output("late", windows.late)
    now, last = datetime(2026, 1, 1), datetime(9999, 12, 20)
    found = both(flow, {"rows": [Dated(0, now)]}, {"rows": [Dated(0, datetime.min), Dated(0, last)]})
    assert found["late"] == [Dated(0, datetime.min)]
    assert [bounds.start <= now < bounds.end for bounds in found["bounds"]] == [True]


TIMES: dict[Any, list[Any]] = {
    Whole: [FIRST, FIRST + 1, -(1 << 62), -1, 0, 1, 100, 1 << 53, (1 << 60) - 1, 1 << 60, LAST - 1, LAST],
    Real: [-LARGEST, -0.0, 0.0, 5e-324, 0.1, 0.30000000000000004, 100.0, 2.0**53 - 1, 2.0**53, 1e15, 1e300],
    Dated: [datetime.min, datetime(1, 1, 2), datetime(1969, 12, 31, 23, 59), datetime(2026, 1, 1), datetime.max],
}
SIZES: dict[Any, list[Any]] = {
    Whole: [1, 3, 10, 1 << 40, 1 << 62],
    Real: [0.1, 0.25, 1, 10],
    Dated: [timedelta(microseconds=1), timedelta(hours=7), timedelta(days=400)],
}


def drawn(rng: random.Random, kind: Any) -> flo.Flow:
    """Something that follows the event time of a sequence or of two partitions."""
    flow, size = flo.Flow("drawn"), rng.choice(SIZES[kind])
    lateness = rng.choice([None, *SIZES[kind]])
    rows: Any = flow.input("rows", flo.Partitioned[kind], partitions=2)
    clock = rows.clock("at", lateness)
    kept = clock.rows.to_zset()
    made: dict[str, Callable[[], Any]] = {
        "tumbling": lambda: counts(rows.tumbling(size, "at", lateness)),
        "session": lambda: counts(rows.session(size, "at", lateness)),
        "by clock": lambda: counts(clock.rows.tumbling(size, clock=clock)),
        "retain": lambda: kept.retain("at", clock, keep=size if kind is not Real else None),
        "pairs": lambda: clock.rows.join_interval(clock.rows, on="key", between=(-size, size)),
    }
    flow.output("found", made[rng.choice([*made])]())
    flow.output("clock", clock)
    return flow


def outcome(run: Callable[..., Any], *given: Any) -> Any:
    try:
        return run(*given)
    except flo.FloError:
        return "an error"


@pytest.mark.parametrize("seed", range(times(120)))
def test_tables_agree_with_values_on_extreme_times(seed: int) -> None:
    rng = random.Random(seed)
    kind = rng.choice([*TIMES])
    flow = drawn(rng, kind)

    def rows() -> list[Any]:
        return [kind(rng.randint(0, 1), rng.choice(TIMES[kind])) for _ in range(rng.randint(0, 3))]

    parts = [{"rows": {0: rows(), 1: rows()}} for _ in range(3)]
    expected = outcome(on_values, flow, parts)
    assert outcome(on_tables, flow, parts) == expected


@pytest.mark.parametrize("verb", ["tumbling", "session", "sliding"])
@pytest.mark.parametrize(
    ("kind", "size", "given"),
    [
        (Whole, 2**63, [FIRST, -1, 0, LAST]),
        (Whole, 2**100, [FIRST, LAST]),
        (Dated, timedelta(days=200_000_000), [datetime(1969, 1, 1), datetime(1970, 1, 1), datetime(2024, 1, 1)]),
    ],
)
def test_sizes_of_more_than_64_bits(verb: str, kind: Any, size: Any, given: list[Any]) -> None:
    """Also those of a timedelta, in microseconds."""
    flow = flo.Flow("long")
    rows = flow.input("rows", flo.Sequence[kind], bounded=True)
    sizes = (size, size) if verb == "sliding" else (size,)
    flow.output("counts", counts(getattr(rows, verb)(*sizes, "at")))
    data = [kind(0, time) for time in given]
    found = flow.run(rows=data)["counts"]
    assert flow.on(flo.here).run(rows=data)["counts"]["value"].to_pylist() == found
    assert sum(found) == len(data)

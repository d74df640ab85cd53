"""Times of the wrong type and durations that do not fit them are errors when the program is built, for every verb."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType

import pytest

import flo

Second = NewType("Second", int)


class Row(NamedTuple):
    key: str
    whole: int
    real: float
    digits: Decimal
    perhaps: int | None
    second: Second
    day: date
    plain: datetime
    zoned: Annotated[datetime, UTC]
    text: str
    flag: bool
    clock_time: time
    span: timedelta


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda row: row.whole,
    "real": lambda row: row.real,
    "digits": lambda row: row.digits,
    "perhaps": lambda row: row.perhaps,
    "second": lambda row: row.second,
    "day": lambda row: row.day,
    "plain": lambda row: row.plain,
    "zoned": lambda row: row.zoned,
    "text": lambda row: row.text,
    "flag": lambda row: row.flag,
    "clock_time": lambda row: row.clock_time,
    "span": lambda row: row.span,
}
SECONDS = timedelta(seconds=10)
NEVER = ("x", -1, True, float("nan"), float("inf"), timedelta(-1), Decimal("NaN"), [1])
FITTING: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("whole", "perhaps", "second"), (10, 2.5, Decimal("1.5"))),
    "real": (10, 2.5),
    "digits": (10, Decimal("1.5")),
    **dict.fromkeys(("day", "plain", "zoned"), (SECONDS,)),
    **dict.fromkeys(("text", "flag", "clock_time", "span"), ()),
}


def rows() -> Any:
    return flo.Flow("times").input("rows", flo.Sequence[Row])


def by_clock(time: Any, duration: Any) -> Any:
    clock = rows().clock(time)
    return clock.rows.tumbling(duration, clock=clock)


VERBS: dict[str, Callable[[Any, Any], Any]] = {
    "tumbling": lambda time, duration: rows().tumbling(duration, time),
    "sliding": lambda time, duration: rows().sliding(duration, duration, time),
    "session": lambda time, duration: rows().session(duration, time),
    "clock": lambda time, duration: rows().clock(time, duration),
    "by clock": by_clock,
    "partitions": lambda time, duration: (
        flo.Flow("times").input("rows", flo.Partitioned[Row], partitions=2).tumbling(duration, time)
    ),
}


@pytest.mark.every(check=5)
@pytest.mark.parametrize("as_column", [True, False])
@pytest.mark.parametrize("column", FITTING)
@pytest.mark.parametrize("verb", VERBS)
def test_a_duration_must_fit_the_times(verb: str, column: str, as_column: bool) -> None:
    time = column if as_column else FUNCTIONS[column]
    for duration in (10, 2.5, Decimal("1.5"), SECONDS):
        if duration in FITTING[column]:
            VERBS[verb](time, duration)
            continue
        with pytest.raises(flo.TypeMismatch, match="must be"):
            VERBS[verb](time, duration)
    for duration in NEVER:
        with pytest.raises(flo.TypeMismatch, match="must be"):
            VERBS[verb](time, duration)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        (tuple[str, int], str),
        (tuple[int | None, float], int | None),
        (tuple[str, int] | tuple[bytes, float], str | bytes),
        (tuple[Row, Second], Row),
        (tuple[str, Literal[1, 2]], str),
        (Any, Any),
        (tuple, Any),
    ],
)
def test_window_takes_pairs_with_a_time(pair: Any, value: Any) -> None:
    for interval in (0, 3, 2.5):
        windows = flo.Flow("times").input("pairs", flo.Sequence(pair)).window(interval)
        assert windows.collection == flo.Nested(flo.Sequence(value))
    for interval in ("x", -3, None, True, float("nan")):
        with pytest.raises(flo.TypeMismatch, match="`interval` of `window` must be a"):
            flo.Flow("times").input("pairs", flo.Sequence(pair)).window(interval)


@pytest.mark.parametrize(
    "element",
    [int, int | None, str, Row, list[int], tuple[int], tuple[int, int, int], tuple[int, ...], tuple[int, int] | None,
     tuple[int, str], tuple[int, bool], tuple[int, None], tuple[int, time], tuple[int, int | datetime]],
)  # fmt: skip
def test_window_rejects_what_has_no_time(element: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match=r"`window` (requires pairs|must be)"):
        flo.Flow("times").input("pairs", flo.Sequence(element)).window(3)


def test_a_filter_may_leave_only_times() -> None:
    pairs = flo.Flow("times").input("pairs", flo.Sequence[tuple[str, int | str] | None])
    pairs.filter(lambda pair: pair is not None and isinstance(pair[1], int)).window(3)
    marks = flo.Flow("times").input("marks", flo.Sequence[tuple[str, int | str]])
    marks.filter(lambda mark: isinstance(mark[1], int)).tumbling(3, lambda mark: mark[1])
    with pytest.raises(flo.TypeMismatch, match=r"must be a number, a date or a datetime; got int | str"):
        marks.tumbling(3, lambda mark: mark[1])


def test_lateness_may_be_zero() -> None:
    for lateness in (None, 0, timedelta(0)):
        rows().clock("plain", lateness)
    for lateness in (None, 0, 0.0):
        rows().clock("whole", lateness)


@pytest.mark.parametrize("collection", [flo.Bag, flo.ZSet, flo.Set])
@pytest.mark.parametrize(
    ("left", "right", "both"),
    [(int, float, float), (int | None, float, float | None), (tuple[str, int], tuple[str, float], tuple[str, float])],
)
def test_integers_and_floats_are_floats_together(collection: Any, left: Any, right: Any, both: Any) -> None:
    one, other = ([1, 2], [2.5]) if left != tuple[str, int] else ([("a", 1)], [("b", 2.5)])
    for kinds, given in (((left, right), (one, other)), ((right, left), (other, one))):
        flow = flo.Flow("numbers")
        streams = [flow.input(name, collection[kind]) for name, kind in zip("ab", kinds, strict=True)]
        united = streams[0].union(streams[1])
        assert united.collection == collection(both)
        flow.output("both", united)
        assert set(flow.run(a=given[0], b=given[1])["both"]) == {*one, *other}
        table = flow.on(flo.here).run(a=given[0], b=given[1])["both"]
        rows = [tuple(row[name] for name in row if name != "_weight") for row in table.to_pylist()]
        assert {row if len(row) > 1 else row[0] for row in rows} == {*one, *other}

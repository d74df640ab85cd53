"""A row in the far future does not move the clock, on values and on tables, however the partitions are cut."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import pytest

import flo


class Click(NamedTuple):
    user: str
    at: int


class Moment(NamedTuple):
    at: datetime


def program() -> flo.Flow:
    flow = flo.Flow("clicks")
    limited = flow.input("clicks", flo.Partitioned[Click], partitions=2).limit_ahead("at", 20, believe=3)
    windows = limited.tumbling(10, "at", 3)
    clock = limited.clock("at", 3)
    sessions = clock.rows.key_by("user").per_key(
        lambda rows: rows.session(5, clock=clock).nest(lambda window: window.count()).flatten()
    )
    outputs = {
        "counts": windows.nest(lambda window: window.count()).flatten(),
        "late": windows.late,
        "ahead": limited.ahead,
        "clock": clock,
        "sessions": sessions,
    }
    for name, stream in outputs.items():
        flow.output(name, stream)
    return flow


def plain(value: Any) -> Any:
    return value.to_pylist() if hasattr(value, "to_pylist") else value


def result_of(loop: Any) -> dict[str, Any]:
    found = {name: plain(loop.peek(name)) for name in ("counts", "ahead", "clock")}
    found["counts"] = [row["value"] if isinstance(row, dict) else row for row in found["counts"]]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_one_result_for_every_cut_and_interleaving(seed: int) -> None:
    dice = random.Random(seed)
    log = {
        each: [
            Click(dice.choice("ab") + str(each), time * 2 if dice.random() < 0.85 else dice.choice([900, 910, 5000]))
            for time in range(40)
        ]
        for each in range(2)
    }
    whole = program().loop()
    whole.push(clicks=log)
    whole.run()
    expected = {name: whole.peek(name) for name in ("counts", "late", "ahead", "clock", "sessions")}
    assert expected["ahead"]
    for engine in ("values", "tables"):
        loop: Any = program().loop() if engine == "values" else program().on(flo.here).loop()
        rest = {each: list(rows) for each, rows in log.items()}
        while any(rest.values()):
            each = dice.choice([each for each, rows in rest.items() if rows])
            some = dice.randint(1, len(rest[each]))
            loop.push(clicks={each: rest[each][:some]})
            rest[each] = rest[each][some:]
            loop.run()
        assert result_of(loop) == {name: expected[name] for name in ("counts", "ahead", "clock")}


def test_rows_ahead_are_not_lost() -> None:
    flow = flo.Flow("clicks")
    limited = flow.input("clicks", flo.Sequence[Click], bounded=True).limit_ahead("at", 20)
    flow.output("rows", limited)
    result = flow.run(clicks=[Click("a", 1), Click("b", 99)])
    assert (result["rows"], result.late) == ([Click("a", 1)], {"limited": [Click("b", 99)]})


@pytest.mark.parametrize(
    ("row", "most", "believe", "text"),
    [
        (Moment, 5, 10, "must be a timedelta > 0, as its times are datetime; got 5"),
        (Click, timedelta(1), 10, "must be a number > 0, as its times are int"),
        (Click, 0, 10, "must be a number > 0, as its times are int; got 0"),
        (Click, "x", 10, "must be a number > 0, as its times are int; got 'x'"),
        (Click, 5, 1, "`believe` of `limit_ahead` must be an integer ≥ 2; got 1"),
    ],
)
def test_what_is_rejected(row: Any, most: Any, believe: Any, text: str) -> None:
    for collection, how in ((flo.Sequence, {}), (flo.Partitioned, {"partitions": 2})):
        rows = flo.Flow("rows").input("rows", collection[row], **how)
        with pytest.raises(flo.TypeMismatch, match=text):
            rows.limit_ahead("at", most, believe=believe)
    with pytest.raises(flo.FloError):
        flo.Flow("rows").input("rows", flo.Bag[row]).limit_ahead("at", most)


def test_times_of_dates_and_of_floats() -> None:
    for times, most, ahead in (
        ([date(2026, 1, 1), date(9999, 12, 31), date(2026, 1, 3)], timedelta(days=5), [date(9999, 12, 31)]),
        ([0.5, 1e308, 0.75], 1.0, [1e308]),
    ):
        flow = flo.Flow("times")
        limited = flow.input("times", flo.Sequence[Any], bounded=True).limit_ahead(lambda at: at, most)
        flow.output("ahead", limited.ahead)
        assert flow.run(times=times)["ahead"] == ahead

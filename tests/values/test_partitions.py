"""Partitioned logs and clocks: one outcome for all interleavings, and what is late by which clock."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.core.graph import Graph, Node, parallel, sequence
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.operator import Operator, Step
from flo.core.structural import Wire
from flo.values.operators.clocks import ClockOf
from flo.values.operators.windows import Session, TimeWindows, Tumbling
from flo.values.sequence import Sequence


class Click(NamedTuple):
    user: str
    at: int


def itself(x: int) -> int:
    return x


def times(*given: int) -> list[Click]:
    return [Click("ada", at) for at in given]


def windowed(verb: str, *arguments: Any, partitions: int = 2, bounded: bool = False) -> flo.Flow:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[int], partitions=partitions, bounded=bounded)
    windows = getattr(clicks, verb)(*arguments)
    flow.output("windows", windows)
    flow.output("late", windows.late)
    return flow


@pytest.mark.parametrize(
    ("verb", "arguments"), [("tumbling", (2, itself, 1)), ("sliding", (3, 2, itself)), ("session", (2, itself))]
)
def test_every_interleaving_has_the_same_windows_and_late_rows(verb: str, arguments: tuple[Any, ...]) -> None:
    found = windowed(verb, *arguments).explore(clicks={0: [1, 6, 3], 1: [2, 5, 0]})
    assert len(found.outcomes) == 1


def test_a_partition_that_has_sent_nothing_holds_windows_back() -> None:
    loop = windowed("tumbling", 10, itself).loop()
    loop.push(clicks={0: [3, 45, 7]})
    loop.run()
    assert loop.peek("windows") == []
    assert loop.peek("late") == Counter({7: 1})  # by the clock of its own partition
    loop.push(clicks={1: [8, 25]})
    loop.run()
    assert loop.peek("windows") == [Counter({3: 1, 8: 1})]


def test_a_row_is_late_by_the_clock_of_its_own_partition() -> None:
    """The other partition is far ahead."""
    loop = windowed("tumbling", 10, itself).loop()
    loop.push(clicks={0: [99], 1: [3, 12, 5]})
    loop.run()
    loop.push(clicks={1: [14]})
    loop.run()
    assert loop.peek("windows") == [Counter({3: 1})]
    assert loop.peek("late") == Counter({5: 1})


def test_a_window_of_a_bounded_log_is_emitted_at_the_end() -> None:
    flow = windowed("session", 2, itself, partitions=3, bounded=True)
    assert flow.run(clicks={0: [1, 9], 2: [2, 20]})["windows"] == [
        Counter({1: 1, 2: 1}),
        Counter({9: 1}),
        Counter({20: 1}),
    ]


def test_a_row_between_two_partitions_is_late_for_a_session_though_it_would_join_one() -> None:
    """0 would connect 1 and what another partition may have closed."""
    loop = windowed("session", 2, itself).loop()
    loop.push(clicks={0: [5, 4], 1: [5]})
    loop.run()
    assert loop.peek("late") == Counter({4: 1})


def test_results_of_bodies_stay_partitioned() -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[int], partitions=2)
    odd = clicks.per_key(lambda rows: rows.filter(lambda at: at % 2 == 1)).map_values(itself)
    assert str(odd.collection) == "Partitioned[int, 2]"
    flow.output("odd", odd.tumbling(10, itself))
    assert flow.run(clicks={0: [1, 2, 13], 1: [3, 15]})["odd"] == [Counter({1: 1, 3: 1})]


def test_what_needs_one_order_is_rejected_with_what_works() -> None:
    clicks = flo.Flow("clicks").input("clicks", flo.Partitioned[int], partitions=2)
    with pytest.raises(flo.OrderError, match="`scan` requires Sequence") as error:
        clicks.scan(0, lambda n, at: n + at)
    assert "per_key" in str(error.value)
    assert "tumbling" in str(error.value)


@pytest.mark.parametrize(
    ("collection", "partitions", "message"),
    [
        (flo.Partitioned[int], None, "must be an integer ≥ 1"),
        (flo.Partitioned[int], 0, "must be an integer ≥ 1"),
        (flo.Sequence[int], 2, "only a Partitioned input has partitions"),
    ],
)
def test_the_number_of_partitions_must_be_known(collection: Any, partitions: Any, message: str) -> None:
    with pytest.raises(flo.TypeMismatch, match=message):
        flo.Flow("clicks").input("clicks", collection, partitions=partitions)


def test_there_are_no_other_partitions() -> None:
    with pytest.raises(flo.ElementError, match="`clicks` has no partition 2; its partitions are 0 to 1"):
        windowed("tumbling", 10, itself).run(clicks={2: [1]})


@pytest.mark.parametrize("on_tables", [False, True])
def test_a_partition_that_is_added_counts_from_its_first_row_on(on_tables: bool) -> None:
    """Its rows are late by the clock of the whole before the push that brings it; the same for clocks."""
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=1)
    windows, clock = clicks.tumbling(10, "at"), clicks.clock("at")
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    flow.output("late", windows.late.map(lambda click: click.at).to_zset())
    flow.output("clock", clock)
    flow.output("behind", clock.late.map(lambda click: click.at).to_zset())
    loop: Any = flow.on(flo.here).loop() if on_tables else flow.loop()
    with pytest.raises(flo.ElementError, match="has no partition 1"):
        loop.push(clicks={1: times(8)})
    loop.add_partitions("clicks")
    clocks = []
    for part in ({0: times(3, 25)}, {0: times(45), 1: times(8, 21)}, {1: times(33)}, {1: times(50)}):
        loop.push(clicks=part)
        if not on_tables:
            loop.run()
        clocks.append(loop.peek("clock"))
    assert clocks == [25, 25, 33, 45]
    found = {name: loop.peek(name) for name in ("counts", "late", "behind")}
    if on_tables:
        found = {name: table["value"].to_pylist() for name, table in found.items()}
    assert list(found["counts"]) == [1, 2, 1]  # 3; 25 and 21; 33
    assert sorted(found["late"]) == [8]
    assert sorted(found["behind"]) == [8, 21]
    with pytest.raises(flo.ElementError, match="a partitioned input and a number above 0"):
        loop.add_partitions("clicks", 0)


def test_verbs_of_elements_say_what_works_on_partitions() -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    for verb in ("map", "filter", "flat_map"):
        with pytest.raises(flo.CollectionError) as error:
            getattr(clicks, verb)(lambda click: click)
        assert f"clicks.per_key(lambda rows: rows.{verb}(…))" in str(error.value)
    with pytest.raises(flo.OrderError, match="`clock` requires Sequence or Partitioned"):
        flow.input("bag", flo.Bag[Click]).clock("at")  # type: ignore[call-overload]


def test_a_late_stream_that_nothing_reads_gets_a_name_of_its_own() -> None:
    flow = flo.Flow("clicks")
    sums = flow.input("clicks", flo.Sequence[int]).tumbling(10, itself)
    flow.output("sums", sums.nest(lambda window: window.sum()).flatten())
    assert flow.run(clicks=[1, 25, 3]).late == {"sums 2": [3]}


def sessions(bounded: bool = False) -> flo.Flow:
    """The sessions of each user, by the clock of all."""
    flow = flo.Flow("sessions")
    clicks = flow.input("clicks", flo.Sequence[Click], bounded=bounded)
    clock = clicks.clock("at")
    users = clock.rows.filter(lambda click: click.user != "eve").key_by("user")
    flow.output("sessions", users.per_key(lambda rows: rows.session(3, clock=clock)))
    flow.output("clock", clock)
    flow.output("late", clock.late)
    return flow


def test_the_last_session_of_a_user_who_leaves_is_closed() -> None:
    found = sessions().run(clicks=[*times(1, 2), Click("bob", 9), Click("bob", 4), Click("eve", 12)])
    assert found["sessions"] == {"ada": [times(1, 2)], "bob": [[Click("bob", 9)]]}
    assert found["clock"] == 12
    assert found["late"] == [Click("bob", 4)]


def test_a_clock_never_overtakes_rows() -> None:
    data = [*times(1), Click("bob", 6), *times(7)]
    assert len(sessions().explore(clicks=data).outcomes) == 1


def test_without_waiting_for_what_is_before_it_the_clock_races(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above would find."""
    monkeypatch.setattr(Step, "settled", property(lambda step: False, lambda step, value: None), raising=False)
    assert len(sessions().explore(clicks=[*times(1), Click("bob", 6)]).outcomes) > 1


def by_clock(windows: Operator) -> Graph:
    """The windows of the rows on time, closed by the clock of these rows."""
    swap, drop, first = Wire(2, (1, 0)), Wire(1, ()), Wire(2, (0,))
    nodes = [Node(None, each) for each in (ClockOf(itself, 1), swap, drop, windows, first)]
    return sequence(nodes[0], parallel(nodes[1], nodes[2]), nodes[3], nodes[4])


@pytest.mark.thorough
@pytest.mark.parametrize("windows", [Tumbling(1, itself, by_clock=True), Session(1, itself, by_clock=True)])
def test_windows_that_follow_a_clock_satisfy_the_laws(windows: TimeWindows) -> None:
    report = flo.verify.check(Nest(by_clock(windows)), Nested(Sequence(int)), most=2, tries=10, examples={int: [0, 2]})
    assert report.ok, report


def test_the_minimum_of_clocks_is_a_clock() -> None:
    flow = flo.Flow("both")
    a = flow.input("a", flo.Sequence[int]).clock(itself)
    b = flow.input("b", flo.Sequence[int]).clock(itself, 2)
    both = flo.min_clock(a, b)
    flow.output("clock", both)
    flow.output("windows", a.rows.tumbling(10, clock=both))
    loop = flow.loop()
    loop.push(a=[3, 27])
    loop.run()
    assert loop.peek("windows") == []
    loop.push(b=[15])
    loop.run()
    assert loop.peek("windows") == [[3]]
    assert loop.peek("clock") == 13


def test_clocks_of_different_times_have_no_minimum() -> None:
    flow = flo.Flow("both")
    number, day = flow.input("n", flo.Sequence[int]).clock("value"), flow.input("d", flo.Sequence[date]).clock("value")
    with pytest.raises(flo.TypeMismatch, match="must be numbers, or dates and datetimes; got int and date"):
        flo.min_clock(number, day)
    flo.min_clock(number, flow.input("x", flo.Sequence[float]).clock("value"))


class Plain(NamedTuple):
    at: datetime


class Zoned(NamedTuple):
    at: Annotated[datetime, pa.timestamp("us", "UTC")]


def test_clocks_with_and_without_a_zone_have_no_minimum() -> None:
    flow = flo.Flow("both")
    plain, zoned = flow.input("plain", flo.Sequence[Plain]), flow.input("zoned", flo.Sequence[Zoned])
    with pytest.raises(flo.TypeMismatch, match="got times without a zone and times with a zone") as error:
        flo.min_clock(plain.clock("at"), zoned.clock("at"))
    assert 'clock(nw.col("at").dt.replace_time_zone("UTC"))' in str(error.value)
    in_utc = plain.clock(nw.col("at").dt.replace_time_zone("UTC"))
    flow.output("clock", flo.min_clock(in_utc, zoned.clock("at")))
    noon = datetime(2026, 1, 1, 12)
    for run in (flow.run, flow.on(flo.here).run):
        found = run(plain=[Plain(noon)], zoned=[Zoned(noon.replace(hour=13, tzinfo=UTC))])
        assert found["clock"] == noon.replace(tzinfo=UTC)


def test_functions_of_times_with_and_without_a_zone_are_told_apart_when_rows_come() -> None:
    """The type of a Python function does not say which it returns."""
    flow = flo.Flow("both")
    plain, zoned = flow.input("plain", flo.Sequence[Plain]), flow.input("zoned", flo.Sequence[Zoned])
    flow.output("clock", flo.min_clock(plain.clock(lambda row: row.at), zoned.clock(lambda row: row.at)))
    noon = datetime(2026, 1, 1, 12)
    for run in (flow.run, flow.on(flo.here).run):
        with pytest.raises(flo.ElementError, match="`min_clock` must get clocks of one type of times; got datetime"):
            run(plain=[Plain(noon)], zoned=[Zoned(noon.replace(tzinfo=UTC))])


def test_a_clock_of_datetimes() -> None:
    flow = flo.Flow("dates")
    days = flow.input("days", flo.Sequence[datetime])
    clock = days.clock(lambda day: day, timedelta(days=1))
    flow.output("clock", clock)
    flow.output(
        "windows", clock.rows.tumbling(timedelta(days=1), clock=clock, bounds=True).nest(lambda w, bounds: bounds)
    )
    first, second = datetime(2026, 1, 1, 6), datetime(2026, 1, 3, 6)
    found = flow.run(days=[first, second])
    assert found["clock"] == datetime(2026, 1, 2, 6)
    assert found["windows"] == [[flo.TimeWindow(datetime(2026, 1, 1), datetime(2026, 1, 2))]]


def test_rows_that_follow_a_clock_must_be_those_that_it_has_seen() -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Sequence[Click])
    clock = clicks.clock("at")
    other = flow.input("other", flo.Sequence[Click]).clock("at")
    for rows in (clicks, clock.late, clock.rows.map(lambda click: click), other.rows):
        with pytest.raises(flo.TypeMismatch, match="may come behind it"):
            rows.tumbling(10, clock=clock)
    with pytest.raises(flo.TypeMismatch, match="the time and the lateness of the clock"):
        clock.rows.tumbling(10, "at", clock=clock)  # type: ignore[call-overload]
    with pytest.raises(flo.TypeMismatch, match="must be a clock"):
        clock.rows.tumbling(10, clock=clicks)  # type: ignore[call-overload]


def test_a_key_in_two_partitions_has_no_order() -> None:
    flow = flo.Flow("users")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    flow.output("paths", clicks.key_by("user"))
    assert flow.run(clicks={0: times(1, 2), 1: [Click("bob", 1)]})["paths"] == {
        "ada": times(1, 2),
        "bob": [Click("bob", 1)],
    }
    with pytest.raises(flo.ElementError, match="the key 'ada' is in the partitions 0 and 1"):
        flow.run(clicks={0: times(1), 1: times(2)})

"""`dedupe` emits the first row of each key at once, and forgets keys: with one result on all engines, in all cuts."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.stream_type import StreamType
from flo.tables.operators.dedupe import DedupeTables
from flo.tables.values import Columns
from flo.values.operators.dedupe import Dedupe
from flo.values.sequence import Sequence, SequenceValue
from tests.harness import refusal
from tests.quick import times
from tests.spark.simulated import simulated


class Event(NamedTuple):
    id: int | None
    at: int


class Real(NamedTuple):
    id: float
    at: float


class Dated(NamedTuple):
    id: str
    at: datetime


def first_rows(rows: list[Any], keep: Any) -> list[Any]:
    """What must be emitted, by the definition alone."""
    emitted: list[tuple[Any, Any, Any]] = []
    latest = None
    for row in rows:
        latest = row.at if latest is None else max(latest, row.at)
        if all(key != row.id or latest - mark > keep for key, mark, _ in emitted):
            emitted.append((row.id, latest, row))
    return [row for _, _, row in emitted]


def program(row: Any, keep: Any) -> flo.Flow:
    flow = flo.Flow("events")
    flow.output("first", flow.input("events", flo.Sequence[row]).dedupe("id", "at", keep))
    return flow


def pushed(loop: Any, rows: list[Any], dice: random.Random) -> Any:
    while rows:
        some = dice.randint(1, len(rows))
        loop.push(events=rows[:some])
        loop.run()
        rows = rows[some:]
    return loop


def plain(found: Any, row: Any) -> list[Any]:
    return [row(**each) for each in found.to_pylist()] if hasattr(found, "to_pylist") else list(found)


def expect_on_both(row: Any, rows: list[Any], keep: Any, seed: int = 0) -> None:
    flow, expected = program(row, keep), first_rows(rows, keep)
    for loop in (flow.loop(), flow.on(flo.here).loop()):
        found = pushed(loop, rows, random.Random(seed)).result()["first"]
        assert plain(found, row) == expected


@pytest.mark.parametrize("seed", range(times(20)))
def test_every_cut_gives_the_first_rows(seed: int) -> None:
    dice = random.Random(seed)
    spread = dice.choice([1, 5, 40])
    rows = [Event(dice.choice([None, *range(8)]), time + dice.randint(-spread, spread)) for time in range(120)]
    expect_on_both(Event, rows, dice.choice([1, 7, 30]), seed)


@pytest.mark.parametrize("seed", range(times(5)))
def test_floats_are_compared_as_on_values(seed: int) -> None:
    dice = random.Random(seed)
    rows = [Real(dice.choice([0.0, -0.0, float("inf"), 0.1]), time / 10 + dice.random()) for time in range(80)]
    expect_on_both(Real, rows, dice.choice([0.1, 1.5]), seed)


def test_times_at_the_ends_of_their_type() -> None:
    first, last = -(1 << 63), (1 << 63) - 1
    expect_on_both(Event, [Event(1, first), Event(1, first + 5), Event(1, last), Event(1, last), Event(2, first)], 5)
    expect_on_both(Event, [Event(1, first), Event(2, 0), Event(1, 0), Event(1, last), Event(2, last)], (1 << 62) - 1)
    ends = [datetime.min, datetime.min + timedelta(days=2), datetime.max, datetime.max]
    expect_on_both(Dated, [Dated("a", at) for at in ends], timedelta(days=1))


def test_state_is_bounded_by_the_time() -> None:
    """Of 20,000 keys those of the last 100 moments are kept; a run holds some more until it merges."""
    layout = Layout.of(Event)
    like = Dedupe(Expression("id", (layout,)), Expression("at", (layout,)), 100)
    given = StreamType(Columns(Sequence(Event)), bounded=False)
    form: Any = DedupeTables(like).typed((given,))
    operator: Any = like
    for start in range(0, 20_000, 500):
        events = [Event(at, at) for at in range(start, start + 500)]
        form, _ = form.consume(pa.Table.from_pylist([each._asdict() for each in events], schema=layout.schema))
        operator, _ = operator.consume(events, SequenceValue)
        assert form.marks.rows < 4_000
        assert len(operator.marks) == len(operator.order) == 101
    assert form._content().rows == 101


def test_rows_on_time_stay_on_time() -> None:
    """So windows behind it may follow the clock."""
    flow = flo.Flow("events")
    clock = flow.input("events", flo.Sequence[Event]).clock("at")
    windows = clock.rows.dedupe("id", "at", 60).tumbling(10, clock=clock)
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    assert flow.run(events=[Event(1, 1), Event(1, 2), Event(2, 3), Event(1, 11)])["counts"] == [2]


@pytest.mark.parametrize("seed", range(times(4)))
def test_each_partition_has_its_own_first_rows(seed: int, tmp_path: Any) -> None:
    dice = random.Random(seed)
    log = {
        partition: [Event(dice.randint(0, 4), time + dice.randint(0, 9)) for time in range(30)] for partition in (0, 1)
    }
    flow = flo.Flow("log")
    events = flow.input("events", flo.Partitioned[Event], partitions=2)
    flow.output("first", events.per_key(lambda rows: rows.dedupe("id", "at", 12)))
    expected = {partition: first_rows(rows, 12) for partition, rows in log.items()}
    assert flow.run(events=log)["first"] == expected
    assert simulated(flow, {"events": log}, tmp_path, parts=3, shards=2, seed=seed).values()["first"] == expected


def test_partitions_have_no_first_row_of_all() -> None:
    flow = flo.Flow("log")
    events = flow.input("events", flo.Partitioned[Event], partitions=2)
    error = refusal(lambda: events.dedupe("id", "at", 10))
    assert str(error).startswith("`dedupe` requires Sequence; `events` is a Partitioned")
    assert "in one partition" in str(error)
    assert "before a clock" in str(refusal(lambda: events.clock("at").rows.dedupe("id", "at", 10)))
    assert "distinct(on=" in str(refusal(lambda: flow.input("z", flo.ZSet[Event]).dedupe("id", "at", 10)))


@pytest.mark.parametrize("on", [["shop", "id"], ("shop", "id"), lambda order: (order.shop, order.id)])
def test_a_key_of_several_columns(on: Any) -> None:
    class Order(NamedTuple):
        shop: str
        id: int
        at: int

    flow = flo.Flow("orders")
    orders = flow.input("orders", flo.Sequence[Order])
    flow.output("once", orders.dedupe(on, "at", keep=60))
    flow.output("by", orders.key_by(on).per_key(lambda rows: rows.map("at")))
    given = [Order("a", 1, 1), Order("b", 1, 2), Order("a", 1, 3), Order("a", 2, 4)]
    for result in (flow.run(orders=given), flow.on(flo.here).run(orders=given)):
        once = result["once"] if isinstance(result["once"], list) else result["once"].to_pylist()
        assert [row["at"] if isinstance(row, dict) else row.at for row in once] == [1, 2, 4]
        assert result["by"] == {("a", 1): [1, 3], ("b", 1): [2], ("a", 2): [4]}


def test_arguments_are_checked_when_the_program_is_built() -> None:
    flow = flo.Flow("log")
    events = flow.input("events", flo.Sequence[Event])
    assert "a number > 0" in str(refusal(lambda: events.dedupe("id", "at", 0)))
    assert "a number > 0" in str(refusal(lambda: events.dedupe("id", "at", timedelta(1))))
    assert "no column" in str(refusal(lambda: events.dedupe("name", "at", 10)))

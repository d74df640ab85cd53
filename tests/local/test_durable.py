"""Queries with a checkpoint in this process: views, sinks, restarts, lost workers."""

from __future__ import annotations

import os
import signal
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow.parquet as pq
import pytest

import flo
from flo.local.workers import Workers
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.sinks.sinks import Changes, Sink
from flo.shards.sinks.upserts import Upsert
from tests.engines.engine import comparable
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, draw_program
from tests.rescaling import rescale
from tests.spark.simulated import as_plain


@dataclass(frozen=True)
class Sale:
    shop: str
    price: int


def sales(start: int, count: int) -> list[Sale]:
    return [Sale("abcdefg"[number % 7], number % 13) for number in range(start, start + count)]


def totals() -> flo.Flow:
    flow = flo.Flow("totals")
    given = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", given.group_by("shop").agg(n=flo.count(), total=flo.sum("price")))
    flow.output("large", given.filter(nw.col("price") > 10))
    return flow


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values()) for row in view.arrow().to_pylist())


def expected(count: int) -> dict[str, list[Any]]:
    result = totals().on(flo.here).run(sales=sales(0, count))
    return {name: sorted(tuple(row.values()) for row in table.to_pylist()) for name, table in result.items()}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_query_goes_on_after_a_restart(tmp_path: Path, workers: int) -> None:
    for turn in range(3):
        with totals().on(flo.here, workers=workers).start(checkpoint=tmp_path) as query:
            query.push(sales=sales(20 * turn, 10))
            query.push(sales=sales(20 * turn + 10, 10))
            assert query.progress[-1].version == 2 * turn + 1
            assert {name: rows(view) for name, view in query.views().items()} == expected(20 * turn + 20)
    assert not list(Checkpoint(str(tmp_path)).problems())


@pytest.mark.parametrize("seed", range(times(10)))
@pytest.mark.every(test=2)
def test_random_programs_with_restarts_and_other_shards(seed: int, tmp_path: Path) -> None:
    flow = draw_program(seed)[0]
    program, one = flow.on(flo.here), flow.on(flo.here).loop(negative="allow")
    types = dict(zip(flow._outputs, program._dag.output_types, strict=False))
    for turn, delta in enumerate(random_deltas(SOURCES, seed, 3, 3)):
        one.push(**delta)
        with draw_program(seed)[0].on(flo.here).start(checkpoint=tmp_path, shards=None if turn else 2) as query:
            query.push(**delta)
            views = {name: comparable(query.view(name).value()) for name in types}
        result = one.result()
        assert views == {name: comparable(as_plain(types[name], result[name])) for name in types}
        rescale(str(tmp_path), 1 + turn % 3)


def test_sinks_that_need_no_spark(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    database = tmp_path / "totals.db"
    outputs = {
        "totals": Upsert("sqlite", "totals", {"uri": str(database)}),
        "large": Changes(str(tmp_path / "large")),
    }
    for turn in range(2):
        with totals().on(flo.here).start(outputs, checkpoint=tmp_path / "checkpoint") as query:
            query.push(sales=sales(30 * turn, 30))
    with sqlite3.connect(database) as connection:
        found = sorted(connection.execute("SELECT shop, n, total FROM totals"))
    assert found == [row[:-1] for row in expected(60)["totals"]]
    assert pq.read_table(tmp_path / "large").num_rows == len(expected(60)["large"])

    def note(changes: Any, version: int) -> None:
        seen.append((version, changes.num_rows))

    with totals().on(flo.here).start({"large": note}, checkpoint=tmp_path / "another") as query:
        query.push(sales=sales(0, 30))
    assert seen == [(0, len(expected(30)["large"]))]


def test_a_push_that_raises_commits_nothing(tmp_path: Path) -> None:
    flow = flo.Flow("inverse")
    flow.output("inverse", flow.input("sales", flo.Bag[Sale]).map(lambda sale: 1 / sale.price))
    with flow.on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=[Sale("a", 2)])
        with pytest.raises(flo.FunctionError, match="ZeroDivisionError"):
            query.push(sales=[Sale("a", 4), Sale("b", 0)])
        assert query.view("inverse").value() == {0.5: 1}
        query.push(sales=[Sale("a", 4)])
        assert query.view("inverse").value() == {0.5: 1, 0.25: 1}
        assert [each.version for each in query.progress] == [0, 1]


def test_rows_that_do_not_fit_are_diverted_and_stored(tmp_path: Path) -> None:
    flow = flo.Flow("inverse")
    flow.output("inverse", flow.input("sales", flo.Bag[Sale]).map(lambda sale: 1 / sale.price))
    with flow.on(flo.here).start(checkpoint=tmp_path, on_error="divert") as query:
        query.push(sales=[Sale("a", 2), Sale("b", 0), Sale("c", 4)])
        assert query.view("inverse").value() == {0.5: 1, 0.25: 1}
        assert query.diverted("sales").num_rows == 1


def test_a_killed_worker_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    with totals().on(flo.here, workers=2).start(checkpoint=tmp_path) as query:
        query.push(sales=sales(0, 20))
        executor = query._loop.executor
        assert isinstance(executor, Workers)
        victim = executor.workers[1].process  # type: ignore[attr-defined]
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        query.push(sales=sales(20, 20))
        assert {name: rows(view) for name, view in query.views().items()} == expected(40)


def test_two_queries_on_one_checkpoint(tmp_path: Path) -> None:
    with totals().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=sales(0, 5))
        with pytest.raises(flo.CheckpointError, match="is in use by another query"):
            totals().on(flo.here).start(checkpoint=tmp_path)


def test_a_changed_program_is_rejected(tmp_path: Path) -> None:
    with totals().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=sales(0, 5))
    flow = flo.Flow("totals")
    given = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", given.group_by("shop").agg(n=flo.count(), total=flo.max("price")))
    flow.output("large", given.filter(nw.col("price") > 10))
    with pytest.raises(flo.CheckpointError, match="belongs to another program"):
        flow.on(flo.here).start(checkpoint=tmp_path)


def test_order_is_kept_over_restarts(tmp_path: Path) -> None:
    flow = flo.Flow("order")
    flow.output("prices", flow.input("sales", flo.Sequence[Sale]).map(lambda sale: sale.price))
    for turn in range(3):
        with flow.on(flo.here).start(checkpoint=tmp_path) as query:
            query.push(sales=[Sale("a", 2 * turn)])
            query.push(sales=[Sale("a", 2 * turn + 1)])
            assert query.view("prices").value() == list(range(2 * turn + 2))


def test_rows_are_stored_if_all_of_a_push_are_diverted(tmp_path: Path) -> None:
    flow = flo.Flow("inverse")
    flow.output("inverse", flow.input("sales", flo.Bag[Sale]).map(lambda sale: 1 / sale.price))
    for turn in range(2):
        with flow.on(flo.here).start(checkpoint=tmp_path, on_error="divert") as query:
            query.push(sales=[Sale("b", 0)])
            assert query.diverted("sales").num_rows == turn + 1
            assert query.view("inverse").value() == {}


class Unsettled(Sink):
    """Takes changes, and fails once when it is told that they are committed."""

    keeps_weight = replaces = True

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.fails = True

    def take(self, changes: Any) -> None:
        self.taken.append(changes.version)

    def commit(self, changes: Any) -> None:
        if self.fails:
            self.fails = False
            raise OSError("the disk is full")


def test_what_is_committed_stays_if_a_sink_fails_afterwards(tmp_path: Path) -> None:
    sink = Unsettled()
    with totals().on(flo.here).start({"large": sink}, checkpoint=tmp_path) as query:
        with pytest.raises(OSError, match="the disk is full"):
            query.push(sales=sales(0, 20))
        query.push(sales=sales(20, 20))
        assert sink.taken == [0, 1]
        assert rows(query.view("totals")) == expected(40)["totals"]


@pytest.mark.parametrize("shards", [0, -1, "two", 1.5])
def test_the_number_of_shards_is_checked(tmp_path: Path, shards: Any) -> None:
    with pytest.raises(flo.ElementError, match="`shards` must be an integer from 1"):
        totals().on(flo.here).start(checkpoint=tmp_path, shards=shards)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"checkpoint": None}, "`checkpoint` must be a folder, as a path or a URL; got None"),
        ({"checkpoint": ""}, "`checkpoint` must be a folder, as a path or a URL; got ''"),
        ({"outputs": ["console"]}, r"`outputs` must have a sink for each output, by name; got \['console'\]"),
        ({"outputs": {"sales diverted": "console"}}, "the output `sales diverted` has rows only if they are diverted"),
        ({"outputs": {"sale diverted": "console"}}, "the flow has no output called `sale diverted`"),
    ],
)
def test_starts_that_cannot_work(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(flo.FloError, match=message) as caught:
        totals().on(flo.here).start(**{"checkpoint": tmp_path, **given})
    assert "test_durable.py" in str(caught.value)


def test_an_unknown_kind_of_table_is_an_error_at_the_line_of_the_user() -> None:
    with pytest.raises(flo.UnknownNameError, match="got 'sqllite'") as caught:
        Upsert("sqllite", "totals")
    assert 'Upsert("sqllite", "totals")' in str(caught.value)
    assert 'Upsert("sqlite", …)' in str(caught.value)


def test_a_query_that_was_stopped_takes_nothing(tmp_path: Path) -> None:
    with totals().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=sales(0, 3))
    before = rows(query.view("totals"))
    with pytest.raises(flo.ScopeError, match="`push` of a query that was stopped"):
        query.push(sales=sales(3, 3))
    assert rows(query.view("totals")) == before
    with totals().on(flo.here).start(checkpoint=tmp_path) as query:
        assert rows(query.view("totals")) == before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not tell which files are open")
def test_a_file_of_duckdb_that_the_program_has_open_is_not_written(tmp_path: Path) -> None:
    """Two databases on one file in one process overwrite each other: DuckDB's locks are between processes."""
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("adbc_driver_manager")
    file = tmp_path / "totals.duckdb"
    sinks = {"totals": Upsert("duckdb", "totals", {"uri": str(file)})}
    with totals().on(flo.here).start(sinks, checkpoint=tmp_path / "checkpoint") as query:
        query.push(sales=[Sale("a", 1)])
        with duckdb.connect(str(file)) as connection:
            assert connection.execute("SELECT shop, total FROM totals").fetchall() == [("a", 1)]
            with pytest.raises(flo.UnreachableError, match="this process has it open already"):
                query.push(sales=[Sale("b", 2)])
        query.push(sales=[Sale("b", 2)])
    with duckdb.connect(str(file)) as connection:
        assert connection.execute("SELECT shop, total FROM totals ORDER BY 1").fetchall() == [("a", 1), ("b", 2)]

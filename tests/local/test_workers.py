"""Shards in worker processes give what one process gives, and a worker that dies is reported."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.local.here import OnHere
from flo.local.sharded import WorkersLoop
from flo.local.table_loop import TableLoop
from flo.local.worker import ForkedWorker, TasksOfWorker, WorkerLost, delay_interrupt
from flo.local.workers import FEW_ROWS, Workers
from flo.shards.tasks import sending
from tests.engines.engine import comparable
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, draw_program
from tests.spark.simulated import as_plain


@dataclass(frozen=True)
class Sale:
    shop: str
    price: int
    at: int


def sale(number: int) -> Sale:
    return Sale("abcdefg"[number % 7], number % 13, number)


@contextmanager
def in_workers(flow: flo.Flow, workers: int = 2, **options: Any) -> Iterator[TableLoop]:
    loop = flow.on(flo.here, workers=workers).loop(**options)
    yield loop
    executor(loop).stop()


def executor(loop: Any) -> Workers:
    assert isinstance(loop._loop, WorkersLoop)
    assert isinstance(loop._loop.executor, Workers)
    return loop._loop.executor


def outcome(program: OnHere, loop: TableLoop) -> dict[str, Any]:
    types = dict(zip(program._flow._outputs, program._dag.output_types, strict=False))
    result = loop.result()
    return {name: (comparable(as_plain(types[name], table)), result.fixed(name)) for name, table in result.items()}


@pytest.mark.parametrize("seed", range(times(20)))
@pytest.mark.every(test=2)
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:  # few rows are added up before a shuffle, too
        monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
        monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)
    flow = draw_program(seed)[0]
    program = flow.on(flo.here)
    one = program.loop(negative="allow")
    with in_workers(flow, 2 + seed % 2, negative="allow") as several:
        for delta in random_deltas(SOURCES, seed, 3, 3):
            one.push(**delta)
            several.push(**delta)
            assert outcome(program, several) == outcome(program, one)
        for name in SOURCES:
            one.end(name)
            several.end(name)
            assert outcome(program, several) == outcome(program, one)


def windows() -> flo.Flow:
    flow = flo.Flow("windows")
    sales = flow.input("sales", flo.Sequence[Sale])
    sums = sales.tumbling(10, time=lambda each: each.at).nest(lambda window: window.map(lambda each: each.price).sum())
    flow.output("sums", sums)
    flow.output("shops", sales.to_bag().to_zset().group_by("shop").agg(n=flo.count()))
    flow.output("newest", sales.map(lambda each: each.at))
    return flow


@pytest.mark.thorough
def test_a_sequence_keeps_its_order_when_its_rows_are_split() -> None:
    rows = [sale(number) for number in range(3 * FEW_ROWS)]
    one = windows().on(flo.here).loop()
    with in_workers(windows()) as several:
        for start in range(0, len(rows), 2 * FEW_ROWS):
            part = rows[start : start + 2 * FEW_ROWS]
            one.push(sales=part)
            several.push(sales=part)
        assert several.result()["newest"] == one.result()["newest"]
        program = windows().on(flo.here)
        assert outcome(program, several) == outcome(program, one)


def test_windows_of_rows_whose_type_is_made_of_a_schema() -> None:
    """The rows of a window are sent to the next stage with their type, which no module contains."""
    row = flo.rows(pa.schema({"k": pa.int64(), "t": pa.int64()}))
    flow = flo.Flow("schema")
    given = flow.input("rows", flo.Sequence[row])  # type: ignore[valid-type]
    flow.output("kept", given.tumbling(5, time="t").nest(lambda window: window.filter(nw.col("k") > 1)).flatten())
    with in_workers(flow) as loop:
        loop.push(rows=[row(number % 4, number) for number in range(12)])
        assert loop.result()["kept"]["t"].to_pylist() == [2, 3, 6, 7]
    assert pickle.loads(pickle.dumps(row)) is row


def inverse(each: Sale) -> float:
    return 1 / each.price


def failing() -> flo.Flow:
    flow = flo.Flow("failing")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("inverse", sales.map(inverse))
    flow.output("shops", sales.group_by("shop").agg(n=flo.count()))
    return flow


def test_a_push_that_raises_changes_nothing() -> None:
    program = failing().on(flo.here)
    with in_workers(failing()) as loop:
        loop.push(sales=[Sale("a", 2, 0), Sale("b", 4, 0)])
        before = outcome(program, loop)
        with pytest.raises(flo.FunctionError, match="ZeroDivisionError"):
            loop.push(sales=[Sale("a", 5, 1), Sale("c", 0, 2)])
        assert outcome(program, loop) == before
        loop.push(sales=[Sale("a", 8, 3)])
        counts = {row["shop"]: row["n"] for row in loop.result()["shops"].to_pylist()}
        assert counts == {"a": 2, "b": 1}


def test_outputs_stay_in_workers_until_they_are_pulled() -> None:
    with in_workers(failing()) as loop:
        for number in range(1, 5):
            loop.push(sales=[Sale("ab"[number % 2], number, number)])
        assert not any(value.has_content() for value in loop._loop.outputs)  # type: ignore[attr-defined]
        with pytest.raises(flo.FunctionError):
            loop.push(sales=[Sale("c", 0, 5)])
        assert sorted(loop.pull("inverse")["value"].to_pylist()) == [0.25, 1 / 3, 0.5, 1.0]
        assert loop.pull("inverse").num_rows == 0
        loop.push(sales=[Sale("a", 8, 6), Sale("b", 5, 6)])
        assert loop.peek("inverse").num_rows == 2
        loop.push(sales={Sale("a", 8, 6): -1})
        assert loop.pull("inverse", 1)["value"].to_pylist() == [0.2]
        loop.end("sales")
        result = loop.result()
        assert result["inverse"].num_rows == 0
        assert {row["shop"]: row["n"] for row in result["shops"].to_pylist()} == {"a": 2, "b": 3}
        assert result.fixed("shops")


def test_rows_that_raise_are_diverted() -> None:
    rows = [Sale("a", number % 3, number) for number in range(9)]
    with in_workers(failing(), on_error="divert") as loop:
        loop.push(sales=rows)
        assert loop.diverted["sales"].num_rows == 3
        assert [row["n"] for row in loop.result()["shops"].to_pylist()] == [6]


def test_a_worker_that_was_killed_is_reported() -> None:
    with in_workers(failing()) as loop:
        loop.push(sales=[sale(5)])
        victim = executor(loop).workers[1].process
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        with pytest.raises(WorkerLost, match="worker 1 has ended: signal SIGKILL"):
            loop.push(sales=[sale(6)])


def test_a_push_that_was_interrupted_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(worker: ForkedWorker) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    program = failing().on(flo.here)
    with in_workers(failing()) as loop:
        loop.push(sales=[Sale("a", 2, 0), Sale("b", 4, 0)])
        before = outcome(program, loop)
        monkeypatch.setattr(ForkedWorker, "receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            loop.push(sales=[Sale("a", 5, 1), Sale("c", 7, 2)])
        assert outcome(program, loop) == before
        loop.push(sales=[Sale("a", 8, 3)])
        counts = {row["shop"]: row["n"] for row in loop.result()["shops"].to_pylist()}
        assert counts == {"a": 2, "b": 1}


def test_questions_and_answers_may_be_larger_than_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a message for each question, the worker would wait to send its answer, and the parent to send the next."""
    large = b"x" * (1 << 24)
    monkeypatch.setattr(TasksOfWorker, "_answer", lambda _, question: question)
    with in_workers(failing()) as loop:
        answers = executor(loop)._answers([(1, (large,)), (0, ("own",)), (1, (large,))])
        assert [len(each) for each in answers] == [len(large), 3, len(large)]


def test_a_message_is_not_interrupted() -> None:
    steps = []

    def read() -> None:
        with delay_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("read")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            read()
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == ["read"]


def test_a_fork_leaves_the_workers_alone() -> None:
    """A worker of a later query is a fork of this process, and may collect what is left of an earlier one."""
    with in_workers(failing()) as loop:
        fork = multiprocessing.get_context("fork").Process(target=executor(loop).stop)
        fork.start()
        fork.join()
        assert fork.exitcode == 0
        loop.push(sales=[sale(5)])


def test_files_are_gone_after_a_push_and_at_the_end() -> None:
    with in_workers(failing()) as loop:
        loop.push(sales=[sale(number) for number in range(1, 5)])
        folder = executor(loop).exchange.path
        assert os.listdir(folder) == []
    assert not os.path.exists(folder)


KILLED = """
import os, signal
from tests.local.test_workers import executor, failing, sale
import flo
loop = flow = failing().on(flo.here, workers=2).loop()
loop.push(sales=[sale(5)])
print(executor(loop).exchange.path, *(worker.process.pid for worker in executor(loop).workers[1:]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_and_files_go_when_their_parent_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    folder, *workers = done.stdout.split()
    for pid in map(int, workers):
        while is_running(pid):  # the test ends when they have; a time limit would depend on the load
            time.sleep(0.01)
    assert not os.path.exists(folder)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_state_is_counted_in_workers() -> None:
    flow = flo.Flow("shops")
    flow.output("n", flow.input("sales", flo.ZSet[Sale]).group_by("shop").agg(n=flo.count()))
    with in_workers(flow) as loop:
        loop.push(sales=[sale(number) for number in range(14)])
        assert loop.state[0] == 7


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two", 10**6])
def test_the_number_of_workers_is_checked(workers: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match="`workers` must be an integer"):
        failing().on(flo.here, workers=workers)


def test_what_needs_the_state_in_this_process_says_so(tmp_path: Any) -> None:
    with in_workers(failing()) as loop, pytest.raises(flo.FloError, match="workers have it"):
        loop.checkpoint(tmp_path)


def test_run_in_workers() -> None:
    flow = flo.Flow("bounded")
    sales = flow.input("sales", flo.Bag[Sale], bounded=True)
    flow.output("sum", sales.map(lambda each: each.price).sum())
    flow.output("large", sales.filter(nw.col("price") > 5))
    rows = [sale(number) for number in range(100)]
    one, several = flow.on(flo.here).run(sales=rows), flow.on(flo.here, workers=2).run(sales=rows)
    assert several["sum"] == one["sum"]
    assert several["large"].num_rows == one["large"].num_rows

"""Processes that are killed while they fill a changed program, or switch to it: nothing is lost or comes twice."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
from pathlib import Path

import pytest

import flo
from tests.local.killed_fill import SHOPS, STEPS, program, run, sales, start
from tests.quick import is_thorough

pytestmark = pytest.mark.slow


def tables(folder: Path, step: int) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the sinks, in the columns of the outputs."""
    flow, found = program(step), {}
    with sqlite3.connect(folder / "sinks.db") as connection:
        for name in flow._outputs:
            columns = ", ".join(f'"{each}"' for each in expected(step, 0)[name][1])
            found[name] = sorted(connection.execute(f'SELECT {columns} FROM "{name}"'))
    return found


def expected(step: int, pushes: int) -> dict[str, tuple[list[tuple[object, ...]], list[str]]]:
    """The rows and the columns of the outputs, of a program that was run from the start."""
    given = [sale for each in range(pushes) for sale in sales(each)]
    result = program(step).on(flo.here).run(sales=given, shops=SHOPS)
    every = {}
    for name, table in result.items():
        columns = [each for each in table.column_names if each != "_weight"]
        rows = [
            tuple(int(v) if not isinstance(v, str) else v for v in row.values())
            for row in table.select(columns).to_pylist()
        ]
        every[name] = (sorted(rows), columns)
    return every


PROCESSES = multiprocessing.get_context("forkserver")  # one process imports Flo, and the others are copies of it
PROCESSES.set_forkserver_preload(["tests.local.killed_fill"])


def kill_while_it_starts(folder: Path, step: int, delay: float) -> bool:
    """Starts a program in a process, and kills that after some seconds; returns whether it was still running."""
    process = PROCESSES.Process(target=run, args=(folder, step))
    process.start()
    process.join(delay)
    is_running = process.is_alive()
    process.kill()
    process.join()
    assert is_running or process.exitcode == 0
    return is_running


@pytest.mark.parametrize("seed", range(17 if is_thorough() else 1))
def test_kills_at_random_moments(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for step in range(STEPS if is_thorough() else 2):
        longest, more = (0.5, 1.5) if is_thorough() else (2.0, 3.0)
        while step and kill_while_it_starts(tmp_path, step, rng.uniform(0.0, longest)):
            longest *= more  # a machine may be slow
        with start(tmp_path, step) as query:
            query.push(sales=sales(step), **({} if step else {"shops": SHOPS}))
        wanted = expected(step, step + 1)
        assert tables(tmp_path, step) == {name: rows for name, (rows, _) in wanted.items()}

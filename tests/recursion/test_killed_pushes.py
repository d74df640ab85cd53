"""Processes that are killed in the middle of a round: after a restart nothing of the push is there, and it can be
pushed again. On Spark the micro-batch is taken again."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flo.shards.checkpoint.inspect import Checkpoint
from tests.quick import is_thorough
from tests.recursion.killed_push import program, push, start
from tests.recursion.programs import Arc, Given, Node, Rows, shortest_rows
from tests.recursion.spark_inputs import add_deltas
from tests.recursion.test_random_graphs import rows_in, rows_of

LENGTH = 30
PROCESSES = multiprocessing.get_context("forkserver")  # one process imports Flo, and the others are copies of it
PROCESSES.set_forkserver_preload(["tests.recursion.killed_push"])


def first_delta(rng: random.Random) -> Given:
    """A chain, and arcs that are dearer than the chain and lead forward or back."""
    chain = [Arc(node, node + 1, 1) for node in range(LENGTH)]
    others = [Arc(rng.randrange(LENGTH), rng.randrange(LENGTH), rng.randrange(5, 50)) for _ in range(20)]
    return Given(Counter({*chain, *others}), Counter([Node(0)]))


def next_delta(rng: random.Random, there: Given) -> Given:
    """An arc of a shortest path goes, or comes, so that all behind it changes."""
    gone = [arc for arc in there.arcs if arc.cost == 1]
    node = rng.randrange(LENGTH // 2)
    more = Arc(node, node + rng.randrange(2, LENGTH // 2), 1)
    return Given(Counter({rng.choice(gone): -1}) if rng.random() < 0.6 else Counter({more: 1}))


def deltas(rng: random.Random, count: int) -> list[tuple[Given, Given, list[int]]]:
    """Deltas, each with what is there after it and the nodes whose rows change."""
    there, found = Given(), []
    while len(found) < count:
        delta = next_delta(rng, there) if found else first_delta(rng)
        after = there.plus(delta)
        changed = best(after) ^ best(there)
        if changed:
            found.append((delta, after, sorted({row[0] for row in changed} - {0})))
            there = after
    return found


def best(given: Given) -> Rows:
    return shortest_rows(given)["best"]


def expect(query: Any, given: Given) -> None:
    rows = best(given)
    assert rows_in(query.view("best").arrow()) == rows
    assert rows_in(query.view("count").arrow()) == {(len(rows), max((row[1] for row in rows), default=None))}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("seed", range(8 if is_thorough() else 1))
def test_killed_in_the_middle_of_a_round(seed: int, workers: int, tmp_path: Path) -> None:
    rng = random.Random(f"{seed} {workers}")
    there = Given()
    for delta, after, changed in deltas(rng, 4 if is_thorough() else 2):
        process = PROCESSES.Process(target=push, args=(tmp_path, workers, delta, rng.choice(changed)))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with start(tmp_path, workers) as query:
            if there.arcs:
                expect(query, there)
            query.push(**delta.pushed)
            expect(query, after)
        there = after
    assert not list(Checkpoint(str(tmp_path / "checkpoint")).problems())


@pytest.mark.thorough
@pytest.mark.parametrize("shards", [1, 3])
def test_a_worker_of_spark_is_killed_in_the_middle_of_a_round(spark: Any, shards: int, tmp_path: Path) -> None:
    """The query ends with an error, and the next one takes the micro-batch again."""
    rng = random.Random(shards)
    for number, (delta, after, changed) in enumerate(deltas(rng, 3)):
        inputs = add_deltas(spark, tmp_path, [delta], first=number)
        doom = tmp_path / "doom"
        doom.write_text(f"{rng.choice(changed)} 0")
        for _ in range(2):
            query = (
                program(tmp_path)
                .on(spark)
                .start(inputs, checkpoint=tmp_path / "checkpoint", shards=shards, trigger={"availableNow": True})
            )
            with contextlib.suppress(Exception):  # Spark may also run the task again
                query.wait()
        assert not doom.exists(), "nothing was killed"
        assert rows_of(query.view("best").value()) == best(after)

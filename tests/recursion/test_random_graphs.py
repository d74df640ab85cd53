"""After every delta, a relation is what networkx computes from scratch: 1,000 graphs in `make thorough`, a sample in
`make test`.

Cheap engines have most of them. In shards, in workers and on Spark a query has some of the programs, and is restarted
between deltas with another number of shards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from flo.tables.operators import rounds
from tests.quick import is_thorough
from tests.recursion.graphs import Graph
from tests.recursion.programs import ALWAYS, MOST, PROGRAMS, Rows, build, expected
from tests.recursion.spark_inputs import add_deltas
from tests.rescaling import rescale
from tests.spark.simulated import Simulated


def graphs(whole: int, sample: int) -> range:
    """So many seeds in `make thorough`, and in other runs."""
    return range(whole if is_thorough() else sample)


def rows_of(changes: dict[Any, int]) -> Rows:
    """The rows of an output, each of which is there once."""
    assert set(changes.values()) <= {1}
    return {tuple(row) if isinstance(row, tuple) else (row,) for row in changes}


def rows_in(found: Any) -> Rows:
    return {tuple(value for name, value in row.items() if name != "_weight") for row in found.to_pylist()}


def one_program(seed: int) -> str:
    return list(PROGRAMS)[seed % len(PROGRAMS)]


@pytest.mark.parametrize("seed", graphs(300, 12))
def test_on_values(seed: int) -> None:
    name = one_program(seed)
    loop, graph = build(name).loop(), Graph(f"values {seed}")
    for _ in range(6):
        delta, after = graph.draw()
        wanted = expected(after, name)
        loop.push(**delta.pushed)
        if wanted is None:
            with pytest.raises(flo.FixpointError):
                loop.run()
            continue
        loop.run()
        graph.there = after
        found = loop.result()
        assert {output: rows_of(found[output]) for output in wanted} == wanted


@pytest.mark.parametrize("seed", graphs(540, 12))
@pytest.mark.every(test=3)
def test_on_tables(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delta without a fixpoint changes nothing. A state that is restored goes on. Few rows of a group are computed on
    values, or not."""
    name, graph = one_program(seed), Graph(f"tables {seed}")
    monkeypatch.setattr(rounds, "FEW", graph.rng.choice([0, rounds.FEW]))
    loop = build(name).on(flo.here).loop()
    for _ in range(8):
        delta, after = graph.draw()
        wanted = expected(after, name)
        if wanted is None:
            with pytest.raises(flo.FixpointError, match=f"after {MOST} rounds"):
                loop.push(**delta.pushed)
            continue
        loop.push(**delta.pushed)
        graph.there, found = after, loop.result()
        assert {output: rows_in(found[output]) for output in wanted} == wanted
        if graph.rng.random() < 0.2:
            loop.checkpoint(tmp_path / "state")
            loop = build(name).on(flo.here).loop()
            loop.restore(tmp_path / "state")


@pytest.mark.parametrize("seed", graphs(100, 1))
def test_in_tasks_of_spark(seed: int, tmp_path: Path) -> None:
    """The tasks of Spark in this process, in an order that is drawn, with another number of shards in between."""
    graph, where = Graph(f"tasks {seed}"), str(tmp_path)
    rng, names = graph.rng, graph.rng.sample(ALWAYS, 3)
    query = Simulated(build(*names), where, shards=rng.choice([1, 3]), seed=seed)
    for _ in range(6):
        delta, there = graph.take()
        query.turn(delta.pushed)
        found, wanted = query.values(), expected(there, *names)
        assert wanted is not None
        assert {output: rows_of(found[output]) for output in wanted} == wanted
        if rng.random() < 0.4:
            rescale(where, rng.choice([1, 2, 3]))
            query = Simulated(build(*names), where, seed=rng.randrange(1000))
    assert not list(Checkpoint(where).problems())


@pytest.mark.slow
@pytest.mark.parametrize("seed", graphs(40, 1))
def test_in_two_workers(seed: int, tmp_path: Path) -> None:
    graph = Graph(f"workers {seed}")
    names = graph.rng.sample(ALWAYS, 3)
    for shards in (2, 3, 1):
        with build(*names).on(flo.here, workers=2).start(checkpoint=tmp_path, shards=shards) as query:
            for delta, there in (graph.take(), graph.take()):
                query.push(**delta.pushed)
                wanted = expected(there, *names)
                assert wanted is not None
                assert {output: rows_in(query.view(output).arrow()) for output in wanted} == wanted


@pytest.mark.parametrize("seed", graphs(20, 1))
def test_on_spark(spark: Any, seed: int, tmp_path: Path) -> None:
    """Two deltas, a restart with other shards, and two more, each one micro-batch."""
    graph = Graph(f"spark {seed}")
    names = ["closure", *graph.rng.sample(ALWAYS[1:], 2 if is_thorough() else 0)]
    for turn, shards in enumerate((3, 1) if seed % 2 else (1, 3)):
        given = [graph.take() for _ in range(2)]
        inputs = add_deltas(spark, tmp_path, [delta for delta, _ in given], first=2 * turn)
        program = build(*names).on(spark)
        query = program.start(inputs, checkpoint=tmp_path / "checkpoint", shards=shards, trigger={"availableNow": True})
        query.wait()
        fixpoints = {name for outcome in query.progress for name in outcome.rounds}
        assert all(f'fixpoint="{name}"' in query.metrics() for name in fixpoints)
        assert fixpoints or turn or not given[-1][1].arcs
        versions = Checkpoint(str(tmp_path / "checkpoint")).versions()[-2:]
        for version, (_, there) in zip(versions, given, strict=True):
            wanted = expected(there, *names)
            assert wanted is not None
            assert {output: rows_of(query.view(output, version).value()) for output in wanted} == wanted

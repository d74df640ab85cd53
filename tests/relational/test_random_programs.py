"""Random relational programs give what DuckDB gives, after every delta, and one result for every cut and order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.engine import Engine
from tests.relational.harness import agree
from tests.relational.random_programs import SOURCES, draw_program
from tests.relational.shuffled_programs import add_up, cut_changes, draw_changes, draw_shuffled

pytestmark = pytest.mark.every(check=5)

FEW, MANY = 12, 1000


def same(seed: int) -> None:
    flow, query = draw_program(seed)
    counts = {f"count of {name}": f"SELECT count(*) FROM {name}" for name in SOURCES}
    queries = {"out": query, **counts}
    agree(lambda: draw_program(seed)[0], SOURCES, {name: queries[name] for name in flow._outputs}, seed=seed, steps=4)


@pytest.mark.parametrize("seed", range(FEW))
def test_a_few_programs(seed: int) -> None:
    same(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(FEW, MANY, 61))
def test_many_programs(block: int) -> None:
    for seed in range(block, min(block + 61, MANY)):
        same(seed)


def same_in_any_order(seed: int, engine: str, folder: Path) -> None:
    """Compare the result for all changes in one push, on values, with the one for pushes in a drawn order."""
    changes = draw_changes(seed)
    (expected,) = Engine("values", folder).run_deltas(draw_shuffled(seed), [add_up(changes)])
    pushes = cut_changes(changes, seed)
    assert Engine(engine, folder).run_deltas(draw_shuffled(seed), pushes)[-1] == expected, (seed, engine)


@pytest.mark.parametrize("seed", range(FEW))
@pytest.mark.parametrize("engine", ["values", "tables"])
@pytest.mark.every(test=2)
def test_a_few_programs_with_shuffled_pushes(engine: str, seed: int, tmp_path: Path) -> None:
    same_in_any_order(seed, engine, tmp_path)


@pytest.mark.every(test=3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", [18, 21, 25])
def test_a_few_programs_with_shuffled_pushes_in_tasks(seed: int, tmp_path: Path) -> None:
    same_in_any_order(seed, "tasks", tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(FEW, MANY, 61))
def test_many_programs_with_shuffled_pushes(block: int, tmp_path: Path) -> None:
    for seed in range(block, min(block + 61, MANY)):
        for engine in ("values", "tables", "tasks"):
            same_in_any_order(seed, engine, tmp_path / f"{seed}")

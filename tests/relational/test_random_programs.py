"""Random relational programs give what DuckDB gives, after every delta."""

from __future__ import annotations

import pytest

from tests.relational.harness import agree
from tests.relational.random_programs import SOURCES, draw_program

pytestmark = pytest.mark.every(check=5)

FEW, MANY = 16, 1000


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

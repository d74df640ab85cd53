"""Programs that are drawn give the same on values and on Spark, whatever the hash seed, the shards and the cuts are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flo.shards.tasks import sending
from tests.spark.harness import agree
from tests.spark.programs import Case, drawn, together
from tests.spark.simulated import agree_as_one_job, agree_simulated

ROOT = Path(__file__).parent.parent.parent


def agree_drawn(seed: int, folder: Path) -> None:
    case = drawn(seed)
    agree_simulated(case.build(), case.data, folder, parts=1 + seed % 3, shards=(1, 2, 7)[seed % 3], seed=seed)


@pytest.mark.parametrize("seed", range(6))
def test_in_tasks(tmp_path, seed):
    agree_drawn(seed, tmp_path)


@pytest.mark.parametrize("seed", range(30, 36))
@pytest.mark.every(test=2)
def test_with_sums_before_every_shuffle(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
    monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)
    agree_drawn(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.every(test=2)
@pytest.mark.parametrize("seed", range(6, 24))
def test_more_in_tasks(tmp_path, seed):
    agree_drawn(seed, tmp_path)


def sampled(seeds: range, count: int) -> list[Any]:
    """The first of them, side by side in one query; the rest in `make thorough`. Tasks run many more."""
    rest = [[seed] for seed in seeds[count:]]
    return [list(seeds[:count]), *(pytest.param(each, marks=pytest.mark.thorough) for each in rest)]


def all_drawn(seeds: list[int], bounded: bool) -> Case:
    cases = {
        f"drawn {seed}": Case(lambda seed=seed: drawn(seed, bounded).build(), drawn(seed, bounded).data)
        for seed in seeds
    }
    return together(cases)


@pytest.mark.parametrize("seeds", sampled(range(100, 120), 3), ids=str)
def test_as_one_job(spark, seeds):
    agree_as_one_job(spark, all_drawn(seeds, bounded=True), (2, 7, 1)[seeds[0] % 3])


@pytest.mark.parametrize("seeds", sampled(range(200, 206), 2), ids=str)
def test_streaming(spark, tmp_path, seeds):
    case = all_drawn(seeds, bounded=False)
    agree(spark, case.build(), case.data, tmp_path, shards=(1, 2, 7)[seeds[0] % 3], parts=2, seed=seeds[0])


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["1"])
@pytest.mark.thorough
def test_the_hash_seed_changes_nothing(tmp_path, hash_seed):
    """Sets of texts stand in another order in every process that draws its own."""
    code = "import sys; from pathlib import Path; from tests.spark import test_random, test_programs\n"
    code += "test_random.agree_drawn(5, Path(sys.argv[1]) / 'drawn')\n"
    code += "program, data = test_programs.CORNERS[2]; test_programs.test_corners(Path(sys.argv[1]), program, data)"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, env=environment, check=True, timeout=600)

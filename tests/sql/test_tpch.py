"""The 22 queries of TPC-H are maintained: after every micro-batch they have the rows that batch Spark gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sql.checked import Checked
from tests.sql.support_matrix import PAGE, assess, section
from tests.sql.tpc import tpch

QUERIES = range(1, 23)
SMALL = 0.005
SAMPLE = (3, 13, 15, 16)
"""Joins with a limit, an outer join, a scalar subquery, NOT IN with counts of distinct values."""
TOGETHER = ((1, 6, 12, 14, 19), (2, 11, 15, 16, 20), (3, 4, 10, 13, 18), (5, 7, 8, 9), (17, 21, 22))
"""Queries that are views of one program."""


@pytest.fixture(scope="module")
def few(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    return Checked(spark, tpch(SMALL), tmp_path_factory.mktemp("few"), 2)


@pytest.fixture(scope="module")
def many(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    return Checked(spark, tpch(0.01), tmp_path_factory.mktemp("many"), 10)


@pytest.mark.every(test=4)
@pytest.mark.parametrize("number", SAMPLE)
def test_a_sample_in_process(few: Checked, number: int) -> None:
    assert few.expect_in_process(number)


@pytest.mark.thorough
@pytest.mark.parametrize("number", QUERIES)
def test_every_query_in_process(many: Checked, number: int) -> None:
    assert many.expect_in_process(number), "it has no rows at all"


@pytest.mark.thorough
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("numbers", TOGETHER, ids=lambda numbers: "-".join(map(str, numbers)))
def test_every_query_on_spark(many: Checked, numbers: tuple[int, ...], shards: int, tmp_path: Path) -> None:
    many.expect_on_spark(numbers, tmp_path, shards)


def test_together_they_are_all() -> None:
    assert sorted(number for numbers in TOGETHER for number in numbers) == list(QUERIES)


@pytest.mark.thorough
def test_the_page_is_current(spark: Any) -> None:
    suite = tpch(SMALL)
    assert section(suite, list(assess(spark, suite))) in PAGE.read_text(encoding="utf-8"), (
        "run: python -m tests.sql.support_matrix"
    )

"""The 99 queries of TPC-DS are maintained: after every micro-batch they have the rows that batch Spark gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sql.checked import Checked
from tests.sql.support_matrix import PAGE, page
from tests.sql.tpc import tpcds

QUERIES = range(1, 100)
ON_SPARK = (5, 12, 38, 51, 67, 97)
"""A rollup, sums over a partition, INTERSECT, running sums, a rank over nine groups, a full outer join."""
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def checked(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    return Checked(spark, tpcds(0.01), tmp_path_factory.mktemp("tpcds"), 3)


@pytest.mark.parametrize("number", QUERIES)
def test_every_query_in_process(checked: Checked, number: int) -> None:
    checked.expect_in_process(number)


@pytest.mark.parametrize("number", ON_SPARK)
def test_some_on_spark(checked: Checked, number: int, tmp_path: Path) -> None:
    checked.expect_on_spark([number], tmp_path, shards=2)


def test_the_page_is_current(spark: Any) -> None:
    assert page(spark) == PAGE.read_text(encoding="utf-8"), "run: python -m tests.sql.support_matrix"

"""The 22 queries of TPC-H are maintained: after every micro-batch they have the rows that batch Spark gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.sql.maintained import in_process, on_spark, write_changes
from tests.sql.oracle import Content, Oracle
from tests.sql.tpc import MicroBatch, Suite, micro_batches, spark_text, tpch

QUERIES = range(1, 23)
SAMPLE = (3, 13, 15, 16, 21)
"""Joins with a limit, an outer join, a scalar subquery, NOT IN with distinct counts, EXISTS and NOT EXISTS."""
TOGETHER = ((1, 6, 12, 14, 19), (2, 11, 15, 16, 20), (3, 4, 10, 13, 18), (5, 7, 8, 9), (17, 21, 22))
"""Queries that are views of one program."""


class Checked:
    """TPC-H in micro-batches, and what batch Spark gives after each."""

    def __init__(self, spark: Any, folder: Path, scale: float, count: int) -> None:
        self.suite: Suite = tpch(scale)
        self.batches: list[MicroBatch] = micro_batches(self.suite, count)
        self.oracle = Oracle(spark, self.batches, folder / "content")
        self.changes = folder / "changes"
        write_changes(self.batches, self.changes)

    def text(self, number: int) -> str:
        return spark_text(self.oracle.session, self.suite.queries[number])

    def expect(self, number: int, changes: list[pa.Table]) -> None:
        """Raise unless the query is right after every micro-batch, and has rows after one of them."""
        content, text, sizes = Content(), self.text(number), []
        assert len(changes) == len(self.batches)
        for batch, delta in enumerate(changes):
            content.add(delta)
            expected = self.oracle.rows(batch, text)
            content.expect(expected, f"query {number} after micro-batch {batch}")
            sizes.append(expected.num_rows)
        assert any(sizes), f"query {number} has no rows at all"


@pytest.fixture(scope="module")
def few(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    return Checked(spark, tmp_path_factory.mktemp("few"), 0.005, 3)


@pytest.fixture(scope="module")
def many(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    return Checked(spark, tmp_path_factory.mktemp("many"), 0.01, 10)


@pytest.mark.parametrize("number", SAMPLE)
def test_a_sample_in_process(few: Checked, number: int) -> None:
    few.expect(number, list(in_process(few.suite, few.text(number), few.batches)))


@pytest.mark.thorough
@pytest.mark.parametrize("number", QUERIES)
def test_every_query_in_process(many: Checked, number: int) -> None:
    many.expect(number, list(in_process(many.suite, many.text(number), many.batches)))


@pytest.mark.thorough
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("numbers", TOGETHER, ids=lambda numbers: "-".join(map(str, numbers)))
def test_every_query_on_spark(spark: Any, many: Checked, numbers: tuple[int, ...], shards: int, tmp_path: Path) -> None:
    queries = {f"q{number}": many.text(number) for number in numbers}
    found = on_spark(spark, many.suite, queries, many.changes, tmp_path, shards)
    for number in numbers:
        many.expect(number, found[f"q{number}"])


def test_together_they_are_all() -> None:
    assert sorted(number for numbers in TOGETHER for number in numbers) == list(QUERIES)

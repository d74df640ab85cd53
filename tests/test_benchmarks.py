"""The benchmarks of programs on tables, at a tiny scale: they run, and their results are exact. Nothing about time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks import (
    columnar,
    columnar_aggregates,
    growth,
    latency,
    memory,
    merging,
    recursion,
    tpch,
    tpch_data,
    workers,
)
from benchmarks.columnar_aggregates import AGGREGATES, program, programs, run, sales, several, small_deltas
from benchmarks.columnar_aggregates import check as check_aggregates
from benchmarks.columnar_growth import OPERATORS, Grown, Operator
from benchmarks.columnar_joins import LENGTHS, chains, ended
from benchmarks.columnar_programs import DELTAS, WORKLOADS
from benchmarks.columnar_rates import check, checkpoints, paced, rates

pytestmark = pytest.mark.slow

SCALE = 0.02


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_result_is_that_of_polars(name: str, tmp_path: Path) -> None:
    workload = WORKLOADS[name](SCALE, tmp_path)
    pulled = paced(workload).pulled
    assert len(pulled) == len(workload.deltas) == DELTAS
    assert check(workload, pulled, workload.at_once()) > 1000
    pulled.remove(max(pulled, key=lambda table: table.num_rows))
    with pytest.raises(AssertionError):  # what is lost is seen
        check(workload, pulled, workload.at_once())


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.every(test=3)
def test_resumed_in_the_middle_it_is_the_same(name: str, tmp_path: Path) -> None:
    workload = WORKLOADS[name](SCALE, tmp_path / "data")
    assert checkpoints([workload], tmp_path / "state").row_count == 1
    assert rates([workload], None).row_count == 1


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_deltas_into_a_state_give_the_difference(operator: Operator) -> None:
    grown = Grown(operator, 2_000, 200, 20)
    for number in range(1, len(grown.deltas)):
        grown.take(number)
    grown.check()
    rows, size = grown.memory()
    assert rows > 0
    assert size > 16 * rows
    assert grown.nothing() > 0
    grown.pulled.append(grown.pulled[0])
    with pytest.raises(AssertionError):
        grown.check()


def test_the_operators_of_the_growth_are_on_tables() -> None:
    for operator in OPERATORS:
        assert "on tables, 0 row by row in Python, 0 on values" in operator.loop().explain(), operator.name


def test_joins_in_a_row_and_a_table_that_has_ended() -> None:
    assert chains().row_count == len(LENGTHS)
    assert ended(SCALE).row_count == 2


@pytest.mark.thorough
def test_several_aggregates_and_small_deltas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar_aggregates, "ROUNDS", 1)
    monkeypatch.setattr(columnar_aggregates, "STEPS", 1)
    assert several(SCALE / 10).row_count == len(AGGREGATES) + 1
    assert small_deltas(SCALE / 10).row_count == len(programs())
    deltas, names = sales(SCALE / 10), list(AGGREGATES)
    _, pulled, _ = run(program(names), deltas)
    with pytest.raises(AssertionError):  # what is lost is seen
        check_aggregates(names, deltas, pulled[1:])


@pytest.mark.thorough
def test_the_way_of_a_row_is_as_long_in_a_larger_state() -> None:
    calls = []
    for shops in (1_000, 100_000):
        alone = latency.Run(shops)
        calls.append(alone.measure(as_table=True, pushes=100).calls)
        alone.check()
    assert calls[1] < 1.2 * calls[0]
    alone.changes[0, 0.0, 1] += 1
    with pytest.raises(AssertionError):
        alone.check()
    assert latency.latencies(0.001, pushes=2).row_count == 4


@pytest.mark.thorough  # it starts three processes; tests/local/test_memory_limit.py has the short tests
def test_state_larger_than_memory() -> None:
    assert memory.compare(0.001).row_count == 3


def test_growth_with_the_program_and_the_shards() -> None:
    assert growth.growth(0.05).row_count == 6


@pytest.mark.thorough
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    columnar.main(["--scale", "0.001", "--only", "growth", "--operator", "join"])
    columnar.main(["--scale", "0.001", "--only", "rates", "--program", "groups"])
    printed = capsys.readouterr().out
    assert "into a state of 1,000 and of 10,000" in printed
    assert "grouped" in printed  # the table is as wide as the terminal


def test_state_merged_at_once_and_in_parts(capsys: pytest.CaptureFixture[str]) -> None:
    merging.main(["--deltas", "6", "--rows", "40"])
    assert capsys.readouterr().out.count("in parts") == len(merging.FLOWS)


def test_the_changes_of_tpch_add_up_to_its_content(tmp_path: Path) -> None:
    shares = [0.01, 0.1]
    tpch_data.write_data(0.001, shares, tmp_path)
    for name in tpch_data.KEYS:
        rows: Counter[Any] = Counter()
        for version in range(1 + len(shares) * tpch_data.REPEATS):
            for *row, weight in zip(*_columns(tmp_path / "changes" / name / f"{version:03}.parquet"), strict=True):
                rows[tuple(row)] += weight
            if version and version % tpch_data.REPEATS == 0:
                content = tmp_path / "content" / str(version // tpch_data.REPEATS - 1) / f"{name}.parquet"
                assert +rows == rows == Counter(zip(*_columns(content), strict=True))
        assert rows


def _columns(file: Path) -> list[Any]:
    return [column.to_pylist() for column in pq.read_table(file).columns]


def test_the_break_even_of_a_view() -> None:
    shares, seconds = [0.001, 0.01, 0.1], [1.0, 2.0, 4.0]
    assert tpch.break_even(shares, seconds, 5.0) == "> 10.00%"
    assert tpch.break_even(shares, seconds, 1.0) == "< 0.10%"
    assert tpch.break_even(shares, seconds, 3.0) == "3.16%"


@pytest.mark.parametrize("name", workers.FLOWS)
def test_workers_give_equal_results(name: str) -> None:
    seconds, equal = workers.measure(name, 2, 20_000, 2, 10_000)
    assert equal
    assert list(seconds) == ["a load of 20,000 rows", "2 × 10,000 rows"]


@pytest.mark.thorough
def test_recursion_beside_its_peers() -> None:
    assert recursion.closures(2).row_count == 4
    assert recursion.growth(0.01, sizes=[100_000]).row_count == 2
    assert recursion.chains([10]).row_count == 3


def test_a_lost_change_of_a_recursion_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    push = recursion.Maintained.push
    monkeypatch.setattr(recursion.Maintained, "push", lambda self, edges: push(self, edges).slice(1))
    with pytest.raises(AssertionError):
        recursion.growth(0.01, sizes=[100_000])

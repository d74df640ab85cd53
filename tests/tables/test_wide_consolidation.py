"""Consolidation of many rows, where texts are looked at only if all else is equal: the same as row by row."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flo.tables.state.comparison import own_numbers, rank_densely, rank_values
from flo.tables.state.consolidation import MANY, consolidate_table
from flo.tables.state.keys import extend_keys, keys_of
from flo.tables.state.trace import gather_equal_rows, with_weights
from flo.tables.values import WEIGHT

START = datetime(2024, 1, 1)


def table(columns: dict[str, list[Any]], weights: list[int]) -> pa.Table:
    return with_weights(pa.table(columns), np.array(weights))


def added_up(rows: pa.Table) -> dict[Any, int]:
    counts: Counter[Any] = Counter()
    for row in rows.to_pylist():
        weight = row.pop(WEIGHT)
        counts[repr([value + 0.0 if isinstance(value, float) else value for value in row.values()])] += weight
    return {row: weight for row, weight in counts.items() if weight}


def check(rows: pa.Table) -> None:
    found = consolidate_table(rows)
    assert added_up(found) == added_up(rows)
    assert found.num_rows == len(added_up(rows))


@pytest.mark.parametrize("distinct", [3, 400, 10**9])
@pytest.mark.parametrize(
    "kinds", [("int", "str"), ("float", "str"), ("str",), ("int",), ("int", "time"), ("int", "time", "str")]
)
def test_many_rows(kinds: tuple[str, ...], distinct: int) -> None:
    rng = random.Random(distinct)
    draw = {
        "int": lambda: rng.choice([None, rng.randrange(distinct), -rng.randrange(distinct)]),
        "float": lambda: rng.choice([0.0, -0.0, float("nan"), float(rng.randrange(distinct))]),
        "str": lambda: f"text {rng.randrange(3)}",
        "time": lambda: START + timedelta(seconds=10 * rng.randrange(min(distinct, 10**6))),
    }
    count = 2 * MANY
    columns = {f"{kind}{place}": [draw[kind]() for _ in range(count)] for place, kind in enumerate(kinds)}
    check(table(columns, [rng.choice([-1, 0, 1, 2]) for _ in range(count)]))
    check(table(columns, [1] * count))


def test_rows_that_increase_stay_as_they_are() -> None:
    columns = {"at": list(range(2 * MANY)), "text": ["same"] * (2 * MANY)}
    rows = table(columns, [1] * (2 * MANY))
    assert consolidate_table(rows) is rows
    assert consolidate_table(table(columns, [0, *[1] * (2 * MANY - 1)])).num_rows == 2 * MANY - 1


@pytest.mark.parametrize("high", [50, 2**63 - 1])
def test_few_equal_rows_do_not_move_the_others(high: int) -> None:
    count = 3 * MANY
    numbers = [(at * 7919) % count for at in range(count)]
    numbers[5:9] = [numbers[20], -high, -high, numbers[20]]
    weights = [1] * count
    weights[6], weights[7], weights[8], weights[30] = 2, -2, 2**62, 0
    rows = table({"a": numbers, "b": [number % 3 for number in numbers]}, weights)
    check(rows)
    found = consolidate_table(rows).to_pydict()
    assert found["a"][:25] == [*numbers[:5], *numbers[9:20], *numbers[21:30]]
    assert dict(zip(found["a"], found[WEIGHT], strict=True))[numbers[20]] == 2**62 + 2


@pytest.mark.parametrize("high", [2**62, -(2**62), 7])
def test_rows_are_packed_only_if_they_fit(high: int) -> None:
    rng = random.Random(high)
    ints = [rng.choice([0, high, -high, high - 1]) for _ in range(3000)]
    times = [START + timedelta(seconds=2 * rng.randrange(50)) for _ in range(2999)] + [START + timedelta(seconds=1)]
    rows = pa.table({"a": ints, "b": times})
    order, firsts = gather_equal_rows(rows)
    groups = [order[low:high] for low, high in zip(firsts, [*firsts[1:], len(order)], strict=True)]
    whole = rows.to_pylist()
    assert sorted(order) == list(range(3000))
    assert len(groups) == len({tuple(row.values()) for row in whole})
    assert all(len({tuple(whole[at].values()) for at in group}) == 1 for group in groups)


def test_the_numbers_of_more_columns_are_those_of_all() -> None:
    columns = [
        pa.chunked_array([["a", "b", "a"]]),
        pa.chunked_array([[1, 2, None]]),
        pa.chunked_array([[1.5, -0.0, 0.0]]),
    ]
    whole = keys_of(columns)
    for count in (1, 2, 3):
        found = extend_keys(keys_of(columns[:count]), columns[count:])
        assert np.array_equal(found.numbers, whole.numbers)
        assert found.exact is False
    assert extend_keys(keys_of([pa.chunked_array([[3, 4]])]), []).exact


@pytest.mark.parametrize(
    "values", [["1.50", "-2.25", "0", "9.99"], ["1e30", "5", "-1e30"], [str(2**63 - 1), str(-(2**63)), "-1", "0"]]
)
def test_decimals_have_the_order_of_their_ranks(values: list[str]) -> None:
    array = pa.array([Decimal(0), *map(Decimal, values), Decimal(values[0])], pa.decimal128(38, 2))
    for some in (array, array.slice(1, 2)):
        assert np.array_equal(rank_densely([own_numbers(some)]), rank_densely([rank_values(some)]))

"""Rows whose keys have slots are grouped, and added up, as rows are that are sorted by the numbers of their keys."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.core.errors import ElementError
from flo.tables.state import grouping
from flo.tables.state.grouping import (
    LEAST,
    AdjacentRows,
    KeyGroups,
    SlottedRows,
    group_by_key,
    group_by_number,
    group_in_slots,
)
from flo.tables.state.keys import keys_of
from flo.tables.state.trace import EqualRows, sum_checked
from tests.tables.patches import colliding

ROWS = 4 * LEAST
START = datetime(2024, 1, 1)


def draw(kind: str, rng: random.Random) -> list[Any]:
    numbers = [rng.randrange(20) for _ in range(ROWS)]
    if kind == "few":
        return [-7 + 3 * number for number in numbers]
    if kind == "lowest":
        return [-(2**63) + number for number in numbers]
    if kind == "highest":
        return [2**63 - 1 - number for number in numbers]
    if kind == "windows":
        return [START + timedelta(hours=number % 4) for number in numbers]
    if kind == "texts":
        return [TEXTS[number % len(TEXTS)] for number in numbers]
    return [5] * ROWS


TEXTS = ["", "a", "A", "a\0", "é", "e\u0301", "😀", "2024-01-01", "x" * 600]
KINDS = {
    "few": pa.int64(),
    "lowest": pa.int64(),
    "highest": pa.int64(),
    "windows": pa.timestamp("us"),
    "one": pa.int8(),
    "texts": pa.string(),
}


def check(groups: KeyGroups, keys: pa.Table) -> None:
    """Compares groups with those of rows that are sorted."""
    numbers = keys_of(keys.columns)
    expected = group_by_number(keys, numbers)
    assert groups.keys.table.equals(expected.keys.table)
    assert groups.keys.keys.numbers.tolist() == expected.keys.keys.numbers.tolist()
    assert groups.keys.keys.exact is numbers.exact
    assert groups.rows.size == expected.rows.size == groups.keys.rows
    assert groups.rows.numbers().tolist() == expected.rows.numbers().tolist()
    large = np.array([(-1) ** place * (2**62 + place) for place in range(keys.num_rows)])
    for each in (np.arange(keys.num_rows), large, large.astype(object)):  # some sums wrap around
        assert groups.rows.add(each).tolist() == expected.rows.add(each).tolist()


@pytest.mark.parametrize("second", [None, *KINDS])
@pytest.mark.parametrize("first", list(KINDS))
def test_keys_in_a_small_range_have_slots(first: str, second: str | None) -> None:
    rng = random.Random(f"{first} {second}")
    columns = {name: pa.array(draw(name, rng), KINDS[name]) for name in (first, second) if name is not None}
    keys = pa.table(columns)
    groups = group_in_slots(keys)
    assert groups is not None
    assert isinstance(groups.rows, SlottedRows)
    check(groups, keys)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(range(ROWS)),  # as many keys as rows
        pa.array([number % 2 * 10**6 + number % 3 for number in range(ROWS)]),  # far from each other
        pa.array([(-1) ** number * 2**62 for number in range(ROWS)]),
        pa.array([number % 5 or None for number in range(ROWS)]),
        pa.array([number % 5 for number in range(ROWS)], pa.uint64()),
        pa.array([float(number % 5) for number in range(ROWS)]),
        pa.array([str(number % 5) for number in range(ROWS)], pa.large_string()),
        pa.array([str(number % 5) if number % 7 else None for number in range(ROWS)]),
        pa.array([str(number % 200) for number in range(ROWS)]),  # many texts
        pa.array([number % 5 for number in range(LEAST - 1)]),
    ],
)
def test_other_keys_are_sorted(column: pa.Array) -> None:
    keys = pa.table({"key": column})
    assert group_in_slots(keys) is None
    groups = group_by_key(keys)
    assert isinstance(groups.rows, EqualRows)
    check(groups, keys)


def test_many_texts_behind_a_few_have_slots_if_they_fit() -> None:
    """Only the first are looked at before all are."""
    for count in (1, ROWS // 2, 3 * ROWS):
        texts = ["a"] * (2 * ROWS) + [f"{number:04}" for number in range(count)]
        keys = pa.table({"key": texts, "number": [number % 2 for number in range(len(texts))]})
        groups = group_by_key(keys)
        assert isinstance(groups.rows, SlottedRows) is (count < ROWS)
        check(groups, keys)


def test_keys_that_share_a_number_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    keys = pa.table({"key": draw("few", rng)})
    expected = Counter(keys["key"].to_pylist())
    colliding(monkeypatch)
    assert group_in_slots(keys) is None
    groups = group_by_key(keys)
    counts = groups.rows.add(np.ones(ROWS, np.int64)).tolist()
    assert dict(zip(groups.keys.table["key"].to_pylist(), counts, strict=True)) == expected


def test_a_sum_of_weights_must_fit() -> None:
    groups = group_by_key(pa.table({"key": [1, 2] * LEAST}))
    fits = np.array([2**62, 1] * LEAST)
    fits[2::4] = -(2**62)
    assert sum_checked(fits, groups.rows.add).tolist() == [{1: 0, 2: LEAST}[key] for key in keys_in(groups)]
    fits[0] = 2**63 - 1
    fits[2::4] = 1
    with pytest.raises(ElementError, match="does not fit 64 bits"):
        sum_checked(fits, groups.rows.add)


def keys_in(groups: KeyGroups) -> list[int]:
    numbers: list[int] = groups.keys.table["key"].to_pylist()
    return numbers


class Row(NamedTuple):
    shop: int
    day: datetime
    n: int
    x: float
    price: Decimal
    text: str


def program() -> flo.Flow:
    flow = flo.Flow("sums")
    rows, wide = flow.input("rows", flo.ZSet[Row]), nw.col("n").cast(nw.Decimal(38, 0))
    sums = {"n": flo.sum("n"), "x": flo.sum("x"), "mean": flo.avg("x"), "price": flo.sum("price"), "rows": flo.count()}
    more = {"texts": flo.count_distinct("text"), "low": flo.min("x")}
    flow.output("sums", rows.group_by("shop").agg(**sums).with_columns(n=wide))
    flow.output(
        "by_day", rows.group_by("shop", "day").agg(n=flo.sum("n"), spread=flo.var_samp("x")).with_columns(n=wide)
    )
    flow.output("by_text", rows.group_by("shop", "text").agg(**sums, low=flo.min("x")).with_columns(n=wide))
    flow.output("all", rows.group_by("shop").agg(**sums, **more).with_columns(n=wide))
    return flow


def draw_row(rng: random.Random) -> Row:
    return Row(
        rng.randrange(5),
        START + timedelta(days=rng.randrange(3)),
        rng.choice([1, -2, 2**62, -(2**62)]),
        rng.choice([0.1, -0.0, 1e300, 2.5, float("inf"), float("nan")] if rng.random() < 0.02 else [0.1, -0.0, 7.25]),
        rng.choice([Decimal("0.10"), Decimal("-99999999999999.99")]),
        rng.choice(["a", "b", "c"]),
    )


def test_sums_of_groups_in_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two loops take the same deltas, with retractions: one sorts all rows."""
    rng = random.Random(7)
    loops = [program().on(flo.here).loop(negative="allow") for _ in range(2)]
    for _ in range(4):
        weights = Counter({draw_row(rng): rng.choice([1, 1, 2, -1]) for _ in range(2 * LEAST)})
        for least, loop in zip((LEAST, 10**9), loops, strict=True):
            monkeypatch.setattr(grouping, "LEAST", least)
            loop.push(rows=dict(weights))
        one, other = (each.result() for each in loops)
        for name in ("sums", "by_day", "by_text", "all"):
            assert one[name].num_rows
            assert sorted(map(repr, one[name].to_pylist())) == sorted(map(repr, other[name].to_pylist()))


def test_adjacent_rows_are_grouped_as_others_are() -> None:
    """Also sums that wrap around 64 bits, and keys with one row each."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        keys = np.sort(rng.integers(0, 1 + seed * 3, rng.integers(1, 60)))
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        some, others = AdjacentRows(firsts, len(keys)), EqualRows(np.arange(len(keys)), firsts)
        numbers = rng.choice([-(2**63), -1, 0, 1, 2**62, 2**63 - 1], len(keys))
        assert some.size == others.size == len(np.unique(keys))
        assert some.numbers().tolist() == others.numbers().tolist()
        assert some.add(numbers).tolist() == others.add(numbers).tolist()
        exact = [sum(int(n) for n, k in zip(numbers, keys, strict=True) if k == key) for key in np.unique(keys)]
        assert [(int(a) - b) % 2**64 for a, b in zip(some.add(numbers), exact, strict=True)] == [0] * some.size

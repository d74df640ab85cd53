"""As-of joins and sessions of tables in which one key has most rows, against Python values."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

import flo


class Click(NamedTuple):
    user: str
    at: int
    page: int


def _changes(rng: random.Random, there: dict[Click, int], count: int, span: int) -> dict[Click, int]:
    """Insertions, most of one key, and retractions of rows that are there."""
    found: dict[Click, int] = {}
    for _ in range(count):
        gone = [row for row, weight in there.items() if weight + found.get(row, 0) > 0]
        if gone and rng.random() < 0.3:
            row, weight = rng.choice(gone), -1
        else:
            user = "hot" if rng.random() < 0.9 else rng.choice("ab")
            row, weight = Click(user, rng.randrange(span), rng.randrange(3)), rng.choice((1, 1, 1, 2))
        found[row] = found.get(row, 0) + weight
    return {row: weight for row, weight in found.items() if weight}


PROGRAMS: dict[str, Any] = {
    "session": lambda rows: rows.session(3, "at", by="user"),
    "backward": lambda rows: rows.join_asof(rows.filter(lambda row: row.page == 0), on="at", by="user"),
    "forward": lambda rows: rows.join_asof(
        rows.filter(lambda row: row.page == 0), on="at", by="user", direction="forward"
    ),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_hot_key_has_the_rows_that_values_give(program: str, seed: int) -> None:
    rng = random.Random(seed)
    flow = flo.Flow("clicks")
    flow.output("found", PROGRAMS[program](flow.input("rows", flo.ZSet[Click])))
    on_values, on_tables = flow.loop(), flow.on(flo.here).loop()
    there: dict[Click, int] = {}
    for size in (60, 40, 1, 30):
        changes = _changes(rng, there, size, span=rng.choice((20, 150)))
        for row, weight in changes.items():
            there[row] = there.get(row, 0) + weight
        for loop in (on_values, on_tables):
            loop.push(rows=changes)
            loop.run()
        expected = {tuple(row): weight for row, weight in on_values.result()["found"].items()}
        rows = on_tables.result()["found"].to_pylist()
        assert {tuple(row.values())[:-1]: row["_weight"] for row in rows} == expected

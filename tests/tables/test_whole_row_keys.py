"""Joins whose key is the whole row."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import flo
from flo.tables.io.files import WEIGHTS

EXTREMES = [0, 1, -1, 2**63 - 1, -(2**63)]
WEIGHTS_DRAWN = [-(2**58), -3, -1, 1, 2, 2**58]


@dataclass(frozen=True)
class Row:
    a: int
    b: int


def program(how: str, bounded: bool) -> flo.Flow:
    flow = flo.Flow("whole rows")
    left, right = (flow.input(name, flo.ZSet[Row], bounded=bounded) for name in ("left", "right"))
    flow.output("rows", left.join(right, on=["a", "b"], how=how))
    return flow


def drawn(rng: random.Random) -> Counter[Any]:
    rows = {(rng.choice(EXTREMES), rng.choice([0, 2**62])) for _ in range(rng.randint(0, 4))}
    return Counter({row: rng.choice(WEIGHTS_DRAWN) for row in rows})


def as_table(rows: Counter[Any]) -> pa.Table:
    columns = [[row[place] for row in rows] for place in (0, 1)]
    return pa.table(
        {
            "a": pa.array(columns[0], pa.int64()),
            "b": pa.array(columns[1], pa.int64()),
            WEIGHTS: pa.array(list(rows.values()), pa.int64()),
        }
    )


def add(total: Counter[Any], more: Counter[Any]) -> None:
    for row, weight in more.items():
        total[row] += weight
        if not total[row]:
            del total[row]


@pytest.mark.parametrize("how", ["semi", "anti"])
@pytest.mark.parametrize("ended", [None, "left", "right"])
@pytest.mark.parametrize("seed", range(4))
def test_weights_come_and_go(how: str, ended: str | None, seed: int) -> None:
    rng = random.Random(seed)
    loop = program(how, bounded=ended is not None).on(flo.here).loop(negative="allow")
    sides: dict[str, Counter[Any]] = {"left": Counter(), "right": Counter()}
    found: Counter[Any] = Counter()
    for number in range(16):
        if number == 8 and ended is not None:
            loop.end(ended)
        for name, total in sides.items():
            if number < 8 or name != ended:
                rows = drawn(rng)
                add(total, rows)
                loop.push(**{name: as_table(rows)})
        changes = loop.pull("rows")
        add(found, Counter({(row["a"], row["b"]): row[WEIGHTS] for row in changes.to_pylist()}))
        expected = {
            row: weight for row, weight in sides["left"].items() if (sides["right"][row] > 0) == (how == "semi")
        }
        assert found == expected

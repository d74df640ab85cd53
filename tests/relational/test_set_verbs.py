"""Set operations of SQL, with and without duplicates: null equals null, NaN equals NaN, and -0.0 equals 0.0."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import pytest

import flo
from tests.relational.harness import Source, agree
from tests.relational.rows import BERLIN, TEXTS, TIMES


class One(NamedTuple):
    a: int | None
    f: float | None
    t: str


class Other(NamedTuple):
    """The same columns in another order, and one of them without nulls."""

    f: float
    t: str
    a: int | None


class Moment(NamedTuple):
    sold: Annotated[datetime, BERLIN] | None


FLOATS = [float("nan"), 0.0, -0.0, 1e308]


def draw_one(rng: random.Random) -> One:
    return One(rng.choice([None, 2**63 - 1]), rng.choice([None, *FLOATS]), rng.choice(TEXTS[:2]))


def draw_other(rng: random.Random) -> Other:
    return Other(rng.choice(FLOATS), rng.choice(TEXTS[:2]), rng.choice([None, 2**63 - 1]))


SOURCES = {
    "l": Source(One, draw_one),
    "r": Source(Other, draw_other),
    "m": Source(Moment, lambda rng: Moment(rng.choice([None, *TIMES]))),
    "o": Source(Moment, lambda rng: Moment(rng.choice([None, *TIMES]))),
}
VERBS: dict[str, tuple[Any, str]] = {
    "union": (lambda left, right: left.union(right), "UNION ALL"),
    "union_distinct": (lambda left, right: left.union_distinct(right), "UNION"),
    "except": (lambda left, right: left.except_(right), "EXCEPT"),
    "except_all": (lambda left, right: left.except_(right, all=True), "EXCEPT ALL"),
    "intersect": (lambda left, right: left.intersect(right), "INTERSECT"),
    "intersect_all": (lambda left, right: left.intersect(right, all=True), "INTERSECT ALL"),
}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 12))])
def test_set_operations(seed: int) -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("sets")
        left, right = flow.input("l", flo.ZSet[One]), flow.input("r", flo.ZSet[Other])
        moments, others = flow.input("m", flo.ZSet[Moment]), flow.input("o", flo.ZSet[Moment])
        for name, (make, _) in VERBS.items():
            flow.output(name, make(left, right))
            flow.output(f"{name}_of_times", make(moments, others))
        flow.output("distinct", left.distinct())
        return flow

    queries = {name: f"SELECT a, f, t FROM l {words} SELECT a, f, t FROM r" for name, (_, words) in VERBS.items()}
    queries |= {f"{name}_of_times": f"FROM m {words} FROM o" for name, (_, words) in VERBS.items()}
    agree(build, SOURCES, {**queries, "distinct": "SELECT DISTINCT * FROM l"}, seed=seed)

"""Random relational programs whose changes come in any order, also retractions before their insertions.

The result after the last change depends on the sum of all changes alone. So no query is needed beside a program: its
result for all changes in one push is compared with its results for every other cut and order.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import narwhals as nw

import flo
from flo.values.canonical import instant_element
from tests.relational.random_programs import SOURCES, VERBS, Cents, Draw, Instant, Relation, Verb

Delta = dict[str, dict[Any, int]]
ORDERED = (int, str, float, datetime, Cents, Instant)


class ShuffledDraw(Draw):
    """Draws one program, with every aggregate and with verbs that have no equal in DuckDB."""

    @property
    def verbs(self) -> list[Verb]:
        return [*VERBS, _group_by, _group_by, _computed, _asof, _windows, _session, _distinct_on, _rollup]

    def aggregates(self, of: Relation) -> tuple[dict[str, Any], dict[str, str], set[str]]:
        specs, texts, _ = super().aggregates(of)
        specs |= every_aggregate(self.rng, of)
        return specs, {**dict.fromkeys(specs, "NULL"), **texts}, set()


def every_aggregate(rng: random.Random, of: Relation) -> dict[str, Any]:
    """Some aggregates of some columns."""
    found: dict[str, Any] = {}
    for name in rng.sample(list(of.fields), min(2, len(of.fields))):
        by = rng.choice(list(of.fields))
        found[f"any_{name}"] = flo.count_distinct(name, by)
        if name in of.of(*ORDERED):
            found[f"first_{name}"] = flo.first(name, order_by=flo.desc(by))
            found[f"last_{name}"] = flo.last(name, order_by=by)
            found[f"mode_{name}"] = flo.mode(name)
            found[f"all_{name}"] = flo.collect(name)
            found[f"low_{name}"] = flo.quantile(name, 0.3, interpolation="lower")
            if by in of.of(*ORDERED):
                found[f"at_{name}"] = flo.arg_max(by, by=name)
        if name in of.of(str):
            found[f"text_{name}"] = flo.string_agg(name, "|")
        if name in of.of(int, float, Cents):
            found[f"part_{name}"] = flo.quantile(name, 0.7)
            found[f"mean_{name}"] = flo.avg(name)
            found[f"once_{name}"] = flo.sum(name, distinct=True)
            for kind in ("var_pop", "var_samp", "stddev_pop", "stddev_samp"):
                found[f"{kind}_{name}"] = getattr(flo, kind)(name)
            other = rng.choice(of.of(int, float, Cents))
            for kind in ("covar_pop", "covar_samp", "corr"):
                found[f"{kind}_{name}"] = getattr(flo, kind)(name, other)
    names = rng.sample(list(found), min(6, len(found)))
    return {name: found[name] for name in names}


def _unsure(stream: Any) -> Relation:
    """A stream for which there is no query."""
    return Relation(stream, "SELECT NULL")


def _computed(draw: Draw, of: Relation) -> Relation:
    """Every column read by an expression, which raises for a null in a column that has none."""
    names = {name: nw.coalesce(name, name) for name in of.fields}
    return _unsure(of.stream.select(**names))


def _group_by(draw: Draw, of: Relation) -> Relation:
    key = draw.rng.choice(list(of.fields))
    specs = {name: each for name, each in draw.aggregates(of)[0].items() if name != key}
    return _unsure(of.stream.group_by(key).agg(**specs))


def _rollup(draw: Draw, of: Relation) -> Relation:
    keys = draw.rng.sample(list(of.fields), min(2, len(of.fields)))
    specs = {name: each for name, each in draw.aggregates(of)[0].items() if name not in keys}
    return _unsure(getattr(of.stream, draw.rng.choice(["rollup", "cube"]))(*keys).agg(**specs))


def _asof(draw: Draw, of: Relation) -> Relation:
    draw.joins += 1
    on = [name for name in of.fields if name in of.of(int, str, datetime, Instant)]
    if not on:
        return of
    at, by = draw.rng.choice(on), draw.rng.choice(list(of.fields))
    options = {"by": by} if draw.rng.random() < 0.6 and by != at else {}
    how, direction = draw.rng.choice(["left", "inner"]), draw.rng.choice(["backward", "forward"])
    other = of.stream.filter(draw.condition(of, 1)[0])
    return _unsure(of.stream.join_asof(other, on=at, how=how, direction=direction, suffix=f"_{draw.joins}", **options))


def _windows(draw: Draw, of: Relation) -> Relation:
    times = [name for name, kind in of.fields.items() if kind in (datetime, Instant)]
    if not times or {"window_start", "window_end"} & set(of.fields):
        return of
    hour = timedelta(hours=1)
    if draw.rng.random() < 0.5:
        return _unsure(of.stream.tumble(hour, draw.rng.choice(times)))
    return _unsure(of.stream.hop(2 * hour, hour, draw.rng.choice(times)))


def _session(draw: Draw, of: Relation) -> Relation:
    times = [name for name, kind in of.fields.items() if kind in (datetime, Instant)]
    if not times or {"window_start", "window_end"} & set(of.fields):
        return of
    return _unsure(of.stream.session(timedelta(minutes=45), draw.rng.choice(times), by=draw.rng.choice([*of.fields])))


def _distinct_on(draw: Draw, of: Relation) -> Relation:
    return _unsure(of.stream.distinct(on=draw.rng.choice(list(of.fields)), order_by=draw.rng.choice(list(of.fields))))


def draw_shuffled(seed: int) -> flo.Flow:
    """The program of a seed."""
    return ShuffledDraw(seed).program()[0]


def draw_changes(seed: int, size: int = 10) -> list[tuple[str, Any, int]]:
    """Changes of the inputs, each (input, row, weight), which come to a multiset of rows."""
    rng = random.Random(seed)
    changes: list[tuple[str, Any, int]] = []
    for name, source in SOURCES.items():
        for _ in range(rng.randrange(2 * size)):
            row = instant_element(source.draw(rng))
            changes.append((name, row, 1))
            if rng.random() < 0.5:
                changes.append((name, row, -1))
    return changes


def cut_changes(changes: list[tuple[str, Any, int]], seed: int) -> list[Delta]:
    """The changes in an order and in pushes that are drawn."""
    rng = random.Random(seed)
    changes = rng.sample(changes, len(changes))
    cuts = sorted({0, len(changes), *(rng.randrange(len(changes) + 1) for _ in range(rng.randrange(1, 8)))})
    return [add_up(changes[low:high]) for low, high in pairwise(cuts)]


def add_up(changes: list[tuple[str, Any, int]]) -> Delta:
    """All changes in one push."""
    delta: dict[str, Counter[Any]] = {name: Counter() for name in SOURCES}
    for name, row, weight in changes:
        delta[name][row] += weight
    return {name: {row: weight for row, weight in each.items() if weight} for name, each in delta.items()}

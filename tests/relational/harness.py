"""A flow on values and on tables against queries of DuckDB: after every delta, what a query gives of all rows so far.

Deltas insert rows and take them back, also rows that come and go in one delta, and several equal ones.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import duckdb

import flo
from flo.columns.layout import Layout
from flo.tables.dataflow import Dataflow
from flo.tables.plan import VALUES, plan
from flo.values.canonical import instant_element
from tests.engines.engine import comparable
from tests.harness import keeping_all_digits
from tests.spark.simulated import as_plain

Draw = Callable[[random.Random], Any]
Deltas = list[dict[str, dict[Any, int]]]


@dataclass(frozen=True)
class Query:
    """What DuckDB computes: a query with the columns of the output in their order."""

    sql: str
    close: frozenset[str] = frozenset()
    """Columns of floats that DuckDB rounds otherwise: Flo's sums are exact and rounded once."""
    of_lists: Mapping[str, Callable[[list[Any]], Any]] = field(default_factory=dict)
    """Columns for which the query gives a list of values, and what is computed of it: where DuckDB means something else
    or overflows."""


@dataclass(frozen=True)
class Source:
    """An input: the type of its rows, and what draws one."""

    row: Any
    draw: Draw
    """Rows are drawn from few values, so that groups, partners and equal rows occur."""


def random_deltas(sources: Mapping[str, Source], seed: int, steps: int, size: int) -> Deltas:
    """Deltas that never take back more than there is."""
    rng = random.Random(seed)
    held: dict[str, list[Any]] = {name: [] for name in sources}
    found: Deltas = []
    for step in range(steps):
        delta: dict[str, Counter[Any]] = {name: Counter() for name in sources}
        for name, source in sources.items():
            shrinking = 0.9 if step % 7 == 6 else 0.4  # at times nearly all is taken back
            for _ in range(rng.randrange(2 * size)):
                if held[name] and rng.random() < shrinking:
                    delta[name][held[name].pop(rng.randrange(len(held[name])))] -= 1
                else:
                    row = instant_element(source.draw(rng))  # Python takes both halves of a repeated hour as equal
                    held[name] += [row] * (times := rng.choice([1, 1, 2]))
                    delta[name][row] += times
        found.append({name: dict(each) for name, each in delta.items()})
    return found


def agree(
    build: Callable[[], flo.Flow],
    sources: Mapping[str, Source],
    queries: Mapping[str, Query | str],
    *,
    seed: int = 1,
    steps: int = 12,
    size: int = 4,
) -> None:
    """Runs a flow on values and on tables, and DuckDB on all rows so far; fails at the first difference."""
    flow, other = build(), build()
    here = other.on(flo.here)
    loops = flow.loop(negative="allow"), here.loop(negative="allow")
    behind = [
        each.operator.name
        for each in plan(Dataflow(here._dag).nodes)
        if each.how == VALUES and each.operator.name != "source"
    ]
    assert not behind, "they have no form on tables"
    types = dict(zip(other._outputs, here._dag.output_types, strict=True))
    everything = {name: Counter[Any]() for name in sources}
    compared = {name: query if isinstance(query, Query) else Query(query) for name, query in queries.items()}
    assert set(compared) == set(flow._outputs)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'; SET threads = 1")
        for step, delta in enumerate([{}, *random_deltas(sources, seed, steps, size)]):
            for loop in loops:
                loop.push(**delta)
                loop.run()
            for name, source in sources.items():
                everything[name].update(delta.get(name, {}))
                layout = Layout.of(source.row)
                assert layout is not None
                database.register("rows_so_far", layout.to_table(list(everything[name].elements())))
                # a table of its own: on Arrow's it would compare with Arrow, in which NaN is not equal to NaN
                database.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM rows_so_far")
            with keeping_all_digits():
                on_values, on_tables = (loop.result() for loop in loops)
            for name, query in compared.items():
                found, table = on_values[name], as_plain(types[name], on_tables[name])
                where = f"{name} after delta {step} with seed {seed}"
                assert comparable(table) == comparable(found), f"tables and values differ: {where}"
                _same(found, database.execute(query.sql).fetchall(), query, where)


def _same(found: Mapping[Any, int], expected: list[Any], query: Query, where: str) -> None:
    """Raises unless these are the same rows, as often."""
    assert all(weight > 0 for weight in found.values()), where
    ours = [row for row, weight in found.items() for _ in range(weight)]
    if not ours and not expected:
        return
    columns = (ours[0]._columns if hasattr(ours[0], "_columns") else ours[0]._fields) if ours else ()
    theirs = [
        tuple(query.of_lists[name](value or []) if name in query.of_lists else value for name, value in parts)
        for parts in (list(zip(columns, row, strict=True)) for row in expected)
    ]
    exact = [place for place, name in enumerate(columns) if name not in query.close]
    close = [place for place, name in enumerate(columns) if name in query.close]

    def by_exact(row: Any) -> str:
        return repr([plain(row[place]) for place in exact])

    left, right = sorted(map(tuple, ours), key=by_exact), sorted(theirs, key=by_exact)
    assert list(map(by_exact, left)) == list(map(by_exact, right)), _differences(left, right, by_exact, where)
    for one, other in zip(left, right, strict=True):
        for place in close:
            assert is_close(one[place], other[place]), f"{columns[place]}: {one} and {other} in {where}"


def _differences(left: list[Any], right: list[Any], text: Callable[[Any], str], where: str) -> str:
    ours, theirs = Counter(map(text, left)), Counter(map(text, right))
    more, fewer = sorted((ours - theirs).elements()), sorted((theirs - ours).elements())
    return f"{where}\n  only Flo:    {more}\n  only DuckDB: {fewer}"


def plain(value: Any) -> Any:
    """A value such that equal ones have the same text in both: one zero, one NaN, instants in UTC, lists as tuples."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    if isinstance(value, Decimal):
        return Decimal(0) if not value else value.normalize()
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return value


def is_close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    one, other = float(one), float(other)
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)

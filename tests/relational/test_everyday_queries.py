"""Queries as people write them at the first attempt, on values and on tables, against DuckDB."""

from __future__ import annotations

import random
from typing import Annotated, Any, NamedTuple

import pyarrow as pa

import flo
from tests.relational.harness import Query, Source, agree

UInt = Annotated[int, pa.uint64()]


class Reading(NamedTuple):
    place: str | None
    value: int | None
    size: UInt | None
    note: str


def draw_reading(rng: random.Random) -> Reading:
    return Reading(
        rng.choice([None, "a", "b"]),
        rng.choice([None, -1, 0, 7, 2**63 - 1]),
        rng.choice([None, 0, 3, 2**63, 2**64 - 1]),
        rng.choice(["", "x", "y"]),
    )


READINGS = {"readings": Source(Reading, draw_reading)}


def compare(make: Any, sql: str, close: frozenset[str] = frozenset(), **options: Any) -> None:
    """Compares the stream that `make` builds of the readings with a query, after every delta."""

    def build() -> flo.Flow:
        flow = flo.Flow("everyday")
        flow.output("found", make(flow.input("readings", flo.ZSet[Reading])))
        return flow

    agree(build, READINGS, {"found": Query(sql, close)}, **options)


def test_an_aggregate_reads_one_column_twice() -> None:
    compare(
        lambda readings: readings.group_by("place").agg(
            least=flo.first("value", order_by="value"),
            last=flo.last("note", order_by=["note", "value"]),
            best=flo.arg_max("value", by="value"),
            notes=flo.string_agg("note", order_by=flo.desc("note")),
            values=flo.collect("value", order_by=["value", "value"]),
            different=flo.count_distinct("value", "value"),
        ),
        """SELECT place, min(value), max(note), max(value), string_agg(note, ',' ORDER BY note DESC),
        coalesce(list(value ORDER BY value) FILTER (value IS NOT NULL), []), count(DISTINCT value)
        FROM readings GROUP BY place""",
    )


def test_unsigned_numbers_are_computed_on_tables() -> None:
    compare(
        lambda readings: readings.group_by("place").agg(
            total=flo.sum("size"),
            mean=flo.avg("size"),
            middle=flo.median("size"),
            spread=flo.var_pop("size"),
            together=flo.covar_pop("size", "value"),
            different=flo.sum_distinct("size"),
        ),
        """SELECT place, sum(size::HUGEINT), avg(size), median(size::DOUBLE), var_pop(size::DOUBLE),
        covar_pop(size, value), sum(DISTINCT size::HUGEINT) FROM readings GROUP BY place""",
        frozenset({"mean", "middle", "spread", "together"}),
    )
    compare(
        lambda readings: (
            readings.over(partition_by="place", order_by=["note", "value", "size"])
            .with_columns(running=flo.sum("size", rows=(-1, 0)))
            .select("place", "note", "running")
        ),
        """SELECT place, note, sum(size::HUGEINT) OVER (PARTITION BY place
        ORDER BY note, value NULLS FIRST, size NULLS FIRST ROWS 1 PRECEDING) FROM readings""",
    )

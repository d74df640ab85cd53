"""Sinks of one output, of each kind: a program for them, and how to start it, push to it and compare."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa

import flo
from flo.local.query import LocalQuery
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.sinks.sinks import Changes
from flo.shards.sinks.upserts import Upsert


class Sale(NamedTuple):
    shop: str
    price: int


Build = Callable[[Any], Any]
"""Makes the output of the sales."""


def flow_of(build: Build) -> flo.Flow:
    """A program with an output `sums`, for a sink, and the same as a view."""
    flow = flo.Flow("shops")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("kept", sales.distinct())
    flow.output("sums", build(sales))
    flow.output("view", build(sales))
    return flow


def sums(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.sum("price"))


def sums_and_counts(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.sum("price"), n=flo.count())


def counts(sales: Any) -> Any:
    return sales.group_by("shop").agg(n=flo.count())


def means(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.avg("price"))


def names(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.sum("price")).with_columns(total=nw.col("shop"))


def large_sums(sales: Any) -> Any:
    return sums(sales.filter(nw.col("price") > 4))


PROGRAMS = [sums, sums_and_counts, counts, means, names, large_sums, sums]


@dataclass
class Place:
    """A kind of sinks: how one is made, what it has, and how it is dropped."""

    folder: Path
    kind: str
    taken: list[pa.Table] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / f"sink of {self.kind}"

    def sink(self) -> Any:
        if self.kind == "changes":
            return Changes(str(self.path))
        return Upsert(self.kind, "sums", {"uri": str(self.path)})

    def execute(self, statement: str) -> list[dict[str, Any]]:
        if self.kind == "sqlite":
            with sqlite3.connect(self.path) as connection:
                cursor = connection.execute(statement)
                names = [each[0] for each in cursor.description or ()]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        import duckdb

        with duckdb.connect(str(self.path)) as connection:
            result: Any = connection.execute(statement)
            return list(result.to_arrow_table().to_pylist()) if statement.startswith("SELECT") else []

    def rows(self) -> Counter[Any]:
        if self.kind == "changes":
            stored = StoredChanges(str(self.path))
            tables = [part.changes() for part in stored.parts(None, -1, None)[0]]
            rows = [row for table in tables for row in table.to_pylist()]
        else:
            rows = [{**row, "_weight": 1} for row in self.execute("SELECT * FROM sums")]
        total = Counter[Any]()
        for row in rows:
            weight = row.pop("_weight")
            total[plain(row)] += weight
        return Counter({row: weight for row, weight in total.items() if weight})

    def drop(self) -> None:
        if self.kind == "changes":
            shutil.rmtree(self.path)
        else:
            self.execute("DROP TABLE sums")


def plain(row: dict[str, Any]) -> Any:
    """The values of a row that are not null, by name: a column that an output does not have any more is null."""
    values = {name: value for name, value in row.items() if value is not None and name != "_weight"}
    return tuple(sorted((name, each if isinstance(each, str) else float(each)) for name, each in values.items()))


def start(
    place: Place, build: Callable[[Any], Any] = sums, sink: Any = ..., where: str = "c", **more: Any
) -> LocalQuery:
    outputs = {"sums": place.sink() if sink is ... else sink}
    return flow_of(build).on(flo.here).start(outputs, checkpoint=place.folder / where, **more)


def compare(place: Place, query: LocalQuery) -> None:
    view = Counter(
        plain({k: v for k, v in row.items() if k != "_weight"}) for row in query.view("view").arrow().to_pylist()
    )
    assert place.rows() == view
    assert not list(Checkpoint(query._batches.folder).problems())


def push(query: LocalQuery, *rows: tuple[str, int]) -> None:
    query.push(sales=[Sale(*row) for row in rows])


class Everything(NamedTuple):
    id: int
    flag: bool | None
    number: float | None
    text: str | None
    data: bytes | None
    day: date | None
    at: datetime | None
    amount: Decimal | None


EVERYTHING = [
    Everything(1, True, 0.1, "a", b"\x00\xff", date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, 3, 4), Decimal("1.5")),
    Everything(2, False, -1e300, "", b"", date(1969, 1, 1), datetime(1969, 1, 1), Decimal("-0.000000000000000001")),
    Everything(3, None, None, None, None, None, None, None),
    Everything(4, True, float("inf"), "'\"\n\\ é 𝄞", b"'", date(9999, 1, 1), datetime(2262, 1, 1), Decimal(10**15)),
]


def types_flow() -> flo.Flow:
    flow = flo.Flow("types")
    rows = flow.input("rows", flo.ZSet[Everything])
    flow.output("rows", rows.distinct(on="id"))
    flow.output("view", rows.distinct(on="id"))
    return flow

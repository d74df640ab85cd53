"""Changed programs whose outputs have other columns, with sinks of real brokers and tables.

After each start, the rows of the sink are those of a view of the same stream."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import flo
from flo.spark import Upsert
from flo.spark.driver.query import Query
from tests.connectors.driver import create_topic
from tests.local.sink_places import (
    EVERYTHING,
    counts,
    flow_of,
    means,
    names,
    plain,
    sums,
    sums_and_counts,
    types_flow,
)

pytestmark = [pytest.mark.connectors, pytest.mark.slow]
PROGRAMS = [sums, sums_and_counts, counts, means, names, sums]


def run_all(spark: SparkSession, folder: Path, sink: Upsert, rows: Callable[[], list[dict[str, Any]]]) -> None:
    """Runs one program after the other; each has more rows than the one before."""

    def run(number: int, sink: Upsert, **more: Any) -> Query:
        source = spark.readStream.schema("shop string, price long, _weight long").parquet(str(folder / "sales"))
        query: Query = (
            flow_of(PROGRAMS[number])
            .on(spark)
            .start(
                {"sales": source},
                {"sums": sink},
                checkpoint=folder / "c",
                shards=2,
                trigger={"availableNow": True},
                **more,
            )
        )
        query.wait()
        assert Counter(map(plain, rows())) == Counter(map(plain, query.view("view").arrow().to_pylist()))
        return query

    for number in range(len(PROGRAMS)):
        new = [("a", number, 1), (f"only {number}", 5, 1)] + ([(f"only {number - 1}", 5, -1)] if number else [])
        frame = spark.createDataFrame(new, "shop string, price long, _weight long")
        frame.coalesce(1).write.mode("append").parquet(str(folder / "sales"))
        run(number, sink, changed="fill")
    run(number, sink)
    version = run(number, sink.reconcile()).view("view").version
    assert run(number, sink).view("view").version == version


@pytest.mark.needs("delta")
def test_delta(connected: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/delta"

    def rows() -> list[dict[str, Any]]:
        return [row.asDict() for row in connected.read.format("delta").load(path).collect()]

    run_all(connected, tmp_path, Upsert("delta", path), rows)


@pytest.mark.needs("iceberg")
def test_iceberg(connected: SparkSession, tmp_path: Path) -> None:
    def rows() -> list[dict[str, Any]]:
        connected.catalog.refreshTable("ice.flo.columns")
        return [row.asDict() for row in connected.table("ice.flo.columns").collect()]

    run_all(connected, tmp_path, Upsert("iceberg", "ice.flo.columns"), rows)


def test_postgresql(connected: SparkSession, database: str, tmp_path: Path) -> None:
    driver = import_module("adbc_driver_postgresql.dbapi")

    def rows() -> list[dict[str, Any]]:
        with driver.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT to_json(other)::text FROM other")
            return [json.loads(row[0]) for row in cursor.fetchall()]

    run_all(connected, tmp_path, Upsert("postgresql", "other", {"uri": database}), rows)


@pytest.mark.needs("kafka")
def test_kafka(connected: SparkSession, servers: str, tmp_path: Path) -> None:
    """Messages have the columns of the moment, and no others."""
    options = {"kafka.bootstrap.servers": servers}
    create_topic(connected, servers, "columns", partitions=2)

    def rows() -> list[dict[str, Any]]:
        frame = connected.read.format("kafka").options(**options, subscribe="columns").load()
        last = {bytes(row.key): row.value for row in frame.orderBy("partition", "offset").collect()}
        return [json.loads(value) for value in last.values() if value is not None]

    run_all(connected, tmp_path, Upsert("kafka", "columns", options), rows)


def test_postgresql_gives_all_types_back(database: str, tmp_path: Path) -> None:
    """In this process; nothing differs, so nothing is committed."""
    sink = Upsert("postgresql", "types", {"uri": database})
    with types_flow().on(flo.here).start({"rows": sink}, checkpoint=tmp_path) as query:
        query.push(rows=EVERYTHING)
    with types_flow().on(flo.here).start({"rows": sink.reconcile()}, checkpoint=tmp_path) as query:
        assert query.view("view").version == 0

"""Places that rows go to by a key: tables of Delta, Iceberg and PostgreSQL, and a topic of Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from flo.spark import Upsert
from tests.connectors.driver import create_topic

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Place:
    kind: str
    sink: Upsert
    rows: Callable[[], Rows]
    """What it has now."""


def delta_place(spark: SparkSession, folder: Path) -> Place:
    path = f"{folder}/delta"
    return Place("delta", Upsert("delta", path), lambda: _rows_of(spark.read.format("delta").load(path)))


def iceberg_place(spark: SparkSession) -> Place:
    name = f"ice.flo.t{uuid4().hex}"

    def rows() -> Rows:
        spark.catalog.refreshTable(name)
        return _rows_of(spark.table(name))

    return Place("iceberg", Upsert("iceberg", name), rows)


def postgresql_place(uri: str) -> Place:
    driver = import_module("adbc_driver_postgresql.dbapi")

    def rows() -> Rows:
        with driver.connect(uri) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT to_json(place)::text FROM place")
            return [json.loads(row[0]) for row in cursor.fetchall()]

    return Place("postgresql", Upsert("postgresql", "place", {"uri": uri}), rows)


def kafka_place(spark: SparkSession, servers: str) -> Place:
    options = {"kafka.bootstrap.servers": servers}
    create_topic(spark, servers, "place", partitions=2)

    def rows() -> Rows:
        frame = spark.read.format("kafka").options(**options, subscribe="place").load()
        last = {bytes(row.key): row.value for row in frame.orderBy("partition", "offset").collect()}
        return [json.loads(value) for value in last.values() if value is not None]

    return Place("kafka", Upsert("kafka", "place", options), rows)


def _rows_of(frame: Any) -> Rows:
    return [row.asDict() for row in frame.collect()]

"""Changed programs whose outputs have other columns, with sinks of real brokers and tables.

After each start, the rows of the sink are those of a view of the same stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import flo
from flo.spark import Upsert
from flo.spark.driver.query import Query
from tests.connectors.places import Place
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


def test_outputs_with_other_columns(connected: SparkSession, place: Place, tmp_path: Path) -> None:
    """Messages have the columns of the moment, and no others."""
    run_all(connected, tmp_path, place.sink, place.rows)


def test_postgresql_gives_all_types_back(database: str, tmp_path: Path) -> None:
    """In this process; nothing differs, so nothing is committed."""
    sink = Upsert("postgresql", "types", {"uri": database})
    with types_flow().on(flo.here).start({"rows": sink}, checkpoint=tmp_path) as query:
        query.push(rows=EVERYTHING)
    with types_flow().on(flo.here).start({"rows": sink.reconcile()}, checkpoint=tmp_path) as query:
        assert query.view("view").version == 0

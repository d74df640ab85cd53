"""Views over files of changes, compared with batch Spark; and functions in Python that queries call."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

SCHEMA = "shop int, name string, n int"


def register_functions(spark: Any) -> None:
    """Register the functions that the queries of the tests call."""
    import pandas as pd
    from pyspark.sql.functions import pandas_udf, udf

    def mean(n):
        return float(n.mean())

    mean.__annotations__ = {"n": pd.Series, "return": float}
    spark.udf.register("plus_one", udf(lambda n: n + 1, "int"))
    spark.udf.register("minus_one", udf(lambda n: n - 1, "int"))
    spark.udf.register("at_random", udf(lambda n: n, "int").asNondeterministic())
    spark.udf.register("in_python", pandas_udf(mean, "double"))


def rows_of(frame: Any) -> Counter[tuple[Any, ...]]:
    """The rows of a DataFrame, with their weights if it has a column of them."""
    names = [name for name in frame.columns if name != "_weight"]
    found: Counter[tuple[Any, ...]] = Counter()
    for row in frame.collect():
        found[tuple(row[name] for name in names)] += row["_weight"] if "_weight" in frame.columns else 1
    return found


def rows_of_view(table: Any) -> Counter[tuple[Any, ...]]:
    """The rows of a view."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in table.to_pylist():
        found[tuple(value for name, value in row.items() if name != "_weight")] += row.get("_weight", 1)
    return found


def write_changes(folder: Path, number: int, changes: list[tuple[int, str | None, int, int]]) -> None:
    """Write a file of rows, each with its weight."""
    folder.mkdir(exist_ok=True)
    names = ("shop", "name", "n", "_weight")
    lines = (json.dumps(dict(zip(names, row, strict=True))) for row in changes)
    waiting = folder / f".{number}"
    waiting.write_text("\n".join(lines))
    waiting.rename(folder / f"{number}.json")


def stream_of(spark: Any, folder: Path) -> Any:
    """The changes as a stream, one file in each micro-batch."""
    return spark.readStream.schema(f"{SCHEMA}, _weight long").option("maxFilesPerTrigger", 1).json(str(folder))


def answers(spark: Any, folder: Path, queries: dict[str, str]) -> dict[str, Counter[tuple[Any, ...]]]:
    """What batch Spark gives for all changes that were written."""
    changes = spark.read.schema(f"{SCHEMA}, _weight long").json(str(folder)).collect()
    weights: Counter[tuple[Any, ...]] = Counter()
    for row in changes:
        weights[row.shop, row.name, row.n] += row["_weight"]
    assert not -weights
    spark.createDataFrame(list(weights.elements()), SCHEMA).createOrReplaceTempView("sales")
    return {name: rows_of(spark.sql(query)) for name, query in queries.items()}

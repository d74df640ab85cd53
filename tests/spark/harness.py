"""A program on Spark against the same program on values: cut into micro-batches, on several numbers of shards."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

import flo
from flo.columns.changes import REST
from flo.shards.tasks.state import Shard
from flo.spark.driver.query import Query
from flo.tables.io.files import WEIGHTS
from flo.tables.values import WEIGHT, is_ordered, rows_of
from flo.values.changes import DELETED, shape_of

POSITION = "_position"


def table(of: Any, data: Any, start: int = 0) -> pa.Table:
    """Plain data as a table that an input takes."""
    found = rows_of(of, of.value(data)).table
    found = found if shape_of(of.element) is None else as_given(of, found)
    if is_ordered(of):
        return found.append_column(POSITION, pa.array(range(start, start + found.num_rows), pa.int64()))
    return found.rename_columns([WEIGHTS if name == WEIGHT else name for name in found.column_names])


def as_given(of: Any, changes: pa.Table) -> pa.Table:
    """Changes of a table with a key as users give them: with a column that names deletes."""
    shape, rest = shape_of(of.element), changes[REST].combine_chunks()
    parts = rest.flatten() if pa.types.is_struct(rest.type) else []
    columns = dict(zip([f.name for f in rest.type] if parts else [], parts, strict=True))
    columns |= {name: changes[name] for name in shape.leading}
    found = pa.table({name: columns[name] for name in shape.columns})
    found = found.append_column(DELETED, rest.is_null())
    return found if is_ordered(of) else found.append_column(WEIGHT, changes[WEIGHT])


def frame(spark: Any, of: Any, data: Any) -> Any:
    rows = table(of, data)
    return spark.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def reading(spark: Any, folder: Path) -> Any:
    """A stream of the files in a folder, one for each micro-batch. Their schema is read here: Spark would run a job."""
    schema = from_arrow_schema(pq.read_schema(min(folder.iterdir())), prefer_timestamp_ntz=True)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def cut(data: Any, parts: int, rng: random.Random) -> list[Any]:
    """The data in order, in so many pieces, some of them empty."""
    items = list(data.items()) if isinstance(data, dict) else list(data)
    places = sorted(rng.randint(0, len(items)) for _ in range(parts - 1))
    pieces = [items[low:high] for low, high in zip([0, *places], [*places, len(items)], strict=True)]
    return [dict(piece) if isinstance(data, dict) else piece for piece in pieces]


def streamed(
    spark: Any, flow: flo.Flow, data: dict[str, Any], folder: Path, *, parts: int = 3, shards: int = 2, seed: int = 0
) -> Query:
    """The query that has taken all of the data, bounded inputs as tables, others in micro-batches."""
    rng = random.Random(seed)
    whole = {stream.name: (data.get(stream.name, []), 1 if stream.bounded else parts) for stream in flow._scope.inputs}
    return fed(spark, flow, {name: cut(items, count, rng) for name, (items, count) in whole.items()}, folder, shards)


def fed(
    spark: Any, flow: flo.Flow, pieces: dict[str, list[Any]], folder: Path, shards: int = 2, **options: Any
) -> Query:
    """The query that has taken these pieces, one in each micro-batch; of a bounded input, the first one as a table."""
    inputs, order = {}, {}
    for stream in flow._scope.inputs:
        of: Any = stream.type.collection
        if is_ordered(of):
            order[stream.name] = POSITION
        if stream.bounded:
            inputs[stream.name] = frame(spark, of, pieces[stream.name][0])
            continue
        source, start = folder / "in" / stream.name, 0
        source.mkdir(parents=True, exist_ok=True)
        for number, piece in enumerate(pieces[stream.name]):
            rows = table(of, piece, start)
            start += rows.num_rows
            file = source / f"{number:03}.parquet"
            pq.write_table(rows, file)
            os.utime(file, (number, number))  # Spark takes the oldest file first
        inputs[stream.name] = reading(spark, source)
    query = flow.on(spark).start(
        inputs, checkpoint=folder / "checkpoint", order=order, shards=shards, trigger={"availableNow": True}, **options
    )
    query.wait()
    return query


@contextmanager
def reading_once() -> Iterator[None]:
    """A version of a shard is read once for all views: to read the graph of a stage takes long, if it is large."""
    known: dict[Any, Any] = {}

    class Once(Shard):
        def __init__(self, *arguments: Any) -> None:
            self.arguments = arguments

        def read(self, version: int) -> tuple[Any, Any, Any]:
            place = (*self.arguments[:4], version)
            if place not in known:
                known[place] = Shard(*self.arguments).read(version)
            found: tuple[Any, Any, Any] = known[place]
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flo.shards.micro_batches.Shard", Once)
        yield


def values(query: Query) -> dict[str, Any]:
    """All views, as plain data."""
    with reading_once():
        return {name: view.value() for name, view in query.views().items()}


def agree(spark: Any, flow: flo.Flow, data: dict[str, Any], folder: Path, **options: Any) -> Query:
    """The query, whose outputs are the same as on values."""
    expected = flow.run(**data, negative="allow")
    query = streamed(spark, flow, data, folder, **options)
    found = values(query)
    for name, value in expected.items():
        assert found[name] == value, name
    return query

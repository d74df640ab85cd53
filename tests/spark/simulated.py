"""The tasks of a program without Spark: the same code, in this process, in an order and in partitions that are drawn.

A shuffle is a grouping by shard here. So hundreds of programs can be tried in the time that Spark takes to begin.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

import flo
from flo.columnar.inputs import WEIGHTS
from flo.columnar.rows import WEIGHT, Rows, layout_of, ordered, schema_of
from flo.core.errors import FloError
from flo.core.graph import nodes
from flo.spark import tasks
from flo.spark.blobs import NOTE, SCHEMA, noted
from flo.spark.kept import VIEW
from flo.spark.on_spark import OnSpark
from flo.spark.state import Shard
from flo.spark.tasks import Code, Enter, Work
from flo.spark.turns import Turns
from flo.spark.views import View
from tests.spark.harness import POSITION, cut, frame, table

NO_SPARK: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="local", defaultParallelism=2))


class Simulated:
    """A query that takes its turns in this process."""

    def __init__(self, flow: flo.Flow, folder: Path, shards: int, seed: int) -> None:
        self.flow = flow
        self.rng = random.Random(seed)
        self.on = OnSpark(flow, NO_SPARK)
        outputs = self.on._planned_outputs(dict.fromkeys(self.on._output_types, VIEW))
        self.turns = Turns(NO_SPARK, self.on._plan, outputs, str(folder), shards)
        self.version = 0
        self.ended: dict[str, bool] = {}

    def take(self, given: dict[str, Any], started: dict[str, int]) -> None:
        """One turn: rows of inputs, and the places of the first of them."""
        moving = list(self._entered(given, started))
        if self.version == 0:
            moving += [blob.batch() for blob in self.turns.literals()]
        ended = {place for place, stream in enumerate(self.flow._scope.inputs) if stream.bounded}
        turns = self.turns
        turn = turns.turn(self.version, ended)
        for code in turns.stages:
            if self.rng.random() < 0.3:
                tasks._shards.clear()  # as if another process had it
            moving = list(self._worked(Work(code, turn), moving))
        said = [noted(row[5]) for row in _rows(moving) if row[1] == NOTE]
        for each in said:
            if isinstance(each, FloError):
                raise each
        self.ended = turns._outcome(self.version, said, 0.0).ended
        self.version += 1

    def _entered(self, given: dict[str, Any], started: dict[str, int]) -> Iterator[pa.RecordBatch]:
        for stream, entry in zip(self.flow._scope.inputs, self.turns.plan.entries, strict=False):
            if stream.name not in given:
                continue
            of: Any = stream.type.collection
            rows = table(of, given[stream.name], started.get(stream.name, 0))
            position = POSITION if ordered(of) else None
            code = Code.of((entry, self.turns._sent(entry.outputs), stream.name))
            for number, part in enumerate(self._partitions(rows)):
                yield from _run(Enter(code, self.turns.shards, position), number, part.to_batches())

    def _partitions(self, rows: pa.Table) -> list[pa.Table]:
        """Rows of a source in any order, in some partitions."""
        order = list(range(rows.num_rows))
        self.rng.shuffle(order)
        rows, count = rows.take(pa.array(order, pa.int64())), self.rng.randint(1, 3)
        places = [rows.num_rows * part // count for part in range(count + 1)]
        return [rows.slice(low, high - low) for low, high in itertools.pairwise(places)]

    def _worked(self, work: Work, moving: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        by_shard: dict[int, list[Any]] = {shard: [] for shard in range(self.turns.shards)}
        for row in _rows(moving):
            by_shard[row[0]].append(row)
        shards = list(by_shard.items())
        self.rng.shuffle(shards)
        for shard, rows in shards:
            self.rng.shuffle(rows)
            columns = zip(*rows, strict=True) if rows else [[] for _ in SCHEMA]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
            yield from _run(work, shard, [pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)])

    def operators(self, level: int, shard: int) -> list[Any]:
        """Of a shard of a stage, as its state has them."""
        stage, turns = self.turns.plan.stages[level - 1], self.turns
        types = tuple(each.type for each in stage.inputs)
        read = Shard(turns.folder, turns.shards, level, shard, stage.graph, types).read(self.version - 1)
        return [node.operator for node in nodes(read[0])]

    def value(self, name: str) -> Any:
        return View(self.turns.folder, name, self.version - 1, self.turns).value()


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _run(task: Any, number: int, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "task", lambda: number)
        patch.setattr("os.fsync", lambda file: None)  # nothing is killed here
        return list(task(iter(batches)))


def simulated(flow: flo.Flow, data: dict[str, Any], folder: Path, *, parts: int, shards: int, seed: int) -> Simulated:
    """Takes all of the data: bounded inputs in the first turn, others cut at random."""
    query, rng = Simulated(flow, folder, shards, seed), random.Random(seed)
    bounded = {stream.name for stream in flow._scope.inputs if stream.bounded}
    pieces = {name: cut(items, parts, rng) for name, items in data.items() if name not in bounded}
    started = dict.fromkeys(pieces, 0)
    for number in range(parts):
        given = {name: cuts[number] for name, cuts in pieces.items()}
        query.take(given | ({name: data[name] for name in bounded & set(data)} if number == 0 else {}), started)
        started = {name: started[name] + len(cuts[number]) for name, cuts in pieces.items()}
    return query


def agree_simulated(flow: flo.Flow, data: dict[str, Any], folder: Path, **options: Any) -> Simulated:
    """The query, with the results and ends that the same program has on values."""
    expected = flow.run(**data)
    query = simulated(flow, data, folder, **options)
    for name, value in expected.items():
        assert query.value(name) == value, name
        assert query.ended[name] == expected.fixed(name), f"the end of {name}"
    for name, value in expected.late.items():
        assert query.value(name) == value, name
    return query


def as_plain(kind: Any, found: Any) -> Any:
    """An output of this type that is a table or a frame, as plain Python."""
    if isinstance(found, DataFrame):
        found = found.toArrow()
    if not isinstance(found, pa.Table):
        return found
    of = kind.collection.base
    if not ordered(of):
        weights = found[WEIGHTS] if WEIGHTS in found.column_names else pa.array([1] * found.num_rows, pa.int64())
        found = found.select(layout_of(of).names).append_column(WEIGHT, weights)
    return of.plain(Rows(of, found.cast(schema_of(of))).value())


def agree_as_one_job(spark: Any, case: Any, shards: int) -> None:
    """A program whose inputs are bounded, run to its end on Spark."""
    flow = case.build()
    inputs = {stream.name: stream.type.collection for stream in flow._scope.inputs}
    frames = {name: frame(spark, of, case.data[name]) for name, of in inputs.items()}
    order = {name: POSITION for name, of in inputs.items() if ordered(of)}
    on_spark = flow.on(spark)
    found = on_spark.run(**frames, order=order, shards=shards)
    expected = flow.run(**case.data)
    assert {name: as_plain(on_spark._output_types[name], found[name]) for name in expected} == dict(expected)

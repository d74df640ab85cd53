"""The tasks of a program without Spark: the same code, in this process, in one order or in one that is drawn.

A shuffle is a grouping by shard here. So hundreds of programs can be tried in the time that Spark takes to begin.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import flo
from flo.core.errors import FloError
from flo.local.evolution import find_evolution
from flo.local.fill_run import Change
from flo.program.retractions import Cause
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.checkpoint.program_changes import describe_program, resolve_shards, update_description
from flo.shards.micro_batches import Outcome
from flo.shards.tasks import stage_task
from flo.shards.tasks.blobs import REPORT, SCHEMA, Blob, read_blobs, unpickle
from flo.shards.tasks.context import Code, MicroBatch, enter_task
from flo.shards.tasks.input_task import PARTITION, InputColumns, InputTask
from flo.shards.tasks.output_files import VIEW
from flo.shards.tasks.stage_task import StageTask
from flo.shards.tasks.state import BLANK, Shard
from flo.shards.views import View
from flo.spark.driver.inputs import SCAN, share_columns
from flo.spark.driver.micro_batches import SparkMicroBatches
from flo.spark.on_spark import OnSpark
from flo.sql.native import BESIDE
from flo.tables.io.files import WEIGHTS
from flo.tables.values import WEIGHT, Rows, is_ordered, layout_of, schema_of
from flo.values.partitioned import Partitioned
from tests.spark.harness import POSITION, cut, frame, reading_once, table

NO_SPARK: Any = SimpleNamespace(
    sparkContext=SimpleNamespace(master="local", defaultParallelism=2, pythonExec=sys.executable)
)
APART = 100
"""The distance between the first rows of two micro-batches in a sequence, unless a test gives positions."""


class InOrder:
    """What Spark is free to do, done in the plainest way: an input is one partition, and shards follow each other."""

    def arranged(self, items: list[Any]) -> list[Any]:
        return items

    def partitions(self, rows: pa.Table) -> list[pa.Table]:
        return [rows]

    def elsewhere(self) -> bool:
        """Whether a stage runs in another process than before."""
        return False

    def in_one_task(self) -> bool:
        """Whether a micro-batch is taken for a small one."""
        return False

    def reads_inputs(self) -> bool:
        """Whether the task of a small micro-batch reads the inputs, too."""
        return True


class Drawn(InOrder):
    """The same in a way that is drawn."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def arranged(self, items: list[Any]) -> list[Any]:
        return self.rng.sample(items, len(items))

    def partitions(self, rows: pa.Table) -> list[pa.Table]:
        order = self.arranged(list(range(rows.num_rows)))
        rows, count = rows.take(pa.array(order, pa.int64())), self.rng.randint(1, 3)
        places = [rows.num_rows * part // count for part in range(count + 1)]
        return [rows.slice(low, high - low) for low, high in itertools.pairwise(places)]

    def elsewhere(self) -> bool:
        return self.rng.random() < 0.3

    def in_one_task(self) -> bool:
        return self.rng.random() < 0.4

    def reads_inputs(self) -> bool:
        return self.rng.random() < 0.7


class Simulated:
    """A query that takes its micro-batches in this process, from where its checkpoint is. A seed draws what is free."""

    def __init__(
        self,
        flow: flo.Flow,
        folder: str | Path,
        shards: int | None = None,
        how: str = VIEW,
        seed: int | None = None,
        retracting: Mapping[str, str] | None = None,
    ) -> None:
        """`retracting` says why inputs can retract rows, for those that can; None: any may, in the plan."""
        on, where = OnSpark(flow, NO_SPARK), str(folder)
        outputs = on._program.plan_outputs(dict.fromkeys(on._output_types, how))
        outline = flow._outline(retracting or {})
        causes = None if retracting is None else {name: Cause(name, why=why) for name, why in retracting.items()}
        plan = on._plan if causes is None else on._program.plan_for(causes)
        ours = describe_program(flow.name, plan, list(on._inputs), outputs, shards or on._parallelism(), outline)
        self.batches = SparkMicroBatches(NO_SPARK, plan, outputs, where, resolve_shards(where, ours, shards))
        self.batches.now = on._now
        evolution = find_evolution(on._program, self.batches, ours, Change("reject", {}, (), "raise"))
        assert evolution is None, "a changed program is not simulated"
        update_description(where, ours)
        self.inputs = list(on._inputs.values())
        self.free = InOrder() if seed is None else Drawn(seed)
        self.version = max(committed_versions(where), default=-1) + 1
        """The micro-batch that is next. One that was committed comes again if this is set back."""
        self.outcome: Outcome

    def turn(self, given: Mapping[str, Any], **options: Any) -> None:
        self.take(given, **options)
        self.commit()

    def take(
        self, given: Mapping[str, Any], *, started: Mapping[str, int] | None = None, times: int = 1, ends: bool = True
    ) -> None:
        """Runs the tasks of a micro-batch, those of shards so many times. `started` are positions of first rows;
        `ends` says whether the bounded inputs have ended."""
        enter, parts = self._read(given, started or {})
        ended = {place for place, stream in enumerate(self.inputs) if ends and stream.bounded}
        turn = self.batches.micro_batch(self.version, ended)
        in_one = self.version > 0 and not self.batches.plan.natives and self.free.in_one_task()
        if in_one and self.batches.now is None and self.free.reads_inputs():
            task, rows = self.batches.small_batch_task(enter), pa.concat_tables(self.free.arranged(parts))
            moving = [_run(task, 0, rows, replace(turn, tasks=1)) for _ in range(times)][-1]
        else:
            moving = [blob for number, part in enumerate(parts) for blob in _run(enter, number, part)]
            moving += self.batches.now_blobs(self.version)
            moving += self.batches.literal_blobs() if self.version == 0 else []
            moving = (self._run_in_one_task if in_one else self._run_stages)(turn, moving, times)
        reports = [unpickle(blob.data) for blob in moving if blob.delivery == REPORT]
        for each in reports:
            if isinstance(each, FloError):
                raise each
        self.outcome = self.batches.summarize(self.version, reports, 0.0)

    def commit(self) -> None:
        """What was taken is there for readers."""
        self.batches.commit_micro_batch(self.outcome)
        self.version += 1

    def _read(self, given: Mapping[str, Any], started: Mapping[str, int]) -> tuple[InputTask, list[pa.Table]]:
        """The task that reads the inputs, and the partitions of their rows, all in the same columns."""
        tables, inputs = [], []
        read = [place for place in range(len(self.inputs)) if place != self.batches.now]
        for stream in (self.inputs[place] for place in read):
            of: Any = stream.type.collection
            start = started.get(stream.name, APART * self.version)
            if isinstance(of, Partitioned):
                tables.append(partitioned_table(of, given.get(stream.name, {}), start))
            else:
                tables.append(table(of, given.get(stream.name, []), start))
        places = share_columns(rows.schema.types for rows in tables)
        types = {
            at: kind
            for rows, own in zip(tables, places, strict=True)
            for at, kind in zip(own, rows.schema.types, strict=True)
        }
        parts = []
        for number, (rows, own) in enumerate(zip(tables, places, strict=True)):
            stream, entry = self.inputs[read[number]], self.batches.plan.entries[read[number]]
            of = stream.type.collection
            partitioned = isinstance(of, Partitioned)
            columns = InputColumns(
                Code.of((entry, self.batches.deliveries(entry.outputs), stream.name)),
                tuple(zip(rows.column_names, own, strict=True)),
                POSITION if partitioned or is_ordered(of) else None,
                PARTITION if partitioned else None,
            )
            inputs.append((columns,))
            for part in self.free.partitions(rows):
                count = part.num_rows
                columns = {
                    str(at): part[own.index(at)] if at in own else pa.nulls(count, types[at]) for at in sorted(types)
                }
                parts.append(pa.table({SCAN: pa.array([number] * count, pa.int32()), **columns}))
        return InputTask(tuple(inputs), self.batches.shards), parts

    def _run_in_one_task(self, turn: MicroBatch, moving: list[Blob], times: int) -> list[Blob]:
        task, rows = self.batches.small_batch_task(), [blob.batch() for blob in self.free.arranged(moving)]
        given, turn = pa.Table.from_batches(rows, SCHEMA), replace(turn, tasks=1)
        return [_run(task, 0, given, turn) for _ in range(times)][-1]

    def _run_stages(self, turn: MicroBatch, moving: list[Blob], times: int) -> list[Blob]:
        moving = self._run_natives(0, moving)
        for level, code in enumerate(self.batches.stages, 1):
            if self.free.elsewhere():
                stage_task._shards.clear()
            moving = self._run_natives(level, self._run_stage(StageTask(code, turn), moving, times))
        return moving

    def _run_stage(self, work: StageTask, moving: list[Blob], times: int) -> list[Blob]:
        sent: list[Blob] = []
        tasks = self.batches.tasks
        for task in self.free.arranged(list(range(tasks))):
            mine = self.free.arranged([blob.batch() for blob in moving if blob.shard % tasks == task])
            attempts = [_run(work, task, pa.Table.from_batches(mine, SCHEMA)) for _ in range(times)]
            sent += attempts[-1]
        return sent

    def _run_natives(self, level: int, moving: list[Blob]) -> list[Blob]:
        """What Catalyst runs after a level, run here."""
        natives = self.batches.plan.natives_after(level)
        sent = [blob for blob in moving if blob.delivery not in {each.delivery.number for each in natives}]
        numbers = itertools.count()
        for each in natives:
            _, unpack, pack = self.batches.tasks_around(each)
            given = [blob.batch() for blob in moving if blob.delivery == each.delivery.number]
            *columns, weights = pa.Table.from_batches([*unpack(given)], unpack.schema).columns
            rows, places = each.segment.flattened(pa.table(columns, names=list(each.segment.input.names)))
            found = rows.append_column(BESIDE, weights.take(pa.array(places, pa.int64())))
            for part in self.free.partitions(found):
                sent += _run(pack, next(numbers), part)
        return sent

    def operators(self, level: int, shard: int) -> list[Any]:
        """Of a shard of a stage, as its state has them."""
        stage, batches = self.batches.plan.stages[level - 1], self.batches
        versions = batches.state_versions(self.version - 1)[level]
        shard = shard if shard in versions.shards else BLANK
        read = Shard(batches.folder, batches.shards, level, shard, stage.dag).read(versions.version(shard))
        return [node.operator for node in read[0]]

    def values(self) -> dict[str, Any]:
        """All outputs, which are views, as readers see them."""
        batches = self.batches
        with reading_once():
            return {each.name: View.of(batches.folder, each.name, None, batches).value() for each in batches.outputs}


def partitioned_table(of: Partitioned[Any], given: Mapping[int, Any], start: int) -> pa.Table:
    """The rows of all partitions, with the position of each in its own."""
    tables = [
        each.append_column(PARTITION, pa.array([partition] * each.num_rows, pa.int32()))
        for partition, each in ((partition, table(of.inner, rows, start)) for partition, rows in given.items())
    ]
    nothing = table(of.inner, [], start).append_column(PARTITION, pa.array([], pa.int32()))
    return pa.concat_tables([nothing, *tables])


def _run(task: Any, number: int, rows: pa.Table, turn: MicroBatch | None = None) -> list[Blob]:
    enter_task(number, lambda: turn)
    return list(read_blobs(task(iter(rows.combine_chunks().to_batches()))))


def simulated(
    flow: flo.Flow,
    data: dict[str, Any],
    folder: Path,
    *,
    parts: int,
    shards: int,
    seed: int,
    retracting: Mapping[str, str] | None = None,
) -> Simulated:
    """Takes all of the data: bounded inputs in the first micro-batch, others cut at random."""
    query, rng = Simulated(flow, folder, shards, seed=seed, retracting=retracting), random.Random(seed)
    bounded = {stream.name for stream in flow._scope.inputs if stream.bounded}
    pieces = {name: cut(items, parts, rng) for name, items in data.items() if name not in bounded}
    started = dict.fromkeys(pieces, 0)
    for number in range(parts):
        given = {name: cuts[number] for name, cuts in pieces.items()}
        at_once = {name: data[name] for name in bounded & set(data)} if number == 0 else {}
        query.turn(given | at_once, started=started)
        started = {name: started[name] + len(cuts[number]) for name, cuts in pieces.items()}
    return query


def agree_simulated(flow: flo.Flow, data: dict[str, Any], folder: Path, **options: Any) -> Simulated:
    """The query, with the results and ends that the same program has on values."""
    expected = flow.run(**data, negative="allow")
    query = simulated(flow, data, folder, **options)
    found = query.values()
    for name, value in expected.items():
        assert found[name] == value, name
        assert query.outcome.ended[name] == expected.fixed(name), f"the end of {name}"
    for name, value in expected.late.items():
        assert found[name] == value, name
    return query


def as_plain(kind: Any, found: Any) -> Any:
    """An output of this type that is a table or a frame, as plain Python."""
    if isinstance(found, DataFrame):
        found = found.toArrow()
    if not isinstance(found, pa.Table):
        return found
    of = kind.collection.base
    if not is_ordered(of):
        weights = found[WEIGHTS] if WEIGHTS in found.column_names else pa.array([1] * found.num_rows, pa.int64())
        found = found.select(layout_of(of).names).append_column(WEIGHT, weights)
    schema = schema_of(of)  # a struct that may be null cannot be cast, not even to its own type
    columns = [
        each if each.type == field.type else each.cast(field.type) for each, field in zip(found, schema, strict=True)
    ]
    return of.plain(Rows(of, pa.Table.from_arrays(columns, schema=schema)).value())


def agree_as_one_job(spark: Any, case: Any, shards: int) -> None:
    """A program whose inputs are bounded, run to its end on Spark."""
    flow = case.build()
    inputs = {stream.name: stream.type.collection for stream in flow._scope.inputs}
    frames = {name: frame(spark, of, case.data[name]) for name, of in inputs.items()}
    order = {name: POSITION for name, of in inputs.items() if is_ordered(of)}
    on_spark = flow.on(spark)
    found = on_spark.run(**frames, order=order, shards=shards)
    expected = flow.run(**case.data, negative="allow")
    assert {name: as_plain(on_spark._output_types[name], found[name]) for name in expected} == dict(expected)

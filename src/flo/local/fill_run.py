"""The run of a fill: its program takes all rows so far, as micro-batches with a checkpoint of their own.

    checkpoint/fill     purpose.json     the change that it is for, and the version that it follows
                        commits/…        after each push: how many pushes and rows it has taken

A fill that was interrupted goes on after the pushes that it has committed. One that is for another change is removed,
and so is one that has read rows of the user, which may be others now.

Invariant: the pushes of a fill are the same at each start, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from flo.api.scope import NOW
from flo.local.durable import DurableLoop
from flo.local.run_progress import RunProgress
from flo.pictures.run_history import FillFigures
from flo.shards.checkpoint.commits import committed_versions, read_commit
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.program_changes import FILL
from flo.shards.evolution.comparison import Holder
from flo.shards.evolution.filling import FillProgram, Refilled
from flo.shards.evolution.snapshots import count_rows, read_rows
from flo.shards.micro_batches import MicroBatches
from flo.shards.plan.planning import plan_stages
from flo.shards.plan.stages import Entry, Plan
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.sinks import ViewSink
from flo.shards.tasks.output_files import VIEW, Output, inputs_with_diverted_rows, read_diverted
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import read_sealed, write_sealed
from flo.tables.io.diverted import Diverted, OnError
from flo.tables.io.feeding import Feeder
from flo.tables.io.files import DataPart, DataSource, Piece, PlainData
from flo.tables.values import Rows, layout_of

PURPOSE = "purpose.json"
PUSHES, ROWS = "pushes", "filled"
"""In a commit of the fill: how many pushes and how many rows it has taken."""
OnChange: TypeAlias = Literal["reject", "fill"]
Push: TypeAlias = Callable[[], int]
"""Pushes a part of the rows of an input; returns how many."""


@dataclass(frozen=True)
class Change:
    """What the user allows of a changed program."""

    changed: OnChange
    fill: Mapping[str, object]
    """The user's own rows of inputs."""
    refill: Sequence[str]
    """The names of functions whose code has changed."""
    on_error: OnError
    misfits: Mapping[str, bool] = field(default_factory=dict)
    """The outputs whose sinks are compared with them, and whether they must be: see `Giving.find_misfits`."""


@dataclass(frozen=True)
class FillJob:
    """What a fill computes, and from which version of which checkpoint."""

    flow: str
    fill: FillProgram
    checkpoint: str
    version: int
    shards: int
    tasks: int
    memory: int | None
    """How many bytes of state a process keeps in memory."""
    change: Change
    ended: frozenset[str]
    """The inputs that have ended."""
    inputs: tuple[str, ...]
    """The inputs of the new program, in their order."""
    entries: Mapping[str, Entry]
    """By input, the operators of the new program before the first shuffle."""
    program: str
    """Identifies the new program."""
    figures: FillFigures

    @property
    def where(self) -> str:
        return f"{self.checkpoint}/{FILL}"

    @property
    def diverts(self) -> bool:
        """Whether rows on which a function raises are left out."""
        return self.change.on_error == "divert"

    @property
    def read_inputs(self) -> list[Refilled]:
        """The inputs whose rows the checkpoint does not hold."""
        return [each for each in self.fill.inputs if each.holder is None]

    def input_of(self, place: int) -> str:
        """The input of the new program whose diverted rows those of an input of the fill belong to: the first one that
        they come from."""
        sources = self.fill.sources[self.fill.inputs[place].stream] - {NOW}
        return next((name for name in self.inputs if name in sources), self.inputs[0])


@dataclass(frozen=True)
class Filled:
    """What a fill has computed."""

    version: int = -1
    """Its last version; -1 if there was nothing to fill."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """The stage of the fill program that has the state of an operator."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of rows that it has read of ordered inputs, by name."""
    diverted: Mapping[str, pa.Table] = field(default_factory=dict)
    """The rows that it has diverted, by input."""
    read_whole: frozenset[str] = frozenset()
    """The inputs of which it has diverted all rows that the new program diverts."""


class FillRows(NamedTuple):
    """The rows of an input of the fill program."""

    rows: int | None
    """How many, if it is known before they are read."""
    pushes: Iterator[Push]


class FillRun:
    """Runs a fill in this process, or in workers. An engine overrides how the loop starts, and how rows get there."""

    reads_again = False
    """Whether sources can be read again."""

    def __init__(self, job: FillJob, lease: Lease) -> None:
        self.job = job
        self.checkpoint = Checkpoint(job.checkpoint)
        self._done, self._rows = self._find_done()
        plan = plan_stages(job.fill.dag)
        outputs = [
            Output(name, stream, kind.type, VIEW)
            for name, stream, kind in zip(job.fill.outputs, plan.outputs, job.fill.dag.outputs, strict=False)
        ]
        self.loop = self.start_loop(plan, outputs, lease)
        self.labels = {self._label(place): place for place in range(len(job.fill.inputs))}
        """By the name that errors use, the inputs of the fill program."""
        self.feeder = Feeder(self.loop, self.labels, job.change.on_error)
        self.read_whole: set[str] = set()
        """The inputs of which it has diverted all rows that the new program diverts."""

    def start_loop(self, plan: Plan, outputs: list[Output], lease: Lease) -> DurableLoop:
        """Starts the program before any row, or after those that it has committed."""
        batches = MicroBatches(plan, outputs, self.job.where, self.job.shards, self.job.tasks)
        batches.memory = self.job.memory
        return DurableLoop(self.job.fill.dag, batches, self.views_of(batches), lease)

    def views_of(self, batches: MicroBatches) -> Giving:
        """What keeps the outputs of the fill."""
        return Giving(batches, {each.name: ViewSink() for each in batches.outputs})

    def run(self) -> Filled:
        """Takes all rows; returns what is computed then."""
        try:
            every = [self._rows_of(place, each) for place, each in enumerate(self.job.fill.inputs)]
            figures = self.job.figures
            counts = [each.rows for each in every if each.rows is not None]
            figures.total = sum(counts) if len(counts) == len(every) else None
            figures.rows = figures.began = self._rows
            with RunProgress(f"{self.job.flow}: filling", figures.total) as bar:
                bar.moved(self._rows)
                for number, push in enumerate(self._pushes(every)):
                    if number >= self._done:
                        bar.moved(self._take(push, number + 1))
                        figures.rows = self._rows
        finally:
            self.loop.executor.stop()
        return self._result()

    def _pushes(self, every: list[FillRows]) -> Iterator[Push]:
        """The pushes of one input after the other, and then the ends. There is at least one."""
        has_rows = False
        for push in chain.from_iterable(each.pushes for each in every):
            has_rows = True
            yield push
        if self._ended_places or not has_rows:
            yield self._push_ends

    def _result(self) -> Filled:
        fill, where, version = self.job.fill, self.job.where, self.loop.version - 1
        stages = self.loop.batches.plan.stages
        levels = {v.id: stage.level for stage in stages for v in stage.dag.vertices if v.id in fill.ids}
        counts = {fill.inputs[place].stream.name: count for place, count in self.loop.counts.items()}
        names = {*inputs_with_diverted_rows(where), *(self.read_whole if self.job.diverts else ())}
        diverted = {name: read_diverted(where, name, version) for name in sorted(names)}
        return Filled(version, levels, counts, diverted, frozenset(self.read_whole))

    def _take(self, push: Push, number: int) -> int:
        """Takes a part of the rows, and commits it; returns how many they are."""
        rows = push()
        self.loop.run()
        self._rows += rows
        diverted: dict[str, list[Diverted]] = {}
        for label, each in self.feeder.diverted.take_rows().items():
            diverted.setdefault(self.job.input_of(self.labels[label]), []).extend(each)
        self.loop.commit(diverted, {PUSHES: number, ROWS: self._rows})
        return rows

    def _find_done(self) -> tuple[int, int]:
        """How many pushes and rows an interrupted fill has committed."""
        job = self.job
        purpose = {"after": job.version, "program": job.program}
        files, newest = folder(job.where), max(committed_versions(job.where), default=-1)
        if files.exists(PURPOSE) and not any(each.stream.name in job.change.fill for each in job.read_inputs):
            known = read_sealed(files, PURPOSE)
            commit = read_commit(job.where, newest) if newest >= 0 else {PUSHES: 0, ROWS: 0}
            if {**known, **purpose} == known and PUSHES in commit:
                return int(commit[PUSHES]), int(commit[ROWS])
        folder(job.checkpoint).remove(FILL)
        write_sealed(files, PURPOSE, purpose)
        return 0, 0

    def _label(self, place: int) -> str:
        """The name of an input of the fill program in errors."""
        each, before = self.job.fill.inputs[place], self.job.fill.inputs[:place]
        if each.holder is None:
            return each.stream.name
        sources = [name for name in self.job.inputs if name in self.job.fill.sources[each.stream]]
        nth = sum(other.holder is not None for other in before) + 1
        return f"rows kept of {' and '.join(sources) or 'literals'} ({nth})"

    def _rows_of(self, place: int, each: Refilled) -> FillRows:
        name = each.stream.name
        if each.holder is not None:
            return self.rows_of_state(place, each.holder)
        if name in self.job.change.fill:
            return self._given_rows(name, self.job.change.fill[name])
        if name == NOW:
            return self._given_rows(name, datetime.now(UTC))
        return self.rows_of_source(place, name)

    def rows_of_state(self, place: int, holder: Holder) -> FillRows:
        """The rows that the checkpoint holds."""
        of: Any = self.job.fill.inputs[place].stream.type.collection
        label = next(label for label, at in self.labels.items() if at == place)
        tables = read_rows(self.checkpoint, self.job.version, holder, layout_of(of.base).schema)
        pushes = (partial(self.feeder.feed_rows, label, Rows(of.base, table)) for table in tables)
        return FillRows(count_rows(self.checkpoint, self.job.version, holder), pushes)

    def rows_of_source(self, place: int, name: str) -> FillRows:
        """The rows that the source of an input still has: none if it is new, which is the only such case here."""
        return self._given_rows(name, [])

    def _given_rows(self, name: str, given: object) -> FillRows:
        """The user's own rows."""
        source = self.feeder.open(name, given)
        parts = self.feeder.read_parts(name, source)
        return FillRows(source.rows, (partial(self._feed, name, part) for part in parts if _size_of(part) != 0))

    def _feed(self, name: str, part: DataPart) -> int:
        self.feeder.feed_in_turn([(name, DataSource(iter([part]), None))])
        return _size_of(part) or 0

    @property
    def _ended_places(self) -> list[int]:
        """The places of the inputs whose streams have ended."""
        sources = [self.job.fill.sources[each.stream] for each in self.job.fill.inputs]
        return [place for place, each in enumerate(sources) if each and each <= self.job.ended]

    def _push_ends(self) -> int:
        inputs = self.job.fill.inputs
        for place in self._ended_places:
            end = inputs[place].stream.type.collection.bottom().fix()
            self.loop.push(tuple(end if at == place else None for at in range(len(inputs))))
        return 0


def _size_of(part: DataPart) -> int | None:
    """The number of rows of a part of an input; None if it is not known."""
    match part:
        case Piece():
            return int(part.table.num_rows)
        case PlainData(data):
            return len(data) if hasattr(data, "__len__") else None
    return 1


class StartFill(Protocol):
    """Starts fills on an engine."""

    @property
    def reads_again(self) -> bool:
        """Whether sources can be read again."""

    def __call__(self, job: FillJob, lease: Lease) -> FillRun: ...

"""Micro-batches without the engine that runs them: which state each starts from, what its tasks report, its commit.

    inputs ──> blobs for shards ──> stage 1 ──> blobs ──> stage 2 ──> reports ──> Outcome ──> commit

Version 7 of a program with 3 shards, in which only shards 0 and 2 receive rows:

    state versions of stage 1       shard 0    shard 1    shard 2
    after version 6                 6          4          5
    after version 7                 7          4          7         shard 1 is not run and not written

Invariant: version v reads the states that the commit of version v - 1 names, and writes states of version v. It is
committed once all shards and sinks have it.

An engine moves the blobs and runs the tasks: `flo.local` in processes, `flo.spark` in jobs.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from flo.core.collection import Value
from flo.shards.checkpoint.commits import PROGRAM, Commits, LastGiven, commit_version, read_state_versions
from flo.shards.checkpoint.leftovers import remove_leftovers
from flo.shards.checkpoint.moments import forget_moment, record_moment
from flo.shards.checkpoint.program_changes import read_shards
from flo.shards.checkpoint.retention import KeptVersions, Retention
from flo.shards.plan.stages import POSITION, Delivery, Plan, Stage
from flo.shards.tasks.blobs import Blob
from flo.shards.tasks.context import MicroBatch
from flo.shards.tasks.figures import OTHER, BatchFigures
from flo.shards.tasks.hot_keys import Hot, merge_hot, new_in
from flo.shards.tasks.input_task import run_entry
from flo.shards.tasks.output_files import Output
from flo.shards.tasks.sending import Sender
from flo.shards.tasks.shard_record import ShardRecord
from flo.shards.tasks.state import READABLE, Shard, StateVersions
from flo.tables.values import Rows, is_ordered


@dataclass(frozen=True)
class Outcome:
    """The result of one micro-batch."""

    version: int
    rows: dict[str, int]
    """Rows of changes, by output."""
    ended: dict[str, bool]
    """Whether each output has ended."""
    written: int
    """Bytes of state."""
    taken: dict[str, int]
    """Rows read, by input, before any filter."""
    seconds: float
    diverted_files: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """The files of diverted rows, by input, with the number of rows in each."""
    diverted_whole: set[str] = field(default_factory=set)
    """The inputs whose files have all rows that they have diverted so far."""
    changed_files: dict[str, list[str]] = field(default_factory=dict)
    """By output, the files of its changes."""
    stage_rows: dict[int, int] = field(default_factory=dict)
    """Rows received, by stage."""
    stage_seconds: dict[int, float] = field(default_factory=dict)
    """Seconds of the slowest task, by stage."""
    rounds: dict[str, dict[int, int]] = field(default_factory=dict)
    """By the id of a fixpoint, which `named` sets: the rows of its relations that changed in each round, from 1 on.
    Rounds without changes are left out."""
    figures: BatchFigures = field(default_factory=BatchFigures)
    """Where its time went, what its operators did, its rows by shard, and its clocks."""

    @property
    def diverted(self) -> dict[str, int]:
        """Rows diverted, by input."""
        return {name: sum(count for _, count in files) for name, files in self.diverted_files.items()}


class MicroBatches:
    """The micro-batches of a program, one version after the other."""

    rest = OTHER
    """The name of the seconds that no task of a micro-batch has taken."""

    def __init__(
        self,
        plan: Plan,
        outputs: list[Output],
        folder: str,
        shards: int,
        tasks: int,
        checkpoint: str = "",
        retention: Retention | None = None,
    ) -> None:
        self.plan = plan
        self.outputs = outputs
        self.folder = folder
        self.shards = shards
        self.tasks = min(shards, tasks)
        self.checkpoint = checkpoint
        """The id of the checkpoint; empty for a batch job, which keeps none."""
        self.retention = retention or Retention()
        commits = Commits.read(folder) if folder else Commits(frozenset(), {})
        self._kept = KeptVersions.of(commits, min(commits.own, default=0))
        """The versions that readers may read."""
        self.run = uuid.uuid4().hex
        """Identifies this start of the query."""
        self.program: int | None = None
        """The version with which the program has begun, if another one ran before it."""
        self._is_tidy = not checkpoint
        """Whether what programs before have left was removed."""
        self.now: int | None = None
        """The number of the input that gets the time of the outside world, if there is one."""
        self.memory: int | None = None
        """How many bytes of state each process keeps in memory; None if all."""
        self._begun: int | None = None
        """The first micro-batch that this start has run."""
        self._recent: dict[int, dict[int, StateVersions]] = {}
        """The state versions of the last versions, committed or not."""

    def deliveries(self, streams: Iterable[int]) -> tuple[Delivery, ...]:
        return tuple(each for stream in streams for each in self.plan.deliveries_of(stream))

    def deliveries_from(self, stage: Stage) -> tuple[Delivery, ...]:
        return self.deliveries((*stage.outputs, *(output for _, output in stage.natives)))

    def literal_blobs(self) -> list[Blob]:
        """The literals of the program, which enter in the first micro-batch."""
        blobs: list[Blob] = []
        for number, source in self.plan.literals.items():
            entry = self.plan.entries[number]
            assert source.value is not None
            sender = Sender(self.deliveries(entry.outputs), self.shards, number)
            sender.add(run_entry(sender, entry, _with_positions(source.value)))
            blobs += sender.blobs()
        return blobs

    def now_blobs(self, version: int) -> list[Blob]:
        """The time of a micro-batch, which is recorded before the micro-batch runs."""
        if self.now is None:
            return []
        entry = self.plan.entries[self.now]
        sender = Sender(self.deliveries(entry.outputs), self.shards, self.now)
        moment = record_moment(self.folder, version)
        sender.add(run_entry(sender, entry, entry.type.collection.value(moment)))
        return list(sender.blobs())

    def micro_batch(self, version: int, ended: set[int]) -> MicroBatch:
        """The description of a micro-batch for its tasks. `ended` are the inputs that have ended."""
        ended = ended | set(self.plan.literals)
        done = frozenset(stream for stream, inputs in self.plan.sources.items() if inputs <= ended)
        versions = self.state_versions(version - 1)
        oldest, tagged = self._oldest_for(version), self._kept.tagged
        self._begun = version if self._begun is None else self._begun
        return MicroBatch(
            version,
            self.run,
            self.folder,
            self.shards,
            self.tasks,
            done,
            versions,
            oldest,
            tagged=tagged,
            memory=self.memory,
            begun=self._begun,
        )

    def state_versions(self, version: int) -> dict[int, StateVersions]:
        """The state versions of a version, by level: from memory, or from its commit."""
        if version < 0:
            return {}
        if version in self._recent:
            return self._recent[version]
        return read_state_versions(self.folder, version, self.shards_at(version))

    def shards_at(self, version: int) -> int:
        """The number of shards of a version: a program before may have had another one."""
        return self.shards if self.program is None or version >= self.program else read_shards(self.folder, version)

    def _oldest_for(self, version: int) -> int:
        """The oldest version that readers may read during a micro-batch; the same if it runs again after its commit."""
        return max(0, min(self._kept.oldest, version - READABLE))

    def summarize(self, version: int, reports: list[Any], seconds: float) -> Outcome:
        """The outcome of a micro-batch, from the reports of its tasks. Remembers the new state versions."""
        rows, taken = {output.name: 0 for output in self.outputs}, Counter[str]()
        ended: dict[str, bool] = {}
        diverted: dict[str, list[tuple[str, int]]] = {}
        changed: dict[str, list[str]] = {}
        stage_seconds: dict[int, float] = {}
        versions = dict(self.state_versions(version - 1))
        for each in reports:
            if "stage" in each:
                before = versions.get(each["stage"], StateVersions())
                versions[each["stage"]] = before.with_changes(version, each["shards"], each["deliveries"])
                stage_seconds[each["stage"]] = max(stage_seconds.get(each["stage"], 0.0), each["seconds"])
            for name, files in each.get("diverted", {}).items():
                diverted.setdefault(name, []).extend(files)
            taken.update(each.get("taken", {}))
            for name, count in each.get("rows", {}).items():
                rows[name] += count
            for name, paths in each.get("files", {}).items():
                changed.setdefault(name, []).extend(paths)
            ended.update(each.get("ended", {}))
        if self.checkpoint:  # a shard copies rows from the files of another one
            self._note_hot_keys(versions, [each.get("hot", {}) for each in reports])
        self._recent = {**self._recent, version: versions}
        figures = BatchFigures.of(reports, seconds, self.rest)
        written = sum(each.get("written", 0) for each in reports)
        changed = {name: sorted(paths) for name, paths in changed.items()}
        return Outcome(
            version,
            rows,
            ended,
            written,
            dict(taken),
            seconds,
            diverted,
            changed_files=changed,
            stage_rows={level: sum(rows.values()) for level, rows in figures.shard_rows.items()},
            stage_seconds=stage_seconds,
            rounds={name: rounds for each in reports for name, rounds in each.get("rounds", {}).items()},
            figures=figures,
        )

    def _note_hot_keys(self, versions: dict[int, StateVersions], hot_keys: list[Hot]) -> None:
        """Adds hot keys that tasks have found to the stages of their joins. Those that were new have their rows moved
        now."""
        for stage in self.plan.stages:
            own = {vertex.id for vertex in stage.dag.vertices}
            more = [{join: keys for join, keys in each.items() if join in own} for each in hot_keys]
            before = versions[stage.level]
            if any(more) or before.new_hot:
                hot = merge_hot(before.hot, *more)
                versions[stage.level] = replace(before, hot=hot, new_hot=new_in(hot, before.hot))

    def set_state_versions(self, version: int, versions: dict[int, StateVersions]) -> None:
        """Says where the states of a version are, which no micro-batch has written."""
        self._recent = {**self._recent, version: versions}

    def forget_before(self, version: int) -> None:
        """Forget the state versions before one, which nothing goes back to."""
        self._recent = {each: versions for each, versions in self._recent.items() if each >= version}

    def commit_micro_batch(
        self,
        outcome: Outcome,
        epoch: int = 0,
        given: Mapping[str, LastGiven] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Commits a micro-batch: from now on readers see its version. `more` is what an engine notes with it."""
        versions = self.state_versions(outcome.version)
        more = {**(more or {}), **({} if self.program is None else {PROGRAM: self.program})}
        commit_version(self.folder, outcome.version, self.shards, versions, epoch, given, more)
        self.forget_before(outcome.version)
        if self.now is not None:
            forget_moment(self.folder, outcome.version - 2)
        self._kept = self.retention.apply(self.folder, outcome.version) or self._kept
        if not self._is_tidy and self._kept.oldest >= (self.program or 0):
            remove_leftovers(self.folder)
            self._is_tidy = True

    def read_records(self, output: Output, version: int) -> Iterator[tuple[int, ShardRecord]]:
        """The record of every shard of the stage that has this output."""
        stage = next(stage for stage in self.plan.stages if output.stream in stage.outputs)
        for number, changed in self.state_versions(version)[stage.level].states():
            _, views, more = Shard(self.folder, self.shards_at(version), stage.level, number, stage.dag).read(changed)
            yield number, ShardRecord.read(views, more)


def _with_positions(value: Value) -> Value:
    """Adds positions to ordered rows, as those of a DataFrame have."""
    if not isinstance(value, Rows) or not is_ordered(value.of):
        return value
    return replace(value, table=value.table.append_column(POSITION, pa.array(np.arange(value.table.num_rows))))

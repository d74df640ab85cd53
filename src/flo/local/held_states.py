"""Tasks of a stage whose states are held in memory, by version, and not written.

    (level 1, shard 0)   version 3: state,  version 4: state
    (level 1, shard 1)   version 2: state                        it received nothing in 3 and 4

States are immutable and share what they have in common, so an older version costs little. A push that raises goes back
to the version before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from flo.core.collection import Value
from flo.core.graph import Node
from flo.shards.plan.stages import Stage
from flo.shards.tasks.context import MicroBatch
from flo.shards.tasks.output_files import Output
from flo.shards.tasks.shard_record import ShardRecord
from flo.shards.tasks.stage_task import StageTask, TaskReport
from flo.shards.tasks.state import BLANK, program_of
from flo.tables.checkpoint.folders import Writes
from flo.tables.dataflow import Dataflow
from flo.tables.io.unsent import merge_value


@dataclass
class HeldStates:
    """The states of the shards of one process."""

    states: dict[tuple[int, int], dict[int, tuple[list[Node], ShardRecord]]] = field(default_factory=dict)
    """By level and shard, the states by version."""

    def prepare(self, batch: MicroBatch) -> None:
        """Drop what nobody needs: versions that were gone back from, and those before the newest that is not after the
        oldest that something may go back to. Merge the chunks of outputs that were not pulled."""
        for states in self.states.values():
            before = sorted(version for version in states if version <= batch.oldest)[:-1]
            for version in [*before, *(each for each in states if each >= batch.version)]:
                del states[version]
            if states and max(states) <= batch.oldest:  # once for a push, not in each of its micro-batches
                views = states[max(states)][1].views
                views.update({name: merge_value(value) for name, value in views.items()})

    def take_unsent(self, output: str, version: int) -> Iterator[Value]:
        """The changes of an output that were not pulled, as they are after a version. They are not kept any more."""
        for states in self.states.values():
            kept = [each for each in states if each <= version]
            value = states[max(kept)][1].views.pop(output, None) if kept else None
            if value is not None:
                yield value


@dataclass(frozen=True)
class HeldStageTask(StageTask):
    """The task of a stage in one micro-batch, on states in memory."""

    held: HeldStates

    def _evict_old_shards(self) -> None:
        """Nothing: states are dropped before the first stage of a micro-batch."""

    def _read_state(self, stage: Stage, number: int) -> tuple[Dataflow, list[Node] | None, ShardRecord]:
        program = program_of(stage.dag)
        if self.batch.is_first:
            return program, None, ShardRecord()
        versions = self.batch.state_versions[stage.level]
        known = number if number == BLANK or number in versions.shards else BLANK
        nodes, record = self.held.states[stage.level, known][versions.version(number)]
        return program, nodes, record.copy()

    def _keep_state(
        self,
        stage: Stage,
        number: int,
        loop: Dataflow,
        record: ShardRecord,
        outputs: list[Output],
        report: TaskReport,
        writes: Writes,
    ) -> None:
        states: dict[int, Any] = self.held.states.setdefault((stage.level, number), {})
        states[self.batch.version] = (loop.nodes, record)

"""Tasks of a stage whose states are held in memory, by version, and not written.

    (level 1, shard 0)   version 3: state,  version 4: state
    (level 1, shard 1)   version 2: state                        it received nothing in 3 and 4

States are immutable and share what they have in common, so an older version costs little. A push that raises goes back
to the version before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flo.core.graph import Node
from flo.shards.plan.stages import Stage
from flo.shards.tasks.output_files import Output
from flo.shards.tasks.shard_record import ShardRecord
from flo.shards.tasks.stage_task import StageTask, TaskReport
from flo.shards.tasks.state import BLANK, program_of
from flo.tables.checkpoint.folders import Writes
from flo.tables.dataflow import Dataflow


@dataclass
class HeldStates:
    """The states of the shards of one process."""

    states: dict[tuple[int, int], dict[int, tuple[list[Node], ShardRecord]]] = field(default_factory=dict)
    """By level and shard, the states by version."""

    def forget(self, oldest: int) -> None:
        """Drop what nobody goes back to: all but the newest state before `oldest`, and those from there on."""
        for states in self.states.values():
            before = [version for version in states if version < oldest]
            for version in sorted(before)[:-1]:
                del states[version]

    def forget_after(self, version: int) -> None:
        """Drop the states of versions that were gone back from."""
        for states in self.states.values():
            for later in [each for each in states if each > version]:
                del states[later]


@dataclass(frozen=True)
class HeldStageTask(StageTask):
    """The task of a stage in one micro-batch, on states in memory."""

    held: HeldStates

    def _evict_old_shards(self) -> None:
        self.held.forget_after(self.batch.version - 1)
        self.held.forget(self.batch.oldest)

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

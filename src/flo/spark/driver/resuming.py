"""Where a start of a query on Spark goes on: a version of its checkpoint, and Spark's logs that belong to it.

    version     6, the newest, or an earlier one to go back to
    logs        checkpoint/spark, or checkpoint/spark_00000009 since the inputs have changed, or a folder of the user
    resumed     which of Spark's micro-batches the version includes

Invariant: a start that is rejected changes nothing. `resume` is its last step, and prepares sinks last of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from flo.core.errors import CheckpointError
from flo.local.evolution import Evolution
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.checkpoint.going_back import go_back
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.program_changes import (
    BACKS,
    COPIED,
    Description,
    read_description,
    resolve_shards,
    update_description,
)
from flo.shards.checkpoint.spark_logs import SPARK, ResumedBatches, expect_sound_logs, has_committed
from flo.shards.checkpoint.spark_offsets import LOGS, SPARK_CHECKPOINT
from flo.shards.checkpoint.tags import find_start
from flo.shards.program import checkpoint_folder
from flo.shards.sinks.giving import Giving
from flo.spark.driver.offset_logs import Place, find_places, move_logs


@dataclass(frozen=True)
class ResumePoint:
    """Where a start goes on."""

    folder: str
    ours: Description
    version: int
    shards: int
    logs: str
    """The folder of Spark's logs."""
    own_logs: bool
    """Whether the user has chosen it."""
    resumed: ResumedBatches
    known: Mapping[str, Sequence[int]]
    """The numbers that Spark's logs have for the sources of inputs."""
    goes_back: bool

    @classmethod
    def find(
        cls,
        folder: str,
        ours: Description,
        shards: int | None,
        version: int | str | None,
        spark_checkpoint: str | Path | None,
    ) -> ResumePoint:
        """Finds it, and completes our description with what the checkpoint has. Raises if Spark's logs are damaged."""
        start = find_start(folder, version)
        count = resolve_shards(folder, ours, shards, start)
        before: Description = read_description(folder, start) or {}
        ours[LOGS] = before.get(LOGS, SPARK)
        ours[SPARK_CHECKPOINT] = checkpoint_folder(spark_checkpoint) if spark_checkpoint else None
        logs = str(spark_checkpoint) if spark_checkpoint else f"{folder}/{ours[LOGS]}"
        resumed = ResumedBatches.after(folder, start)
        goes_back = start < find_start(folder, None)
        if not goes_back:
            expect_sound_logs(logs, resumed.last)
        known = before.get("offsets") or ours["offsets"]
        return cls(folder, ours, start, count, logs, spark_checkpoint is not None, resumed, known, goes_back)

    @property
    def runs_again(self) -> bool:
        """Whether Spark runs the micro-batch of the newest version again."""
        last = self.resumed.last
        return self.resumed.is_newest and not has_committed(self.logs, -1 if last is None else last)

    @property
    def places(self) -> dict[str, list[Place]]:
        """For each streaming input that the query has read, the places of its sources in Spark's logs."""
        return find_places(self.known, self.ours["offsets"])

    def resume(self, giving: Giving, evolution: Evolution | None, lease: Lease) -> ResumePoint:
        """Goes back, prepares the sinks, and moves the checkpoint to our program; returns where the query goes on."""
        ours = self.ours
        compared = evolution.changed_outputs(giving) if evolution is not None else {}
        if self.goes_back:
            giving.expect_can_go_back(ours["new_sinks"], compared)
            ours[BACKS] = go_back(self.folder, self.version, self.logs)
            expect_sound_logs(self.logs, self.resumed.last)
        copied = ours.get(COPIED, ())
        giving.resume(ours["new_sinks"], ours["replaced"], self.runs_again, copied, compared)  # it may make tables
        if evolution is None:
            update_description(self.folder, ours)
            return self
        logs = self._logs_of(evolution)
        evolution.run(giving, lease)
        return replace(self, logs=logs, resumed=ResumedBatches.after(self.folder, max(committed_versions(self.folder))))

    def _logs_of(self, evolution: Evolution) -> str:
        """The folder of Spark's logs for our program, which the switch writes if the streaming inputs have changed."""
        ours, last = self.ours, self.resumed.last
        if list(self.known.items()) == list(ours["offsets"].items()) or last is None:
            return self.logs
        if self.own_logs:
            raise CheckpointError(
                "the streaming inputs have changed, and Spark's offsets are kept outside of the checkpoint",
                facts=(("before", ", ".join(self.known)), ("now", ", ".join(ours["offsets"]))),
                instead=(("without spark_checkpoint=…", "Flo writes the offsets of the new inputs"),),
            )
        ours[LOGS] = f"{SPARK}_{evolution.version + 1:08}"
        moved = f"{self.folder}/{ours[LOGS]}"
        evolution.move_logs = partial(move_logs, self.logs, moved, last, self.known, ours["offsets"])
        return moved

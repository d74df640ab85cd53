"""What trials share: the input, what must come of it, a driver while it lives, a cluster once one is asked for."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flo.shards.tasks.state import shard_path, state_folder
from tests.spark.chaos.pipeline import CHANGES, CHECKPOINT, SHARDS, TURNS, program, write_inputs
from tests.spark.chaos.processes import LOCAL, Cluster, Driver

MOST_RESTARTS = 10


class Yard:
    """Starts processes, and ends them all at last."""

    def __init__(self, scratch: Path, seed: int) -> None:
        self.scratch = scratch
        self.source = scratch / "source"
        self.data = write_inputs(self.source, seed)
        self.expected: dict[str, Any] = {}
        """What every trial must give: the outputs of the program on values."""
        for name, value in program(scratch).run(**self.data).items():
            if isinstance(value, dict):
                value = sorted([*(row if isinstance(row, tuple) else (row,)), weight] for row, weight in value.items())
            self.expected[name] = value
        self._drivers: dict[str, Driver] = {}
        self._ever: list[Driver] = []
        self._cluster: Cluster | None = None

    def __enter__(self) -> Yard:
        return self

    def __exit__(self, *_: object) -> None:
        for driver in self._ever:
            driver.end()
        if self._cluster is not None:
            self._cluster.end()

    def cluster(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self.scratch)
        return self._cluster

    def driver(self, master: str = LOCAL) -> Driver:
        """One that waits for an order: that of the trial before, if it lives."""
        found = self._drivers.get(master)
        if found is None or not found.alive:
            found = self._drivers[master] = Driver(self.scratch, master)
            self._ever.append(found)
        return found

    def undisturbed(self) -> None:
        """A run without a disturbance gives what all trials must give."""
        folder = self.scratch / "undisturbed"
        folder.mkdir()
        driver = self.driver()
        driver.order(self.source, folder)
        answer = driver.answered()
        assert answer is not None, f"the driver ended; see {driver.log}"
        assert "outcome" in answer, answer.get("error")
        assert answer["outcome"] == self.expected


class Trial:
    """A run of the pipeline in its own folder, and what was done to it."""

    def __init__(self, yard: Yard, name: object, seed: int) -> None:
        self.yard = yard
        self.rng = random.Random(seed)
        self.folder = yard.scratch / f"trial-{name}".replace(" ", "-")
        self.folder.mkdir()
        self.master = LOCAL
        self.done: list[str] = []
        """Each disturbance."""
        self.restarts = -1
        self.differences: list[str] = []
        self.moment_name = ""
        self.driver: Driver

    def start(self, ask: str | None = None, at: int = -1) -> None:
        """The pipeline, from where it stopped."""
        self.restarts += 1
        self.driver = self.yard.driver(self.master)
        self.driver.order(self.yard.source, self.folder, ask, at)

    def moment(self, last: int = TURNS - 1) -> Callable[[], bool]:
        """Something that will happen on the way: a file that appears, in a micro-batch that is still to come."""
        checkpoint = self.folder / CHECKPOINT
        behind = [int(file.name) for file in (checkpoint / "spark" / "commits").glob("[0-9]*")]
        turn = self.rng.randint(min(max(behind, default=-1) + 1, last), last)
        level, shard = self.rng.randint(1, 2), self.rng.randrange(SHARDS)
        committed = checkpoint / "commits" / f"{turn:08}.json"
        files = [
            checkpoint / "spark" / "offsets" / str(turn),
            self.state(level, shard) / "manifests" / f"{turn:08}.json",
            checkpoint / "outputs" / "items" / f"{turn:08}" / f"{shard:05}.arrow",
            self.folder / CHANGES / f"version={turn:08}",
            committed,
            checkpoint / "spark" / "commits" / str(turn),
        ]
        file = self.rng.choice([file for file in files if not file.exists()] or files)
        self.moment_name = str(file.relative_to(self.folder))
        return lambda: file.exists() or (committed.exists() and file.parent.name != "commits")

    def state(self, level: int, shard: int) -> Path:
        return Path(str(state_folder(str(self.folder / CHECKPOINT), SHARDS).within(shard_path(level, shard))))

    def complete(self, *expected: str) -> None:
        """Restarts until the run is complete, if it fails as it may; then compares."""
        while True:
            answer = self.driver.answered()
            self.done += answer["done"] if answer else []
            if answer is not None and "outcome" in answer:
                self.compare(answer["outcome"])
                return
            error = f"the driver ended; see {self.driver.log}" if answer is None else answer["error"]
            if answer is not None and not any(each in error for each in expected):
                self.differences.append(f"failed otherwise than expected: {error}")
                return
            if self.restarts == MOST_RESTARTS:
                self.differences.append(f"not complete after {self.restarts} restarts: {error}")
                return
            self.start()

    def refused(self, *expected: str) -> bool:
        """Whether the run failed, with an error that says one of these."""
        answer = self.driver.answered()
        if answer is None or "outcome" in answer:
            self.differences.append("was not refused" if answer else "the driver ended")
            return False
        if not any(each in answer["error"] for each in expected):
            self.differences.append(f"none of {expected} is in the error: {answer['error']}")
        return True

    def compare(self, found: dict[str, Any]) -> None:
        for name, rows in self.yard.expected.items():
            if found[name] != rows:
                lost = [row for row in rows if row not in found[name]]
                new = [row for row in found[name] if row not in rows]
                self.differences.append(f"{name}: {len(found[name])} rows for {len(rows)}, lost {lost}, new {new}")

    def forget(self) -> None:
        """A trial without differences leaves nothing behind."""
        if not self.differences:
            shutil.rmtree(self.folder)

"""The figures of a micro-batch: where its time went, what its operators did, its rows by shard, and its clocks.

    report of a task      stage 1, 0.30 s     operators 0.20   state 0.06         shard 0: 900 rows
    report of a task      stage 1, 0.10 s     operators 0.08   state 0.01         shard 1: 100 rows
    the whole, 0.50 s     operators 0.20   state 0.06   shuffle 0.04   other 0.20

Invariant: the phases of a micro-batch add up to its seconds. Of tasks that run at the same time the slowest counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flo.core.graph import Node
from flo.program.dag import Dag
from flo.tables.dataflow import Work
from flo.tables.operators.clock_marks import ClockMark, read_clock

INPUTS, OPERATORS, STATE, SHUFFLE = "inputs", "operators", "state", "shuffle"
SINKS, COMMIT, OTHER = "sinks", "commit", "other"
"""The phases of a micro-batch on every engine."""
HANDING_OVER = "handing over"
"""The phase in which an engine prepares the rows of a micro-batch for Flo, and calls it."""


@dataclass
class PhaseSeconds:
    """Seconds by phase."""

    phases: dict[str, float] = field(default_factory=dict)

    def spend(self, phase: str, seconds: float) -> None:
        """Adds seconds to a phase."""
        self.phases[phase] = self.phases.get(phase, 0.0) + max(0.0, seconds)

    @contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Adds the time of a block to a phase, also if it raises."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.spend(phase, time.monotonic() - started)


@dataclass
class BatchFigures(PhaseSeconds):
    """The figures of one micro-batch."""

    work: dict[str, Work] = field(default_factory=dict)
    """By the id of an operator, what it did in all shards."""
    shard_rows: dict[int, dict[int, int]] = field(default_factory=dict)
    """By stage and shard, rows received."""
    clocks: dict[str, ClockMark] = field(default_factory=dict)
    """By the id of an operator, the clock that has moved."""

    @classmethod
    def of(cls, reports: Iterable[Any], seconds: float, rest: str = OTHER) -> BatchFigures:
        """The figures from the reports of all tasks. `rest` is the name of the seconds that no task has taken."""
        figures, slowest, stored = cls(), dict[int, Any](), dict[int, float]()
        entering = 0.0
        for each in reports:
            entering = max(entering, each.get("input_seconds", 0.0))
            level, seconds_to_store = each.get("stored", (0, 0.0))
            stored[level] = max(stored.get(level, 0.0), seconds_to_store)
            add_work(figures.work, each.get("work", {}))
            if "stage" in each:
                level = each["stage"]
                figures.shard_rows.setdefault(level, {}).update(each["shard_rows"])
                if level not in slowest or slowest[level]["seconds"] < each["seconds"]:
                    slowest[level] = each
                for name, mark in each["clocks"].items():
                    known = figures.clocks.get(name)
                    figures.clocks[name] = mark if known is None else known.joined(mark)
        phases = {INPUTS: entering, OPERATORS: 0.0, STATE: sum(stored.values()), SHUFFLE: 0.0}
        for each in slowest.values():
            for phase, spent in each["phases"].items():
                phases[phase] += spent
            phases[SHUFFLE] += each["seconds"] - sum(each["phases"].values())
        figures.phases.update(phases)
        figures.spend(rest, seconds - sum(phases.values()))
        return figures


def add_work(to: dict[str, Work], work: Mapping[str, Work]) -> None:
    """Adds what operators did."""
    for name, (taken, emitted, seconds) in work.items():
        if name in to:
            before = to[name]
            taken = tuple(map(sum, zip(before[0], taken, strict=True)))
            emitted = tuple(map(sum, zip(before[1], emitted, strict=True)))
            seconds += before[2]
        to[name] = taken, emitted, seconds


@dataclass
class TaskFigures(PhaseSeconds):
    """The figures of the task of a stage, over all of its shards."""

    work: dict[str, Work] = field(default_factory=dict)
    shard_rows: dict[int, int] = field(default_factory=dict)
    clocks: dict[str, ClockMark] = field(default_factory=dict)

    def note_clocks(self, dag: Dag, before: list[Node], after: list[Node]) -> None:
        """Notes the clocks that have moved between two states of a shard."""
        for vertex, old, new in zip(dag.vertices, before, after, strict=True):
            if new.operator is not old.operator:
                mark = read_clock(new.operator)
                if mark is not None:
                    known = self.clocks.get(vertex.id)
                    self.clocks[vertex.id] = mark if known is None else known.joined(mark)

    def as_dict(self) -> dict[str, object]:
        """The figures as the driver reads them."""
        return {"phases": self.phases, "work": self.work, "shard_rows": self.shard_rows, "clocks": self.clocks}

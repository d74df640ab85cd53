"""Spark's own reports on micro-batches: the lag, what waits in Kafka, and the seconds around a micro-batch of ours."""

from __future__ import annotations

import contextlib
import json

from flo.core.untyped import Json
from flo.shards.watching.watch import EngineReport

PHASES = {
    "asking sources": ("latestOffset", "getOffset", "getBatch"),
    "planning": ("queryPlanning",),
    "offset log": ("walCommit", "commitOffsets", "commitBatch"),
}
"""The phases around a micro-batch, and the durations of Spark that they are made of."""


def read_report(report: Json) -> EngineReport:
    """From Spark's report on a micro-batch: its number, the lag in seconds, how many rows wait in Kafka, and phases.

    The lag is None if there were no rows, and the rows are None if no source says how many it has.
    """
    durations = {name: each / 1000 for name, each in report.get("durationMs", {}).items()}
    lag = durations.get("triggerExecution", 0.0) if "addBatch" in durations else None
    waiting = [_count_waiting(each) for each in report.get("sources", ())]
    known = [count for count in waiting if count is not None]
    phases = {phase: sum(durations.get(name, 0.0) for name in names) for phase, names in PHASES.items()}
    calling = durations.get("addBatch", 0.0)
    return EngineReport(int(report["batchId"]), lag, sum(known) if known else None, phases, calling)


def _count_waiting(source: Json) -> int | None:
    """How far the offsets of a source are behind its latest, if it has topics with partitions."""
    latest, read = (_topics(source.get(name)) for name in ("latestOffset", "endOffset"))
    if latest is None or read is None:
        return None
    return sum(max(0, end - read.get(place, end)) for place, end in latest.items())


def _topics(offset: Json) -> dict[tuple[str, str], int] | None:
    """The offset of each partition of each topic."""
    with contextlib.suppress(ValueError):
        offset = json.loads(offset) if isinstance(offset, str) else offset
    if not isinstance(offset, dict) or not all(isinstance(each, dict) for each in offset.values()):
        return None
    return {(topic, name): int(end) for topic, parts in offset.items() for name, end in parts.items()}

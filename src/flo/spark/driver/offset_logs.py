"""Spark's logs of a query whose inputs change: the same offsets, for other sources.

    spark/offsets/7        v1                           spark_00000009/offsets/7    v1
                           {"batchWatermarkMs":0, …}                                {"batchWatermarkMs":0, …}
                           {"logOffset":4}     orders                               -                     visits, new
                           {"logOffset":2}     shops                                {"logOffset":4}       orders

Spark finds sources by their places. A line `-` is that of a source that nothing was read from yet: it begins at its
beginning. The logs of a source move along with it.

Invariant: the old logs stay as they are. Those of a new program are written beside them, before its first version is
committed, which says where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pyspark.sql import DataFrame

from flo.shards.checkpoint.spark_logs import COMMITS, METADATA, OFFSETS, SOURCES
from flo.sql.catalyst import leaves_of
from flo.tables.checkpoint.folders import folder

NO_OFFSET = "-"
"""The line of a source that no micro-batch has read from yet."""


def count_sources(frame: DataFrame) -> int:
    """How many streaming sources a DataFrame reads."""
    return sum(bool(leaf.isStreaming()) for leaf in leaves_of(frame._jdf.queryExecution().analyzed()))


def places_of(counts: Mapping[str, int]) -> dict[str, range]:
    """The places of the sources of each input in Spark's logs, from how many each has."""
    edges = pairwise(accumulate(counts.values(), initial=0))
    return {name: range(*edge) for name, edge in zip(counts, edges, strict=True)}


@dataclass(frozen=True)
class OffsetLines:
    """The entry of Spark's offset log for a micro-batch."""

    version: str
    about: str
    """Spark's own data, as JSON."""
    sources: tuple[str, ...]

    @classmethod
    def read(cls, logs: str, number: int) -> OffsetLines:
        version, about, *lines = folder(logs).read(f"{OFFSETS}/{number}").decode().split("\n")
        return cls(version, about, tuple(lines))

    def text(self) -> bytes:
        return "\n".join([self.version, self.about, *self.sources]).encode()


def copy_source_logs(logs: str, to: str, places: Mapping[int, int]) -> None:
    """Copies the logs of sources, from their places to other ones."""
    files, copy = folder(logs), folder(to)
    for place, new in places.items():
        for entry in files.names(f"{SOURCES}/{place}"):
            if not entry.startswith("."):
                copy.write(f"{SOURCES}/{new}/{entry}", files.read(f"{SOURCES}/{place}/{entry}"))


def move_logs(logs: str, to: str, last: int, before: Mapping[str, int], ours: Mapping[str, int]) -> None:
    """Writes logs for other inputs, from which the query goes on after its last micro-batch.

    `before` and `ours` say how many sources each input has."""
    files, copy = folder(logs), folder(to)
    old, new = places_of(before), places_of(ours)
    copy.remove(".")
    places = {
        place: target
        for name in new
        if name in old and len(old[name]) == len(new[name])
        for place, target in zip(old[name], new[name], strict=True)
    }
    copy_source_logs(logs, to, places)
    copy.write(METADATA, files.read(METADATA))
    for number in (last - 1, last):  # Spark reads the one before, too
        if number >= 0:
            lines = OffsetLines.read(logs, number)
            own = [NO_OFFSET] * sum(map(len, new.values()))
            for place, target in places.items():
                own[target] = lines.sources[place]
            copy.write(f"{OFFSETS}/{number}", OffsetLines(lines.version, lines.about, tuple(own)).text())
    if files.exists(f"{COMMITS}/{last}"):
        copy.write(f"{COMMITS}/{last}", files.read(f"{COMMITS}/{last}"))

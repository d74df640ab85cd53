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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from pyspark.sql import DataFrame

from flo.shards.checkpoint.spark_logs import COMMITS, METADATA, OFFSETS, SOURCES
from flo.sql.catalyst import leaves_of
from flo.sql.java import Java
from flo.tables.checkpoint.folders import folder

NO_OFFSET = "-"
"""The line of a source that no micro-batch has read from yet."""


class Place(NamedTuple):
    """Where Spark's logs have a source."""

    line: int
    """Its line in an entry of the offset log."""
    source: int
    """The number of its own log. Sources that read the same share it."""


def number_sources(frames: Mapping[str, DataFrame]) -> dict[str, list[int]]:
    """The numbers that Spark gives the sources of streaming DataFrames, which one query reads in this order."""
    known: list[Java] = []
    numbers: dict[str, list[int]] = {}
    for name, frame in frames.items():
        numbers[name] = []
        for leaf in leaves_of(frame._jdf.queryExecution().analyzed()):
            if leaf.isStreaming():
                same = next((place for place, other in enumerate(known) if leaf.equals(other)), len(known))
                known += [leaf] if same == len(known) else []
                numbers[name].append(same)
    return numbers


def places_of(numbers: Mapping[str, Sequence[int]]) -> dict[str, list[Place]]:
    """The places of the sources of each input, from their numbers."""
    lines = count()
    return {name: [Place(next(lines), each) for each in own] for name, own in numbers.items()}


def find_places(before: Mapping[str, Sequence[int]], ours: Mapping[str, Sequence[int]]) -> dict[str, list[Place]]:
    """For our inputs, where the logs of the query before have their sources.

    An input that is new has places there if it reads the sources of another one: Spark reads these once for both."""
    old = {name: own for name, own in places_of(before).items() if len(own) == len(ours.get(name, ()))}
    known = {number: place for name in old for number, place in zip(ours[name], old[name], strict=True)}
    shared = {name: [known[each] for each in own] for name, own in ours.items() if known.keys() >= set(own)}
    return shared | old


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


def move_logs(
    logs: str, to: str, last: int, before: Mapping[str, Sequence[int]], ours: Mapping[str, Sequence[int]]
) -> None:
    """Writes logs for other inputs, from which the query goes on after its last micro-batch.

    `before` and `ours` have the numbers of the sources of each input."""
    files, copy = folder(logs), folder(to)
    old, new = find_places(before, ours), places_of(ours)
    copy.remove(".")
    moved = [pair for name in new if name in old for pair in zip(old[name], new[name], strict=True)]
    copy_source_logs(logs, to, {place.source: target.source for place, target in moved})
    copy.write(METADATA, files.read(METADATA))
    for number in (last - 1, last):  # Spark reads the one before, too
        if number >= 0:
            lines = OffsetLines.read(logs, number)
            own = [NO_OFFSET] * sum(map(len, new.values()))
            for place, target in moved:
                own[target.line] = lines.sources[place.line]
            copy.write(f"{OFFSETS}/{number}", OffsetLines(lines.version, lines.about, tuple(own)).text())
    if files.exists(f"{COMMITS}/{last}"):
        copy.write(f"{COMMITS}/{last}", files.read(f"{COMMITS}/{last}"))

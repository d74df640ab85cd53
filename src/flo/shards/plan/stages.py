"""The data of a plan: stages, and the deliveries between them.

    orders ─> filter ─> group_by(shop) ─> sort

    level  runs                 streams         delivery
    0      Entry: filter        1: filtered     0: stream 1 to level 1, "by key" of group_by
    1      Stage: group_by      2: sums         1: stream 2 to level 2, "to one place"
    2      Stage: sort          3: the output

Invariant: an operator reads streams of its own level: those that operators of the level make, and those that are
delivered to it. A stream that is delivered has the number -1 - n there, where n is the number of the delivery.

A shard is a range of key numbers (`shard_of`). With 4 shards, shard 0 has those below 2⁶², shard 1 those below 2⁶³ and
so on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flo.columns.indices import Indices, Numbers
from flo.core.errors import Origin
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.structural import EmitOnce
from flo.program.dag import Dag, Stream, Vertex
from flo.tables.dataflow import Dataflow
from flo.tables.operator import OnTables
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.lvar import LVar

if TYPE_CHECKING:
    from flo.sql.native import Segment

STAY, KEY, KEYS, WINDOW, ONE = "stays where it is", "by key", "by its keys", "by window", "to one place"
ALL = "to all shards"
NATIVE = "to Catalyst"
"""How a delivery distributes its rows."""
MOST_SHARDS = 1 << 16
"""Shard numbers have 16 bits where rows are sorted by shard, and five digits in file names."""
POSITION = "@"
"""The column with the position of a row in its sequence, while it travels to a shard."""


@dataclass(frozen=True)
class Delivery:
    """A stream that is sent to a stage. `by` is the operator whose key selects the shard, `place` its input."""

    number: int
    stream: int
    type: StreamType
    level: int
    how: str
    by: OnTables[Operator] | None = None
    place: int = 0
    line: Origin | None = None
    """The user's line that wrote that operator."""
    alone: bool = False
    """Whether it comes from shard 0 only."""
    columns: tuple[str, ...] | None = None
    """The columns that are the key, where no operator is asked for it."""
    name: str = ""
    """What states call it: it follows from the ids of operators, and not from the rest of the plan."""
    sums_early: bool = False
    """Whether a task may send sums of its rows by key in place of the rows."""
    reduces: bool = False
    """Whether it then leaves out rows that no aggregate depends on, because none is ever retracted."""
    join: str = ""
    """The id of the join whose hot keys may be spread over shards: see `flo.shards.tasks.hot_keys`."""


@dataclass(frozen=True)
class Stage:
    """The part of the program that every shard runs at one level."""

    level: int
    dag: Dag
    inputs: tuple[Delivery, ...]
    outputs: tuple[int, ...]
    """Its output streams: delivered to later stages, or outputs of the program."""
    types: tuple[StreamType, ...]
    alone: frozenset[int]
    """The output streams that come from shard 0 only."""
    natives: tuple[tuple[int, int], ...] = ()
    """Output streams that Catalyst makes other streams of, which end together with them."""
    names: tuple[str, ...] = ()
    """What states call the output streams."""


@dataclass(frozen=True)
class Entry:
    """The part of the program that runs on the rows of an input before any shuffle."""

    input: int
    dag: Dag
    outputs: tuple[int, ...]

    @property
    def type(self) -> StreamType:
        """The type of the rows."""
        return self.dag.inputs[0].type

    @cached_property
    def dataflow(self) -> Dataflow:
        """The program of the entry, before any row."""
        return Dataflow(self.dag)


@dataclass(frozen=True)
class Native:
    """A segment that Catalyst runs on the rows of a micro-batch, between two stages."""

    level: int
    """The level that its rows come from."""
    segment: Segment
    delivery: Delivery
    """Its rows, as that level sends them."""
    output: int
    """The stream of its results."""
    type: StreamType


@dataclass
class Plan:
    """A program in stages."""

    entries: list[Entry]
    stages: list[Stage]
    deliveries: list[Delivery]
    outputs: list[int]
    """The output streams of the program."""
    sources: dict[int, frozenset[int]]
    """For each stream of level 0, the inputs it comes from. It ends when all of them have ended."""
    literals: dict[int, EmitOnce]
    """Literals of the program, by input number. Their numbers follow those of the inputs."""
    alone: frozenset[int]
    """The streams that are in shard 0 only."""
    vertices: list[tuple[int, Vertex]] = field(default_factory=list)
    """Every operator, with its level."""
    natives: list[Native] = field(default_factory=list)

    def with_append_only(self, ids: frozenset[str]) -> Plan:
        """The plan where the inputs of the operators with these ids never retract rows: see `Delivery.reduces`."""
        append_only = {id(vertex.operator) for _, vertex in self.vertices if vertex.id in ids}

        def reduced(each: Delivery) -> Delivery:
            by = each.by if each.sums_early else None
            return replace(each, reduces=True) if by and id(by) in append_only and by.reduces_appends else each

        stages = [replace(each, inputs=tuple(map(reduced, each.inputs))) for each in self.stages]
        return replace(self, stages=stages, deliveries=list(map(reduced, self.deliveries)))

    def deliveries_of(self, stream: int) -> list[Delivery]:
        """The deliveries of a stream."""
        return [each for each in self.deliveries if each.stream == stream]

    def stream(self, number: int) -> Stream:
        """The output of a stage that has this number."""
        return next(s for stage in self.stages for s in stage.dag.outputs if s.number == number)

    def natives_after(self, level: int) -> list[Native]:
        """The segments that run on the rows of a level."""
        return [each for each in self.natives if each.level == level]


def must_be_in_one_place(stream: Stream | Delivery) -> bool:
    """Whether a stream must not be spread over shards: its rows are ordered, or it has no rows."""
    of = getattr(stream.type.collection, "base", stream.type.collection)
    of = of.inner if isinstance(of, Keyed) else of
    return not isinstance(of, LVar) and not (isinstance(of, ElementCollection) and of.unordered)


def shard_of(numbers: Numbers, shards: int) -> Indices:
    """The shard of each key number. Shards are ranges of key numbers, so rescaling computes no key again."""
    high = numbers >> np.uint64(32)
    high *= np.uint64(shards)
    high >>= np.uint64(32)
    return high.view(np.int64)

"""A program in stages, and what moves between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flo.columns.indices import Numbers, Places
from flo.core.dag import Stream, Vertex
from flo.core.errors import Origin
from flo.core.graph import Graph
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.structural import EmitOnce
from flo.tables.operator import OnTables
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.lvar import LVar

STAY, KEY, KEYS, WINDOW, ONE = "stays where it is", "by key", "by its keys", "by window", "to one place"


MOST_SHARDS = 1 << 16
"""Shards are sorted by numbers of 16 bits, and the names of their files have five digits."""
POSITION = "@"
"""The column that holds the place of a row in its sequence, on its way to a shard."""


@dataclass(frozen=True)
class Delivery:
    """A stream on its way to a stage: `by` is the operator whose key says to which shard, at this input of it."""

    number: int
    stream: int
    type: StreamType
    level: int
    how: str
    by: OnTables[Operator] | None = None
    place: int = 0
    line: Origin | None = None
    """The user's, of that operator."""
    alone: bool = False
    """Whether it comes from shard 0 only."""


@dataclass(frozen=True)
class Stage:
    """What every shard runs at a level, from deliveries to streams."""

    level: int
    graph: Graph
    inputs: tuple[Delivery, ...]
    outputs: tuple[int, ...]
    """The streams that it gives: delivered to later stages, or outputs of the program."""
    types: tuple[StreamType, ...]
    alone: frozenset[int]
    """Those of them that come from shard 0 only."""


@dataclass(frozen=True)
class Entry:
    """What is done to the rows of an input before any is moved."""

    input: int
    graph: Graph
    type: StreamType
    outputs: tuple[int, ...]


@dataclass
class Plan:
    """A program in stages."""

    entries: list[Entry]
    stages: list[Stage]
    deliveries: list[Delivery]
    outputs: list[int]
    """The streams that are the outputs of the program."""
    sources: dict[int, frozenset[int]]
    """For the streams of level 0, the inputs that they come from: they end when these have."""
    literals: dict[int, EmitOnce]
    """Inputs that the program gives itself, by number: behind the others."""
    alone: frozenset[int]
    """The streams that are in one place."""
    vertices: list[tuple[int, Vertex]] = field(default_factory=list)
    """Every operator and its level."""

    def sent(self, stream: int) -> list[Delivery]:
        return [each for each in self.deliveries if each.stream == stream]


def in_order(stream: Stream | Delivery) -> bool:
    """Whether the order of its rows counts, or it is no collection of rows: then it is not spread."""
    of = getattr(stream.type.collection, "base", stream.type.collection)
    of = of.inner if isinstance(of, Keyed) else of
    return not isinstance(of, LVar) and not (isinstance(of, ElementCollection) and of.unordered)


def shard_of(numbers: Numbers, shards: int) -> Places:
    """Ranges of key numbers: another number of shards cuts them elsewhere, and no key must be computed again."""
    return ((numbers >> np.uint64(32)) * np.uint64(shards) >> np.uint64(32)).astype(np.int64)

"""A scenario: a program and the data that arrives at it. Runs and searches start from one, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flo.core.graph import Graph
from flo.core.stream_type import StreamTypes
from flo.verify.exploration.arrivals import Channels


@dataclass(frozen=True, slots=True)
class Scenario:
    """A graph, the types and names of its inputs and outputs, and the deltas that arrive."""

    name: str
    graph: Graph
    input_types: StreamTypes
    output_types: StreamTypes
    channels: Channels
    names: tuple[str, ...]
    output_names: tuple[str, ...] = ()
    draw: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    """Draws the program, if it is a flow."""

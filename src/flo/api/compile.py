"""From a scope to an L^G expression: any acyclic wiring, as layers of parallel blocks with `wire`s where streams cross,
are used twice, or are not used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from flo.api.scope import Scope, Vertex
from flo.core.graph import Graph, Node, parallel, sequence
from flo.core.wire import Wire, identity

if TYPE_CHECKING:
    from flo.api.stream import Stream

Streams: TypeAlias = "list[Stream[Any, Any]]"


@dataclass(eq=False)
class Block:
    """A chain of operators, or a stream that passes a layer by."""

    inputs: Streams
    outputs: Streams
    vertices: list[Vertex] = field(default_factory=list)
    layer: int = 0

    def graph(self) -> Graph:
        if not self.vertices:
            return wire(self.inputs, identity(len(self.inputs)))
        return sequence(*(_node(vertex) for vertex in self.vertices))


def _node(vertex: Vertex) -> Node:
    state = tuple(stream.type.collection.bottom() for stream in vertex.inputs)
    return Node(state, vertex.operator, vertex.origin)


def wire(streams: Streams, operator: Wire) -> Node:
    return Node(tuple(stream.type.collection.bottom() for stream in streams), operator)


def compile_scope(scope: Scope, outputs: Iterable[Stream[Any, Any]]) -> Graph:
    """The graph from the scope's inputs to these outputs."""
    outputs = list(outputs)
    blocks = layered(chains(live_vertices(scope, outputs), outputs))
    stages: list[Graph] = []
    wanted = places(outputs)
    live = list(scope.inputs)
    for number in range(1, max((block.layer for block in blocks), default=0) + 1):
        here = [block for block in blocks if block.layer == number]
        later = {s for block in blocks if block.layer > number for s in block.inputs} | set(outputs)
        passing = [Block([stream], [stream]) for stream in live if stream in later]
        position = places(live)
        arranged = sorted(
            here + passing, key=lambda block: (first(block.inputs, position), first(block.outputs, wanted))
        )
        stages += rewired(live, [stream for block in arranged for stream in block.inputs])
        stages.append(parallel(*(block.graph() for block in arranged)))
        live = [stream for block in arranged for stream in block.outputs]
    stages += rewired(live, outputs)
    return sequence(*stages) if stages else wire(live, identity(len(live)))


def places(streams: Streams) -> dict[Stream[Any, Any], int]:
    """Where each stream stands first."""
    return {stream: place for place, stream in reversed(list(enumerate(streams)))}


def first(streams: Streams, place: dict[Stream[Any, Any], int]) -> int:
    """The first place of any of the streams; behind all others if they have none."""
    return min((place[stream] for stream in streams if stream in place), default=len(place))


def rewired(live: Streams, wanted: Streams) -> list[Graph]:
    """A `wire` that turns the live streams into the wanted ones; nothing if they are the same."""
    if live == wanted:
        return []
    return [wire(live, Wire(len(live), tuple(live.index(stream) for stream in wanted)))]


def live_vertices(scope: Scope, outputs: Streams) -> list[Vertex]:
    """Those that an output depends on, and those that have none, such as `write_defer`."""
    wanted = set(outputs)
    kept = []
    for vertex in reversed(scope.vertices):
        if not vertex.outputs or wanted.intersection(vertex.outputs):
            kept.append(vertex)
            wanted.update(vertex.inputs)
    return kept[::-1]


def chains(vertices: list[Vertex], outputs: Streams) -> list[Block]:
    """Vertices grouped so that a stream from one operator to one other, and nothing beside it, is inside a block."""
    uses = Counter(stream for vertex in vertices for stream in vertex.inputs)
    uses.update(outputs)
    ends: dict[Stream[Any, Any], Block] = {}
    blocks = []
    for vertex in vertices:
        block = ends.get(vertex.inputs[0]) if len(vertex.inputs) == 1 else None
        if block is not None and uses[vertex.inputs[0]] == 1 and vertex.inputs[0] not in outputs:
            del ends[vertex.inputs[0]]
            block.vertices.append(vertex)
            block.outputs = list(vertex.outputs)
        else:
            block = Block(list(vertex.inputs), list(vertex.outputs), [vertex])
            blocks.append(block)
        if len(vertex.outputs) == 1:
            ends[vertex.outputs[0]] = block
    return blocks


def layered(blocks: list[Block]) -> list[Block]:
    """Every block one layer behind the last of its inputs."""
    depth: dict[Stream[Any, Any], int] = {}
    for block in blocks:
        block.layer = 1 + max((depth.get(stream, 0) for stream in block.inputs), default=0)
        for stream in block.outputs:
            depth[stream] = block.layer
    return blocks

"""The paper's expression of a DAG: `e ; e`, `e | e` and wires.

    orders ──> filter ──> group_by ──> "revenue"       tee ; (filter ; group_by | id)
           └─────────────────────────> "orders"

Any DAG becomes layers of parallel blocks. A `wire` stands where streams cross, or have no reader or several. The
expression is the meaning of a program: values, exploration, traces and typing derivations use it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flo.core.errors import Origin
from flo.core.graph import Graph, Node, parallel, sequence
from flo.core.operator import Operator
from flo.core.structural import Wire, identity
from flo.program.dag import Dag, Stream, Vertex


def to_graph(dag: Dag) -> Graph:
    """Return the expression of a DAG. Buffers are empty."""
    outputs = dag.outputs
    blocks = _assign_layers(_chain(dag.vertices, outputs))
    stages: list[Graph] = []
    wanted = _positions(outputs)
    live = list(dag.inputs)
    for number in range(1, max((block.layer for block in blocks), default=0) + 1):
        here = [block for block in blocks if block.layer == number]
        later = {s for block in blocks if block.layer > number for s in block.inputs} | set(outputs)
        passing = [Block([stream], [stream]) for stream in live if stream in later]
        position = _positions(live)
        arranged = sorted(
            here + passing, key=lambda block: (_first(block.inputs, position), _first(block.outputs, wanted))
        )
        stages += _rewire(live, [stream for block in arranged for stream in block.inputs])
        stages.append(parallel(*(block.graph() for block in arranged)))
        live = [stream for block in arranged for stream in block.outputs]
    stages += _rewire(live, outputs)
    return sequence(*stages) if stages else _node(live, identity(len(live)))


@dataclass(eq=False)
class Block:
    """A chain of operators, or a stream that passes through a layer."""

    inputs: list[Stream]
    outputs: list[Stream]
    vertices: list[Vertex] = field(default_factory=list)
    layer: int = 0

    def graph(self) -> Graph:
        if not self.vertices:
            return _node(self.inputs, identity(len(self.inputs)))
        return sequence(*(_node(vertex.inputs, vertex.operator, vertex.origin) for vertex in self.vertices))


def _node(streams: Iterable[Stream], operator: Operator, origin: Origin | None = None) -> Node:
    return Node(tuple(stream.type.collection.bottom() for stream in streams), operator, origin)


def _positions(streams: Sequence[Stream]) -> dict[Stream, int]:
    """Map each stream to its first position."""
    return {stream: place for place, stream in reversed(list(enumerate(streams)))}


def _first(streams: list[Stream], place: dict[Stream, int]) -> int:
    """Return the lowest position of any of the streams; a position after all others if they have none."""
    return min((place[stream] for stream in streams if stream in place), default=len(place))


def _rewire(live: list[Stream], wanted: list[Stream]) -> list[Graph]:
    """Return a `wire` from the live streams to the wanted ones; nothing if they are the same."""
    if live == wanted:
        return []
    return [_node(live, Wire(len(live), tuple(live.index(stream) for stream in wanted)))]


def _chain(vertices: Sequence[Vertex], outputs: list[Stream]) -> list[Block]:
    """Group vertices into blocks: a stream that only connects two operators is inside a block."""
    uses = Counter(stream for vertex in vertices for stream in vertex.inputs)
    uses.update(outputs)
    ends: dict[Stream, Block] = {}
    blocks: list[Block] = []
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


def _assign_layers(blocks: list[Block]) -> list[Block]:
    """Put every block one layer after the last of its inputs."""
    depth: dict[Stream, int] = {}
    for block in blocks:
        block.layer = 1 + max((depth.get(stream, 0) for stream in block.inputs), default=0)
        for stream in block.outputs:
            depth[stream] = block.layer
    return blocks

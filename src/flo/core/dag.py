"""A program as a DAG of streams and operators, and its conversion from and to an L^G expression.

The fluent API builds a DAG and needs the graph; the Spark planner has a graph and needs the DAG, to cut it into stages.
Any DAG becomes layers of parallel blocks. A `wire` stands where streams cross, or have no reader or several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar

from flo.core.errors import Origin
from flo.core.graph import Graph, Node, Parallel, Sequential, parallel, sequence
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Wire, identity


class AnyStream(Protocol):
    """A stream of any DAG. Streams are compared by identity."""

    @property
    def type(self) -> StreamType: ...

    def __hash__(self) -> int: ...


S = TypeVar("S", bound=AnyStream)
S_co = TypeVar("S_co", bound=AnyStream, covariant=True)


class AnyVertex(Protocol[S_co]):
    """A vertex of any DAG: an operator applied to streams."""

    @property
    def operator(self) -> Operator: ...
    @property
    def inputs(self) -> Sequence[S_co]: ...
    @property
    def outputs(self) -> Sequence[S_co]: ...
    @property
    def origin(self) -> Origin | None: ...


V = TypeVar("V", bound="AnyVertex[AnyStream]")
Places: TypeAlias = "dict[S, int]"


@dataclass(eq=False)
class Stream:
    """A stream between two operators of a `Dag`."""

    type: StreamType
    number: int


@dataclass(eq=False)
class Vertex:
    """An operator of a `Dag`."""

    operator: Operator
    inputs: tuple[Stream, ...]
    outputs: tuple[Stream, ...]
    origin: Origin | None = None


@dataclass(eq=False)
class Dag:
    """A program, or a part of it. Vertices are in topological order."""

    inputs: list[Stream] = field(default_factory=list)
    vertices: list[Vertex] = field(default_factory=list)
    outputs: list[Stream] = field(default_factory=list)
    count: int = 0

    @classmethod
    def of(cls, graph: Graph, types: StreamTypes) -> Dag:
        """Return the DAG of a graph. It has no wires: a stream may have several readers, or none."""
        dag = cls()
        dag.inputs = [dag._stream(each) for each in types]
        dag.outputs = dag._walk(graph, dag.inputs)
        return dag

    def graph(self) -> Graph:
        return compile_graph(self.inputs, self.vertices, self.outputs)

    def _stream(self, of: StreamType) -> Stream:
        self.count += 1
        return Stream(of, self.count - 1)

    def _walk(self, graph: Graph, streams: list[Stream]) -> list[Stream]:
        match graph:
            case Sequential(left, right):
                return self._walk(right, self._walk(left, streams))
            case Parallel(left, right):
                count = left.arity[0]
                return self._walk(left, streams[:count]) + self._walk(right, streams[count:])
            case Node(_, Wire() as wire):
                return [streams[route] for route in wire.routes]
            case Node(_, operator, origin):
                outputs = operator.judge(tuple(stream.type for stream in streams)).outputs
                found = [self._stream(each) for each in outputs]
                self.vertices.append(Vertex(operator, tuple(streams), tuple(found), origin))
                return found


@dataclass(eq=False)
class Block(Generic[S]):
    """A chain of operators, or a stream that passes through a layer."""

    inputs: list[S]
    outputs: list[S]
    vertices: list[AnyVertex[S]] = field(default_factory=list)
    layer: int = 0

    def graph(self) -> Graph:
        if not self.vertices:
            return _node(self.inputs, identity(len(self.inputs)))
        return sequence(*(_node(vertex.inputs, vertex.operator, vertex.origin) for vertex in self.vertices))


def _node(streams: Iterable[AnyStream], operator: Operator, origin: Origin | None = None) -> Node:
    return Node(tuple(stream.type.collection.bottom() for stream in streams), operator, origin)


def compile_graph(inputs: Sequence[S], vertices: Sequence[AnyVertex[S]], outputs: Sequence[S]) -> Graph:
    """Return the graph from these inputs to these outputs."""
    outputs = list(outputs)
    blocks = _assign_layers(_chain(live_vertices(vertices, outputs), outputs))
    stages: list[Graph] = []
    wanted = _positions(outputs)
    live = list(inputs)
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


def live_vertices(vertices: Sequence[V], outputs: Iterable[AnyStream]) -> list[V]:
    """Return the vertices that an output depends on, and those without outputs, such as `write_defer`."""
    wanted = set(outputs)
    kept = []
    for vertex in reversed(vertices):
        if not vertex.outputs or wanted.intersection(vertex.outputs):
            kept.append(vertex)
            wanted.update(vertex.inputs)
    return kept[::-1]


def _positions(streams: list[S]) -> Places[S]:
    """Map each stream to its first position."""
    return {stream: place for place, stream in reversed(list(enumerate(streams)))}


def _first(streams: list[S], place: Places[S]) -> int:
    """Return the lowest position of any of the streams; a position after all others if they have none."""
    return min((place[stream] for stream in streams if stream in place), default=len(place))


def _rewire(live: list[S], wanted: list[S]) -> list[Graph]:
    """Return a `wire` from the live streams to the wanted ones; nothing if they are the same."""
    if live == wanted:
        return []
    return [_node(live, Wire(len(live), tuple(live.index(stream) for stream in wanted)))]


def _chain(vertices: Sequence[AnyVertex[S]], outputs: list[S]) -> list[Block[S]]:
    """Group vertices into blocks: a stream that only connects two operators is inside a block."""
    uses = Counter(stream for vertex in vertices for stream in vertex.inputs)
    uses.update(outputs)
    ends: dict[S, Block[S]] = {}
    blocks: list[Block[S]] = []
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


def _assign_layers(blocks: list[Block[S]]) -> list[Block[S]]:
    """Put every block one layer after the last of its inputs."""
    depth: dict[S, int] = {}
    for block in blocks:
        block.layer = 1 + max((depth.get(stream, 0) for stream in block.inputs), default=0)
        for stream in block.outputs:
            depth[stream] = block.layer
    return blocks

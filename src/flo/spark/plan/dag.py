"""A program as streams and the operators between them: what a planner cuts into stages."""

from __future__ import annotations

from dataclasses import dataclass, field

from flo.api.compile import compile_scope
from flo.core.derivation import StreamTypes
from flo.core.errors import Origin
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.wire import Wire


@dataclass(eq=False)
class Stream:
    """A stream between two operators."""

    type: StreamType
    number: int


@dataclass(eq=False)
class Vertex:
    """An operator in its place."""

    operator: Operator
    inputs: tuple[Stream, ...]
    outputs: tuple[Stream, ...]
    origin: Origin | None = None
    body: None = None


@dataclass(eq=False)
class Dag:
    """A program, or a part of it. Vertices stand behind those that they read from."""

    inputs: list[Stream] = field(default_factory=list)
    vertices: list[Vertex] = field(default_factory=list)
    outputs: list[Stream] = field(default_factory=list)
    count: int = 0

    @classmethod
    def of(cls, graph: Graph, types: StreamTypes) -> Dag:
        """The program of a graph. Wires are gone: a stream may be read by several, or by none."""
        dag = cls()
        dag.inputs = [dag._stream(each) for each in types]
        dag.outputs = dag._walk(graph, dag.inputs)
        return dag

    def graph(self) -> Graph:
        return compile_scope(self, self.outputs)  # type: ignore[arg-type]

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

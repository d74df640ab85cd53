"""A program as a DAG: streams, and operators that read and emit them.

    orders ──> filter ──> group_by ──> "revenue"       vertices   filter, group_by, in topological order
           └─────────────────────────> "orders"        outputs    the stream of group_by, and the input itself

The verbs build it, rewrites map it to another one, and engines run it. A stream may have several readers, or none.
Every vertex has an id, which a restart and an unrelated edit do not change (`identity.py`): state is stored by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from flo.core.errors import Origin
from flo.core.facts import PrimaryKey
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Wire
from flo.values.operators.fixpoint import Fixpoint
from flo.values.operators.keyed_streams import inner_types
from flo.values.operators.per_key import PerKey


class StreamLike(Protocol):
    """A stream of a DAG, or of the fluent API. Streams are compared by identity."""

    @property
    def type(self) -> StreamType: ...

    def __hash__(self) -> int: ...


class VertexLike(Protocol):
    """A vertex of a DAG, or of the fluent API: an operator applied to streams."""

    @property
    def operator(self) -> Operator: ...
    @property
    def inputs(self) -> Sequence[StreamLike]: ...
    @property
    def outputs(self) -> Sequence[StreamLike]: ...
    @property
    def origin(self) -> Origin | None: ...
    @property
    def id(self) -> str: ...


class BuiltStream(StreamLike, Protocol):
    """A stream of the fluent API, which knows the vertex that made it."""

    @property
    def source(self) -> BuiltVertex | None: ...


class BuiltVertex(VertexLike, Protocol):
    """A vertex of the fluent API, with what its verb knows and its operator does not say."""

    @property
    def inputs(self) -> Sequence[BuiltStream]: ...
    @property
    def key(self) -> PrimaryKey: ...
    @property
    def windows(self) -> WindowColumns | None: ...


@dataclass(frozen=True)
class WindowColumns:
    """The windows that a verb has added to rows, as `window_start` and `window_end`."""

    rows: BuiltStream
    """The rows without them."""
    time: str | None
    """The column with the time of a row; None if it is computed."""
    size: Any = None
    every: Any = None
    """Of windows at regular times, whose start tells the end; sessions have neither."""


V = TypeVar("V", bound=VertexLike)


@dataclass(eq=False)
class Stream:
    """A stream between two operators of a `Dag`."""

    type: StreamType
    number: int
    name: str = ""
    """What the checkpoint of any program calls it: an input by its name, another by the id of the operator that emits
    it, and which of its outputs it is. A stream that a rewrite narrows to fewer columns keeps its name."""


@dataclass(eq=False)
class Vertex:
    """An operator of a `Dag`."""

    operator: Operator
    inputs: tuple[Stream, ...]
    outputs: tuple[Stream, ...]
    origin: Origin | None = None
    id: str = ""


@dataclass(eq=False)
class Dag:
    """A program, or a part of it. Vertices are in topological order."""

    inputs: list[Stream] = field(default_factory=list)
    vertices: list[Vertex] = field(default_factory=list)
    outputs: list[Stream] = field(default_factory=list)
    count: int = 0
    """The number of streams: the next one gets this number."""

    @classmethod
    def of(cls, graph: Graph, types: StreamTypes) -> Dag:
        """Return the DAG of an expression, without its wires."""
        dag = cls()
        dag.inputs = [dag.add_stream(each) for each in types]
        dag.outputs = dag.apply_graph(graph, dag.inputs)
        return dag

    @classmethod
    def of_vertices(
        cls, inputs: Iterable[StreamLike], vertices: Sequence[VertexLike], outputs: Sequence[StreamLike]
    ) -> Dag:
        """Return the DAG from these inputs to these outputs. What no output depends on is left out."""
        dag = cls()
        new = {stream: dag.add_stream(stream.type) for stream in inputs}
        dag.inputs = list(new.values())
        for vertex in live_vertices(vertices, outputs):
            streams = [dag.add_stream(stream.type) for stream in vertex.outputs]
            read = tuple(new[stream] for stream in vertex.inputs)
            new |= zip(vertex.outputs, streams, strict=True)
            dag.vertices.append(Vertex(vertex.operator, read, tuple(streams), vertex.origin, vertex.id))
        dag.outputs = [new[stream] for stream in outputs]
        return dag

    def live(self) -> Dag:
        """Return the part that the outputs depend on."""
        return Dag(self.inputs, live_vertices(self.vertices, self.outputs), self.outputs, self.count)

    @property
    def input_types(self) -> StreamTypes:
        return tuple(stream.type for stream in self.inputs)

    @property
    def output_types(self) -> StreamTypes:
        return tuple(stream.type for stream in self.outputs)

    def add_stream(self, of: StreamType) -> Stream:
        self.count += 1
        return Stream(of, self.count - 1)

    def apply(
        self, operator: Operator, inputs: Sequence[Stream], origin: Origin | None = None, vertex_id: str = ""
    ) -> list[Stream]:
        """Add an operator that reads these streams; return the streams that it emits."""
        types = operator.judge(tuple(stream.type for stream in inputs)).outputs
        outputs = [self.add_stream(each) for each in types]
        for place, stream in enumerate(outputs):
            stream.name = f"{vertex_id}:{place}"
        self.vertices.append(Vertex(operator, tuple(inputs), tuple(outputs), origin, vertex_id))
        return outputs

    def apply_graph(self, graph: Graph, inputs: list[Stream]) -> list[Stream]:
        """Add the operators of an expression that reads these streams; return the streams that it emits."""
        match graph:
            case Sequential(left, right):
                return self.apply_graph(right, self.apply_graph(left, inputs))
            case Parallel(left, right):
                count = left.arity[0]
                return self.apply_graph(left, inputs[:count]) + self.apply_graph(right, inputs[count:])
            case Node(_, Wire() as wire):
                return [inputs[route] for route in wire.routes]
            case Node(_, operator, origin):
                return self.apply(operator, inputs, origin)


def live_vertices(vertices: Sequence[V], outputs: Iterable[StreamLike]) -> list[V]:
    """Return the vertices that an output depends on, and those without outputs, such as `write_defer`."""
    wanted = set(outputs)
    live = []
    for vertex in reversed(vertices):
        if not vertex.outputs or wanted.intersection(vertex.outputs):
            live.append(vertex)
            wanted.update(vertex.inputs)
    return live[::-1]


def sort_by_readers(vertices: Sequence[V], outputs: Iterable[StreamLike]) -> list[V]:
    """Return the vertices that `outputs` depend on, and those without outputs, each after those that it reads.

    Their order follows from the graph, not from the order of the statements that made it."""
    maker = {stream: vertex for vertex in vertices for stream in vertex.outputs}
    ends = sorted((each for each in vertices if not each.outputs), key=_defer_key)
    waiting = [(each, False) for each in (*(maker[stream] for stream in outputs if stream in maker), *ends)][::-1]
    ordered: dict[V, None] = {}
    while waiting:
        vertex, is_ready = waiting.pop()
        if is_ready:
            ordered[vertex] = None
        elif vertex not in ordered:
            waiting.append((vertex, True))
            waiting += [(maker[each], False) for each in reversed(vertex.inputs) if each in maker]
    return list(ordered)


def _defer_key(vertex: VertexLike) -> str:
    return repr(getattr(vertex.operator, "key", ""))


def body_of(operator: Operator, inputs: StreamTypes) -> Dag | None:
    """Return the body that an operator runs, on inner streams or in rounds; None if it has none."""
    if isinstance(operator, PerKey) and operator.graph is not None:
        return Dag.of(operator.graph, inner_types(operator, inputs))
    if isinstance(operator, Nest):
        nested = inputs[0].collection
        assert isinstance(nested, Nested)
        return Dag.of(operator.original or operator.graph, nested.inner)
    if isinstance(operator, Fixpoint):
        return Dag.of(operator.graph, operator.inner_types(inputs))
    return None


def outputs_that_read(dag: Dag, names: Mapping[str, Stream]) -> dict[Vertex, tuple[str, ...]]:
    """Return for every vertex the names of the outputs that depend on it."""
    leads: dict[Stream, dict[str, None]] = {}
    for name, stream in names.items():
        leads.setdefault(stream, {})[name] = None
    read_by: dict[Vertex, tuple[str, ...]] = {}
    for vertex in reversed(dag.vertices):
        own = dict.fromkeys(name for stream in vertex.outputs for name in leads.get(stream, ()))
        read_by[vertex] = tuple(name for name in names if name in own)
        for stream in vertex.inputs:
            leads.setdefault(stream, {}).update(own)
    return read_by

"""The verbs that the user called, each with the operators that it made: what `explain` and pictures show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flo.api.scope import AnyBase, AnyStream, Scope, Vertex
from flo.core.errors import Origin
from flo.core.nest import ReadDefer, WriteDefer
from flo.core.source_calls import call_text
from flo.program.outline import describe_operator
from flo.values.operators.fixpoint import Fixpoint

SIDE_OUTPUTS = ("rows", "late", "ahead", "expired")
"""The attributes of a stream that are side outputs of its verb."""


@dataclass(eq=False)
class VerbCall:
    """A call of a verb: its operators, in the order in which they were made."""

    vertices: list[Vertex] = field(default_factory=list)

    @property
    def origin(self) -> Origin | None:
        return self.vertices[-1].origin

    @cached_property
    def text(self) -> str:
        """The call as it is written, without the stream that it is called on."""
        operator = self.vertices[-1].operator
        if isinstance(operator, (ReadDefer, WriteDefer)):
            return f"{operator.name}({operator.key!r})"
        written = call_text(self.origin)
        return written or describe_operator(operator).replace(operator.name, self.verb, 1)

    @property
    def operators(self) -> list[str]:
        """What the text does not say: the operators of a query that Spark has planned, and the rounds of a fixpoint."""
        told = [each for each in self.vertices if self.verb == "sql" or isinstance(each.operator, Fixpoint)]
        return [describe_operator(vertex.operator) for vertex in told]

    @property
    def verb(self) -> str:
        return (self.origin.verb if self.origin else "") or self.vertices[-1].operator.name

    @property
    def body(self) -> Scope | None:
        """The body that the user wrote. One that Flo made for the verb is a part of it."""
        bodies = [vertex.body for vertex in self.vertices if vertex.body is not None]
        return bodies[0] if bodies and not all(_is_of(each, self.origin) for each in bodies[0].vertices) else None

    @property
    def inputs(self) -> list[AnyBase]:
        """The streams that it reads, in the order of its operators."""
        own = {stream for vertex in self.vertices for stream in vertex.outputs}
        return list(dict.fromkeys(s for vertex in self.vertices for s in vertex.inputs if s not in own))

    @property
    def outputs(self) -> list[AnyStream]:
        """The streams that only others read."""
        read = {stream for vertex in self.vertices for stream in vertex.inputs}
        return [stream for vertex in self.vertices for stream in vertex.outputs if stream not in read]


def verb_calls(vertices: Iterable[Vertex]) -> list[VerbCall]:
    """Return the calls that made these vertices: of one line, on one object, and connected with each other."""
    calls: dict[Vertex, VerbCall] = {}
    for vertex in vertices:
        before = (calls.get(stream.source) for stream in vertex.inputs if stream.source is not None)
        call = VerbCall()
        for other in dict.fromkeys(before):
            if other is not None and _is_same_call(other.vertices[-1], vertex):
                call.vertices += other.vertices
        call.vertices.append(vertex)
        calls.update(dict.fromkeys(call.vertices, call))
    last = {vertex: call for vertex, call in calls.items() if call.vertices[-1] is vertex}
    return list(last.values())


def _is_same_call(one: Vertex, other: Vertex) -> bool:
    return one.called_on is other.called_on and _is_of(one, other.origin)


def _is_of(vertex: Vertex, where: Origin | None) -> bool:
    """Return whether the vertex was made by a call that ends here."""
    own = vertex.origin
    if own is None or where is None:
        return own is where
    return (own.file, own.line, own.last_line, own.last_column) == (
        where.file,
        where.line,
        where.last_line,
        where.last_column,
    )


def name_streams(scope: Scope, calls: Iterable[VerbCall], names: dict[AnyBase, str]) -> None:
    """Give every stream of a scope its own name: the variable that it was assigned to, or the verb that made it."""
    names.update((stream, stream.name) for stream in scope.inputs)
    for call in calls:
        for stream in call.outputs:
            if stream not in names:
                names[stream] = _fresh(stream.name, set(names.values()))
            names.update(_side_outputs(stream, names[stream]))


def _side_outputs(stream: AnyStream, name: str) -> Mapping[AnyBase, str]:
    sides = ((side, vars(stream).get(side)) for side in SIDE_OUTPUTS)
    return {other: f"{name}.{side}" for side, other in sides if other is not None and other is not stream}


def _fresh(name: str, taken: set[str]) -> str:
    number, fresh = 1, name
    while fresh in taken:
        number += 1
        fresh = f"{name}{number}"
    return fresh

"""State by identity: what each operator keeps, and what waits at its inputs, under the operator's id.

    id        operator           parts                      waiting
    9f3a…     group_by_tables    traces: 3 runs             —
    c41d…     join_tables        left: 2 runs, right: 1     1: the end of the right side

A part is a field of the operator that is not what the program has there at first, by its name. What a state does not
mention is as at first. Nothing depends on where an operator stands in the program, or on the other operators: the
names of functions and types in a state are those within one operator. Those in a view do not depend on other outputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from flo.core.checkpoint import code_error
from flo.core.collection import Collection, Form
from flo.core.data import remember_classes, within_classes
from flo.core.errors import CheckpointError, FloError
from flo.core.graph import Node
from flo.core.nested import Nested
from flo.core.operator import Values
from flo.core.stream_type import Derivation
from flo.core.term import ATOMS, Call, Lifting, Lowering, Term
from flo.core.typing import derive
from flo.program.dag import Dag, Vertex
from flo.values.keyed import Keyed

if TYPE_CHECKING:
    from flo.tables.checkpoint.store import Storing

_OPTIONAL = re.compile(r"Optional\[(\w+)\]")
VERTEX = "vertex"
"""The name of the term that holds the state of a vertex."""


@dataclass(frozen=True)
class VertexState:
    """The state of one vertex, as terms."""

    id: str
    name: str
    """The name of the operator."""
    parts: dict[str, Term]
    waiting: dict[int, Term]
    """By place of an input, what waits there: rows, or an end."""

    def term(self) -> Call:
        return Call(VERTEX, (self.id, self.name, tuple(self.parts.items()), tuple(self.waiting.items())))

    @classmethod
    def of(cls, term: Term) -> VertexState:
        match term:
            case Call(_, (str(vertex_id), str(name), tuple(parts), tuple(waiting))) if term.name == VERTEX:
                by_name: Any = (parts, waiting)
                return cls(vertex_id, name, *map(dict, by_name))
        raise CheckpointError("the state is malformed: expected the state of an operator")

    @property
    def is_initial(self) -> bool:
        """Whether it is as at first."""
        return not self.parts and not self.waiting


class NameScope:
    """The names of functions, types and collections that a state may contain. They are not stored with it.

    A collection is named by its place among those of its vertex."""

    def __init__(self, items: Any, collections: list[Collection]) -> None:
        self.lowering = Lowering()
        self.lowering((items, tuple(collections)))
        self.collections = collections
        self.names_of: dict[Collection, int | str] = {each: place for place, each in enumerate(collections)}
        self.classes = remember_classes((collections, list(self.lowering.names.values())))
        """The user's classes, by the names that they have in any module."""

    def lower(self, storing: Storing, item: Any) -> Term:
        """Lower a part of a state. Raises if it contains code, which restoring could not supply."""
        supplied = len(self.lowering.names)
        term: Term = storing.within(self.lowering, self.names_of)(item)
        for value in list(self.lowering.names.values())[supplied:]:
            raise code_error(value)
        return term


class OutputsScope(NameScope):
    """The names for what belongs to outputs. A collection is named by its text: its place depends on the other outputs,
    and a changed program moves views to stages that have others."""

    def __init__(self, collections: list[Collection]) -> None:
        super().__init__(tuple(collections), collections)
        times: Counter[str] = Counter()
        for each in collections:
            name = type(each).__name__ + " " + _OPTIONAL.sub(r"\1 | None", str(each))  # equal types have one name
            times[name] += 1
            self.names_of[each] = name if times[name] == 1 else f"{name}/{times[name]}"


class VertexScope(NameScope):
    """A vertex, and how its state is stored and read."""

    def __init__(self, vertex: Vertex, initial: Node) -> None:
        self.vertex, self.initial = vertex, initial
        self.types = tuple(stream.type for stream in vertex.inputs)
        self.bottoms: Values = initial.state or ()
        super().__init__(vertex.operator, collections_in(vertex.operator.judge(self.types)))

    def save(self, node: Node, storing: Storing) -> Term:
        operator, first = node.operator, self.vertex.operator
        parts = {
            each.name: self.lower(storing, getattr(operator, each.name))
            for each in fields(operator)
            if each.compare and not _is_same(getattr(operator, each.name), getattr(first, each.name))
        }
        waiting = {
            place: self.lower(storing, value)
            for place, (value, bottom) in enumerate(zip(node.state or (), self.bottoms, strict=True))
            if value is not bottom and (value.size() or value != bottom)
        }
        return VertexState(self.vertex.id, operator.name, parts, waiting).term()

    def load(self, state: VertexState, lifting: Callable[[NameScope], Lifting]) -> Node:
        first = self.vertex.operator
        if state.name != first.name:
            raise CheckpointError(f"the state does not fit the program: `{state.name}` is not `{first.name}`")
        if state.is_initial:
            return self.initial
        with within_classes(self.classes):
            return self._load(state, lifting(self))

    def _load(self, state: VertexState, lift: Lifting) -> Node:
        first = self.vertex.operator
        known = {each.name for each in fields(first)}
        for name in state.parts:
            if name not in known:
                raise CheckpointError(f"the state does not fit the program: `{first.name}` has no part `{name}`")
        operator = replace(first, **{name: lift(term) for name, term in state.parts.items()})
        values = tuple(
            lift(state.waiting[place]) if place in state.waiting else bottom
            for place, bottom in enumerate(self.bottoms)
        )
        return Node(values, operator.with_origins(first), self.vertex.origin)

    def check(self, node: Node) -> None:
        """Raise unless the state has the types of the program."""
        outputs = derive(node, self.types).outputs
        if outputs != tuple(stream.type for stream in self.vertex.outputs):
            raise CheckpointError("the state does not fit the program's types")


class ProgramStates:
    """Stores and reads the states of all vertices of a program, and what belongs to its outputs."""

    def __init__(self, dag: Dag, initial: Sequence[Node]) -> None:
        """`initial` are the operators before any input."""
        self.vertices = [VertexScope(*each) for each in zip(dag.vertices, initial, strict=True)]
        self.output_types = dag.output_types
        of_outputs = list(dict.fromkeys(each for of in dag.output_types for each in _within(of.collection)))
        self.outputs = OutputsScope(of_outputs)

    def adopt(self, nodes: Sequence[Node]) -> list[Node]:
        """The states of another copy of this program, as states of this one."""
        return [
            Node(node.state, node.operator.with_origins(each.vertex.operator), each.vertex.origin)
            for each, node in zip(self.vertices, nodes, strict=True)
        ]

    def save(self, nodes: Sequence[Node], beside: Any, storing: Storing) -> Term:
        """Lower the states of the operators, and data that belongs to outputs."""
        states = tuple(each.save(node, storing) for each, node in zip(self.vertices, nodes, strict=True))
        return states, self.outputs.lower(storing, beside)

    def load(self, term: Term, lifting: Callable[[NameScope], Lifting]) -> tuple[list[Node], Any]:
        """The inverse of `save`. Raises, with the reason, if it is not a state of this program."""
        match term:
            case (tuple(states), beside):
                by_id = {state.id: state for state in map(VertexState.of, states)}
            case _:
                raise CheckpointError("the bytes are not the state of a program on tables")
        try:
            for each in self.vertices:
                if each.vertex.id not in by_id:
                    name = each.vertex.operator.called
                    raise CheckpointError(f"the state does not fit the program: it has nothing of `{name}`")
            nodes = [each.load(by_id[each.vertex.id], lifting) for each in self.vertices]
            with within_classes(self.outputs.classes):
                return nodes, lifting(self.outputs)(beside)
        except CheckpointError:
            raise
        except FloError as error:
            raise CheckpointError(f"the state does not fit the program: {error.summary}") from error
        except Exception as error:
            raise CheckpointError(f"the state is malformed: {error}") from error

    def check(self, nodes: Iterable[Node], outputs: Values) -> None:
        """Raise unless a state has the types of the program. Also called before saving, so that a function that does
        not return its declared type is found while its results still exist."""
        for each, node in zip(self.vertices, nodes, strict=True):
            each.check(node)
        for stream, output in zip(self.output_types, outputs, strict=True):
            reason = stream.collection.mismatch(output)
            if reason is not None:
                raise CheckpointError(f"the state does not fit the program's types: {reason}")


def _is_same(part: Any, first: Any) -> bool:
    """Whether a part is what it was at first. What is large is compared by identity."""
    return part is first or (type(part) in ATOMS and type(part) is type(first) and part == first)


def collections_in(derivation: Derivation) -> list[Collection]:
    """All collections of the streams of an operator and of its body, in a fixed order."""
    known: dict[Collection, None] = {}
    waiting = [derivation]
    while waiting:
        each = waiting.pop()
        waiting += each.premises
        for stream in (*each.inputs, *each.outputs):
            known |= dict.fromkeys(_within(stream.collection))
    return list(known)


def _within(collection: Collection) -> Iterator[Collection]:
    yield collection
    if isinstance(collection, Form):
        of: Any = collection.base
        yield from _within(of)
    if isinstance(collection, Nested):
        for stream in collection.inner:
            yield from _within(stream.collection)
    if isinstance(collection, Keyed):
        yield from _within(collection.inner)

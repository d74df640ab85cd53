"""L^G, graphs (§4): e;e, e|e, {S}[op]; inputs and setinput (figures "grammar", "small-step semantics for graphs")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

from flo.core.collection import Value
from flo.core.errors import CheckpointError, Origin, TypeMismatch
from flo.core.operator import Operator, Values
from flo.core.term import Call, Lowerable, Lowering, Term, register


class _Shown(Lowerable):
    """Prints in the paper's notation."""

    __slots__ = ()

    def __str__(self) -> str:
        from flo.core.notation import show  # which needs the graphs of this module

        return show(self)  # type: ignore[arg-type]


@final
@dataclass(frozen=True, slots=True)
class Node(_Shown):
    """{S}[op]: an operator and its buffered inputs. `state` is None where the text had `{_}`: not yet typed."""

    state: Values | None
    operator: Operator
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def arity(self) -> tuple[int, int]:
        """How many inputs and outputs."""
        return self.operator.arity

    def lower(self, lower: Lowering) -> Term:
        return Call("{}[]", (lower(self.state), lower(self.operator)))


@final
@dataclass(frozen=True, slots=True)
class Sequential(_Shown):
    """e₁ ; e₂."""

    left: Graph
    right: Graph
    arity: tuple[int, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arity", (self.left.arity[0], self.right.arity[1]))

    def lower(self, lower: Lowering) -> Term:
        return Call(";", (lower(self.left), lower(self.right)))


@final
@dataclass(frozen=True, slots=True)
class Parallel(_Shown):
    """e₁ | e₂."""

    left: Graph
    right: Graph
    arity: tuple[int, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        (left_in, left_out), (right_in, right_out) = self.left.arity, self.right.arity
        object.__setattr__(self, "arity", (left_in + right_in, left_out + right_out))

    def lower(self, lower: Lowering) -> Term:
        return Call("|", (lower(self.left), lower(self.right)))


Graph: TypeAlias = Node | Sequential | Parallel


def _lift_node(state: Any, operator: Any) -> Node:
    if not isinstance(operator, Operator):
        raise TypeMismatch(f"{operator!r} is not an operator")
    for value in () if state is None else state:
        if not isinstance(value, Value):
            raise TypeMismatch(f"the state of `{operator.name}` holds {value!r}, which is not a collection value")
    return Node(state, operator)


DEEP = 32
"""How many parts in a row are grouped one by one."""

register("{}[]", _lift_node)
register(";", Sequential)
register("|", Parallel)


def inputs(graph: Graph) -> Values:
    """inputs(e): the buffered inputs of the whole graph."""
    while isinstance(graph, Sequential):
        graph = graph.left
    match graph:
        case Parallel(left, right):
            return inputs(left) + inputs(right)
        case Node(state):
            if state is None:
                raise TypeMismatch("the graph has elided states `{_}`: type it with `initial` before running it")
            return state


def setinput(graph: Graph, values: Values) -> Graph:
    """setinput(e, I): the graph with its inputs replaced."""
    match graph:
        case Sequential(left, right):
            return Sequential(setinput(left, values), right)
        case Parallel(left, right):
            split = left.arity[0]
            return Parallel(setinput(left, values[:split]), setinput(right, values[split:]))
        case Node(state, operator, origin):
            if state is not None and len(state) != len(values):
                raise TypeMismatch(f"`{operator.name}` has {len(state)} inputs, and setinput was given {len(values)}")
            return Node(values, operator, origin)


def nodes(graph: Graph) -> Iterator[Node]:
    """Every {S}[op] of the graph, left to right, those inside `nest` not included."""
    match graph:
        case Node():
            yield graph
        case Sequential(left, right) | Parallel(left, right):
            yield from nodes(left)
            yield from nodes(right)


def sequence(*graphs: Graph) -> Graph:
    """e₁ ; e₂ ; …, grouped to the left as the notation reads; a long one in halves, so that it does not get deep."""
    if len(graphs) > DEEP:
        half = len(graphs) // 2
        return Sequential(sequence(*graphs[:half]), sequence(*graphs[half:]))
    whole, *rest = graphs
    for graph in rest:
        whole = Sequential(whole, graph)
    return whole


def parallel(*graphs: Graph) -> Graph:
    """e₁ | e₂ | …, grouped in the same way."""
    if len(graphs) > DEEP:
        half = len(graphs) // 2
        return Parallel(parallel(*graphs[:half]), parallel(*graphs[half:]))
    whole, *rest = graphs
    for graph in rest:
        whole = Parallel(whole, graph)
    return whole


def node(operator: Operator, *state: Any) -> Node:
    """{state…}[operator]."""
    return Node(state, operator)


def with_origins(graph: Graph, like: Graph) -> Graph:
    """A graph that was lifted from a state, with the user's lines of the program, which a state does not hold."""
    match graph, like:
        case Sequential(), Sequential():
            return Sequential(with_origins(graph.left, like.left), with_origins(graph.right, like.right))
        case Parallel(), Parallel():
            return Parallel(with_origins(graph.left, like.left), with_origins(graph.right, like.right))
        case Node(state, operator), Node(_, of_program, origin):
            name = operator.name
            if state is None:
                raise CheckpointError(f"the state does not fit the program: the inputs of `{name}` are elided")
            if type(operator) is not type(of_program):
                raise CheckpointError(f"the state does not fit the program: `{name}` stands for `{of_program.name}`")
            return Node(state, operator.with_origins(of_program), origin)
    raise CheckpointError("the state does not fit the program: the graph has another shape")

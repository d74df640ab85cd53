"""The laws of a single step: preservation, one result, and no changes to the operator or its input.

A check works on copies of operators, so that one that changes itself does not change the user's own.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

from flo.core.collection import Collection, Form
from flo.core.errors import FloError
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.labels import label
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.core.semantics import GraphStep
from flo.core.stream_type import StreamTypes
from flo.core.term import Lowerable, Lowering
from flo.core.typing import Derivations, derive, derive_once
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.operators.shapes import is_immutable
from flo.verify.data.examples import examples
from flo.verify.effort import is_shipped
from flo.verify.equality import are_equal
from flo.verify.exploration.counterexamples import cut_to_difference, format_leftovers
from flo.verify.exploration.moves import BrokenStep, Move, make_step_move
from flo.verify.exploration.source import format_expression, format_values
from flo.verify.exploration.space import Space


def copy_graph(graph: Graph) -> Graph:
    """Copy a graph, operators included."""
    if isinstance(graph, Node):
        return Node(graph.state, copy_operator(graph.operator), graph.origin)
    return type(graph)(copy_graph(graph.left), copy_graph(graph.right))


def copy_operator(operator: Operator) -> Operator:
    if not is_dataclass(operator):
        return operator
    own = copy.copy(operator)
    for field in fields(operator):
        object.__setattr__(own, field.name, _copy_value(getattr(operator, field.name)))
    return own


def _copy_value(part: object) -> Any:
    """Copy a value if the copy is equal to it; else share it, as the two could not be compared."""
    if isinstance(part, Operator):
        return copy_operator(part)
    try:
        own = copy.deepcopy(part)
        return own if own == part else part
    except Exception:  # it cannot be copied
        return part


NEW_STATE = "a frozen dataclass, whose new state goes into the step: Step(…, replace(self, …), …)"
KEEP_TYPES = "leave the inputs, and the fields of the operator, in their types: `type` gives the same after each step"
NEW_ELEMENT = "emit a new value, and leave the elements of the input as they are"
CLOSED = "a collection that is closed under ++, as flo.verify.check(collection) tries"


class CheckedSpace(Space):
    """The states of a graph; every step is checked for the laws of single steps."""

    def __init__(self, graph: Graph, types: StreamTypes, names: tuple[str, ...]) -> None:
        self.node_types: list[tuple[StreamTypes, StreamTypes]] = []
        super().__init__(graph, self._type_nodes(graph, types), names)
        self.has_mutable_elements = any(
            holds_mutable(kind.collection) for inputs, _ in self.node_types for kind in inputs
        )
        """Whether an operator could change elements of its input."""

    def _type_nodes(self, graph: Graph, types: StreamTypes) -> StreamTypes:
        """Find the input and output types of every operator, from left to right."""
        match graph:
            case Node():
                self.node_types.append((types, derive(graph, types).outputs))
                return self.node_types[-1][1]
            case Sequential(left, right):
                return self._type_nodes(right, self._type_nodes(left, types))
            case Parallel(left, right):
                count = left.arity[0]
                return self._type_nodes(left, types[:count]) + self._type_nodes(right, types[count:])

    def forget(self) -> None:
        super().forget()
        self.checked: set[tuple[int, int]] = set()
        self.known: Derivations = {}
        """The derivations of the graphs and operators in the slots."""

    def small_steps(self, node: Node, times: int = 2) -> list[GraphStep]:
        """The enabled steps, which must be the same each time."""
        name = node.operator.name
        own = not is_shipped(type(node.operator))  # the operators of Flo do not change themselves
        before = copy_operator(node.operator) if own else node.operator
        held = _copy_value(node.state) if own and self.has_mutable_elements else node.state
        steps = super().small_steps(node)
        if not are_equal(held, node.state):
            reason = f"`{name}` changes an element of its input"
            move = make_step_move(steps[0]) if steps else Move(name, name, name)
            raise BrokenStep(
                "function", reason, move, (format_values(held or ()), format_values(node.state or ())), NEW_ELEMENT
            )
        if not are_equal(before, node.operator):
            reason = f"`{name}` has changed its own state without a step: it holds something that can be changed"
            move = make_step_move(steps[0]) if steps else Move(name, name, name)
            texts = format_expression(before), format_expression(node.operator)
            raise BrokenStep("function", reason, move, cut_to_difference(texts), NEW_STATE)
        for _ in range(times - 1):
            again = super().small_steps(node)
            if not are_equal(steps, again):
                reason = f"{name_functions(node)} gives one result the first time and another the second"
                raise BrokenStep("function", reason, *_find_difference(node, steps, again))
        return steps

    def check_content(self, slot: int, number: int, move: Move) -> None:
        if (slot, number) in self.checked:
            return
        thing = self.slots[slot].contents[number]
        if isinstance(thing, Node):
            types, outputs = self.node_types[slot]
            try:
                with derive_once(self.known):
                    derived = derive(thing, types).outputs
            except FloError as error:
                advice = KEEP_TYPES if move.step is not None else CLOSED
                raise BrokenStep("preservation", str(error).splitlines()[0], move, advice=advice) from None
            if derived != outputs:
                becomes = f"the type of the outputs becomes {', '.join(map(str, derived))}"
                raise BrokenStep("preservation", becomes, move, advice=KEEP_TYPES)
        else:
            output = self.output_types[slot - len(self.nodes)]
            reason = output.collection.mismatch(thing)
            if reason is not None:
                raise BrokenStep(
                    "preservation", f"an output of type {output} holds {format_values([thing])}: {reason}", move
                )
        self.checked.add((slot, number))


def holds_mutable(collection: Collection) -> bool:
    """Whether the elements of a collection are lists, dicts or other values that can be changed."""
    match collection:
        case Form(base=base):
            return holds_mutable(base)
        case Keyed():
            return holds_mutable(collection.inner)
        case Nested(inner=inner):
            return any(holds_mutable(stream.collection) for stream in inner)
        case ElementCollection(element=kind):
            return not all(map(is_immutable, examples(kind)))
    return False


def _find_difference(node: Node, first: list[GraphStep], again: list[GraphStep]) -> tuple[Move, tuple[str, str]]:
    """Find the first step that differs, and where its two results differ."""
    for one, other in zip(first, again, strict=False):
        if not are_equal(one, other):
            emitted, after = _format_outputs(one), _format_outputs(other)
            results = (emitted, after) if emitted != after else format_leftovers(emitted, one.graph, other.graph)
            return make_step_move(one), results
    move = Move(node.operator.name, node.operator.name, node.operator.name)
    return move, (f"{len(first)} steps", f"{len(again)} steps")


def _format_outputs(step: GraphStep) -> str:
    return format_values(output for output in step.outputs if output is not None)


def name_functions(node: Node) -> str:
    """Name the user's functions in the operator, for messages."""
    lowering = Lowering()
    with suppress(FloError):  # a state that cannot be lowered
        lowering(node.operator)
    supplied = [item for item in lowering.names.values() if callable(item) and not isinstance(item, (type, Lowerable))]
    return " or ".join(f"`{label(item)}`" for item in supplied) or f"`{node.operator.name}`"

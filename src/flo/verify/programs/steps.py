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
from flo.core.typing import derive
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.operators.shapes import is_immutable
from flo.verify.data.examples import examples
from flo.verify.effort import is_shipped
from flo.verify.exploration.moves import Move, StepBroken, step_move
from flo.verify.exploration.sameness import alike
from flo.verify.exploration.source import expression, shown_all
from flo.verify.exploration.space import Space
from flo.verify.exploration.ways import differing, left_over


def copied(graph: Graph) -> Graph:
    """The same graph, with operators of its own."""
    if isinstance(graph, Node):
        return Node(graph.state, copied_operator(graph.operator), graph.origin)
    return type(graph)(copied(graph.left), copied(graph.right))


def copied_operator(operator: Operator) -> Operator:
    if not is_dataclass(operator):
        return operator
    own = copy.copy(operator)
    for field in fields(operator):
        object.__setattr__(own, field.name, _copied(getattr(operator, field.name)))
    return own


def _copied(part: Any) -> Any:
    """A copy, if it is equal to the value. A value that is equal only to itself cannot be compared with a copy."""
    if isinstance(part, Operator):
        return copied_operator(part)
    try:
        own = copy.deepcopy(part)
        return own if own == part else part
    except Exception:  # what cannot be copied is shared
        return part


NEW_STATE = "a frozen dataclass, whose new state goes into the step: Step(…, replace(self, …), …)"
KEEP_TYPES = "leave the inputs, and the fields of the operator, in their types: `type` gives the same after each step"
NEW_ELEMENT = "emit a new value, and leave the elements of the input as they are"
CLOSED = "a collection that is closed under ++, as flo.verify.check(collection) tries"


class LawfulSpace(Space):
    """The states of a graph; every step is tried for the laws that bind single steps."""

    def __init__(self, graph: Graph, types: StreamTypes, names: tuple[str, ...]) -> None:
        self.judged: list[tuple[StreamTypes, StreamTypes]] = []
        super().__init__(graph, self._judge(graph, types), names)
        self.lawful: set[tuple[int, int]] = set()
        self.mutable = any(holds_mutable(kind.collection) for inputs, _ in self.judged for kind in inputs)
        """Whether an operator could change the elements that it is given."""

    def _judge(self, graph: Graph, types: StreamTypes) -> StreamTypes:
        """The types on both sides of every operator, left to right."""
        match graph:
            case Node():
                self.judged.append((types, derive(graph, types).outputs))
                return self.judged[-1][1]
            case Sequential(left, right):
                return self._judge(right, self._judge(left, types))
            case Parallel(left, right):
                count = left.arity[0]
                return self._judge(left, types[:count]) + self._judge(right, types[count:])

    def forget(self) -> None:
        super().forget()
        self.lawful = set()

    def small_steps(self, node: Node, times: int = 2) -> list[GraphStep]:
        """The steps, which must be the same each time."""
        name, own = node.operator.name, not is_shipped(type(node.operator))  # those of Flo do not change themselves
        before = copied_operator(node.operator) if own else node.operator
        held = _copied(node.state) if own and self.mutable else node.state
        found = super().small_steps(node)
        if not alike(held, node.state):
            reason = f"`{name}` changes an element of its input"
            move = step_move(found[0]) if found else Move(name, name, name)
            raise StepBroken(
                "function", reason, move, (shown_all(held or ()), shown_all(node.state or ())), NEW_ELEMENT
            )
        if not alike(before, node.operator):
            reason = f"`{name}` has changed its own state without a step: it holds something that can be changed"
            move = step_move(found[0]) if found else Move(name, name, name)
            texts = expression(before), expression(node.operator)
            raise StepBroken("function", reason, move, differing(texts), NEW_STATE)
        for _ in range(times - 1):
            again = super().small_steps(node)
            if not alike(found, again):
                reason = f"{functions_of(node)} gives one result the first time and another the second"
                raise StepBroken("function", reason, *_difference(node, found, again))
        return found

    def entered(self, slot: int, number: int, move: Move) -> None:
        if (slot, number) in self.lawful:
            return
        thing = self.slots[slot].things[number]
        if isinstance(thing, Node):
            types, outputs = self.judged[slot]
            try:
                found = derive(thing, types).outputs
            except FloError as error:
                advice = KEEP_TYPES if move.step is not None else CLOSED
                raise StepBroken("preservation", str(error).splitlines()[0], move, advice=advice) from None
            if found != outputs:
                becomes = f"the type of the outputs becomes {', '.join(map(str, found))}"
                raise StepBroken("preservation", becomes, move, advice=KEEP_TYPES)
        else:
            output = self.output_types[slot - len(self.nodes)]
            reason = output.collection.mismatch(thing)
            if reason is not None:
                raise StepBroken(
                    "preservation", f"an output of type {output} holds {shown_all([thing])}: {reason}", move
                )
        self.lawful.add((slot, number))


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


def _difference(node: Node, found: list[GraphStep], again: list[GraphStep]) -> tuple[Move, tuple[str, str]]:
    """The first step that is not the same, and both of its results: what differs of them."""
    for one, other in zip(found, again, strict=False):
        if not alike(one, other):
            emitted, after = _emitted(one), _emitted(other)
            results = (emitted, after) if emitted != after else left_over(emitted, one.graph, other.graph)
            return step_move(one), results
    return Move(node.operator.name, node.operator.name, node.operator.name), (
        f"{len(found)} steps",
        f"{len(again)} steps",
    )


def _emitted(step: GraphStep) -> str:
    return shown_all(output for output in step.outputs if output is not None)


def functions_of(node: Node) -> str:
    """The user's functions in the operator, for people."""
    lowering = Lowering()
    with suppress(FloError):  # a state that cannot be written down
        lowering(node.operator)
    supplied = [item for item in lowering.names.values() if callable(item) and not isinstance(item, (type, Lowerable))]
    return " or ".join(f"`{label(item)}`" for item in supplied) or f"`{node.operator.name}`"

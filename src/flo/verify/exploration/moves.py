"""What leads from one state of a program to the next, by name and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flo.core.collection import Value
from flo.core.errors import brief
from flo.core.forms import FormedValue
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.nested import NestedValue
from flo.core.semantics import GraphStep
from flo.values.keyed import KeyedValue
from flo.values.sequence import SequenceValue
from flo.values.weighted import WeightedValue
from flo.verify.exploration.shown import shown

GRAPH_RULES = frozenset({"operator", "sequence-left", "sequence-right", "par-left", "par-right"})
MOST_OF_AN_ELEMENT = 24


@dataclass(frozen=True, slots=True)
class Move:
    """What led from one state to the next: a small step, or the arrival of a delta."""

    stem: str
    """The operator's rule, or the input, as one word."""
    name: str
    """As a trace calls it: also what was taken, or what has arrived."""
    text: str
    """For people."""
    rules: tuple[str, ...] = ()
    step: GraphStep | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass
class StepBroken(Exception):
    """A step breaks a law that binds every single step."""

    role: str
    reason: str
    move: Move
    results: tuple[str, ...] = ()
    advice: str = ""
    """What to do about it, where the law says something else."""


def step_move(step: GraphStep, path: tuple[str, ...] = ()) -> Move:
    """The move that takes this step; `path` leads to the operator that takes it."""
    shown = " › ".join(rule for rule in step.path if rule not in GRAPH_RULES)
    return Move(step.rule, step.rule, shown, (*path, *step.path), step)


def told_step(graph: Graph, step: GraphStep) -> Move:
    """The same of a step of a whole graph, with the elements that it takes where there is no order among them."""
    before, after = _at(graph, step.place), _at(step.graph, step.place)
    pairs = zip(before.state or (), after.state or (), strict=False)
    found = [text for one, other in pairs for text in taken(one, other)]
    move = step_move(step)
    if not found:
        return move
    elements = "".join(",".join(found).split())
    return Move(move.stem, f"{move.name}({elements})", f"{move.text}({', '.join(found)})", move.rules, step)


def _at(graph: Graph, place: tuple[int, ...]) -> Node:
    for side in place:
        assert isinstance(graph, (Sequential, Parallel))
        graph = graph.right if side else graph.left
    assert isinstance(graph, Node)
    return graph


def taken(before: Value, after: Value) -> Iterator[str]:
    """The elements that are there before and not after, or less often."""
    if before is after:
        return
    match before, after:
        case FormedValue(), FormedValue():
            yield from taken(before.value(), after.value())
        case WeightedValue(), WeightedValue():
            left = after.weights.to_dict()
            for element, weight in before.weights.to_dict().items():
                if left.get(element, 0) != weight:
                    less = weight - left.get(element, 0)
                    yield element_text(element) + (f"×{less}" if less != 1 else "")
        case KeyedValue(), KeyedValue():
            entries = after.entries.to_dict()
            for key, value in before.entries.to_dict().items():
                if entries.get(key) != value:
                    inside = ",".join(taken(value, entries[key])) if key in entries else ""
                    yield element_text(key) + (f":{inside}" if inside else "")
        case NestedValue(), NestedValue():
            for one, other in zip(before.oldest() or (), after.oldest() or (), strict=False):
                yield from taken(one, other)


def element_text(element: object) -> str:
    return brief(element, MOST_OF_AN_ELEMENT)


def arrival(name: str, delta: Value, is_end: bool) -> Move:
    """The move by which a delta arrives on the input of this name; inputs of operators are numbered."""
    known = "_".join(name.split())
    people = f"input {name}" if name.isdigit() else name
    if is_end:
        return Move(known, f"{known}⊗", f"{people} ends")
    content = shown(delta)
    match delta.value() if isinstance(delta, FormedValue) else delta:
        case SequenceValue(elements=elements) if len(elements) == 1:
            element = element_text(elements[0])
        case WeightedValue(weights=weights) if list(weights.values()) == [1]:
            element = element_text(next(iter(weights)))
        case _:
            element = content[:MOST_OF_AN_ELEMENT]
    return Move(known, f"{known}←{''.join(element.split())}", f"{people} ← {content}")

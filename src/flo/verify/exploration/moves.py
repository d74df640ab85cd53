"""Moves between states, small steps and arrivals, with their names in traces; and runs made of moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from flo.core.collection import FormedValue, Value
from flo.core.errors import brief
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, setinput
from flo.core.nested import NestedValue
from flo.core.operator import Values, concat_all
from flo.core.semantics import GraphStep, finish, small_steps
from flo.core.stream_type import StreamTypes
from flo.values.keyed import KeyedValue
from flo.values.sequence import SequenceValue
from flo.values.weighted import WeightedValue
from flo.verify.effort import Meter
from flo.verify.exploration.arrivals import Channels, waiting
from flo.verify.exploration.source import shown

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


MOST_ROUNDS = 100
"""So often `advance` may go on before it is said to go on for ever."""
ADVANCE = "advance()"
"""As a trace calls it: no rule has such a name."""


class Run:
    """A graph, its outputs, what has arrived, and what has happened.

    States are never merged here. Of two that are equal, an unordered collection may list its elements in another order,
    so that the same trace means something else: a way that was told along a run is replayed exactly.
    """

    def __init__(
        self,
        graph: Graph,
        output_types: StreamTypes,
        channels: Channels,
        names: tuple[str, ...],
        meter: Meter | None = None,
    ) -> None:
        self.meter = meter or Meter()
        self.graph, self.channels, self.names = graph, channels, names
        self.outputs: Values = tuple(output.collection.bottom() for output in output_types)
        self.arrived = (0,) * len(channels)
        self.steps: list[GraphStep] = []
        self.events: list[str] = []
        self.trace: list[str] = []

    def waiting(self) -> list[int]:
        """The channels that something can arrive on."""
        return waiting(self.channels, self.arrived)

    def arriving(self) -> list[tuple[Move, int]]:
        """What can arrive on each of them."""
        places = self.waiting()
        next_ones = [(self.channels[place], self.arrived[place]) for place in places]
        moves = (arrival(self.names[each.input], each.deltas[count], each.is_end) for each, count in next_ones)
        return list(zip(numbered(moves), places, strict=True))

    def stepping(self) -> list[Move]:
        """The steps that can be taken."""
        self.meter.done += 1
        return numbered(told_step(self.graph, step) for step in small_steps(self.graph))

    def arrive(self, move: Move | None, place: int) -> None:
        """Something arrives on this channel; without a move, nothing is told of it."""
        self.graph, self.arrived = self.after_arrival(place)
        if move is not None:
            self._told(move.name, move.text)

    def after_arrival(self, place: int) -> tuple[Graph, tuple[int, ...]]:
        channel, values, count = self.channels[place], list(inputs(self.graph)), self.arrived[place]
        values[channel.input] = values[channel.input].concat(channel.deltas[count])
        return setinput(self.graph, tuple(values)), (*self.arrived[:place], count + 1, *self.arrived[place + 1 :])

    def take(self, move: Move) -> None:
        assert move.step is not None
        self.graph, self.outputs = move.step.graph, concat_all(self.outputs, move.step.outputs)
        self.steps.append(move.step)
        self._told(move.name, move.text)

    def advance(self) -> None:
        """Where `advance` leads, until it changes nothing, or for ever."""
        self.meter.done += 1
        self.graph, self.outputs = finish(self.graph, self.outputs, MOST_ROUNDS)
        self._told(ADVANCE, "advance")

    def _told(self, name: str, text: str) -> None:
        self.trace.append(name)
        self.events.append(text)


def numbered(moves: Iterable[Move]) -> list[Move]:
    """The moves; those that have one name, or one text, with their numbers, from 1."""
    found = list(moves)
    names, texts = Counter(move.name for move in found), Counter(move.text for move in found)
    seen: Counter[str] = Counter()
    for place, move in enumerate(found):
        seen.update({f"name {move.name}", f"text {move.text}"})
        name = f"{move.name}#{seen[f'name {move.name}']}" if names[move.name] > 1 else move.name
        text = f"{move.text}#{seen[f'text {move.text}']}" if texts[move.text] > 1 else move.text
        found[place] = replace(move, name=name, text=text)
    return found

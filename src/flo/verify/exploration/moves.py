"""Moves from state to state (small steps and arrivals of data), with their names in traces; runs made of moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from flo.core.collection import FormedValue, Value
from flo.core.errors import Pickled, brief
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, setinput
from flo.core.nested import NestedValue
from flo.core.operator import Values, concat_all, replaced
from flo.core.semantics import GraphStep, finish, small_steps
from flo.core.stream_type import StreamTypes
from flo.values.keyed import KeyedValue
from flo.values.sequence import SequenceValue
from flo.values.weighted import WeightedValue
from flo.verify.effort import Meter
from flo.verify.exploration.arrivals import Channels, open_channels
from flo.verify.exploration.source import format_value

GRAPH_RULES = frozenset({"operator", "sequence-left", "sequence-right", "par-left", "par-right"})
MOST_OF_AN_ELEMENT = 24


@dataclass(frozen=True, slots=True)
class Move:
    """A transition between two states: a small step, or the arrival of a delta."""

    stem: str
    """The rule of the operator, or the name of the input, as one word."""
    name: str
    """The name in a trace: the stem with the elements that were consumed or have arrived."""
    text: str
    """The text in a counterexample."""
    rules: tuple[str, ...] = ()
    step: GraphStep | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass
class BrokenStep(Pickled, Exception):
    """A step that breaks a law of single steps."""

    role: str
    reason: str
    move: Move
    results: tuple[str, ...] = ()
    advice: str = ""
    """A fix for this case, where the general advice of the law does not fit."""


def make_step_move(step: GraphStep, path: tuple[str, ...] = ()) -> Move:
    """Make the move of a step; `path` leads to the operator that takes it."""
    text = " › ".join(rule for rule in step.path if rule not in GRAPH_RULES)
    return Move(step.rule, step.rule, text, (*path, *step.path), step)


def name_step(graph: Graph, step: GraphStep) -> Move:
    """Make the move of a step of a whole graph, named with the elements that it consumes from unordered collections."""
    before, after = node_at(graph, step.place), node_at(step.graph, step.place)
    pairs = zip(before.state or (), after.state or (), strict=False)
    consumed = [text for one, other in pairs for text in find_consumed(one, other)]
    move = make_step_move(step)
    if not consumed:
        return move
    elements = "".join(",".join(consumed).split())
    return Move(move.stem, f"{move.name}({elements})", f"{move.text}({', '.join(consumed)})", move.rules, step)


def node_at(graph: Graph, place: tuple[int, ...]) -> Node:
    """The operator at a place of the graph: a list of sides, 0 for left and 1 for right."""
    for side in place:
        assert isinstance(graph, (Sequential, Parallel))
        graph = graph.right if side else graph.left
    assert isinstance(graph, Node)
    return graph


def find_consumed(before: Value, after: Value) -> Iterator[str]:
    """Yield the elements that occur less often after a step than before, as text."""
    if before is after:
        return
    match before, after:
        case FormedValue(), FormedValue():
            yield from find_consumed(before.value(), after.value())
        case WeightedValue(), WeightedValue():
            left = after.weights.to_dict()
            for element, weight in before.weights.to_dict().items():
                if left.get(element, 0) != weight:
                    less = weight - left.get(element, 0)
                    yield format_element(element) + (f"×{less}" if less != 1 else "")
        case KeyedValue(), KeyedValue():
            entries = after.entries.to_dict()
            for key, value in before.entries.to_dict().items():
                if entries.get(key) != value:
                    inside = ",".join(find_consumed(value, entries[key])) if key in entries else ""
                    yield format_element(key) + (f":{inside}" if inside else "")
        case NestedValue(), NestedValue():
            for one, other in zip(before.oldest() or (), after.oldest() or (), strict=False):
                yield from find_consumed(one, other)


def format_element(element: object) -> str:
    return brief(element, MOST_OF_AN_ELEMENT)


def make_arrival(name: str, delta: Value, is_end: bool) -> Move:
    """Make the move by which a delta arrives on an input; the inputs of an operator are numbered."""
    known = "_".join(name.split())
    people = f"input {name}" if name.isdigit() else name
    if is_end:
        return Move(known, f"{known}⊗", f"{people} ends")
    content = format_value(delta)
    match delta.value() if isinstance(delta, FormedValue) else delta:
        case SequenceValue(elements=elements) if len(elements) == 1:
            element = format_element(elements[0])
        case WeightedValue(weights=weights) if list(weights.values()) == [1]:
            element = format_element(next(iter(weights)))
        case _:
            element = content[:MOST_OF_AN_ELEMENT]
    return Move(known, f"{known}←{''.join(element.split())}", f"{people} ← {content}")


MOST_ROUNDS = 100
"""How often `advance` may change something before it counts as endless."""
ADVANCE = "advance()"
"""The name in a trace; no rule has such a name."""


class GraphRun:
    """A run of a graph: its outputs, the deltas that have arrived, and the moves that were taken.

    Equal states are not merged here, unlike in a `Space`: an unordered collection may list its elements in another
    order in each of them, and then the same trace would mean other moves. So the trace of a run can be replayed.
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
        """The channels that have a delta to deliver."""
        return open_channels(self.channels, self.arrived)

    def arriving(self) -> list[tuple[Move, int]]:
        """The next arrival on each of these channels."""
        places = self.waiting()
        next_ones = [(self.channels[place], self.arrived[place]) for place in places]
        moves = (make_arrival(self.names[each.input], each.deltas[count], each.is_end) for each, count in next_ones)
        return list(zip(number_moves(moves), places, strict=True))

    def stepping(self) -> list[Move]:
        """The enabled steps."""
        self.meter.done += 1
        return number_moves(name_step(self.graph, step) for step in small_steps(self.graph))

    def arrive(self, move: Move | None, place: int) -> None:
        """Delivers the next delta of a channel; without a move, nothing is recorded."""
        self.graph, self.arrived = self.after_arrival(place)
        if move is not None:
            self._record(move.name, move.text)

    def after_arrival(self, place: int) -> tuple[Graph, tuple[int, ...]]:
        channel, values, count = self.channels[place], list(inputs(self.graph)), self.arrived[place]
        values[channel.input] = values[channel.input].concat(channel.deltas[count])
        return setinput(self.graph, tuple(values)), replaced(self.arrived, place, count + 1)

    def take(self, move: Move) -> None:
        assert move.step is not None
        self.graph, self.outputs = move.step.graph, concat_all(self.outputs, move.step.outputs)
        self.steps.append(move.step)
        self._record(move.name, move.text)

    def advance(self) -> None:
        """Applies `advance` until it changes nothing."""
        self.meter.done += 1
        self.graph, self.outputs = finish(self.graph, self.outputs, MOST_ROUNDS)
        self._record(ADVANCE, "advance")

    def _record(self, name: str, text: str) -> None:
        self.trace.append(name)
        self.events.append(text)


def number_moves(moves: Iterable[Move]) -> list[Move]:
    """Return the moves; those with equal names or texts get numbers, from 1."""
    numbered = list(moves)
    names, texts = Counter(move.name for move in numbered), Counter(move.text for move in numbered)
    seen: Counter[str] = Counter()
    for place, move in enumerate(numbered):
        seen.update({f"name {move.name}", f"text {move.text}"})
        name = f"{move.name}#{seen[f'name {move.name}']}" if names[move.name] > 1 else move.name
        text = f"{move.text}#{seen[f'text {move.text}']}" if texts[move.text] > 1 else move.text
        numbered[place] = replace(move, name=name, text=text)
    return numbered

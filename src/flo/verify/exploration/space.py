"""The state space of a program: states are numbered and computed on demand; the measure must fall at every step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

from flo.core.collection import Value
from flo.core.errors import FloError, brief
from flo.core.graph import Graph, Node, Parallel, Sequential, nodes
from flo.core.operator import Operator, Values, replaced
from flo.core.persistent import PersistentMap
from flo.core.semantics import GraphStep, small_steps
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TypeForm
from flo.verify.effort import Meter
from flo.verify.equality import are_equal, deep_type
from flo.verify.exploration.arrivals import Channel, Channels, open_channels
from flo.verify.exploration.moves import BrokenStep, GraphRun, Move, make_arrival, make_step_move
from flo.verify.exploration.source import format_expression, format_value

GRAPHS = (Node, Sequential, Parallel)
NOT_FALLING = "the measure does not fall"


def find_measure_fault(before: object, after: object) -> str | None:
    """Return what is wrong with the measures before and after a step; None if nothing is."""
    for each in (before, after):
        if not isinstance(each, tuple) or not is_measure(each):
            return f"`measure` must return a tuple of integers ≥ 0, or of such tuples; got {brief(each)}"
    return None if falls(before, after) else NOT_FALLING


def advise_on_measure(operator: Operator, reason: str) -> str:
    """Advise how to fix the measure, which may be the operator's own or the default."""
    if type(operator).measure is Operator.measure:
        return "consume something of the input at each step, or define a `measure` that falls"
    if reason != NOT_FALLING:
        return "return a tuple of integers ≥ 0 from `measure`"
    return "make every step lower the result of `measure`: the first number that changes must get smaller"


def is_measure(place: object) -> bool:
    if isinstance(place, tuple):
        return all(map(is_measure, place))
    return isinstance(place, int) and place >= 0


def falls(before: object, after: object) -> bool:
    """Whether it falls lexicographically. Tuples may not grow: (1,), (0, 1), (0, 0, 1), … would fall for ever."""
    if not (isinstance(before, tuple) and isinstance(after, tuple)):
        return isinstance(before, int) and isinstance(after, int) and after < before
    if len(after) > len(before):
        return False
    pairs = zip(before, after, strict=False)
    return next((falls(one, other) for one, other in pairs if one != other), len(after) < len(before))


SpaceState: TypeAlias = tuple[int, ...]
Feed: TypeAlias = tuple[int, int, int]
"""(the slot that a delta flows into, the index of its input, the number of the delta)"""


@dataclass
class Slot:
    """A place of the program: an operator with its inputs, or an output. Its contents are numbered."""

    numbers: dict[Any, list[int]] = field(default_factory=dict)
    """Equal contents, which may differ in their types."""
    contents: list[Any] = field(default_factory=list)
    types: dict[int, TypeForm] = field(default_factory=dict)
    """The deep types of contents that equal another."""
    steps: list[list[tuple[Move, int, tuple[Feed, ...]]] | None] = field(default_factory=list)
    absorbed: dict[tuple[int, int, int], int] = field(default_factory=dict)
    unhashable: dict[int, list[int]] = field(default_factory=dict)

    def number(self, thing: object) -> int:
        try:
            equal = self.numbers.setdefault(thing, [])
        except TypeError:  # not hashable: compared with the others whose text has the same length
            return self._number_by_comparison(thing)
        if not equal:  # most contents are new, so their deep type need not be known
            equal.append(self._append(thing))
            return equal[0]
        kind = deep_type(thing)
        for number in equal:
            if self._type_of(number) == kind:
                return number
        equal.append(self._append(thing))
        return equal[-1]

    def _type_of(self, number: int) -> TypeForm:
        if number not in self.types:
            self.types[number] = deep_type(self.contents[number])
        return self.types[number]

    def _number_by_comparison(self, thing: object) -> int:
        candidates = self.unhashable.setdefault(len(format_expression(thing)), [])
        for number in candidates:
            if self.contents[number] == thing and self._type_of(number) == deep_type(thing):
                return number
        candidates.append(self._append(thing))
        return candidates[-1]

    def _append(self, thing: object) -> int:
        self.contents.append(thing)
        self.steps.append(None)
        return len(self.contents) - 1


def count_operators(operator: Operator) -> int:
    """The operator, and those of the graphs that it runs: each costs about as much to step, to compare and to type."""
    own = fields(operator) if is_dataclass(operator) else ()
    held = (_graphs_in(getattr(operator, each.name)) for each in own)
    counts = (sum(count_operators(node.operator) for graph in graphs for node in nodes(graph)) for graphs in held)
    return 1 + max(counts, default=0)  # of the graphs that run and those that they started as, the former


def all_operators(graph: Graph) -> Iterator[Operator]:
    """The operators of a graph, and of the graphs that they run."""
    for operator in (node.operator for node in nodes(graph)):
        yield operator
        for name in getattr(operator, "__dataclass_fields__", ()):
            yield from (inner for each in _graphs_in(getattr(operator, name)) for inner in all_operators(each))


def _graphs_in(held: object) -> Iterable[Graph]:
    if isinstance(held, PersistentMap):  # of one graph for each key, if of any
        return held.to_dict().values() if isinstance(next(iter(held.values()), None), GRAPHS) else ()
    return (held,) if isinstance(held, GRAPHS) else ()


class Space:
    """The states of a graph; `names` are the names of its inputs."""

    def __init__(self, graph: Graph, output_types: StreamTypes, names: tuple[str, ...] = ()) -> None:
        self.graph, self.output_types = graph, output_types
        self.names = names or tuple(str(place + 1) for place in range(graph.arity[0]))
        self.nodes: list[Node] = []
        self.paths: list[tuple[str, ...]] = []
        self.flows: list[list[tuple[int, int]]] = []
        self.entries, exits = self._flatten(graph, ())
        count = len(self.nodes)
        for place, (slot, index) in enumerate(exits):
            self.flows[slot][index] = (count + place, 0)
        self.arrival = count + len(exits)
        self.rules: set[str] = set()
        """The rules of all steps that were ever enabled."""
        self.meter = Meter()
        """Counts the states that were looked at, and the steps that were computed."""
        self.forget()

    def _flatten(self, graph: Graph, path: tuple[str, ...]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Add the operators of the graph; return where its inputs enter and its outputs leave, as (slot, index)."""
        match graph:
            case Node():
                slot = len(self.nodes)
                self.nodes.append(graph)
                self.paths.append(path)
                self.flows.append([(-1, 0)] * graph.arity[1])
                entries, exits = ([(slot, place) for place in range(count)] for count in graph.arity)
                return entries, exits
            case Sequential(left, right):
                entries, between = self._flatten(left, (*path, "sequence-left"))
                behind, exits = self._flatten(right, (*path, "sequence-right"))
                for (slot, place), entry in zip(between, behind, strict=True):
                    self.flows[slot][place] = entry
                return entries, exits
            case Parallel(left, right):
                entries, exits = self._flatten(left, (*path, "par-left"))
                more, others = self._flatten(right, (*path, "par-right"))
                return entries + more, exits + others

    def forget(self) -> None:
        """Drop everything that was computed."""
        self.slots = [Slot() for _ in range(self.arrival + 1)]
        self._tables = [slot.steps for slot in self.slots[: len(self.nodes)]]
        self.deltas = [Slot() for _ in self.slots]
        """The deltas that have flowed into each slot."""
        self.faults: dict[tuple[int, int], FloError] = {}
        self.channels: Channels = ()
        self._events: list[list[tuple[Move, Feed]]] = []
        """The arrivals on each channel, in order."""

    def size(self) -> int:
        """The number of values that are kept."""
        return sum(len(slot.contents) + len(slot.absorbed) for slot in self.slots)

    def state(self, graph: Graph, outputs: Values, arrived: tuple[int, ...]) -> SpaceState:
        """The state of a graph of this shape."""
        things = [*nodes(graph), *outputs, arrived]
        return tuple(slot.number(thing) for slot, thing in zip(self.slots, things, strict=True))

    def is_state(self, state: SpaceState, graph: Graph, outputs: Values, arrived: tuple[int, ...]) -> bool:
        """Whether it is the state of this graph; NaN equals NaN."""
        things = [*nodes(graph), *outputs, arrived]
        return all(
            are_equal(slot.contents[number], thing)
            for slot, number, thing in zip(self.slots, state, things, strict=True)
        )

    def start(self, channels: Channels) -> SpaceState:
        """The state in which nothing of the channels has arrived.

        A start on the same channels as before keeps the numbers of states, so that ends can be compared.
        """
        if channels is not self.channels:
            self.channels = channels
            self.slots[self.arrival] = Slot()
            self._events = [[self._event(channel, delta) for delta in channel.deltas] for channel in channels]
        outputs = tuple(output.collection.bottom() for output in self.output_types)
        return self.state(self.graph, outputs, (0,) * len(channels))

    def _event(self, channel: Channel, delta: Value) -> tuple[Move, Feed]:
        move = make_arrival(self.names[channel.input], delta, channel.is_end)
        return move, self._feed(self.entries[channel.input], delta)

    def run(self) -> GraphRun:
        """A run from the start."""
        return GraphRun(self.graph, self.output_types, self.channels, self.names, self.meter)

    def is_same(self, one: SpaceState, other: SpaceState) -> bool:
        """Whether two states are equal; NaN equals NaN."""
        parts = zip(self.slots, one, other, strict=True)
        return one == other or all(a == b or are_equal(slot.contents[a], slot.contents[b]) for slot, a, b in parts)

    def graph_of(self, state: SpaceState) -> Graph:
        return self._graph(self.graph, iter(range(len(self.nodes))), state)

    def _graph(self, like: Graph, slots: Iterator[int], state: SpaceState) -> Graph:
        if isinstance(like, Node):
            slot = next(slots)
            node: Node = self.slots[slot].contents[state[slot]]
            return node
        left = self._graph(like.left, slots, state)
        return type(like)(left, self._graph(like.right, slots, state))

    def outputs_of(self, state: SpaceState) -> Values:
        places = range(len(self.nodes), self.arrival)
        return tuple(self.slots[place].contents[state[place]] for place in places)

    def next_moves(self, state: SpaceState, *, arrivals_first: bool = False) -> list[tuple[Move, SpaceState]]:
        """The next moves with their states: steps from left to right, then arrivals; or arrivals first."""
        self.meter.done += 1
        successors: list[tuple[Move, SpaceState]] = []
        for slot, table in enumerate(self._tables):
            steps = table[state[slot]]
            if steps is None or steps:
                self._add(slot, state, successors, settled=not successors)
        if not successors and self.faults:
            self._raise_fault(state)
        arriving = self.next_arrivals(state)
        return arriving + successors if arrivals_first else successors + arriving

    def next_arrivals(self, state: SpaceState) -> list[tuple[Move, SpaceState]]:
        """The next arrivals with their states."""
        arrivals: list[tuple[Move, SpaceState]] = []
        self._add(self.arrival, state, arrivals)
        return arrivals

    def arrived_counts(self, state: SpaceState) -> tuple[int, ...]:
        """How many deltas of each channel have arrived."""
        counts: tuple[int, ...] = self.slots[self.arrival].contents[state[self.arrival]]
        return counts

    def _add(
        self, slot: int, state: SpaceState, successors: list[tuple[Move, SpaceState]], settled: bool = True
    ) -> None:
        """Add the moves of a slot; those of a step that must wait for operators before it if `settled`: they cannot
        step."""
        slots = self.slots
        if settled and self.faults:
            settled = not any((before, number) in self.faults for before, number in enumerate(state[:slot]))
        steps = slots[slot].steps[state[slot]]
        if steps is None:
            steps = self._steps(slot, state[slot])
        for move, number, feeds in steps:
            if move.step is not None and move.step.settled and not settled:
                continue
            after = list(state)
            after[slot] = number
            for into, place, delta in feeds:
                known = slots[into].absorbed.get((after[into], place, delta))
                after[into] = self._absorb(into, after[into], place, delta, move) if known is None else known
            successors.append((move, tuple(after)))

    def _raise_fault(self, state: SpaceState) -> None:
        """Raise the error of a user's function, if the state has one: no other step is enabled."""
        for slot, number in enumerate(state[: len(self.nodes)]):
            if (slot, number) in self.faults:
                raise self.faults[slot, number]

    def _steps(self, slot: int, number: int) -> list[tuple[Move, int, tuple[Feed, ...]]]:
        if slot == self.arrival:
            moves = list(self._arrivals(self.slots[slot].contents[number]))
        else:
            node = self.slots[slot].contents[number]
            try:
                steps = self.small_steps(node)
            except FloError as fault:
                self.faults[slot, number], steps = fault, []
            self.meter.done += count_operators(node.operator) * max(1, len(steps))
            moves = [self._step(slot, number, step) for step in steps]
        self.slots[slot].steps[number] = moves
        return moves

    def small_steps(self, node: Node) -> list[GraphStep]:
        return list(small_steps(node))

    def check_content(self, slot: int, number: int, move: Move) -> None:
        """Called when a move has put this content into the slot; a subclass may check it."""

    def _step(self, slot: int, number: int, step: GraphStep) -> tuple[Move, int, tuple[Feed, ...]]:
        before, after = self.slots[slot].contents[number], step.graph
        assert isinstance(after, Node)
        move = make_step_move(step, self.paths[slot])
        self.rules.update(move.rules)
        after_number = self.slots[slot].number(after)
        reason = find_measure_fault(before.operator.measure(before.state), after.operator.measure(after.state or ()))
        if reason is not None and after_number == number:
            raise BrokenStep("stuck", "it leaves inputs and operator as they were, so it can be taken forever", move)
        if reason is not None:
            raise BrokenStep("measure", reason, move, advice=advise_on_measure(before.operator, reason))
        self.check_content(slot, after_number, move)
        deltas = zip(self.flows[slot], step.outputs, strict=True)
        return move, after_number, tuple(self._feed(into, delta) for into, delta in deltas if delta is not None)

    def _feed(self, into: tuple[int, int], delta: Value) -> Feed:
        return *into, self.deltas[into[0]].number(delta)

    def _absorb(self, slot: int, number: int, place: int, delta: int, move: Move) -> int:
        """Add a delta to the content of a slot, and return the number of the new content."""
        thing, more = self.slots[slot].contents[number], self.deltas[slot].contents[delta]
        values = (thing.state or ()) if isinstance(thing, Node) else (thing,)
        try:
            grown = values[place].concat(more)
        except Exception as error:  # a value of another collection
            reason = f"an output is {format_value(more)}, which cannot be added to {format_value(values[place])}"
            raise BrokenStep("preservation", reason, move) from error
        if isinstance(thing, Node):
            thing = Node(replaced(values, place, grown), thing.operator, thing.origin)
        else:
            thing = grown
        known = self.slots[slot].number(thing)
        self.check_content(slot, known, move)
        self.slots[slot].absorbed[number, place, delta] = known
        return known

    def _arrivals(self, arrived: tuple[int, ...]) -> Iterator[tuple[Move, int, tuple[Feed, ...]]]:
        for place in open_channels(self.channels, arrived):
            count = arrived[place]
            move, feed = self._events[place][count]
            yield move, self.slots[self.arrival].number(replaced(arrived, place, count + 1)), (feed,)

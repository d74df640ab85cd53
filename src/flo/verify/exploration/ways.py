"""Ways through the states of a program: as text that can be replayed, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from flo.core.graph import Graph
from flo.core.operator import Values, concat_all
from flo.core.semantics import advance
from flo.verify.exploration.moves import Move
from flo.verify.exploration.search import arrivals
from flo.verify.exploration.shown import shown_all
from flo.verify.exploration.space import Space, State
from flo.verify.laws import Law
from flo.verify.report import Counterexample

MOST_ROUNDS = 100
"""So often `advance` may go on before it is said to go on for ever."""
ADVANCE = "advance"


@dataclass(frozen=True, slots=True)
class Way:
    """What happened, step by step, and what came of it."""

    events: tuple[str, ...]
    trace: str
    """The same as text for `replay`."""
    graph: Graph
    outputs: Values

    @classmethod
    def along(cls, space: Space, states: Sequence[State], last: Move | None = None) -> Way:
        """Through these states; `last` is a step from the last of them that has no state of its own."""
        events, names = list[str](), list[str]()
        for state, after in pairwise(states):
            enabled = list(space.arriving(state))  # alone: a step that is enabled here may be the one that breaks a law
            if after not in [reached for _, reached in enabled]:
                enabled = list(space.following(state))
            move = next(move for move, reached in enabled if reached == after)
            named = [reached for other, reached in enabled if other.name == move.name]
            alike = [reached for other, reached in enabled if other.text == move.text]
            names.append(numbered(move.name, named.index(after), len(named)))
            events.append(numbered(move.text, alike.index(after), len(alike)))
        if last is not None:
            names.append(last.name)
            events.append(last.text)
        return cls(tuple(events), " ".join(names), space.graph_of(states[-1]), space.outputs_of(states[-1]))

    def advanced(self) -> Way:
        """And then `advance`."""
        graph, outputs = advanced(self.graph, self.outputs)
        return Way((*self.events, ADVANCE), f"{self.trace} {ADVANCE}".strip(), graph, outputs)


def numbered(name: str, place: int, count: int) -> str:
    """The name of a move in a trace: with its number, from 1, where several that are enabled bear the name."""
    return f"{name}#{place + 1}" if count > 1 else name


def side_by_side(law: Law, about: str, one: Way, other: Way, again: str = "") -> Counterexample:
    """Two ways that should have met; what both begin with is said once."""
    begun = 0
    while begun < min(len(one.events), len(other.events)) and one.events[begun] == other.events[begun]:
        begun += 1
    begun = max(0, min(begun, len(one.events) - 1, len(other.events) - 1))
    columns = (one.events[begun:], other.events[begun:])
    outcomes = shown_all(one.outputs), shown_all(other.outputs)
    if outcomes[0] == outcomes[1]:
        outcomes = f"{outcomes[0]}, left {one.graph}", f"{outcomes[1]}, left {other.graph}"
    if begun:
        about = f"{about}, after {', '.join(one.events[:begun])}"
    return Counterexample(law, about, columns, outcomes, again)


def alone(law: Law, about: str, way: Way, outcome: str, again: str = "") -> Counterexample:
    """One way that leads to what should not be."""
    return Counterexample(law, about, (way.events or ("nothing has arrived",),), (outcome,), again)


def advanced(graph: Graph, outputs: Values) -> tuple[Graph, Values]:
    """Where `advance` leads, until it changes nothing, or for ever."""
    for _ in range(MOST_ROUNDS):
        after, deltas = advance(graph)
        for delta in deltas:
            outputs = concat_all(outputs, delta)
        if after is graph:
            break
        graph = after
    return graph, outputs


def advance_agrees(space: Space, whole: Sequence[State], end: State) -> bool:
    """Whether `advance` leads to the end that the steps lead to: on all data at once, and after each arrival."""
    arrived = space.arrived(end)
    at_once = space.state(*advanced(space.graph_of(whole[-1]), space.outputs_of(whole[-1])), arrived)
    state = whole[0]
    while True:
        state = space.state(*advanced(space.graph_of(state), space.outputs_of(state)), space.arrived(state))
        if not (found := space.arriving(state)):
            return at_once == end == state
        state = found[0][1]


def advances(space: Space, whole: Sequence[State]) -> Iterator[Way]:
    """The same ways, told."""
    yield Way.along(space, whole).advanced()
    state, way = whole[0], Way.along(space, whole[:1]).advanced()
    while len(both := arrivals(space, state, most=1)) > 1:
        arrived = Way.along(space, both)
        events, trace = (*way.events, *arrived.events), f"{way.trace} {arrived.trace}"
        way = replace(arrived, events=events, trace=trace).advanced()
        state = space.state(way.graph, way.outputs, space.arrived(both[-1]))
    yield way

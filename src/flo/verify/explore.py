"""Every schedule and every way to cut the inputs into deltas: the state space of a program on given data.

A state is the graph with its buffers, the outputs so far, and what has not arrived yet. From each, any enabled small
step may be taken, and the next element of any input may arrive; what arrives together are elements that arrive with no
step between them. States that are equal are merged, so the space is a graph without cycles: every step lowers the
measure, and every arrival leaves less to come.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from flo.core.derivation import StreamTypes
from flo.core.graph import Graph, inputs, setinput
from flo.core.notation import text
from flo.core.operator import Values, concat_all
from flo.core.semantics import finish, small_steps
from flo.core.term import Lowering
from flo.core.typing import program


@dataclass(frozen=True, slots=True)
class Channel:
    """Deltas that arrive on an input one after the other; an end, only after all else of that input."""

    input: int
    deltas: Values
    is_end: bool = False


Channels: TypeAlias = tuple[Channel, ...]


@dataclass(frozen=True, slots=True)
class State:
    graph: Graph
    outputs: Values
    arrived: tuple[int, ...]
    """How many deltas of each channel have arrived."""


@dataclass(frozen=True, slots=True)
class Move:
    """What led from one state to the next: a small step, by its rules, or the arrival of a piece."""

    rules: tuple[str, ...]
    input: int | None = None
    shown: str = ""

    def __str__(self) -> str:
        return f"input {self.input + 1} ← {self.shown}" if self.input is not None else " › ".join(self.rules)


@dataclass(frozen=True, slots=True)
class Exploration:
    """What was found. `traces` has a way to each outcome: one, or two that differ."""

    outcomes: tuple[Values, ...]
    traces: tuple[tuple[Move, ...], ...]
    states: int
    schedules: int
    """How many ways there are through the states, or how many were tried."""
    complete: bool
    seed: int | None = None
    rules: frozenset[str] = field(default=frozenset())

    @property
    def ok(self) -> bool:
        return len(self.outcomes) <= 1

    def __str__(self) -> str:
        how = "every schedule and every cut" if self.complete else f"at random, seed {self.seed}"
        found = "one outcome" if self.ok else f"{len(self.outcomes)} outcomes"
        return f"{found} in {self.schedules:,} schedules over {self.states:,} states ({how})"


def moves(state: State, channels: Channels) -> Iterator[tuple[Move, State]]:
    """Everything that can happen next."""
    for step in small_steps(state.graph):
        yield Move(step.path), State(step.graph, concat_all(state.outputs, step.outputs), state.arrived)
    yield from _arrivals(state, channels)


def _arrivals(state: State, channels: Channels) -> Iterator[tuple[Move, State]]:
    waiting = [count < len(channel.deltas) for count, channel in zip(state.arrived, channels, strict=True)]
    held = {c.input for c, waits in zip(channels, waiting, strict=True) if waits and not c.is_end}
    for place, channel in enumerate(channels):
        if waiting[place] and not (channel.is_end and channel.input in held):
            count = state.arrived[place]
            delta = channel.deltas[count]
            values = inputs(state.graph)
            fed = (*values[: channel.input], values[channel.input].concat(delta), *values[channel.input + 1 :])
            arrived = (*state.arrived[:place], count + 1, *state.arrived[place + 1 :])
            move = Move((), channel.input, text(Lowering()(delta)))
            yield move, State(setinput(state.graph, fed), state.outputs, arrived)


def explore(
    graph: Graph, input_types: StreamTypes, channels: Channels, *, most_states: int = 100_000, seed: int = 0
) -> Exploration:
    """All of the space if it has at most so many states, else as many random ways through it."""
    outputs = tuple(output.collection.bottom() for output in program(graph, input_types).outputs)
    start = State(graph, outputs, (0,) * len(channels))
    found = _exhaustively(start, channels, most_states) or _at_random(start, channels, most_states, seed)
    return _with_advance(found, start, channels)


def _with_advance(found: Exploration, start: State, channels: Channels) -> Exploration:
    """`advance` must agree with the steps: with all data at once, and after each arrival."""
    for at_once in (True, False):
        state, trace = start, list[Move]()
        while arrival := next(_arrivals(state, channels), None):
            move, state = arrival
            trace.append(move)
            if not at_once:
                state = _advanced(state)
                trace.append(Move(("advance",)))
        state = _advanced(state)
        if state.outputs not in found.outcomes:
            traces = (*found.traces[:1], (*trace, Move(("advance",))))
            return replace(found, outcomes=(*found.outcomes, state.outputs), traces=traces)
    return found


def _advanced(state: State) -> State:
    return State(*finish(state.graph, state.outputs), state.arrived)


def channels_of(data: dict[int, Any], input_types: StreamTypes) -> Channels:
    """Plain data on inputs, cut as finely as it can be; bounded inputs end."""
    found: list[Channel] = []
    for index, items in data.items():
        found += [Channel(index, tuple(part)) for part in input_types[index].collection.pieces(items)]
    for index, kind in enumerate(input_types):
        if kind.bounded:
            found.append(Channel(index, (kind.collection.bottom().fix(),), is_end=True))
    return tuple(found)


def _key(state: State) -> Any:
    """Equal for equal states; by their text where something in them cannot be hashed."""
    try:
        hash(state)
    except TypeError:
        return text(Lowering()((state.graph, state.outputs, state.arrived)))
    return state


def _exhaustively(start: State, channels: Channels, most_states: int) -> Exploration | None:
    """Breadth first, each state once, so that traces are as short as can be; None if there are too many."""
    numbers: dict[Any, int] = {_key(start): 0}
    came_from: list[tuple[int, Move] | None] = [None]
    following: list[list[int]] = []
    outcomes: dict[Values, int] = {}
    rules: set[str] = set()
    frontier = deque([start])
    while frontier:
        state, number = frontier.popleft(), len(following)
        following.append([])
        for move, after in moves(state, channels):
            rules.update(move.rules)
            known = numbers.setdefault(_key(after), len(numbers))
            if known == len(came_from):
                if known >= most_states:
                    return None
                came_from.append((number, move))
                frontier.append(after)
            following[number].append(known)
        if not following[number]:
            outcomes.setdefault(state.outputs, number)
    traces = tuple(_trace(came_from, number) for number in list(outcomes.values())[:2])
    return Exploration(tuple(outcomes), traces, len(numbers), _ways(following), True, None, frozenset(rules))


def _ways(following: list[list[int]]) -> int:
    """How many ways lead from the first state to an end. There are no cycles: states are done after all that follow."""
    ways: dict[int, int] = {}
    path = [0]
    while path:
        number = path[-1]
        missing = [each for each in following[number] if each not in ways]
        if missing:
            path += missing
        else:
            ways[number] = sum(ways[each] for each in following[number]) or 1
            path.pop()
    return ways[0]


def _trace(came_from: list[tuple[int, Move] | None], number: int) -> tuple[Move, ...]:
    trace: list[Move] = []
    while (origin := came_from[number]) is not None:
        number, move = origin
        trace.append(move)
    return tuple(reversed(trace))


def _at_random(start: State, channels: Channels, most_states: int, seed: int) -> Exploration:
    """Whole runs, each choosing at random, until so many states were seen."""
    rng = random.Random(seed)
    outcomes: dict[Values, tuple[Move, ...]] = {}
    states, schedules, rules = 0, 0, set[str]()
    while states < most_states and len(outcomes) < 2:
        state, trace = start, []
        while found := list(moves(state, channels)):
            move, state = rng.choice(found)
            trace.append(move)
            rules.update(move.rules)
        states, schedules = states + len(trace), schedules + 1
        outcomes.setdefault(state.outputs, tuple(trace))
    return Exploration(tuple(outcomes), tuple(outcomes.values())[:2], states, schedules, False, seed, frozenset(rules))

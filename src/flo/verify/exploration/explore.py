"""Explores the states of a program: all of them, breadth first, or along random runs (`flow.explore`)."""

from __future__ import annotations

import random
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from flo.core.errors import LawError, Origin, brief
from flo.core.graph import Graph
from flo.core.operator import Values
from flo.core.stream_type import StreamTypes
from flo.core.typing import program
from flo.verify import laws
from flo.verify.exploration.arrivals import Channels
from flo.verify.exploration.moves import StepBroken
from flo.verify.exploration.sameness import alike
from flo.verify.exploration.space import Space, State
from flo.verify.exploration.ways import Way, advance_advice, advance_that_differs, side_by_side
from flo.verify.laws import Law
from flo.verify.report import Counterexample


class Search:
    """Each state once, the nearest first, so that the way to each is as short as can be.

    Of a state its numbers are kept, the one it was reached from, and which follow it; nothing else.
    """

    def __init__(self, space: Space, start: State) -> None:
        self.space = space
        self.numbers: dict[State, int] = {start: 0}
        self.parents = array("L", [0])
        self.edges = array("L")
        self.ends = array("L")
        """Where the edges of each state end."""
        self.outcomes: dict[State, int] = {}
        """Stuck states, by their numbers."""

    def run(self, most: int, *, expected: State | None = None, over: Callable[[], bool] = lambda: False) -> bool:
        """Whether all was seen, with at most so many states and before it is over, or an end that is not expected."""
        numbers, parents, edges, following = self.numbers, self.parents, self.edges, self.space.following
        frontier = deque(numbers)
        while frontier:
            state, number = frontier.popleft(), len(self.ends)
            before = len(edges)
            for _, after in following(state, arrivals_first=True):  # so that ways are like that of all data at once
                known = numbers.get(after)
                if known is None:
                    known = len(parents)
                    if known >= most:
                        return False
                    numbers[after] = known
                    parents.append(number)
                    frontier.append(after)
                edges.append(known)
            self.ends.append(len(edges))
            if len(edges) == before:
                self.outcomes[state] = number
                if expected is not None and not self.space.same(state, expected):
                    return True
            if number % 64 == 63 and over():
                return False
        return True

    def ends_apart(self, most: int | None = None) -> list[int]:
        """The numbers of stuck states that differ in more than which nan is which; the first so many."""
        found: list[State] = []
        for state in self.outcomes:
            if not any(self.space.same(state, other) for other in found):
                found.append(state)
                if len(found) == most:
                    break
        return [self.outcomes[state] for state in found]

    def way_to(self, number: int) -> list[State]:
        """The states on a shortest way there."""
        states = list(self.numbers)
        way = [states[number]]
        while number:
            number = self.parents[number]
            way.append(states[number])
        return way[::-1]

    def way_to_break(self) -> list[State]:
        """The way to the state at which a step broke a law."""
        return self.way_to(len(self.ends))

    def schedules(self) -> int:
        """How many ways lead from the first state to a stuck one; as many lead to a state as to all that lead to it."""
        incoming = [0] * len(self.parents)
        for number in self.edges:
            incoming[number] += 1
        ways = [0] * len(incoming)
        ways[0], total, ready = 1, 0, [0]
        while ready:
            number = ready.pop()
            here, ways[number] = ways[number], 0
            edges = self.edges[self.ends[number - 1] if number else 0 : self.ends[number]]
            if not edges:
                total += here
            for after in edges:
                ways[after] += here
                incoming[after] -= 1
                if not incoming[after]:
                    ready.append(after)
        return total


def walk(space: Space, way: list[State], choose: Callable[[int], int]) -> list[State]:
    """Goes on from the end of the way to a stuck state: `choose(n)` says which of n moves comes next."""
    while found := space.following(way[-1]):
        way.append(found[choose(len(found))][1])
    return way


def arrivals(space: Space, way: list[State]) -> list[State]:
    """Goes on from the end of the way until all data has arrived, and takes no step."""
    while found := space.arriving(way[-1]):
        way.append(found[0][1])
    return way


MOST_STATES = 100_000


@dataclass(frozen=True, slots=True)
class Exploration:
    """What was found: the outputs of every stuck state, and a trace, as text for `replay`, to each of the first two."""

    outcomes: tuple[Values, ...]
    traces: tuple[str, ...]
    states: int
    schedules: int
    """How many ways there are through the states, or how many were tried."""
    complete: bool
    seed: int | None = None
    rules: frozenset[str] = field(default=frozenset())
    counterexample: Counterexample | None = None
    """The two traces side by side, if there is more than one outcome."""

    @property
    def ok(self) -> bool:
        return len(self.outcomes) <= 1

    def __str__(self) -> str:
        how = "every schedule and every cut" if self.complete else f"at random, seed {self.seed}"
        found = "one outcome" if self.ok else f"{len(self.outcomes)} outcomes"
        line = f"{found} in {self.schedules:,} schedules over {self.states:,} states ({how})"
        return line if self.counterexample is None else f"{line}\n{self.counterexample}"


def explore(
    graph: Graph,
    input_types: StreamTypes,
    channels: Channels,
    *,
    most_states: int = MOST_STATES,
    seed: int = 0,
    names: tuple[str, ...] = (),
    again: Callable[[str, str], str] = lambda one, other: "",
) -> Exploration:
    """All of the space if it has at most so many states, else random ways through it, of as many states in all.

    `again` is the line that replays two traces.
    """
    if type(most_states) is not int or most_states < 1:
        raise LawError(
            f"`most_states` must be an integer ≥ 1; got {brief(most_states)}",
            instead=((f"most_states={MOST_STATES:_}", "the default"),),
            where=Origin.here(),
        )
    space = Space(graph, program(graph, input_types).outputs, names)
    try:
        found, ways, law = _exhaustively(space, channels, most_states) or _at_random(space, channels, most_states, seed)
    except StepBroken as broken:
        raise _refused(broken) from None
    if len(ways) < 2:
        return found
    one, other = ways[:2]
    advice = (advance_advice(space.graph) or "") if law == laws.ADVANCE else ""
    return replace(
        found,
        outcomes=tuple(way.outputs for way in ways),
        traces=(one.trace, other.trace),
        counterexample=side_by_side(law, "on the data given", one, other, again(one.trace, other.trace), advice),
    )


def _refused(broken: StepBroken) -> LawError:
    """A step that breaks a law by itself, so that there is nothing to explore."""
    what = f"the step `{broken.move.name}`"
    endless = broken.role in ("stuck", "measure")
    return LawError(
        f"{what} may be taken for ever: {broken.reason}" if endless else f"{what} breaks a law: {broken.reason}",
        instead=(("flo.verify.check(operator)", "shows the law that the operator breaks"),),
        where=Origin.here(),
    )


Found: TypeAlias = tuple[Exploration, list[Way], Law]


def _exhaustively(space: Space, channels: Channels, most: int) -> Found | None:
    start = space.start(channels)
    search = Search(space, start)
    if not search.run(most):
        return None
    ends, law, whole = search.ends_apart(), laws.GRAPH_EAGER_EXECUTION, arrivals(space, [start])
    ways = [Way.along(space, search.way_to(number)) for number in ends]
    if len(ends) > 1:
        at_once = Search(space, whole[-1])
        at_once.run(most)
        apart = at_once.ends_apart()
        if len(apart) > 1:  # whenever data arrives: the steps alone make the difference
            law = laws.DETERMINISM
            told = [Way.along(space, whole + at_once.way_to(number)[1:]) for number in apart]
            ways = told + [way for way in ways if not _among(told, way)]
    else:
        law = _of_advance(space)
        (end,) = ends
        other = advance_that_differs(space, list(search.numbers)[end])
        ways += [other] if other is not None else []
    return _found(space, ways, len(search.numbers), search.schedules(), None), ways, law


def _at_random(space: Space, channels: Channels, most: int, seed: int) -> Found:
    """Whole runs, each choosing at random, until so many states were seen or two outcomes found.

    In the first half all data is there at once, so that it is the steps alone that make a difference.
    """
    choose, states, schedules = random.Random(seed).randrange, 0, 0
    ways: list[Way] = []
    run: list[State] = []
    law = laws.DETERMINISM
    while states < most and len(ways) < 2:
        if space.size() > most:
            space.forget()
        start = space.start(channels)
        at_once = 2 * states < most
        law = laws.DETERMINISM if at_once else laws.GRAPH_EAGER_EXECUTION
        run = walk(space, arrivals(space, [start]) if at_once else [start], choose)
        states, schedules = states + len(run), schedules + 1
        if not ways or not space.is_state(run[-1], ways[0].graph, ways[0].outputs, space.arrived(run[-1])):
            way = Way.along(space, run)
            ways += [] if _among(ways, way) else [way]
    if len(ways) == 1:
        other, law = advance_that_differs(space, run[-1]), _of_advance(space)
        ways += [other] if other is not None else []
    return _found(space, ways, states, schedules, seed), ways, law


def _of_advance(space: Space) -> Law:
    """The law that is broken where `advance` leads elsewhere: without one, the steps do that it takes."""
    return laws.GRAPH_EAGER_EXECUTION if advance_advice(space.graph) is None else laws.ADVANCE


def _among(ways: list[Way], way: Way) -> bool:
    return any(alike((each.graph, each.outputs), (way.graph, way.outputs)) for each in ways)


def _found(space: Space, ways: list[Way], states: int, schedules: int, seed: int | None) -> Exploration:
    outcomes, traces = tuple(way.outputs for way in ways), tuple(way.trace for way in ways[:2])
    return Exploration(outcomes, traces, states, schedules, seed is None, seed, frozenset(space.rules))

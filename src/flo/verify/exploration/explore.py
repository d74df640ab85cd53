"""Every schedule and every way to cut the inputs into deltas: the state space of a program on given data.

From each state any enabled small step may be taken, and the next element of any input may arrive; what arrives
together are elements that arrive with no step between them. States that are equal are merged, so the space is a graph
without cycles: every step lowers the measure, and every arrival leaves less to come.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from flo.core.derivation import StreamTypes
from flo.core.errors import LawError, Origin
from flo.core.graph import Graph
from flo.core.operator import Values
from flo.core.typing import program
from flo.verify import laws
from flo.verify.exploration.arrivals import Channels
from flo.verify.exploration.moves import Broken
from flo.verify.exploration.search import Search, arrivals, walk
from flo.verify.exploration.space import Space
from flo.verify.exploration.ways import Way, advances, side_by_side
from flo.verify.report import Counterexample

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
) -> Exploration:
    """All of the space if it has at most so many states, else random ways through it, of as many states in all."""
    space = Space(graph, program(graph, input_types).outputs, names)
    try:
        found, ways = _exhaustively(space, channels, most_states) or _at_random(space, channels, most_states, seed)
    except Broken as broken:
        raise LawError(
            f"the step `{broken.move.name}` may be taken for ever: {broken.reason}",
            instead=(("flo.verify.check(operator)", "shows the law that the operator breaks"),),
            where=Origin.here(),
        ) from None
    law = laws.GRAPH_EAGER_EXECUTION
    if found.ok:
        law = laws.ADVANCE
        ways += [
            way
            for way in advances(space, arrivals(space, space.start(channels)))
            if (way.graph, way.outputs) != (ways[0].graph, ways[0].outputs)
        ]
    if len(ways) < 2:
        return found
    one, other = ways[:2]
    return replace(
        found,
        outcomes=tuple(way.outputs for way in ways),
        traces=(one.trace, other.trace),
        counterexample=side_by_side(law, "on the data given", one, other),
    )


def _exhaustively(space: Space, channels: Channels, most: int) -> tuple[Exploration, list[Way]] | None:
    search = Search(space, space.start(channels))
    if not search.run(most):
        return None
    ways = [Way.along(space, search.way_to(number)) for number in search.outcomes.values()]
    return _found(space, ways, len(search.numbers), search.schedules(), None), ways


def _at_random(space: Space, channels: Channels, most: int, seed: int) -> tuple[Exploration, list[Way]]:
    """Whole runs, each choosing at random, until so many states were seen or two outcomes found."""
    choose, ways, states, schedules = random.Random(seed).randrange, list[Way](), 0, 0
    while states < most and len(ways) < 2:
        if space.size() > most:
            space.forget()
        run = walk(space, [space.start(channels)], choose)
        states, schedules = states + len(run), schedules + 1
        reached = space.graph_of(run[-1]), space.outputs_of(run[-1])
        if all((way.graph, way.outputs) != reached for way in ways):
            ways.append(Way.along(space, run))
    return _found(space, ways, states, schedules, seed), ways


def _found(space: Space, ways: list[Way], states: int, schedules: int, seed: int | None) -> Exploration:
    outcomes, traces = tuple(way.outputs for way in ways), tuple(way.trace for way in ways[:2])
    return Exploration(outcomes, traces, states, schedules, seed is None, seed, frozenset(space.rules))

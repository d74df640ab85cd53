"""Explores the states of a program: all of them, breadth first, or those of random runs (`flow.explore`)."""

from __future__ import annotations

import random
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TypeAlias

from flo.core.display import Displayed, pictures
from flo.core.errors import FloError, LawError, brief
from flo.core.operator import Values
from flo.verify import laws
from flo.verify.captured import Captured, functions_of
from flo.verify.data.constants import may_depend_on_process
from flo.verify.effort import find_impure_uses
from flo.verify.equality import are_equal
from flo.verify.exploration.arrivals import Channels, Scenario
from flo.verify.exploration.counterexamples import (
    RunRecord,
    advise_on_advance,
    contrast_runs,
    find_differing_advance,
    run_plan,
)
from flo.verify.exploration.moves import BrokenStep
from flo.verify.exploration.source import format_values
from flo.verify.exploration.space import Space, SpaceState, all_operators
from flo.verify.laws import Law
from flo.verify.processes import NotSent, Trial, Trials, run_program
from flo.verify.report import Counterexample


class StateSearch:
    """A breadth-first search: it visits each state once, and finds a shortest path to it.

    It keeps the number of each state, its parent, and its successors; nothing else.
    """

    def __init__(self, space: Space, start: SpaceState) -> None:
        self.space = space
        self.numbers: dict[SpaceState, int] = {start: 0}
        self.parents = array("L", [0])
        self.edges = array("L")
        self.ends = array("L")
        """For each state, where its successors end in `edges`."""
        self.outcomes: dict[SpaceState, int] = {}
        """Stuck states, by their numbers."""

    def run(self, most: int, *, expected: SpaceState | None = None, over: Callable[[], bool] = lambda: False) -> bool:
        """Search; return False if there are too many states, or `over()` comes true. An unexpected end stops it."""
        numbers, parents, edges, following = self.numbers, self.parents, self.edges, self.space.next_moves
        frontier = deque(numbers)
        while frontier:
            state, number = frontier.popleft(), len(self.ends)
            before = len(edges)
            for _, after in following(state, arrivals_first=True):  # as the run begins that has all data at once
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
                if expected is not None and not self.space.is_same(state, expected):
                    return True
            if number % 64 == 63 and over():
                return False
        return True

    def distinct_outcomes(self, most: int | None = None) -> list[int]:
        """The numbers of the different stuck states (NaN equals NaN); at most `most` of them."""
        distinct: list[SpaceState] = []
        for state in self.outcomes:
            if not any(self.space.is_same(state, other) for other in distinct):
                distinct.append(state)
                if len(distinct) == most:
                    break
        return [self.outcomes[state] for state in distinct]

    def states_to(self, number: int) -> list[SpaceState]:
        """The states on a shortest path to this one."""
        states = list(self.numbers)
        path = [states[number]]
        while number:
            number = self.parents[number]
            path.append(states[number])
        return path[::-1]

    def states_to_break(self) -> list[SpaceState]:
        """The states up to the one in which a step broke a law."""
        return self.states_to(len(self.ends))

    def count_schedules(self) -> int:
        """Count the paths from the first state to stuck ones: those to a state are the sum of those to its parents."""
        incoming = [0] * len(self.parents)
        for number in self.edges:
            incoming[number] += 1
        paths = [0] * len(incoming)
        paths[0], total, ready = 1, 0, [0]
        while ready:
            number = ready.pop()
            here, paths[number] = paths[number], 0
            edges = self.edges[self.ends[number - 1] if number else 0 : self.ends[number]]
            if not edges:
                total += here
            for after in edges:
                paths[after] += here
                incoming[after] -= 1
                if not incoming[after]:
                    ready.append(after)
        return total


def walk(space: Space, states: list[SpaceState], choose: Callable[[int], int]) -> list[SpaceState]:
    """Extend the states up to a stuck one: `choose(n)` says which of n moves comes next."""
    while moves := space.next_moves(states[-1]):
        states.append(moves[choose(len(moves))][1])
    return states


def deliver_all(space: Space, states: list[SpaceState]) -> list[SpaceState]:
    """Extend the states until all data has arrived, without a step."""
    while arrivals := space.next_arrivals(states[-1]):
        states.append(arrivals[0][1])
    return states


MOST_STATES = 100_000


@dataclass(frozen=True, slots=True)
class Exploration(Displayed):
    """The result of an exploration: the outputs of every stuck state, and traces for `replay` to the first two."""

    outcomes: tuple[Values, ...]
    traces: tuple[str, ...]
    states: int
    schedules: int
    """The number of schedules that exist, or that were tried."""
    complete: bool
    seed: int | None = None
    rules: frozenset[str] = field(default=frozenset())
    counterexample: Counterexample | None = None
    """The two traces side by side, if there is more than one outcome."""
    scenario: Scenario | None = field(default=None, compare=False, repr=False)
    """What was explored."""
    caveats: tuple[str, ...] = ()
    """What no schedule shows: a captured object that changes, a call of a clock."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write a page with the graph of all states, and the traces step by step: HTML, in one file."""
        pictures().save_exploration(self, path)

    @property
    def ok(self) -> bool:
        return len(self.outcomes) <= 1 and self.counterexample is None

    def __str__(self) -> str:
        how = "every schedule and every cut" if self.complete else f"at random, seed {self.seed}"
        outcomes_text = "one outcome" if len(self.outcomes) <= 1 else f"{len(self.outcomes)} outcomes"
        schedules = "one schedule" if self.schedules == 1 else f"{self.schedules:,} schedules"
        line = "; ".join([f"{outcomes_text} in {schedules} over {self.states:,} states ({how})", *self.caveats])
        return line if self.counterexample is None else f"{line}\n{self.counterexample}"


def explore(
    scenario: Scenario,
    *,
    most_states: int = MOST_STATES,
    seed: int = 0,
    again: Callable[[str, str], str] = lambda one, other: "",
) -> Exploration:
    """Explore all states if there are at most `most_states`; else random runs with as many states in all.

    `again` writes the line that replays two traces.
    """
    if type(most_states) is not int or most_states < 1:
        raise LawError(
            f"`most_states` must be an integer ≥ 1; got {brief(most_states)}",
            instead=((f"most_states={MOST_STATES:_}", "the default"),),
        ).at_users_line()
    space, channels = Space(scenario.graph, scenario.output_types, scenario.names), scenario.channels
    operators = list(all_operators(scenario.graph))
    functions = [function for each in operators for function in functions_of(each)]
    captured = Captured(functions)
    try:
        result = _explore_all(space, channels, most_states) or _explore_at_random(space, channels, most_states, seed)
    except BrokenStep as broken:
        raise _refusal(broken) from None
    exploration, runs, law = result
    exploration = replace(exploration, scenario=scenario)
    if len(runs) < 2 and captured.changed():
        runs, law = _run_again(space, captured) or runs, laws.A_FUNCTION
    if len(runs) < 2:
        in_processes = any(map(may_depend_on_process, functions))
        changed = (f"a function changes `{name}`, which it captures" for name in captured.changed())
        exploration = replace(exploration, caveats=(*find_impure_uses(operators), *changed))
        try:
            apart = _check_processes(scenario, again(runs[0].trace, runs[0].trace)) if in_processes else None
        except NotSent as error:
            return replace(exploration, caveats=(*exploration.caveats, str(error)))
        return replace(exploration, counterexample=apart)
    one, other = runs[:2]
    advice = (advise_on_advance(space.graph) or "") if law == laws.ADVANCE else ""
    return replace(
        exploration,
        outcomes=tuple(run.outputs for run in runs),
        traces=(one.trace, other.trace),
        counterexample=contrast_runs(
            law, "on the data given", one, other, again(one.trace, other.trace), advice, scenario
        ),
    )


def _check_processes(scenario: Scenario, again: str) -> Counterexample | None:
    """Run in processes with other hash seeds."""
    program = scenario.graph, scenario.output_types, scenario.names, scenario.channels
    return Trials("on the data given", run_program, [Trial("run", program, again)], format_values).check_processes()


def _run_again(space: Space, captured: Captured) -> list[RunRecord] | None:
    """Run twice from the captured state of the beginning, all at once and in parts, and once more without it.

    Find two runs that end differently: equal states are explored once, so a function that changes what it captures is
    not called in every schedule.
    """
    after_all = captured.as_they_are()
    try:
        captured.restore()
        first = run_plan(space, in_parts=False)
        again = run_plan(space, in_parts=False)
        captured.restore()
        in_parts = run_plan(space, in_parts=True)
    except FloError:  # of a function: reported when it runs
        return None
    finally:
        after_all.restore()
    return next(([first, other] for other in (in_parts, again) if not _is_among([first], other)), None)


def _refusal(broken: BrokenStep) -> LawError:
    """The error about a step that breaks a law by itself: the program cannot be explored."""
    what = f"the step `{broken.move.name}`"
    endless = broken.role in ("stuck", "measure")
    return LawError(
        f"{what} can be taken forever: {broken.reason}" if endless else f"{what} breaks a law: {broken.reason}",
        instead=(("flo.verify.check(operator)", "shows the law that the operator breaks"),),
    ).at_users_line()


Explored: TypeAlias = tuple[Exploration, list[RunRecord], Law]


def _explore_all(space: Space, channels: Channels, most: int) -> Explored | None:
    start = space.start(channels)
    search = StateSearch(space, start)
    if not search.run(most):
        return None
    ends, law, delivered = search.distinct_outcomes(), laws.GRAPH_EAGER_EXECUTION, deliver_all(space, [start])
    runs = [RunRecord.along(space, search.states_to(number)) for number in ends]
    if len(ends) > 1:
        at_once = StateSearch(space, delivered[-1])
        at_once.run(most)
        apart = at_once.distinct_outcomes()
        if len(apart) > 1:  # with all data at once: the steps alone make the difference
            law = laws.DETERMINISM
            by_steps = [RunRecord.along(space, delivered + at_once.states_to(number)[1:]) for number in apart]
            runs = by_steps + [run for run in runs if not _is_among(by_steps, run)]
    else:
        law = _law_of_advance(space)
        (end,) = ends
        other = find_differing_advance(space, list(search.numbers)[end])
        runs += [other] if other is not None else []
    return _summary(space, runs, len(search.numbers), search.count_schedules(), None), runs, law


def _explore_at_random(space: Space, channels: Channels, most: int, seed: int) -> Explored:
    """Take random runs until `most` states were seen or two outcomes found.

    In the first half all data is there at once, so that only the steps can make a difference.
    """
    choose, seen, schedules = random.Random(seed).randrange, 0, 0
    runs: list[RunRecord] = []
    states: list[SpaceState] = []
    law = laws.DETERMINISM
    while seen < most and len(runs) < 2:
        if space.size() > most:
            space.forget()
        start = space.start(channels)
        at_once = 2 * seen < most
        law = laws.DETERMINISM if at_once else laws.GRAPH_EAGER_EXECUTION
        states = walk(space, deliver_all(space, [start]) if at_once else [start], choose)
        seen, schedules = seen + len(states), schedules + 1
        if not runs or not space.is_state(states[-1], runs[0].graph, runs[0].outputs, space.arrived_counts(states[-1])):
            run = RunRecord.along(space, states)
            runs += [] if _is_among(runs, run) else [run]
    if len(runs) == 1:
        other, law = find_differing_advance(space, states[-1]), _law_of_advance(space)
        runs += [other] if other is not None else []
    return _summary(space, runs, seen, schedules, seed), runs, law


def _law_of_advance(space: Space) -> Law:
    """The law that a differing `advance` breaks; if no operator defines one, the steps depend on when data arrives."""
    return laws.GRAPH_EAGER_EXECUTION if advise_on_advance(space.graph) is None else laws.ADVANCE


def _is_among(runs: list[RunRecord], run: RunRecord) -> bool:
    return any(are_equal((each.graph, each.outputs), (run.graph, run.outputs)) for each in runs)


def _summary(space: Space, runs: list[RunRecord], states: int, schedules: int, seed: int | None) -> Exploration:
    outcomes, traces = tuple(run.outputs for run in runs), tuple(run.trace for run in runs[:2])
    return Exploration(outcomes, traces, states, schedules, seed is None, seed, frozenset(space.rules))

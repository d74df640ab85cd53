"""Counterexamples from runs: one run, or two runs side by side; and runs on which `advance` differs from the steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TypeAlias

from flo.core.errors import FloError, shorten
from flo.core.graph import Graph, nodes
from flo.core.operator import Operator, Values, concat_all
from flo.verify import laws
from flo.verify.effort import is_shipped
from flo.verify.equality import are_equal
from flo.verify.exploration.arrivals import Channels, Scenario, open_channels
from flo.verify.exploration.moves import GraphRun, Move
from flo.verify.exploration.source import format_expression, format_values
from flo.verify.exploration.space import Space, SpaceState
from flo.verify.laws import Law
from flo.verify.report import Counterexample


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A finished run: its moves, and the graph and outputs at the end."""

    events: tuple[str, ...]
    trace: str
    """The moves as text for `replay`."""
    graph: Graph
    outputs: Values

    @classmethod
    def of(cls, run: GraphRun) -> RunRecord:
        return cls(tuple(run.events), " ".join(run.trace), run.graph, run.outputs)

    @classmethod
    def along(cls, space: Space, states: Sequence[SpaceState], last: Move | None = None) -> RunRecord:
        """Record the run through these states; `last` is a step from the last state that breaks a law."""
        run = space.run()
        for before, after in pairwise(states):
            _follow(run, space, before, after)
        record = cls.of(run)
        if last is None:
            return record
        move = _find_move(run, last)
        trace = f"{record.trace} {move.name}".strip()
        return cls((*record.events, move.text), trace, record.graph, record.outputs)


def _follow(run: GraphRun, space: Space, before: SpaceState, after: SpaceState) -> None:
    """Take the move that leads to this state."""
    for move, place in run.arriving():  # before the steps, one of which may break a law
        graph, arrived = run.after_arrival(place)
        if space.is_state(after, graph, run.outputs, arrived):
            return run.arrive(move, place)
    for move in run.stepping():
        assert move.step is not None
        outputs = concat_all(run.outputs, move.step.outputs)
        if space.is_state(after, move.step.graph, outputs, run.arrived):
            return run.take(move)
    # a function has returned another result this time: record the first one
    move = next(move for move, reached in space.next_moves(before) if reached == after)
    run.trace.append(move.name)
    run.events.append(move.text)
    run.graph, run.outputs, run.arrived = space.graph_of(after), space.outputs_of(after), space.arrived_counts(after)
    return None


def _find_move(run: GraphRun, last: Move) -> Move:
    """Find the move in the run, where it is named with the elements that it consumes."""
    try:
        candidates = [move for move in run.stepping() if move.rules == last.rules]
    except FloError:  # it cannot be taken
        return last
    wanted = last.step
    exact = [move for move in candidates if wanted and move.step and are_equal(move.step.outputs, wanted.outputs)]
    return (exact or candidates or [last])[0]


def contrast_runs(
    law: Law,
    about: str,
    one: RunRecord,
    other: RunRecord,
    again: str = "",
    advice: str = "",
    scenario: Scenario | None = None,
) -> Counterexample:
    """Make the counterexample of two runs that should end alike. Their common start is written once."""
    begun = 0
    while begun < min(len(one.events), len(other.events)) and one.events[begun] == other.events[begun]:
        begun += 1
    begun = max(0, min(begun, len(one.events) - 1, len(other.events) - 1))
    columns = (one.events[begun:], other.events[begun:])
    outcomes = format_values(one.outputs), format_values(other.outputs)
    if outcomes[0] == outcomes[1]:
        outcomes = format_leftovers(outcomes[0], one.graph, other.graph)
    if begun:
        about = f"{about}, after {shorten(', '.join(one.events[:begun]), 200)}"
    return Counterexample(law, about, columns, outcomes, again, advice, (one.trace, other.trace), scenario)


def first_rules_apart(one: RunRecord, other: RunRecord) -> tuple[str, str]:
    """Return the first rules, or arrivals, in which two runs differ."""
    pairs = zip_longest(one.trace.split(), other.trace.split(), fillvalue="")
    first, second = next(((a, b) for a, b in pairs if a != b), ("", ""))
    return _rule_of(first), _rule_of(second)


def _rule_of(move: str) -> str:
    return move.partition("(")[0].partition("#")[0]


def format_leftovers(emitted: str, one: Graph, other: Graph) -> tuple[str, str]:
    """Format what was emitted, and the operators that differ in the two graphs, with their inputs and state."""
    pairs = [
        (format_expression(a), format_expression(b))
        for a, b in zip(nodes(one), nodes(other), strict=True)
        if not are_equal(a, b)
    ]
    lefts, rights = zip(*map(cut_to_difference, pairs), strict=True) if pairs else ((), ())
    return f"{emitted}, left {'; '.join(lefts)}", f"{emitted}, left {'; '.join(rights)}"


def cut_to_difference(texts: tuple[str, str], most: int = 60) -> tuple[str, str]:
    """Cut two texts to the place where they begin to differ."""
    one, other = texts
    same = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, same - most // 2) if max(len(one), len(other)) > most else 0
    mark = "…" if start else ""
    return shorten(mark + one[start:], most), shorten(mark + other[start:], most)


def report_run(
    law: Law, about: str, run: RunRecord, outcome: str, again: str, advice: str, scenario: Scenario
) -> Counterexample:
    """Make the counterexample of one run with a wrong outcome."""
    events = run.events or ("nothing has arrived",)
    return Counterexample(law, about, (events,), (outcome,), again, advice, (run.trace,), scenario)


def advise_on_advance(graph: Graph) -> str | None:
    """Advise what to do if `advance` and the steps differ; None if every `advance` is the inherited one."""
    advice = None
    for operator in (node.operator for node in nodes(graph)):
        kind = type(operator)
        owner = next(each for each in kind.__mro__ if "advance" in vars(each))
        if owner is Operator:
            continue
        if not is_shipped(owner):
            return f"leave `advance` of `{operator.name}` out, and the steps are taken one by one"
        if not is_shipped(kind):
            return (
                f"`{operator.name}` has the `advance` of `{owner.__name__}`: "
                "what the class overrides must do the same for many elements at once as one by one"
            )
        advice = laws.A_FUNCTION.instead  # the operators of Flo are right, so a function is wrong
    return advice


MOST_FIRST = 4
"""How many channels are tried as the first to deliver."""
ArrivalPlan: TypeAlias = tuple[tuple[int, bool], ...]
"""The order of arrivals: the channel of each (another one if it is exhausted), and whether `advance` follows. Arrivals
beyond the plan come all at once."""


def find_differing_advance(space: Space, end: SpaceState, choices: Sequence[int] = ()) -> RunRecord | None:
    """Find a run in which `advance` and the steps end differently: for a few arrival plans, and the chosen one."""
    chosen = tuple((choice // 2, choice % 2 == 1) for choice in choices)
    for plan in dict.fromkeys([*_arrival_plans(space.channels), chosen]):
        run = _run_plan(space.run(), plan, recorded=False)
        if not space.is_state(end, run.graph, run.outputs, run.arrived):
            return RunRecord.of(_run_plan(space.run(), plan, recorded=True))
    return None


def run_plan(space: Space, *, in_parts: bool) -> RunRecord:
    """A run with `advance`: after all data has arrived, or after each delta."""
    count = sum(len(channel.deltas) for channel in space.channels)
    return RunRecord.of(_run_plan(space.run(), ((0, True),) * count if in_parts else (), recorded=True))


def _arrival_plans(channels: Channels) -> Iterator[ArrivalPlan]:
    """Yield plans: all at once; one by one, with each channel first; one delta alone, then the rest."""
    yield ()
    count = sum(len(channel.deltas) for channel in channels)
    for place in open_channels(channels, (0,) * len(channels))[:MOST_FIRST]:
        yield ((place, True),) * count
        if count > 2:
            yield ((place, True),)


def _run_plan(run: GraphRun, plan: ArrivalPlan, recorded: bool) -> GraphRun:
    if plan:
        run.advance()
    following, then = iter(plan), False
    while places := run.waiting():
        wanted, then = next(following, (0, False))
        index = places.index(wanted) if wanted in places else wanted % len(places)
        run.arrive(*(run.arriving()[index] if recorded else (None, places[index])))
        if then:
            run.advance()
    if not then:
        run.advance()
    return run

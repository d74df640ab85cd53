"""Paths through the states of a program: as text that can be replayed, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TypeAlias

from flo.core.errors import FloError
from flo.core.graph import Graph, nodes
from flo.core.operator import Operator, Values, concat_all
from flo.verify import laws
from flo.verify.effort import is_shipped
from flo.verify.exploration.arrivals import Channels, waiting
from flo.verify.exploration.moves import Move, Run
from flo.verify.exploration.sameness import alike
from flo.verify.exploration.source import cut, expression, shown_all
from flo.verify.exploration.space import Space, State
from flo.verify.laws import Law
from flo.verify.report import Counterexample


@dataclass(frozen=True, slots=True)
class Way:
    """What happened, step by step, and what came of it."""

    events: tuple[str, ...]
    trace: str
    """The same as text for `replay`."""
    graph: Graph
    outputs: Values

    @classmethod
    def of(cls, run: Run) -> Way:
        return cls(tuple(run.events), " ".join(run.trace), run.graph, run.outputs)

    @classmethod
    def along(cls, space: Space, states: Sequence[State], last: Move | None = None) -> Way:
        """From the first state through these; `last` is a step from the last of them that breaks a law."""
        run = space.run()
        for before, after in pairwise(states):
            _follow(run, space, before, after)
        told = cls.of(run)
        if last is None:
            return told
        move = _as_told(run, last)
        trace = f"{told.trace} {move.name}".strip()
        return cls((*told.events, move.text), trace, told.graph, told.outputs)


def _follow(run: Run, space: Space, before: State, after: State) -> None:
    """Takes the move that leads to this state."""
    for move, place in run.arriving():  # alone: a step that is enabled here may be the one that breaks a law
        graph, arrived = run.after_arrival(place)
        if space.is_state(after, graph, run.outputs, arrived):
            return run.arrive(move, place)
    for move in run.stepping():
        assert move.step is not None
        outputs = concat_all(run.outputs, move.step.outputs)
        if space.is_state(after, move.step.graph, outputs, run.arrived):
            return run.take(move)
    # a function has given something else this time: as it was
    move = next(move for move, reached in space.following(before) if reached == after)
    run.trace.append(move.name)
    run.events.append(move.text)
    run.graph, run.outputs, run.arrived = space.graph_of(after), space.outputs_of(after), space.arrived(after)
    return None


def _as_told(run: Run, last: Move) -> Move:
    """The move as the run calls it: with what it takes."""
    try:
        alike_ones = [move for move in run.stepping() if move.rules == last.rules]
    except FloError:  # it cannot be taken
        return last
    wanted = last.step
    exact = [move for move in alike_ones if wanted and move.step and alike(move.step.outputs, wanted.outputs)]
    return (exact or alike_ones or [last])[0]


def side_by_side(law: Law, about: str, one: Way, other: Way, again: str = "", advice: str = "") -> Counterexample:
    """Two ways that should have met; what both begin with is said once."""
    begun = 0
    while begun < min(len(one.events), len(other.events)) and one.events[begun] == other.events[begun]:
        begun += 1
    begun = max(0, min(begun, len(one.events) - 1, len(other.events) - 1))
    columns = (one.events[begun:], other.events[begun:])
    outcomes = shown_all(one.outputs), shown_all(other.outputs)
    if outcomes[0] == outcomes[1]:
        outcomes = left_over(outcomes[0], one.graph, other.graph)
    if begun:
        about = f"{about}, after {cut(', '.join(one.events[:begun]), 200)}"
    return Counterexample(law, about, columns, outcomes, again, advice)


def rules_apart(one: Way, other: Way) -> tuple[str, str]:
    """The rules, or arrivals, by which two ways begin to differ."""
    pairs = zip_longest(one.trace.split(), other.trace.split(), fillvalue="")
    first, second = next(((a, b) for a, b in pairs if a != b), ("", ""))
    return _stem(first), _stem(second)


def _stem(move: str) -> str:
    return move.partition("(")[0].partition("#")[0]


def left_over(emitted: str, one: Graph, other: Graph) -> tuple[str, str]:
    """What was emitted, and those operators with what they hold that are not the same in both graphs."""
    pairs = [(expression(a), expression(b)) for a, b in zip(nodes(one), nodes(other), strict=True) if not alike(a, b)]
    lefts, rights = zip(*map(differing, pairs), strict=True) if pairs else ((), ())
    return f"{emitted}, left {'; '.join(lefts)}", f"{emitted}, left {'; '.join(rights)}"


def differing(texts: tuple[str, str], most: int = 60) -> tuple[str, str]:
    """Two texts, cut to where they begin to differ."""
    one, other = texts
    same = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, same - most // 2) if max(len(one), len(other)) > most else 0
    mark = "…" if start else ""
    return cut(mark + one[start:], most), cut(mark + other[start:], most)


def alone(law: Law, about: str, way: Way, outcome: str, again: str = "", advice: str = "") -> Counterexample:
    """One way that leads to what should not be."""
    return Counterexample(law, about, (way.events or ("nothing has arrived",),), (outcome,), again, advice)


def advance_advice(graph: Graph) -> str | None:
    """What to do where `advance` leads elsewhere than the steps; None if all operators have the one that takes them."""
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
        advice = laws.A_FUNCTION.instead  # of operators that come with Flo only the functions can be wrong
    return advice


MOST_FIRST = 4
"""So many channels are each tried first; of larger inputs, which have more, a few."""
Plan: TypeAlias = tuple[tuple[int, bool], ...]
"""What arrives one after the other: on which channel, or on another if nothing waits there, and whether `advance`
follows. All that the plan does not speak of arrives at once."""


def advance_that_differs(space: Space, end: State, choices: Sequence[int] = ()) -> Way | None:
    """How `advance` leads to another end than the steps: in the orders of arrival that matter, and as chosen."""
    chosen = tuple((choice // 2, choice % 2 == 1) for choice in choices)
    for plan in dict.fromkeys([*_plans(space.channels), chosen]):
        run = _advancing(space.run(), plan, told=False)
        if not space.is_state(end, run.graph, run.outputs, run.arrived):
            return Way.of(_advancing(space.run(), plan, told=True))
    return None


def _plans(channels: Channels) -> Iterator[Plan]:
    """All at once; one by one, each channel first; and one alone, then the rest."""
    yield ()
    count = sum(len(channel.deltas) for channel in channels)
    for place in waiting(channels, (0,) * len(channels))[:MOST_FIRST]:
        yield ((place, True),) * count
        if count > 2:
            yield ((place, True),)


def _advancing(run: Run, plan: Plan, told: bool) -> Run:
    if plan:
        run.advance()
    following, then = iter(plan), False
    while places := run.waiting():
        wanted, then = next(following, (0, False))
        index = places.index(wanted) if wanted in places else wanted % len(places)
        run.arrive(*(run.arriving()[index] if told else (None, places[index])))
        if then:
            run.advance()
    if not then:
        run.advance()
    return run

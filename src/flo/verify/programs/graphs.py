"""The laws of a typed graph on one input at a time: what binds an operator alone and a whole program alike.

A step may break a law by itself: preservation, the measure, one result. Where the ways through the states end tells the
rest: in one stuck state, whatever steps are taken and whenever data arrives, in which the outputs are maximal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from flo.core.checkpoint import decode, encode, lower_state
from flo.core.errors import FloError
from flo.core.graph import Graph, inputs, setinput, with_origins
from flo.core.operator import Values
from flo.core.stream_type import StreamTypes
from flo.core.term import Lifting, Lowering
from flo.core.typing import initial
from flo.verify import laws
from flo.verify.effort import Effort, is_shipped
from flo.verify.exploration.arrivals import heaviest
from flo.verify.exploration.explore import Search, arrivals, walk
from flo.verify.exploration.moves import ADVANCE, GRAPH_RULES, StepBroken
from flo.verify.exploration.sameness import alike
from flo.verify.exploration.source import cut, expression, shown_all
from flo.verify.exploration.space import State
from flo.verify.exploration.ways import (
    Way,
    advance_advice,
    advance_that_differs,
    alone,
    differing,
    rules_apart,
    side_by_side,
)
from flo.verify.laws import Law
from flo.verify.programs.inputs import Input
from flo.verify.programs.steps import LawfulSpace, copied
from flo.verify.report import Counterexample

MOST_STATES = 20_000
MOST_KEPT = 200_000
OFTEN = 400
"""How often the steps of a run are repeated in all, where one of them may give another result each time."""

PASS_THE_END = "pass the end on: a rule for the end of the input is missing, or does not always apply"
SAME_BEFORE_THE_END = "treat elements the same whether or not the end of the input has arrived"
ONE_RULE = "let it not matter which element the rule takes first, or take an input that has an order"
SAME_NAME = "a `name` of its own: without one, the class that it inherits its name from is restored"

OF_OPERATORS: dict[str, Law] = {
    "preservation": laws.PRESERVATION,
    "measure": laws.MEASURE,
    "stuck": laws.STUCK_STATE,
    "confluence": laws.CONFLUENCE,
    "eager": laws.EAGER_EXECUTION,
    "maximal": laws.OUTPUT_MAXIMALITY,
    "bounded": laws.BOUNDED_OUTPUTS,
    "advance": laws.ADVANCE,
    "function": laws.A_FUNCTION,
    "checkpoint": laws.CHECKPOINT,
}
OF_GRAPHS: dict[str, Law] = OF_OPERATORS | {
    "preservation": laws.GRAPH_PRESERVATION,
    "measure": laws.GRAPH_STUCK_STATE,
    "stuck": laws.GRAPH_STUCK_STATE,
    "confluence": laws.DETERMINISM,
    "eager": laws.GRAPH_EAGER_EXECUTION,
    "maximal": laws.GRAPH_PROGRESS,
    "bounded": laws.GRAPH_PROGRESS,
}


@dataclass
class GraphLaws:
    """A graph on input types, the laws that bind it, and how its counterexamples are told."""

    graph: Graph
    types: StreamTypes
    laws: Mapping[str, Law]
    names: tuple[str, ...]
    again: Callable[[Input, str], str]
    """The line that replays a trace on an input."""
    effort: Effort
    """Whose meter counts what is done here."""

    def __post_init__(self) -> None:
        start, self.output_types = initial(copied(self.graph), self.types)
        self.space = LawfulSpace(start, self.types, self.names)
        self.space.meter = self.effort.meter
        self.trying: Input | None = None
        """The last input."""
        self.cut_short = 0
        """Inputs whose states were too many, for one input or for all of the work."""
        self.resumed: set[State] = set()
        """Operators with their inputs that were saved and restored."""
        self.longest = self.heaviest = 0
        """How many elements the largest input has had, and how often one element came in it."""

    @property
    def shipped(self) -> bool:
        """Whether all operators come with Flo."""
        return all(is_shipped(type(node.operator)) for node in self.space.nodes)

    @property
    def fired(self) -> frozenset[str]:
        return frozenset(self.space.rules - GRAPH_RULES)

    def broken_by(self, given: Input) -> Counterexample | None:
        """The first law that this input breaks, in every schedule and with every cut."""
        whole = self._start(given)
        self._measured()
        try:
            arrivals(self.space, whole)
        except StepBroken as broken:
            return self._step(broken, given, whole)
        at_once, in_parts = Search(self.space, whole[-1]), Search(self.space, whole[0])
        try:
            complete = at_once.run(MOST_STATES, over=self.effort.over)
            ends = [whole + at_once.way_to(number)[1:] for number in at_once.ends_apart(2)]
            if len(ends) > 1:
                return self._differ("confluence", given, *ends)
            if not complete:
                self.cut_short += 1
                return None
            complete = in_parts.run(MOST_STATES, expected=ends[0][-1], over=self.effort.over)
            for state, number in in_parts.outcomes.items():
                if not self.space.same(state, ends[0][-1]):
                    return self._differ("eager", given, ends[0], in_parts.way_to(number))
            self.cut_short += not complete
        except StepBroken as broken:
            search = in_parts if len(in_parts.parents) > 1 else at_once
            before = [] if search is in_parts else whole[:-1]
            return self._step(broken, given, before + search.way_to_break())
        return self._at_the_end(given, whole[-1], ends[0])

    def broken_along(self, given: Input, choices: Sequence[int]) -> Counterexample | None:
        """The first law that breaks on the way that these choices make, and when all data is there at once."""
        self.space.forget()  # or the choices would mean something else the next time, by what was there before
        way = whole = self._start(given)
        self._measured()
        try:
            arrivals(self.space, whole)
            at_once, mixed, in_parts = list(whole), list(whole), whole[:1]
            way = at_once
            self._walk(at_once)
            way = mixed
            self._walk(mixed, choices)
            if not self.space.same(mixed[-1], at_once[-1]):
                return self._differ("confluence", given, at_once, mixed)
            way = in_parts
            self._walk(in_parts, choices)
            if not self.space.same(in_parts[-1], at_once[-1]):
                return self._differ("eager", given, at_once, in_parts)
        except StepBroken as broken:
            return self._step(broken, given, way)
        return self._at_the_end(given, whole[-1], at_once, choices)

    def _start(self, given: Input) -> list[State]:
        """The way on which nothing has happened yet."""
        self.trying = given
        if self.space.size() > MOST_KEPT:
            self.space.forget()
        return [self.space.start(given.channels(self.types))]

    def _measured(self) -> None:
        """Notes how large the input is on which the laws are tried."""
        channels = self.space.channels
        self.longest = max(self.longest, sum(len(each.deltas) for each in channels if not each.is_end))
        self.heaviest = max(self.heaviest, heaviest(channels))

    def _walk(self, way: list[State], choices: Sequence[int] = ()) -> None:
        """Goes on to a stuck state: one choice after the other, and then always the first move."""
        waiting = iter(choices)
        walk(self.space, way, lambda count: next(waiting, 0) % count)

    def _at_the_end(
        self, given: Input, whole: State, way: list[State], choices: Sequence[int] = ()
    ) -> Counterexample | None:
        """`advance`, and streaming progress: what is there when all data has come and the program is stuck."""
        outputs = self.space.outputs_of(way[-1])
        other = advance_that_differs(self.space, way[-1], choices)
        if other is not None:
            return self._random(given, way) or self._advanced(given, self._way(way), other)
        if any(kind.bounded and not end for kind, end in zip(self.types, given.ends, strict=True)):
            return None  # streaming progress says nothing before the bounded inputs have ended
        for output_type, output in zip(self.output_types, outputs, strict=True):
            if output_type.bounded and not output.fixed():
                told = self._way(way)
                outcome = f"{shown_all(outputs)}, which has no end"
                again = self.again(given, told.trace)
                return alone(self.laws["bounded"], self._about, told, outcome, again, laws.BOUNDED_OUTPUTS.instead)
        ended_outputs = None if all(given.ends) else self._ended(whole)
        if ended_outputs is not None and not alike(ended_outputs, _fixed(outputs)):
            random = self._random(given, way)
            if random is not None:
                return random
            stays = self._way(way)
            stays = replace(stays, events=(*stays.events, "and no more comes"))
            ended = Input(given.data, (True,) * len(given.ends))
            ending = self._start(ended)
            try:
                self._walk(arrivals(self.space, ending))
            except StepBroken as broken:
                return self._step(broken, ended, ending)
            advice = laws.OUTPUT_MAXIMALITY.instead
            if alike(_fixed(ended_outputs), _fixed(outputs)):
                advice = PASS_THE_END
            elif sum(value.size() for value in ended_outputs) <= sum(value.size() for value in outputs):
                advice = SAME_BEFORE_THE_END
            return self._side_by_side("maximal", ended, stays, self._way(ending), advice)
        return None

    def _ended(self, whole: State) -> Values | None:
        """The outputs if all inputs end after the data; None if a step breaks a law then."""
        graph = self.space.graph_of(whole)
        ended = setinput(graph, tuple(value.fix() for value in inputs(graph)))
        start = self.space.state(ended, self.space.outputs_of(whole), self.space.arrived(whole))
        way = [start]
        try:
            self._walk(way)
        except StepBroken:  # as it does on the input that ends, which is tried for itself
            return None
        return self.space.outputs_of(way[-1])

    def _advanced(self, given: Input, steps: Way, other: Way) -> Counterexample:
        """Where `advance` leads elsewhere. One that only takes the steps shows that these depend on the timing."""
        advice = advance_advice(self.space.graph)
        if advice is not None:
            return self._side_by_side("advance", given, steps, other, advice)
        moves = other.trace.split()
        at_once = ADVANCE not in moves[:-1]
        return self._side_by_side("confluence" if at_once else "eager", given, steps, other)

    def _way(self, states: list[State]) -> Way:
        return Way.along(self.space, states)

    @property
    def _about(self) -> str:
        if all(name.isdigit() for name in self.names):
            return f"on {', '.join(map(str, self.types)) or 'no inputs'}"
        return f"on {', '.join(f'{n}: {t}' for n, t in zip(self.names, self.types, strict=True))}"

    def _differ(self, role: str, given: Input, one: list[State], other: list[State]) -> Counterexample:
        random = self._random(given, one) or self._random(given, other)
        if random is not None:
            return random
        ways = self._way(one), self._way(other)
        rules = set(rules_apart(*ways))
        one_rule = role == "confluence" and len(rules) == 1 and self.laws[role] == laws.CONFLUENCE
        return self._side_by_side(role, given, *ways, ONE_RULE if one_rule else "")

    def _random(self, given: Input, way: list[State]) -> Counterexample | None:
        """Whether a function that gives something else each time is behind it."""
        for count, state in enumerate(way, start=1):
            for slot, number in enumerate(state[: len(self.space.nodes)]):
                try:
                    self.space.small_steps(self.space.slots[slot].things[number], times=max(16, OFTEN // len(way)))
                except StepBroken as broken:
                    return self._step(broken, given, way[:count])
        return None

    def _side_by_side(self, role: str, given: Input, one: Way, other: Way, advice: str = "") -> Counterexample:
        return side_by_side(self.laws[role], self._about, one, other, self.again(given, other.trace), advice)

    def _step(self, broken: StepBroken, given: Input, states: list[State]) -> Counterexample:
        """The way to a step that breaks a law."""
        told = Way.along(self.space, states, broken.move)
        law, again = self.laws[broken.role], self.again(given, told.trace)
        if broken.results:
            found = side_by_side(law, self._about, told, told, again)
            about = f"{found.about}: {broken.reason}"
            return replace(found, about=about, outcomes=broken.results, advice=broken.advice)
        before = f"before it: {shown_all(told.outputs)}"
        return alone(law, f"{self._about}: {broken.reason}", told, before, again, broken.advice)

    def not_resumed(self, given: Input) -> Counterexample | None:
        """A state on the way of this input from which the operator does not go on when it was saved and restored."""
        way = self._start(given)
        try:
            self._walk(way)
        except StepBroken:  # another law is broken, and said to be
            return None
        for count, state in enumerate(way, start=1):
            known = state[: len(self.space.nodes)]
            reason = None if known in self.resumed else self._lost(state, way[-1])
            self.resumed.add(known)
            if reason is not None:
                told = self._way(way[:count])
                about, again = f"{self._about}: {reason[0]}", self.again(given, told.trace)
                advice = SAME_NAME if self._restored_as_another() else ""
                return alone(self.laws["checkpoint"], about, told, reason[1], again, advice)
        return None

    def _lost(self, state: State, end: State) -> tuple[str, str] | None:
        """What is not restored of a state, and what is there instead."""
        graph = self.space.graph_of(state)
        start, left = self.space.graph, cut(f"left {expression(graph)}")
        try:
            lowering = Lowering()
            lowering((start, self._around()))
            saved = encode(lower_state(start, graph, self._supplied))
            restored = with_origins(Lifting(lowering.names)(decode(saved)), start)
        except FloError as error:
            return error.summary, left
        except Exception as error:  # as a constructor raises that is called with what was saved
            return f"it is restored with {type(error).__name__}: {error}", left
        if not alike(restored, graph):
            texts = differing((left, f"left {expression(restored)}"))
            return (
                ("another operator is restored", texts[1])
                if texts[0] == texts[1]
                else (f"{texts[0]} was saved", f"{texts[1]} is restored")
            )
        run = self.space.run()
        run.graph, run.outputs, run.arrived = restored, self.space.outputs_of(state), self.space.arrived(state)
        while places := run.waiting():
            run.arrive(None, places[0])
        run.advance()
        if not self.space.is_state(end, run.graph, run.outputs, run.arrived):
            return "what is restored looks the same, and goes on in another way", shown_all(run.outputs)
        return None

    def _around(self) -> Values:
        """What flows in and out: types that are named there are not for the operator to supply."""
        flowing = tuple(delta for channel in self.space.channels for delta in channel.deltas)
        return (*flowing, *(output.collection.bottom() for output in self.output_types))

    def _supplied(self, lowering: Lowering) -> Lowering:
        lowering(self._around())
        return lowering

    def _restored_as_another(self) -> bool:
        """Whether a class has the name of another, which is what a checkpoint knows it by."""
        operators = [node.operator for node in self.space.nodes]
        return any("name" not in vars(type(operator)) for operator in operators if not is_shipped(type(operator)))


def _fixed(values: Values) -> Values:
    return tuple(value.fix() for value in values)

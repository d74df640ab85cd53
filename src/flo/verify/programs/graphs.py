"""Checks the laws of a typed graph on one input at a time; the graph is an operator or a delivered program.

Some laws bind every step: preservation, the measure, one result. The others are about stuck states: all schedules lead
to one, whenever data arrives, and its outputs are maximal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from flo.core.checkpoint import decode, encode, lower_state
from flo.core.errors import FloError, brief, shorten
from flo.core.graph import Graph, inputs, setinput, with_origins
from flo.core.operator import Values
from flo.core.stream_type import StreamTypes
from flo.core.term import Lifting, Lowering
from flo.core.typing import initial
from flo.verify import laws
from flo.verify.effort import Effort, is_shipped
from flo.verify.equality import are_equal
from flo.verify.exploration.arrivals import Scenario, largest_weight
from flo.verify.exploration.counterexamples import (
    RunRecord,
    advise_on_advance,
    contrast_runs,
    cut_to_difference,
    find_differing_advance,
    first_rules_apart,
    report_run,
)
from flo.verify.exploration.explore import StateSearch, deliver_all, walk
from flo.verify.exploration.moves import ADVANCE, GRAPH_RULES, BrokenStep, GraphRun
from flo.verify.exploration.source import format_expression, format_values
from flo.verify.exploration.space import SpaceState
from flo.verify.laws import Law
from flo.verify.processes import MOST_TRIALS, Trial, Trials, run_program
from flo.verify.programs.inputs import Input, small_inputs
from flo.verify.programs.steps import CheckedSpace, copy_graph
from flo.verify.report import Counterexample

MOST_STATES = 20_000
MOST_KEPT = 200_000
OFTEN = 400
"""How many steps are repeated in all, to find one that returns another result each time."""

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
    """A graph on input types, the laws that bind it, and how its counterexamples are written."""

    graph: Graph
    types: StreamTypes
    laws: Mapping[str, Law]
    names: tuple[str, ...]
    again: Callable[[Input, str], str]
    """Writes the line that replays a trace on an input."""
    effort: Effort
    """The budget; its meter counts the work done here."""

    def __post_init__(self) -> None:
        start, self.output_types = initial(copy_graph(self.graph), self.types)
        self.space = CheckedSpace(start, self.types, self.names)
        self.space.meter = self.effort.meter
        self.last_input: Input | None = None
        self.cut_short = 0
        """The number of inputs with too many states."""
        self.restored: set[SpaceState] = set()
        """States that were saved and restored."""
        self.longest = self.heaviest = 0
        """The largest number of elements of an input, and the largest weight of an element."""
        self.inputs_of_several = 0
        """The number of inputs of two or more elements."""

    @property
    def shipped(self) -> bool:
        """Whether all operators come with Flo."""
        return all(is_shipped(type(node.operator)) for node in self.space.nodes)

    @property
    def fired(self) -> frozenset[str]:
        return frozenset(self.space.rules - GRAPH_RULES)

    def check_all_schedules(self, given: Input, share: float = 1.0) -> Counterexample | None:
        """Check every schedule and every split of the data; return the first broken law. It stops at a share of the
        budget."""
        delivered = self._start(given)
        self._note_size()
        try:
            deliver_all(self.space, delivered)
        except BrokenStep as broken:
            return self._report_step(broken, given, delivered)

        def is_over() -> bool:
            return self.effort.is_used_up(share)

        at_once, in_parts = StateSearch(self.space, delivered[-1]), StateSearch(self.space, delivered[0])
        try:
            complete = at_once.run(MOST_STATES, over=is_over)
            ends = [delivered + at_once.states_to(number)[1:] for number in at_once.distinct_outcomes(2)]
            if len(ends) > 1:
                return self._report_difference("confluence", given, *ends)
            if not complete:
                self.cut_short += 1
                return None
            complete = in_parts.run(MOST_STATES, expected=ends[0][-1], over=is_over)
            for state, number in in_parts.outcomes.items():
                if not self.space.is_same(state, ends[0][-1]):
                    return self._report_difference("eager", given, ends[0], in_parts.states_to(number))
            self.cut_short += not complete
        except BrokenStep as broken:
            search = in_parts if len(in_parts.parents) > 1 else at_once
            before = [] if search is in_parts else delivered[:-1]
            return self._report_step(broken, given, before + search.states_to_break())
        return self._check_stuck_state(given, delivered[-1], ends[0])

    def check_schedule(self, given: Input, choices: Sequence[int]) -> Counterexample | None:
        """Check the schedule that these choices make, and all data at once; return the first broken law."""
        self.space.forget()  # so that the choices mean the same next time
        states = delivered = self._start(given)
        self._note_size()
        try:
            deliver_all(self.space, delivered)
            at_once, mixed, in_parts = list(delivered), list(delivered), delivered[:1]
            states = at_once
            self._walk(at_once)
            states = mixed
            self._walk(mixed, choices)
            if not self.space.is_same(mixed[-1], at_once[-1]):
                return self._report_difference("confluence", given, at_once, mixed)
            states = in_parts
            self._walk(in_parts, choices)
            if not self.space.is_same(in_parts[-1], at_once[-1]):
                return self._report_difference("eager", given, at_once, in_parts)
        except BrokenStep as broken:
            return self._report_step(broken, given, states)
        return self._check_stuck_state(given, delivered[-1], at_once, choices)

    def trials(self, larger: Iterable[Input] = ()) -> Trials:
        """Runs of the program on a few small inputs, to be tried after each other and in other processes."""
        inputs = (each for size in (1, 2) for each in small_inputs(self.types, size, self.effort.given))
        all_ended = (each for each in inputs if all(each.ends))
        graph, outputs, names = self.space.graph, self.output_types, self.names
        runs = []
        for given in chain(islice(all_ended, MOST_TRIALS), larger):
            channels = given.channels(self.types)
            run = GraphRun(graph, outputs, channels, names)
            moves = []
            while arriving := run.arriving():
                moves.append(arriving[0][0].name)
                run.arrive(*arriving[0])
            paste = self.again(given, " ".join([*moves, ADVANCE]))
            data = ", ".join(map(brief, given.data))
            runs.append(Trial(f"run on {data}", (graph, outputs, names, channels), paste))
        return Trials(self._about, run_program, runs, format_values, self.laws["function"])

    def _start(self, given: Input) -> list[SpaceState]:
        """The first state, in a list."""
        self.last_input = given
        if self.space.size() > MOST_KEPT:
            self.space.forget()
        return [self.space.start(given.channels(self.types))]

    def _note_size(self) -> None:
        """Record the size of the input for the report."""
        channels = self.space.channels
        size = sum(len(each.deltas) for each in channels if not each.is_end)
        self.longest = max(self.longest, size)
        self.inputs_of_several += size > 1
        self.heaviest = max(self.heaviest, largest_weight(channels))

    def _walk(self, states: list[SpaceState], choices: Sequence[int] = ()) -> None:
        """Extend the states up to a stuck one: by the choices, and then always by the first move."""
        waiting = iter(choices)
        walk(self.space, states, lambda count: next(waiting, 0) % count)

    def _check_stuck_state(
        self, given: Input, delivered: SpaceState, states: list[SpaceState], choices: Sequence[int] = ()
    ) -> Counterexample | None:
        """Check `advance` and streaming progress in the stuck state after all data."""
        outputs = self.space.outputs_of(states[-1])
        other = find_differing_advance(self.space, states[-1], choices)
        if other is not None:
            return self._check_one_result(given, states) or self._report_advance(given, self._record(states), other)
        if any(kind.bounded and not end for kind, end in zip(self.types, given.ends, strict=True)):
            return None  # streaming progress says nothing before the bounded inputs have ended
        for output_type, output in zip(self.output_types, outputs, strict=True):
            if output_type.bounded and not output.fixed():
                record = self._record(states)
                outcome = f"{format_values(outputs)}, which has no end"
                again = self.again(given, record.trace)
                advice = laws.BOUNDED_OUTPUTS.instead
                return report_run(
                    self.laws["bounded"], self._about, record, outcome, again, advice, self._scenario(given)
                )
        ended_outputs = None if all(given.ends) else self._outputs_if_ended(delivered)
        if ended_outputs is not None and not are_equal(ended_outputs, _fixed(outputs)):
            random = self._check_one_result(given, states)
            if random is not None:
                return random
            stays = self._record(states)
            stays = replace(stays, events=(*stays.events, "and no more comes"))
            ended = Input(given.data, (True,) * len(given.ends))
            ending = self._start(ended)
            try:
                self._walk(deliver_all(self.space, ending))
            except BrokenStep as broken:
                return self._report_step(broken, ended, ending)
            advice = laws.OUTPUT_MAXIMALITY.instead
            if are_equal(_fixed(ended_outputs), _fixed(outputs)):
                advice = PASS_THE_END
            elif sum(value.size() for value in ended_outputs) <= sum(value.size() for value in outputs):
                advice = SAME_BEFORE_THE_END
            return self._contrast("maximal", ended, stays, self._record(ending), advice)
        return None

    def _outputs_if_ended(self, delivered: SpaceState) -> Values | None:
        """The outputs if all inputs end after the data; None if a step then breaks a law."""
        graph = self.space.graph_of(delivered)
        ended = setinput(graph, tuple(value.fix() for value in inputs(graph)))
        start = self.space.state(ended, self.space.outputs_of(delivered), self.space.arrived_counts(delivered))
        states = [start]
        try:
            self._walk(states)
        except BrokenStep:  # the input that ends is checked by itself
            return None
        return self.space.outputs_of(states[-1])

    def _report_advance(self, given: Input, steps: RunRecord, other: RunRecord) -> Counterexample:
        """Report an `advance` that differs. If every `advance` only takes steps, the steps depend on the timing."""
        advice = advise_on_advance(self.space.graph)
        if advice is not None:
            return self._contrast("advance", given, steps, other, advice)
        moves = other.trace.split()
        at_once = ADVANCE not in moves[:-1]
        return self._contrast("confluence" if at_once else "eager", given, steps, other)

    def _record(self, states: list[SpaceState]) -> RunRecord:
        return RunRecord.along(self.space, states)

    @property
    def _about(self) -> str:
        if all(name.isdigit() for name in self.names):
            return f"on {', '.join(map(str, self.types)) or 'no inputs'}"
        return f"on {', '.join(f'{n}: {t}' for n, t in zip(self.names, self.types, strict=True))}"

    def _scenario(self, given: Input) -> Scenario:
        channels = given.channels(self.types)
        return Scenario("", self.space.graph, self.types, self.output_types, channels, self.names)

    def _report_difference(
        self, role: str, given: Input, one: list[SpaceState], other: list[SpaceState]
    ) -> Counterexample:
        random = self._check_one_result(given, one) or self._check_one_result(given, other)
        if random is not None:
            return random
        runs = self._record(one), self._record(other)
        rules = set(first_rules_apart(*runs))
        one_rule = role == "confluence" and len(rules) == 1 and self.laws[role] == laws.CONFLUENCE
        return self._contrast(role, given, *runs, ONE_RULE if one_rule else "")

    def _check_one_result(self, given: Input, states: list[SpaceState]) -> Counterexample | None:
        """Check whether a function returns different results for the same arguments: it would explain a difference."""
        for count, state in enumerate(states, start=1):
            for slot, number in enumerate(state[: len(self.space.nodes)]):
                try:
                    self.space.small_steps(self.space.slots[slot].contents[number], times=max(16, OFTEN // len(states)))
                except BrokenStep as broken:
                    return self._report_step(broken, given, states[:count])
        return None

    def _contrast(self, role: str, given: Input, one: RunRecord, other: RunRecord, advice: str = "") -> Counterexample:
        again = self.again(given, other.trace)
        return contrast_runs(self.laws[role], self._about, one, other, again, advice, self._scenario(given))

    def _report_step(self, broken: BrokenStep, given: Input, states: list[SpaceState]) -> Counterexample:
        """Report a step that breaks a law, with the run that leads to it."""
        record = RunRecord.along(self.space, states, broken.move)
        law, again = self.laws[broken.role], self.again(given, record.trace)
        if broken.results:
            counterexample = contrast_runs(law, self._about, record, record, again, scenario=self._scenario(given))
            about = f"{counterexample.about}: {broken.reason}"
            return replace(counterexample, about=about, outcomes=broken.results, advice=broken.advice)
        before = f"before it: {format_values(record.outputs)}"
        about = f"{self._about}: {broken.reason}"
        return report_run(law, about, record, before, again, broken.advice, self._scenario(given))

    def check_checkpoints(self, given: Input) -> Counterexample | None:
        """Save and restore every state of a run on this input; report one from which it does not go on as before."""
        states = self._start(given)
        try:
            self._walk(states)
        except BrokenStep:  # reported by another check
            return None
        for count, state in enumerate(states, start=1):
            known = state[: len(self.space.nodes)]
            reason = None if known in self.restored else self._find_loss(state, states[-1])
            self.restored.add(known)
            if reason is not None:
                record = self._record(states[:count])
                about, again = f"{self._about}: {reason[0]}", self.again(given, record.trace)
                advice = SAME_NAME if self._lacks_a_name() else ""
                return report_run(
                    self.laws["checkpoint"], about, record, reason[1], again, advice, self._scenario(given)
                )
        return None

    def _find_loss(self, state: SpaceState, end: SpaceState) -> tuple[str, str] | None:
        """Return what is not restored of a state, and what is there instead; None if all is restored."""
        graph = self.space.graph_of(state)
        start, left = self.space.graph, shorten(f"left {format_expression(graph)}")
        try:
            lowering = Lowering()
            lowering((start, self._surrounding_values()))
            saved = encode(lower_state(start, graph, self._supplied))
            restored = with_origins(Lifting(lowering.names)(decode(saved)), start)
        except FloError as error:
            return error.summary, left
        except Exception as error:  # such as an error in a constructor
            return f"restoring it raised {type(error).__name__}: {error}", left
        if not are_equal(restored, graph):
            one, other = cut_to_difference((left, f"left {format_expression(restored)}"))
            if one == other:
                return "the restored operator is another one", other
            return f"{one} was saved", f"{other} is restored"
        run = self.space.run()
        run.graph, run.outputs, run.arrived = restored, self.space.outputs_of(state), self.space.arrived_counts(state)
        while places := run.waiting():
            run.arrive(None, places[0])
        run.advance()
        if not self.space.is_state(end, run.graph, run.outputs, run.arrived):
            return "the restored operator looks the same, but behaves differently", format_values(run.outputs)
        return None

    def _surrounding_values(self) -> Values:
        """Values of the inputs and outputs: they name the types that the operator need not supply."""
        flowing = tuple(delta for channel in self.space.channels for delta in channel.deltas)
        return (*flowing, *(output.collection.bottom() for output in self.output_types))

    def _supplied(self, lowering: Lowering) -> Lowering:
        lowering(self._surrounding_values())
        return lowering

    def _lacks_a_name(self) -> bool:
        """Whether an operator of the user inherits its `name`, by which a checkpoint restores the class."""
        operators = [node.operator for node in self.space.nodes]
        return any("name" not in vars(type(operator)) for operator in operators if not is_shipped(type(operator)))


def _fixed(values: Values) -> Values:
    return tuple(value.fix() for value in values)

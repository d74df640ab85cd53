"""Checks an operator on given or guessed input types, and a flow on the types of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Items
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from itertools import islice, product
from typing import Any, Protocol, get_type_hints, runtime_checkable

from flo.core.collection import Collection
from flo.core.errors import FloError, FunctionError, LawError, Origin
from flo.core.graph import Graph, Node
from flo.core.nested import Nested
from flo.core.operator import Operator, expect_name
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.term import Lowering
from flo.core.typing import derive
from flo.core.untyped import AnyFunction, Element
from flo.values.keyed import Keyed
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify import laws
from flo.verify.captured import Captured, functions_of
from flo.verify.data.constants import may_depend_on_process
from flo.verify.effort import Effort, find_caveats
from flo.verify.exploration.replay import flow_replay_line, replay_line
from flo.verify.functions.rejections import check_obligation, obligations
from flo.verify.laws import Law
from flo.verify.processes import NotSent
from flo.verify.programs.graphs import OF_GRAPHS, OF_OPERATORS, GraphLaws
from flo.verify.programs.inputs import Input
from flo.verify.programs.larger_inputs import inputs_of_size
from flo.verify.programs.phases import Phases
from flo.verify.programs.rules import named_rules
from flo.verify.report import Counterexample, Report

MOST_SIGNATURES = 8
MOST_REJECTIONS = 3
DIFFERENT = 8
"""The number of elements in an input for other processes: few texts may have one order with several hash seeds."""


def check_operator(
    operator: Operator, types: Items[StreamType | Collection] = (), effort: Effort | None = None
) -> Report:
    """Tries every law: on these input types, or on a few that the operator accepts.

    A collection stands for both of its stream types, unbounded and bounded.
    """
    effort = effort or Effort()
    expect_name(operator, Origin.here())
    if not is_dataclass(operator):
        raise LawError(
            f"`{operator.name}` must be a dataclass: its fields are its expression and its state",
            instead=(("@dataclass(frozen=True)", f"class {type(operator).__name__}(flo.Operator)"),),
        ).at_users_line()
    effort, captured = effort.with_constants_in([operator]), Captured(functions_of(operator))
    if types:
        phases = Phases([_subject(operator, each, effort) for each in named_signatures(operator, types)], effort)
        broken = phases.run()
    else:
        phases, broken = _check_guessed(operator, effort)
    used = [(operator, subject.types) for subject in phases.subjects]
    return _report(f"`{operator.name}`", laws.OPERATOR_LAWS, phases, broken, used, captured)


def _report(
    subject: str,
    tried: tuple[Law, ...],
    phases: Phases,
    broken: Counterexample | None,
    used: Items[tuple[Operator, StreamTypes]],
    captured: Captured,
) -> Report:
    """The report of a check, with the obligations of the operators that are used and the rules that never fired."""
    asked = dict.fromkeys(each for operator, types in used for each in obligations(operator, types))
    parts = tuple(check_obligation(each, phases.effort.with_new_meter()) for each in asked)
    named = frozenset(rule for operator, types in used for rule in named_rules(operator, types))
    never = frozenset() if broken is not None else named - phases.fired()
    operators = [operator for operator, _ in used]
    caveats = find_caveats(operators)
    changed = captured.changed()
    if broken is None:
        try:
            broken = find_dependence(phases, operators, captured)
        except NotSent as error:
            caveats += (str(error),)
    if broken is None and changed:
        caveats += tuple(f"a function changes `{name}`, which it captures" for name in changed)
    return Report(subject, tried, phases.strength(), broken, phases.fired(), never, parts, caveats)


def find_dependence(phases: Phases, operators: Items[Operator], captured: Captured) -> Counterexample | None:
    """Find a result that depends on earlier runs, if a function changes what it captures; or on the process."""
    for subject in phases.subjects if captured.changed() else ():
        broken = subject.trials().check_history(captured)
        if broken is not None:
            return broken
    in_processes = any(may_depend_on_process(function) for each in operators for function in functions_of(each))
    for subject in phases.subjects:
        if in_processes or any("set[" in str(kind) for kind in subject.types):
            larger = inputs_of_size(subject.types, DIFFERENT, phases.effort.given, (True,) * len(subject.types))
            broken = subject.trials(larger).check_processes()
            if broken is not None:
                return broken
    return None


def _subject(operator: Operator, types: StreamTypes, effort: Effort) -> GraphLaws:
    def line(given: Input, trace: str) -> str:
        return replay_line(operator, types, given.data, trace)

    names = tuple(str(place + 1) for place in range(len(types)))
    return GraphLaws(Node(None, operator), types, OF_OPERATORS, names, line, effort)


def named_signatures(operator: Operator, types: Items[StreamType | Collection]) -> Iterator[StreamTypes]:
    """Yield the accepted ones of the given stream types; raise the error if the operator accepts none."""
    refused: FloError | None = None
    accepted = False
    for signature in _signatures(operator, types):
        refusal = find_rejection(operator, signature)
        if refusal is None:
            accepted = True
            yield signature
        refused = refused or refusal
    if not accepted and refused is not None:
        raise refused.located(Origin.here())


def _signatures(operator: Operator, types: Items[StreamType | Collection]) -> list[StreamTypes]:
    """All choices of boundedness, all unbounded first; operators that share a flag have it for all inputs."""
    choices = [
        (given,)
        if isinstance(given, StreamType)
        else (StreamType(given, bounded=False), StreamType(given, bounded=True))
        for given in types
    ]
    signatures = sorted(product(*choices), key=_flags)
    if operator.shares_flag and not any(isinstance(given, StreamType) for given in types):
        signatures = [signature for signature in signatures if _flags(signature) <= 1]
    return signatures


def _flags(signature: StreamTypes) -> int:
    """The number of different flags."""
    return len({given.bounded for given in signature})


def _check_guessed(operator: Operator, effort: Effort) -> tuple[Phases, Counterexample | None]:
    """Check the operator on the first input types that it and its functions accept."""
    faults: list[FunctionError] = []
    for signatures in guessed_signatures(operator):
        phases = Phases([_subject(operator, each, effort) for each in signatures], effort, guessed=True)
        broken = phases.run()
        if phases.subjects:
            return phases, broken
        faults += phases.faults
    raise faults[0]


def guessed_signatures(operator: Operator) -> list[list[StreamTypes]]:
    """Guess input types that the operator accepts, by element type; raise with the reasons if it rejects all."""
    refused: dict[str, None] = {}
    each = [list(islice(_accepted(operator, kind, refused), MOST_SIGNATURES)) for kind in _elements(operator)]
    guesses = [signatures for signatures in each if signatures]
    if not guesses:
        raise LawError(
            f"`{operator.name}` rejects every input type that was tried",
            facts=tuple(("rejected", reason) for reason in islice(refused, MOST_REJECTIONS)),
            instead=((f"check(operator{', flo.Sequence[str]' * operator.arity[0]})", "name the types of its inputs"),),
        ).at_users_line()
    return guesses


def _accepted(operator: Operator, element: object, refused: dict[str, None]) -> Iterator[StreamTypes]:
    """Yield accepted input types with such elements, unbounded first; `refused` gets the reasons against others."""
    for kinds in product(collections_of(element), repeat=operator.arity[0]):
        for signature in _signatures(operator, kinds):
            refusal = find_rejection(operator, signature)
            if refusal is None:
                yield signature
            else:
                refused.setdefault(str(refusal).splitlines()[0])


def collections_of(element: Element) -> tuple[Collection, ...]:
    """Collections of every kind with these elements."""
    sequence: Collection = Sequence(element)
    unordered: tuple[Collection, ...] = (Bag(element), Set(element), ZSet(element))
    return (sequence, *unordered, LVar(Max(element)), Nested(sequence), Keyed(int, sequence))


def _elements(operator: Operator) -> list[Any]:
    """Element types to try: first those in the annotations of the operator's functions."""
    lowering = Lowering()
    with suppress(FloError):  # a state that cannot be written down
        lowering(operator)
    said = [kind for function in lowering.names.values() for kind in _parameters(function)]
    return list(dict.fromkeys([*said, int, tuple[int, int], str]))


def _parameters(function: AnyFunction) -> list[Any]:
    """The annotated types of a function's parameters."""
    if isinstance(function, type):
        return []
    try:
        return [kind for name, kind in get_type_hints(function).items() if name != "return" and kind is not Any]
    except Exception:  # annotations that cannot be resolved say nothing
        return []


def find_rejection(operator: Operator, types: StreamTypes) -> FloError | None:
    try:
        derive(Node(None, operator), types)
    except FloError as error:
        return error
    return None


@dataclass(frozen=True)
class CheckedProgram:
    """The parts of a flow that are checked."""

    name: str
    graph: Graph
    inputs: Mapping[str, StreamType]
    operators: tuple[tuple[Operator, StreamTypes], ...]
    """Every operator with the types of its inputs, those in bodies included."""


@runtime_checkable
class Checkable(Protocol):
    """A flow."""

    def _checkable(self) -> CheckedProgram: ...


def check_flow(program: CheckedProgram, effort: Effort | None = None) -> Report:
    """Tries the laws of graphs, and the obligations of the functions in the flow."""
    effort = (effort or Effort()).with_constants_in(operator for operator, _ in program.operators)
    captured = Captured(function for operator, _ in program.operators for function in functions_of(operator))
    types = tuple(program.inputs.values())

    def line(given: Input, trace: str) -> str:
        return flow_replay_line(program.inputs, dict(zip(program.inputs, given.data, strict=True)), trace)

    subject = GraphLaws(program.graph, types, OF_GRAPHS, tuple(program.inputs), line, effort)
    phases = Phases([subject], effort)
    broken = phases.run()
    return _report(f"the flow `{program.name}`", laws.GRAPH_LAWS, phases, broken, program.operators, captured)

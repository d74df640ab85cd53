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
from flo.values.keyed import Keyed
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify import laws
from flo.verify.effort import Effort, caveats
from flo.verify.exploration.replay import again, flow_again
from flo.verify.functions.obligations import hard, obligations
from flo.verify.programs.graphs import OF_GRAPHS, OF_OPERATORS, GraphLaws
from flo.verify.programs.inputs import Input
from flo.verify.programs.phases import Phases
from flo.verify.programs.rules import named_rules
from flo.verify.report import Counterexample, Report

MOST_SIGNATURES = 8
MOST_REFUSALS = 3


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
            where=Origin.here(),
        )
    effort = effort.with_constants_in([operator])
    if types:
        phases = Phases([_subject(operator, each, effort) for each in named_signatures(operator, types)], effort)
        broken = phases.run()
    else:
        phases, broken = _guessing(operator, effort)
    named = frozenset(rule for subject in phases.subjects for rule in named_rules(operator, subject.types))
    parts = tuple(
        hard(obligation, effort.rest())
        for obligation in dict.fromkeys(o for s in phases.subjects for o in obligations(operator, s.types))
    )
    never = frozenset() if broken is not None else named - phases.fired()
    return Report(
        f"`{operator.name}`",
        laws.OPERATOR_LAWS,
        phases.strength(),
        broken,
        phases.fired(),
        never,
        parts,
        caveats([operator]),
    )


def _subject(operator: Operator, types: StreamTypes, effort: Effort) -> GraphLaws:
    def line(given: Input, trace: str) -> str:
        return again(operator, types, given.data, trace)

    names = tuple(str(place + 1) for place in range(len(types)))
    return GraphLaws(Node(None, operator), types, OF_OPERATORS, names, line, effort)


def named_signatures(operator: Operator, types: Items[StreamType | Collection]) -> Iterator[StreamTypes]:
    """The stream types that are meant; the refusal if the operator takes none of them."""
    refused: FloError | None = None
    accepted = False
    for signature in _signatures(operator, types):
        refusal = refusal_of(operator, signature)
        if refusal is None:
            accepted = True
            yield signature
        refused = refused or refusal
    if not accepted and refused is not None:
        raise refused.located(Origin.here())


def _signatures(operator: Operator, types: Items[StreamType | Collection]) -> list[StreamTypes]:
    """With every choice of boundedness that is left, all unbounded first; one that is shared is the same for all."""
    choices = [
        (given,)
        if isinstance(given, StreamType)
        else (StreamType(given, bounded=False), StreamType(given, bounded=True))
        for given in types
    ]
    found = sorted(product(*choices), key=_flags)
    if operator.shares_flag and not any(isinstance(given, StreamType) for given in types):
        found = [signature for signature in found if _flags(signature) <= 1]
    return found


def _flags(signature: StreamTypes) -> int:
    """How many there are."""
    return len({given.bounded for given in signature})


def _guessing(operator: Operator, effort: Effort) -> tuple[Phases, Counterexample | None]:
    """On the first types that the operator takes, and its functions as well."""
    faults: list[FunctionError] = []
    for signatures in guessed_signatures(operator):
        phases = Phases([_subject(operator, each, effort) for each in signatures], effort, guessed=True)
        broken = phases.run()
        if phases.subjects:
            return phases, broken
        faults += phases.faults
    raise faults[0]


def guessed_signatures(operator: Operator) -> list[list[StreamTypes]]:
    """Input types that the operator takes, by the type of their elements; the reasons if it refuses all."""
    refused: dict[str, None] = {}
    each = [list(islice(_accepted(operator, kind, refused), MOST_SIGNATURES)) for kind in _elements(operator)]
    found = [signatures for signatures in each if signatures]
    if not found:
        raise LawError(
            f"`{operator.name}` rejects every input type that was tried",
            facts=tuple(("refused", reason) for reason in islice(refused, MOST_REFUSALS)),
            instead=((f"check(operator{', flo.Sequence[str]' * operator.arity[0]})", "name the types of its inputs"),),
            where=Origin.here(),
        )
    return found


def _accepted(operator: Operator, element: Any, refused: dict[str, None]) -> Iterator[StreamTypes]:
    """Those with such elements, unbounded before bounded; `refused` gets the reasons against the others."""
    for kinds in product(collections_of(element), repeat=operator.arity[0]):
        for signature in _signatures(operator, kinds):
            refusal = refusal_of(operator, signature)
            if refusal is None:
                yield signature
            else:
                refused.setdefault(str(refusal).splitlines()[0])


def collections_of(element: Any) -> tuple[Collection, ...]:
    """Of every shape."""
    sequence: Collection = Sequence(element)
    unordered: tuple[Collection, ...] = (Bag(element), Set(element), ZSet(element))
    return (sequence, *unordered, LVar(Max(element)), Nested(sequence), Keyed(int, sequence))


def _elements(operator: Operator) -> list[Any]:
    """Types of elements to try: first what the operator's functions say they take."""
    lowering = Lowering()
    with suppress(FloError):  # a state that cannot be written down
        lowering(operator)
    said = [kind for function in lowering.names.values() for kind in _parameters(function)]
    return list(dict.fromkeys([*said, int, tuple[int, int], str]))


def _parameters(function: Any) -> list[Any]:
    """The types of a function's parameters, as far as it says them."""
    if isinstance(function, type):
        return []
    try:
        return [kind for name, kind in get_type_hints(function).items() if name != "return" and kind is not Any]
    except Exception:  # annotations that cannot be resolved say nothing
        return []


def refusal_of(operator: Operator, types: StreamTypes) -> FloError | None:
    try:
        derive(Node(None, operator), types)
    except FloError as error:
        return error
    return None


@dataclass(frozen=True)
class Program:
    """What a flow hands over to be checked."""

    name: str
    graph: Graph
    inputs: Mapping[str, StreamType]
    operators: tuple[tuple[Operator, StreamTypes], ...]
    """Every operator with the types of its inputs, those in bodies included."""


@runtime_checkable
class Checkable(Protocol):
    """A flow."""

    def _checkable(self) -> Program: ...


def check_flow(program: Program, effort: Effort | None = None) -> Report:
    """Tries the laws of graphs on every small input and at random, and what operators ask of the functions in it."""
    operators = [operator for operator, _ in program.operators]
    effort = (effort or Effort()).with_constants_in(operators)
    types = tuple(program.inputs.values())

    def line(given: Input, trace: str) -> str:
        return flow_again(program.inputs, dict(zip(program.inputs, given.data, strict=True)), trace)

    subject = GraphLaws(program.graph, types, OF_GRAPHS, tuple(program.inputs), line, effort)
    phases = Phases([subject], effort)
    broken = phases.run()
    asked = dict.fromkeys(each for operator, inputs in program.operators for each in obligations(operator, inputs))
    parts = tuple(hard(each, effort.rest()) for each in asked)
    named = frozenset(rule for operator, inputs in program.operators for rule in named_rules(operator, inputs))
    never = frozenset() if broken is not None else named - phases.fired()
    return Report(
        f"the flow `{program.name}`",
        laws.GRAPH_LAWS,
        phases.strength(),
        broken,
        phases.fired(),
        never,
        parts,
        caveats(operators),
    )

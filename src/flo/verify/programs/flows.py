"""The laws of a whole program: determinism, eager execution and streaming progress, on data of its input types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from flo.core.derivation import StreamTypes
from flo.core.graph import Graph
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.verify import laws
from flo.verify.effort import Effort
from flo.verify.exploration.replay import flow_again
from flo.verify.functions.obligations import hard, obligations
from flo.verify.programs.graphs import OF_GRAPHS, GraphLaws
from flo.verify.programs.inputs import Input
from flo.verify.programs.phases import Phases
from flo.verify.programs.rules import named_rules
from flo.verify.report import Report


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
    effort = (effort or Effort()).around(operator for operator, _ in program.operators)
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
        f"the flow `{program.name}`", laws.GRAPH_LAWS, phases.strength(), broken, phases.fired(), never, parts
    )

"""The rules of `nest` as they are printed, figures 10 and 12, where they fall short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flo.core.collection import End
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs
from flo.core.nest import Nest, ReadDefer, WriteDefer
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Measure, Operator, Step, Values
from flo.core.persistent import Elements
from flo.core.semantics import small_steps
from flo.core.stream_type import Derivation, StreamTypes
from flo.core.structural import Wire
from flo.values.operators.elementwise import Map
from flo.verify import laws
from tests.seeded.base import INTEGERS, Seeded, ended_stream, last, open_stream


class PrintedNest(Nest):
    """`nest` without its own `advance`: one of its rules is exchanged, and steps are all there is."""

    def advance(self, values: Values) -> Iterator[Step]:
        return Operator.advance(self, values)


@dataclass(frozen=True)
class SeesDeltas(PrintedNest):
    """nest-run-step and nest-run-fixed, figure 12: of the outputs they see what the last step has emitted."""

    def steps(self, values: Values) -> Iterator[Step]:
        for step in super().steps(values):
            if step.rule == "nest-run-graph":
                (emitted,) = step.outputs
                assert isinstance(emitted, NestedValue)
                step = replace(step, operator=replace(step.operator, outputs=emitted.newest))  # type: ignore[type-var]
            yield step


@dataclass(frozen=True)
class OrderOfTheLeft(PrintedNest):
    """nest-run-graph, figure 12, with the order of `sequence`, figure 5: that of the left side alone."""

    def measure(self, values: Values) -> Measure:
        begun, waiting, inside = super().measure(values)
        return (begun, waiting, inside[0] if inside else ())


@dataclass(frozen=True)
class OrderOfTheInputs(PrintedNest):
    """nest-first, figure 12, with the order of §5.5: that of the inputs alone."""

    def measure(self, values: Values) -> Measure:
        _, waiting, inside = super().measure(values)
        return (waiting, inside)


@dataclass(frozen=True)
class WithoutInitial(PrintedNest):
    """nest-type and read-defer-no-value-type, figure 10: the first round may read what nobody has written."""

    def judge(self, inputs: StreamTypes) -> Derivation:
        started = self if self.original is not None else replace(self, original=self.graph)
        return Nest.judge(started, inputs)


@dataclass(frozen=True)
class KeepsInputs(PrintedNest):
    """nest-run-graph, figure 12: the body is kept with the inputs that its step left."""

    def _blank(self, graph: Graph) -> Graph:
        return graph


@dataclass(frozen=True)
class ReadsTheLastStep(KeepsInputs):
    """nest-run-step, figure 12: collect_defer(g), where g has the inputs that the last step left."""

    def _finish(self, value: NestedValue, graph: Graph) -> Iterator[Step]:
        return super()._finish(value, self.graph)


@dataclass(frozen=True)
class LeavesTheEnd(PrintedNest):
    """nest-first-fixed and nest-run-fixed, figure 12: they leave [⊗], which nest-run-graph matches with I = ⊗."""

    def steps(self, values: Values) -> Iterator[Step]:
        value = values[0]
        assert isinstance(value, NestedValue)
        if self.original is not None and value.oldest() is None and value.fixed():
            yield from self._steps_on_the_end()
            return
        for step in super().steps(values):
            left = NestedValue(Elements(), end=End.ARRIVED)
            yield replace(step, inputs=(left,)) if step.rule.endswith("-fixed") else step

    def _steps_on_the_end(self) -> Iterator[Step]:
        """nest-run-graph where I is ⊗: the body has its own inputs, which then stand in the place of ⊗."""
        for step in small_steps(self.graph):
            pairs = zip(self._bottoms(), step.outputs, strict=True)
            emitted = NestedValue.extending(tuple(bottom if delta is None else delta for bottom, delta in pairs))
            after = (NestedValue.pushing(inputs(step.graph)),)
            yield Step("nest-run-graph", after, replace(self, graph=step.graph), (emitted,), step.path)


def node(operator: Operator) -> Node:
    return Node(None, operator)


def same(x: int) -> int:
    return x


def passing() -> Node:
    return node(Map(same))


def tee(right: Graph) -> Graph:
    return Sequential(node(Wire(1, (0, 0))), Parallel(passing(), right))


def reading(value: Any) -> Node:
    return Node((), ReadDefer("k", INTEGERS, value))


STREAMS = open_stream(Nested(INTEGERS))
ENDED = ended_stream(Nested(INTEGERS))
LATER = Parallel(node(WriteDefer("k")), reading(last(0)))
"""Gives what the round before was given."""
WAITING = Sequential(
    Parallel(Sequential(node(Wire(1, ())), node(Wire(0, ()))), reading(None)), tee(node(WriteDefer("k")))
)

NESTING = (
    Seeded(
        "nest-run-step, which sees deltas only",
        SeesDeltas(tee(passing())),
        (laws.BOUNDED_OUTPUTS, laws.CONFLUENCE),
        "The rules ask whether the outputs are fixed, and a step sees what it emits. Once two outputs end one after "
        "the other, the last delta holds one end, and the loop waits for the other.",
        "[[]] arrives and ends: of the two outputs the one that ends last is seen to, and the outer one stays open",
        2,
        ENDED,
        deviation=5,
    ),
    Seeded(
        "nest-run-graph, by the order of sequence",
        OrderOfTheLeft(Sequential(passing(), passing())),
        (laws.MEASURE,),
        "`e₁; e₂` is given the order of its left side. A step on the right leaves that side alone, so nothing says "
        "that a loop around it ends.",
        "[[]] arrives: the end goes to the right, and the step that passes it on there lowers nothing",
        5,
        STREAMS,
        deviation=12,
    ),
    Seeded(
        "nest-first, by the order of nest",
        OrderOfTheInputs(passing()),
        (laws.MEASURE,),
        "The order of `nest` compares inputs, and the first rule consumes none: it copies the graph. That the copy "
        "counts as less stands in the text, and not in the order.",
        "[[]] arrives: nest-first leaves it as it is",
        3,
        STREAMS,
        deviation=29,
    ),
    Seeded(
        "read-defer-no-value-type",
        WithoutInitial(WAITING),
        (laws.BOUNDED_OUTPUTS,),
        "A loop is typed whose first round reads a value that only the round before could have written. The program "
        "is accepted, starts, and does nothing.",
        "[[]] arrives and ends: the first inner output stays open",
        5,
        ENDED,
        deviation=16,
    ),
    Seeded(
        "nest-run-step, which reads the inputs of the last step",
        ReadsTheLastStep(LATER),
        (laws.EAGER_EXECUTION, laws.CONFLUENCE),
        "What is handed to the next round is collected from the body as the last step left it. What has arrived since "
        "then is missing, so the loop depends on the scheduling.",
        "[[]] is open at a step of the body, and then ends: the body does not see the end that it hands on",
        3,
        STREAMS,
        deviation=18,
    ),
    Seeded(
        "nest-run-graph, which keeps the inputs of the body",
        KeepsInputs(LATER),
        (laws.EAGER_EXECUTION, laws.CONFLUENCE),
        "The inputs of the body are in the inner stream and in the body. What arrives after its last step is in the "
        "inner stream alone, so the state depends on the scheduling.",
        "an inner stream ends after the step of read_defer instead of before it",
        3,
        STREAMS,
        deviation=36,
    ),
    Seeded(
        "nest-run-fixed, which leaves [⊗]",
        LeavesTheEnd(LATER),
        (laws.MEASURE,),
        "The end stays in the input, where nest-run-graph takes it for an inner stream. A body with an initial value "
        "runs once more, and its inputs overwrite the end.",
        "the input ends: nest-first-fixed leaves [⊗], and read-defer-emit steps on it",
        3,
        ENDED,
        deviation=31,
    ),
)

"""Reading an LVar that may never end (figure "type and operational semantics for the threshold operator")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, final

from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.errors import FunctionError, ThresholdError
from flo.core.operator import Measure, Operator, Step, Values
from flo.core.stream_type import StreamType
from flo.core.term import Call, Lowering, Term
from flo.values.lattice import BOTTOM, TOP, Lattice, Or
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.lvars import expect_lvar, lvar
from flo.values.sequence import Sequence, SequenceValue


def expect_threshold(operator: Operator, lattice: Lattice[Any], threshold: Any) -> None:
    reason = lattice.mismatch(lattice.value(threshold))
    if reason is not None:
        raise ThresholdError(
            f"the threshold {threshold!r} of `{operator.name}` is not a value of {lattice}: {reason}", index=0
        )


@final
@dataclass(frozen=True)
class Threshold(Operator):
    """threshold((t₁, …)): (LVar<U>, X) ↪ (S<U>, X), the one threshold that the input passes, and then the end.

    `lvar-threshold-terminated` is for an input that ends below all thresholds; as printed it is enabled above one, too
    (docs/deviations.md, 2). Where there are several thresholds, the input is still watched once one is `passed`: deltas
    that contradict each other are an error whenever they arrive, and not only if no step came between.
    """

    thresholds: tuple[Any, ...]
    passed: bool = False

    name = "threshold"
    signature = "(LVar[L], X) -> (Sequence[L], X)"
    type_rule = "lvar-threshold-type"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        lattice = expect_lvar(self, inputs[0])
        if not self.thresholds:
            raise ThresholdError("`threshold` needs a threshold to wait for", index=0)
        for threshold in self.thresholds:
            expect_threshold(self, lattice, threshold)
        for one, other in combinations(self.thresholds, 2):
            self._expect_incompatible(inputs[0], lattice, one, other)
        element = lattice.element if TOP in self.thresholds else lattice.ordinary
        element = lattice.whole if BOTTOM in self.thresholds else element
        return (StreamType(Sequence(element), inputs[0].bounded),)

    def _expect_incompatible(self, given: StreamType, lattice: Lattice[Any], one: Any, other: Any) -> None:
        a, b = lattice.value(one), lattice.value(other)
        try:
            if lattice.incompatible(a, b):
                return
            above = repr(lattice.plain(lattice.join(a, b)))
        except Exception as error:
            above = f"{type(error).__name__}: {error}"
        raise ThresholdError(
            f"the thresholds {one!r} and {other!r} can both be passed, and which one is seen first is chance",
            facts=(("{input}", given.described()), (f"{one!r} ⊔ {other!r}", above)),
            instead=(
                (f"{{input}}.event_when_above({one!r})", "a stream of its own for each threshold:"),
                (f"{{input}}.event_when_above({other!r})", "a stream may be used more than once"),
            ),
            index=0,
        )

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = lvar(inputs)
        if value.end is End.PASSED:
            return
        lattice = value.lattice
        reached = [t for t in map(lattice.value, self.thresholds) if lattice.leq(t, value.value)]
        if len(reached) > 1:
            raise FunctionError(
                "the input of `threshold` contradicts itself: two thresholds that exclude each other are passed",
                facts=(
                    ("thresholds", f"{lattice.plain(reached[0])!r} and {lattice.plain(reached[1])!r}"),
                    ("value", repr(lattice.plain(value.value))[:120]),
                ),
            )
        if self.passed:
            return
        if reached:
            emitted = SequenceValue.of([lattice.plain(reached[0])], End.ARRIVED)
            if len(self.thresholds) == 1:
                yield Step("lvar-threshold", (value.passed(),), self, (emitted,))
            else:
                yield Step("lvar-threshold", inputs, replace(self, passed=True), (emitted,))
        elif value.end is End.ARRIVED:
            yield Step("lvar-threshold-terminated", (value.passed(),), self, (SequenceValue.terminator(),))

    def measure(self, inputs: Values) -> Measure:
        return (0 if self.passed or lvar(inputs).end is End.PASSED else 1,)

    def lower(self, lower: Lowering) -> Term:
        thresholds = lower(self.thresholds)
        return Call(self.name, (thresholds, True) if self.passed else (thresholds,))


def event_when_above(threshold: Any) -> Threshold:
    """§2.3: one event, when the value has passed the threshold."""
    return Threshold((threshold,))


@final
@dataclass(frozen=True)
class Above(Operator):
    """above(t): (LVar<L>, X) ↪ (LVar<Or>, X), true once the input has passed t; then nothing can change any more."""

    threshold: Any

    name = "above"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_threshold(self, expect_lvar(self, inputs[0]), self.threshold)
        return (StreamType(LVar(Or()), inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = lvar(inputs)
        if value.end is End.PASSED:
            return
        if value.lattice.leq(value.lattice.value(self.threshold), value.value):
            yield Step("lvar-above", (value.passed(),), self, (LVarValue(Or(), True, End.ARRIVED),))
        elif value.end is End.ARRIVED:
            ended = LVarValue(Or(), False, End.ARRIVED)
            yield Step("lvar-above-terminated", (value.passed(),), self, (ended,))

    def measure(self, inputs: Values) -> Measure:
        return (0 if lvar(inputs).end is End.PASSED else 1,)

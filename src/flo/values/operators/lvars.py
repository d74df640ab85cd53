"""Operators on LVars: monotone maps, the final value, the union of two, and thresholds (§6.2).

A threshold is the only way to read an LVar that may still grow: it emits a value that no later delta can change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from flo.core.collection import End
from flo.core.errors import CollectionError, FunctionError, ThresholdError, TypeMismatch
from flo.core.facts import Demand
from flo.core.operator import Bound, Measure, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.term import Call, Lowering, Term
from flo.core.untyped import Element, ElementFunction
from flo.values.lattice import BOTTOM, TOP, Lattice
from flo.values.lattice_orders import Max, Or
from flo.values.lvar import LVar, LVarValue
from flo.values.sequence import Sequence, SequenceValue


def expect_lvar(operator: Operator, given: StreamType, index: int = 0) -> Lattice[Element]:
    """Raise unless the input is an LVar; return its lattice."""
    instead = (("{input}.fold_lattice(lattice, f)", "one growing value"),)
    return expect_collection(operator, given, LVar, index=index, instead=instead).lattice


def expect_clock(operator: Operator, given: StreamType, index: int) -> None:
    """Raise unless the input is a clock."""
    lattice = expect_lvar(operator, given, index)
    if not isinstance(lattice, Max):
        raise TypeMismatch(f"the clock of `{operator.name}` must be an LVar of Max; got {lattice}", index=index)


def as_lvar(inputs: Values, index: int = 0) -> LVarValue:
    value = inputs[index]
    assert isinstance(value, LVarValue)
    return value


@dataclass(frozen=True)
class MapLattice(Operator):
    """map_lattice(f, M): (LVar<L>, X) ↪ (LVar<M>, X), for a monotone f: in every stuck state, f of the input.

    A consumed delta leaves the input, and f of a delta is not the delta of f. So `seen` has the join of everything that
    has arrived, and its image. It is empty until f(⊥) was emitted; f(BOTTOM) is ⊥.
    """

    f: ElementFunction
    target: Lattice[Element]
    seen: tuple[LVarValue, ...] = ()
    monotone: str | None = field(default=None, compare=False)
    """The user's reason why f is monotone."""

    name = "map_monotone"
    keeps = Bound.VALUE

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", Lattice.from_annotation(self.target))

    def demands(self, inputs: StreamTypes) -> Iterator[Demand]:
        yield Demand(self.target)
        lattices = (expect_lvar(self, inputs[0]), self.target)
        yield Demand(self.f, "monotone", lattices=lattices, claim=self.monotone)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_lvar(self, inputs[0])
        return (StreamType(LVar(self.target), inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = as_lvar(inputs)
        if not (self.seen and value.is_bottom()):
            grown = (self.seen[0] if self.seen else value.empty()).concat(replace(value, end=End.OPEN))
            image = self._image(grown)
            yield Step("map-lattice", (value.drained(),), replace(self, seen=(grown, image)), (image,))
        elif value.end is End.ARRIVED:
            ended = LVarValue(self.target, self.target.bottom(), End.ARRIVED)
            yield Step("map-lattice-terminated", (value.passed(),), self, (ended,))

    def _image(self, grown: LVarValue) -> LVarValue:
        if grown.value is BOTTOM:
            return LVarValue(self.target, self.target.bottom())
        result = self.f(grown.value)
        image = self.target.value(result)
        reason = self.target.mismatch(image)
        if reason is not None:
            raise FunctionError(
                f"the function of `map_lattice` must return values of {self.target}: {reason}",
                facts=(("given", repr(grown.value)[:120]), ("returned", repr(result)[:120])),
            )
        if self.seen and not self.target.leq(self.seen[1].value, image):
            raise FunctionError(
                f"the function of `map_lattice` must be monotone in {self.target}: its argument grew, its result fell",
                facts=(
                    (f"f({self.seen[0].value!r})"[:80], repr(self.seen[1].value)[:120]),
                    (f"f({grown.value!r})"[:80], repr(image)[:120]),
                ),
            )
        return LVarValue(self.target, image)

    def measure(self, inputs: Values) -> Measure:
        return (0 if self.seen else 1, as_lvar(inputs).size())


@dataclass(frozen=True)
class LVarToSequence(Operator):
    """to_sequence(): (LVar<L>, B) ↪ (S<L>, B), the final value. Illegal on an unbounded input (§6.2).

    BOTTOM is not a value: if it is the final value, nothing is emitted.
    """

    name = "to_sequence"
    keeps = Bound.VALUE
    signature = "(LVar[L], bounded) -> (Sequence[L], bounded)"
    waits = "returns the final value of its input"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        lattice = expect_lvar(self, inputs[0])
        expect_bounded(
            self,
            inputs[0],
            instead=(
                ("{input}.threshold(t)", "one event, when the value has reached t"),
                ("{input}.threshold(t, u, …)", "the one threshold that the value reaches"),
            ),
        )
        return (StreamType(Sequence(lattice.element), bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = as_lvar(inputs)
        if value.end is End.ARRIVED:
            final_value = [] if value.value is BOTTOM else [value.lattice.plain(value.value)]
            emitted = SequenceValue.of(final_value, End.ARRIVED)
            yield Step("to-sequence", (value.passed(),), self, (emitted,))


@dataclass(frozen=True)
class LVarUnion(Operator):
    """lvar_union(): ((LVar<L>, X), (LVar<L>, X)) ↪ (LVar<L>, X), the join of both."""

    name = "lvar_union"
    keeps = Bound.VALUE
    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = expect_lvar(self, inputs[0]), expect_lvar(self, inputs[1], index=1)
        if not (left.accepts(right) or right.accepts(left)):
            raise CollectionError(
                f"`lvar_union` requires two LVars of the same lattice; got {left} and {right}",
                facts=(("first", inputs[0].described()), ("second", inputs[1].described())),
                instead=(("{input}.map_monotone(f, lattice)", "converts to another lattice"),),
                index=1,
            )
        bounded = all(given.bounded for given in inputs)
        return (StreamType(LVar(left if left.accepts(right) else right), bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = as_lvar(inputs), as_lvar(inputs, 1)
        if not left.is_bottom():
            yield Step("lvar-union-left", (left.drained(), right), self, (replace(left, end=End.OPEN),))
        if not right.is_bottom():
            yield Step("lvar-union-right", (left, right.drained()), self, (replace(right, end=End.OPEN),))
        if left.ending() and right.ending():
            ended = left.empty().fix()
            yield Step("lvar-union-terminated", (left.passed(), right.passed()), self, (ended,))


def expect_threshold(operator: Operator, lattice: Lattice[Element], threshold: object) -> None:
    reason = lattice.mismatch(lattice.value(threshold))
    if reason is not None:
        raise ThresholdError(
            f"a threshold of `{operator.name}` must be a value of {lattice}; got {threshold!r}: {reason}", index=0
        )


def is_reached(value: LVarValue, threshold: Element, *, strict: bool) -> bool:
    """Return whether a value is at least a threshold, or if `strict`, above it."""
    leq = value.lattice.leq
    return bool(leq(threshold, value.value)) and not (strict and leq(value.value, threshold))


@dataclass(frozen=True)
class Threshold(Operator):
    """threshold((t₁, …)): (LVar<U>, X) ↪ (S<U>, X), the one threshold that the input reaches, or if `strict` is above,
    and then the end. Both never change once they are true.

    `lvar-threshold-terminated` is for an input that ends below all thresholds; as printed it is also enabled above one
    (docs/deviations.md, 2). With several thresholds, the input is still watched after one has `passed`: contradicting
    deltas are an error whenever they arrive, not only if no step was taken in between.
    """

    thresholds: tuple[Element, ...]
    passed: bool = False
    strict: bool = False

    name = "threshold"
    keeps = Bound.VALUE
    signature = "(LVar[L], X) -> (Sequence[L], X)"
    type_rule = "lvar-threshold-type"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        lattice = expect_lvar(self, inputs[0])
        if not self.thresholds:
            raise ThresholdError("`threshold` must get at least one threshold", index=0)
        for threshold in self.thresholds:
            expect_threshold(self, lattice, threshold)
        for one, other in combinations(self.thresholds, 2):
            self._expect_incompatible(inputs[0], lattice, one, other)
        element = lattice.element if TOP in self.thresholds else lattice.ordinary
        element = lattice.whole if BOTTOM in self.thresholds else element
        return (StreamType(Sequence(element), inputs[0].bounded),)

    def _expect_incompatible(self, given: StreamType, lattice: Lattice[Element], one: object, other: object) -> None:
        a, b = lattice.value(one), lattice.value(other)
        try:
            if lattice.incompatible(a, b):
                return
            above = repr(lattice.plain(lattice.join(a, b)))
        except Exception as error:
            above = f"{type(error).__name__}: {error}"
        raise ThresholdError(
            f"the thresholds {one!r} and {other!r} can both be passed: which one is seen first would depend on timing",
            facts=(("{input}", given.described()), (f"{one!r} ⊔ {other!r}", above)),
            instead=(
                (f"{{input}}.threshold({one!r})", "one stream per threshold;"),
                (f"{{input}}.threshold({other!r})", "a stream may be used more than once"),
            ),
            index=0,
        )

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = as_lvar(inputs)
        if value.end is End.PASSED:
            return
        lattice = value.lattice
        reached = [t for t in map(lattice.value, self.thresholds) if is_reached(value, t, strict=self.strict)]
        if len(reached) > 1:
            raise FunctionError(
                "the input of `threshold` contradicts itself: it has passed two thresholds that exclude each other",
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
        return (0 if self.passed or as_lvar(inputs).end is End.PASSED else 1,)

    def lower(self, lower: Lowering) -> Term:
        thresholds = lower(self.thresholds)
        if self.strict:
            return Call(self.name, (thresholds, self.passed, True))
        return Call(self.name, (thresholds, True) if self.passed else (thresholds,))


def event_when_above(threshold: object) -> Threshold:
    """§2.3: one event, when the value is above the threshold."""
    return Threshold((threshold,), strict=True)


@dataclass(frozen=True)
class Above(Operator):
    """above(t, strict): (LVar<L>, X) ↪ (LVar<Or>, X), true once the input has reached t, or if `strict` is above it.
    After that it never changes."""

    threshold: Any
    strict: bool = False

    name = "above"
    keeps = Bound.VALUE

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_threshold(self, expect_lvar(self, inputs[0]), self.threshold)
        return (StreamType(LVar(Or()), inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = as_lvar(inputs)
        if value.end is End.PASSED:
            return
        if is_reached(value, value.lattice.value(self.threshold), strict=self.strict):
            yield Step("lvar-above", (value.passed(),), self, (LVarValue(Or(), True, End.ARRIVED),))
        elif value.end is End.ARRIVED:
            ended = LVarValue(Or(), False, End.ARRIVED)
            yield Step("lvar-above-terminated", (value.passed(),), self, (ended,))

    def measure(self, inputs: Values) -> Measure:
        return (0 if as_lvar(inputs).end is End.PASSED else 1,)

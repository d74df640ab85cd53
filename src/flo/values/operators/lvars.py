"""Operators on LVars: monotone maps, the final value, and the union of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, final

from flo.core.collection import End
from flo.core.errors import CollectionError, FunctionError, ThresholdError
from flo.core.operator import Measure, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.term import Call, Lowering, Term
from flo.values.lattice import BOTTOM, TOP, Lattice
from flo.values.lattice_orders import Or
from flo.values.lvar import LVar, LVarValue
from flo.values.sequence import Sequence, SequenceValue


def expect_lvar(operator: Operator, given: StreamType, index: int = 0) -> Lattice[Any]:
    """The lattice of an LVar input."""
    expect_collection(
        operator,
        given,
        LVar,
        index=index,
        instead=(("{input}.fold_lattice(lattice, f)", "one value that grows"),),
    )
    assert isinstance(given.collection, LVar)
    return given.collection.lattice


def lvar(inputs: Values, index: int = 0) -> LVarValue:
    value = inputs[index]
    assert isinstance(value, LVarValue)
    return value


@final
@dataclass(frozen=True)
class MapLattice(Operator):
    """map_lattice(f, M): (LVar<L>, X) ↪ (LVar<M>, X), for a monotone f: at every stuck state, f of the input.

    A consumed delta leaves the input, and f of a delta is not the delta of f, so `seen` keeps the join of all that
    arrived, and its image. It is empty until f(⊥) was emitted; f of the mark BOTTOM is ⊥.
    """

    f: Callable[[Any], Any]
    target: Lattice[Any]
    seen: tuple[LVarValue, ...] = ()
    monotone: str | None = field(default=None, compare=False)
    """The user's reason why f never falls."""

    name = "map_monotone"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", Lattice.given(self.target))

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_lvar(self, inputs[0])
        return (StreamType(LVar(self.target), inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = lvar(inputs)
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
                f"the function of `map_lattice` gave what is not a value of {self.target}: {reason}",
                facts=(("given", repr(grown.value)[:120]), ("gave", repr(result)[:120])),
            )
        if self.seen and not self.target.leq(self.seen[1].value, image):
            raise FunctionError(
                f"the function of `map_lattice` is not monotone in {self.target}: its argument grew, its result fell",
                facts=(
                    (f"f({self.seen[0].value!r})"[:80], repr(self.seen[1].value)[:120]),
                    (f"f({grown.value!r})"[:80], repr(image)[:120]),
                ),
            )
        return LVarValue(self.target, image)

    def measure(self, inputs: Values) -> Measure:
        return (0 if self.seen else 1, lvar(inputs).size())


@final
@dataclass(frozen=True)
class LVarToSequence(Operator):
    """to_sequence(): (LVar<L>, B) ↪ (S<L>, B), the final value. Illegal on an unbounded input (§6.2).

    The mark BOTTOM is no value: if nothing has arrived where the values have no least one, there is nothing to emit.
    """

    name = "to_sequence"
    signature = "(LVar[L], bounded) -> (Sequence[L], bounded)"
    waits = "gives the final value of its input"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        lattice = expect_lvar(self, inputs[0])
        expect_bounded(
            self,
            inputs[0],
            instead=(
                ("{input}.event_when_above(t)", "one event, when the value has passed t"),
                ("{input}.threshold(t, u, …)", "the one threshold that the value passes"),
            ),
        )
        return (StreamType(Sequence(lattice.element), bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = lvar(inputs)
        if value.end is End.ARRIVED:
            final_value = [] if value.value is BOTTOM else [value.lattice.plain(value.value)]
            emitted = SequenceValue.of(final_value, End.ARRIVED)
            yield Step("to-sequence", (value.passed(),), self, (emitted,))


@final
@dataclass(frozen=True)
class LVarUnion(Operator):
    """lvar_union(): ((LVar<L>, X), (LVar<L>, X)) ↪ (LVar<L>, X), the join of both."""

    name = "lvar_union"
    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = expect_lvar(self, inputs[0]), expect_lvar(self, inputs[1], index=1)
        if not (left.accepts(right) or right.accepts(left)):
            raise CollectionError(
                f"`lvar_union` joins values of one lattice, and was given {left} and {right}",
                facts=(("first", inputs[0].described()), ("second", inputs[1].described())),
                instead=(("{input}.map_monotone(f, lattice)", "a value of another lattice"),),
                index=1,
            )
        bounded = all(given.bounded for given in inputs)
        return (StreamType(LVar(left if left.accepts(right) else right), bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = lvar(inputs), lvar(inputs, 1)
        if not left.is_bottom():
            yield Step("lvar-union-left", (left.drained(), right), self, (replace(left, end=End.OPEN),))
        if not right.is_bottom():
            yield Step("lvar-union-right", (left, right.drained()), self, (replace(right, end=End.OPEN),))
        if left.ending() and right.ending():
            ended = left.empty().fix()
            yield Step("lvar-union-terminated", (left.passed(), right.passed()), self, (ended,))


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

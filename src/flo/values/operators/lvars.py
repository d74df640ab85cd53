"""Operators on LVars: monotone maps, the final value, and the union of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.errors import CollectionError, FunctionError
from flo.core.operator import Measure, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.stream_type import StreamType
from flo.values.lattice import BOTTOM, Lattice
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

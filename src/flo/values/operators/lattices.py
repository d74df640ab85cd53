"""Operators that return LVars: fold_lattice (figure "operational semantics for the fold_lattice operator") and
sum_lattice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from numbers import Number
from typing import Any

from flo.core.collection import End
from flo.core.errors import CollectionError, ElementError, FunctionError
from flo.core.facts import Demand
from flo.core.operator import Bound, Deltas, Operator, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, Unit
from flo.values.canonical import canonical_element
from flo.values.element_value import ElementCollection
from flo.values.exact import terms
from flo.values.lattice import Lattice
from flo.values.lattice_orders import NaturalSum, canonical
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.shapes import ElementKind, Unary
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, Set


class ToLVar(Unary):
    """Emits values of a lattice, which an LVar joins."""

    lattice: Lattice[Element]
    keeps = Bound.VALUE

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (LVarValue(self.lattice, self.lattice.bottom(), End.ARRIVED),)


@dataclass(frozen=True)
class FoldLattice(ToLVar):
    """fold_lattice(L, f): (S<T>, X) ↪ (LVar<L>, X), the join of f(element) over all elements; f is optional.

    The join is commutative and idempotent, so the same rules hold for bags and sets.
    """

    lattice: Lattice[Element]
    f: ElementFunction | None = None

    name = "fold_lattice"
    end_rule = "fold-lattice-terminated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", Lattice.from_annotation(self.lattice))

    def demands(self, inputs: StreamTypes) -> Iterator[Demand]:
        yield Demand(self.lattice)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, Bag, Set)
        return (StreamType(LVar(self.lattice), inputs[0].bounded),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        elements = units if source is SequenceValue else [element for element, _ in units]
        joined = LVarValue(self.lattice, self.lattice.join_all([self._image(element) for element in elements]))
        return self, (joined,)

    def _image(self, element: object) -> Element:
        result = element if self.f is None else self.f(element)
        value = canonical_element(self.lattice.value(result))
        reason = self.lattice.mismatch(value)
        if reason is None:
            return value
        if self.f is None:
            raise ElementError(
                f"an element of `fold_lattice` is not a value of {self.lattice}: {reason}",
                facts=(("given", repr(element)[:120]),),
                instead=((f"{{input}}.fold_lattice({self.lattice}, f)", "f must return values of the lattice"),),
            )
        raise FunctionError(
            f"the function of `fold_lattice` must return values of {self.lattice}: {reason}",
            facts=(("given", repr(element)[:120]), ("returned", repr(result)[:120])),
        )


@dataclass(frozen=True)
class SumLattice(ToLVar):
    """sum_lattice(total): (S<T>, X) ↪ (LVar<NaturalSum>, X), the largest sum so far (§2.3).

    On a sequence that is the largest of all prefix sums: a sum smaller than the one before is ignored. A bag has no
    prefixes, so its elements must be ≥ 0; then every order ends at the same sum. Sums are exact until they are read
    (docs/deviations.md, 11).
    """

    lattice: NaturalSum = NaturalSum()  # noqa: RUF009
    total: int | Fraction = 0

    name = "sum_lattice"
    end_rule = "sum-lattice-terminated"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(
            self,
            inputs[0],
            Sequence,
            Bag,
            instead=(
                (
                    "{input}.fold_lattice(SetUnion, lambda x: {x}).map_monotone(sum, NaturalSum)",
                    "for a Set: counts every element once",
                ),
            ),
        )
        return (StreamType(LVar(self._sums(inputs)), inputs[0].bounded),)

    def typed(self, inputs: StreamTypes) -> SumLattice:
        return replace(self, lattice=self._sums(inputs))

    def _sums(self, inputs: StreamTypes) -> NaturalSum:
        """Return the lattice of the sums of the input."""
        assert isinstance(inputs[0].collection, ElementCollection)
        kind = inputs[0].collection.element
        if not isinstance(kind, type) or kind is Any:
            return NaturalSum()
        if not issubclass(kind, Number):
            raise CollectionError(
                f"`sum_lattice` requires numbers; the elements of {{input}} are {kind.__name__}",
                facts=(("{input}", inputs[0].described()),),
                instead=(("{input}.map(f).sum_lattice()", "f must return numbers"),),
                index=0,
            )
        return NaturalSum(int if issubclass(kind, int) else kind)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        if source is SequenceValue:
            terms = [_exact(element) for element in units]
        else:
            terms = [_natural(element) * weight for element, weight in units]
        sums = list(accumulate(terms, initial=self.total))
        largest = LVarValue(self.lattice, canonical(max(0, *sums)))
        return replace(self, total=canonical(sums[-1])), (largest,)


def _exact(element: object) -> int | Fraction:
    try:
        _, number, special = terms(element)
    except TypeError as error:
        raise ElementError(
            f"`sum_lattice` requires numbers: {error}", facts=(("given", repr(element)[:120]),)
        ) from None
    if special:
        raise ElementError(f"`sum_lattice` requires finite numbers; got {element!r}")
    return number


def _natural(element: object) -> int | Fraction:
    number = _exact(element)
    if number < 0:
        raise ElementError(
            f"`sum_lattice` of a Bag requires numbers ≥ 0; got {element!r}. Without an order, the largest sum before "
            "a decrease is undefined",
            instead=(("{input}.sum()", "for a bounded bag: the sum at the end"),),
        )
    return number

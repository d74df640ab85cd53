"""One collection for each law of collections: multisets, each with one mistake in its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from flo.core.collection import End, Value
from flo.core.persistent import PersistentMap
from flo.core.term import Lowering, Term
from flo.values.weighted import Bag, WeightedValue
from flo.verify import laws
from tests.seeded.base import Seeded


class Counted(WeightedValue):
    """How often each element is there: a multiset as it should be."""

    __slots__ = ()
    suffix = "-counted"

    @staticmethod
    def merge(weights: PersistentMap[Any, int], more: Mapping[Any, int]) -> PersistentMap[Any, int]:
        return weights.added(more)


class CountedBag(Bag[Any]):
    """The collection of one of these."""

    value_class: ClassVar[type[Any]] = Counted

    def _value(self, data: Any) -> Any:
        return self.value_class.of(super()._value(data).all_units())


class Unfixable(Counted):
    """`fix` leaves a value without elements as it is: there is nothing to end."""

    __slots__ = ()
    kind = "unfixable"

    def fix(self) -> Self:
        return super().fix() if self.weights else self


class Marked(Counted):
    """The empty delta is a row of its own, so that something is sent when there is nothing to send."""

    __slots__ = ()
    kind = "marked"

    def empty(self) -> Self:
        return self.of([(0, 1)])


class Few(Counted):
    """Values of at most three elements, which `++` does not know of."""

    __slots__ = ()
    kind = "few"


class Forgotten(Counted):
    """A checkpoint holds the elements, and not how often each is there."""

    __slots__ = ()
    kind = "forgotten"

    def lower(self, lower: Lowering) -> Term:
        once: Any = replace(self, weights=PersistentMap(dict.fromkeys(self.weights, 1)))
        return WeightedValue.lower(once, lower)


class Late(Counted):
    """The printed `++` of z-sets, its first case taken for both flags: what comes after the end is added."""

    __slots__ = ()
    kind = "late"

    def concat(self, delta: Self) -> Self:
        end = self.end if self.end is not End.OPEN else delta.end
        return type(self)(self.merge(self.weights, delta.weights), end)


class UnfixableBag(CountedBag):
    name = "UnfixableBag"
    value_class = Unfixable


class MarkedBag(CountedBag):
    name = "MarkedBag"
    value_class = Marked


class FewBag(CountedBag):
    name = "FewBag"
    value_class = Few

    def mismatch(self, value: Value) -> str | None:
        if isinstance(value, Few) and sum(value.weights.to_dict().values()) > 3:
            return f"more than three elements are no {self}"
        return super().mismatch(value)


class ForgottenBag(CountedBag):
    name = "ForgottenBag"
    value_class = Forgotten


class LateBag(CountedBag):
    name = "LateBag"
    value_class = Late


COLLECTIONS = (
    Seeded(
        "an empty stream that cannot end",
        UnfixableBag(int),
        (laws.FIX_FIXES,),
        "The end is a mark on the last row, and an empty input has none. The nightly job of the day without orders "
        "waits until somebody restarts it.",
        "fix({}) is {}, which is open",
        1,
    ),
    Seeded(
        "nothing that is something",
        MarkedBag(int),
        (laws.RIGHT_IDENTITY,),
        "Idle sources send a row of zeros, so that monitoring sees them. The zeros are counted, and more of them come "
        "the faster the machine is.",
        "{} ++ ∅ is {0: 1}",
        1,
    ),
    Seeded(
        "a limit that is not kept",
        FewBag(int),
        (laws.CLOSURE,),
        "A type promises at most three elements, and readers rely on that. Each part that arrives keeps to it, and "
        "together they do not.",
        "{1: 1} ++ {1: 3} has four elements",
        1,
    ),
    Seeded(
        "a checkpoint that forgets",
        ForgottenBag(int),
        (laws.LIFTING,),
        "A bag is saved as the list of its elements, and all tests have different ones. After a restart everything "
        "that was there twice is there once.",
        "{1: 2} is lowered, and lifted as {1: 1}",
        1,
    ),
    Seeded(
        "++ of z-sets",
        LateBag(int),
        (laws.ABSORPTION,),
        "Late rows are added to a result that was closed and handed out. The report and the table that it was made "
        "from differ from then on. The printed `++` of z-sets has no case for a fixed left side.",
        "({}, true) ++ {1: 1} is ({1: 1}, true)",
        1,
        deviation=7,
    ),
)

"""Between z-sets and the other collections of elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.errors import ElementError
from flo.core.operator import Deltas, Operator, expect_bounded
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType
from flo.values.operators.sets import Counted
from flo.values.operators.unary import ElementKind, Unary
from flo.values.operators.zsets import expect_zset
from flo.values.weighted import Bag, Set, ZSet


@final
@dataclass(frozen=True)
class ToZSet(Counted):
    """to_zset(seen): (S<T> | Bag<T> | Set<T>, X) ↪ (ZSet<T>, X)."""

    name = "to_zset"
    rule = "to-zset"
    target = ZSet


@dataclass(frozen=True)
class FromZSet(Unary):
    """Waits for the end, because weights may change until then, and refuses weights below zero."""

    weights: PersistentMap[Any, int] = PersistentMap()  # noqa: RUF009

    target: ClassVar[type[Bag[Any] | Set[Any]]]
    waits = "waits for the end of its input, because weights may change until then"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        element = expect_zset(self, inputs[0])
        expect_bounded(
            self,
            inputs[0],
            instead=(
                ("{input}.distinct()", "still a z-set: tells which elements come and go"),
                ("{input}.count_by(…)", "still a z-set: a running result, taken back when it changes"),
            ),
        )
        return (StreamType(self.target(element), bounded=True),)

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, weights=self.weights.added(dict(units))), (None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        units = self.weights.to_dict()
        below = sorted(repr(element)[:40] for element, weight in units.items() if weight < 0)
        if below:
            kind = self.target.name
            raise ElementError(
                f"{{input}} ended with weights below zero, and a {kind} has none: {', '.join(below[:5])}"
                + (f" and {len(below) - 5} more" if len(below) > 5 else ""),
                facts=(("{input}", "took back what never came"), (self.name, f"gives a {kind}")),
                instead=(("{input}.distinct()", "drops elements whose weight is not above zero"),),
            )
        output = self.target.value_class.of(units.items(), End.ARRIVED)
        return replace(self, weights=PersistentMap()), (output,)


@final
@dataclass(frozen=True)
class ZSetToBag(FromZSet):
    """zset_to_bag(M): (ZSet, B) ↪ (Bag, B), at the end: weights become counts."""

    name = "zset_to_bag"
    rule = "to-bag"
    target = Bag


@final
@dataclass(frozen=True)
class ZSetToSet(FromZSet):
    """zset_to_set(M): (ZSet, B) ↪ (Set, B), at the end: the elements whose weight is above zero; none may be below."""

    name = "zset_to_set"
    rule = "to-set"
    target = Set

"""How many different values there are in each group of a z-set: what `distinct` of the values would leave of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

from flo.core.persistent import PersistentMap
from flo.values.canonical import canonical_element
from flo.values.operators.zset_aggregates import Aggregator, Of, Units, read


@final
@dataclass(frozen=True)
class CountDistinct(Aggregator):
    """The number of different value(element) whose weights add up to more than zero; no row while there are none.

    A state is (the weight of each value, how many of them are above zero).
    """

    value: Of = None

    name = "zset_count_distinct"
    empty: ClassVar[Any] = (PersistentMap(), 0)

    def added(self, state: Any, units: Units) -> Any:
        weights, count = state
        more: dict[Any, int] = {}
        for element, weight in units:
            value = canonical_element(read(self.value, element))
            more[value] = more.get(value, 0) + weight
        for value, weight in more.items():
            before = weights.get(value, 0)
            count += (before + weight > 0) - (before > 0)
        return weights.added(more), count

    def result(self, state: Any) -> tuple[Any, ...]:
        return (state[1],) if state[1] else ()

    def result_type(self, element: Any) -> Any:
        return int

"""The least and the greatest of each group of a z-set.

They keep the rows; a group is there if some row in it has a weight above zero, and rows at zero or below do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

from flo.values.operators.zset_aggregates import Aggregator, Of, Units, read, value_type
from flo.values.operators.zset_topk import NO_RANKING, Order, Ranking


@dataclass(frozen=True)
class Extreme(Aggregator):
    """The value of the first row there is. The group is searched again only when that row itself is taken back."""

    value: Of = None

    empty = NO_RANKING
    descending: ClassVar[bool]

    def added(self, state: Ranking, units: Units) -> Ranking:
        return state.changed(units, 1, Order(self.value, self.descending, self.name))

    def result(self, state: Ranking) -> tuple[Any, ...]:
        return tuple(read(self.value, row) for row, _ in state.top)

    def result_type(self, element: Any) -> Any:
        return value_type(self.value, element)


@final
@dataclass(frozen=True)
class Min(Extreme):
    """The least value(element) of the elements that are there; nan is the greatest of all."""

    name = "zset_min"
    descending = False


@final
@dataclass(frozen=True)
class Max(Extreme):
    """The greatest value(element) of the elements that are there; nan is the greatest of all."""

    name = "zset_max"
    descending = True

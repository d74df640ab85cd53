"""Window functions over the partitions of a z-set: every row with what the rows around it say (rank, lag, sums)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from flo.core.persistent import PersistentMap
from flo.core.untyped import Element, ElementFunction, TypeForm
from flo.values.canonical import canonical_element
from flo.values.operators.over_functions import Partition, WindowFunction
from flo.values.operators.shapes import evaluate_ahead
from flo.values.operators.zset_ranking import RankOrder
from flo.values.operators.zsets import GroupColumns
from flo.values.weighted import Weights


@final
@dataclass(frozen=True)
class Over(GroupColumns):
    """over(functions, by, key, descending, peers, into, groups): (ZSet<T>, X) ↪ (ZSet<R>, X).

    The rows of a group are ordered by `key`, a tuple with a direction for each part, and then by their text. Rows that
    are equal in the first `peers` parts are peers. A row with weight n stands there n times; rows without a positive
    weight do not. The output has each of them with the results of the functions.
    """

    functions: tuple[WindowFunction, ...]
    by: ElementFunction | None = None
    key: ElementFunction | None = None
    descending: tuple[bool, ...] = (False,)
    peers: int = 1
    into: Callable[[Element, tuple[Element, ...]], Any] | None = None
    groups: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009

    name = "over"
    recomputes = ("functions", "key", "into")

    def column_types(self, element: TypeForm) -> tuple[TypeForm, ...]:
        return tuple(function.result_type(element) for function in self.functions)

    def evaluate(self, rows: list[Element]) -> None:
        for f in dict.fromkeys([self.key, *(f for function in self.functions for f in function.functions)]):
            evaluate_ahead(f, rows)

    def rows_of(self, weights: dict[Element, int]) -> list[tuple[Element, int]]:
        order = RankOrder(self.key, self.descending, self.name)
        ranks = sorted(order.rank(row) for row, weight in weights.items() if weight > 0)
        rows = [rank.row for rank in ranks for _ in range(weights[rank.row])]
        down = self.descending[self.peers - 1] if self.peers else False
        partition = Partition(rows, [self._peers(row) for row in rows], down)
        results = zip(*(function.results(partition) for function in self.functions), strict=True)
        columns = (tuple(map(canonical_element, cells)) for cells in results)
        return [(self.row(row, cells), 1) for row, cells in zip(rows, columns, strict=True)]

    def _peers(self, row: object) -> tuple[Element, ...]:
        """Return the parts of the key that peers share."""
        key = row if self.key is None else self.key(row)
        parts = tuple(key) if isinstance(key, tuple) else (key,)
        return parts[: self.peers]

"""Window functions over the partitions of a z-set: every row with what the rows around it say (rank, lag, sums)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

from flo.core.elements import returned_type
from flo.core.facts import ALL_COLUMNS, PrimaryKey, Timing, no_demands
from flo.core.operator import Bound, Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, Unit
from flo.values.canonical import canonical_element
from flo.values.operators.over_functions import Partition, WindowFunction
from flo.values.operators.shapes import ElementKind, evaluate_ahead
from flo.values.operators.zset_ranking import RankOrder
from flo.values.operators.zsets import PerGroup, expect_zset, group_units, make_delta
from flo.values.row_functions import passed_by
from flo.values.weighted import Weights, ZSet


@final
@dataclass(frozen=True)
class Over(PerGroup):
    """over(functions, by, key, descending, peers, into, groups): (ZSet<T>, X) ↪ (ZSet<R>, X).

    The rows of a group are ordered by `key`, a tuple with a direction for each part, and then by their text. Rows that
    are equal in the first `peers` parts are peers. A row with weight n stands there n times; rows without a positive
    weight do not. The output has each of them with the results of the functions: into(row, results), or
    (row, *results). When a group changes, what its old rows gave is retracted.
    """

    functions: tuple[WindowFunction, ...]
    by: ElementFunction | None = None
    key: ElementFunction | None = None
    descending: tuple[bool, ...] = (False,)
    peers: int = 1
    into: Callable[[Element, tuple[Element, ...]], Any] | None = None
    groups: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009

    name = "over"
    keeps = Bound.ROWS
    retracts = True
    timing = Timing.LOSES
    reads = ALL_COLUMNS
    demands = no_demands
    recomputes = ("functions", "key", "into")

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return passed_by(self.into, keys[0])

    def type(self, inputs: StreamTypes) -> StreamTypes:
        element = expect_zset(self, inputs[0])
        if self.into is not None:
            return (StreamType(ZSet(returned_type(self.into)), inputs[0].bounded),)
        parts = (element, *(function.result_type(element) for function in self.functions))
        return (StreamType(ZSet(tuple[parts]), inputs[0].bounded),)  # type: ignore[valid-type]

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        groups, changes = {}, []
        for group, members in group_units(self.by, units).items():
            before: Weights = self.groups.get(group, PersistentMap())
            old = before.to_dict()
            groups[group] = after = before.added(dict(members))
            changes.append((old, after.to_dict()))
        self._evaluate([row for weights in changes for row in {**weights[0], **weights[1]}])
        delta: list[tuple[Element, int]] = []
        for old, new in changes:
            delta += [(row, -1) for row in self._rows(old)] + [(row, 1) for row in self._rows(new)]
        return replace(self, groups=self.groups.updated(groups, drop=PersistentMap())), make_delta(delta)

    def _evaluate(self, rows: list[Element]) -> None:
        """Let column expressions evaluate all these rows at once."""
        for f in dict.fromkeys([self.key, *(f for function in self.functions for f in function.functions)]):
            evaluate_ahead(f, rows)

    def _rows(self, weights: dict[Element, int]) -> list[Element]:
        """Return the output rows of a group."""
        order = RankOrder(self.key, self.descending, self.name)
        ranks = sorted(order.rank(row) for row, weight in weights.items() if weight > 0)
        rows = [rank.row for rank in ranks for _ in range(weights[rank.row])]
        down = self.descending[self.peers - 1] if self.peers else False
        partition = Partition(rows, [self._peers(row) for row in rows], down)
        results = zip(*(function.results(partition) for function in self.functions), strict=True)
        return [self._row(row, tuple(map(canonical_element, cells))) for row, cells in zip(rows, results, strict=True)]

    def _peers(self, row: object) -> tuple[Element, ...]:
        """Return the parts of the key that peers share."""
        key = row if self.key is None else self.key(row)
        parts = tuple(key) if isinstance(key, tuple) else (key,)
        return parts[: self.peers]

    def _row(self, row: object, results: tuple[object, ...]) -> Element:
        return (row, *results) if self.into is None else self.into(row, results)

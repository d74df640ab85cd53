"""group_by: several aggregates of a z-set of rows, for each group, in one operator.

Each step retracts the rows that are no longer right and inserts the new ones. A group exists if the sum of the weights
of its rows is positive. While retractions are ahead of their insertions it may be zero or less: then nothing is in the
group, and it has no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, get_args, get_type_hints

from flo.core.errors import brief
from flo.core.facts import Demand, PrimaryKey
from flo.core.operator import Bound, Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.core.untyped import Element, Unit
from flo.values.canonical import canonical_element
from flo.values.exact import NAN, Digits, expect_width, width_of
from flo.values.operators.group_aggregates import Aggregator, Linear, LinearOf
from flo.values.operators.joins import element_of
from flo.values.operators.shapes import ElementKind
from flo.values.operators.zsets import PerGroup, expect_zset, make_delta
from flo.values.weighted import ZSet


@dataclass(frozen=True)
class Aggregated(Lowerable):
    """One column of the result: an aggregator, and the columns of the row that are its arguments."""

    aggregator: Aggregator
    places: tuple[int, ...] = ()
    where: int | None = None
    """The column that says which rows count: those in which it is true."""
    text: str = field(default="", compare=False, repr=False)
    """The aggregate as the user wrote it, for `explain`."""

    def lower(self, lower: Lowering) -> Term:
        return Call("aggregated", (lower(self.aggregator), self.places, self.where))

    def added(self, state: Any, units: list[tuple[Unit, int]]) -> Any:
        """Return the state with these rows and weights added."""
        if self.where is not None:
            units = [unit for unit in units if unit[0][self.where]]
        given = [(tuple(row[place] for place in self.places), weight) for row, weight in units]
        required = self.aggregator.required(len(self.places))
        return self.aggregator.added(state, [unit for unit in given if None not in unit[0][:required]])


register("aggregated", Aggregated)


@dataclass(frozen=True)
class GroupBy(PerGroup):
    """group_by(keys, aggregates, row, groups): (ZSet<R>, X) ↪ (ZSet<row>, X).

    The first `keys` columns of a row are its group. A result has them too, and a column for each aggregate. Without
    keys all rows are one group. A state is the weight of the group, and that of each aggregate.
    """

    keys: int
    aggregates: tuple[Aggregated, ...]
    row: Element
    """The type of the results."""
    groups: PersistentMap[Element, Element] = PersistentMap()  # noqa: RUF009

    name = "group_by"
    keeps = Bound.GROUPS
    recomputes = ("aggregates",)

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return columns[: self.keys]

    def demands(self, inputs: StreamTypes) -> Iterator[Demand]:
        row = element_of(inputs[0])
        kinds = get_args(row) or tuple(get_type_hints(row).values())
        for each in self.aggregates:
            if isinstance(each.aggregator, LinearOf):
                yield Demand(each.aggregator, kinds=tuple(kinds[place] for place in each.places))

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        return (StreamType(ZSet(self.row), inputs[0].bounded),)

    def bound_on(self, inputs: StreamTypes) -> Bound:
        if not all(isinstance(each.aggregator, Linear) for each in self.aggregates):
            return Bound.END if inputs[0].bounded else Bound.ROWS
        return Bound.GROUPS if self.keys else Bound.VALUE

    @property
    def described(self) -> str:
        """The groups and the aggregates, by name, for `explain`."""
        names = getattr(self.row, "_columns", getattr(self.row, "_fields", ()))
        keys, named = names[: self.keys], zip(names[self.keys :], self.aggregates, strict=False)
        parts = [f"{name}={each.text or each.aggregator.name}" for name, each in named]
        return f"{', '.join(key for key in keys if key[0] != '=') or 'all rows'}: {', '.join(parts)}"

    @property
    def empty(self) -> tuple[int, tuple[Element, ...]]:
        """The state of a group that does not exist."""
        return 0, tuple(each.aggregator.empty for each in self.aggregates)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        members: dict[Element, list[tuple[Element, int]]] = {}
        for unit in units:
            members.setdefault(canonical_element(tuple(unit[0][: self.keys])), []).append(unit)
        states, rows = {}, []
        for key, some in members.items():
            before = self.groups.get(key, self.empty)
            weight = before[0] + sum(more for _, more in some)
            parts = zip(self.aggregates, before[1], strict=True)
            states[key] = after = (weight, tuple(each.added(state, some) for each, state in parts))
            old, new = self._row(key, before), self._row(key, after)
            if old != new:
                rows += [(row, -1) for row in old] + [(row, 1) for row in new]
        return replace(self, groups=self.groups.updated(states, drop=self.empty)), make_delta(rows)

    def _row(self, key: tuple[object, ...], state: tuple[int, tuple[object, ...]]) -> list[Element]:
        weight, parts = state
        if weight <= 0:
            return []
        results = [each.aggregator.result(part) for each, part in zip(self.aggregates, parts, strict=True)]
        for place, width in _widths(self.row):
            if place >= self.keys:
                expect_width(results[place - self.keys], width, brief(key) if key else "all rows")
        return [self.row(*key, *map(unify_nan, results))]


@cache
def _widths(row: object) -> tuple[tuple[int, Digits], ...]:
    """Return the digits of the columns of a row that have decimals, by place."""
    widths = enumerate(map(width_of, getattr(row, "__annotations__", {}).values()))
    return tuple((place, width) for place, width in widths if width is not None)


def unify_nan(result: object) -> Element:
    """Return the result, with one object for every float NaN; otherwise the row could never be retracted."""
    return NAN if isinstance(result, float) and result != result else result

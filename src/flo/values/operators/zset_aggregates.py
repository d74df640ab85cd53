"""Aggregates of z-sets by group: each step retracts the rows that are no longer right and inserts the new ones.

Linear aggregates (count, sum, avg and user-defined ones) keep a weight and totals for each group, but no rows. A group
exists if the sum of its weights is not zero. `min` and `max` are in zset_ranking.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, TypeAlias, final

from flo.core.elements import returned_type
from flo.core.operator import Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.values.canonical import canonical_element
from flo.values.exact import NAN, PLACES, Exact, mean_places, mean_type, sum_type
from flo.values.operators.shapes import ElementKind, Unary
from flo.values.operators.zsets import expect_zset, group_units, make_delta
from flo.values.weighted import ZSet

Of: TypeAlias = Callable[[Any], Any] | None
Units: TypeAlias = list[tuple[Any, int]]


class Aggregator(Lowerable, ABC):
    """Computes a result per group from a state that is updated incrementally. Subclasses are frozen dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    empty: ClassVar[Any]
    """The state of a group that nothing has reached, or of which nothing is left."""

    @abstractmethod
    def added(self, state: Any, units: Units) -> Any:
        """Return the state with these elements and weights added. Must not depend on their order."""

    @abstractmethod
    def result(self, state: Any) -> tuple[Any, ...]:
        """Return (the result,), or () if the group does not exist."""

    @abstractmethod
    def result_type(self, element: Any) -> Any:
        """Return the type of results for elements of this type."""

    def typed(self, element: Any) -> Self:
        """Return the aggregator with whatever it needs to know about the element type filled in."""
        return self

    def lower(self, lower: Lowering) -> Term:
        parts = [part.name for part in fields(self) if part.compare]
        return Call(self.name, tuple(lower(getattr(self, name)) for name in parts))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            register(cls.name, cls)


class LinearAggregator(Aggregator):
    """A state is (the sum of the weights, the sum of weight · number). Numbers may be a tuple of numbers."""

    empty = (0, None)

    @abstractmethod
    def numbers(self, element: Any) -> Any:
        """Return the number, or tuple of numbers, that the element adds per unit of weight."""

    @abstractmethod
    def finished(self, weight: int, total: Any) -> Any:
        """Return the result of an existing group from an `Exact` total or a tuple of them."""

    def added(self, state: Any, units: Units) -> Any:
        weight, total = state
        weight += sum(more for _, more in units)
        total = add_terms(total, [(self.numbers(element), more) for element, more in units])
        return (weight, total) if weight or not is_cancelled(total) else self.empty

    def result(self, state: Any) -> tuple[Any, ...]:
        weight, total = state
        return (self.finished(weight, total),) if weight else ()


def add_terms(total: Any, terms: Units) -> Any:
    """Add numbers, or equally long tuples of numbers, each times its weight, to the total (None at first)."""
    shapes = {len(numbers) if isinstance(numbers, tuple) else None for numbers, _ in terms}
    if total is not None:
        shapes.add(len(total) if isinstance(total, tuple) else None)
    if len(shapes) > 1:
        found = sorted("a number" if shape is None else f"a tuple of length {shape}" for shape in shapes)
        raise TypeError(f"a linear aggregate must return numbers, or tuples of one length; got {' and '.join(found)}")
    (shape,) = shapes
    if shape is None:
        return (total or Exact()).added(terms)
    totals = total or (Exact(),) * shape
    return tuple(totals[place].added((numbers[place], weight) for numbers, weight in terms) for place in range(shape))


def is_cancelled(total: Any) -> bool:
    return all(part == Exact() for part in (total if isinstance(total, tuple) else (total,)))


def read(value: Of, element: Any) -> Any:
    return element if value is None else value(element)


def value_type(value: Of, element: Any) -> Any:
    return element if value is None else returned_type(value)


@final
@dataclass(frozen=True)
class Count(LinearAggregator):
    """count: the sum of the weights."""

    name = "zset_count"

    def numbers(self, element: Any) -> Any:
        return ()

    def finished(self, weight: int, total: Any) -> Any:
        return weight

    def result_type(self, element: Any) -> Any:
        return int


@dataclass(frozen=True)
class Summing(LinearAggregator):
    """Sums value(element), or the elements themselves: exact in any order, rounded once."""

    value: Of = None

    def numbers(self, element: Any) -> Any:
        return read(self.value, element)


@final
@dataclass(frozen=True)
class Sum(Summing):
    """sum: Σ value(element) · weight."""

    name = "zset_sum"

    def finished(self, weight: int, total: Any) -> Any:
        return total.value()

    def result_type(self, element: Any) -> Any:
        return sum_type(value_type(self.value, element))


@final
@dataclass(frozen=True)
class Avg(Summing):
    """avg: the sum divided by the sum of the weights: a float for ints and floats, a Decimal for decimals."""

    places: int = field(default=PLACES, compare=False)
    """The decimal places of a Decimal result, known from the element type."""

    name = "zset_avg"

    def finished(self, weight: int, total: Any) -> Any:
        return total.mean(weight, self.places)

    def result_type(self, element: Any) -> Any:
        return mean_type(value_type(self.value, element))

    def typed(self, element: Any) -> Self:
        return replace(self, places=mean_places(value_type(self.value, element)))


@final
@dataclass(frozen=True)
class Linear(LinearAggregator):
    """finish(Σ of(element) · weight): `of` returns a number or a tuple of numbers, and `finish` gets the same."""

    of: Callable[[Any], Any]
    finish: Callable[[Any], Any] | None = None

    name = "zset_linear"

    def numbers(self, element: Any) -> Any:
        return self.of(element)

    def finished(self, weight: int, total: Any) -> Any:
        numbers = tuple(part.value() for part in total) if isinstance(total, tuple) else total.value()
        return numbers if self.finish is None else self.finish(numbers)

    def result_type(self, element: Any) -> Any:
        return Any if self.finish is None else returned_type(self.finish)


@final
@dataclass(frozen=True)
class CountDistinct(Aggregator):
    """The number of distinct value(element) with a positive total weight; no row while there are none.

    A state is (the weight of each value, the number of positive ones).
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


@final
@dataclass(frozen=True)
class Aggregate(Unary):
    """aggregate(by, aggregator, groups): (ZSet<T>, X) ↪ (ZSet<(K, R)>, X), a row (key, result) for each group.

    Without `by` there is one group, and the row is the result alone.
    """

    by: Callable[[Any], Any] | None
    aggregator: Aggregator
    groups: PersistentMap[Any, Any] = PersistentMap()  # noqa: RUF009

    name = "aggregate"
    retracts = True
    rule = "aggregate"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        result = self.aggregator.result_type(expect_zset(self, inputs[0]))
        row = result if self.by is None else tuple[returned_type(self.by), result]  # type: ignore[misc]
        return (StreamType(ZSet(row), inputs[0].bounded),)

    def typed(self, inputs: StreamTypes) -> Self:
        return replace(self, aggregator=self.aggregator.typed(expect_zset(self, inputs[0])))

    def with_origins(self, like: Self) -> Self:
        """Take the types from the program: a state does not have them."""
        return replace(self, aggregator=like.aggregator)

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        states, rows = {}, []
        for key, members in group_units(self.by, units).items():
            before = self.groups.get(key, self.aggregator.empty)
            states[key] = after = self.aggregator.added(before, members)
            old, new = self._row(key, before), self._row(key, after)
            if old != new:
                rows += [(row, -1) for row in old] + [(row, 1) for row in new]
        groups = self.groups.updated(states, drop=self.aggregator.empty)
        return replace(self, groups=groups), make_delta(rows)

    def _row(self, key: Any, state: Any) -> list[Any]:
        results = [unify_nan(result) for result in self.aggregator.result(state)]
        return results if self.by is None else [(key, result) for result in results]

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, groups=PersistentMap()), (source.terminator(),)


def unify_nan(result: Any) -> Any:
    """Return the result, with one object for every float NaN; otherwise the row could never be retracted."""
    return NAN if isinstance(result, float) and result != result else result

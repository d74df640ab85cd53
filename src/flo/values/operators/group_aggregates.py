"""Aggregates of columns, as in SQL: what `group_by(…).agg(…)` computes for each group.

An aggregator sees the values of its argument columns with their weights, and skips rows in which one of them is None.
Linear aggregates keep sums, the others keep the values. Of no values the result is None, except for counts.

While retractions are ahead of their insertions, values have negative weights. For a linear aggregate there are no
values if the sum of their weights is zero or less; for the others a value is there if its weight is positive. So in a
group of positive weight every aggregate of a column without None has a result.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from flo.core.persistent import PersistentMap
from flo.core.term import Call, Lowering, Named, Term
from flo.core.untyped import Element, ElementFunction
from flo.values.canonical import canonical_element
from flo.values.exact import PLACES, Exact, divided_decimal, to_float
from flo.values.operators.shapes import expect_declared
from flo.values.operators.zset_ranking import NO_RANKING, Ranking, RankOrder, comparable

Arguments: TypeAlias = tuple[Element, ...]
WeightedArguments: TypeAlias = list[tuple[Arguments, int]]
"""The arguments of rows, with the weights of the rows."""
AggregateState: TypeAlias = Any
"""What an aggregator keeps of a group, such as sums or the weights of values."""
PresentValues: TypeAlias = list[tuple[Element, int]]
"""Values that are present, in order, with how often each is."""


class Aggregator(Named, ABC):
    """Computes a result per group from a state that is updated by deltas. Subclasses are frozen dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    empty: ClassVar[AggregateState]
    """The state of a group without values."""

    def required(self, count: int) -> int:
        """Return how many of its arguments, from the first on, must not be None for a row to count."""
        return count

    @abstractmethod
    def added(self, state: AggregateState, units: WeightedArguments) -> AggregateState:
        """Return the state with these arguments and weights added. Must not depend on their order."""

    @abstractmethod
    def result(self, state: AggregateState) -> Element:
        """Return the result; None if there is none."""

    def lower(self, lower: Lowering) -> Term:
        return Call(self.name, tuple(lower(getattr(self, part.name)) for part in fields(self)))


# Linear aggregates: (the number of values, sums).


@dataclass(frozen=True)
class Linear(Aggregator):
    """A state is the sum of the weights, and an exact sum for each number that a value adds."""

    empty = (0, ())

    def numbers(self, *arguments: object) -> tuple[Element, ...]:
        """Return the numbers that are summed."""
        return arguments

    @abstractmethod
    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        """Return the result. There is at least one value."""

    def added(self, state: AggregateState, units: WeightedArguments) -> AggregateState:
        count, sums = state
        count += sum(weight for _, weight in units)
        terms = [(self.numbers(*arguments), weight) for arguments, weight in units]
        if terms:
            sums = sums or (Exact(),) * len(terms[0][0])
            sums = tuple(
                each.added((numbers[place], weight) for numbers, weight in terms) for place, each in enumerate(sums)
            )
        return (count, sums) if count or any(each != Exact() for each in sums) else self.empty

    def result(self, state: AggregateState) -> Element:
        count, sums = state
        return self.finished(count, sums) if count > 0 else None


@dataclass(frozen=True)
class CountRows(Linear):
    """count(): the number of rows, or with an argument of those in which it is not None."""

    name = "count_rows"

    def numbers(self, *arguments: object) -> tuple[Element, ...]:
        return ()

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        return count

    def result(self, state: AggregateState) -> Element:
        return max(state[0], 0)


@dataclass(frozen=True)
class SumOf(Linear):
    """sum(x), exact in any order, rounded once."""

    name = "sum_of"

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        return sums[0].value()


@dataclass(frozen=True)
class AverageOf(Linear):
    """avg(x): a float for ints and floats, a Decimal with `places` places for decimals."""

    places: int = PLACES

    name = "average_of"

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        return sums[0].mean(count, self.places)


@dataclass(frozen=True)
class AllTrue(Linear):
    """bool_and(x): whether no value is False."""

    name = "all_true"

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        return sums[0].value() == count


@dataclass(frozen=True)
class AnyTrue(Linear):
    """bool_or(x): whether a value is True."""

    name = "any_true"

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        return sums[0].value() > 0


@dataclass(frozen=True)
class Bitwise(Linear):
    """bit_and(x), bit_or(x), bit_xor(x): of integers of so many bits, from how many values have each bit."""

    how: str = "and"
    bits: int = 64

    name = "bitwise"

    def numbers(self, *arguments: Element) -> tuple[Element, ...]:
        return tuple(arguments[0] >> place & 1 for place in range(self.bits))

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        having = [each.value() for each in sums]
        unsigned = sum(1 << place for place, each in enumerate(having) if is_bit_set(self.how, each, count))
        return unsigned - (1 << self.bits) if unsigned >> (self.bits - 1) else unsigned


def is_bit_set(how: str, having: Element, count: object) -> Element:
    """Return whether the result has a bit that so many of the values have."""
    if how == "and":
        return having == count
    return having != 0 if how == "or" else having % 2 != 0


@dataclass(frozen=True)
class LinearOf(Linear):
    """finish(Σ of(row) · weight). The arguments are the numbers that are added, or one tuple of them."""

    finish: ElementFunction
    make: Any = None
    """What `finish` gets: None for one number, `tuple` for several, or a type of rows with a field for each."""

    name = "linear_of"

    def numbers(self, *arguments: object) -> tuple[Element, ...]:
        return tuple(arguments[0]) if isinstance(arguments[0], tuple) else arguments

    def combine(self, *totals: Element) -> Element:
        """Return the totals as `finish` gets them."""
        if self.make is None:
            return totals[0]
        return totals if self.make is tuple else self.make(*totals)

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Element:
        result = self.finish(self.combine(*(each.value() for each in sums)))
        expect_declared(self.finish, [result])
        return result


def _weights(units: WeightedArguments) -> dict[Arguments, int]:
    """Return the weight of each different value."""
    weights: dict[Arguments, int] = {}
    for arguments, weight in units:
        value = canonical_element(arguments)
        weights[value] = weights.get(value, 0) + weight
    return weights


# Aggregates of the first value in an order: (the values, the first of them).


@dataclass(frozen=True)
class FirstOf(Aggregator):
    """The first argument of the row that comes first by all arguments, each in a direction, in the order `by`.

    min(x) is by x; max(x) by x descending; arg_max(x, y) by y descending and then x; first(x, order) by the order and
    then x. Rows that are equal in all of these have the same x, so the result is determined.
    """

    by: tuple[int, ...] = (0,)
    descending: tuple[bool, ...] = (False,)
    nulls: bool = False
    """Whether rows count in which another argument than the first is None. It comes before all values."""

    name = "first_of"
    empty = NO_RANKING

    def required(self, count: int) -> int:
        return 1 if self.nulls else count

    def added(self, state: Ranking, units: WeightedArguments) -> Ranking:
        order = RankOrder(lambda arguments: tuple(arguments[place] for place in self.by), self.descending, self.name)
        return state.changed(list(_weights(units).items()), 1, order)

    def result(self, state: Ranking) -> Element:
        return state.top[0][0][0] if state.top else None


# Aggregates of all values: the weight of each.


@dataclass(frozen=True)
class OfValues(Aggregator):
    """A state is the weight of each value. A value is present if its weight is positive."""

    empty: ClassVar[AggregateState] = PersistentMap()

    def added(self, state: AggregateState, units: WeightedArguments) -> AggregateState:
        return state.added(_weights(units))

    def result(self, state: AggregateState) -> Element:
        present = [(value, weight) for value, weight in state.to_dict().items() if weight > 0]
        return self.of_values(present) if present else self.of_none

    of_none: ClassVar[Element] = None

    @abstractmethod
    def of_values(self, present: list[tuple[Arguments, int]]) -> Element:
        """Return the result from the arguments that are present, in any order. There is at least one."""


@dataclass(frozen=True)
class CountDistinctOf(OfValues):
    """count_distinct(x, …): the number of different values."""

    name = "count_distinct_of"
    of_none = 0

    def of_values(self, present: list[tuple[Arguments, int]]) -> Element:
        return len(present)


@dataclass(frozen=True)
class DistinctOf(OfValues):
    """sum(x, distinct) and the like: a linear aggregate of the different values, each once."""

    of: Linear

    name = "distinct_of"

    def of_values(self, present: list[tuple[Arguments, int]]) -> Element:
        return self.of.result(self.of.added(self.of.empty, [(value, 1) for value, _ in present]))


@dataclass(frozen=True)
class InOrder(OfValues):
    """An aggregate of values in an order: by the arguments after the first, each in a direction, then by the first."""

    descending: tuple[bool, ...] = ()

    def required(self, count: int) -> int:
        return 1

    def of_values(self, present: list[tuple[Arguments, int]]) -> Element:
        down = (*self.descending, False)
        order = RankOrder(lambda arguments: (*arguments[1:], arguments[0]), down, self.name)
        ranks = sorted((order.rank(value), weight) for value, weight in present)
        return self.of_ordered([(rank.row[0], weight) for rank, weight in ranks])

    @abstractmethod
    def of_ordered(self, values: PresentValues) -> Element:
        """Return the result from the values in order."""


@dataclass(frozen=True)
class CollectOf(InOrder):
    """collect(x, order): all values in order, as a tuple; each once if `distinct`."""

    distinct: bool = False

    name = "collect_of"
    of_none = ()

    def of_ordered(self, values: PresentValues) -> Element:
        return tuple(value for value, weight in values for _ in range(1 if self.distinct else weight))


@dataclass(frozen=True)
class StringAggOf(InOrder):
    """string_agg(x, separator, order): the strings in order, with the separator between them."""

    separator: str = ","
    distinct: bool = False

    name = "string_agg_of"

    def of_ordered(self, values: PresentValues) -> Element:
        return self.separator.join(value for value, weight in values for _ in range(1 if self.distinct else weight))


@dataclass(frozen=True)
class QuantileOf(InOrder):
    """quantile(x, q): the value at q · (n - 1) in the sorted values, exact; between two values, on the line that joins
    them if `continuous`, otherwise the lower one. `places` are those of decimals."""

    at: Fraction = Fraction(1, 2)
    continuous: bool = True
    places: int = PLACES

    name = "quantile_of"

    def of_ordered(self, values: PresentValues) -> Element:
        last = sum(weight for _, weight in values) - 1
        place = self.at * last
        low = _value_at(values, math.floor(place))
        if not self.continuous:
            return low
        return between(low, _value_at(values, math.ceil(place)), place - math.floor(place), self.places)


@dataclass(frozen=True)
class PercentileOf(InOrder):
    """percentile(x, q) of Spark SQL: the value at q · (n - 1) in the sorted floats, computed with floats as Spark does.
    If `downwards`, the largest value is the first. If it `weighs_ends`, the two values around that place are multiplied
    by their weights and added, as in Spark before 4.3; else a share of their difference is added to the first. If it is
    `discrete`, it is the first value such that a share of at least q of the values is not after it."""

    at: float = 0.5
    downwards: bool = False
    weighs_ends: bool = False
    discrete: bool = False

    name = "percentile_of"

    def of_ordered(self, values: PresentValues) -> Element:
        last = sum(weight for _, weight in values) - 1
        place = max(math.ceil((last + 1) * self.at) - 1, 0) if self.discrete else last * self.at
        low, high = math.floor(place), math.ceil(place)
        one, other = (_value_at(values, last - each if self.downwards else each) for each in (low, high))
        if low == high or one == other:
            return one
        return interpolated(one, other, place - low, high - place, self.weighs_ends)


def interpolated(one: Element, other: Element, after: Element, before: Element, weighs_ends: bool) -> Element:
    """The value `after` one and `before` the other, which are one place apart."""
    return before * one + after * other if weighs_ends else one + after * (other - one)


def _value_at(values: PresentValues, place: int) -> Element:
    for value, weight in values:
        if place < weight:
            return value
        place -= weight
    raise IndexError(place)


def between(low: Element, high: Element, part: Fraction, places: int = PLACES) -> Element:
    """Return low + part · (high - low), rounded once; a float, or a Decimal between decimals."""
    if isinstance(low, Decimal):
        if not (low.is_finite() and high.is_finite()):
            return low if part == 0 or low == high else Decimal("NaN")
        total = part.denominator * Fraction(low) + part.numerator * (Fraction(high) - Fraction(low))
        return divided_decimal(total, part.denominator, places)
    if part == 0 or low == high:
        return float(low)
    if not (math.isfinite(low) and math.isfinite(high)):
        return float(low + (high - low) * 0.5)
    return to_float(Fraction(low) + part * (Fraction(high) - Fraction(low)))


@dataclass(frozen=True)
class ModeOf(OfValues):
    """mode(x): the most frequent value; of several, the least, or the greatest."""

    greatest: bool = False

    name = "mode_of"

    def of_values(self, present: list[tuple[Arguments, int]]) -> Element:
        most = max(weight for _, weight in present)
        candidates = [value[0] for value, weight in present if weight == most]
        return (max if self.greatest else min)(candidates, key=comparable)

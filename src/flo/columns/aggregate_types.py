"""Aggregates of columns, with the types of their results: both follow from the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Optional, get_args

import narwhals as nw

from flo.columns.cell import fields_of
from flo.columns.expression import Expression
from flo.columns.function_types import Declared, result_type
from flo.columns.known_types import Unclear, has_own_order, is_fixed_tuple, is_orderable
from flo.columns.layout import Layout
from flo.columns.row_types import row_type
from flo.core.elements import returned_type
from flo.core.errors import brief
from flo.core.type_names import type_name
from flo.core.type_relations import accepts, positional_parameters, without_none
from flo.core.untyped import TypeForm
from flo.values.exact import digits_of, mean_places, mean_type, plain_type, sum_type
from flo.values.operators import group_aggregates as on_values
from flo.values.operators import moments

NUMBERS = (int, float, bool, Decimal)


@dataclass(frozen=True)
class Kind:
    """The type of an argument, without None, and whether it may be None."""

    plain: Any
    nullable: bool

    @classmethod
    def of(cls, kind: TypeForm) -> Kind:
        nullable, plain = without_none(kind)
        return cls(plain, nullable and kind is not Any)


@dataclass(frozen=True)
class TypedAggregate:
    """An aggregator, and the type of its results."""

    aggregator: on_values.Aggregator
    kind: TypeForm


@dataclass(frozen=True)
class AggregateCall:
    """What an aggregate gets: its options, the types of its arguments, and the directions of its order."""

    options: tuple[Any, ...]
    kinds: tuple[Kind, ...]
    directions: tuple[bool, ...]

    @property
    def plain(self) -> Any:
        """The type of the first argument, without None."""
        return self.kinds[0].plain

    def made(self, aggregator: on_values.Aggregator, kind: TypeForm) -> TypedAggregate:
        """Return an aggregate whose result is None if the first argument always is."""
        return TypedAggregate(aggregator, or_none(kind, self.kinds[0].nullable))


MakeAggregate = Callable[[AggregateCall], TypedAggregate]


def aggregate_of(
    name: str, options: tuple[object, ...], kinds: tuple[object, ...], directions: tuple[bool, ...]
) -> TypedAggregate:
    """Return the aggregate of this name. Raises TypeError if it does not take arguments of these types."""
    return AGGREGATES[name](AggregateCall(options, tuple(map(Kind.of, kinds)), directions))


def or_none(kind: TypeForm, nullable: bool = True) -> Any:
    return Optional[kind] if nullable and kind is not Any else kind  # noqa: UP045


def _any_null(kinds: tuple[Kind, ...]) -> bool:
    return any(kind.nullable for kind in kinds)


def _expect(wanted: str, kinds: tuple[Kind, ...], *classes: type) -> None:
    for kind in kinds:
        if kind.plain is not Any and plain_type(kind.plain) not in classes:
            raise TypeError(f"it must get {wanted}; got {type_name(kind.plain)}")


def _expect_numbers(kinds: tuple[Kind, ...]) -> None:
    _expect("numbers", kinds, *NUMBERS, Fraction)


def _expect_order(kinds: tuple[Kind, ...]) -> None:
    for kind in kinds:
        if kind.plain is not Any and not (is_orderable(kind.plain) or has_own_order(kind.plain)):
            raise TypeError(f"it must get values that have an order; {type_name(kind.plain)} has none")


def _sum(call: AggregateCall) -> TypedAggregate:
    _expect_numbers(call.kinds)
    return call.made(on_values.SumOf(), sum_type(call.plain))


def _avg(call: AggregateCall) -> TypedAggregate:
    _expect_numbers(call.kinds)
    return call.made(on_values.AverageOf(mean_places(call.plain)), mean_type(call.plain))


def _moments(aggregator: moments.Moments, call: AggregateCall, *, sample: bool = False) -> TypedAggregate:
    _expect_numbers(call.kinds)
    return TypedAggregate(aggregator, or_none(float, sample or _any_null(call.kinds)))


def _linear_of(make: MakeAggregate, call: AggregateCall) -> TypedAggregate:
    """Return a linear aggregate, of the different values if its option says so."""
    aggregate = make(call)
    if not any(call.options):
        return aggregate
    assert isinstance(aggregate.aggregator, on_values.Linear)
    return TypedAggregate(on_values.DistinctOf(aggregate.aggregator), aggregate.kind)


def _bool(aggregator: on_values.Aggregator, call: AggregateCall) -> TypedAggregate:
    _expect("bools", call.kinds, bool)
    return call.made(aggregator, bool)


def _bitwise(how: str, call: AggregateCall) -> TypedAggregate:
    _expect("integers", call.kinds, int)
    return call.made(on_values.Bitwise(how, *call.options), call.plain)


def _extreme(by: tuple[int, ...], descending: tuple[bool, ...], call: AggregateCall) -> TypedAggregate:
    _expect_order((call.kinds[by[0]],))
    return TypedAggregate(on_values.FirstOf(by, descending), or_none(call.plain, _any_null(call.kinds)))


def _first(call: AggregateCall, *, last: bool = False) -> TypedAggregate:
    by = (*range(1, len(call.kinds)), 0)
    down = tuple(each != last for each in (*call.directions, False))
    return call.made(on_values.FirstOf(by, down, True), call.plain)


def _collect(call: AggregateCall) -> TypedAggregate:
    _expect_order(() if call.directions else call.kinds)
    kind: Any = tuple[call.plain, ...]  # type: ignore[name-defined]
    return TypedAggregate(on_values.CollectOf(call.directions, *call.options), kind)


def _string_agg(call: AggregateCall) -> TypedAggregate:
    _expect("strings", call.kinds[:1], str)
    return call.made(on_values.StringAggOf(call.directions, *call.options), str)


def _quantile(call: AggregateCall) -> TypedAggregate:
    at, interpolation = call.options or (Fraction(1, 2), "linear")
    at = Fraction(str(at)) if isinstance(at, float) else Fraction(at)  # 0.1 means a tenth
    if interpolation == "lower":
        _expect_order(call.kinds)
        return call.made(on_values.QuantileOf((), at, False), call.plain)
    _expect_numbers(call.kinds)
    places = max(mean_places(call.plain), getattr(digits_of(call.plain), "scale", 0))
    return call.made(on_values.QuantileOf((), at, True, places), mean_type(call.plain))


def _percentile(call: AggregateCall) -> TypedAggregate:
    _expect("floats", call.kinds[:1], float)
    return call.made(on_values.PercentileOf((), *call.options), float)


def _linear(call: AggregateCall) -> TypedAggregate:
    finish, names = call.options
    given = tuple(kind.plain for kind in call.kinds)
    make: Any = None
    totals: Any = sum_type(given[0]) if given else Any
    if names is None and (fields := fields_of(given[0])):
        given, make, totals = tuple(fields.values()), given[0], given[0]
    elif names is None and is_fixed_tuple(given[0]):
        given, names = get_args(given[0]), ()
    if names == ():
        make, totals = tuple, tuple[tuple(map(sum_type, given))]  # type: ignore[misc]
    elif names:
        make = totals = row_type({name: sum_type(kind) for name, kind in zip(names, given, strict=True)})
    if not given:
        raise TypeError("it must get at least one number")
    _expect("numbers", tuple(Kind(kind, False) for kind in given), *NUMBERS, Fraction)
    finish, kind = _finishing(finish, totals)
    return TypedAggregate(on_values.LinearOf(finish, make), or_none(kind, _any_null(call.kinds)))


def _finishing(finish: object, totals: object) -> tuple[Any, Any]:
    """Return the function of the totals, and its type, which is annotated or derived."""
    if isinstance(finish, (str, nw.Expr)):
        layout = Layout.of(totals)
        if layout is None:
            raise TypeError(f"totals of type {type_name(totals)} have no columns")
        expression = Expression(finish, (layout,))
        return expression, expression.kind
    if not callable(finish):
        raise TypeError(f"`finish` must be a function or an expression; got {brief(finish)}")
    (expected,) = positional_parameters(finish, 1)
    if expected is not None and not accepts(expected.kind, totals):
        parts = tuple(map(plain_type, get_args(totals)))
        got: Any = tuple[parts] if is_fixed_tuple(totals) else plain_type(totals)  # type: ignore[valid-type]
        wanted = type_name(expected.kind)
        raise TypeError(f"`finish` gets the totals: expected {wanted} as `{expected.name}`, got {type_name(got)}")
    try:
        kind = result_type(finish, (totals,))
    except Unclear as why:
        raise TypeError(f"the return type of `finish` is unknown, because {why}; annotate it") from None
    return (finish if returned_type(finish) is not Any else Declared(finish, kind)), kind


AGGREGATES: dict[str, MakeAggregate] = {
    "linear": _linear,
    "count": lambda call: TypedAggregate(on_values.CountRows(), int),
    "sum": partial(_linear_of, _sum),
    "avg": partial(_linear_of, _avg),
    "var_samp": partial(_linear_of, partial(_moments, moments.Variance(1, False), sample=True)),
    "var_pop": partial(_linear_of, partial(_moments, moments.Variance(0, False))),
    "stddev_samp": partial(_linear_of, partial(_moments, moments.Variance(1, True), sample=True)),
    "stddev_pop": partial(_linear_of, partial(_moments, moments.Variance(0, True))),
    "covar_samp": partial(_linear_of, partial(_moments, moments.Covariance(1), sample=True)),
    "covar_pop": partial(_linear_of, partial(_moments, moments.Covariance(0))),
    "corr": partial(_linear_of, partial(_moments, moments.Correlation())),
    "bool_and": partial(_bool, on_values.AllTrue()),
    "bool_or": partial(_bool, on_values.AnyTrue()),
    "bit_and": partial(_bitwise, "and"),
    "bit_or": partial(_bitwise, "or"),
    "bit_xor": partial(_bitwise, "xor"),
    "min": partial(_extreme, (0,), (False,)),
    "max": partial(_extreme, (0,), (True,)),
    "arg_min": partial(_extreme, (1, 0), (False, False)),
    "arg_max": partial(_extreme, (1, 0), (True, False)),
    "first": _first,
    "last": partial(_first, last=True),
    "count_distinct": lambda call: TypedAggregate(on_values.CountDistinctOf(), int),
    "collect": _collect,
    "string_agg": _string_agg,
    "quantile": _quantile,
    "median": _quantile,
    "percentile": _percentile,
    "mode": lambda call: call.made(on_values.ModeOf(*call.options), call.plain),
}

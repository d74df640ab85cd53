"""Aggregates of columns, with the types of their results: both follow from the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Optional, Union, get_args, get_origin

import narwhals as nw

from flo.columns.cell import fields_of
from flo.columns.expression import Expression
from flo.columns.function_types import Declared, result_type
from flo.columns.known_types import Unclear, describe_type, has_own_order, is_fixed_tuple, is_orderable
from flo.columns.layout import Layout
from flo.columns.row_types import row_type
from flo.core.elements import returned_type
from flo.core.errors import brief
from flo.core.type_relations import accepts, positional_parameters
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
        if get_origin(kind) in (Union, UnionType):
            parts = [part for part in get_args(kind) if part is not NoneType]
            return cls(Union[tuple(parts)], len(parts) < len(get_args(kind)))  # noqa: UP007
        return cls(kind, kind in (None, NoneType))


@dataclass(frozen=True)
class TypedAggregate:
    """An aggregator, and the type of its results."""

    aggregator: on_values.Aggregator
    kind: TypeForm


MakeAggregate = Callable[[tuple[Any, ...], tuple[Kind, ...], tuple[bool, ...]], TypedAggregate]
"""Makes an aggregate from its options, the types of its arguments and the directions of its order."""


def aggregate_of(
    name: str, options: tuple[object, ...], kinds: tuple[object, ...], directions: tuple[bool, ...]
) -> TypedAggregate:
    """Return the aggregate of this name. Raises TypeError if it does not take arguments of these types."""
    return AGGREGATES[name](options, tuple(map(Kind.of, kinds)), directions)


def or_none(kind: TypeForm, nullable: bool = True) -> Any:
    return Optional[kind] if nullable and kind is not Any else kind  # noqa: UP045


def _any_null(kinds: tuple[Kind, ...]) -> bool:
    return any(kind.nullable for kind in kinds)


def _expect(wanted: str, kinds: tuple[Kind, ...], *classes: type) -> None:
    for kind in kinds:
        if kind.plain is not Any and plain_type(kind.plain) not in classes:
            raise TypeError(f"it must get {wanted}; got {describe_type(kind.plain)}")


def _expect_numbers(kinds: tuple[Kind, ...]) -> None:
    _expect("numbers", kinds, *NUMBERS, Fraction)


def _expect_order(kinds: tuple[Kind, ...]) -> None:
    for kind in kinds:
        if kind.plain is not Any and not (is_orderable(kind.plain) or has_own_order(kind.plain)):
            raise TypeError(f"it must get values that have an order; {describe_type(kind.plain)} has none")


def _count(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    return TypedAggregate(on_values.CountRows(), int)


def _sum(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    _expect_numbers(kinds)
    return TypedAggregate(on_values.SumOf(), or_none(sum_type(kinds[0].plain), kinds[0].nullable))


def _sum_distinct(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    return TypedAggregate(on_values.SumDistinctOf(), _sum(options, kinds, directions).kind)


def _avg(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    _expect_numbers(kinds)
    plain = kinds[0].plain
    return TypedAggregate(on_values.AverageOf(mean_places(plain)), or_none(mean_type(plain), kinds[0].nullable))


def _moments(aggregator: moments.Moments, *, sample: bool) -> MakeAggregate:
    def make(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
        _expect_numbers(kinds)
        return TypedAggregate(aggregator, or_none(float, sample or _any_null(kinds)))

    return make


def _bool(aggregator: on_values.Aggregator) -> MakeAggregate:
    def make(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
        _expect("bools", kinds, bool)
        return TypedAggregate(aggregator, or_none(bool, kinds[0].nullable))

    return make


def _bitwise(how: str) -> MakeAggregate:
    def make(options: tuple[Any, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
        _expect("integers", kinds, int)
        return TypedAggregate(on_values.Bitwise(how, *options), or_none(kinds[0].plain, kinds[0].nullable))

    return make


def _extreme(by: tuple[int, ...], descending: tuple[bool, ...]) -> MakeAggregate:
    aggregator = on_values.FirstOf(by, descending)

    def make(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
        _expect_order((kinds[by[0]],))
        return TypedAggregate(aggregator, or_none(kinds[0].plain, _any_null(kinds)))

    return make


def _first(*, last: bool) -> MakeAggregate:
    def make(options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
        by = (*range(1, len(kinds)), 0)
        down = tuple(each != last for each in (*directions, False))
        return TypedAggregate(on_values.FirstOf(by, down, True), or_none(kinds[0].plain, kinds[0].nullable))

    return make


def _count_distinct(
    options: tuple[object, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]
) -> TypedAggregate:
    return TypedAggregate(on_values.CountDistinctOf(), int)


def _collect(options: tuple[Any, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    _expect_order(kinds[:0] if directions else kinds)
    return TypedAggregate(on_values.CollectOf(directions, *options), tuple[kinds[0].plain, ...])  # type: ignore[misc]


def _string_agg(options: tuple[Any, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    _expect("strings", kinds[:1], str)
    return TypedAggregate(on_values.StringAggOf(directions, *options), or_none(str, kinds[0].nullable))


def _quantile(options: tuple[Any, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    at, interpolation = options or (Fraction(1, 2), "linear")
    at = Fraction(str(at)) if isinstance(at, float) else Fraction(at)  # 0.1 means a tenth
    plain, nullable = kinds[0].plain, kinds[0].nullable
    if interpolation == "lower":
        _expect_order(kinds)
        return TypedAggregate(on_values.QuantileOf((), at, False), or_none(plain, nullable))
    _expect_numbers(kinds)
    places = max(mean_places(plain), getattr(digits_of(plain), "scale", 0))
    return TypedAggregate(on_values.QuantileOf((), at, True, places), or_none(mean_type(plain), nullable))


def _percentile(options: tuple[Any, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    _expect("floats", kinds[:1], float)
    return TypedAggregate(on_values.PercentileOf((), *options), or_none(float, kinds[0].nullable))


def _mode(options: tuple[Any, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    return TypedAggregate(on_values.ModeOf(*options), or_none(kinds[0].plain, kinds[0].nullable))


def _linear(options: tuple[Any, ...], kinds: tuple[Kind, ...], directions: tuple[bool, ...]) -> TypedAggregate:
    finish, names = options
    given = tuple(kind.plain for kind in kinds)
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
    return TypedAggregate(on_values.LinearOf(finish, make), or_none(kind, _any_null(kinds)))


def _finishing(finish: object, totals: object) -> tuple[Any, Any]:
    """Return the function of the totals, and its type, which is annotated or derived."""
    if isinstance(finish, (str, nw.Expr)):
        layout = Layout.of(totals)
        if layout is None:
            raise TypeError(f"totals of type {describe_type(totals)} have no columns")
        expression = Expression(finish, (layout,))
        return expression, expression.kind
    if not callable(finish):
        raise TypeError(f"`finish` must be a function or an expression; got {brief(finish)}")
    (expected,) = positional_parameters(finish, 1)
    if expected is not None and not accepts(expected.kind, totals):
        parts = tuple(map(plain_type, get_args(totals)))
        got: Any = tuple[parts] if is_fixed_tuple(totals) else plain_type(totals)  # type: ignore[valid-type]
        wanted = describe_type(expected.kind)
        raise TypeError(f"`finish` gets the totals: expected {wanted} as `{expected.name}`, got {describe_type(got)}")
    try:
        kind = result_type(finish, (totals,))
    except Unclear as why:
        raise TypeError(f"the return type of `finish` is unknown, because {why}; annotate it") from None
    return (finish if returned_type(finish) is not Any else Declared(finish, kind)), kind


AGGREGATES: dict[str, MakeAggregate] = {
    "linear": _linear,
    "count": _count,
    "sum": _sum,
    "sum_distinct": _sum_distinct,
    "avg": _avg,
    "var_samp": _moments(moments.Variance(1, False), sample=True),
    "var_pop": _moments(moments.Variance(0, False), sample=False),
    "stddev_samp": _moments(moments.Variance(1, True), sample=True),
    "stddev_pop": _moments(moments.Variance(0, True), sample=False),
    "covar_samp": _moments(moments.Covariance(1), sample=True),
    "covar_pop": _moments(moments.Covariance(0), sample=False),
    "corr": _moments(moments.Correlation(), sample=False),
    "bool_and": _bool(on_values.AllTrue()),
    "bool_or": _bool(on_values.AnyTrue()),
    "bit_and": _bitwise("and"),
    "bit_or": _bitwise("or"),
    "bit_xor": _bitwise("xor"),
    "min": _extreme((0,), (False,)),
    "max": _extreme((0,), (True,)),
    "arg_min": _extreme((1, 0), (False, False)),
    "arg_max": _extreme((1, 0), (True, False)),
    "first": _first(last=False),
    "last": _first(last=True),
    "count_distinct": _count_distinct,
    "collect": _collect,
    "string_agg": _string_agg,
    "quantile": _quantile,
    "median": _quantile,
    "percentile": _percentile,
    "mode": _mode,
}

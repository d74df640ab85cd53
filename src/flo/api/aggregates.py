"""Aggregates of columns: `flo.count()`, `flo.sum("price")` and so on, for `group_by(…).agg(…)`, `agg(…)` and `over(…)`.

An argument is a column name, a Narwhals expression, or a function of rows. Aggregates skip nulls; of no values they are
null, except counts, which are 0, and `collect`, which is empty. `where=` restricts an aggregate to some rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from flo.core.errors import HasVerbs, TypeMismatch, UnknownVerbError, brief
from flo.core.explained_calls import explain_functions, name_keywords
from flo.core.labels import label

if TYPE_CHECKING:
    from flo.api.columns import AnyColumn
    from flo.api.ordering import OrderBy

RowCondition: TypeAlias = "AnyColumn | None"
"""Which rows an aggregate takes; None for all."""
RowFrame: TypeAlias = tuple[int | None, int | None] | None
"""The rows that a window function looks at: from and to, counted from the current one; None is unbounded."""
RangeFrame: TypeAlias = tuple[Any, Any] | None
"""The same, as distances in the order of the rows."""


class Restriction(TypedDict, total=False):
    """The rows that an aggregate takes: those for which `where` holds; with `over`, of a frame."""

    where: RowCondition
    rows: RowFrame
    range: RangeFrame


@dataclass(frozen=True)
class AggregateSpec(HasVerbs):
    """An aggregate, as the user wrote it."""

    kind: str
    arguments: tuple[AnyColumn, ...] = ()
    where: RowCondition = None
    options: tuple[Any, ...] = ()
    order_by: OrderBy | None = None
    rows: RowFrame = None
    range: RangeFrame = None

    def __repr__(self) -> str:
        parts = [shown_argument(argument) for argument in self.arguments]
        options = self.options[:1] if self.kind == "linear" else self.options
        parts += [_shown_option(option) for option in options if not _is_default(option)]
        for name in ("where", "order_by", "rows", "range"):
            if (given := getattr(self, name)) is not None:
                parts.append(f"{name}={shown_argument(given)}")
        return f"flo.{self.kind}({', '.join(parts)})"

    def _unknown(self, verb: str) -> UnknownVerbError:
        over = f"over(partition_by=…, order_by=…).with_columns(name={self!r})"
        return UnknownVerbError(
            f"`{self!r}` has no `{verb}`",
            instead=((over, "a window") if verb == "over" else (f"agg(name={self!r})", "the name is a keyword"),),
        )

    def described(self) -> str:
        """Return the aggregate for `explain`: `sum(price, where=qty > 2)`."""
        parts = [_named(argument) for argument in self.arguments]
        parts += [_shown_option(option) for option in self.options if not _is_default(option)]
        parts += [] if self.order_by is None else [f"order_by={_named(self.order_by)}"]
        parts += [] if self.where is None else [f"where={_named(self.where)}"]
        return f"{self.kind}({', '.join(parts)})"


def _is_default(option: object) -> bool:
    return option is None or option is False or (isinstance(option, tuple) and not option)


def _shown_option(option: object) -> str:
    return "distinct=True" if option is True else shown_argument(option)


def _named(given: object) -> str:
    return given if isinstance(given, str) else shown_argument(given)


def shown_argument(given: object) -> str:
    """Return an argument as the user wrote it."""
    if hasattr(given, "_nodes"):
        from flo.columns.readable import readable

        return readable(given)
    return label(given) if callable(given) else repr(given)


def _once(kind: str, distinct: object) -> tuple[bool, ...]:
    """Return the options of an aggregate of all values, or of the different ones."""
    if not isinstance(distinct, bool):
        raise TypeMismatch(f"`distinct` of `{kind}` must be True or False; got {brief(distinct)}").at_users_line()
    return (True,) if distinct else ()


def count(of: AnyColumn | None = None, **only: Unpack[Restriction]) -> AggregateSpec:
    """Count rows, or with a column those in which it is not null."""
    return AggregateSpec("count", () if of is None else (of,), **only)


def sum(of: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Add numbers, or the `distinct` ones once. Integers do not overflow, and floats are rounded once, so the order has
    no effect."""
    return AggregateSpec("sum", (of,), options=_once("sum", distinct), **only)


def avg(of: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the mean, or that of the `distinct` values: a float, or a decimal for decimals."""
    return AggregateSpec("avg", (of,), options=_once("avg", distinct), **only)


def min(of: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the least value. NaN is the greatest number."""
    return AggregateSpec("min", (of,), **only)


def max(of: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the greatest value. NaN is the greatest number."""
    return AggregateSpec("max", (of,), **only)


def count_distinct(*of: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Count the different values of a column, or of several columns together, without nulls."""
    if not of:
        raise TypeMismatch(
            "`count_distinct` must get at least one column",
            instead=(('flo.count_distinct("x")', "the different values"), ("flo.count()", "the number of rows")),
        ).at_users_line()
    return AggregateSpec("count_distinct", of, **only)


def var_samp(of: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the variance of a sample; null for fewer than two values."""
    return AggregateSpec("var_samp", (of,), options=_once("var_samp", distinct), **only)


def var_pop(of: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the variance of a population."""
    return AggregateSpec("var_pop", (of,), options=_once("var_pop", distinct), **only)


def stddev_samp(of: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the standard deviation of a sample; null for fewer than two values."""
    return AggregateSpec("stddev_samp", (of,), options=_once("stddev_samp", distinct), **only)


def stddev_pop(of: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the standard deviation of a population."""
    return AggregateSpec("stddev_pop", (of,), options=_once("stddev_pop", distinct), **only)


def covar_samp(
    of: AnyColumn, other: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]
) -> AggregateSpec:
    """Return the covariance of two columns as a sample; null for fewer than two pairs without nulls."""
    return AggregateSpec("covar_samp", (of, other), options=_once("covar_samp", distinct), **only)


def covar_pop(of: AnyColumn, other: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the covariance of two columns as a population."""
    return AggregateSpec("covar_pop", (of, other), options=_once("covar_pop", distinct), **only)


def corr(of: AnyColumn, other: AnyColumn, *, distinct: bool = False, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return Pearson's correlation of two columns; NaN if one of them does not vary."""
    return AggregateSpec("corr", (of, other), options=_once("corr", distinct), **only)


def bool_and(of: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return whether all values are true."""
    return AggregateSpec("bool_and", (of,), **only)


def bool_or(of: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return whether a value is true."""
    return AggregateSpec("bool_or", (of,), **only)


def arg_min(of: AnyColumn, by: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the value of `of` in the row with the least `by`; of several such rows, the least. Rows in which one of
    them is null are skipped."""
    return AggregateSpec("arg_min", (of, by), **only)


def arg_max(of: AnyColumn, by: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the value of `of` in the row with the greatest `by`; of several such rows, the least. Rows in which one of
    them is null are skipped."""
    return AggregateSpec("arg_max", (of, by), **only)


def first(of: AnyColumn, *, order_by: OrderBy | None = None, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the first value of an order that is not null; of rows that are equal in the order, the least value. In a
    frame of `over`, rows have its order, and equal ones that of the whole row."""
    return AggregateSpec("first", (of,), order_by=order_by, **only)


def last(of: AnyColumn, *, order_by: OrderBy | None = None, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the last value of an order that is not null; of rows that are equal in the order, the greatest value. In a
    frame of `over`, rows have its order, and equal ones that of the whole row."""
    return AggregateSpec("last", (of,), order_by=order_by, **only)


def collect(
    of: AnyColumn, *, order_by: OrderBy | None = None, distinct: bool = False, **only: Unpack[Restriction]
) -> AggregateSpec:
    """Return all values without nulls, as a list: in an order, and where rows are equal in it, in that of the values;
    `distinct` ones once."""
    return AggregateSpec("collect", (of,), options=(distinct,), order_by=order_by, **only)


def string_agg(
    of: AnyColumn,
    separator: str = ",",
    *,
    order_by: OrderBy | None = None,
    distinct: bool = False,
    **only: Unpack[Restriction],
) -> AggregateSpec:
    """Join strings with a separator: in an order, or else in that of the strings; `distinct` ones once."""
    if not isinstance(separator, str):
        raise TypeMismatch(f"the separator of `string_agg` must be a string; got {brief(separator)}").at_users_line()
    return AggregateSpec("string_agg", (of,), options=(separator, distinct), order_by=order_by, **only)


def quantile(of: AnyColumn, at: float, *, interpolation: str = "linear", **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the exact quantile, for `at` from 0 to 1. Between two values it is on the line that joins them, or with
    `interpolation="lower"` the lower one."""
    if not isinstance(at, (int, float, Fraction)) or not 0 <= at <= 1:
        raise TypeMismatch(f"`at` of `quantile` must be a number from 0 to 1; got {brief(at)}").at_users_line()
    if interpolation not in ("linear", "lower"):
        raise TypeMismatch(
            f'`interpolation` of `quantile` must be "linear" or "lower"; got {brief(interpolation)}'
        ).at_users_line()
    return AggregateSpec("quantile", (of,), options=(at, interpolation), **only)


def median(of: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the exact median: the mean of the middle two values if their number is even."""
    return AggregateSpec("median", (of,), **only)


def mode(of: AnyColumn, **only: Unpack[Restriction]) -> AggregateSpec:
    """Return the most frequent value; of several, the least."""
    return AggregateSpec("mode", (of,), **only)


def linear(
    of: AnyColumn | list[AnyColumn] | Mapping[str, AnyColumn], finish: AnyColumn, **only: Unpack[Restriction]
) -> AggregateSpec:
    """Return finish(totals) of an aggregate of your own.

    `of` gives numbers for each row, which are added, and subtracted when the row is retracted: a column or function, a
    tuple of these, a dict of these, or a function that returns a tuple. `finish` gets the totals in the same shape; it
    is a function, or an expression of them. Rows in which a number is null are skipped.
    """
    if isinstance(of, Mapping):
        return AggregateSpec("linear", tuple(of.values()), options=(finish, tuple(of)), **only)
    if isinstance(of, (tuple, list)):
        return AggregateSpec("linear", tuple(of), options=(finish, ()), **only)
    return AggregateSpec("linear", (of,), options=(finish, None), **only)


def grouping_id() -> AggregateSpec:
    """Return which columns of a `rollup`, `cube` or `grouping_sets` a row sums over: the bit of a column is 1 if it is
    left out, the last column being the lowest bit."""
    return AggregateSpec("grouping_id")


AGGREGATES = frozenset(
    name for name, each in globals().items() if getattr(each, "__annotations__", {}).get("return") == "AggregateSpec"
)
"""The names of all aggregates."""
for _name in AGGREGATES:
    name_keywords(globals()[_name], Restriction)
explain_functions(globals())

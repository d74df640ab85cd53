"""Window functions by name: `flo.rank()`, `flo.lag("price")`, for `over(…).with_columns(…)`.

Aggregates of a frame are in aggregates.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flo.core.errors import HasVerbs, TypeMismatch, UnknownVerbError, brief
from flo.core.explained_calls import explain_functions

if TYPE_CHECKING:
    from flo.api.aggregates import RangeFrame, RowFrame
    from flo.api.columns import AnyColumn


@dataclass(frozen=True)
class WindowSpec(HasVerbs):
    """A window function: its kind, the column or expression it reads, its options and its frame."""

    kind: str
    of: AnyColumn | None = None
    options: tuple[Any, ...] = ()
    rows: RowFrame = None
    range: RangeFrame = None

    def __repr__(self) -> str:
        given = [*(() if self.of is None else (self.of,)), *(each for each in self.options if each is not None)]
        return f"flo.{self.kind}({', '.join(map(repr, given))})"

    def _unknown(self, verb: str) -> UnknownVerbError:
        return UnknownVerbError(
            f"`flo.{self.kind}(…)` has no `{verb}`",
            instead=((f"over(partition_by=…, order_by=…).with_columns(name=flo.{self.kind}(…))", "a window"),),
        )


def row_number() -> WindowSpec:
    """Number the rows from 1. Rows that are equal in the order are numbered by the whole row."""
    return WindowSpec("row_number")


def rank() -> WindowSpec:
    """Number the rows from 1; equal rows have one number, and leave a gap: 1, 1, 3."""
    return WindowSpec("rank")


def dense_rank() -> WindowSpec:
    """Number the rows from 1; equal rows have one number, and leave no gap: 1, 1, 2."""
    return WindowSpec("dense_rank")


def percent_rank() -> WindowSpec:
    """Return (rank - 1) / (rows - 1); 0.0 if there is one row."""
    return WindowSpec("percent_rank")


def cume_dist() -> WindowSpec:
    """Return the share of rows that come before a row or are equal to it."""
    return WindowSpec("cume_dist")


def ntile(buckets: int) -> WindowSpec:
    """Divide the rows into buckets of nearly one size, numbered from 1; the first ones are the larger ones."""
    return WindowSpec("ntile", None, (expect_count("ntile", "buckets", buckets, 1),))


def lag(of: AnyColumn, distance: int = 1, default: object = None) -> WindowSpec:
    """Return the value of the row so far before; the default if there is none. Nulls are not skipped."""
    return WindowSpec("lag", of, (expect_count("lag", "distance", distance, 0), default))


def lead(of: AnyColumn, distance: int = 1, default: object = None) -> WindowSpec:
    """Return the value of the row so far behind; the default if there is none. Nulls are not skipped."""
    return WindowSpec("lead", of, (expect_count("lead", "distance", distance, 0), default))


def first_value(of: AnyColumn, *, rows: RowFrame = None, range: RangeFrame = None) -> WindowSpec:
    """Return the value of the first row of the frame, null or not."""
    return WindowSpec("first_value", of, (), rows, range)


def last_value(of: AnyColumn, *, rows: RowFrame = None, range: RangeFrame = None) -> WindowSpec:
    """Return the value of the last row of the frame, null or not."""
    return WindowSpec("last_value", of, (), rows, range)


def nth_value(of: AnyColumn, n: int, *, rows: RowFrame = None, range: RangeFrame = None) -> WindowSpec:
    """Return the value of the n-th row of the frame, null or not; null if the frame has fewer rows."""
    return WindowSpec("nth_value", of, (expect_count("nth_value", "n", n, 1),), rows, range)


def expect_count(function: str, parameter: str, given: object, least: int) -> int:
    """Return an integer. Raises unless it is one, and not below the least."""
    if type(given) is not int or given < least:
        raise TypeMismatch(
            f"`{parameter}` of `{function}` must be an integer ≥ {least}; got {brief(given)}"
        ).at_users_line()
    return given


explain_functions(globals())

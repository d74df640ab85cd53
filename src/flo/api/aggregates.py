"""Aggregates by name: `flo.sum("price")`, for `over(…).with_columns(…)` and wherever several are computed at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AggregateSpec:
    """An aggregate: its kind, the column or expression it reads, which rows it reads, its options and its frame."""

    kind: str
    of: Any = None
    where: Any = None
    options: tuple[Any, ...] = ()
    rows: Any = None
    range: Any = None


def count(of: Any = None, *, where: Any = None, rows: Any = None, range: Any = None) -> AggregateSpec:
    """Count rows, or the values of a column or an expression that are not null."""
    return AggregateSpec("count", of, where, (), rows, range)


def sum(of: Any, *, where: Any = None, rows: Any = None, range: Any = None) -> AggregateSpec:
    """Add the values that are not null, exactly; null if there are none."""
    return AggregateSpec("sum", of, where, (), rows, range)


def avg(of: Any, *, where: Any = None, rows: Any = None, range: Any = None) -> AggregateSpec:
    """Return the mean of the values that are not null; null if there are none."""
    return AggregateSpec("avg", of, where, (), rows, range)


def min(of: Any, *, where: Any = None, rows: Any = None, range: Any = None) -> AggregateSpec:
    """Return the least value that is not null; null if there is none."""
    return AggregateSpec("min", of, where, (), rows, range)


def max(of: Any, *, where: Any = None, rows: Any = None, range: Any = None) -> AggregateSpec:
    """Return the greatest value that is not null; null if there is none."""
    return AggregateSpec("max", of, where, (), rows, range)


def first(of: Any, *, where: Any = None, rows: Any = None, range: Any = None) -> AggregateSpec:
    """Return the first value that is not null; null if there is none."""
    return AggregateSpec("first", of, where, (), rows, range)


def last(of: Any, *, where: Any = None, rows: Any = None, range: Any = None) -> AggregateSpec:
    """Return the last value that is not null; null if there is none."""
    return AggregateSpec("last", of, where, (), rows, range)

"""Expressions that verbs build themselves, from columns that the user gives as names or expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals.selectors import Selector

from flo.columns.evaluation import nodes_of, output_name
from flo.columns.node_functions import COMPARISONS


def column(given: str | nw.Expr) -> nw.Expr:
    """Return a column as an expression."""
    return nw.col(given) if isinstance(given, str) else given


def literal(value: Any) -> nw.Expr:
    """Return the same value in every row."""
    return nw.lit(value)


def if_else(condition: nw.Expr, one: Any, other: Any) -> nw.Expr:
    """Return one column where a condition holds, and another one elsewhere."""
    return nw.when(condition).then(one).otherwise(other)


def kept_if(keep: bool, given: str | nw.Expr) -> nw.Expr:
    """Return a column, or nulls of its type."""
    return nw.when(nw.lit(keep)).then(column(given))


def all_there(columns: Iterable[str | nw.Expr]) -> nw.Expr:
    """Return a condition: none of the columns is null."""
    first, *others = (~column(each).is_null() for each in columns)
    for each in others:
        first = first & each
    return first


def coalesced(*columns: str | nw.Expr) -> nw.Expr:
    """Return the first of the columns that is not null."""
    return nw.coalesce(*map(column, columns))


SEVERAL = ("ALL", "COL", "EXCLUDE", "NTH", "SELECTOR")
"""The kinds of expressions that may stand for several columns."""
OF_SELECTORS = ("__and__", "__invert__", "__or__", "__sub__")


def one_by_one(given: object, schema: pa.Schema) -> list[Any]:
    """Return an expression of several columns, such as `nw.all()` or a selector, as one expression for each."""
    if not isinstance(given, nw.Expr) or given._nodes[0].kind.name not in SEVERAL:
        return [given]
    first, *more = given._nodes
    if first.kind.name == "COL" and len(first.kwargs["names"]) == 1:
        return [given]
    if isinstance(given, Selector) and more and more[0].name in OF_SELECTORS:
        return [given]
    chosen = nw.from_native(schema.empty_table()).select(type(given)(first)).columns
    return [nw.Expr(*nw.col(name)._nodes, *more) for name in chosen]


def name_of(given: object) -> str | None:
    """Return the name of an expression's result: its alias, or the first column that it reads."""
    return output_name(given) if isinstance(given, nw.Expr) else None


def is_condition(given: object) -> bool:
    """Return whether it is an expression whose outermost operation is a comparison, or combines conditions."""
    last = nodes_of(given)[-1].name if isinstance(given, nw.Expr) else None
    return last in (*COMPARISONS, "__and__", "__or__", "is_between")

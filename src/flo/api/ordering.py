"""The order of rows: columns and expressions, each ascending or descending, with nulls first or last.

`order_by` takes a column, an expression, `asc(…)`, `desc(…)`, or a list of these. Nulls come first in both directions
unless `nulls_last=True`. NaN is the greatest number. Engines order None before anything else; where another place is
asked for, a flag column before the column says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from flo.api.columns import Columns, bind_columns, is_expression, kind_of
from flo.api.scope import AnyBase
from flo.core.errors import TypeMismatch, brief
from flo.core.explained_calls import explain_call
from flo.core.untyped import TypeForm

if TYPE_CHECKING:
    from flo.columns.expression import Expression


@dataclass(frozen=True)
class SortKey:
    """A column or an expression to order by, its direction, and where nulls go. Made by `asc` and `desc`."""

    of: Columns
    descending: bool = False
    nulls_last: bool = False

    def __repr__(self) -> str:
        last = ", nulls_last=True" if self.nulls_last else ""
        return f"{'desc' if self.descending else 'asc'}({self.of!r}{last})"


OrderBy: TypeAlias = "Columns | SortKey | list[Columns | SortKey] | tuple[SortKey, ...]"
"""What rows are ordered by."""


@explain_call()
def asc(of: Columns, *, nulls_last: bool = False) -> SortKey:
    """Order by a column or an expression, the smallest first."""
    return _sort_key("asc", of, descending=False, nulls_last=nulls_last)


@explain_call()
def desc(of: Columns, *, nulls_last: bool = False) -> SortKey:
    """Order by a column or an expression, the largest first."""
    return _sort_key("desc", of, descending=True, nulls_last=nulls_last)


def _sort_key(name: str, of: Columns, *, descending: bool, nulls_last: object) -> SortKey:
    if isinstance(of, tuple) or not is_expression(of):
        raise TypeMismatch(
            f"`{name}` must get one column or expression; got {brief(of)}",
            instead=((f'{name}("price")', "a column"), (f'[{name}("price"), "at"]', "several, in a list")),
        ).at_users_line()
    if not isinstance(nulls_last, bool):
        raise TypeMismatch(f"`nulls_last` of `{name}` must be True or False; got {brief(nulls_last)}").at_users_line()
    return SortKey(of, descending, nulls_last)


def one_or_tuple(given: object) -> Any:
    """Return a list of columns as a tuple; one column alone, and None for none."""
    if not isinstance(given, (list, tuple)):
        return given
    return tuple(given) if len(given) > 1 else given[0] if given else None


class BoundOrder(NamedTuple):
    """An order on the rows of a stream: a tuple of columns, and for each whether it is descending."""

    key: Expression
    directions: tuple[bool, ...]


def bind_order(verb: str, given: object, stream: AnyBase) -> BoundOrder:
    """Return the order as an expression of a tuple on the rows of a stream, and the direction of each column."""
    columns, directions = _columns(verb, sort_keys(verb, given), stream)
    return BoundOrder(bind_columns(verb, "order_by", tuple(columns), (stream,)), tuple(directions))


class TotalOrder(NamedTuple):
    """An order in which different rows have different places: the rest of the row follows the columns asked for."""

    key: Expression
    directions: tuple[bool, ...]
    peers: int
    """How many of the columns were asked for. Rows that are equal in these are peers."""


def bind_total_order(verb: str, given: object, stream: AnyBase) -> TotalOrder:
    """Return the order with its ties broken by the whole row, column by column, the smallest first.

    Columns that Python does not order, such as a set, are left out: rows that differ in nothing else are ordered by
    their text. Without an order, rows are ordered by the whole row, and all are peers.
    """
    keys = [] if given is None else sort_keys(verb, given)
    columns, directions = _columns(verb, keys, stream)
    decided = {column for column in columns if isinstance(column, str)}
    layout = bind_columns(verb, "order_by", columns[0] if columns else _any_column(stream), (stream,)).inputs[0]
    rest = [
        name
        for name, cell in zip(layout.names, layout.cells, strict=True)
        if name not in decided and _has_order(cell.kind)
    ]
    every = (*columns, *rest) or (layout.names[0],)
    down = (*directions, *(False for _ in every[len(directions) :]))
    return TotalOrder(bind_columns(verb, "order_by", every, (stream,)), down, len(columns))


def sort_keys(verb: str, given: object) -> list[SortKey]:
    """Return the sort keys that a user has given, at least one."""
    parts: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
    for part in parts:
        if isinstance(part, tuple) or not (isinstance(part, SortKey) or is_expression(part)):
            raise _not_an_order(verb, part)
    if not parts:
        raise _not_an_order(verb, given)
    return [part if isinstance(part, SortKey) else SortKey(part) for part in parts]


def _not_an_order(verb: str, given: object) -> TypeMismatch:
    return TypeMismatch(
        f"`order_by` of `{verb}` must be columns, expressions, `flo.asc(…)`, `flo.desc(…)` or a list of these; "
        f"got {brief(given)}",
        instead=(('order_by=[flo.desc("price"), "at"]', "the largest price first, then the earliest"),),
    ).at_users_line()


def _columns(verb: str, keys: list[SortKey], stream: AnyBase) -> tuple[list[Columns], list[bool]]:
    """Return the columns of an order with their directions. A flag precedes those whose nulls are not where the
    engines put them: first if ascending, last if descending."""
    columns: list[Columns] = []
    directions: list[bool] = []
    for each in keys:
        bound = bind_columns(verb, "order_by", each.of, (stream,))
        _expect_order(verb, each, bound, stream)
        if each.nulls_last is not each.descending and bound.schema.field(0).nullable:
            columns.append(_is_null(each.of))
            directions.append(not each.nulls_last)
        columns.append(each.of)
        directions.append(each.descending)
    return columns, directions


def _expect_order(verb: str, key: SortKey, bound: Expression, stream: AnyBase) -> None:
    """Raise unless the values of a column have an order."""
    if not _has_order(bound.kind):
        raise TypeMismatch(
            f"`order_by` of `{verb}` must be columns whose values have an order; {key!r} has none",
            facts=(("its type", str(bound.kind)), ("{input}", stream.type.described())),
            instead=(('order_by="…"', "numbers, texts, times, or tuples of these"),),
        ).at_users_line(stream)


def _is_null(of: Columns) -> Any:
    from flo.columns.building import column

    return column(of).is_null()  # type: ignore[arg-type]  # it is one column


def _any_column(stream: AnyBase) -> str:
    from flo.columns.layout import Layout

    layout = Layout.of(kind_of(stream))
    return "value" if layout is None else layout.names[0]


def _has_order(kind: TypeForm) -> bool:
    """Return whether all values of a type have an order, as far as the type says."""
    from flo.columns.known_types import is_orderable

    return is_orderable(kind)

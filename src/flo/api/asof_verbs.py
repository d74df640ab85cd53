"""The verb that joins each row with the nearest row of another z-set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Never

from flo.api.arguments import expect_kind, expect_known_arguments
from flo.api.columns import Perhaps, bind_columns, is_expression, row_layout
from flo.api.joins import combined_names, expect_comparable
from flo.api.scope import AnyBase, StreamBase
from flo.api.type_variables import B2, B, B_co, C_co, T, U
from flo.core.elements import type_name
from flo.core.errors import TypeMismatch, brief
from flo.values.exact import plain_type
from flo.values.operators.zset_asof import AsOfJoin
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream
    from flo.columns.expression import Column, Expression


class AsofVerbs(StreamBase[C_co, B_co]):
    def join_asof(
        self: AsofVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Column,
        by: Column | list[Column] | tuple[Column, ...] | None = None,
        *,
        direction: Literal["backward", "forward"] = "backward",
        how: Literal["left", "inner"] = "left",
        suffix: str = "_right",
        other_on: Column | None = None,
        other_by: Column | list[Column] | tuple[Column, ...] | None = None,
        **unknown: Never,
    ) -> Stream[ZSet[Any], B | B2]:
        """Return each row with the nearest row of the other z-set: the last whose `on` is not above its own, or with
        `direction="forward"` the first whose `on` is not below.

        Only rows with equal `by` are matched. Of several nearest rows it is the largest. Rows whose `on` or `by` is
        null have no match. Rows without a match have null in the columns of the other, or are dropped with
        `how="inner"`. Columns of the other that this z-set has too get the suffix; those of its `by` are left out.
        """
        meant = {"strategy": "direction=…", "left_on": "on=…", "right_on": "other_on=…", "left_by": "by=…"}
        expect_known_arguments("join_asof", unknown, {**meant, "right_by": "other_by=…"})
        expect_kind("join_asof", self, ZSet)
        _expect_option("direction", direction, ("backward", "forward"))
        _expect_option("how", how, ("left", "inner"))
        self.scope.expect_here(other, "join_asof")
        expect_kind("join_asof", other, ZSet)
        keys = _columns("by", by), _columns("other_by", by if other_by is None else other_by)
        if (keys[0] is None) != (keys[1] is None) or (keys[0] and keys[1] and len(keys[0]) != len(keys[1])):
            raise TypeMismatch(
                "`by` and `other_by` of `join_asof` must have as many columns",
                facts=(("by", brief(by)), ("other_by", brief(other_by))),
            ).at_users_line()
        at, other_at = _bound("on", on, self), _bound("other_on", on if other_on is None else other_on, other)
        _expect_order(at, other_at)
        key = None if keys[0] is None else _bound("by", keys[0], self)
        other_key = None if keys[1] is None else _bound("other_by", keys[1], other)
        if key is not None and other_key is not None:
            expect_comparable("join_asof", self, other, key, other_key, "by=…, other_by=…")
        into = _side_by_side(self, other, keys[1] or (), suffix, inner=how == "inner")
        operator = AsOfJoin(at, other_at, key, other_key, into, direction == "forward", how == "inner")
        return self._then(operator, other)


def _expect_option(name: str, given: object, options: tuple[str, ...]) -> None:
    if given not in options:
        raise TypeMismatch(
            f"`{name}` of `join_asof` must be {' or '.join(map(repr, options))}; got {brief(given)}",
            instead=tuple((f'{name}="{option}"', "") for option in options),
        ).at_users_line()


def _columns(name: str, given: object) -> tuple[object, ...] | None:
    """Return columns as a tuple."""
    if given is None:
        return None
    columns = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if not columns or not is_expression(columns):
        raise TypeMismatch(
            f"`{name}` of `join_asof` must be a column, or a list of columns; got {brief(given)}"
        ).at_users_line()
    return columns


def _bound(name: str, given: object, stream: AnyBase) -> Expression:
    """Return columns as a function of the rows of a stream."""
    if isinstance(given, tuple) or is_expression(given):
        return bind_columns("join_asof", name, given, (stream,))
    raise TypeMismatch(f"`{name}` of `join_asof` must be one column; got {brief(given)}").at_users_line()


def _expect_order(on: Expression, other: Expression) -> None:
    """Raise unless both are one column, of types whose values can be compared."""
    one, another = (each.layout.cells[0] for each in (on, other))
    kinds = plain_type(one.kind), plain_type(another.kind)
    zones = [getattr(cell.arrow, "tz", None) is not None for cell in (one, another)]
    nested = any(cell.arrow.num_fields for cell in (one, another))
    forms = on.layout.form, other.layout.form
    if nested or forms != ("value", "value") or kinds[0] != kinds[1] or zones[0] != zones[1]:
        labels = [f"{type_name(kind)}{' with a zone' if zone else ''}" for kind, zone in zip(kinds, zones, strict=True)]
        raise TypeMismatch(
            "`join_asof` compares `on` of both sides: expected numbers, times or strings of one type, "
            f"got {labels[0]} and {labels[1]}",
            facts=(("on", brief(on)), ("other_on", brief(other))),
        ).at_users_line()


def _side_by_side(stream: AnyBase, other: AnyBase, by: tuple[object, ...], suffix: str, *, inner: bool) -> Expression:
    """Return the function that puts the columns of two rows side by side."""
    from flo.columns.expression import names_of

    left, right = row_layout("join_asof", "on", stream), row_layout("join_asof", "on", other)
    called = names_of((left, right))
    names = combined_names("join_asof", left.names, right.names, [each for each in by if isinstance(each, str)], suffix)
    into = {name: called[side][column] for name, (side, column) in names.items()}
    return bind_columns("join_asof", "into", into, (stream, other if inner else Perhaps(other)))

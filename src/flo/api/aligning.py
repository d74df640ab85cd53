"""Two streams of rows with the same columns as one type of rows, regardless of their classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Optional, get_args, get_origin

from flo.api.columns import kind_of
from flo.api.scope import AnyBase, StreamBase
from flo.core.errors import TypeMismatch
from flo.core.type_names import type_name
from flo.core.type_relations import alternatives
from flo.core.untyped import TypeForm
from flo.values.exact import Int128, is_wide_int, plain_type
from flo.values.operators.elementwise import Map


def align_rows(verb: str, left: AnyBase, right: AnyBase) -> tuple[AnyBase, AnyBase]:
    """Return both streams with one row type, if they have the same columns; otherwise as they are.

    The columns of the second stream are matched by name. A column may be null if it may be in one of them.
    """
    if not (isinstance(left, StreamBase) and isinstance(right, StreamBase)):
        return left, right
    one, other = kind_of(left), kind_of(right)
    if one == other:
        return left, right
    if not (is_row_type(one) and is_row_type(other)):
        wider = _wider(one, other)
        return (left, right) if wider is None else (retype(left, wider, verb), retype(right, wider, verb))
    fields, others = row_fields(one), row_fields(other)
    if fields.keys() != others.keys():
        _refuse_columns(verb, right, fields, others)
    from flo.columns.row_types import row_type

    common = row_type({name: _common(verb, name, kind, others[name], right) for name, kind in fields.items()})
    return retype(left, common, verb), retype(right, common, verb)


def is_row_type(kind: TypeForm) -> bool:
    """Return whether elements of this type have named columns."""
    named = isinstance(kind, type) and (hasattr(kind, "_fields") or dataclasses.is_dataclass(kind))
    return named and bool(row_fields(kind))


def retype(stream: AnyBase, row: object, verb: str) -> AnyBase:
    """Return the stream with rows of this type, which has the same columns with the same or wider types."""
    from flo.columns.expression import Expression
    from flo.columns.layout import VALUE, Layout

    layout, wanted = Layout.of(kind_of(stream)), Layout.of(row)
    if kind_of(stream) == row or layout is None or wanted is None:
        return stream
    names: Any = {name: name for name in wanted.names} if is_row_type(row) else tuple(wanted.names)
    names = names[0] if wanted.form == VALUE else names
    retyped = stream._then_named(verb, Map(Expression(names, (layout,), row)))
    retyped.name, retyped.assigned = stream.name, stream.assigned  # errors are about the stream that the user wrote
    return retyped


def _wider(one: object, other: object) -> Any:
    """Return float for integers and floats, and the same in tuples: an integer is a float, as in annotations; None if
    the types differ in something else."""
    parts, others = get_args(one), get_args(other)
    if get_origin(one) is get_origin(other) is tuple and len(parts) == len(others) and ... not in parts + others:
        wider = [a if a == b else _wider(a, b) for a, b in zip(parts, others, strict=True)]
        return None if None in wider else tuple[tuple(wider)]  # type: ignore[misc]
    kinds = {*alternatives(one), *alternatives(other)}
    if not {int, float} <= kinds <= {int, float, type(None)} or is_wide_int(one) or is_wide_int(other):
        return None
    return Optional[float] if type(None) in kinds else float  # noqa: UP045


def row_fields(kind: TypeForm) -> dict[str, Any]:
    from flo.columns.cell import fields_of

    return fields_of(kind) or {}


def _common(verb: str, name: str, one: object, other: object, stream: AnyBase) -> Any:
    """Return the type of a column that has the values of both."""
    from flo.columns.aggregate_types import Kind

    left, right = Kind.of(one), Kind.of(other)
    if left.plain == right.plain or right.plain is type(None):
        plain = left.plain
    elif left.plain is type(None):
        plain = right.plain
    elif plain_type(left.plain) is plain_type(right.plain) is int:
        plain = int if _fits_64_bits(left.plain) and _fits_64_bits(right.plain) else Int128
    elif (nested := _nested(left.plain, right.plain)) is not None:
        plain = nested
    else:
        raise TypeMismatch(
            f"`{verb}` needs columns of one type: `{name}` is {type_name(one)} on the left, and {type_name(other)} in "
            f"{{input}}",
            instead=((f"with_columns({name}=nw.col({name!r}).cast(…))", "converts one of them"),),
        ).at_users_line(stream)
    return Optional[plain] if left.nullable or right.nullable else plain  # noqa: UP045


def _nested(one: object, other: object) -> Any:
    """Return the type that has the tuples of both, named or not, if they differ only in which parts may be null."""
    from flo.columns.row_types import row_type

    if get_origin(one) is get_origin(other) is tuple and len(get_args(one)) == len(get_args(other)):
        parts = [_with_nulls(a, b) for a, b in zip(get_args(one), get_args(other), strict=True)]
        return None if None in parts else tuple[tuple(parts)]  # type: ignore[misc]
    fields, others = row_fields(one), row_fields(other)
    if hasattr(one, "_fields") and hasattr(other, "_fields") and list(fields) == list(others):  # equal as tuples
        named = {name: _with_nulls(kind, others[name]) for name, kind in fields.items()}
        return None if None in named.values() else row_type(named)
    return None


def _with_nulls(one: object, other: object) -> Any:
    """Return the type of a part that may be null if it may be in one of both; None if they differ in something else."""
    from flo.columns.aggregate_types import Kind

    if one is ... or other is ...:
        return one if one is other else None
    left, right = Kind.of(one), Kind.of(other)
    plain = left.plain if left.plain == right.plain else _nested(left.plain, right.plain)
    return Optional[plain] if plain is not None and (left.nullable or right.nullable) else plain  # noqa: UP045


def _fits_64_bits(kind: TypeForm) -> bool:
    """Return whether all integers of a column fit into a signed one of 64 bits."""
    from flo.columns.cell import cell_of

    cell = cell_of(kind)
    return cell is not None and str(cell.arrow) in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


def _refuse_columns(verb: str, right: AnyBase, fields: Iterable[str], others: Iterable[str]) -> None:
    missing = [name for name in fields if name not in others]
    more = [name for name in others if name not in fields]
    facts = [("left", ", ".join(fields)), ("{input}", ", ".join(others))]
    raise TypeMismatch(
        f"`{verb}` needs two streams with the same columns; {{input}} "
        + " and ".join(
            ([f"does not have {', '.join(f'`{name}`' for name in missing)}"] if missing else [])
            + ([f"also has {', '.join(f'`{name}`' for name in more)}"] if more else [])
        ),
        facts=tuple(facts),
        instead=(("{input}.select(…)", "the same columns"), ('{input}.rename({"old": "new"})', "other names")),
    ).at_users_line(right)

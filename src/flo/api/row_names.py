"""Names of columns: which ones the rows of a stream have, and those that a verb gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flo.api.arguments import expect_kind
from flo.api.column_errors import unknown_column
from flo.api.columns import kind_of
from flo.api.scope import StreamBase, name_input
from flo.core.errors import Origin, TypeMismatch, brief
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet


def columns_of(stream: StreamBase[Any, Any], verb: str) -> tuple[str, ...]:
    """Return the names of the columns of a stream's rows. Raises if the elements are not rows."""
    from flo.columns.layout import Layout

    expect_kind(verb, stream, Sequence, Bag, Set, ZSet)
    layout = Layout.of(kind_of(stream))
    if layout is not None:
        return layout.names
    error = TypeMismatch(
        f"`{verb}` must get rows with named columns; the elements of {{input}} have none",
        facts=(("{input}", stream.type.described()),),
        instead=((f"flo.{stream.collection.name}[Row]", "where Row is a NamedTuple, a dataclass or `flo.rows(…)`"),),
    )
    raise name_input(error, stream).located(Origin.here())  # type: ignore[arg-type]


def has_columns(stream: StreamBase[Any, Any]) -> bool:
    """Return whether the elements of a stream have columns."""
    from flo.columns.layout import Layout

    return Layout.of(kind_of(stream)) is not None


def expect_column(stream: StreamBase[Any, Any], verb: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        error = unknown_column(f"`{verb}`", name, known)
        raise name_input(error, stream).located(Origin.here())  # type: ignore[arg-type]


def named_columns(verb: str, given: tuple[Any, ...], named: Mapping[str, Any], stream: Any) -> dict[str, Any]:
    """Return columns by name: names stand for themselves, and expressions have the name of their column or alias."""
    found: dict[str, Any] = {}
    for each in (part for item in given for part in (item if isinstance(item, (list, tuple)) else (item,))):
        name = each if isinstance(each, str) else _output_name(verb, each)
        found[expect_new_name(verb, name, found)] = each
    for name, each in named.items():
        found[expect_new_name(verb, name, found)] = each
    return found


def expect_new_name(verb: str, name: str, found: Mapping[str, Any]) -> str:
    if name in found:
        raise TypeMismatch(
            f"`{verb}` gets the column `{name}` twice",
            facts=(("columns", ", ".join(found)),),
            instead=((f"{name}_2=…", "another name"),),
            where=Origin.here(),
        )
    return name


def _output_name(verb: str, given: Any) -> str:
    """Return the name of an expression's result: its alias, or the first column that it reads; that of a function."""
    from flo.columns.building import name_of

    name = name_of(given)
    if callable(given) and str(getattr(given, "__name__", "")).isidentifier():
        name = str(given.__name__)
    if name is None:
        raise TypeMismatch(
            f"`{verb}` must get a name for {brief(given)}",
            instead=((f"{verb}(name=…)", "as a keyword"),),
            where=Origin.here(),
        )
    return name

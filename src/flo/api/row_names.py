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


def expect_name(verb: str, given: Any) -> None:
    """Raise unless this is a name of a column."""
    if not isinstance(given, str):
        from flo.columns.readable import readable

        shown = readable(given) if hasattr(given, "_nodes") else brief(given)
        raise TypeMismatch(
            f"`{verb}` must get names of columns; got {shown}",
            instead=((f'{verb}("price")' if verb == "drop" else f'{verb}({{"old": "new"}})', "strings"),),
            where=Origin.here(),
        )


def expect_column(stream: StreamBase[Any, Any], verb: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        error = unknown_column(f"`{verb}`", name, known)
        raise name_input(error, stream).located(Origin.here())  # type: ignore[arg-type]


def named_columns(verb: str, given: tuple[Any, ...], named: Mapping[str, Any], stream: Any) -> dict[str, Any]:
    """Return columns by name: names stand for themselves, and expressions have the name of their column or alias."""
    found: dict[str, Any] = {}
    every = [part for item in given for part in (item if isinstance(item, (list, tuple)) else (item,))]
    for each in (part for item in every for part in _one_by_one(item, stream)):
        name = each if isinstance(each, str) else _output_name(verb, each)
        found[expect_new_name(verb, name, found)] = each
    for name, each in named.items():
        found[expect_new_name(verb, name, found)] = each
    return found


def _one_by_one(given: Any, stream: Any) -> list[Any]:
    """Return an expression of several columns, such as `nw.all()`, as one for each."""
    if not hasattr(given, "_nodes"):
        return [given]
    from flo.columns.building import one_by_one
    from flo.columns.layout import Layout

    layout = Layout.of(kind_of(stream))
    try:
        return [given] if layout is None else one_by_one(given, layout.schema)
    except Exception:  # an unknown column, which is reported with its name
        return [given]


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

"""Columns of rows by name: those that the rows of a stream have, those that a verb gets, and rows made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from flo.api.aggregates import AggregateSpec
from flo.api.arguments import expect_function, expect_kind
from flo.api.columns import COLUMNS, bind_columns, expect_own_expression, is_expression, kind_of, unknown_column
from flo.api.scope import AnyBase
from flo.api.window_functions import WindowSpec
from flo.core.elements import returned_type
from flo.core.errors import FloError, TypeMismatch, brief
from flo.core.labels import label
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.columns.expression import Expression


def columns_of(stream: AnyBase, verb: str) -> tuple[str, ...]:
    """Return the names of the columns of a stream's rows. Raises if the elements are not rows."""
    from flo.columns.layout import Layout

    expect_kind(verb, stream, Sequence, Bag, Set, ZSet)
    layout = Layout.of(kind_of(stream))
    if layout is not None:
        return layout.names
    raise TypeMismatch(
        f"`{verb}` must get rows with named columns; the elements of {{input}} have none",
        facts=(("{input}", stream.type.described()),),
        instead=((f"flo.{stream.collection.name}[Row]", "where Row is a NamedTuple, a dataclass or `flo.rows(…)`"),),
    ).at_users_line(stream)


def has_columns(stream: AnyBase) -> bool:
    """Return whether the elements of a stream have columns."""
    from flo.columns.layout import Layout

    return Layout.of(kind_of(stream)) is not None


def expect_name(verb: str, given: object) -> None:
    """Raise unless this is a name of a column."""
    if not isinstance(given, str):
        from flo.columns.readable import readable

        text = readable(given) if hasattr(given, "_nodes") else brief(given)
        raise TypeMismatch(
            f"`{verb}` must get names of columns; got {text}",
            instead=((f'{verb}("price")' if verb == "drop" else f'{verb}({{"old": "new"}})', "strings"),),
        ).at_users_line()


def expect_column(stream: AnyBase, verb: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise unknown_column(f"`{verb}`", name, known).at_users_line(stream)


def named_columns(
    verb: str, given: tuple[object, ...], named: Mapping[str, object], stream: AnyBase
) -> dict[str, object]:
    """Return columns by name: names stand for themselves, and expressions have the name of their column or alias."""
    columns: dict[str, object] = {}
    every = [part for item in given for part in (item if isinstance(item, (list, tuple)) else (item,))]
    for each in (part for item in every for part in _one_by_one(item, stream)):
        name = each if isinstance(each, str) else _output_name(verb, each)
        columns[expect_new_name(verb, name, columns)] = each
    for name, each in named.items():
        columns[expect_new_name(verb, name, columns)] = each
    return columns


def _one_by_one(given: object, stream: AnyBase) -> list[object]:
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


def expect_new_name(verb: str, name: str, known: Iterable[str]) -> str:
    if name in known:
        raise TypeMismatch(
            f"`{verb}` gets the column `{name}` twice",
            facts=(("columns", ", ".join(known)),),
            instead=((f"{name}_2=…", "another name"),),
        ).at_users_line()
    return name


def _output_name(verb: str, given: object) -> str:
    """Return the name of an expression's result: its alias, or the first column that it reads; that of a function."""
    from flo.columns.building import name_of

    expect_own_expression(verb, given, f'{verb}(double=nw.col("price") * 2)')
    name = name_of(given)
    if callable(given) and str(getattr(given, "__name__", "")).isidentifier():
        name = str(given.__name__)  # type: ignore[attr-defined]
    if name is None:
        raise TypeMismatch(
            f"`{verb}` must get a name for {brief(given)}", instead=((f"{verb}(name=…)", "as a keyword"),)
        ).at_users_line()
    return name


def is_column_function(given: object) -> TypeGuard[AnyFunction]:
    """Return whether a column is given as a function of the row."""
    return callable(given) and not is_expression(given)


def bind_rows(
    verb: str, given: Mapping[str, object], stream: AnyBase, called: Mapping[str, str] | None = None
) -> AnyFunction:
    """Return the function that makes rows with these columns of the rows of a stream.

    `called` says what the user calls a column, where that is another name.
    """
    names = {name: (called or {}).get(name, name) for name in given}
    for name, each in given.items():
        if not callable(each) and not is_expression(each):
            raise TypeMismatch(
                f"`{names[name]}` of `{verb}` must be a column, an expression or a function of rows; got {brief(each)}",
                instead=_instead_of(names[name], each),
            ).at_users_line()
    if not any(map(is_column_function, given.values())):
        return _bind_each(verb, dict(given), stream, names)
    from flo.columns.projection import Projection

    columns = {name: each for name, each in given.items() if not is_column_function(each)}
    if columns:
        _bind_each(verb, columns, stream, names)  # raises if they do not fit
    parts = {
        name: _typed(verb, names[name], each, stream) if is_column_function(each) else each
        for name, each in given.items()
    }
    try:
        return Projection(parts, element_of(stream))
    except FloError as error:
        raise error.at_users_line(stream) from None


def _instead_of(name: str, given: object) -> tuple[tuple[str, str], ...]:
    """Return what to write instead of something that is no column."""
    if not isinstance(given, (AggregateSpec, WindowSpec)):
        return ((f"nw.lit({brief(given)})", "the same value in every row"),)
    window = (f"over(partition_by=…).with_columns({name}={given!r})", "of the rows of a partition, beside each row")
    grouped = (f"group_by(…).agg({name}={given!r})", "one row for each group")
    return (window,) if isinstance(given, WindowSpec) else (grouped, window)


def element_of(stream: AnyBase) -> Any:
    """Return the type of the elements of a stream; where functions made them, derived as far as possible."""
    return kind_of(stream) if kind_of(stream) is not Any else getattr(stream.known_type.collection, "element", Any)


def _bind_each(verb: str, given: dict[str, object], stream: AnyBase, names: Mapping[str, str]) -> Expression:
    """Return the rows of these columns. An error is about the first column that does not fit."""
    try:
        return bind_columns(verb, COLUMNS, given, (stream,))
    except FloError:
        for name, each in given.items():
            unnamed = isinstance(each, str) and each == names[name]
            bind_columns(verb, COLUMNS if unnamed else names[name], each, (stream,))
        raise


def _typed(verb: str, name: str, function: AnyFunction, stream: AnyBase) -> AnyFunction:
    """Return the function with its return type, annotated or derived. Raises if it is unclear, or has no column."""
    from flo.columns.cell import cell_of
    from flo.columns.function_types import Declared, result_type
    from flo.columns.known_types import Unclear

    expect_function(verb, name, function, stream, columns=False)
    annotated = returned_type(function)
    try:
        kind = result_type(function, (element_of(stream),))
        why = f"it returns {type_name(kind)}, which has no column" if cell_of(kind) is None else None
    except Unclear as unclear:
        kind, why = Any, str(unclear)
    if why is None and getattr(stream.collection, "unordered", False) and not cell_of(kind).hashable:  # type: ignore[union-attr]
        raise TypeMismatch(
            f"the column `{name}` of `{verb}` must be hashable, because rows of a {stream.collection.name} are; "
            f"got {type_name(kind)}",
            facts=(("function", label(function)), ("{input}", stream.type.described())),
            instead=(("tuple(…)", "a tuple instead of a list"),),
        ).at_users_line(stream)
    if why is not None:
        raise TypeMismatch(
            f"the type of the column `{name}` of `{verb}` is unknown",
            facts=(("function", label(function)), ("why", why), ("{input}", stream.type.described())),
            instead=(("def total(row: Row) -> float", "a function with an annotated result"),),
        ).at_users_line(stream)
    return function if annotated is not Any else Declared(function, kind)

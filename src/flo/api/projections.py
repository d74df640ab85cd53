"""Rows made of rows: columns, expressions and functions of the row, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flo.api.arguments import expect_function
from flo.api.columns import COLUMNS, bind_columns, is_expression, kind_of
from flo.api.scope import Vertex, name_input
from flo.core.elements import returned_type, type_name
from flo.core.errors import FloError, Origin, TypeMismatch, brief
from flo.core.labels import label
from flo.core.stream_type import StreamType


def is_column_function(given: Any) -> bool:
    """Return whether a column is given as a function of the row."""
    return callable(given) and not is_expression(given)


def bind_rows(verb: str, given: Mapping[str, Any], stream: Any, called: Mapping[str, str] | None = None) -> Any:
    """Return the function that makes rows with these columns of the rows of a stream.

    `called` says what the user calls a column, where that is another name.
    """
    names = {name: (called or {}).get(name, name) for name in given}
    for name, each in given.items():
        if not callable(each) and not is_expression(each):
            raise TypeMismatch(
                f"`{names[name]}` of `{verb}` must be a column, an expression or a function of rows; got {brief(each)}",
                instead=((f"nw.lit({brief(each)})", "the same value in every row"),),
                where=Origin.here(),
            )
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
        raise name_input(error, stream).located(Origin.here()) from None


def element_of(stream: Any) -> Any:
    """Return the type of the elements of a stream; where functions made them, derived as far as possible."""
    return kind_of(stream) if kind_of(stream) is not Any else getattr(_derived(stream).collection, "element", Any)


def _derived(stream: Any) -> StreamType:
    from flo.columns.derive import derive_outputs

    known: StreamType = stream.type
    vertex: Vertex | None = stream.source
    if vertex is None or getattr(known.collection, "element", None) is not Any:
        return known
    outputs = derive_outputs(vertex.operator, tuple(map(_derived, vertex.inputs)))
    return outputs[vertex.outputs.index(stream)]


def _bind_each(verb: str, given: dict[str, Any], stream: Any, names: Mapping[str, str]) -> Any:
    """Return the rows of these columns. An error is about the first column that does not fit."""
    try:
        return bind_columns(verb, COLUMNS, given, (stream,))
    except FloError:
        for name, each in given.items():
            unnamed = isinstance(each, str) and each == names[name]
            bind_columns(verb, COLUMNS if unnamed else names[name], each, (stream,))
        raise


def _typed(verb: str, name: str, function: Any, stream: Any) -> Any:
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
    if why is not None:
        error = TypeMismatch(
            f"the type of the column `{name}` of `{verb}` is unknown",
            facts=(("function", label(function)), ("why", why), ("{input}", stream.type.described())),
            instead=(("def total(row: Row) -> float", "a function with an annotated result"),),
        )
        raise name_input(error, stream).located(Origin.here())
    return function if annotated is not Any else Declared(function, kind)

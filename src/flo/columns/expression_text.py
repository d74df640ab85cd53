"""Columns as text, which identifies them, and the column that is given as it is."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw

from flo.columns.evaluation import ColumnFunction, arguments_of, nodes_of
from flo.columns.node_functions import RENAMES
from flo.columns.nodes import ColumnNode


def expression_text(given: object) -> str:
    """Return the text that identifies columns: different expressions have different texts, `1` and `"1"` included."""
    match given:
        case str():
            return f"col({given if given.isidentifier() else repr(given)})"
        case tuple():
            return f"({', '.join(map(expression_text, given))})"
        case Mapping():
            return f"{{{', '.join(f'{name}: {expression_text(each)}' for name, each in given.items())}}}"
        case ColumnFunction():
            return given.text
        case nw.Expr():
            return ".".join(map(_node_text, nodes_of(given)))
        case _:
            return repr(given)


def plain_column(given: object) -> str | None:
    """Return the column that is given, as a name or as an expression that only renames it; None if more is computed."""
    if isinstance(given, nw.Expr):
        first, *more = nodes_of(given)
        is_plain = first.kind.name == "COL" and all(node.name in RENAMES for node in more)
        names = list(first.kwargs["names"]) if is_plain else []
        return names[0] if len(names) == 1 else None
    return given if isinstance(given, str) else None


def _node_text(node: ColumnNode) -> str:
    if node.kind.name == "COL":
        return ", ".join(map(expression_text, node.kwargs["names"]))
    parts = [expression_text(each) if isinstance(each, nw.Expr) else repr(each) for each in arguments_of(node)]
    return f"{node.name}({', '.join([*parts, *(f'{name}={value!r}' for name, value in node.kwargs.items())])})"

"""Column expressions as people write them: `price * 2 > 10`, for `explain` and error messages."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw

from flo.columns.evaluation import ColumnFunction, arguments_of, nodes_of
from flo.columns.nodes import ColumnNode
from flo.columns.strict import INFIX

_CHAINED = ("+", "*", "and", "or")
"""Operations that need no brackets on their left: `a + b + c`."""
_REFLECTED = {f"__r{name[2:]}": sign for name, sign in INFIX.items()}


def readable(given: object) -> str:
    """Return columns as text: a name, an expression, a tuple or a dict of these."""
    if isinstance(given, str):
        return given
    if isinstance(given, tuple):
        return f"({', '.join(map(readable, given))})"
    if isinstance(given, Mapping):
        return ", ".join(_named(name, each) for name, each in given.items())
    if isinstance(given, ColumnFunction):
        return given.described
    return _text(given)[0] if isinstance(given, nw.Expr) else repr(given)


def _named(name: str, given: object) -> str:
    return name if isinstance(given, str) and given == name else f"{name}={readable(given)}"


def _text(expression: nw.Expr) -> tuple[str, str]:
    """Return the text, and its outermost operation, if it must be put into brackets where it is an operand."""
    first, *more = nodes_of(expression)
    match first.kind.name:
        case "COL":
            text, loose = ", ".join(first.kwargs["names"]), ""
        case "LITERAL":
            text, loose = repr(first.kwargs["value"]), ""
        case _:
            text, loose = _function(first), ""
    for node in more:
        text, loose = _method(node, text, loose)
    return text, loose


def _function(node: ColumnNode) -> str:
    parts = [_operand(each) for each in arguments_of(node)]
    if node.name == "when_then":
        condition, then, *other = parts
        return f"({then} if {condition} else {other[0] if other else None})"
    if node.name == "all_horizontal" and len(parts) == 1:
        return parts[0]
    return f"{node.name}({', '.join([*parts, *_options(node)])})"


def _method(node: ColumnNode, text: str, loose: str) -> tuple[str, str]:
    parts = [_operand(each) for each in arguments_of(node)]
    inner = f"({text})" if loose else text
    if node.name in INFIX:
        sign = INFIX[node.name]
        return f"{text if loose == sign and sign in _CHAINED else inner} {sign} {parts[0]}", sign
    if node.name in _REFLECTED:
        return f"{parts[0]} {_REFLECTED[node.name]} {inner}", _REFLECTED[node.name]
    if node.name == "__invert__":
        return f"not {inner}", "not"
    if node.name == "__neg__":
        return f"-{inner}", "-"
    return f"{inner}.{node.name}({', '.join([*parts, *_options(node)])})", ""


def _operand(given: object) -> str:
    if not isinstance(given, nw.Expr):
        return repr(given)
    text, loose = _text(given)
    return f"({text})" if loose else text


def _options(node: ColumnNode) -> list[str]:
    return [f"{name}={value!r}" for name, value in node.kwargs.items() if value is not None and name != "ignore_nulls"]

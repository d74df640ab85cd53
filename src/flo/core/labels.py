"""Labels of functions: the name, or the source text of a lambda; and where the source is."""

from __future__ import annotations

import ast
import linecache
from functools import cache, partial
from typing import Any

from flo.core.errors import brief


def label(function: Any) -> str:
    """Return how messages name the function: its name, or the text of a lambda."""
    if isinstance(function, partial):
        arguments = [*map(brief, function.args), *(f"{key}={brief(item)}" for key, item in function.keywords.items())]
        return f"partial({', '.join([label(function.func), *arguments])})"
    name = getattr(function, "__name__", None) or type(function).__name__
    if name != "<lambda>":
        return str(name)
    return _lambda_text(function.__code__) or "lambda"


def identity(function: Any) -> str:
    """Return the text that identifies a function when a state is restored: its name, or the source of a lambda."""
    function = getattr(function, "traced_from", function)  # of one that runs as columns
    name = getattr(function, "__qualname__", "")
    if name and "<lambda>" not in name:
        return str(name)
    whole = getattr(function, "text", None)
    text = whole if isinstance(whole, str) else label(function)  # `label` may be truncated, `text` is not
    return text if text != "lambda" else f"lambda {_code_text(function.__code__)}"  # no source


def _code_text(code: Any) -> str:
    consts = [_code_text(const) if hasattr(const, "co_code") else repr(const) for const in code.co_consts]
    return f"{code.co_varnames} {code.co_names} {consts} {code.co_code.hex()}"


def _lambda_text(code: object) -> str | None:
    source = source_of(code)
    return None if source is None else ast.unparse(source)


@cache
def source_of(code: Any) -> ast.Lambda | ast.FunctionDef | None:
    """Return the syntax tree of a function; None if it has no source. A lambda is found by its body's position."""
    if code.co_name != "<lambda>":
        named = [node for node in _functions(code.co_filename) if isinstance(node, ast.FunctionDef)]
        firsts = [(min([node.lineno, *(each.lineno for each in node.decorator_list)]), node) for node in named]
        sources = [node for line, node in firsts if (line, node.name) == (code.co_firstlineno, code.co_name)]
        return sources[0] if len(sources) == 1 else None
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    around = [
        node
        for node in _functions(code.co_filename)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and places
        and all(_start(node) <= place < _end(node) for place in places)
    ]
    return max(around, key=_start) if around else None  # the innermost


def _start(node: ast.Lambda) -> tuple[int, int]:
    return node.body.lineno, node.body.col_offset


def _end(node: ast.Lambda) -> tuple[int, int]:
    return node.body.end_lineno or 0, node.body.end_col_offset or 0


@cache
def _functions(filename: str) -> list[ast.Lambda | ast.FunctionDef]:
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, ast.FunctionDef))]

"""The source text of a call in the user's program: `filter(nw.col("price") > 3)`."""

from __future__ import annotations

import ast
import linecache
import re
from functools import lru_cache

from flo.core.errors import Origin

FIRST_HALVES = ("group_by", "rollup", "cube", "grouping_sets", "over")
"""Methods that make no stream: the verb is the call and the one after it, as in `group_by("city").agg(…)`."""


def call_text(where: Origin | None) -> str | None:
    """Return the verb with its arguments, as the user wrote it, on one line; None if its source is not known."""
    if where is None or where.last_line is None:
        return None
    lines = linecache.getlines(where.file)
    node = _calls("".join(lines)).get((where.last_line, where.last_column))
    if node is None:
        return None
    return _on_one_line(lines, node)


@lru_cache(maxsize=64)
def _calls(source: str) -> dict[tuple[int | None, int | None], ast.Call]:
    """Return the calls of a file by where they end, which no two of them share."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    return {(node.end_lineno, node.end_col_offset): node for node in ast.walk(tree) if isinstance(node, ast.Call)}


def _text_of(lines: list[str], node: ast.expr) -> str:
    """Return the source text of a node. `ast.get_source_segment` looks at every character of the file."""
    last, end = node.end_lineno or node.lineno, node.end_col_offset
    parts = [line.encode() for line in lines[node.lineno - 1 : last]]  # columns are counted in bytes
    parts[-1] = parts[-1][:end]
    parts[0] = parts[0][node.col_offset :]
    return b"".join(parts).decode()


def _on_one_line(lines: list[str], node: ast.Call) -> str:
    first = node
    while isinstance(first.func, ast.Attribute) and isinstance(first.func.value, ast.Call):
        before = first.func.value
        if not (isinstance(before.func, ast.Attribute) and before.func.attr in FIRST_HALVES):
            break
        first = before
    text = _text_of(lines, node)
    if isinstance(first.func, ast.Attribute):  # without the stream that the verb is called on
        receiver = _text_of(lines, first.func.value)
        text = text[len(receiver) :].lstrip().removeprefix(".")
    if "\n" in text and "#" in text:
        unparsed, receiver = ast.unparse(node), ast.unparse(getattr(first.func, "value", ast.Constant("")))
        text = unparsed.removeprefix(f"{receiver}.")
    text = re.sub(r"\s*\n\s*", " ", text)
    return re.sub(r",? \)", ")", re.sub(r"([(\[{]) |(?<=[)\]]) (?=\.)", r"\1", text))

"""Functions of strings. Positions count characters, from 1."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import FUNCTIONS, Compute, Data, Node


def _substring(node: Node, operands: list[Data]) -> Data:
    text, start, length = operands
    if not (isinstance(start, pa.Scalar) and isinstance(length, pa.Scalar)):
        return _by_row(_cut, operands, node.type)
    if not (start.is_valid and length.is_valid):
        return pa.scalar(None, node.type)
    position, count = start.as_py(), length.as_py()
    if position < 0:
        return _by_row(_cut, operands, node.type)
    begin = max(position - 1, 0)
    # position 0 counts as 1
    return pc.utf8_slice_codeunits(text, begin, begin + max(count, 0))


def _cut(text: str, position: int, count: int) -> str:
    begin = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = begin + count
    return text[max(begin, 0) : max(end, 0)]


def _by_row(function: Any, operands: list[Data], kind: pa.DataType) -> Data:
    size = max((len(each) for each in operands if not isinstance(each, pa.Scalar)), default=None)
    columns = [[each.as_py()] * (size or 1) if isinstance(each, pa.Scalar) else each.to_pylist() for each in operands]
    found = [None if None in row else function(*row) for row in zip(*columns, strict=True)]
    return pa.scalar(found[0], kind) if size is None else pa.array(found, kind)


def _like(node: Node, operands: list[Data]) -> Data:
    text, pattern = operands
    escape = node.option("escape", "\\")
    if isinstance(pattern, pa.Scalar):
        if not pattern.is_valid:
            return pa.scalar(None, pa.bool_())
        match = like_pattern(pattern.as_py(), escape).fullmatch
        return _by_row(lambda each: match(each) is not None, [text], pa.bool_())
    return _by_row(lambda each, of: like_pattern(of, escape).fullmatch(each) is not None, operands, pa.bool_())


def like_pattern(pattern: str, escape: str) -> re.Pattern[str]:
    """Return a LIKE pattern as a regular expression."""
    parts, rest = [], iter(pattern)
    for sign in rest:
        if sign == escape:
            parts.append(re.escape(next(rest)))
        else:
            parts.append({"_": ".", "%": ".*"}.get(sign, re.escape(sign)))
    return re.compile("".join(parts), re.DOTALL)


def _find(name: str) -> Any:
    function = getattr(pc, name)

    def compute(node: Node, operands: list[Data]) -> Data:
        text, pattern = operands
        if isinstance(pattern, pa.Scalar) and pattern.is_valid:
            return function(text, pattern=pattern.as_py())
        python = {"starts_with": str.startswith, "ends_with": str.endswith, "match_substring": str.__contains__}[name]
        return _by_row(python, operands, pa.bool_())

    return compute


def _concat(node: Node, operands: list[Data]) -> Data:
    return pc.binary_join_element_wise(*operands, pa.scalar("", pa.string()), null_handling="emit_null")


def _cased(name: str) -> Compute:
    """Upper and lower case: letters beyond ASCII may become several."""
    function, python = getattr(pc, f"ascii_{name}"), getattr(str, name)

    def compute(node: Node, operands: list[Data]) -> Data:
        plain = pc.string_is_ascii(operands[0])
        if isinstance(plain, pa.Scalar) or not pc.all(pc.fill_null(plain, True), min_count=0).as_py():
            return _by_row(python, operands, node.type)
        return function(operands[0])

    return compute


FUNCTIONS.update(
    {
        "Upper": _cased("upper"),
        "Lower": _cased("lower"),
        "Substring": _substring,
        "Like": _like,
        "StartsWith": _find("starts_with"),
        "EndsWith": _find("ends_with"),
        "Contains": _find("match_substring"),
        "Concat": _concat,
        "Length": lambda node, operands: pc.utf8_length(operands[0]),
    }
)

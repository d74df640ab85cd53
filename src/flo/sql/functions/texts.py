"""Functions of strings. Positions count characters, from 1."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import Node, SqlError
from flo.sql.registry import Compute, Data, Family, constant, declare, many, of

TEXT, NUMBER = Family.STRING, constant(Family.INTEGER)
PATTERN = constant(TEXT)


def _unary(name: str, *arguments: str) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: function(operands[0], *arguments)


def _find(name: str) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: _by_pattern(node, operands, lambda pattern: function(operands[0], pattern=pattern))


def _like(node: Node, operands: list[Data]) -> Data:
    """One character, any characters and plain ones mean the same to RE2 as to Java."""
    text, escape = operands[0], node.option("escape")
    if text.null_count == len(text):
        return pa.nulls(len(text), pa.bool_())
    return _by_pattern(
        node, operands, lambda pattern: pc.match_substring_regex(text, pattern=like_pattern(pattern, escape))
    )


def _by_pattern(node: Node, operands: list[Data], find: Callable[[str], Data]) -> Data:
    text, pattern = operands
    return find(pattern.as_py()) if pattern.is_valid else pa.nulls(len(text), node.type)


def like_pattern(pattern: str, escape: str) -> str:
    """Return a LIKE pattern as a regular expression."""
    parts, rest = [], iter(pattern)
    for sign in rest:
        if sign == escape:
            following = next(rest, None)
            if following is None:
                raise SqlError("INVALID_FORMAT.ESC_AT_THE_END", f"the pattern {pattern!r} ends with the escape")
            if following not in ("_", "%", escape):
                raise SqlError("INVALID_FORMAT.ESC_IN_THE_MIDDLE", f"the escape in {pattern!r} precedes {following!r}")
            parts.append(_quoted(following))
        else:
            parts.append({"_": ".", "%": ".*"}.get(sign) or _quoted(sign))
    return rf"(?s)\A{''.join(parts)}\z"


def _quoted(sign: str) -> str:
    return f"\\{sign}" if sign.isascii() and not sign.isalnum() and sign.isprintable() else sign


def _substring(node: Node, operands: list[Data]) -> Data:
    """A part of a text; a negative position counts from the end."""
    text, position, length = operands
    if not (position.is_valid and length.is_valid):
        return pa.nulls(len(text), node.type)
    start, count = position.as_py(), max(length.as_py(), 0)
    start = start - 1 if start > 0 else start
    end: int | None = start + count
    if start < 0 and start + count >= 0:
        end = None
    return pc.utf8_slice_codeunits(text, start, end) if count else pc.utf8_slice_codeunits(text, 0, 0)


def _concat(node: Node, operands: list[Data]) -> Data:
    return pc.binary_join_element_wise(*operands, pa.scalar("", pa.string()), null_handling="emit_null")


declare("Substring", "substring({}, {}, {})", [of(TEXT, NUMBER, NUMBER)], _substring)
declare("StringTrim", "trim({})", [of(TEXT)], _unary("utf8_trim", " "))
declare("StringTrimLeft", "ltrim({})", [of(TEXT)], _unary("utf8_ltrim", " "))
declare("StringTrimRight", "rtrim({})", [of(TEXT)], _unary("utf8_rtrim", " "))
declare("StartsWith", "startswith({}, {})", [of(TEXT, PATTERN)], _find("starts_with"))
declare("EndsWith", "endswith({}, {})", [of(TEXT, PATTERN)], _find("ends_with"))
declare("Contains", "contains({}, {})", [of(TEXT, PATTERN)], _find("match_substring"))
declare("Like", "{} LIKE {}", [of(TEXT, PATTERN)], _like)
declare("Concat", "concat({}, {})", [of(TEXT, many(TEXT))], _concat)
declare("Reverse", "reverse({})", [of(TEXT)], _unary("utf8_reverse"))
declare("Length", "length({})", [of(TEXT)], _unary("utf8_length"))
declare("OctetLength", "octet_length({})", [of(TEXT)], _unary("binary_length"))

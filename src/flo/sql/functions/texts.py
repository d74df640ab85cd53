"""Functions of strings. Positions count characters, from 1. Upper and lower case follow the version of Unicode that
Spark knows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import UNICODE, Expr, SqlError
from flo.sql.registry import Compute, Data, Family, constant, declare, many, of

TEXT, NUMBER = Family.STRING, constant(Family.INTEGER)
PATTERN = constant(TEXT)


def _unary(name: str, *arguments: str) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: function(operands[0], *arguments)


def _find(name: str) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: _by_pattern(node, operands, lambda pattern: function(operands[0], pattern=pattern))


def _like(node: Expr, operands: list[Data]) -> Data:
    """One character, any characters and plain ones mean the same to RE2 as to Java."""
    text, escape = operands[0], node.option("escape")
    if text.null_count == len(text):
        return pa.nulls(len(text), pa.bool_())
    return _by_pattern(
        node, operands, lambda pattern: pc.match_substring_regex(text, pattern=like_pattern(pattern, escape))
    )


def _by_pattern(node: Expr, operands: list[Data], find: Callable[[str], Data]) -> Data:
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


def _substring(node: Expr, operands: list[Data]) -> Data:
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


def _concat(node: Expr, operands: list[Data]) -> Data:
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


NEWER = {
    16: {
        0xA7DC: 0x19B,
        0xA7CB: 0x264,
        0x1C89: 0x1C8A,
        0xA7CC: 0xA7CD,
        0xA7DA: 0xA7DB,
        **{0x10D50 + place: 0x10D70 + place for place in range(22)},
    },
    17: {
        0xA7CE: 0xA7CF,
        0xA7D2: 0xA7D3,
        0xA7D4: 0xA7D5,
        **{0x16EA0 + place: 0x16EBB + place for place in range(25)},
    },
}
"""Capital and small letters by the version of Unicode that has added them. Spark may know more of them than Python."""


@cache
def _small(unicode: int) -> dict[int, int]:
    """The small letters of the capital ones that were added up to a version of Unicode."""
    return {
        capital: small for version, added in NEWER.items() if version <= unicode for capital, small in added.items()
    }


@cache
def _capital(unicode: int) -> dict[int, int]:
    return {small: capital for capital, small in _small(unicode).items()}


def upper(text: str, unicode: int) -> str:
    return text.upper().translate(_capital(unicode))


def lower(text: str, unicode: int) -> str:
    return text.lower().translate(_small(unicode))


def _cased(name: str, python: Callable[[str, int], str]) -> Compute:
    """Letters beyond ASCII may become several, and are changed by row."""
    in_ascii = getattr(pc, f"ascii_{name}")

    def compute(node: Expr, operands: list[Data]) -> Data:
        (data,) = operands
        if pc.all(pc.string_is_ascii(data), min_count=0).as_py():
            return in_ascii(data)
        unicode = node.option(UNICODE)
        return pa.array([None if each is None else python(each, unicode) for each in data.to_pylist()], node.type)

    return compute


declare("Upper", "upper({})", [of(Family.STRING)], _cased("upper", upper))
declare("Lower", "lower({})", [of(Family.STRING)], _cased("lower", lower))

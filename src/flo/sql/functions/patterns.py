"""LIKE, and upper and lower case."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions.texts import by_row, is_constant
from flo.sql.nodes import Node, SqlError
from flo.sql.registry import Compute, Data, Family, declare, of


def _like(node: Node, operands: list[Data]) -> Data:
    text, pattern = operands
    escape = node.option("escape", "\\")
    if is_constant(pattern) and not isinstance(text, pa.Scalar):
        if text.null_count == len(text):
            return pa.nulls(len(text), pa.bool_())
        # one character, any characters and plain ones mean the same to RE2 as to Java
        return pc.match_substring_regex(text, like_pattern(pattern.as_py(), escape))
    return by_row(lambda each, of: _compiled(of, escape).fullmatch(each) is not None, operands, pa.bool_())


@lru_cache(maxsize=1024)
def _compiled(pattern: str, escape: str) -> re.Pattern[str]:
    return re.compile(like_pattern(pattern, escape).removeprefix(r"(?s)\A").removesuffix(r"\z"), re.DOTALL)


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


NEWER = {
    0xA7DC: 0x19B,
    0xA7CB: 0x264,
    0x1C89: 0x1C8A,
    0xA7CC: 0xA7CD,
    0xA7CE: 0xA7CF,
    0xA7D2: 0xA7D3,
    0xA7D4: 0xA7D5,
    0xA7DA: 0xA7DB,
    **{0x10D50 + place: 0x10D70 + place for place in range(22)},
    **{0x16EA0 + place: 0x16EBB + place for place in range(25)},
}
"""Capital and small letters that Spark knows, and Python does not before some version: Unicode 15 to 17."""


def upper(text: str) -> str:
    return text.upper().translate(_CAPITAL)


def lower(text: str) -> str:
    return text.lower().translate(NEWER)


def capitalise(text: str) -> str:
    """initcap: words are what lies between spaces. The first letter is in title case: ǅ."""
    return " ".join(map(_capitalised, text.split(" ")))


def _capitalised(word: str) -> str:
    first = word[:1]
    return first.title().translate(_CAPITAL) + lower(word)[len(lower(first)) :]


_CAPITAL = {small: capital for capital, small in NEWER.items()}


def _cased(name: str, python: Callable[[str], str]) -> Compute:
    """Upper and lower case: letters beyond ASCII may become several, and are changed by row."""
    function = getattr(pc, f"ascii_{name}")

    def compute(node: Node, operands: list[Data]) -> Data:
        plain = pc.string_is_ascii(operands[0])
        if not pc.all(plain, min_count=0).as_py():
            return by_row(python, operands, node.type)
        return function(operands[0])

    return compute


TEXT = Family.STRING
declare("Like", "{} LIKE {}", [of(TEXT, TEXT)], _like)
declare("Upper", "upper({})", [of(TEXT)], _cased("upper", upper))
declare("InitCap", "initcap({})", [of(TEXT)], lambda node, operands: by_row(capitalise, operands, node.type))
declare("Lower", "lower({})", [of(TEXT)], _cased("lower", lower))

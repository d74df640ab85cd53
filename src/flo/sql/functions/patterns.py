"""LIKE, and upper and lower case."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions.texts import by_row, is_constant
from flo.sql.nodes import UNICODE, Node, SqlError
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


def capitalise(text: str, unicode: int) -> str:
    """initcap: words are what lies between spaces. The first letter is in title case: ǅ."""
    return " ".join(_capitalised(word, unicode) for word in text.split(" "))


def _capitalised(word: str, unicode: int) -> str:
    first = word[:1]
    return first.title().translate(_capital(unicode)) + lower(word, unicode)[len(lower(first, unicode)) :]


def _by_row(python: Callable[[str, int], str]) -> Compute:
    """Letters beyond ASCII may become several, and are changed by row."""

    def compute(node: Node, operands: list[Data]) -> Data:
        return by_row(lambda text: python(text, node.option(UNICODE)), operands, node.type)

    return compute


def _cased(name: str, python: Callable[[str, int], str]) -> Compute:
    """Upper and lower case."""
    in_ascii, in_unicode = getattr(pc, f"ascii_{name}"), _by_row(python)

    def compute(node: Node, operands: list[Data]) -> Data:
        plain = pc.all(pc.string_is_ascii(operands[0]), min_count=0).as_py()
        return in_ascii(operands[0]) if plain else in_unicode(node, operands)

    return compute


TEXT = Family.STRING
declare("Like", "{} LIKE {}", [of(TEXT, TEXT)], _like)
declare("Upper", "upper({})", [of(TEXT)], _cased("upper", upper))
declare("InitCap", "initcap({})", [of(TEXT)], _by_row(capitalise))
declare("Lower", "lower({})", [of(TEXT)], _cased("lower", lower))

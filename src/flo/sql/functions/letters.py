"""Upper and lower case, by the version of Unicode that Spark knows. TPC-DS compares names in both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import UNICODE, Node
from flo.sql.registry import Compute, Data, Family, declare, of

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

    def compute(node: Node, operands: list[Data]) -> Data:
        (data,) = operands
        if pc.all(pc.string_is_ascii(data), min_count=0).as_py():
            return in_ascii(data)
        unicode = node.option(UNICODE)
        return pa.array([None if each is None else python(each, unicode) for each in data.to_pylist()], node.type)

    return compute


declare("Upper", "upper({})", [of(Family.STRING)], _cased("upper", upper))
declare("Lower", "lower({})", [of(Family.STRING)], _cased("lower", lower))

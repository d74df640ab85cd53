"""Casts from and to strings. Strings are read by row, except integers that are written plainly.

A string is not cast to a timestamp here: one with only a time of day has the date of the day it is computed on.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import decimals
from flo.sql.functions.calendar import days_from_date, fields_of_days, is_date
from flo.sql.functions.rounding import nearest, nearest_single
from flo.sql.functions.zones import LOCAL, to_local
from flo.sql.nodes import Node, SqlError
from flo.sql.registry import LEGACY, Family, family_of, of

BLANK = "".join(map(chr, range(0x21))) + "\x7f"
"""Spaces and control characters, which casts ignore at both ends."""
JAVA_BLANK = BLANK[:-1]
"""What Java ignores at both ends of a number."""


def cast(node: Node, data: pa.Array) -> pa.Array:
    if not pa.types.is_string(data.type):
        return _to_text(node, data)
    if pa.types.is_binary(node.type):
        return pc.cast(data, node.type)
    if pa.types.is_integer(node.type):
        return _to_integer(node, data)
    parse = PARSERS[family_of(node.type)]
    found = [None if text is None else parse(text, node) for text in data.to_pylist()]
    return _checked(node, data, found)


def _checked(node: Node, data: pa.Array, found: list[Any]) -> pa.Array:
    """Return what was read; a string that could not be read is an error in ANSI mode."""
    if node.ansi:
        for text, value in zip(data.to_pylist(), found, strict=True):
            if value is None and text is not None:
                raise SqlError("CAST_INVALID_INPUT", f"{text!r} cannot be cast to {node.type}")
    if pa.types.is_decimal(node.type):
        return decimals.of_integers(found, node.type)
    if pa.types.is_date(node.type):
        return pc.cast(pa.array(found, pa.int32()), pa.date32())
    return pa.array(found, node.type)


# From strings

_WHOLE = re.compile(r"[+-]?[0-9]+")
_CUT = re.compile(r"([+-]?[0-9]*)(\.[0-9]*)?")
_NUMBER = re.compile(r"([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))(?:[eE]([+-]?\d{1,10}))?")
_FLOAT = re.compile(r"([+-]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?[0-9]+)[fFdD]?")
_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}


def _to_integer(node: Node, data: pa.Array) -> pa.Array:
    plain = pc.match_substring_regex(data, r"\A-?[0-9]{1,18}\z")
    if pc.all(plain, min_count=0).as_py():
        found = pc.cast(data, pa.int64())
        try:
            return pc.cast(found, node.type)
        except pa.ArrowInvalid:
            pass
    most = 2 ** (node.type.bit_width - 1)
    lenient = node.option("mode") == LEGACY

    def parse(text: str) -> int | None:
        text = text.strip(BLANK)
        if lenient:
            match = _CUT.fullmatch(text)
            if match is None or text in ("", "+", "-"):
                return None
            text = match[1] if match[1] not in ("", "+", "-") else "0"
        elif not _WHOLE.fullmatch(text):
            return None
        value = int(text) if len(text) < 4000 else most
        return value if -most <= value < most else None

    return _checked(node, data, [None if text is None else parse(text) for text in data.to_pylist()])


def _parse_boolean(text: str, node: Node) -> bool | None:
    text = text.strip(BLANK).lower()
    return True if text in ("t", "true", "y", "yes", "1") else False if text in ("f", "false", "n", "no", "0") else None


def _parse_float(text: str, node: Node) -> Any:
    near = nearest if pa.types.is_float64(node.type) else nearest_single
    text = text.strip(JAVA_BLANK)
    match = _FLOAT.fullmatch(text)
    if match is not None:
        return _near(match, 10, near)
    if (match := _HEXADECIMAL.fullmatch(text)) is not None and (match[2] or match[3]):
        exact = Fraction(int(match[2] + match[3] or "0", 16), 16 ** len(match[3])) * Fraction(2) ** int(match[4])
        value = near(exact.numerator, exact.denominator)
        return -value if match[1] == "-" else value
    return _SPECIAL.get(text.lower(), {"NaN": math.nan, "+NaN": math.nan, "-NaN": math.nan}.get(text))


def _near(match: re.Match[str], base: int, near: Callable[[int, int], Any]) -> Any:
    sign, whole, fraction, alone, exponent = match.groups()
    digits = (whole or "") + (fraction or alone or "")
    power = int(exponent or 0) - len(fraction or alone or "")
    digits = digits.lstrip("0") or "0"
    if power + len(digits) > 400:
        value = math.inf if digits != "0" else 0.0
    elif power + len(digits) < -400:
        value = 0.0
    else:
        value = near(int(digits) * base ** max(power, 0), base ** max(-power, 0))
    return -value if sign == "-" else value


def _parse_decimal(text: str, node: Node) -> int | None:
    """A number with any digits of Unicode. One that is too large is an error in ANSI mode."""
    match = _NUMBER.fullmatch(text.strip(JAVA_BLANK))
    if match is None:
        return None
    sign, whole, fraction, alone, exponent = match.groups()
    digits = (whole or "") + (fraction or alone or "")
    value = int("".join(str(unicodedata.digit(each)) for each in digits))
    scale = len(fraction or alone or "") - int(exponent or 0)
    kind: Any = node.type
    found: int
    if value and len(str(value)) - scale > decimals.DIGITS:
        if node.ansi:
            raise SqlError("NUMERIC_OUT_OF_SUPPORTED_RANGE", f"{text!r} has too many digits")
        return None
    if scale - kind.scale > len(digits) + 2:
        found = 0
    else:
        found = decimals.to_scale(value, scale, kind.scale)
    if found >= 10**kind.precision:
        if node.ansi:
            raise decimals.out_of_range(text, kind)
        return None
    return -found if sign == "-" else found


def _parse_date(text: str, node: Node) -> int | None:
    match = _DATE.fullmatch(text.strip(BLANK))
    if match is None:
        return None
    year = int(match[2]) * (-1 if match[1] == "-" else 1)
    month, day = int(match[3] or 1), int(match[4] or 1)
    days = days_from_date(year, month, day) if is_date(year, month, day) else 2**31
    return days if -(2**31) <= days < 2**31 else None


PARSERS: dict[Family | None, Callable[[str, Node], Any]] = {
    Family.BOOLEAN: _parse_boolean,
    Family.FLOAT: _parse_float,
    Family.DECIMAL: _parse_decimal,
    Family.DATE: _parse_date,
}


# To strings


def _to_text(node: Node, data: pa.Array) -> pa.Array:
    match family_of(data.type):
        case Family.DATE:
            return _dates_to_text(data)
        case Family.TIMESTAMP:
            return _times_to_text(to_local(data, node.option("zone")))
        case Family.LOCAL:
            return _times_to_text(data)
        case Family.DECIMAL if node.option("mode") != LEGACY:
            return _plain_decimals(data)
    return pc.cast(data, node.type)


def _plain_decimals(data: pa.Array) -> pa.Array:
    """Return decimals without an exponent. Arrow writes one for very small numbers: those by row."""
    found = pc.cast(data, pa.string())
    if not pc.any(pc.match_substring(found, "E"), min_count=0).as_py():
        return found
    return pa.array([None if each is None else f"{each:f}" for each in data.to_pylist()], pa.string())


def _dates_to_text(data: pa.Array) -> pa.Array:
    years = pc.year(data)
    if pc.all(pc.and_(pc.greater_equal(years, 0), pc.less_equal(years, 9999)), min_count=0).as_py():
        return pc.cast(data, pa.string())
    return pa.array([None if each is None else _day_text(each) for each in pc.cast(data, pa.int32()).to_pylist()])


def _day_text(days: int) -> str:
    year, month, day = fields_of_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _times_to_text(local: pa.Array) -> pa.Array:
    """Local times, with as many digits of the second as it has."""
    days = pc.cast(pc.floor_temporal(local, unit="day"), pa.date32())
    rest = pc.cast(pc.cast(pc.subtract(local, pc.cast(days, LOCAL)), pa.int64()), LOCAL)
    times = pc.utf8_slice_codeunits(pc.cast(rest, pa.string()), 11, 32)  # on 1970-01-01
    times = pc.utf8_rtrim(pc.utf8_rtrim(times, "0"), ".")
    return pc.binary_join_element_wise(_dates_to_text(days), times, pa.scalar(" "))


SIGNATURES = [
    *(of(each, to=Family.STRING) for each in (Family.INTEGER, Family.DECIMAL, Family.BOOLEAN)),
    *(of(each, to=Family.STRING) for each in (Family.DATE, Family.TIMESTAMP, Family.LOCAL)),
    *(
        of(Family.STRING, to=each)
        for each in (Family.INTEGER, Family.FLOAT, Family.DECIMAL, Family.BOOLEAN, Family.DATE)
    ),
    of(Family.STRING, to=Family.BINARY),
]

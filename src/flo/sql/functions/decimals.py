"""Decimals as Spark computes them: exactly, then rounded half up to the scale of the result.

Spark rounds products to 38 digits and quotients to 38 places before it rounds them to the scale of the result. The
columns take the fast path if the numbers in them are small enough that this makes no difference; otherwise each row is
computed with Python's integers.

Arrow's division of 256 bits is wrong for some divisors of more than 32 bits (seen in version 26). So it divides by
powers of ten in steps of nine digits here, and other quotients are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import Expr, SqlError
from flo.sql.registry import ANSI, LEGACY, Data, Family, constant, declare, of

WIDEST, DIGITS = 76, 38
"""The digits of 256 bits, and those that Spark has."""


def is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind))


def widen(data: Data) -> Data:
    """Return decimals with 256 bits."""
    return pc.cast(data, pa.decimal256(data.type.precision, data.type.scale))


def out_of_range(value: object, kind: pa.DataType) -> SqlError:
    return SqlError(
        "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        f"{value} cannot be represented as Decimal({kind.precision}, {kind.scale})",
    )


def fit(data: pa.Array, node: Expr, *, always: bool = False) -> pa.Array:
    """Return decimals rounded half up to a type; those that do not fit raise in ANSI mode, and are null otherwise.

    Some functions of Spark raise `always`, with another condition."""
    kind = node.type
    if data.type.scale > kind.scale:
        data = rounded(data, kind.scale)
    try:
        return pc.cast(data, kind)
    except pa.ArrowInvalid:
        limit = pa.scalar(10 ** (kind.precision - kind.scale), pa.decimal256(kind.precision - kind.scale + 1, 0))
        bad = pc.greater_equal(pc.abs(data), limit)
        if always:
            raise SqlError("NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION", f"a value does not fit {kind}") from None
        if node.ansi:
            raise out_of_range(data.filter(bad)[0].as_py(), kind) from None
        return pc.cast(pc.if_else(bad, pa.scalar(None, data.type), data), kind)


def rounded(data: pa.Array, places: int, mode: str = "half_up") -> pa.Array:
    """Return decimals with fewer places: half_up or trunc."""
    return rescaled(drop_digits(unscaled(data), data.type.scale - places, mode), WIDEST, places)


def drop_digits(data: pa.Array, count: int, mode: str) -> pa.Array:
    """Return whole numbers without their last digits, half_up or trunc: 1250 without two is 13 or 12."""
    if count <= 0:
        return data
    if mode == "half_up":
        negative = pc.less(data, _whole(0))
        half = pc.if_else(negative, _whole(-5 * 10 ** (count - 1)), _whole(5 * 10 ** (count - 1)))
        return _truncated(pc.add(rescaled(data, WIDEST - 1, 0), half), count)
    return _truncated(data, count)


def _whole(number: int) -> pa.Scalar:
    return pa.scalar(number, pa.decimal256(WIDEST - 1, 0))


def _truncated(data: pa.Array, count: int) -> pa.Array:
    while count:
        step = min(count, 9)
        data = pc.cast(rescaled(data, WIDEST, step), pa.decimal256(WIDEST, 0), safe=False)
        count -= step
    return data


def _words(data: pa.Array) -> npt.NDArray[np.uint64]:
    """Return the words of 64 bits of decimals, the lowest first."""
    words = np.frombuffer(data.buffers()[1], "<u8").reshape(-1, data.type.bit_width // 64)
    return words[data.offset : data.offset + len(data)]


# Unscaled numbers


def unscaled(data: pa.Array) -> pa.Array:
    """Return decimals as whole numbers: 1.50 is 150. No number is copied."""
    return rescaled(data if pa.types.is_decimal256(data.type) else widen(data), WIDEST, 0)


def rescaled(data: pa.Array, precision: int, scale: int) -> pa.Array:
    """Return the same digits with another precision and scale."""
    return pa.Array.from_buffers(pa.decimal256(precision, scale), len(data), data.buffers(), -1, data.offset)


def most_digits(data: pa.Array) -> int:
    """Return how many digits the largest of these whole numbers has."""
    ends = pc.min_max(data)
    return max(len(str(abs(int(each.as_py() or 0)))) for each in (ends["min"], ends["max"]))


def integers(data: Data, count: int) -> list[int | None]:
    """Return decimals as unscaled Python integers."""
    if isinstance(data, pa.Scalar):
        return integers(pa.repeat(data, 1), 1) * count
    words = _words(data)
    values = words[:, -1].astype("<i8").astype(object)
    for place in range(words.shape[1] - 2, -1, -1):
        values = (values << 64) + words[:, place].astype(object)
    return [value if there else None for value, there in zip(values, data.is_valid().to_pylist(), strict=True)]


def of_integers(values: list[int | None], kind: pa.DataType) -> pa.Array:
    """Return unscaled integers as decimals that hold them."""
    raw = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in values)
    there = pa.array([value is not None for value in values], pa.bool_())
    data = pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(raw)])
    return pc.if_else(there, data, pa.scalar(None, kind))


def size_of(*operands: Data) -> int:
    return next(len(each) for each in operands if not isinstance(each, pa.Scalar))


def half_up(above: int, below: int) -> int:
    """Return above / below rounded half up, away from zero."""
    whole, rest = divmod(abs(above), abs(below))
    whole += 2 * rest >= abs(below)
    return whole if (above < 0) == (below < 0) else -whole


def to_scale(value: int, scale: int, wanted: int) -> int:
    """Return an unscaled number at another scale, rounded half up."""
    return value * 10 ** (wanted - scale) if wanted >= scale else half_up(value, 10 ** (scale - wanted))


def to_digits(value: int, scale: int) -> tuple[int, int]:
    """Return an unscaled number and its scale, rounded half up to 38 digits."""
    more = len(str(abs(value))) - DIGITS
    if more <= 0:
        return value, scale
    return to_digits(half_up(value, 10**more), scale - more)


def by_row(node: Expr, operands: list[Data], function: Callable[..., int | None]) -> Data:
    """Return the function of each row's unscaled numbers, which gives an unscaled number of the node's type."""
    count = size_of(*operands)
    columns = [integers(each, count) for each in operands]
    kind, limit = node.type, 10**node.type.precision
    results: list[int | None] = []
    for row in zip(*columns, strict=True):
        value = None if None in row else function(*row)
        if value is not None and abs(value) >= limit:
            if node.ansi:
                raise out_of_range(f"{value}e-{kind.scale}", kind)
            value = None
        results.append(value)
    return of_integers(results, kind)


# Arithmetic


def add(node: Expr, left: Data, right: Data, *, subtract: bool = False) -> Data:
    function = pc.subtract if subtract else pc.add
    one, other = left.type, right.type
    scale = max(one.scale, other.scale)
    if scale == node.type.scale and max(one.precision - one.scale, other.precision - other.scale) + scale < DIGITS:
        return pc.cast(function(left, right), node.type)  # the sum fits into its type
    return fit(function(widen(left), widen(right)), node)


def multiply(node: Expr, left: Data, right: Data) -> Data:
    one, other = left.type, right.type
    if one.precision + other.precision + 1 <= DIGITS:
        return fit(pc.multiply(left, right), node)
    if one.precision + other.precision + 1 <= WIDEST:
        product = pc.multiply(widen(left), widen(right))
        if most_digits(unscaled(product)) <= DIGITS:
            return fit(product, node)
    scale, wanted = one.scale + other.scale, node.type.scale
    return by_row(node, [left, right], lambda a, b: to_scale(*to_digits(a * b, scale), wanted))


def divide(node: Expr, left: Data, right: Data) -> Data:
    """Division: rounded half up to 38 places, and then to the scale of the result.

    Arrow truncates quotients. Divided with as many places more as the divisor has digits, and one, a truncated quotient
    is rounded half up as the exact one is. To round to 38 places first changes nothing if the divisor has at most as
    many digits as lie between the scale of the result and 38."""
    count, scale = size_of(left, right), node.type.scale
    shift = scale + right.type.scale - left.type.scale
    above, below = (unscaled(pa.repeat(each, count) if isinstance(each, pa.Scalar) else each) for each in (left, right))
    one, other = most_digits(above) + max(shift, 0), most_digits(below) + max(-shift, 0)
    if one + other + 1 > WIDEST or other > DIGITS - scale:
        return by_row(node, [left, right], lambda a, b: _quotient(a, b, shift, scale))
    above = _times(above, max(shift, 0), max(one, 3))
    below = _times(below, max(-shift, 0), other)
    # the places that Arrow adds follow from the precisions and scales: `other` + 1 in all
    quotient = rescaled(pc.divide(rescaled(above, max(one, 3), 3), rescaled(below, other, other)), WIDEST, 0)
    if other > 9 and not _is_quotient(quotient, _times(above, other + 1, one + other + 1), below, other):
        return by_row(node, [left, right], lambda a, b: _quotient(a, b, shift, scale))
    return fit(rescaled(drop_digits(quotient, other + 1, "half_up"), WIDEST, scale), node)


def _is_quotient(data: pa.Array, above: pa.Array, below: pa.Array, digits: int) -> bool:
    """Return whether all of these are the quotients of whole numbers, without the rest."""
    product = pc.multiply(rescaled(data, WIDEST - digits - 1, 0), rescaled(below, digits, 0))
    rest = pc.subtract(rescaled(above, WIDEST - 1, 0), rescaled(product, WIDEST - 1, 0))
    small = pc.less(pc.abs(rest), pc.abs(below))
    same_side = pc.or_(pc.equal(rest, _whole(0)), pc.equal(pc.less(rest, _whole(0)), pc.less(above, _whole(0))))
    return bool(pc.all(pc.and_(small, same_side), min_count=0).as_py())


def _times(data: pa.Array, shift: int, digits: int) -> pa.Array:
    """Return whole numbers multiplied by a power of ten; the results have so many digits."""
    if not shift:
        return data
    small = rescaled(data, min(max(digits - shift, 1), WIDEST - shift - 2), 0)
    return rescaled(pc.multiply(small, pa.scalar(10**shift, pa.decimal256(shift + 1, 0))), WIDEST, 0)


def _quotient(left: int, right: int, shift: int, scale: int) -> int:
    """Return left / right at a scale, rounded to 38 places before."""
    power = shift + DIGITS - scale
    above, below = (left * 10**power, right) if power >= 0 else (left, right * 10**-power)
    return to_scale(half_up(above, below), DIGITS, scale)


def _round(node: Expr, operands: list[Data]) -> Data:
    data, places = operands[0], operands[1].as_py()
    if places is None:
        return pa.nulls(len(data), node.type)
    return fit(rounded(data, places) if places < data.type.scale else widen(data), node, always=True)


_ROUNDED = replace(
    of(Family.DECIMAL, constant(Family.INTEGER)), only=lambda node: (node.children[1].option("value") or 0) >= 0
)
"""A decimal, and a constant number of places after the point."""
declare("Round", "round({}, {})", [_ROUNDED], _round, modes=(ANSI, LEGACY))

"""Arithmetic of Spark SQL: integers are checked in ANSI mode; division by zero is an error, or null otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import decimals
from flo.sql.functions.decimals import is_decimal, size_of
from flo.sql.nodes import Node, SqlError, as_array
from flo.sql.registry import ANSI, LEGACY, MODES, NUMBERS, Compute, Data, Family, declare, of, twice

LEAST = {8: -(2**7), 16: -(2**15), 32: -(2**31), 64: -(2**63)}
"""The smallest integer of so many bits."""


def overflow(kind: pa.DataType) -> SqlError:
    narrow = pa.types.is_int8(kind) or pa.types.is_int16(kind)
    return SqlError("BINARY_ARITHMETIC_OVERFLOW" if narrow else "ARITHMETIC_OVERFLOW", f"overflow of {kind}")


def is_any(data: Data) -> bool:
    """Return whether a condition holds for a row."""
    return bool(data.as_py() if isinstance(data, pa.Scalar) else pc.any(data, min_count=0).as_py())


def null_where(bad: Data, data: Data) -> Data:
    return pc.if_else(pc.fill_null(bad, False), pa.scalar(None, data.type), data)


# Sums and products


def _checked(name: str, of_decimals: Callable[[Node, Data, Data], Data], overflows: Callable[..., Data]) -> Compute:
    exact, wrapping = getattr(pc, f"{name}_checked"), getattr(pc, name)

    def compute(node: Node, operands: list[Data]) -> Data:
        left, right = operands
        if is_decimal(node.type):
            return of_decimals(node, left, right)
        if pa.types.is_duration(node.type):
            return _as_micros(exact, node, operands)
        if pa.types.is_floating(node.type) or node.option("mode") == LEGACY:
            return wrapping(left, right)
        try:
            return exact(left, right)
        except pa.ArrowInvalid:
            if node.ansi:
                raise overflow(node.type) from None
        found = wrapping(left, right)
        return null_where(overflows(left, right, found), found)

    return compute


def _added_wrong(left: Data, right: Data, found: Data) -> Data:
    """The sign of the sum differs from those of both operands."""
    wrong = pc.bit_wise_and(pc.bit_wise_xor(left, found), pc.bit_wise_xor(right, found))
    return pc.less(wrong, pa.scalar(0, found.type))


def _subtracted_wrong(left: Data, right: Data, found: Data) -> Data:
    wrong = pc.bit_wise_and(pc.bit_wise_xor(left, right), pc.bit_wise_xor(left, found))
    return pc.less(wrong, pa.scalar(0, found.type))


def _multiplied_wrong(left: Data, right: Data, found: Data) -> Data:
    """The product divided by a factor is not the other factor."""
    zero, one = pa.scalar(0, found.type), pa.scalar(-1, found.type)
    special = pc.or_(pc.equal(right, zero), pc.equal(right, one))
    divisor = pc.if_else(special, pa.scalar(1, found.type), right)
    least = pa.scalar(LEAST[found.type.bit_width], found.type)
    negated = pc.and_(pc.equal(right, one), pc.equal(left, least))
    return pc.or_(negated, pc.and_(pc.invert(special), pc.not_equal(pc.divide(found, divisor), left)))


# Divisions


def _without_zero(node: Node, left: Data, right: Data, condition: str = "DIVIDE_BY_ZERO") -> Data:
    """Return the divisors, null where they are zero; in ANSI mode that is an error if there is something to divide."""
    zero = pc.equal(right, pa.scalar(0, right.type))
    if not is_any(zero):
        return right
    if node.ansi and is_any(pc.and_(zero, pc.is_valid(left))):
        raise SqlError(condition, "division by zero")
    return null_where(zero, right)


def _divide(node: Node, operands: list[Data]) -> Data:
    left, right = operands
    right = _without_zero(node, left, right)
    return decimals.divide(node, left, right) if is_decimal(node.type) else pc.divide(left, right)


def _integral_divide(node: Node, operands: list[Data]) -> Data:
    left, right = operands
    right = _without_zero(node, left, right)
    least = pc.and_(pc.equal(left, pa.scalar(LEAST[64], left.type)), pc.equal(right, pa.scalar(-1, right.type)))
    if is_any(least):
        if node.ansi:
            raise overflow(node.type)
        if node.option("mode") == LEGACY:  # -2**63 / -1 is -2**63
            right = pc.if_else(pc.fill_null(least, False), pa.scalar(1, right.type), right)
        else:
            right = null_where(least, right)
    return pc.divide(left, right)  # truncates towards zero


def _remainder(node: Node, operands: list[Data]) -> Data:
    left, right = operands
    right = _without_zero(node, left, right, "REMAINDER_BY_ZERO")
    return _rest(node, left, right)


def _rest(node: Node, left: Data, right: Data) -> Data:
    """Return what is left of a division, with the sign of the dividend."""
    if is_decimal(left.type):
        return _decimal_rest(node, left, right, _signed_rest)
    if pa.types.is_floating(left.type):
        return by_numpy(np.fmod, left, right)
    minus_one = pc.equal(right, pa.scalar(-1, right.type))
    right = pc.if_else(minus_one, pa.scalar(1, right.type), right)  # -2**63 / -1 has no result
    return pc.subtract(left, pc.multiply(pc.divide(left, right), right))


def _pmod(node: Node, operands: list[Data]) -> Data:
    """The remainder r, or (r + divisor) % divisor if that is negative."""
    left, right = operands
    right = _without_zero(node, left, right, "REMAINDER_BY_ZERO")
    if is_decimal(left.type):
        return _decimal_rest(node, left, right, _positive_rest)
    if left.type.bit_width < 32:  # Java computes with 32 bits
        left, right = (pc.cast(each, pa.int32()) for each in (left, right))
    rest = _rest(node, left, right)
    negative = pc.less(rest, pa.scalar(0, rest.type))
    return pc.cast(pc.if_else(negative, _rest(node, pc.add(rest, right), right), rest), node.type)


def _signed_rest(a: int, b: int) -> int:
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def _positive_rest(a: int, b: int) -> int:
    rest = _signed_rest(a, b)
    return _signed_rest(rest + b, b) if rest < 0 else rest


def _decimal_rest(node: Node, left: Data, right: Data, rest: Callable[[int, int], int]) -> Data:
    """The rest of decimals. Rare: by row."""
    one, other, wanted = left.type.scale, right.type.scale, node.type.scale
    scale = max(one, other)
    return decimals.by_row(
        node,
        [left, right],
        lambda a, b: decimals.to_scale(rest(a * 10 ** (scale - one), b * 10 ** (scale - other)), scale, wanted),
    )


def by_numpy(function: Any, *operands: Data) -> pa.Array:
    """Return a function of NumPy on columns of floats."""
    count, kind = size_of(*operands), operands[0].type
    arrays = [as_array(each, count) for each in operands]
    there = reduce(pc.and_, (each.is_valid() for each in arrays))
    numbers = [each.fill_null(1.0).to_numpy(zero_copy_only=False) for each in arrays]
    with np.errstate(all="ignore"):
        found = function(*numbers)
    return pc.if_else(there, pa.array(found, kind), pa.scalar(None, kind))


# Signs


def _unary(name: str) -> Compute:
    exact, wrapping = getattr(pc, f"{name}_checked"), getattr(pc, name)

    def compute(node: Node, operands: list[Data]) -> Data:
        (data,) = operands
        if is_decimal(data.type):
            return _decimal_sign(node, data, name)
        if pa.types.is_duration(data.type):
            return _as_micros(lambda one: exact(one), node, operands)
        if pa.types.is_floating(data.type):
            return wrapping(data)
        try:
            return exact(data)
        except pa.ArrowInvalid:
            if node.ansi:
                raise overflow(pa.int64()) from None
            return wrapping(data)

    return compute


def _decimal_sign(node: Node, data: pa.Array, name: str) -> Data:
    """The negative or absolute value. Spark rounds the one to 34 digits, half to even. More digits are rare: by row."""
    if decimals.most_digits(decimals.unscaled(data)) <= 34:
        return pc.cast(getattr(pc, name)(data), node.type)

    def negated(value: int) -> int:
        more = len(str(abs(value))) - 34
        if more <= 0:
            return -value
        unit: int = 10**more
        whole, rest = divmod(abs(value), unit)
        whole += 2 * rest > unit or (2 * rest == unit and whole % 2)
        return whole * unit * (-1 if value > 0 else 1)

    values = decimals.integers(data, len(data))
    change = negated if name == "negate" else lambda value: negated(value) if value < 0 else value
    found = decimals.of_large_integers([None if each is None else change(each) for each in values])
    return decimals.fit(decimals.rescaled(found, decimals.WIDEST, node.type.scale), node, always=True)


def _as_micros(function: Any, node: Node, operands: list[Data]) -> Data:
    """Intervals are checked in all modes."""
    try:
        return pc.cast(function(*(pc.cast(each, pa.int64()) for each in operands)), node.type)
    except pa.ArrowInvalid:
        raise SqlError("INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION", "overflow of an interval") from None


def _shift(name: str) -> Compute:
    """Shifts: the distance counts modulo the number of bits, as in Java."""

    def compute(node: Node, operands: list[Data]) -> Data:
        data, distance = operands
        bits = pa.scalar(data.type.bit_width - 1, distance.type)
        steps = pc.cast(pc.bit_wise_and(distance, bits), data.type)
        if name == "right_unsigned":
            unsigned = pa.uint32() if data.type.bit_width == 32 else pa.uint64()
            found = pc.shift_right(pc.cast(data, unsigned, safe=False), pc.cast(steps, unsigned))
            return pc.cast(found, data.type, safe=False)
        shift = pc.shift_left if name == "left" else pc.shift_right
        first = pc.min_element_wise(steps, pa.scalar(data.type.bit_width - 2, data.type), skip_nulls=False)
        return shift(shift(data, first), pc.subtract(steps, first))  # Arrow does not shift by all bits but the sign

    return compute


def _bits(function: Any) -> Compute:
    return lambda node, operands: function(*operands)


_INTEGERS = of(Family.INTEGER, Family.INTEGER)
_INTERVALS = of(Family.INTERVAL, Family.INTERVAL, modes=(ANSI, LEGACY))
declare(
    "Add",
    "{} + {}",
    [*twice(*NUMBERS), _INTERVALS],
    _checked("add", decimals.add, _added_wrong),
    modes=MODES,
    try_sql="try_add({}, {})",
)
declare(
    "Subtract",
    "{} - {}",
    [*twice(*NUMBERS), _INTERVALS],
    _checked("subtract", lambda node, a, b: decimals.add(node, a, b, subtract=True), _subtracted_wrong),
    modes=MODES,
    try_sql="try_subtract({}, {})",
)
declare(
    "Multiply",
    "{} * {}",
    twice(*NUMBERS),
    _checked("multiply", decimals.multiply, _multiplied_wrong),
    modes=MODES,
    try_sql="try_multiply({}, {})",
)
declare(
    "Divide",
    "{} / {}",
    twice(Family.FLOAT, Family.DECIMAL),
    _divide,
    modes=MODES,
    try_sql="try_divide({}, {})",
    first=(1, 0),
)
declare(
    "IntegralDivide",
    "{} div {}",
    twice(Family.INTEGER),
    _integral_divide,
    modes=(ANSI, LEGACY),
    first=(1, 0),
)
declare(
    "Remainder",
    "{} % {}",
    twice(*NUMBERS),
    _remainder,
    modes=MODES,
    try_sql="try_mod({}, {})",
    first=(1, 0),
)
declare("Pmod", "pmod({}, {})", twice(*NUMBERS), _pmod, modes=(ANSI, LEGACY), first=(1, 0))
declare("UnaryMinus", "-{}", [of(each) for each in (*NUMBERS, Family.INTERVAL)], _unary("negate"), modes=(ANSI, LEGACY))
declare("Abs", "abs({})", [of(each) for each in NUMBERS], _unary("abs"), modes=(ANSI, LEGACY))
declare("BitwiseAnd", "{} & {}", [_INTEGERS], _bits(pc.bit_wise_and))
declare("BitwiseOr", "{} | {}", [_INTEGERS], _bits(pc.bit_wise_or))
declare("BitwiseXor", "{} ^ {}", [_INTEGERS], _bits(pc.bit_wise_xor))
declare("BitwiseNot", "~{}", [of(Family.INTEGER)], _bits(pc.bit_wise_not))
declare("ShiftLeft", "shiftleft({}, {})", [_INTEGERS], _shift("left"))
declare("ShiftRight", "shiftright({}, {})", [_INTEGERS], _shift("right"))
declare("ShiftRightUnsigned", "shiftrightunsigned({}, {})", [_INTEGERS], _shift("right_unsigned"))

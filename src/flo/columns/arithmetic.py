"""Arithmetic and comparisons on Arrow columns, as column expressions define them.

Integers are computed in 64 bits with overflow checks: narrower columns are widened first, and a result out of range is
an error. With an unsigned 64-bit operand the result is unsigned, unless the other operand is signed. Columns of
`decimal128(38, 0)`, which have sums of integers, are integers with 38 digits. Sums and products of decimals are exact.
Combined with a float, an integer or a decimal is rounded to the nearest float; comparisons of integers are exact.
Integer `//` and `%` round towards minus infinity, as in Python. Division by zero: `/` follows IEEE 754 (`inf`, `-inf`,
`nan`), `//` and `%` are null. Dates and times beyond the years 1 to 9999 are an error.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.nodes import Data
from flo.core.errors import ElementError

"""A column, or one value for all rows."""
Binary: TypeAlias = Callable[[Data, Data], Data]
WIDE = pa.decimal128(38, 0)
"""The type of integers with 38 digits."""
EXACT = 2**53
"""Integers up to here are exact as floats."""
INTEGERS = frozenset(pa.type_for_alias(f"{sign}int{bits}").id for sign in ("", "u") for bits in (8, 16, 32, 64))
"""The ids of integer types."""
PLAIN = frozenset(kind.id for kind in (pa.int64(), pa.uint64(), pa.float32(), pa.float64()))
"""The ids of types that need no conversion if both operands have the same."""
FIRST_DAY, END_DAY = -719_162, 2_932_897
"""0001-01-01 and the day after 9999-12-31, in days since 1970-01-01."""
PER_DAY = {unit: 86_400 * count for unit, count in (("s", 1), ("ms", 10**3), ("us", 10**6))}
"""Units of time in a day. Nanoseconds in 64 bits stay within the years."""


def is_wide(kind: pa.DataType) -> bool:
    return bool(kind == WIDE)


def is_whole(kind: pa.DataType) -> bool:
    """Return whether it is an integer type, of 64 bits or of 38 digits."""
    return kind.id in INTEGERS or is_wide(kind)


def literal(value: object) -> pa.Scalar:
    """Convert a Python value to a scalar. An integer above the signed range is unsigned."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        if not 0 <= value < 2**64:
            raise OverflowError(f"the integer {value} does not fit into 64 bits")
        return pa.scalar(value, pa.uint64())
    return pa.scalar(value)


def to_float(data: Data, kind: pa.DataType) -> Data:
    """Return the nearest floats. Arrow rounds decimals twice, but it reads their texts exactly."""
    if pa.types.is_decimal(data.type):
        return pc.cast(pc.cast(data, pa.string()), kind)
    return pc.cast(data, kind, safe=False)


def alike(left: Data, right: Data) -> tuple[Data, Data]:
    """Convert two numeric operands to a common type; return others unchanged."""
    one, other = left.type, right.type
    if one.id == other.id and one.id in PLAIN:
        return left, right
    if is_whole(one) and is_whole(other):
        if is_wide(one) and is_wide(other):
            return left, right
        kind = _common(left, right)
        return _whole(left, kind), _whole(right, kind)
    if is_whole(one) and pa.types.is_floating(other):
        return to_float(left, other), right
    if pa.types.is_floating(one) and is_whole(other):
        return left, to_float(right, one)
    if pa.types.is_decimal(one) and pa.types.is_floating(other):
        return to_float(left, pa.float64()), right
    if pa.types.is_floating(one) and pa.types.is_decimal(other):
        return left, to_float(right, pa.float64())
    return left, right


def same_type(left: Data, right: Data) -> tuple[Data, Data]:
    """Return both in one type; what is only nulls takes the type of the other."""
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        kind = right.type if pa.types.is_null(left.type) else left.type
        return left.cast(kind), right.cast(kind)
    return alike(left, right)


def _common(left: Data, right: Data) -> pa.DataType:
    """Return the common type of integers. A non-negative literal takes the sign of the other operand."""
    if is_wide(left.type) or is_wide(right.type):
        return WIDE
    if not (pa.types.is_uint64(left.type) or pa.types.is_uint64(right.type)):
        return pa.int64()
    return pa.uint64() if all(map(_may_be_unsigned, (left, right))) else pa.int64()


def _may_be_unsigned(data: Data) -> bool:
    if isinstance(data, pa.Scalar) and pa.types.is_signed_integer(data.type):
        return data.as_py() is None or data.as_py() >= 0
    return bool(pa.types.is_unsigned_integer(data.type))


def _whole(data: Data, kind: pa.DataType) -> Data:
    if data.type == kind:
        return data
    return _checked(lambda: pc.cast(data, kind))


def widened(data: Data) -> Data:
    """Widen integers to 64 bits; return anything else unchanged."""
    narrow = pa.types.is_integer(data.type) and data.type.bit_width < 64
    return pc.cast(data, pa.int64()) if narrow else data


def _checked(compute: Callable[[], Data]) -> Data:
    try:
        return compute()
    except pa.ArrowInvalid as error:
        raise ElementError(_range_error(str(error))) from None


def _range_error(reason: str) -> str:
    if "overflow" in reason or "not in range" in reason or "does not fit" in reason:
        return "integer out of range"
    return reason


def _arithmetic(checked: str, on_wide: Binary) -> Binary:
    function = getattr(pc, checked)

    def compute(left: Data, right: Data) -> Data:
        left, right = alike(left, right)
        if left.type.id in PLAIN and right.type.id in PLAIN:
            return _checked(lambda: function(left, right))
        if is_wide(left.type) and is_wide(right.type):
            return _checked(lambda: pc.cast(on_wide(left, right), WIDE))
        if _is_text(left.type) and _is_text(right.type):
            raise TypeError("there is no arithmetic of texts; nw.concat_str(…) joins them")
        if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
            return _checked(lambda: _of_decimals(function, left, right))
        return in_calendar(_checked(lambda: function(left, right)))

    return compute


def in_calendar(data: Data) -> Data:
    """Return the data. Raise if it has a date or time beyond the years 1 to 9999, which Python does not have."""
    kind = data.type
    per_day = 1 if pa.types.is_date32(kind) else PER_DAY.get(kind.unit) if pa.types.is_timestamp(kind) else None
    if per_day is not None:
        numbers = pc.cast(data, pa.int32() if per_day == 1 else pa.int64())
        bounds = pc.min_max(numbers).as_py() if isinstance(data, pa.Array) else {"min": numbers.as_py()}
        known = [each for each in bounds.values() if each is not None]
        if not all(FIRST_DAY * per_day <= each < END_DAY * per_day for each in known):
            raise ElementError("a time must be in the years 1 to 9999")
    return data


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _of_decimals(function: Binary, left: Data, right: Data) -> Data:
    """Compute with decimals. Sums, differences and products with integers that may have more than 38 digits are
    computed in 256 bits and must fit into 38."""
    try:
        return function(left, right)
    except pa.ArrowInvalid as error:
        if "precision out of range" not in str(error):
            raise
    if not (function in (pc.add_checked, pc.subtract_checked) or is_whole(left.type) or is_whole(right.type)):
        raise TypeError(
            f"the result of {left.type} and {right.type} may have more than 38 digits; "
            "use cast(nw.Decimal(18, 4)) or cast(nw.Float64) first"
        )
    wide = [_decimal_256(each) for each in (left, right)]
    return pc.cast(function(*wide), pa.decimal128(38, max(each.type.scale for each in wide)))


def _decimal_256(data: Data) -> Data:
    if pa.types.is_integer(data.type):
        return pc.cast(data, pa.decimal256(20 if pa.types.is_uint64(data.type) else 19, 0))
    return pc.cast(data, pa.decimal256(data.type.precision, data.type.scale))


def _as_256(data: Data, digits: int = 38) -> Data:
    return pc.cast(data, pa.decimal256(digits, 0))


add = _arithmetic("add_checked", lambda x, y: pc.add(_as_256(x), _as_256(y)))
subtract = _arithmetic("subtract_checked", lambda x, y: pc.subtract(_as_256(x), _as_256(y)))
multiply = _arithmetic("multiply_checked", lambda x, y: _wide_product(x, y))
_power = _arithmetic("power_checked", lambda x, y: _no_wide("**"))


def power(left: Data, right: Data) -> Data:
    """`**`: a float if an operand is a decimal or a float."""
    if any(pa.types.is_decimal(each.type) and not is_wide(each.type) for each in (left, right)):
        left, right = (to_float(each, pa.float64()) for each in (left, right))
    return _power(left, right)


def _wide_product(left: Data, right: Data) -> Data:
    """Multiply in 256 bits. Arrow allows 76 digits in total; if the product fits, one factor has at most 19."""
    least = pc.min_element_wise(pc.abs(left), pc.abs(right))
    small = pc.equal(pc.abs(left), least)
    factor, other = pc.if_else(small, left, right), pc.if_else(small, right, left)
    return pc.multiply(_as_256(factor, 37), _as_256(other))


def _no_wide(operation: str) -> Data:
    raise TypeError(f"`{operation}` does not support {WIDE}; use cast(nw.Int64) or cast(nw.Float64) first")


def negate(data: Data) -> Data:
    if pa.types.is_uint64(data.type):
        data = _whole(data, pa.int64())
    return _checked(lambda: pc.negate_checked(widened(data)))


def absolute(data: Data) -> Data:
    return _checked(lambda: pc.abs_checked(widened(data)))


def divide(left: Data, right: Data) -> Data:
    """`/`: integers give a float. Decimals have no infinities, so by zero they give null."""
    if is_whole(left.type) and is_whole(right.type):
        return pc.divide(to_float(left, pa.float64()), to_float(right, pa.float64()))
    if gives_decimals(left, right):
        zero = pa.scalar(Decimal(0) if pa.types.is_decimal(right.type) else 0, right.type)
        return _of_decimals(pc.divide, *alike(left, _null_where(pc.equal(right, zero), right)))
    left, right = alike(left, right)
    if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
        return _of_decimals(pc.divide, left, right)
    return pc.divide(left, right)


def gives_decimals(left: Data, right: Data) -> bool:
    """Return whether a quotient is a decimal: one operand is, and the other is no float."""
    kinds = (left.type, right.type)
    fractional = any(pa.types.is_decimal(kind) and not is_wide(kind) for kind in kinds)
    return fractional and all(pa.types.is_decimal(kind) or pa.types.is_integer(kind) for kind in kinds)


def floor_divide(left: Data, right: Data) -> Data:
    left, right = _expect_divisible("//", left, right)
    zero = pc.equal(right, pa.scalar(0, right.type))
    divisor = pc.if_else(zero, pa.scalar(1, right.type), right)
    if not pa.types.is_integer(left.type):
        return _null_where(zero, pc.floor(pc.divide(left, divisor)))
    quotient = _checked(lambda: pc.divide_checked(left, divisor))
    if pa.types.is_signed_integer(left.type):
        inexact = pc.not_equal(pc.multiply(quotient, divisor), left)
        rounded_up = pc.and_(inexact, _signs_differ(left, divisor))
        quotient = pc.if_else(rounded_up, pc.subtract(quotient, 1), quotient)
    return _null_where(zero, quotient)


def remainder(left: Data, right: Data) -> Data:
    left, right = _expect_divisible("%", left, right)
    zero = pc.equal(right, pa.scalar(0, right.type))
    if not pa.types.is_integer(left.type):
        divisor = pc.if_else(zero, pa.scalar(1, right.type), right)
        whole = pc.floor(pc.divide(left, divisor))
        return _null_where(zero, pc.subtract(left, pc.multiply(whole, divisor)))
    divisor = pc.if_else(zero, pa.scalar(1, right.type), right)
    if pa.types.is_signed_integer(left.type):  # -2**63 // -1 is out of range; -2**63 % -1 is 0, as for 1
        divisor = pc.if_else(pc.equal(divisor, -1), pa.scalar(1, right.type), divisor)
    rest = pc.subtract(left, pc.multiply(pc.divide(left, divisor), divisor))
    if pa.types.is_signed_integer(left.type):
        rest = pc.if_else(pc.and_(pc.not_equal(rest, 0), _signs_differ(rest, divisor)), pc.add(rest, divisor), rest)
    return _null_where(zero, rest)


def _expect_divisible(operation: str, left: Data, right: Data) -> tuple[Data, Data]:
    left, right = alike(left, right)
    if is_wide(left.type) or is_wide(right.type):
        _no_wide(operation)
    return left, right


def _signs_differ(left: Data, right: Data) -> Data:
    return pc.less(pc.bit_wise_xor(left, right), 0)


def _null_where(mask: Data, data: Data) -> Data:
    return pc.if_else(mask, pa.scalar(None, data.type), data)


def comparison(name: str) -> Binary:
    """Return `equal`, `less` and so on, exact for all pairs of numbers."""
    compare = getattr(pc, name)

    def compute(left: Data, right: Data) -> Data:
        one, other = left.type, right.type
        if one.id == other.id and one.id in PLAIN:
            return compare(left, right)
        if is_whole(one) and pa.types.is_floating(other):
            return _with_float(compare, left, right)
        if pa.types.is_floating(one) and is_whole(other):
            return _with_float(lambda x, y: compare(y, x), right, left)
        if pa.types.is_integer(one) and pa.types.is_integer(other) and one != other:
            mixed = pa.types.is_uint64(one) or pa.types.is_uint64(other)
            kind = pa.decimal128(20, 0) if mixed else pa.int64()
            left, right = pc.cast(left, kind), pc.cast(right, kind)
        return compare(*alike(left, right))

    return compute


def _with_float(compare: Binary, whole: Data, number: Data) -> Data:
    """Compare integers with floats. Rounding is monotone, so only an integer whose float is equal needs a check."""
    if is_wide(whole.type):
        raise TypeError(f"{WIDE} cannot be compared with floats; use cast(nw.Float64) first")
    whole, number = widened(whole), pc.cast(number, pa.float64())
    nearest = to_float(whole, pa.float64())
    compared = compare(nearest, number)
    inexact = pc.fill_null(pc.greater_equal(pc.abs(nearest), float(EXACT)), False)
    if not pc.any(inexact, min_count=0).as_py():
        return compared
    close = pc.fill_null(pc.and_(inexact, pc.equal(nearest, number)), False)
    exact = pc.cast(pc.if_else(close, number, 0.0), WIDE)
    return pc.if_else(close, compare(pc.cast(whole, WIDE), exact), compared)


def cast(data: Data, kind: pa.DataType) -> Data:
    """Cast to another type. Raises if a value does not fit; only floats are rounded."""
    if pa.types.is_floating(kind) and (is_whole(data.type) or pa.types.is_decimal(data.type)):
        return to_float(data, kind)
    try:
        if pa.types.is_integer(data.type) and pa.types.is_decimal(kind):  # Arrow asks for all digits of the type
            data = pc.cast(data, pa.decimal128(20 if pa.types.is_uint64(data.type) else 19, 0))
        return pc.cast(data, kind)
    except pa.ArrowInvalid as error:
        raise ElementError(f"cannot be cast to {kind}: {error}") from None


def scaled(data: Data, factor: int) -> Data:
    """Multiply integers by a positive factor, with overflow checks."""
    return _checked(lambda: pc.multiply_checked(data, pa.scalar(factor, pa.int64())))

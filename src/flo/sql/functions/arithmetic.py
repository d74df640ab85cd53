"""Arithmetic and casts of Spark SQL, among numbers and booleans, and of integers to strings.

In ANSI mode, integers are checked, and what does not fit or is divided by zero is an error; otherwise it is null.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.arithmetic import to_float
from flo.sql.functions import decimals
from flo.sql.functions.decimals import is_decimal
from flo.sql.nodes import Expr, SqlError
from flo.sql.registry import (
    ANSI,
    LEGACY,
    MODES,
    NUMBERS,
    Compute,
    Data,
    Family,
    declare,
    family_of,
    of,
    twice,
)


def overflow(kind: pa.DataType) -> SqlError:
    narrow = pa.types.is_int8(kind) or pa.types.is_int16(kind)
    return SqlError("BINARY_ARITHMETIC_OVERFLOW" if narrow else "ARITHMETIC_OVERFLOW", f"overflow of {kind}")


def is_any(data: Data) -> bool:
    """Return whether a condition holds for a row."""
    return bool(data.as_py() if isinstance(data, pa.Scalar) else pc.any(data, min_count=0).as_py())


def null_where(bad: Data, data: Data) -> Data:
    return pc.if_else(pc.fill_null(bad, False), pa.scalar(None, data.type), data)


# Sums and products


def _checked(name: str, of_decimals: Callable[[Expr, Data, Data], Data]) -> Compute:
    exact, wrapping = getattr(pc, f"{name}_checked"), getattr(pc, name)

    def compute(node: Expr, operands: list[Data]) -> Data:
        left, right = operands
        if is_decimal(node.type):
            return of_decimals(node, left, right)
        if pa.types.is_floating(node.type) or not node.ansi:
            return wrapping(left, right)
        try:
            return exact(left, right)
        except pa.ArrowInvalid:
            raise overflow(node.type) from None

    return compute


# Divisions


def _without_zero(node: Expr, left: Data, right: Data, condition: str = "DIVIDE_BY_ZERO") -> Data:
    """Return the divisors, null where they are zero; in ANSI mode that is an error if there is something to divide."""
    zero = pc.equal(right, pa.scalar(0, right.type))
    if not is_any(zero):
        return right
    if node.ansi and is_any(pc.and_(zero, pc.is_valid(left))):
        raise SqlError(condition, "division by zero")
    return null_where(zero, right)


def _divide(node: Expr, operands: list[Data]) -> Data:
    left, right = operands
    right = _without_zero(node, left, right)
    return decimals.divide(node, left, right) if is_decimal(node.type) else pc.divide(left, right)


def _remainder(node: Expr, operands: list[Data]) -> Data:
    """What is left of a division, with the sign of the dividend."""
    left, right = operands
    right = _without_zero(node, left, right, "REMAINDER_BY_ZERO")
    minus_one = pc.equal(right, pa.scalar(-1, right.type))
    right = pc.if_else(minus_one, pa.scalar(1, right.type), right)  # -2**63 / -1 has no result
    return pc.subtract(left, pc.multiply(pc.divide(left, right), right))


# Signs and bits


def _unary(name: str) -> Compute:
    exact, wrapping = getattr(pc, f"{name}_checked"), getattr(pc, name)

    def compute(node: Expr, operands: list[Data]) -> Data:
        (data,) = operands
        if is_decimal(data.type):
            return pc.cast(wrapping(data), node.type)
        if pa.types.is_floating(data.type):
            return wrapping(data)
        try:
            return exact(data)
        except pa.ArrowInvalid:
            if node.ansi:
                raise overflow(pa.int64()) from None
            return wrapping(data)

    return compute


def _shift_right(node: Expr, operands: list[Data]) -> Data:
    """The distance counts modulo the number of bits, as in Java."""
    data, distance = operands
    bits = data.type.bit_width
    steps = pc.cast(pc.bit_wise_and(distance, pa.scalar(bits - 1, distance.type)), data.type)
    first = pc.min_element_wise(steps, pa.scalar(bits - 2, data.type), skip_nulls=False)
    shifted = pc.shift_right(data, first)  # Arrow does not shift by all bits but the sign
    return pc.shift_right(shifted, pc.subtract(steps, first))


def _subtract_decimals(node: Expr, left: Data, right: Data) -> Data:
    return decimals.add(node, left, right, subtract=True)


_INTEGERS = twice(Family.INTEGER)
_NARROW = replace(of(Family.DECIMAL), only=lambda node: node.type.precision <= 34)
"""Decimals that keep their digits: Spark rounds the result to 34."""
_SIGNED = [of(Family.INTEGER), of(Family.FLOAT), _NARROW]
_DIVIDED = twice(Family.FLOAT, Family.DECIMAL)
_BOTH = (ANSI, LEGACY)
declare("Add", "{} + {}", twice(*NUMBERS), _checked("add", decimals.add), modes=_BOTH)
declare("Subtract", "{} - {}", twice(*NUMBERS), _checked("subtract", _subtract_decimals), modes=_BOTH)
declare("Multiply", "{} * {}", twice(*NUMBERS), _checked("multiply", decimals.multiply), modes=_BOTH)
declare("Divide", "{} / {}", _DIVIDED, _divide, modes=MODES, try_sql="try_divide({}, {})", first=(1, 0))
declare("Remainder", "{} % {}", _INTEGERS, _remainder, modes=_BOTH, first=(1, 0))
declare("UnaryMinus", "-{}", _SIGNED, _unary("negate"), modes=_BOTH)
declare("Abs", "abs({})", _SIGNED, _unary("abs"), modes=_BOTH)
declare("BitwiseAnd", "{} & {}", _INTEGERS, lambda node, operands: pc.bit_wise_and(*operands))
declare("ShiftRight", "shiftright({}, {})", _INTEGERS, _shift_right)


def _cast_to(node: Expr, operands: list[Data]) -> Data:
    (data,), kind = operands, node.type
    if data.type == kind:
        return data
    match family_of(kind):
        case Family.BOOLEAN:
            return pc.not_equal(data, pa.scalar(0, data.type))
        case Family.DECIMAL:
            return _to_decimal(node, data)
        case Family.FLOAT:
            return to_float(data, kind)
        case Family.STRING:
            return pc.cast(data, kind)
    return _to_integer(node, data)


def _to_decimal(node: Expr, data: pa.Array) -> Data:
    kind = node.type
    if is_decimal(data.type):
        whole, places = data.type.precision - data.type.scale, data.type.scale
        if kind.scale >= places and kind.precision - kind.scale >= whole:
            return pc.cast(data, kind)  # all values fit
        return decimals.fit(decimals.widen(data), node)
    return decimals.fit(pc.cast(pc.cast(data, pa.int64()), pa.decimal256(19, 0)), node)


def _to_integer(node: Expr, data: pa.Array) -> Data:
    kind = node.type
    if is_decimal(data.type):
        data = decimals.rounded(data, 0, "trunc")
    try:
        return pc.cast(data, kind)
    except pa.ArrowInvalid:
        if node.ansi:
            raise SqlError("CAST_OVERFLOW", f"a value of {data.type} does not fit into {kind}") from None
    return pc.cast(data, kind, safe=False)


_INTEGER, _FLOAT, _DECIMAL, _BOOLEAN = Family.INTEGER, Family.FLOAT, Family.DECIMAL, Family.BOOLEAN
_CASTS = [
    *(of(each, to=to) for each in (_INTEGER, _BOOLEAN) for to in (_FLOAT, _DECIMAL, Family.STRING)),
    *(of(each, to=_FLOAT) for each in (_FLOAT, _DECIMAL)),
    *(of(each, to=_BOOLEAN) for each in (_INTEGER, _FLOAT, _DECIMAL)),
    of(_DECIMAL, to=_DECIMAL),
    of(_INTEGER, to=_INTEGER, modes=(ANSI, LEGACY)),
    of(_BOOLEAN, to=_INTEGER),
    of(_DECIMAL, to=_INTEGER, modes=(ANSI,)),
]
declare("Cast", "CAST({} AS …)", _CASTS, _cast_to, modes=MODES, try_sql="try_cast_to({} AS …)")

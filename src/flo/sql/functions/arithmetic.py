"""Arithmetic of Spark SQL: integers are checked in ANSI mode; division by zero is an error, or null otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import decimals
from flo.sql.functions.decimals import is_decimal
from flo.sql.nodes import FUNCTIONS, Data, Node, SqlError


def overflow(kind: pa.DataType) -> SqlError:
    return SqlError("ARITHMETIC_OVERFLOW", f"overflow of {kind}")


def divide_by_zero() -> SqlError:
    return SqlError("DIVIDE_BY_ZERO", "division by zero")


def _checked(name: str, of_decimals: Callable[[Node, Data, Data], Data]) -> Any:
    exact, wrapping = getattr(pc, f"{name}_checked"), getattr(pc, name)

    def compute(node: Node, operands: list[Data]) -> Data:
        left, right = operands
        if is_decimal(node.type):
            return of_decimals(node, left, right)
        if pa.types.is_floating(node.type):
            return wrapping(left, right)
        try:
            return exact(left, right)
        except pa.ArrowInvalid:
            if node.option("mode") == "LEGACY":
                return wrapping(left, right)
            if node.ansi:
                raise overflow(node.type) from None
        return _or_null(node, left, right, exact)

    return compute


def _or_null(node: Node, left: Data, right: Data, exact: Any) -> Data:
    """try_add and the like: null where the result is out of range."""
    count = (
        1
        if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar)
        else max(len(each) for each in (left, right) if not isinstance(each, pa.Scalar))
    )
    found = []
    for place in range(count):
        one, other = (each if isinstance(each, pa.Scalar) else each[place] for each in (left, right))
        try:
            found.append(exact(one, other).as_py())
        except pa.ArrowInvalid:
            found.append(None)
    return (
        pa.array(found, node.type) if count != 1 or not isinstance(left, pa.Scalar) else pa.scalar(found[0], node.type)
    )


def _without_zero(node: Node, left: Data, right: Data) -> Data:
    """Return the divisors, null where they are zero; in ANSI mode that is an error if there is something to divide."""
    zero = pc.equal(right, pa.scalar(0, right.type))
    bad = pc.and_kleene(zero, pc.is_valid(left))
    found = bad.as_py() if isinstance(bad, pa.Scalar) else pc.any(bad).as_py()
    if found and node.ansi:
        raise divide_by_zero()
    return pc.if_else(pc.fill_null(zero, False), pa.scalar(None, right.type), right)


def _divide(node: Node, operands: list[Data]) -> Data:
    left, right = operands
    right = _without_zero(node, left, right)
    return decimals.divide(node, left, right) if is_decimal(node.type) else pc.divide(left, right)


def _integral_divide(node: Node, operands: list[Data]) -> Data:
    left, right = operands
    right = _without_zero(node, left, right)
    if is_decimal(left.type):
        return decimals.by_row(node, left, right, lambda a, b: a // b)
    try:
        return pc.cast(pc.divide_checked(left, right), pa.int64())  # truncates towards zero
    except pa.ArrowInvalid:
        raise overflow(node.type) from None


def _remainder(node: Node, operands: list[Data]) -> Data:
    left, right = operands
    right = _without_zero(node, left, right)
    if is_decimal(left.type):
        return decimals.by_row(node, left, right, lambda a, b: a % b)
    if pa.types.is_floating(left.type):
        return _by_row(lambda a, b: __import__("math").fmod(a, b), left, right, node.type)
    minus_one = pc.if_else(pc.equal(right, pa.scalar(-1, right.type)), pa.scalar(1, right.type), right)
    whole = pc.divide(left, minus_one)
    return pc.subtract(left, pc.multiply(whole, minus_one))


def _by_row(function: Any, left: Data, right: Data, kind: pa.DataType) -> Data:
    size = max((len(each) for each in (left, right) if not isinstance(each, pa.Scalar)), default=1)
    pairs = zip(
        *([each.as_py()] * size if isinstance(each, pa.Scalar) else each.to_pylist() for each in (left, right)),
        strict=True,
    )
    return pa.array([None if a is None or b is None else function(a, b) for a, b in pairs], kind)


def _negate(node: Node, operands: list[Data]) -> Data:
    try:
        return pc.negate_checked(operands[0])
    except pa.ArrowInvalid:
        if node.ansi:
            raise overflow(node.type) from None
        return pc.negate(operands[0])


def _abs(node: Node, operands: list[Data]) -> Data:
    try:
        return pc.abs_checked(operands[0])
    except pa.ArrowInvalid:
        if node.ansi:
            raise overflow(node.type) from None
        return pc.abs(operands[0])


def _round(node: Node, operands: list[Data]) -> Data:
    data, places = operands[0], operands[1].as_py()
    mode = "half_towards_infinity" if node.name == "Round" else "half_to_even"
    if is_decimal(data.type):
        if places >= data.type.scale:
            return pc.cast(data, node.type)
        return decimals.fit(pc.round(decimals.widen(data), ndigits=places, round_mode=mode), node)
    if pa.types.is_integer(data.type) and places >= 0:
        return data
    raise NotImplementedError(f"round of {data.type}")


FUNCTIONS.update(
    {
        "Add": _checked("add", decimals.add),
        "Subtract": _checked("subtract", lambda node, a, b: decimals.add(node, a, b, subtract=True)),
        "Multiply": _checked("multiply", decimals.multiply),
        "Divide": _divide,
        "IntegralDivide": _integral_divide,
        "Remainder": _remainder,
        "UnaryMinus": _negate,
        "Abs": _abs,
        "Round": _round,
        "BRound": _round,
        "BitwiseAnd": lambda node, operands: pc.bit_wise_and(*operands),
        "BitwiseOr": lambda node, operands: pc.bit_wise_or(*operands),
        "BitwiseXor": lambda node, operands: pc.bit_wise_xor(*operands),
        "ShiftRight": lambda node, operands: pc.shift_right(operands[0], pc.cast(operands[1], operands[0].type)),
        "ShiftLeft": lambda node, operands: pc.shift_left(operands[0], pc.cast(operands[1], operands[0].type)),
    }
)

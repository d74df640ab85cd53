"""Casts among numbers and booleans: strict in ANSI mode, null for what does not fit with try_cast.

Floats are not cast to decimals or strings here: Spark takes the digits that Java prints, which depend on the version of
Java.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import decimals, text_casts, time_casts
from flo.sql.functions.decimals import is_decimal
from flo.sql.functions.rounding import nearest, nearest_single, saturated, wrap_to_integer
from flo.sql.nodes import Node, SqlError
from flo.sql.registry import LEGACY, MODES, NUMBERS, Data, Family, declare, family_of, of


def cast_overflow(data: pa.Array, kind: pa.DataType) -> SqlError:
    return SqlError("CAST_OVERFLOW", f"a value of {data.type} does not fit into {kind}")


def _cast(node: Node, operands: list[Data]) -> Data:
    (data,), kind = operands, node.type
    if data.type == kind:
        return data
    if pa.types.is_null(data.type):
        return pc.cast(data, kind)
    source, target = family_of(data.type), family_of(kind)
    if Family.STRING in (source, target):
        return text_casts.cast(node, data)
    if time_casts.TIMES & {source, target}:
        return time_casts.cast(node, data)
    match target:
        case Family.BOOLEAN:
            return pc.not_equal(data, pa.scalar(0, data.type))
        case Family.DECIMAL:
            return _to_decimal(node, data)
        case Family.FLOAT:
            return _to_float(data, kind)
    return _to_integer(node, data)


def _to_decimal(node: Node, data: pa.Array) -> Data:
    kind = node.type
    if is_decimal(data.type):
        whole, places = data.type.precision - data.type.scale, data.type.scale
        if kind.scale >= places and kind.precision - kind.scale >= whole:
            return pc.cast(data, kind)  # all values fit
        return decimals.fit(decimals.widen(data), node)
    return decimals.fit(pc.cast(pc.cast(data, pa.int64()), pa.decimal256(19, 0)), node)


def _to_float(data: pa.Array, kind: pa.DataType) -> Data:
    if is_decimal(data.type):
        return _decimal_to_float(data, kind)
    return pc.cast(data, kind, safe=False)


EXACT = {pa.float64(): (2**53, 22), pa.float32(): (2**24, 10)}
"""Up to which integer, and which power of ten, the numbers of a type are exact."""


def _decimal_to_float(data: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the nearest floats. Large numbers are rare: by row."""
    most, power = EXACT[kind]
    scale = data.type.scale
    if scale <= power and 10 ** (decimals.most_digits(decimals.unscaled(data))) <= most * 10:
        numbers = pc.cast(decimals.unscaled(data), pa.int64())
        if not pc.any(pc.greater(pc.abs(numbers), most), min_count=0).as_py():
            return pc.divide(pc.cast(numbers, kind, safe=False), pa.scalar(10.0**scale, kind))
    values = decimals.integers(data, len(data))
    near = nearest if pa.types.is_float64(kind) else nearest_single
    return pa.array([None if each is None else near(each, 10**scale) for each in values], kind)


def _to_integer(node: Node, data: pa.Array) -> Data:
    kind = node.type
    if pa.types.is_boolean(data.type):
        return pc.cast(data, kind)
    if pa.types.is_floating(data.type):
        return _float_to_integer(node, data)
    if is_decimal(data.type):
        data = decimals.rounded(data, 0, "trunc")
    try:
        return pc.cast(data, kind)
    except pa.ArrowInvalid:
        if node.ansi:
            raise cast_overflow(data, kind) from None
    if node.option("mode") == LEGACY:
        if is_decimal(data.type):
            return wrap_to_integer(data, kind)
        return pc.cast(data, kind, safe=False)
    return pc.cast(pc.if_else(_beyond(data, kind), pa.scalar(None, data.type), data), kind)


def _beyond(data: pa.Array, kind: pa.DataType) -> Data:
    """Return whether whole numbers are too large for an integer type."""
    most, least = 2 ** (kind.bit_width - 1) - 1, -(2 ** (kind.bit_width - 1))
    wide = data.type if is_decimal(data.type) else pa.int64()
    data = pc.cast(data, wide)
    return pc.or_(pc.greater(data, pa.scalar(most, wide)), pc.less(data, pa.scalar(least, wide)))


def _float_to_integer(node: Node, data: pa.Array) -> Data:
    kind = node.type
    if node.option("mode") == LEGACY:  # Java casts to int first, then cuts bits off
        first = kind if kind.bit_width >= 32 else pa.int32()
        return pc.cast(saturated(data, first), kind, safe=False)
    wide = pc.trunc(pc.cast(data, pa.float64()))
    most = float(2 ** (kind.bit_width - 1))
    # for 64 bits Spark compares with the nearest float to 2**63 - 1, which is 2**63
    above = pc.greater(wide, most) if kind.bit_width == 64 else pc.greater_equal(wide, most)
    bad = pc.or_(pc.or_(above, pc.less(wide, -most)), pc.is_nan(wide))
    if pc.any(bad, min_count=0).as_py():
        if node.ansi:
            raise cast_overflow(data, kind)
        data = pc.if_else(bad, pa.scalar(None, data.type), data)
    return saturated(data, kind)


_FROM_NUMBERS = [
    of(source, to=target)
    for source in (*NUMBERS, Family.BOOLEAN)
    for target in (*NUMBERS, Family.BOOLEAN)
    if (source, target) not in ((Family.FLOAT, Family.DECIMAL), (Family.BOOLEAN, Family.BOOLEAN))
]
declare(
    "Cast",
    "CAST({} AS …)",
    [*_FROM_NUMBERS, *text_casts.SIGNATURES, *time_casts.SIGNATURES],
    _cast,
    modes=MODES,
    try_sql="try_cast({} AS …)",
)

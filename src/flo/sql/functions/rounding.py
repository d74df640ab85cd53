"""Rounding, signs and roots.

`round` of a float is left to Spark: it rounds the digits that Java prints, which depend on the version of Java.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import decimals
from flo.sql.functions.arithmetic import is_any, overflow
from flo.sql.functions.decimals import is_decimal
from flo.sql.nodes import Node
from flo.sql.registry import ANSI, LEGACY, Compute, Data, Family, constant, declare, of


def wrap_to_integer(data: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return whole decimals as integers, with the bits that fit."""
    wide = decimals.widen(data) if not pa.types.is_decimal256(data.type) else data
    low = pa.Array.from_buffers(
        pa.list_(pa.uint64(), 4),
        len(wide),
        [None],
        offset=wide.offset,
        children=[pa.Array.from_buffers(pa.uint64(), 4 * (len(wide) + wide.offset), [None, wide.buffers()[1]])],
    )
    words = pc.list_element(low, 0)
    found = pc.cast(pc.cast(words, pa.int64(), safe=False), kind, safe=False)
    return pc.if_else(data.is_valid(), found, pa.scalar(None, kind))


HOW = {"Round": "half_up", "BRound": "half_even", "RoundCeil": "ceil", "RoundFloor": "floor"}


def _round(node: Node, operands: list[Data]) -> Data:
    data, places, how = operands[0], operands[1].as_py(), HOW[node.name]
    if places is None:
        return pa.nulls(len(data), node.type)
    if is_decimal(data.type):
        if places >= 0:
            found = decimals.rounded(data, places, how) if places < data.type.scale else decimals.widen(data)
        else:
            found = _whole_round(how, data, data.type.scale - places)
        return decimals.fit(found, node, always=True)
    if places >= 0:
        return data
    found = _whole_round(how, pc.cast(pc.cast(data, pa.int64()), pa.decimal128(19, 0)), -places)
    try:
        return pc.cast(found, node.type)
    except pa.ArrowInvalid:
        if node.ansi:
            raise overflow(pa.int64()) from None
        return wrap_to_integer(found, node.type)


def _whole_round(how: str, data: pa.Array, digits: int) -> pa.Array:
    """Return decimals with zeros instead of their last digits: 1250 with two of them is 1300."""
    zeros = digits - data.type.scale
    found = decimals.drop_digits(decimals.unscaled(data), digits, how)
    values = [None if each is None else each * 10**zeros for each in decimals.integers(found, len(found))]
    return decimals.of_large_integers(values)


def _to_whole(name: str) -> Compute:
    """ceil and floor: of a float an integer of 64 bits, the nearest one if it is too large."""
    function = getattr(pc, name)

    def compute(node: Node, operands: list[Data]) -> Data:
        (data,) = operands
        if pa.types.is_integer(data.type):
            return data
        if is_decimal(data.type):
            return decimals.fit(decimals.rounded(data, 0, name), node)
        whole = function(data)
        if node.ansi and is_any(pc.or_(pc.less(whole, -(2.0**63)), pc.greater_equal(whole, 2.0**63))):
            raise overflow(node.type)
        return saturated(whole, node.type)

    return compute


def saturated(data: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return floats as integers as Java casts them: the nearest one if too large, 0 for NaN."""
    bits = kind.bit_width
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    data = pc.trunc(pc.cast(data, pa.float64()))
    low, high = pc.less_equal(data, float(least)), pc.greater_equal(data, float(2 ** (bits - 1)))
    odd = pc.or_(pc.or_(low, high), pc.is_nan(data))
    found = pc.cast(pc.if_else(odd, 0.0, data), kind)
    found = pc.if_else(high, pa.scalar(most, kind), found)
    return pc.if_else(low, pa.scalar(least, kind), found)


def nearest(above: int, below: int) -> float:
    """Return the float that is nearest to a fraction; Python divides integers exactly."""
    try:
        return above / below
    except OverflowError:
        return float("inf") if above > 0 else float("-inf")


def nearest_single(above: int, below: int) -> Any:
    """Return the float of 32 bits that is nearest to a fraction: first rounded to 64 bits, to odd, and then to 32."""
    value = nearest(above, below)
    if np.isfinite(value) and value:
        exact, found = Fraction(above, below), Fraction(value)
        bits = np.float64(value).view(np.int64)
        if found != exact and not bits & 1:
            value = float(np.nextafter(value, np.inf if exact > found else -np.inf))
    with np.errstate(all="ignore"):
        return np.float32(value)


def _sign(node: Node, operands: list[Data]) -> Data:
    """The sign of a float; a zero and NaN stay as they are."""
    (data,) = operands
    plain = pc.or_(pc.is_nan(data), pc.equal(data, 0.0))
    return pc.if_else(plain, data, pc.cast(pc.sign(data), pa.float64()))


_PLACES = constant(Family.INTEGER)
for _name, _sql in (("Round", "round({}, {})"), ("BRound", "bround({}, {})")):
    declare(
        _name,
        _sql,
        [of(Family.INTEGER, _PLACES), of(Family.DECIMAL, _PLACES)],
        _round,
        modes=(ANSI, LEGACY),
    )
declare("RoundCeil", "ceil({}, {})", [of(Family.DECIMAL, _PLACES)], _round)
declare("RoundFloor", "floor({}, {})", [of(Family.DECIMAL, _PLACES)], _round)
_TO_WHOLE = [of(Family.INTEGER), of(Family.FLOAT), of(Family.DECIMAL)]
declare("Ceil", "ceil({})", _TO_WHOLE, _to_whole("ceil"), modes=(ANSI, LEGACY))
declare("Floor", "floor({})", _TO_WHOLE, _to_whole("floor"), modes=(ANSI, LEGACY))
declare("Signum", "sign({})", [of(Family.FLOAT)], _sign)
declare("Sqrt", "sqrt({})", [of(Family.FLOAT)], lambda node, operands: pc.sqrt(operands[0]))
declare("Rint", "rint({})", [of(Family.FLOAT)], lambda node, operands: pc.round(operands[0], round_mode="half_to_even"))

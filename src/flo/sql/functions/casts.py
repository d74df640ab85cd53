"""Casts among numbers and booleans, and of integers to strings: an error in ANSI mode for what does not fit."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.arithmetic import to_float
from flo.sql.functions import decimals
from flo.sql.functions.decimals import is_decimal
from flo.sql.nodes import Node, SqlError
from flo.sql.registry import ANSI, LEGACY, MODES, Data, Family, declare, family_of, of


def _cast(node: Node, operands: list[Data]) -> Data:
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


def _to_decimal(node: Node, data: pa.Array) -> Data:
    kind = node.type
    if is_decimal(data.type):
        whole, places = data.type.precision - data.type.scale, data.type.scale
        if kind.scale >= places and kind.precision - kind.scale >= whole:
            return pc.cast(data, kind)  # all values fit
        return decimals.fit(decimals.widen(data), node)
    return decimals.fit(pc.cast(pc.cast(data, pa.int64()), pa.decimal256(19, 0)), node)


def _to_integer(node: Node, data: pa.Array) -> Data:
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
_SIGNATURES = [
    *(of(each, to=to) for each in (_INTEGER, _BOOLEAN) for to in (_FLOAT, _DECIMAL, Family.STRING)),
    *(of(each, to=_FLOAT) for each in (_FLOAT, _DECIMAL)),
    *(of(each, to=_BOOLEAN) for each in (_INTEGER, _FLOAT, _DECIMAL)),
    of(_DECIMAL, to=_DECIMAL),
    of(_INTEGER, to=_INTEGER, modes=(ANSI, LEGACY)),
    of(_BOOLEAN, to=_INTEGER),
    of(_DECIMAL, to=_INTEGER, modes=(ANSI,)),
]
declare("Cast", "CAST({} AS …)", _SIGNATURES, _cast, modes=MODES, try_sql="try_cast({} AS …)")

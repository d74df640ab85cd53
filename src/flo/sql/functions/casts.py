"""Casts of Spark SQL: strict in ANSI mode, null for what does not fit with try_cast."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import decimals
from flo.sql.nodes import FUNCTIONS, Data, Node, SqlError


def _cast(node: Node, operands: list[Data]) -> Data:
    (data,), kind = operands, node.type
    if data.type == kind:
        return data
    if pa.types.is_null(data.type):
        return pc.cast(data, kind)
    if pa.types.is_decimal(kind):
        return _to_decimal(node, data)
    if pa.types.is_decimal(data.type) and pa.types.is_floating(kind):
        return pc.cast(data, kind)
    if pa.types.is_integer(data.type) and pa.types.is_floating(kind):
        return pc.cast(data, kind, safe=False)
    if pa.types.is_floating(data.type) and pa.types.is_floating(kind):
        return pc.cast(data, kind)
    if (pa.types.is_decimal(data.type) or pa.types.is_integer(data.type)) and pa.types.is_integer(kind):
        return _to_integer(node, data)
    raise NotImplementedError(f"a cast from {data.type} to {kind}")


def _to_decimal(node: Node, data: Data) -> Data:
    if pa.types.is_boolean(data.type):
        data = pc.cast(data, pa.int64())
    if pa.types.is_integer(data.type):
        data = pc.cast(pc.cast(data, pa.int64()), pa.decimal256(19, 0))
    elif pa.types.is_decimal(data.type):
        data = decimals.widen(data)
    else:
        raise NotImplementedError(f"a cast from {data.type} to {node.type}")
    return decimals.fit(data, node)


def _to_integer(node: Node, data: Data) -> Data:
    if pa.types.is_decimal(data.type) and data.type.scale:
        data = pc.trunc(data)
    try:
        return pc.cast(data, node.type)
    except pa.ArrowInvalid:
        if node.ansi:
            raise SqlError("CAST_OVERFLOW", f"a value of {data.type} does not fit into {node.type}") from None
        raise NotImplementedError(f"a lenient cast from {data.type} to {node.type}") from None


FUNCTIONS["Cast"] = _cast

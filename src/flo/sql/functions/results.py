"""Results of aggregates with Spark's types: Flo's sums are exact, and wider than Spark's."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import decimals
from flo.sql.functions.arithmetic import overflow
from flo.sql.nodes import FUNCTIONS, Data, Node, SqlError


def _sum_result(node: Node, operands: list[Data]) -> Data:
    (total,), kind = operands, node.type
    if total.type == kind or pa.types.is_floating(kind):
        return total if total.type == kind else pc.cast(total, kind)
    if pa.types.is_decimal(kind):
        return decimals.fit(total, node)
    try:
        return pc.cast(total, kind)
    except pa.ArrowInvalid:
        raise overflow(kind) from None


def _average_result(node: Node, operands: list[Data]) -> Data:
    total, count = operands
    kind = node.type
    there = pc.if_else(pc.equal(count, 0), pa.scalar(None, pa.int64()), count)
    if pa.types.is_floating(kind):
        return pc.divide(pc.cast(total, pa.float64(), safe=False), pc.cast(there, pa.float64()))
    return decimals.divide(node, total, pc.cast(there, pa.decimal128(20, 0)))


def _only_row(node: Node, operands: list[Data]) -> Data:
    """The value of a scalar subquery, which must not have several rows."""
    value, count = operands
    if pc.any(pc.greater(count, 1)).as_py():
        raise SqlError("SCALAR_SUBQUERY_TOO_MANY_ROWS", "a scalar subquery has more than one row")
    return value


FUNCTIONS["OnlyRow"] = _only_row
FUNCTIONS["SumResult"] = _sum_result
FUNCTIONS["AverageResult"] = _average_result
FUNCTIONS["Times"] = lambda node, operands: pc.multiply_checked(*operands)

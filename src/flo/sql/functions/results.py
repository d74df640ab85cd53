"""Results of aggregates with Spark's types: Flo's sums are exact, and wider than Spark's.

No query has these classes: `flo.sql.aggregates` makes them.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.arithmetic import to_float
from flo.sql.functions import decimals
from flo.sql.functions.arithmetic import overflow
from flo.sql.functions.comparisons import ANY
from flo.sql.functions.nested import array_of
from flo.sql.nodes import Expr, SqlError
from flo.sql.registry import MODES, NUMBERS, Data, Family, declare, many, of


def _sum_result(node: Expr, operands: list[Data]) -> Data:
    (total,), kind = operands, node.type
    if total.type == kind or pa.types.is_floating(kind):
        return total if total.type == kind else pc.cast(total, kind)
    if pa.types.is_decimal(kind):
        return decimals.fit(total, node)
    try:
        return pc.cast(total, kind)
    except pa.ArrowInvalid:
        if node.ansi:
            raise overflow(kind) from None
    wraps = node.option("mode") == "LEGACY"
    return pa.array([_as_long(each, wraps) for each in total.to_pylist()], kind)


def _as_long(value: Decimal | None, wraps: bool) -> int | None:
    """Return a total as 64 bits: what does not fit wraps, or is null."""
    if value is None or -(2**63) <= value < 2**63:
        return None if value is None else int(value)
    return (int(value) + 2**63) % 2**64 - 2**63 if wraps else None


def _one_row(node: Expr, operands: list[Data]) -> Data:
    """The value of a subquery that has one row: an error if it has several."""
    value, count = operands
    if pc.any(pc.greater(count, 1)).as_py():
        raise SqlError("SCALAR_SUBQUERY_TOO_MANY_ROWS", "a subquery that is used as a value has several rows")
    return value


def _recursion_limits(node: Expr, operands: list[Data]) -> Data:
    """False if a recursion is within its limits: an error of Spark if it is not."""
    within, beyond = operands
    levels, rows = node.option("levels"), node.option("rows")
    if rows is not None and pc.any(pc.greater_equal(within, rows)).as_py():
        raise row_limit_error(rows)
    if pc.any(pc.greater(beyond, 0)).as_py():
        raise SqlError(
            "RECURSION_LEVEL_LIMIT_EXCEEDED",
            f"the recursion goes on after {levels} levels; write MAX RECURSION LEVEL {2 * levels} for more, "
            "or UNION for a set, which ends on cycles",
        )
    return pc.greater(beyond, 0)


def row_limit_error(rows: int) -> SqlError:
    return SqlError(
        "RECURSION_ROW_LIMIT_EXCEEDED",
        f"the recursion has {rows:,} rows or more; set spark.sql.cteRecursionRowLimit for more, or write LIMIT",
    )


def _average_result(node: Expr, operands: list[Data]) -> Data:
    total, count = operands
    kind = node.type
    there = pc.if_else(pc.equal(count, 0), pa.scalar(None, pa.int64()), count)
    if pa.types.is_floating(kind):
        return pc.divide(to_float(total, pa.float64()), pc.cast(there, pa.float64()))
    return decimals.divide(node, total, pc.cast(there, pa.decimal128(20, 0)))


declare("Items", None, [of(many(each)) for each in ANY], array_of, strict=False)
declare("OneRow", None, [of(each, Family.INTEGER) for each in Family], _one_row)
declare("RecursionLimits", None, [of(Family.INTEGER, Family.INTEGER, to=Family.BOOLEAN)], _recursion_limits)
_TOTALS = (Family.FLOAT, Family.DECIMAL)
declare("SumResult", None, [of(each, to=to) for each in _TOTALS for to in NUMBERS], _sum_result, modes=MODES)
declare("AverageResult", None, [of(each, Family.INTEGER) for each in _TOTALS], _average_result, modes=MODES)
declare(
    "Times",
    None,
    [of(Family.INTEGER, Family.INTEGER)],
    lambda node, operands: pc.multiply_checked(*operands),
)

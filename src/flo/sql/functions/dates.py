"""Functions of dates."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import FUNCTIONS, Compute, Data, Node


def _part(name: str) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: pc.cast(function(operands[0]), node.type)


def _add_days(sign: int) -> Compute:
    def compute(node: Node, operands: list[Data]) -> Data:
        days, more = (pc.cast(each, pa.int32()) for each in operands)
        found = pc.add(days, more) if sign > 0 else pc.subtract(days, more)
        return pc.cast(found, pa.date32())

    return compute


def _days_between(node: Node, operands: list[Data]) -> Data:
    end, start = (pc.cast(each, pa.int32()) for each in operands)
    return pc.subtract(end, start)


FUNCTIONS.update(
    {
        "Year": _part("year"),
        "Month": _part("month"),
        "DayOfMonth": _part("day"),
        "Quarter": _part("quarter"),
        "DateAdd": _add_days(1),
        "DateSub": _add_days(-1),
        "DateDiff": _days_between,
    }
)

"""Outputs as tables: equal rows consolidated into one with its weight, and no negative weights unless allowed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.core.errors import ElementError, brief
from flo.tables.io.files import WEIGHTS
from flo.tables.state.trace import added_up
from flo.tables.values import WEIGHT, Rows, ordered
from flo.values.weighted import Bag, Set, ZSet

SHOWN = 5


def table_of(rows: Rows) -> pa.Table:
    """The rows of an output: a sequence in its order, a bag or z-set with weights, a set with each row once."""
    if ordered(rows.of):
        return rows.table
    table = added_up(rows.table)
    if isinstance(rows.of, Set):
        return table.drop_columns([WEIGHT])
    if isinstance(rows.of, Bag):
        table = table.filter(pc.greater(table[WEIGHT], 0))
    return table.rename_columns([WEIGHTS if name == WEIGHT else name for name in table.column_names])


def expect_no_negative_weights(name: str, of: Any, found: Any) -> None:
    """Raises if a z-set has rows that were retracted more often than inserted."""
    if not isinstance(of, ZSet):
        return
    below = found.filter(pc.less(found[WEIGHTS], 0))
    count = below.num_rows
    rows = [_fact(row) for row in below.slice(0, SHOWN).to_pylist()]
    if count:
        more = ((f"… and {count - SHOWN} more", ""),) if count > SHOWN else ()
        raise ElementError(
            f"{count} rows of the output `{name}` were retracted more often than inserted",
            facts=(*rows, *more),
            instead=(('negative="allow"', "allows negative weights in the result"),),
        )


def _fact(row: dict[str, Any]) -> tuple[str, str]:
    weight = row.pop(WEIGHTS)
    return brief(row), f"weight {weight}"

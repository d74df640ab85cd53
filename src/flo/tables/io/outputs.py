"""What comes out: tables whose equal rows are one, with their weight, and no weight below zero that nobody allowed."""

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
    """A sequence in its order; of a bag or a z-set each row once, with its weight; of a set each row once."""
    if ordered(rows.of):
        return rows.table
    table = added_up(rows.table)
    if isinstance(rows.of, Set):
        return table.drop_columns([WEIGHT])
    if isinstance(rows.of, Bag):
        table = table.filter(pc.greater(table[WEIGHT], 0))
    return table.rename_columns([WEIGHTS if name == WEIGHT else name for name in table.column_names])


def refuse_negative(name: str, of: Any, found: Any) -> None:
    """An element that was taken back more often than it came is no result."""
    if not isinstance(of, ZSet):
        return
    below = found.filter(pc.less(found[WEIGHTS], 0))
    count = below.num_rows
    rows = [_shown(row) for row in below.slice(0, SHOWN).to_pylist()]
    if count:
        more = ((f"… and {count - SHOWN} more", ""),) if count > SHOWN else ()
        raise ElementError(
            f"{count} rows of the output `{name}` were taken back more often than they came",
            facts=(*rows, *more),
            instead=(('negative="allow"', "if that is what you want to see"),),
        )


def _shown(row: dict[str, Any]) -> tuple[str, str]:
    weight = row.pop(WEIGHTS)
    return brief(row), f"weight {weight}"

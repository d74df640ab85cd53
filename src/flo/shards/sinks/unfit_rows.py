"""Rows that a database cannot hold, searched by trying: only the database knows its types, limits and constraints.

Rows are written in transactions that are rolled back, and halved until those at fault are alone:

    1 2 3 4   fails
    1 2       works              1, 2 and 4 are written
    3 4       fails              3 is unfit, with the reason of the database, and its key is deleted
    3         fails
    4         works

Invariant: every row is either in `fitting` or unfit. The row that an unfit key had before is gone, so the key is
deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from flo.shards.sinks.keyed_output import KeyedOutput
from flo.shards.tasks.latest_rows import CHANGE, DELETE, INSERT, UPDATE

MOST = 1000
"""The most rows that are looked for: each takes several transactions."""
WriteTrial = Callable[[pa.Table], str | None]
"""Writes rows and takes them back; returns why that fails, if it does."""


@dataclass
class UnfitRows:
    """The rows of a micro-batch that a database cannot hold."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    """By row, the columns at fault, as far as they are known."""
    fitting: pa.Table = field(default_factory=lambda: pa.table({}))
    """The changes without them. A key whose row is unfit is deleted, since the row that it had is gone."""


def find_unfit(output: KeyedOutput, latest: pa.Table, attempt: WriteTrial) -> UnfitRows | None:
    """The rows that cannot be written. None if nothing can be: then it is not the fault of a row."""
    change = pa.array([UPDATE if each == INSERT else each for each in latest[CHANGE].to_pylist()], pa.string())
    tried = latest.set_column(latest.schema.get_field_index(CHANGE), CHANGE, change)  # of a key that is there, too
    if attempt(tried.slice(0, 0)) is not None:
        return None
    unfit = UnfitRows()
    parts, waiting = [], [(0, latest.num_rows)]
    while waiting:
        low, high = waiting.pop()
        why = attempt(tried.slice(low, high - low)) if high > low else None
        if why is None:
            parts.append(latest.slice(low, high - low))
        elif high - low > 1:
            middle = (low + high) // 2
            waiting += [(middle, high), (low, middle)]
        else:
            deletion = _deletion(output, latest.slice(low, 1))
            if attempt(deletion) is None:
                parts.append(deletion)
            if latest[CHANGE][low].as_py() != DELETE:
                row = latest.slice(low, 1)
                unfit.rows.append(row.drop_columns([CHANGE]).to_pylist()[0])
                unfit.reasons.append(why)
                unfit.columns.append(", ".join(f"`{each}`" for each in _columns_at_fault(output, row, attempt)))
        if len(unfit.rows) > MOST:
            return None
    unfit.fitting = pa.concat_tables(parts, promote_options="default")
    return unfit


def _deletion(output: KeyedOutput, row: pa.Table) -> pa.Table:
    """The deletion of the key of a row, without its other values."""
    for name in output.others:
        row = _without(row, name)
    return row.set_column(row.schema.get_field_index(CHANGE), CHANGE, pa.array([DELETE], pa.string()))


def _columns_at_fault(output: KeyedOutput, row: pa.Table, attempt: WriteTrial) -> list[str]:
    """The columns without any of which the row could be written."""
    deletion = _deletion(output, row)
    tried = deletion if attempt(deletion) is not None else row
    return [name for name in (*output.others, *output.key) if attempt(_without(tried, name)) is None]


def _without(row: pa.Table, name: str) -> pa.Table:
    """The row with null in a column."""
    place = row.schema.get_field_index(name)
    field = row.schema.field(name).with_nullable(True)
    return row.set_column(place, field, pa.nulls(row.num_rows, field.type))

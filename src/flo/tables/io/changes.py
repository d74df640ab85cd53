"""Tables of changes, as users, sinks and views have them: rows with the column `_weight`.

    the engine's own     with_users_weights     consolidate_changes    negate_weights
    n  ±                 n  _weight             n  _weight             n  _weight
    1  +1                1  +1                  1  +2                  1  -2
    1  +1                1  +1

A table without the column has each row once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.tables.io.files import WEIGHTS
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.trace import weight_overflow
from flo.tables.values import WEIGHT

WEIGHTS_FIELD = pa.field(WEIGHTS, pa.int64(), nullable=False)


def with_users_weights(table: pa.Table) -> pa.Table:
    """The rows with their weights under the name that users see."""
    return table.rename_columns([WEIGHTS if name == WEIGHT else name for name in table.column_names])


def with_own_weights(table: pa.Table) -> pa.Table:
    """The rows with their weights under the engine's own name."""
    return table.rename_columns([WEIGHT if name == WEIGHTS else name for name in table.column_names])


def consolidate_changes(table: pa.Table) -> pa.Table:
    """The changes with equal rows once, and without those that cancel out."""
    return with_users_weights(consolidate_table(with_own_weights(table).combine_chunks()))


def add_weights(table: pa.Table, weight: int = 1) -> pa.Table:
    """The rows as changes of this weight, if they have no weights."""
    if WEIGHTS in table.column_names:
        return table
    return table.append_column(WEIGHTS_FIELD, pa.array(np.full(table.num_rows, weight, np.int64)))


def negate_weights(table: pa.Table, name: str = WEIGHT) -> pa.Table:
    """The rows with the opposite weights, which are in this column. Raises if one does not fit 64 bits."""
    try:
        negated: Any = pc.negate_checked(table[name])
    except pa.ArrowInvalid:
        raise weight_overflow() from None
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), negated)

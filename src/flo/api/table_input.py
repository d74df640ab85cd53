"""The input of a table with a primary key: the collection of its changes.

Changes have the order in which they arrive, so they are a sequence. With `order_by` they have an order of their own:
the largest value of that column counts, however late it arrives. Then they are a bag, which needs no order on Spark.
"""

from __future__ import annotations

from typing import Any, is_typeddict

from flo.core.collection import Collection
from flo.core.elements import type_name
from flo.core.errors import TypeMismatch, brief
from flo.values.sequence import Sequence
from flo.values.weighted import Bag


def changes_of(name: str, row: Any, key: Any, order_by: Any) -> tuple[Collection, tuple[str, ...]]:
    """Return the collection of the changes of a table, and the columns of its key. Raises if a column is wrong."""
    from flo.columns.cell import fields_of
    from flo.columns.changes import change_type
    from flo.columns.row_types import rows

    row = rows(row) if not isinstance(row, type) or is_typeddict(row) else row
    columns = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, (list, tuple)) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeMismatch(
            f"`key` of `table` must be a column, or a list of columns; got {brief(key)}",
            instead=(('key="id"', "one column"), ('key=["shop", "day"]', "several")),
        )
    twice = next((column for place, column in enumerate(columns) if column in columns[:place]), None)
    if twice is not None:
        raise TypeMismatch(
            f"`key` of `table` must name each column once; it names `{twice}` twice",
            facts=(("key", brief(key)),),
        )
    known = fields_of(row) or {}
    for parameter, column in [*(("key", column) for column in columns), ("order_by", order_by)]:
        if known and column is not None and column not in known:
            raise TypeMismatch(
                f"`{parameter}` of `table` is the column `{brief(column).strip(chr(39))}`, "
                f"which {type_name(row)} does not have",
                facts=(("columns", ", ".join(known)),),
            )
    if order_by in columns:
        raise TypeMismatch(
            f"`order_by` of `table` must be a column that changes; `{order_by}` is in the key",
            facts=(("key", brief(key)),),
        )
    made = change_type(name, row, columns, order_by)
    return (Sequence if order_by is None else Bag)(made), columns

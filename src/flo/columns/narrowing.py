"""The integers that users get: sums have 38 digits in the state, and 64 bits where they leave it.

    state, and everything that a program computes      decimal128(38, 0)
    results as tables and frames, views, sinks         int64, checked

Sums of sums and comparisons are exact, and a sum that is too large for a while does no harm as long as nobody asks for
it. A schema marks the columns, so that a view can be read without its program.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.layout import VALUE, Layout
from flo.core.errors import ElementError, brief

MARK = {b"flo": b"64 bits"}
"""What the field of a column says that users get with 64 bits."""
LEAST, MOST = -(2**63), 2**63 - 1


def marked_schema(layout: Layout) -> pa.Schema:
    """Return the columns as they are in the state. Those that users get with 64 bits are marked."""
    return pa.schema([each.with_metadata(MARK) if each.name in layout.sums else each for each in layout.schema])


def users_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns as users get them."""
    return pa.schema([pa.field(each.name, pa.int64(), each.nullable) if _is_marked(each) else each for each in schema])


def to_users(table: pa.Table, marked: pa.Schema) -> pa.Table:
    """Return rows as users get them. Raises if a sum does not fit."""
    for field in marked:
        place = table.schema.get_field_index(field.name)
        if _is_marked(field) and place >= 0:
            own = pa.field(field.name, pa.int64(), field.nullable)
            table = table.set_column(place, own, _narrowed(table, field.name, marked))
    return table


def unmarked(schema: pa.Schema) -> pa.Schema:
    """Return the columns of rows that stay in the state."""
    return pa.schema([each.remove_metadata() for each in schema])


def _is_marked(field: pa.Field) -> bool:
    return field.metadata is not None and dict(field.metadata).items() >= MARK.items()


def _narrowed(table: pa.Table, name: str, marked: pa.Schema) -> pa.ChunkedArray:
    wide = table[name]
    try:
        return wide.cast(pa.int64())
    except pa.ArrowInvalid:
        outside = pc.or_(pc.less(wide, pa.scalar(LEAST, wide.type)), pc.greater(wide, pa.scalar(MOST, wide.type)))
        row = table.filter(outside).slice(0, 1).to_pylist()[0]
        value = int(row[name])
        others = {each: item for each, item in row.items() if each in marked.names and each != name}
        cast = f'nw.col("{name}").cast(nw.Decimal(38, 0))'
        raise ElementError(
            f"`{name}` of an output is {value}, which does not fit into 64 bits",
            facts=(("row", brief(others, 120)),) if others else (),
            instead=((f"map({cast})" if name == VALUE else f"with_columns({name}={cast})", "a decimal of 38 digits"),),
        ) from None

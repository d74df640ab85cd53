"""What functions of rows say of them, as columns beside the rows: groups, numbers, and what rows are ordered by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from flo.columnar.functions import KEY, applied, own_columns, row_by_row
from flo.columnar.keys import Numbers, keys_of, one_chunk
from flo.columnar.layout import VALUE, Layout
from flo.columnar.python_keys import code_of
from flo.columnar.rows import layout_of
from flo.core.elements import returned_type
from flo.values.element_value import ElementCollection

ALL = f"{KEY}all"
"""The key where there is but one group."""


def result_layout(f: Any, of: ElementCollection[Any]) -> Layout | None:
    """The columns of what the function gives; without one, of the elements."""
    return layout_of(of) if f is None else Layout.of(returned_type(f))


def results(f: Any, of: ElementCollection[Any], table: pa.Table) -> pa.Table:
    """What the function gives for every row, in the columns of its layout."""
    layout = result_layout(f, of)
    assert layout is not None, "a function whose results have no columns runs on values"
    found = table.select(list(layout.names)) if f is None else applied(f, (of,), table)
    if found.column_names == [VALUE] and layout.names != (VALUE,):  # one column of structs
        found = pa.Table.from_arrays(one_chunk(found[VALUE]).flatten(), names=list(layout.names))
    return layout.fitted(found).combine_chunks()


def group_keys(by: Any, of: ElementCollection[Any], table: pa.Table) -> pa.Table:
    """The key of each row's group."""
    if by is None:
        return pa.table({ALL: np.zeros(table.num_rows, np.int8)})
    if Layout.of(returned_type(by)) is not None:
        found = results(by, of, table)
        return found.rename_columns([f"{KEY}{name}" for name in found.column_names])
    keys = [code_of(key) for key in row_by_row(by, (of,), table)]
    return pa.table({f"{KEY}{VALUE}": pa.array(keys, pa.binary())})


def group_numbers(by: Any, of: ElementCollection[Any], table: pa.Table) -> Numbers:
    """The numbers of the groups of rows."""
    return keys_of(group_keys(by, of, table).columns).numbers


def plain_columns(f: Any, of: ElementCollection[Any]) -> tuple[str, ...] | None:
    """The element's own columns, where the function gives nothing else: they need not be kept twice."""
    if f is None:
        return layout_of(of).names
    return own_columns(f)


def beside(table: pa.Table, more: pa.Table) -> pa.Table:
    """The columns of both."""
    for name, column in zip(more.column_names, more.columns, strict=True):
        table = table.append_column(more.schema.field(name), column)
    return table


def group_array(by: Any, keys: pa.Table) -> pa.Array:
    """The keys as one column of an output row; other columns may stand behind theirs."""
    layout = Layout.of(returned_type(by))
    assert layout is not None
    own = keys.select(keys.column_names[: len(layout.names)])
    return layout.as_array(own.rename_columns(list(layout.names)))


def result_rows(by: Any, of: ElementCollection[Any], keys: pa.Table, found: pa.Array) -> pa.Table:
    """Output rows of groups and their results; without groups, of the results alone."""
    schema = layout_of(of).schema
    if by is not None:
        return pa.Table.from_arrays([group_array(by, keys), found], schema=schema)
    return pa.Table.from_arrays(found.flatten() if pa.types.is_struct(found.type) else [found], schema=schema)

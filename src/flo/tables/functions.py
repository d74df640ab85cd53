"""Applying functions to tables: column expressions to whole columns, Python functions row by row; and key columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression, calling
from flo.columns.function_types import Declared
from flo.columns.indices import Numbers, combine_chunks, one_chunk
from flo.columns.layout import VALUE, Layout
from flo.columns.projection import Projection
from flo.columns.traced import TracedExpression
from flo.core.collection import Collection
from flo.core.elements import returned_type
from flo.core.errors import ElementError, note_given
from flo.tables.state.comparison import code_of
from flo.tables.state.keys import keys_of
from flo.tables.state.run import Run, run_of
from flo.tables.state.sharing import Sharing
from flo.tables.values import layout_of
from flo.values.operators.shapes import expect_declared

KEY = "="
"""Prefix of the names of computed key columns."""
Collections = tuple[Collection, ...]


def runs_on_columns(f: Any) -> bool:
    """Whether a function runs on columns, not row by row."""
    return (
        f is None
        or isinstance(f, Expression)
        or (isinstance(f, Projection) and all(map(runs_on_columns, f.functions.values())))
    )


def has_results(f: Any) -> bool:
    """Whether the results of the function have columns."""
    return runs_on_columns(f) or Layout.of(returned_type(f)) is not None


@calling
def apply_function(f: Callable[..., Any], collections: Collections, *tables: pa.Table) -> pa.Table:
    """The results of a function for every row, as columns of its return type.

    Columns besides those of the rows, such as computed keys and weights, are ignored.
    """
    if isinstance(f, Expression):
        try:
            return f.results(*tables)
        except ElementError:
            if not isinstance(f, TracedExpression):
                raise
            f = Declared(f.traced_from, f.kind)  # Python may compute what columns cannot
    if isinstance(f, Projection):
        return _projected(f, collections[0], tables[0])
    results = row_by_row(f, collections, *tables)
    expect_declared(f, results)
    return written(results, returned_type(f))


@calling
def _projected(f: Projection, of: Collection, table: pa.Table) -> pa.Table:
    """The columns of a projection: expressions on whole columns, functions row by row."""
    columns = (
        {}
        if f.columns is None
        else dict(zip(f.columns.layout.names, apply_function(f.columns, (of,), table).columns, strict=True))
    )
    elements = [] if runs_on_columns(f) else elements_of(of, table)
    for name, function in f.functions.items():
        layout = Layout.of(returned_type(function))
        assert layout is not None
        if runs_on_columns(function):
            columns[name] = layout.as_array(layout.fitted(apply_function(function, (of,), table)))
            continue
        values = called(function, elements)
        expect_declared(function, values)
        columns[name] = layout.as_array(written(values, layout.element))
    return pa.Table.from_arrays([columns[name] for name in f.layout.names], schema=f.layout.schema)


@calling
def written(results: list[Any], kind: Any) -> pa.Table:
    """The results of a Python function as columns."""
    layout = Layout.of(kind)
    assert layout is not None, "a function whose results have no columns runs on values"
    try:
        return layout.to_table(results)
    except (pa.ArrowException, OverflowError, ValueError) as error:
        wider = (("-> flo.Int128", "for integers of up to 38 digits"),) * isinstance(error, OverflowError)
        raise layout.no_fit("a result", error, instead=wider) from None


def elements_of(collection: Collection, table: pa.Table) -> list[Any]:
    return layout_of(collection).to_elements(table)


def row_by_row(f: Callable[..., Any], collections: Collections, *tables: pa.Table) -> list[Any]:
    """The results of a Python function for every row. With several tables, an error shows the rows at fault."""
    elements = [elements_of(of, table) for of, table in zip(collections, tables, strict=True)]
    return called(f, *elements)


@calling
def called(f: Callable[..., Any], *elements: list[Any]) -> list[Any]:
    answers: list[Any] = []
    f = f.__wrapped__ if isinstance(f, Declared) else f
    if len(elements) == 1:
        answers += map(f, elements[0])
        if len(answers) < len(elements[0]):  # StopIteration ends `map` silently
            raise RuntimeError("generator raised StopIteration")
        return answers
    for given in zip(*elements, strict=True):
        try:
            answers.append(f(*given))
        except Exception as error:
            note_given(error, repr(given))
            raise
    return answers


def key_layout(on: Any, of: Collection) -> Layout | None:
    """The layout of the keys; None if a Python function does not declare its return type."""
    if on is None:
        return layout_of(of)
    return on.layout if isinstance(on, Expression) else Layout.of(returned_type(on))


@lru_cache(maxsize=1024)
def key_columns(on: Any, of: Collection, *, coded: bool = False) -> tuple[str, ...]:
    """The names of the key columns: columns of the element if possible, otherwise computed ones.

    A `coded` key is one column of bytes, which are equal if and only if the keys are, whatever their types.
    """
    layout = key_layout(on, of)
    if coded or layout is None:
        return (f"{KEY}{VALUE}",)
    if on is None:
        return layout.names
    return own_columns(on) or tuple(f"{KEY}{name}" for name in layout.names)


def own_columns(on: Any) -> tuple[str, ...] | None:
    """The columns of the element, if the expression selects nothing else."""
    if not isinstance(on, Expression) or (on.layout.form != "value" and not isinstance(on.given, tuple)):
        return None
    given = on.given if isinstance(on.given, tuple) else (on.given,)
    own = all(isinstance(each, str) for each in given) and len(set(given)) == len(given)
    return tuple(given) if own else None


def sort_by_key(table: pa.Table, on: Any, of: Collection, *, coded: bool = False, beside: tuple[str, ...] = ()) -> Run:
    """The rows as a run, sorted by the columns `beside` and the key."""
    keyed, columns = with_key(table, on, of, coded=coded)
    if keyed is not table:
        return run_of(combine_chunks(keyed), (*beside, *columns))
    return RUNS.get((*beside, *columns), (table,), lambda: run_of(combine_chunks(table), (*beside, *columns)))


def with_key(table: pa.Table, on: Any, of: Collection, *, coded: bool = False) -> tuple[pa.Table, tuple[str, ...]]:
    """The rows with their key columns, and the names of these."""
    columns = key_columns(on, of, coded=coded)
    missing = [name for name in columns if table.schema.get_field_index(name) < 0]
    if missing:
        keys = _computed(on, of, table, coded=coded)
        for name, field in zip(missing, keys.schema, strict=True):
            table = table.append_column(field.with_name(name), keys[field.name])
    return table, columns


@calling
def _computed(on: Any, of: Collection, table: pa.Table, *, coded: bool) -> pa.Table:
    layout = key_layout(on, of)
    if isinstance(on, Expression) and not coded:
        return apply_function(on, (of,), table)
    keys = (
        on.layout.to_elements(apply_function(on, (of,), table))
        if isinstance(on, Expression)
        else elements_of(of, table)
    )
    if on is not None and not isinstance(on, Expression):
        keys = called(on, keys)
    set(keys)  # raises if a key is not hashable
    if layout is None or coded:
        return pa.table({VALUE: pa.array([code_of(key) for key in keys], pa.binary())})
    expect_declared(on, keys)
    return written(keys, layout.element)


RUNS = Sharing()
"""Deltas by key, so that operators on the same stream and key share them."""
ALL = f"{KEY}all"
"""The key column if all rows are one group."""
AT = f"{KEY}at"
"""The column of the times of rows, or of other values in whose order they are, where it is computed."""


def result_layout(f: Any, of: Collection) -> Layout | None:
    """The layout of a function's results; without a function, of the elements."""
    return layout_of(of) if f is None else Layout.of(returned_type(f))


def results(f: Any, of: Collection, table: pa.Table) -> pa.Table:
    """The results of a function for every row, in the columns of its layout."""
    layout = result_layout(f, of)
    assert layout is not None, "a function whose results have no columns runs on values"
    values = table.select(list(layout.names)) if f is None else apply_function(f, (of,), table)
    if values.column_names == [VALUE] and layout.names != (VALUE,):  # one column of structs
        values = pa.Table.from_arrays(one_chunk(values[VALUE]).flatten(), names=list(layout.names))
    return layout.fitted(values).combine_chunks()


def with_group(table: pa.Table, by: Any, of: Collection) -> tuple[pa.Table, tuple[str, ...]]:
    """Returns rows with the columns of their group, which are added where rows have none, and their names."""
    columns = plain_columns(by, of) if by is not None else None
    if columns is not None:
        return table, columns
    computed = group_keys(by, of, table)
    return beside(table, computed), tuple(computed.column_names)


def group_keys(by: Any, of: Collection, table: pa.Table) -> pa.Table:
    """The group key of each row."""
    if by is None:
        return pa.table({ALL: np.zeros(table.num_rows, np.int8)})
    if Layout.of(returned_type(by)) is not None:
        computed = results(by, of, table)
        return computed.rename_columns([f"{KEY}{name}" for name in computed.column_names])
    keys = [code_of(key) for key in row_by_row(by, (of,), table)]
    return pa.table({f"{KEY}{VALUE}": pa.array(keys, pa.binary())})


def group_numbers(by: Any, of: Collection, table: pa.Table) -> Numbers:
    """The key number of the group of each row."""
    return keys_of(group_keys(by, of, table).columns).numbers


def plain_columns(f: Any, of: Collection) -> tuple[str, ...] | None:
    """The columns of the element, if the function selects nothing else. They need not be stored twice."""
    if f is None:
        return layout_of(of).names
    return own_columns(f)


def beside(table: pa.Table, more: pa.Table) -> pa.Table:
    """The columns of both tables."""
    for name, column in zip(more.column_names, more.columns, strict=True):
        table = table.append_column(more.schema.field(name), column)
    return table

"""Operators on whole streams: what bodies of `nest` over windows and batches are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, one_chunk, taken
from flo.columns.layout import VALUE, Layout
from flo.core.collection import Collection
from flo.core.elements import returned_type
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.functions import applied, by_columns
from flo.tables.keyed import KEY
from flo.tables.state.packing import together
from flo.tables.state.totals import Sums, as_array, sums_of
from flo.tables.state.trace import weighing
from flo.tables.streams import NUMBER, STREAM, numbered
from flo.tables.values import WEIGHT, layout_of
from flo.tables.whole import Outputs, Whole, Wholes, bounds, run_whole, whole_of, whole_types
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.operators.bags import Count, Sum
from flo.values.operators.keyed_streams import Entries, KeyBy
from flo.values.operators.per_key import PerKey


def has_results(f: Any) -> bool:
    return by_columns(f) or Layout.of(returned_type(f)) is not None


def weights_of(whole: Whole) -> Places:
    if WEIGHT in whole.table.column_names:
        found: Places = whole.table[WEIGHT].to_numpy()
        return found
    return np.ones(whole.table.num_rows, np.int64)


@whole_of(Count)
def counted(operator: Count, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,) = given
    return (_one_each(pa.array(_sums(whole, [])[WEIGHT]), outputs[0]),)


@whole_of(Sum)
def summed(operator: Sum, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,) = given
    kind = layout_of(outputs[0]).cells[0].arrow
    sums = _sums(whole, [one_chunk(whole.table[VALUE])])
    return (_one_each(as_array(sums, 0, kind, lambda place: f"inner stream {place}"), outputs[0]),)


def _sums(whole: Whole, columns: list[pa.Array]) -> Sums:
    """The sums of every stream: those without rows add up to zero."""
    places = bounds(whole)
    filled = np.flatnonzero(np.diff(places))
    found = sums_of(weights_of(whole), columns, np.arange(len(whole.table)), places[filled])
    sums = {name: np.zeros(whole.count, np.int64) for name in found}
    for name, column in found.items():
        sums[name][filled] = column
    return sums


def _one_each(results: pa.Array, of: Collection) -> Whole:
    """One element for each stream."""
    table = pa.Table.from_arrays([results], schema=layout_of(of).schema)
    return Whole(of, len(results), numbered(table, np.arange(len(results))))


@whole_of(KeyBy, when=lambda operator, inputs: has_results(operator.f))
def keyed(operator: KeyBy, given: Wholes, outputs: Outputs) -> Wholes:
    """The key's columns between the number of the stream and those of the element."""
    (whole,) = given
    keys = applied(operator.f, (whole.of,), whole.table)
    table = whole.table
    for place, name in enumerate(keys.column_names, start=1):
        table = table.add_column(place, f"{KEY}{name}", keys[name])
    return (Whole(outputs[0], whole.count, table),)


def _for_every_key(operator: PerKey, inputs: StreamTypes) -> bool:
    types = tuple(StreamType(stream.collection.inner, bounded=True) for stream in inputs)  # type: ignore[attr-defined]
    return len(inputs) == 1 and whole_types(operator.graph, types) is not None  # type: ignore[arg-type]


@whole_of(PerKey, when=_for_every_key)
def per_key(operator: PerKey, given: Wholes, outputs: Outputs) -> Wholes:
    """Every key of every stream is a stream of its own for the body."""
    (whole,) = given
    of = whole.of
    assert isinstance(of, Keyed)
    prefix = [name for name in whole.table.column_names if name == STREAM or name.startswith(KEY)]
    order, firsts = together(whole.table.select(prefix))
    rows = taken(whole.table.drop_columns(prefix), order)
    ids = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    inner = Whole(of.inner, len(firsts), numbered(rows, ids))
    keys = taken(whole.table.select(prefix), order[firsts])
    found = run_whole(operator.graph, (inner,))  # type: ignore[arg-type]
    return tuple(_back(each, keys, whole.count, of) for each, of in zip(found, outputs, strict=True))


def _back(result: Whole, keys: pa.Table, count: int, of: Collection) -> Whole:
    """The rows of each key's stream under the stream and the key."""
    prefix = taken(keys, result.streams)
    columns = [*prefix.columns, *result.rows().columns]
    fields = [NUMBER, *list(prefix.schema)[1:], *list(result.rows().schema)]
    return Whole(of, count, pa.Table.from_arrays(columns, schema=pa.schema(fields)))


@whole_of(Entries)
def entries(operator: Entries, given: Wholes, outputs: Outputs) -> Wholes:
    """(key, element) for every element."""
    (whole,), (of,) = given, outputs
    assert isinstance(whole.of, Keyed)
    assert isinstance(whole.of.inner, ElementCollection)
    names = [name for name in whole.table.column_names if name.startswith(KEY)]
    key, inner = Layout.of(whole.of.key), layout_of(whole.of.inner)
    assert key is not None
    keys = whole.table.select(names).rename_columns([name.removeprefix(KEY) for name in names])
    pair = [key.as_array(keys), inner.as_array(whole.table)]
    table = pa.Table.from_arrays(pair, schema=layout_of(of).schema)
    return (Whole(of, whole.count, numbered(weighing(table, weights_of(whole)), whole.streams)),)

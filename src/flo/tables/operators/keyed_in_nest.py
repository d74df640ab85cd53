"""Keyed streams inside of `nest`: every key of every inner stream is a stream of its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import take_rows
from flo.columns.layout import Layout
from flo.core.collection import Collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.functions import applied, has_results
from flo.tables.keyed import KEY, of_keys
from flo.tables.operators.results import weights_beside
from flo.tables.state.packing import together
from flo.tables.state.trace import weighing
from flo.tables.streams import NUMBER, STREAM, numbered
from flo.tables.values import layout_of
from flo.tables.whole import Outputs, Whole, Wholes, run_whole, whole_of, whole_types
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.operators.keyed_streams import Entries, KeyBy
from flo.values.operators.per_key import PerKey


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
    types = tuple(StreamType(of_keys(stream.collection).inner, bounded=True) for stream in inputs)
    return len(inputs) == 1 and whole_types(operator.graph, types) is not None  # type: ignore[arg-type]


@whole_of(PerKey, when=_for_every_key)
def per_key(operator: PerKey, given: Wholes, outputs: Outputs) -> Wholes:
    """Every key of every stream is a stream of its own for the body."""
    (whole,) = given
    of = whole.of
    assert isinstance(of, Keyed)
    prefix = [name for name in whole.table.column_names if name == STREAM or name.startswith(KEY)]
    order, firsts = together(whole.table.select(prefix))
    rows = take_rows(whole.table.drop_columns(prefix), order)
    ids = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    inner = Whole(of.inner, len(firsts), numbered(rows, ids))
    keys = take_rows(whole.table.select(prefix), order[firsts])
    found = run_whole(operator.graph, (inner,))  # type: ignore[arg-type]
    return tuple(_back(each, keys, whole.count, of) for each, of in zip(found, outputs, strict=True))


def _back(result: Whole, keys: pa.Table, count: int, of: Collection) -> Whole:
    """The rows of each key's stream under the stream and the key."""
    prefix = take_rows(keys, result.streams)
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
    return (Whole(of, whole.count, numbered(weighing(table, weights_beside(whole.table)), whole.streams)),)

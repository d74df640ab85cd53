"""Operators on whole streams: what bodies of `nest` over windows and batches are made of."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columnar.expression import Expression
from flo.columnar.functions import applied, by_columns
from flo.columnar.keys import Places, one_chunk
from flo.columnar.layout import VALUE, Layout
from flo.columnar.rows import WEIGHT, layout_of, ordered
from flo.columnar.run import taken
from flo.columnar.streams import NUMBER, STREAM, numbered
from flo.columnar.trace import alike
from flo.columnar.whole import Whole, Wholes, bounds, run_whole, runs_whole, whole_of
from flo.core.collection import Collection
from flo.core.elements import returned_type
from flo.core.errors import ElementError
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.operators.bags import Count, Sum
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.keyed import Entries, KeyBy
from flo.values.operators.per_key import PerKey
from flo.values.operators.sets import ToBag
from flo.values.operators.zset_conversions import ToZSet

KEY = "key."
"""What the names of key columns begin with, in the table of a keyed stream."""
WEIGHTS = pa.field(WEIGHT, pa.int64(), nullable=False)
Outputs = tuple[Collection, ...]


def has_results(f: Any) -> bool:
    return by_columns(f) or Layout.of(returned_type(f)) is not None


def weights_of(whole: Whole) -> Places:
    if WEIGHT in whole.table.column_names:
        found: Places = whole.table[WEIGHT].to_numpy()
        return found
    return np.ones(whole.table.num_rows, np.int64)


@whole_of(Map, when=lambda operator: has_results(operator.f))
def mapped(operator: Map, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,), (of,) = given, outputs
    table = layout_of(of).fitted(applied(operator.f, (whole.of,), whole.table))  # type: ignore[arg-type]
    if WEIGHT in whole.table.column_names:
        table = table.append_column(WEIGHTS, whole.table[WEIGHT])
    return (Whole(of, whole.count, numbered(table, whole.streams)),)


@whole_of(Filter)
def filtered(operator: Filter, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,) = given
    if isinstance(operator.keep, Expression):
        keep = applied(operator.keep, (whole.of,), whole.table)[VALUE]  # type: ignore[arg-type]
    else:
        elements = layout_of(whole.of).to_elements(whole.table)  # type: ignore[arg-type]
        keep = pa.array([bool(operator.keep(element)) for element in elements], pa.bool_())
    return (Whole(whole.of, whole.count, whole.table.filter(keep)),)


@whole_of(Count)
def counted(operator: Count, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,) = given
    return (_one_each(np.bincount(whole.streams, weights_of(whole), whole.count).astype(np.int64), outputs[0]),)


@whole_of(Sum)
def summed(operator: Sum, given: Wholes, outputs: Outputs) -> Wholes:
    """ints by columns, if no total can overflow; floats exactly, stream by stream."""
    (whole,) = given
    kind = layout_of(whole.of).cells[0].arrow  # type: ignore[arg-type]
    values = one_chunk(whole.table[VALUE])
    places, weights = bounds(whole), weights_of(whole)
    if pa.types.is_floating(kind):
        numbers = np.repeat(values.to_numpy(zero_copy_only=False), weights)
        ends = np.concatenate([[0], np.cumsum(weights)])[places]
        totals = [_total(numbers[low:high]) for low, high in itertools.pairwise(ends)]
        return (_one_each(np.array(totals, np.float64), outputs[0]),)
    numbers = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    largest = int(np.abs(numbers.astype(np.float64)).max(initial=0)) * int(np.abs(weights).sum())
    if largest < 1 << 62:
        running = np.concatenate([[0], np.cumsum(numbers * weights)])
        return (_one_each(running[places[1:]] - running[places[:-1]], outputs[0]),)
    exact = [
        sum(int(n) * int(w) for n, w in zip(numbers[low:high], weights[low:high], strict=True))
        for low, high in itertools.pairwise(places)
    ]
    try:
        return (_one_each(np.array(exact, np.int64), outputs[0]),)
    except OverflowError:
        raise ElementError("a sum does not fit the 64 bits of its column") from None


def _total(numbers: Any) -> float:
    """Rounded once, as `Exact` does."""
    if not len(numbers):
        return 0
    with np.errstate(all="ignore"):
        plain = float(np.sum(numbers))
    if math.isfinite(plain):
        return math.fsum(numbers)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # infinities of both signs, or a total beyond the largest float
        return plain


def _one_each(results: Any, of: Collection) -> Whole:
    """One element for each stream."""
    table = pa.Table.from_arrays([pa.array(results)], schema=layout_of(of).schema)  # type: ignore[arg-type]
    return Whole(of, len(results), numbered(table, np.arange(len(results))))


@whole_of(ToBag, ToZSet)
def with_weights(operator: Any, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,), (of,) = given, outputs
    if not ordered(whole.of):
        return (Whole(of, whole.count, whole.table),)
    ones = pa.array(np.ones(whole.table.num_rows, np.int64))
    return (Whole(of, whole.count, whole.table.append_column(WEIGHTS, ones)),)


@whole_of(KeyBy, when=lambda operator: has_results(operator.f))
def keyed(operator: KeyBy, given: Wholes, outputs: Outputs) -> Wholes:
    """The key's columns between the number of the stream and those of the element."""
    (whole,) = given
    keys = applied(operator.f, (whole.of,), whole.table)  # type: ignore[arg-type]
    table = whole.table
    for place, name in enumerate(keys.column_names, start=1):
        table = table.add_column(place, f"{KEY}{name}", keys[name])
    return (Whole(outputs[0], whole.count, table),)


@whole_of(PerKey, when=lambda operator: operator.graph.arity[0] == 1 and runs_whole(operator.graph))
def per_key(operator: PerKey, given: Wholes, outputs: Outputs) -> Wholes:
    """Every key of every stream is a stream of its own for the body."""
    (whole,) = given
    of = whole.of
    assert isinstance(of, Keyed)
    prefix = [name for name in whole.table.column_names if name == STREAM or name.startswith(KEY)]
    order, firsts = alike(whole.table.select(prefix))
    rows = taken(whole.table, order)
    ids = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    inner = Whole(of.inner, len(firsts), numbered(rows.drop_columns(prefix), ids))
    keys = taken(rows.select(prefix), firsts)
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
    table = pa.Table.from_arrays(pair, schema=layout_of(of).schema)  # type: ignore[arg-type]
    order = pc.sort_indices(whole.table[STREAM])
    table = table.append_column(WEIGHTS, pa.array(weights_of(whole)))
    return (Whole(of, whole.count, taken(numbered(table, whole.streams), order.to_numpy())),)

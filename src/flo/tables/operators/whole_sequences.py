"""Operators on whole sequences, of all streams at once: places are counted from where each stream begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, one_chunk, taken
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import result_layout
from flo.tables.operators.ranking import by_key
from flo.tables.state.order import Order
from flo.tables.streams import STREAM, numbered
from flo.tables.translate import FORMS
from flo.tables.values import WEIGHT, layout_of, ordered
from flo.tables.whole import Outputs, Whole, Wholes, bounds, one_by_one, whole_of
from flo.values.operators.bags import Sort
from flo.values.operators.pairs import UnionSequences, Zip
from flo.values.operators.sequences import Enumerate, Last, Take


def has_form(operator: Operator, inputs: StreamTypes) -> bool:
    """Whether it runs on tables at all."""
    return FORMS[type(operator)](operator, inputs) is not None


def positions(whole: Whole) -> Places:
    """The place of each row in its stream."""
    return np.arange(whole.table.num_rows) - bounds(whole)[whole.streams]


def lengths(whole: Whole) -> Places:
    return np.diff(bounds(whole))


def chosen(whole: Whole, which: Any) -> Whole:
    return Whole(whole.of, whole.count, whole.table.filter(pa.array(which)))


@whole_of(Enumerate)
def enumerated(operator: Enumerate, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,) = given
    columns = [pa.array(positions(whole)), layout_of(whole.of).as_array(whole.table)]
    return (_of_columns(columns, whole, outputs),)


def _of_columns(columns: list[pa.Array], like: Whole, outputs: Outputs) -> Whole:
    (of,) = outputs
    table = pa.Table.from_arrays(columns, schema=layout_of(of).schema)
    return Whole(of, like.count, numbered(table, like.streams))


@whole_of(Take)
def first(operator: Take, given: Wholes, outputs: Outputs) -> Wholes:
    return (chosen(given[0], positions(given[0]) < operator.count),)


@whole_of(Last)
def last(operator: Last, given: Wholes, outputs: Outputs) -> Wholes:
    (whole,) = given
    return (chosen(whole, positions(whole) == lengths(whole)[whole.streams] - 1),)


@whole_of(Zip)
def zipped(operator: Zip, given: Wholes, outputs: Outputs) -> Wholes:
    shortest = np.minimum(*map(lengths, given))
    sides = [chosen(side, positions(side) < shortest[side.streams]) for side in given]
    columns = [layout_of(side.of).as_array(side.table) for side in sides]
    return (_of_columns(columns, sides[0], outputs),)


@whole_of(UnionSequences, when=has_form)
def one_after_the_other(operator: UnionSequences, given: Wholes, outputs: Outputs) -> Wholes:
    (of,) = outputs
    layout = layout_of(of)
    sides = [numbered(layout.fitted(side.table), side.streams) for side in given]
    return (Whole(of, given[0].count, pa.concat_tables(sides)),)


@whole_of(Sort, when=has_form)
def in_order(operator: Sort, given: Wholes, outputs: Outputs) -> Wholes:
    """Equal keys stay in the order of a sequence, and are by their text otherwise."""
    (whole,), (of,) = given, outputs
    table, columns = by_key(whole.table.combine_chunks(), whole.of, operator.key)
    order = Order(columns, False, layout_of(whole.of), True, result_layout(operator.key, whole.of))
    if ordered(whole.of):
        keys = [each.numbers(one_chunk(table[name])) for name, each in zip(columns, order.comparisons, strict=True)]
        places = np.lexsort((*keys[::-1], whole.streams))
    else:
        places, _ = order.sorted(table, whole.streams)
    if len(order.not_compared(table, whole.streams, places)):
        return one_by_one(operator, given, outputs)  # which says what cannot be compared
    if not ordered(whole.of):
        places = np.repeat(places, table[WEIGHT].to_numpy()[places])
    names = [STREAM, *layout_of(of).names]
    return (Whole(of, whole.count, taken(whole.table.select(names), places)),)

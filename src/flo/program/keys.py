"""The primary key of a stream of rows, derived from the operators that make it.

Of the columns of a key no two rows have the same values: each of them has at most one row, with weight 1. A group has
its columns as a key, `distinct(on=…)` and `top(1, by=…)` those that they choose by, a table its own. Operators that
drop rows keep the key, and so do projections and joins that pass its columns on: see `Operator.output_key`.
"""

from __future__ import annotations

from flo.columns.layout import Layout
from flo.core.facts import PrimaryKey
from flo.program.dag import BuiltStream
from flo.values.element_value import ElementCollection
from flo.values.weighted import Set


def key_of(stream: BuiltStream) -> PrimaryKey:
    """Return the columns of which no two rows of a stream have the same values, if the program says so."""
    keys: dict[BuiltStream, PrimaryKey] = {}
    waiting = [stream]
    while waiting:
        vertex = waiting[-1].source
        before = [] if vertex is None else [each for each in vertex.inputs if each not in keys]
        if before:
            waiting += before
        else:
            each = waiting.pop()
            keys[each] = _key(each, keys)
    return keys[stream]


def _key(stream: BuiltStream, keys: dict[BuiltStream, PrimaryKey]) -> PrimaryKey:
    """Return the key of a stream, given those of the streams that its operator reads."""
    collection, vertex = stream.type.collection, stream.source
    layout = Layout.of(collection.element) if isinstance(collection, ElementCollection) else None
    columns = () if layout is None else tuple(layout.names)
    if isinstance(collection, Set):
        return columns or None
    if vertex is None or vertex.key is not None:
        return None if vertex is None else vertex.key
    types = tuple(each.type for each in vertex.inputs)
    return vertex.operator.output_key(tuple(keys[each] for each in vertex.inputs), types, columns)

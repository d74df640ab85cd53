"""A body on many whole streams at once: every operator of it once, with the number of the stream in its key.

Inner streams that are complete need no state and no order among them, so what `nest` would do for one after the other
is one pass over all of their rows. Operators that group by key columns run as they do elsewhere, with the number of the
stream as their key. Operators on keyed streams are registered with `whole_of`. Of the others, those on streams of
elements run on values, one stream after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, take_rows
from flo.columns.layout import Layout
from flo.core.collection import Collection, End
from flo.core.graph import Graph, Node, nodes
from flo.core.operator import Deltas, Operator, Values, concat_all
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Wire
from flo.tables.functions import written
from flo.tables.groups import stream_groups
from flo.tables.keyed import has_key_columns
from flo.tables.operator import Grouping, OnTables, to_table_type
from flo.tables.state.trace import group_equal_rows, with_weights
from flo.tables.streams import NUMBER, STREAM, add_stream_numbers, numbers
from flo.tables.translate import FORMS, rebuild
from flo.tables.values import WEIGHT, Rows, is_ordered, layout_of, schema_of
from flo.values.element_value import ElementCollection
from flo.values.weighted import Set


@dataclass(frozen=True)
class Whole:
    """The rows of one place of the body, of all `count` streams: the number of the stream, and then its columns.

    Rows stand by stream, and those of a set are all different.
    """

    of: Collection
    count: int
    table: pa.Table

    @property
    def streams(self) -> Indices:
        return numbers(self.table)

    def rows(self) -> pa.Table:
        return self.table.drop_columns([STREAM])


Wholes: TypeAlias = tuple[Whole, ...]
Outputs: TypeAlias = tuple[Collection, ...]
RunWhole: TypeAlias = Callable[[Any, Wholes, Outputs], Wholes]
When: TypeAlias = Callable[[Any, StreamTypes], bool]
WHOLE: dict[type[Operator], tuple[RunWhole, When]] = {}


def whole_of(*kinds: type[Operator], when: When = lambda operator, inputs: True) -> Callable[[RunWhole], RunWhole]:
    """Registers how these operators run on whole streams: (operator, inputs, what the outputs are) to outputs; `when`
    says of an operator and its input types whether it does."""

    def registered(run: RunWhole) -> RunWhole:
        WHOLE.update(dict.fromkeys(kinds, (run, when)))
        return run

    return registered


def whole_types(graph: Graph, inputs: StreamTypes) -> StreamTypes | None:
    """The types of the outputs, if every operator of the body can run on whole streams of these types."""

    def visit(node: Node, inputs: StreamTypes) -> tuple[Graph, StreamTypes] | None:
        if isinstance(node.operator, Wire):
            return node, node.operator.type(inputs)
        outputs = node.operator.judge(inputs).outputs
        every = [stream.collection for stream in (*inputs, *outputs)]
        simple = bool(inputs and outputs) and all(map(_has_columns, every))
        have_columns = all(_has_columns(of) or has_key_columns(of) for of in every)
        return (node, outputs) if simple or (have_columns and find_run(node.operator, inputs)) else None

    typed = rebuild(graph, inputs, visit)
    return typed and typed[1]


def operators_in(graph: Graph) -> Iterator[Operator]:
    """The operators of a body, and of bodies in it."""
    for node in nodes(graph):
        yield node.operator
        inside = getattr(node.operator, "graph", None)
        yield from () if inside is None else operators_in(inside)


def find_run(operator: Operator, inputs: StreamTypes) -> RunWhole | None:
    """How the operator runs on whole streams of these types; None if it runs on values, or not at all."""
    if type(operator) in WHOLE:
        run, when = WHOLE[type(operator)]
        return run if when(operator, inputs) else None
    return run_form if form_on_groups(operator, inputs) is not None else None


def form_on_groups(operator: Operator, inputs: StreamTypes) -> OnTables[Operator] | None:
    """The operator on tables, if its class declares that it groups rows by key columns."""
    make = FORMS.get(type(operator))
    form = make and make(operator, inputs)
    return form if isinstance(form, OnTables) and form.grouping is not Grouping.NONE else None


def run_form(operator: Operator, given: Wholes, outputs: Outputs) -> Wholes:
    """Runs the operator on tables with the number of the stream as its group, and closes all streams."""
    types: StreamTypes = tuple(StreamType(each.of, bounded=True) for each in given)
    form: Any = form_on_groups(operator, types)
    form = replace(form.typed(tuple(map(to_table_type, types))), keys=(STREAM,))
    deltas: list[Deltas] = []
    if any(each.table.num_rows for each in given):
        form, outputs_of_rows = form.consume_all(*(each.table for each in given))
        deltas.append(outputs_of_rows)
    if type(form).close is not OnTables.close:
        deltas.append(form.close(stream_groups(given[0].count))[1])
    parts: list[list[Any]] = [[delta for delta in each if delta is not None] for each in zip(*deltas, strict=True)]
    return tuple(
        _whole(of, given[0].count, each) for of, each in zip(outputs, parts or [[]] * len(outputs), strict=True)
    )


def _whole(of: Any, count: int, parts: list[Rows]) -> Whole:
    schema = pa.schema([NUMBER, *schema_of(of)])
    tables = [pa.Table.from_arrays(part.table.select(schema.names).columns, schema=schema) for part in parts]
    return Whole(of, count, pa.concat_tables([schema.empty_table(), *tables]))


def _has_columns(of: Collection) -> bool:
    return isinstance(of, ElementCollection) and Layout.of(of.element) is not None


def run_whole(graph: Graph, given: Wholes) -> Wholes:
    """The outputs of the body for all streams."""

    def visit(node: Node, given: Wholes) -> tuple[Graph, Wholes]:
        operator = node.operator
        if isinstance(operator, Wire):
            return node, tuple(given[route] for route in operator.routes)
        types: StreamTypes = tuple(StreamType(each.of, bounded=True) for each in given)
        outputs = tuple(output.collection for output in operator.judge(types).outputs)
        run = find_run(operator, types) or one_by_one
        return node, tuple(map(sort_by_stream, run(operator, given, outputs)))

    results = rebuild(graph, given, visit)
    assert results is not None
    return results[1]


def sort_by_stream(whole: Whole) -> Whole:
    """Sorts rows by stream; rows of a set occur once."""
    table = whole.table
    if isinstance(whole.of, Set):
        order, firsts = group_equal_rows(table.drop_columns([WEIGHT]))
        table = with_weights(take_rows(table, np.sort(order[firsts])), np.ones(len(firsts), np.int64))
    streams = numbers(table)
    if not np.all(streams[1:] >= streams[:-1]):
        table = take_rows(table, np.argsort(streams, kind="stable"))
    return replace(whole, table=table)


def bounds(whole: Whole) -> Indices:
    """Returns where the rows of each stream begin, and where the last ones end."""
    return np.searchsorted(whole.streams, np.arange(whole.count + 1))


def one_by_one(operator: Operator, given: Wholes, outputs: Outputs) -> Wholes:
    """The operator as it is, on the values of one stream after the other."""
    typed = operator.typed(tuple(StreamType(each.of, bounded=True) for each in given))
    bottoms = tuple(of.bottom() for of in outputs)
    results = [_finished(typed, values, bottoms) for values in zip(*map(_values, given), strict=True)]
    return tuple(_gathered(of, [values[index] for values in results]) for index, of in enumerate(outputs))


def _values(whole: Whole) -> list[Any]:
    """The value of each stream."""
    of: Any = whole.of
    units = layout_of(of).to_elements(whole.table)
    if not is_ordered(of):
        units = list(zip(units, whole.table[WEIGHT].to_pylist(), strict=True))
    return [of.value_class.of(units[low:high], End.ARRIVED) for low, high in pairwise(bounds(whole))]


def _finished(operator: Operator, inputs: Values, outputs: Values) -> Values:
    for step in operator.advance(inputs):
        outputs = concat_all(outputs, step.outputs)
    return outputs


def _gathered(of: Any, values: list[Any]) -> Whole:
    """The streams of these values."""
    each = [value.all_units() for value in values]
    units = [unit for some in each for unit in some]
    if is_ordered(of):
        table = written(units, of.element)
    else:
        table = written([element for element, _ in units], of.element)
        table = with_weights(table, np.array([weight for _, weight in units], np.int64))
    return Whole(of, len(values), add_stream_numbers(table, np.repeat(np.arange(len(each)), list(map(len, each)))))

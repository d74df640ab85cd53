"""`nest` and operators on nested streams, on tables: a row has the number of its inner stream.

Three inner streams, of which the last has no rows (`count` is 3):

    #  n             nest(map(n * 10))    flatten      integrate, if these are z-sets
    0  1   +1        0  10   +1           1  +1        0  1  +1
    0  2   +1        0  20   +1           2  +1        0  2  +1
    1  1   +1        1  10   +1           1  +1        1  1  +2      stream 1 has what stream 0 has, too
                                                       1  2  +1
                                                       2  1  +2
                                                       2  2  +1

Invariant: an inner stream gets what the body would give for it alone. The number of a stream counts from the first one
of a delta; streams leave in the order in which they came.

Where the inner streams are complete and the body has no defer, the body runs on all of them at once (`NestTables`, with
tables/whole.py): every operator has the number of the stream in its key. Elsewhere `nest` is the operator of values,
and its body is a graph on tables: every inner stream is a table of its own. Operators that only move inner streams,
such as `zip_nested`, move tables as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import expand_ranges, take_rows
from flo.core.collection import Collection, End
from flo.core.errors import FloError
from flo.core.graph import Graph, Node, Parallel, Sequential, nodes
from flo.core.nest import Nest, ReadDefer, WriteDefer
from flo.core.nested import Nested
from flo.core.operator import Delta, Measure, Operator, Step, Values
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Source
from flo.core.typing import derive
from flo.tables.faults import cut, expect_row_fault, raise_on_values
from flo.tables.functions import beside, runs_on_columns
from flo.tables.operator import (
    Grouping,
    OnTables,
    Op,
    Placement,
    functions_in,
    register_in,
    to_table_types,
    to_value_type,
)
from flo.tables.operators.weights import NOTHING, totals
from flo.tables.state.consolidation import consolidate_table, net_changes
from flo.tables.state.run import Run
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, with_weights
from flo.tables.streams import (
    STREAM,
    StreamColumns,
    Streams,
    add_stream_numbers,
    expect_nested,
    has_columns,
    inner_of,
    numbers,
)
from flo.tables.translate import CHOICES, form_of, tables_of, translate_graph
from flo.tables.values import WEIGHT, Columns, Rows, is_ordered, of_elements, schema_of
from flo.tables.whole import Whole, operators_in, run_whole, sort_by_stream, whole_types
from flo.values.element_value import ElementCollection
from flo.values.operators.nested_streams import Flatten, NestedLast, NestedZip, NestOnce, RepeatNested, RepeatNestedBy
from flo.values.operators.zset_streams import Differentiate, Integrate
from flo.values.weighted import Set


@final
@dataclass(frozen=True)
class WriteRows(WriteDefer):
    """write_defer(k) of unordered rows. At the end it consolidates them; otherwise every round would add them again."""

    gathered: bool = False

    name = "write_defer_tables"

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        assert isinstance(value, Rows)
        if value.end is End.ARRIVED and not self.gathered:
            once = Rows(value.of, gather(value.of, value.table), End.ARRIVED)
            yield Step("write-defer-gather", (once,), replace(self, gathered=True), ())

    def measure(self, inputs: Values) -> Measure:
        return (int(not self.gathered),)


def gather(of: Collection, table: pa.Table) -> pa.Table:
    """Consolidates rows; in a set every row has the weight 1."""
    ones = np.ones(table.num_rows, np.int64)
    if not isinstance(of, Set):
        return consolidate_table(table)
    table = consolidate_table(with_weights(table, ones))
    return with_weights(table, ones[: table.num_rows])


@register_in(CHOICES, WriteDefer)
def write_defer(like: WriteDefer, inputs: StreamTypes) -> tuple[StreamTypes, Operator]:
    """Writes tables. If their rows have no order, they are consolidated at the end of a round."""
    wanted = to_table_types(inputs[0])
    of = wanted.collection
    return (wanted,), WriteRows(like.key) if isinstance(of, Columns) and not is_ordered(of.base) else like


def unify_defer_types(body: Graph, inputs: StreamTypes) -> Graph | None:
    """Returns the body with one type for each read_defer and its write_defer; None if their types differ.

    If an element type is unknown, that of the elements of the first round is tried.
    """
    return next((each for each in (_guess_types(body), body) if _has_same_types(each, inputs)), None)


def _has_same_types(body: Graph, inputs: StreamTypes) -> bool:
    """Whether each read_defer of a body has the type of its write_defer."""
    try:
        judged = derive(body, inputs)
    except FloError:  # with the types that were guessed
        return False
    writes = dict(judged.writes)
    return all(writes.get(key) == collection for key, collection in judged.reads)


def _guess_types(graph: Graph) -> Graph:
    """The graph with types of read_defers as the elements of their first round have them."""
    match graph:
        case Sequential(left, right):
            return Sequential(_guess_types(left), _guess_types(right))
        case Parallel(left, right):
            return Parallel(_guess_types(left), _guess_types(right))
        case Node(state, ReadDefer() as read, origin):
            return Node(state, replace(read, collection=_guess_type(read.collection, read.value)), origin)
        case _:
            return graph


def _guess_type(of: Collection, value: Any) -> Collection:
    """The collection with the type of these elements, if it has none and they have one."""
    if not isinstance(of, ElementCollection) or of.element is not Any:
        return of
    kinds = {_kind(element) for element in value.elements_list()}
    return type(of)(kinds.pop()) if len(kinds) == 1 else of


def _kind(element: Any) -> Any:
    return tuple[tuple(map(_kind, element))] if type(element) is tuple and element else type(element)  # type: ignore[misc]


Choice = tuple[StreamTypes, Operator | Graph]


def nest_one_by_one(like: Nest, stream: StreamType) -> Choice | None:
    """`nest` with its body on tables, if any of it can be."""
    of = to_value_type(stream).collection
    assert isinstance(of, Nested)
    body = unify_defer_types(like.graph, of.inner)
    if body is None:
        return None
    wanted = to_table_types(stream)
    graph = translate_graph(body, wanted.collection.inner)  # type: ignore[attr-defined]
    return ((wanted,), replace(like, graph=graph)) if _uses_tables(graph) else None


def _uses_tables(graph: Graph) -> bool:
    return any(
        isinstance(each.operator, OnTables) or (isinstance(each.operator, Nest) and _uses_tables(each.operator.graph))
        for each in nodes(graph)
    )


@register_in(CHOICES, ReadDefer, Source)
def emit_constant(like: ReadDefer | Source, inputs: StreamTypes) -> Choice | None:
    """Emits a constant as a table, into which it is converted once."""
    wanted = to_table_types(StreamType(like.collection, bounded=True)).collection
    return (), replace(like, collection=wanted, value=tables_of(like.collection, like.value))


@register_in(CHOICES, RepeatNested, NestedLast)
def move_tables(like: Operator, inputs: StreamTypes) -> Choice | None:
    """Moves inner streams that are tables as they are."""
    return tuple(map(to_table_types, inputs)), like


@register_in(CHOICES, NestOnce)
def nest_once(like: NestOnce, inputs: StreamTypes) -> Choice | None:
    """Repeats the first input for each inner stream of the second, whose content does not matter."""
    stream, driver = inputs
    return (to_table_types(stream), driver if isinstance(driver.collection, Nested) else to_table_types(driver)), like


@register_in(CHOICES, RepeatNestedBy)
def repeat_nested_by(like: RepeatNestedBy, inputs: StreamTypes) -> Choice | None:
    """Repeats inner streams that are tables; how often stays a value."""
    stream, times = inputs
    return (to_table_types(stream), to_value_type(times)), like


@final
@dataclass(frozen=True)
class FlattenInner(OnTables[Flatten]):
    """flatten() of inner streams that are tables of their own."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    name = "flatten_inner"

    def steps(self, inputs: Values) -> Iterator[Step]:
        for step in Flatten(Columns(of_elements(self.outputs[0])).bottom()).steps(inputs):
            yield replace(step, operator=self)

    def advance(self, inputs: Values) -> Iterator[Step]:
        return self.steps(inputs)


def flatten_inner(like: Flatten, stream: StreamType) -> Choice | None:
    """flatten() where every inner stream is a table of its own."""
    wanted = to_table_types(stream)
    inner: Any = wanted.collection
    return ((wanted,), FlattenInner(like)) if isinstance(inner.inner[0].collection, Columns) else None


@dataclass(frozen=True)
class OnStreams(OnTables[Op]):
    """Reads one nested stream whose inner streams are complete."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY
    stream_by_stream = True

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        assert isinstance(value, Streams)
        if value.count:
            yield self.consume_streams(value)
        elif value.end is End.ARRIVED:
            yield Step(f"{self.rule}-terminated", (value.passed(),), self.reset(), (self.ended(),))

    def consume_streams(self, value: Streams) -> Step:
        """The step that consumes these inner streams."""
        return Step(self.rule, (value.drained(),), self, (self.all_of(value),))

    def all_of(self, value: Streams) -> Delta:
        """The output for these inner streams."""
        raise NotImplementedError


@final
@dataclass(frozen=True)
class NestTables(OnStreams[Nest]):
    """nest(g) on inner streams that are complete."""

    name = "nest_tables"

    @property
    def by_row(self) -> bool:
        return not all(runs_on_columns(f) for operator in operators_in(self.like.graph) for f in functions_in(operator))

    def consume_streams(self, value: Streams) -> Step:
        try:
            return super().consume_streams(value)
        except Exception as error:
            expect_row_fault(self, error)
            raise_on_values(self.like, value, lambda start, stop: self.all_of(cut(value, start, stop)))
            raise

    def all_of(self, value: Streams) -> Delta:
        like = self.like
        inner = tuple(
            sort_by_stream(Whole(stream.collection, value.count, table))
            for stream, table in zip(value.of.inner, value.tables, strict=True)
        )
        tables = tuple(each.table for each in run_whole(like.graph, inner))
        return replace(value, of=expect_nested(self.outputs[0]), tables=tables, end=End.OPEN)


@register_in(CHOICES, Nest)
def nest(like: Nest, inputs: StreamTypes) -> Choice | None:
    """All inner streams at once if they are complete and the body allows it; otherwise one after the other."""
    (stream,) = inputs
    of = stream.collection
    if isinstance(of, StreamColumns) and whole_types(like.graph, of.base.inner) is not None:
        if has_columns(like.judge((to_value_type(stream),)).outputs[0].collection):
            return inputs, NestTables(like)
    return nest_one_by_one(like, stream)


@final
@dataclass(frozen=True)
class FlattenTables(OnStreams[Flatten]):
    """flatten() on inner streams that are complete."""

    name = "flatten_tables"

    def all_of(self, value: Streams) -> Delta:
        rows = value.tables[0]
        if self.keys:
            rows = beside(rows, take_rows(value.owners, numbers(rows)))
        return self.emitted(rows.drop_columns([STREAM]))


@register_in(CHOICES, Flatten)
def flatten(like: Flatten, inputs: StreamTypes) -> Choice | None:
    """Flattens all inner streams at once if they are complete; otherwise one after the other."""
    (stream,) = inputs
    whole = isinstance(stream.collection, StreamColumns)
    return (inputs, FlattenTables(like)) if whole else flatten_inner(like, stream)


@final
@dataclass(frozen=True)
class ZipStreams(OnTables[NestedZip]):
    """zip_nested(n) of inner streams that are complete."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE

    done: bool = False
    """Whether one of the inputs has ended."""

    name = "zip_streams"
    rule = "zip-nested"

    def steps(self, inputs: Values) -> Iterator[Step]:
        values: Any = inputs
        count = min(value.count for value in values)
        if self.done:
            if any(value.size() for value in values):
                yield Step(f"{self.rule}-drain", tuple(value.take()[0] for value in values), self, (None,))
        elif count:
            cut = [value.send(count) if count < value.count else (value.drained(), value) for value in values]
            tables = tuple(table for _, sent in cut for table in sent.tables)
            zipped = Streams(expect_nested(self.outputs[0]), count, tables)
            yield Step(self.rule, tuple(rest for rest, _ in cut), self, (zipped,))
        elif any(value.end is End.ARRIVED and not value.count for value in values):
            rests = tuple(value.passed() if value.fixed() else value.drained() for value in values)
            yield Step(f"{self.rule}-terminated", rests, replace(self, done=True), (self.ended(),))


@register_in(CHOICES, NestedZip)
def zip_nested(like: NestedZip, inputs: StreamTypes) -> Choice | None:
    """Zips all inner streams at once, if they are complete."""
    whole = all(isinstance(stream.collection, StreamColumns) for stream in inputs)
    return (inputs, ZipStreams(like)) if whole else move_tables(like, inputs)


@dataclass(frozen=True)
class RunningTables(OnStreams[Op]):
    """Combines each inner z-set with what it keeps of those before it."""

    grouping = Grouping.NONE
    stream_by_stream = False

    before: Trace = field(default=NOTHING)
    """`integrate`: the sum of all inner z-sets so far. `differentiate`: the last one."""

    def consume_streams(self, value: Streams) -> Step:
        after, table = self.combine(value)
        return Step(f"{self.rule}-step", (value.drained(),), after, (Streams(value.of, value.count, (table,)),))

    def combine(self, value: Streams) -> tuple[Self, pa.Table]:
        """Returns the operator after these inner z-sets, and the rows of the inner z-sets that it emits."""
        raise NotImplementedError

    def earlier_rows(self, value: Streams) -> pa.Table:
        """The rows of earlier inner z-sets, consolidated."""
        table = self.before.table()
        return schema_of(inner_of(value.of)[0]).empty_table() if table is None else table


def sort_by_number(table: pa.Table) -> pa.Table:
    return take_rows(table, np.argsort(numbers(table), kind="stable"))


def sum_streams(table: pa.Table) -> Run:
    rows = table.drop_columns([STREAM])
    return totals(rows, tuple(name for name in rows.column_names if name != WEIGHT))


@form_of(Integrate)
@final
@dataclass(frozen=True)
class IntegrateTables(RunningTables[Integrate]):
    """integrate: a row is in its own output and in all later ones. An output has as many rows as the sum."""

    name = "integrate_tables"

    def combine(self, value: Streams) -> tuple[Self, pa.Table]:
        table, count = value.tables[0], value.count
        before = self.earlier_rows(value)
        repeated = np.tile(np.arange(before.num_rows), count)
        old = add_stream_numbers(take_rows(before, repeated), np.repeat(np.arange(count), before.num_rows))
        begins = numbers(table)
        follows = count - begins
        rows = take_rows(table, np.repeat(np.arange(table.num_rows), follows))
        new = rows.set_column(0, rows.schema.field(0), pa.array(expand_ranges(begins, follows)))
        grown = self.before.extend(sum_streams(table))
        return replace(self, before=grown), sort_by_number(net_changes(pa.concat_tables([old, new])))


@form_of(Differentiate)
@final
@dataclass(frozen=True)
class DifferentiateTables(RunningTables[Differentiate]):
    """differentiate: a row is in its own output, and is retracted in the next."""

    name = "differentiate_tables"

    def combine(self, value: Streams) -> tuple[Self, pa.Table]:
        table, before = value.tables[0], self.earlier_rows(value)
        begins = numbers(table)
        last = begins == value.count - 1
        followed = table.filter(pa.array(~last))
        back = followed.set_column(0, followed.schema.field(0), pa.array(begins[~last] + 1))
        first = add_stream_numbers(before, np.zeros(before.num_rows, np.int64))
        taken_back = pa.concat_tables([first, back])
        taken_back = with_weights(taken_back, -numbers_in(taken_back, WEIGHT))
        current = NOTHING.extend(sum_streams(table.filter(pa.array(last))))
        return replace(self, before=current), sort_by_number(net_changes(pa.concat_tables([table, taken_back])))

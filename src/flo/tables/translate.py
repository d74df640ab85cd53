"""Translates a program to tables, and converts to Python values and back around operators without a form on tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias, TypeVar

from flo.columns.layout import MISFITS
from flo.core.collection import Collection, FormedValue
from flo.core.graph import Graph, Node, Parallel, Sequential, parallel
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Bound, Operator, Step, Values
from flo.core.persistent import Elements
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import identity
from flo.core.typing import initial
from flo.program.dag import Dag, Stream, Vertex
from flo.program.tree import to_graph
from flo.tables.keyed import KeyedRows, inner_of, keyed_rows_of
from flo.tables.operator import OnTables, to_output_type, to_table_type, to_table_types, to_value_type
from flo.tables.streams import Streams
from flo.tables.values import of_elements, to_rows
from flo.values.keyed import Keyed, KeyedValue


@dataclass(frozen=True)
class ToColumns(Operator):
    """Values as tables; in nested streams a table for each inner stream."""

    of: Collection | None = field(default=None, compare=False)

    name = "to_columns"
    keeps = Bound.NOTHING
    row_by_row = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return (to_table_types(inputs[0]),)

    def typed(self, inputs: StreamTypes) -> Self:
        return replace(self, of=to_value_type(inputs[0]).collection)

    def with_origins(self, like: Self) -> Self:
        return like

    def steps(self, inputs: Values) -> Iterator[Step]:
        rest, sent = inputs[0].take()
        if inputs[0].size():
            assert self.of is not None
            yield Step("to-columns", (rest,), self, (tables_of(self.of, sent),))


def tables_of(of: Collection, value: Any) -> Any:
    """The value with tables where there can be."""
    if isinstance(value, Streams):
        return value.one_by_one()
    if isinstance(value, NestedValue):
        assert isinstance(of, Nested)
        inner = [stream.collection for stream in of.inner]
        return _each_inner(value, lambda values: tuple(map(tables_of, inner, values)))
    if isinstance(value, FormedValue) or to_table_type(StreamType(of, bounded=True)) is None:
        return value
    return written_keyed(of, value) if isinstance(of, Keyed) else to_rows(of_elements(of), value)


def values_of(value: Any) -> Any:
    """The value without tables."""
    if isinstance(value, NestedValue):
        return _each_inner(value, lambda values: tuple(map(values_of, values)))
    return value.value() if isinstance(value, FormedValue) else value


def _each_inner(value: NestedValue, turned: Callable[[Values], Values]) -> NestedValue:
    newest = None if value.newest is None else turned(value.newest)
    return replace(value, older=Elements(map(turned, value.older)), newest=newest)


def written_keyed(of: Keyed[Any, Any], value: KeyedValue) -> KeyedRows:
    try:
        return keyed_rows_of(of, value)
    except MISFITS:
        for inner in value.entries.to_dict().values():
            to_rows(inner_of(of), inner)  # names the element
        raise


@dataclass(frozen=True)
class ToValues(Operator):
    """Tables as values."""

    name = "to_values"
    keeps = Bound.NOTHING
    row_by_row = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return (StreamType(to_value_type(inputs[0]).collection, inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        rest, sent = inputs[0].take()
        if inputs[0].size():
            yield Step("to-values", (rest,), self, (values_of(sent),))


Make: TypeAlias = Callable[[Any, StreamTypes], Operator | Graph | None]
FORMS: dict[type[Operator], Make] = {}
"""For a class of operators on values: a function that makes the form on tables of one, given its input types on values.
It returns None if this operator has no form. A graph stands for the operator: its inputs and outputs are those of the
form."""
F = TypeVar("F", bound=type[OnTables[Any]])


def form_of(*kinds: type[Operator]) -> Callable[[F], F]:
    """Registers a class as the form on tables of these operators, where it `fits` them."""

    def register(form: F) -> F:
        FORMS.update(dict.fromkeys(kinds, lambda like, inputs: form(like) if form.fits(like, inputs) else None))
        return form

    return register


Choose: TypeAlias = Callable[[Any, StreamTypes], tuple[StreamTypes, Operator | Graph] | None]
CHOICES: dict[type[Operator], Choose] = {}
"""For operators on streams that can be tables in more than one way: a function from the operator and the types that its
inputs have to the types that it shall read and the operator that reads them. It returns None to go by FORMS."""


T = TypeVar("T")
Rebuilt: TypeAlias = tuple[Graph, tuple[T, ...]] | None


def rebuild(graph: Graph, inputs: tuple[T, ...], visit: Callable[[Node, tuple[T, ...]], Rebuilt[T]]) -> Rebuilt[T]:
    """Rebuilds a graph, in the order of its streams.

    `visit` gets every node and what is known of its inputs. It returns a graph for the node and what is known of the
    outputs; or None, and then `rebuild` does.
    """
    match graph:
        case Sequential(left, right):
            first = rebuild(left, inputs, visit)
            second = first and rebuild(right, first[1], visit)
            return (Sequential(first[0], second[0]), second[1]) if first and second else None
        case Parallel(left, right):
            count = left.arity[0]
            first, second = rebuild(left, inputs[:count], visit), rebuild(right, inputs[count:], visit)
            return (Parallel(first[0], second[0]), first[1] + second[1]) if first and second else None
        case Node():
            return visit(graph, inputs)


def translate(dag: Dag, inputs: StreamTypes, finish: Callable[[StreamType], StreamType] = lambda stream: stream) -> Dag:
    """The program on inputs of these types, on tables where it can be. `finish` says of which type an output shall be,
    given the type that it has."""
    return _Translation(dag, inputs, finish).tables


def translate_graph(graph: Graph, inputs: StreamTypes) -> Graph:
    """The expression on inputs of these types, on tables where it can be."""
    return to_graph(translate(Dag.of(graph, tuple(map(to_value_type, inputs))), inputs))


class _Translation:
    """Builds a DAG on tables, with conversions where a stream is read as values and as tables."""

    def __init__(self, dag: Dag, inputs: StreamTypes, finish: Callable[[StreamType], StreamType]) -> None:
        self.tables = Dag()
        self.tables.inputs = [self.tables.add_stream(each) for each in inputs]
        for given, own in zip(dag.inputs, self.tables.inputs, strict=True):
            own.name = given.name
        self.new = dict(zip(dag.inputs, self.tables.inputs, strict=True))
        self.converted: dict[tuple[Stream, StreamType], Stream] = {}
        for vertex in dag.vertices:
            self._add(vertex)
        self.tables.outputs = [
            self._convert(self.new[stream], finish(self.new[stream].type), f"output/{place}")
            for place, stream in enumerate(dag.outputs)
        ]

    def _add(self, vertex: Vertex) -> None:
        given = [self.new[stream] for stream in vertex.inputs]
        wanted, chosen = _chosen(vertex.operator, tuple(stream.type for stream in given))
        read = [
            self._convert(stream, want, f"{vertex.id}/input{place}")
            for place, (stream, want) in enumerate(zip(given, wanted, strict=True))
        ]
        count = len(self.tables.vertices)
        if isinstance(chosen, Operator):
            outputs = self.tables.apply(chosen.typed(wanted), read, vertex.origin, vertex.id)
        else:
            outputs = self.tables.apply_graph(initial(chosen, wanted)[0], read)
            for place, each in enumerate(self.tables.vertices[count:]):
                each.id, each.origin = f"{vertex.id}/form{place}", each.origin or vertex.origin
        for before, own in zip(vertex.outputs, outputs, strict=True):
            self.new[before], own.name = own, before.name

    def _convert(self, stream: Stream, wanted: StreamType, vertex_id: str) -> Stream:
        """The stream as this type. All readers share the conversion."""
        if stream.type == wanted:
            return stream
        known = self.converted.get((stream, wanted))
        if known is None:
            operator = _conversion(stream.type, wanted).typed((stream.type,))
            (known,) = self.tables.apply(operator, [stream], None, vertex_id)
            known.name = stream.name
            self.converted[stream, wanted] = known
        return known


def _chosen(operator: Operator, inputs: StreamTypes) -> tuple[StreamTypes, Operator | Graph]:
    """The operator to run, or the graph, and the types that it reads."""
    if type(operator) in CHOICES and (choice := CHOICES[type(operator)](operator, inputs)) is not None:
        return choice
    make = FORMS.get(type(operator))
    values = tuple(map(to_value_type, inputs))
    tables = tuple(stream for stream in map(to_table_type, inputs) if stream is not None)
    if make is not None and len(tables) == len(inputs):
        form = make(operator, values)
        is_graph = not isinstance(form, Operator)  # and gives what it can
        if form is not None and (
            is_graph or all(to_output_type(out) is not None for out in operator.judge(values).outputs)
        ):
            return tables, form
    return values, operator


def convert_streams(given: StreamTypes, wanted: StreamTypes) -> Graph | None:
    """A graph that converts streams to the wanted types; None if they have them already."""
    if given == wanted:
        return None
    each = zip(given, wanted, strict=True)
    return parallel(*(Node(None, identity(1) if have == want else _conversion(have, want)) for have, want in each))


def _conversion(have: StreamType, want: StreamType) -> Operator:
    return ToValues() if want == to_value_type(have) else ToColumns()

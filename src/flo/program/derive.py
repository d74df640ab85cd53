"""Adds return types to the functions of a program, where they can be derived.

With them, an output on tables is a table even if its functions are not annotated. The derived type is checked like an
annotation: a result of another type is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, get_args, is_typeddict

from flo.columns.function_types import Declared, constant_type, result_type
from flo.columns.known_types import Unclear, items_of, union_of
from flo.columns.layout import Layout
from flo.columns.projection import Projection
from flo.columns.traced import trace_function
from flo.core.elements import returned_type
from flo.core.errors import FloError, Origin, TypeMismatch
from flo.core.labels import label
from flo.core.nest import Nest
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.type_names import type_name
from flo.core.type_relations import accepts, is_union
from flo.core.untyped import AnyFunction, TypeForm
from flo.program.dag import Dag, Stream
from flo.program.tree import to_graph
from flo.values.element_value import ElementCollection
from flo.values.operators.bags import FoldUnordered
from flo.values.operators.current import LatestResults
from flo.values.operators.elementwise import Filter, FlatMap, Map, item_type
from flo.values.operators.fixpoint import Fixpoint
from flo.values.operators.joins import KeptJoin
from flo.values.operators.keyed_streams import KeyBy, KeyPartitions, MapValues, inner_types
from flo.values.operators.per_key import PerKey
from flo.values.operators.sequences import Fold, Scan
from flo.values.operators.zset_joins import Outer, PairingJoin, ZSetJoin
from flo.values.operators.zset_ranking import TopK


@dataclass(frozen=True)
class Fault:
    """A function whose return type is unknown."""

    function: Any
    where: Origin | None
    why: str


Faults: TypeAlias = tuple[Fault | None, ...]
"""For every stream, the function to blame if its elements have no columns."""


class StreamOfVertex(Protocol):
    """A stream as a verb has made it."""

    type: StreamType
    source: Any
    """The operator that was applied, and its inputs; None for an input of the flow."""


def derive_types(dag: Dag) -> tuple[Dag, Faults]:
    """Return the program with return types added to its functions, and a function to blame for each of its outputs."""
    typed = Dag(inputs=list(dag.inputs), count=dag.count)
    new: dict[Stream, Stream] = {stream: stream for stream in dag.inputs}
    blame: dict[Stream, Fault | None] = dict.fromkeys(dag.inputs)
    for vertex in dag.vertices:
        inputs = [new[stream] for stream in vertex.inputs]
        types = tuple(stream.type for stream in inputs)
        operator, fault = _declaring(vertex.operator, types, vertex.origin)
        outputs = typed.apply(_tracing(operator, types), inputs, vertex.origin, vertex.id)
        new |= zip(vertex.outputs, outputs, strict=True)
        blamed = fault or next((blame[stream] for stream in inputs if blame[stream] is not None), None)
        blame |= ((stream, None if _is_table(stream.type) else blamed) for stream in outputs)
    typed.outputs = [new[stream] for stream in dag.outputs]
    return typed, tuple(blame[stream] for stream in typed.outputs)


def derive_outputs(operator: Operator, inputs: StreamTypes) -> StreamTypes:
    """Return the types of an operator's outputs, with the return types of its functions derived."""
    return _declaring(operator, inputs, None)[0].judge(inputs).outputs  # type: ignore[no-any-return]


def known_type(stream: StreamOfVertex) -> StreamType:
    """Return the type of a stream of a flow, with what unannotated functions return derived as far as possible."""
    vertex = stream.source
    if vertex is None or not _is_unknown(getattr(stream.type.collection, "element", None)):
        return stream.type
    if vertex.known is None:
        try:
            vertex.known = derive_outputs(vertex.operator, tuple(map(known_type, vertex.inputs)))
        except FloError:  # then it shows when the program is typed as a whole
            vertex.known = tuple(each.type for each in vertex.outputs)
    return vertex.known[vertex.outputs.index(stream)]  # type: ignore[no-any-return]


def _is_unknown(kind: TypeForm) -> bool:
    return kind is Any or any(map(_is_unknown, get_args(kind)))


def _declaring(operator: Any, inputs: StreamTypes, origin: Origin | None) -> tuple[Any, Fault | None]:
    """Return the operator with return types added to its functions, and a function whose type is unknown."""
    element = getattr(inputs[0].collection, "element", Any) if inputs else Any
    match operator:
        case Map() | KeyBy():
            return _with(operator, origin, f=lambda: result_type(operator.f, (element,)))
        case FlatMap():
            return _with(operator, origin, f=lambda: Iterable[items_of(result_type(operator.f, (element,)))])  # type: ignore[misc]
        case MapValues() | KeyPartitions():
            of = inputs[0].collection.inner.element  # type: ignore[attr-defined]
            return _with(operator, origin, f=lambda: result_type(operator.f, (of,)))
        case Scan() | Fold() | FoldUnordered():
            return _with(operator, origin, f=lambda: _folded(operator.acc, operator.f, element))
        case LatestResults():
            of = inputs[0].collection.inner.element  # type: ignore[attr-defined]
            return _with(operator, origin, f=lambda: _folded(operator.initial, operator.f, of))
        case PairingJoin() | KeptJoin() if operator.into is not None:
            return _with(operator, origin, into=lambda: result_type(operator.into, _sides(operator, inputs)))
        case Nest(original=None):
            inner = inputs[0].collection.inner  # type: ignore[attr-defined]
            return _body(operator, inner)
        case PerKey() if operator.graph is not None:
            return _body(operator, inner_types(operator, inputs))
        case Fixpoint():
            return _body(operator, operator.inner_types(inputs))
    return operator, None


def _tracing(operator: Any, inputs: StreamTypes) -> Any:
    """Return the operator with functions of rows as columns, where they can be."""
    elements = [getattr(each.collection, "element", Any) for each in inputs]
    match operator:
        case Map(Projection() as f):
            given = {name: trace_function(each, elements[0]) or each for name, each in f.functions.items()}
            return replace(operator, f=f.calling(given))
        case Map():
            names = {"f": elements[0]}
        case Filter():
            names = {"keep": elements[0]}
        case TopK():
            names = dict.fromkeys(("by", "key"), elements[0])
        case ZSetJoin() | KeptJoin():
            names = {"on": elements[0], "other_on": elements[1]}
        case _:
            return operator
    traced = {name: trace_function(getattr(operator, name, None), element) for name, element in names.items()}
    return replace(operator, **{name: each for name, each in traced.items() if each is not None})


def _with(operator: Any, origin: Origin | None, **types: Callable[[], TypeForm]) -> tuple[Any, Fault | None]:
    """Return the operator with return types added to these functions."""
    fault = None
    for field, derive in types.items():
        function = getattr(operator, field)
        if function is None or _says(operator, function):
            continue
        try:
            kind = derive()
            item = item_type(kind) if isinstance(operator, FlatMap) else kind
            if Layout.of(item) is None:
                raise Unclear(f"it returns {type_name(item)}, which has no columns")
        except Unclear as why:
            fault = fault or Fault(function, origin, str(why))
        else:
            operator = replace(operator, **{field: Declared(function, kind)})
    return operator, fault


def _says(operator: object, function: AnyFunction) -> bool:
    kind = returned_type(function)
    return (item_type(kind) if isinstance(operator, FlatMap) else kind) is not Any


def _folded(initial: object, f: AnyFunction, element: object) -> Any:
    """Return the type of a fold's results: a fixed point, because results are passed in again."""
    state = constant_type(initial)
    for _ in range(4):
        result = result_type(f, (state, element))
        if union_of(state, result) == state:
            break
        state = union_of(state, result)
    else:
        raise Unclear("its results have more and more types")
    return result if accepts(result, constant_type(initial)) else state


def _sides(operator: object, inputs: StreamTypes) -> tuple[Any, Any]:
    of: list[Any] = [getattr(each.collection, "inner", each.collection) for each in inputs]
    left, right = (each.element for each in of)
    return operator.sides(left, right) if isinstance(operator, Outer) else (left, right)


def _body(operator: Any, inner: StreamTypes) -> tuple[Any, Fault | None]:
    dag, faults = derive_types(Dag.of(operator.graph, inner))
    return replace(operator, graph=to_graph(dag)), next((fault for fault in faults if fault is not None), None)


def _is_table(stream: StreamType) -> bool:
    of = stream.collection
    return isinstance(of, ElementCollection) and Layout.of(of.element) is not None


def derive_table_types(dag: Dag, names: Iterable[str]) -> Dag:
    """Return the program with return types added to its functions.

    Raises if the elements of an output have no columns, because then it cannot be a table. Keyed streams, nested
    streams and lattice variables are never tables.
    """
    dag, faults = derive_types(dag)
    for name, output, fault in zip(names, dag.output_types, faults, strict=True):
        if _is_table(output) or not isinstance(output.collection, ElementCollection):
            continue
        if fault is not None:
            raise TypeMismatch(
                f"the output `{name}` cannot be a table: the return type of a function is unknown",
                facts=(("function", label(fault.function)), ("why", fault.why)),
                instead=(("def double(x: int) -> int", "annotate the parameters and the result"),),
                where=fault.where,
            )
        raise TypeMismatch(
            f"the output `{name}` cannot be a table: its elements have no columns",
            facts=((name, output.described()),),
            instead=(
                _fix(output.collection),
                ("flow.run(…)", "runs on Python values of any type"),
            ),
        ).at_users_line()
    return dag


def _fix(of: ElementCollection[Any]) -> tuple[str, str]:
    if of.element is Any:
        return f"flo.{of.name}[int]", "the element type, in `input`, `constant` or `read_defer`"
    if is_typeddict(of.element):
        return f"flo.rows({type_name(of.element)})", "rows with these fields"
    if is_union(of.element):
        return "stream.map(…)", "elements of one type, before streams of several types are put together"
    return "a dataclass or a NamedTuple", "with fields that Arrow supports"

"""Drops columns that no operator reads before joins, so that neither state nor shuffles hold them, and merges equal
computations.

Only what is linear is narrowed: rows that become equal add their weights, and projections, filters, unions and inner
joins give the same for the sum. Whether a row is *present* is not linear, so sides that others depend on in that way
(the right of a semi join, a left join, `distinct`, a ranking) keep all columns. A group_by has projected its rows
already.

A column that nothing reads is not computed if its expression gives a result for every row. One that can fail stays
where it is, and is dropped behind it: whether a row is an error does not depend on what is read, as on values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import is_
from typing import Any, TypeAlias

from flo.columns.cell import fields_of
from flo.columns.expression import Expression
from flo.columns.failing import can_fail
from flo.columns.fusing import fuse_projections
from flo.columns.layout import Layout
from flo.columns.row_types import row_type
from flo.columns.traced import TracedExpression
from flo.core.dag import Dag, Stream, Vertex
from flo.core.graph import Graph
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.values.element_value import ElementCollection
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.zset_joins import AntiJoin, Join, SemiJoin
from flo.values.operators.zsets import Minus, Negate, Plus
from flo.values.weighted import ZSet

Needed: TypeAlias = "frozenset[str] | None"
"""The columns of a stream that are read; None for all."""


def prune_columns(graph: Graph, types: StreamTypes) -> Graph:
    """Return the graph with unread columns dropped before joins, with what is computed twice computed once, and with
    projections fused."""
    dag = Dag.of(graph, types)
    pruned = _Pruned(dag, _needed(dag))
    fused = fuse_projections(pruned.dag)
    return pruned.dag.graph() if pruned.changed or fused else graph


def _needed(dag: Dag) -> dict[Stream, Needed]:
    """Return which columns of each stream are read by what follows."""
    needed: dict[Stream, set[str] | None] = {}

    def add(stream: Stream, columns: Needed) -> None:
        if columns is None or needed.get(stream, set()) is None:
            needed[stream] = None
        else:
            needed[stream] = (needed.get(stream) or set()) | columns

    for stream in dag.outputs:
        needed[stream] = None
    for vertex in reversed(dag.vertices):
        outputs = [needed.get(stream, set()) for stream in vertex.outputs]
        wanted = frozenset(outputs[0]) if len(outputs) == 1 and outputs[0] is not None else None
        for stream, columns in zip(vertex.inputs, _read(vertex, wanted), strict=True):
            add(stream, columns)
    return {stream: None if columns is None else frozenset(columns) for stream, columns in needed.items()}


def _read(vertex: Vertex, wanted: Needed) -> tuple[Needed, ...]:
    """Return the columns that an operator reads of each input, if these columns of its output are wanted."""
    nothing = (None,) * len(vertex.inputs)
    if not all(_is_rows(stream) for stream in (*vertex.inputs, *vertex.outputs)):
        return nothing
    match vertex.operator:
        case Map(Expression() as f) if not isinstance(f, TracedExpression):
            return (frozenset(_narrowed(f, wanted).reads[0]),)
        case Filter(Expression() as keep) if not isinstance(keep, TracedExpression):
            return (None if wanted is None else wanted | set(keep.reads[0]),)
        case Plus() | Minus() | Negate():
            return (wanted,) * len(vertex.inputs)
        case Join(Expression() as on, Expression() as other, Expression() as into) if not _calls(on, other):
            left, right = _narrowed(into, wanted).reads
            return frozenset(left) | set(on.reads[0]), frozenset(right) | set(other.reads[0])
        case SemiJoin(Expression() as on) | AntiJoin(Expression() as on) if not _calls(on):
            return (None if wanted is None else wanted | set(on.reads[0]), None)
    return nothing


def _calls(*keys: Expression) -> bool:
    """Return whether a function may be called with whole rows."""
    return any(isinstance(key, TracedExpression) for key in keys)


def _is_rows(stream: Stream) -> bool:
    of = stream.type.collection
    layout = Layout.of(of.element) if isinstance(of, ElementCollection) else None
    return isinstance(of, ZSet) and layout is not None and bool(fields_of(of.element))


def _narrowed(f: Expression, wanted: Needed) -> Expression:
    """Return the expression with these columns of its results only."""
    if wanted is None or not isinstance(f.given, Mapping) or isinstance(f, TracedExpression):
        return f
    given = {name: each for name, each in f.given.items() if name in wanted or can_fail(f, name)}
    if len(given) == len(f.given):
        return f
    given = given or dict([next(iter(f.given.items()))])
    return Expression(given, f.inputs, _row_of(f.kind, tuple(given)), f.arguments)


def _row_of(row: Any, names: tuple[str, ...]) -> Any:
    """Return the row type with some of the columns of another."""
    fields = fields_of(row) or {}
    return row_type({name: fields[name] for name in names})


class _Pruned:
    """Builds the DAG again, with narrower streams."""

    def __init__(self, old: Dag, needed: dict[Stream, Needed]) -> None:
        self.needed = needed
        self.changed = False
        self.dag = Dag(inputs=list(old.inputs), count=old.count)
        self.new: dict[Stream, Stream] = {stream: stream for stream in old.inputs}
        for vertex in old.vertices:
            self._add(vertex)
        self.dag.outputs = [self.new[stream] for stream in old.outputs]

    def _add(self, vertex: Vertex) -> None:
        wanted = self.needed.get(vertex.outputs[0]) if len(vertex.outputs) == 1 else None
        read = _read(vertex, wanted)
        inputs = [self.new[stream] for stream in vertex.inputs]
        operator = vertex.operator
        match operator:
            case Join(on, other, Expression() as into) if read != (None, None):
                inputs = [self._project(stream, columns, vertex) for stream, columns in zip(inputs, read, strict=True)]
                layouts = tuple(map(_layout, inputs))
                operator = replace(
                    operator,
                    on=_rebound(on, layouts[:1]),
                    other_on=_rebound(other, layouts[1:]),
                    into=_rebound(_narrowed(into, wanted), layouts),
                )
            case SemiJoin(on) | AntiJoin(on) if read != (None, None):
                inputs[0] = self._project(inputs[0], read[0], vertex)
                operator = replace(operator, on=_rebound(on, (_layout(inputs[0]),)))
            case Map(Expression() as f) if read != (None,):
                operator = Map(_rebound(_narrowed(f, wanted), (_layout(inputs[0]),)))
            case Filter(Expression() as keep) if read != (None,):
                operator = Filter(_rebound(keep, (_layout(inputs[0]),)))
            case Plus() | Minus() if read != (None, None):
                inputs = [self._project(stream, wanted, vertex) for stream in inputs]
        self.changed |= operator is not vertex.operator
        outputs = self._apply(operator, inputs, vertex)
        self.new.update(zip(vertex.outputs, outputs, strict=True))

    def _apply(self, operator: Operator, inputs: list[Stream], vertex: Vertex) -> tuple[Stream, ...]:
        """Return the outputs of the operator on these inputs: those of an equal one, if there is one.

        Operators are deterministic, so equal ones with the same inputs have the same outputs.
        """
        for other in self.dag.vertices if inputs else ():
            if other.operator == operator and other.outputs and all(map(is_, other.inputs, inputs)):
                self.changed = True
                return other.outputs
        types = tuple(stream.type for stream in inputs)
        outputs = tuple(self.dag._stream(each) for each in operator.judge(types).outputs)
        self.dag.vertices.append(Vertex(operator.typed(types), tuple(inputs), outputs, vertex.origin))
        return outputs

    def _project(self, stream: Stream, columns: Needed, vertex: Vertex) -> Stream:
        """Return the stream with these columns only."""
        layout = _layout(stream)
        if columns is None or columns >= set(layout.names):
            return stream
        names = tuple(name for name in layout.names if name in columns) or layout.names[:1]
        f = Expression({name: name for name in names}, (layout,), _row_of(layout.element, names))
        (projected,) = self._apply(Map(f), [stream], vertex)
        return projected


def _layout(stream: Stream) -> Layout:
    of = stream.type.collection
    layout = Layout.of(of.element) if isinstance(of, ElementCollection) else None
    assert layout is not None
    return layout


def _rebound(f: Any, layouts: tuple[Layout, ...]) -> Any:
    """Return the expression on rows with other columns, of which it reads none that is gone."""
    return f if not isinstance(f, Expression) or f.inputs == layouts else f.on_rows(layouts)

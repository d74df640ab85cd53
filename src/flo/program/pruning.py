"""Drops columns that no operator reads before joins, so that neither state nor shuffles hold them, merges equal
computations, and fuses projections.

Only what is linear is narrowed: rows that become equal add their weights, and projections, filters, unions and inner
joins give the same for the sum. Whether a row is *present* is not linear, so sides that others depend on in that way
(the right of a semi join, a left join, `distinct`, a ranking) keep all columns. A group_by has projected its rows
already. So operators declare what they read: see `Operator.reads`.

A column that nothing reads is not computed if its expression gives a result for every row. One that can fail stays
where it is, and is dropped behind it: whether a row is an error does not depend on what is read, as on values. Integers
and decimals may leave their range, texts may not be readable in a cast, times may lie beyond the calendar. What `TOTAL`
lists has a result for every row; a function that is missing from the list is only computed needlessly.

Verbs are composed of others, which project rows again and again. A projection that only selects or renames columns is
taken into the one before it, or into the one behind it; also into a join before it, which makes rows too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, TypeAlias

from flo.columns.cell import fields_of
from flo.columns.evaluation import ColumnFunction, FunctionCall
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.columns.node_functions import COMPARISONS
from flo.columns.row_types import row_type
from flo.columns.traced import TracedExpression
from flo.core.operator import Operator
from flo.core.untyped import AnyFunction
from flo.program.dag import Dag, Stream, Vertex
from flo.values.operators.elementwise import Map
from flo.values.weighted import ZSet

Needed: TypeAlias = "frozenset[str] | None"
"""The columns of a stream that are read; None for all."""


def prune_columns(dag: Dag) -> Dag:
    """Return the program with unread columns dropped before joins, with what is computed twice computed once, and with
    projections fused."""
    return fuse_projections(_Pruned(dag, _needed(dag)).dag)


def _needed(dag: Dag) -> dict[Stream, Needed]:
    """Return which columns of each stream are read by what follows."""
    read: dict[Stream, set[str] | None] = {}

    def add(stream: Stream, columns: Needed) -> None:
        if columns is None or read.get(stream, set()) is None:
            read[stream] = None
        else:
            read[stream] = (read.get(stream) or set()) | columns

    for stream in dag.outputs:
        read[stream] = None
    for vertex in reversed(dag.vertices):
        outputs = [read.get(stream, set()) for stream in vertex.outputs]
        wanted = frozenset(outputs[0]) if len(outputs) == 1 and outputs[0] is not None else None
        for stream, columns in zip(vertex.inputs, _read(vertex, wanted), strict=True):
            add(stream, columns)
    return {stream: None if columns is None else frozenset(columns) for stream, columns in read.items()}


def _read(vertex: Vertex, wanted: Needed) -> tuple[Needed, ...]:
    """Return the columns that an operator reads of each input, if these columns of its output are wanted."""
    reads = vertex.operator.reads
    functions = {name: getattr(vertex.operator, name) for name in reads.functions}
    is_rows = all(_is_rows(stream) for stream in (*vertex.inputs, *vertex.outputs))
    if not is_rows or any(_calls(f) for f in functions.values()):
        return (None,) * len(vertex.inputs)
    read: dict[int, Needed] = dict.fromkeys(reads.passes, wanted)
    for name, places in reads.functions.items():
        f = _narrowed(functions[name], wanted) if name == reads.makes else functions[name]
        for place, columns in zip(places, f.reads, strict=True):
            before = read.get(place, frozenset())
            read[place] = None if before is None else before | set(columns)
    return tuple(read.get(place) for place in range(len(vertex.inputs)))


def _calls(f: AnyFunction) -> bool:
    """Return whether a function may be called with whole rows."""
    return not isinstance(f, Expression) or isinstance(f, TracedExpression)


def _is_rows(stream: Stream) -> bool:
    of = stream.type.collection
    layout = Layout.of(of.element) if isinstance(of, ZSet) else None
    return layout is not None and layout.has_fields


def _narrowed(f: Expression, wanted: Needed) -> Expression:
    """Return the expression with these columns of its results only."""
    if wanted is None or not isinstance(f.given, Mapping) or isinstance(f, TracedExpression):
        return f
    given = {name: each for name, each in f.given.items() if name in wanted or can_fail(f, name)}
    if len(given) == len(f.given):
        return f
    given = given or dict([next(iter(f.given.items()))])
    return Expression(given, f.inputs, _row_of(f.kind, tuple(given)), f.arguments)


def _row_of(row: object, names: tuple[str, ...]) -> Any:
    """Return the row type with some of the columns of another."""
    fields = fields_of(row) or {}
    return row_type({name: fields[name] for name in names})


class _Pruned:
    """Builds the DAG again, with narrower streams."""

    def __init__(self, old: Dag, needed: dict[Stream, Needed]) -> None:
        self.needed = needed
        self.dag = Dag(inputs=list(old.inputs), count=old.count)
        self.new: dict[Stream, Stream] = {stream: stream for stream in old.inputs}
        for vertex in old.vertices:
            self._add(vertex)
        self.dag.outputs = [self.new[stream] for stream in old.outputs]

    def _add(self, vertex: Vertex) -> None:
        wanted = self.needed.get(vertex.outputs[0]) if len(vertex.outputs) == 1 else None
        read = _read(vertex, wanted)
        inputs = [self.new[stream] for stream in vertex.inputs]
        operator, reads = vertex.operator, vertex.operator.reads
        if any(columns is not None for columns in read):
            if len(inputs) > 1:  # with one input, nothing is kept or sent
                inputs = [
                    self._project(*each, vertex, place) for place, each in enumerate(zip(inputs, read, strict=True))
                ]
            layouts = [_layout(stream) for stream in inputs]
            functions = {}
            for name, places in reads.functions.items():
                f = getattr(operator, name)
                f = _narrowed(f, wanted) if name == reads.makes else f
                functions[name] = _rebound(f, tuple(layouts[place] for place in places))
            operator = replace(operator, **functions)
        outputs = self._apply(operator, inputs, vertex)
        self.new.update(zip(vertex.outputs, outputs, strict=True))

    def _apply(self, operator: Operator, inputs: list[Stream], vertex: Vertex, suffix: str = "") -> Sequence[Stream]:
        """Return the outputs of the operator on these inputs: those of an equal one, if there is one.

        Operators are deterministic, so equal ones with the same inputs have the same outputs.
        """
        for other in self.dag.vertices if inputs else ():
            if other.operator == operator and other.outputs and all(map(is_, other.inputs, inputs)):
                return other.outputs
        typed = operator.typed(tuple(stream.type for stream in inputs))
        return self.dag.apply(typed, inputs, vertex.origin, f"{vertex.id}{suffix}")

    def _project(self, stream: Stream, columns: Needed, vertex: Vertex, place: int) -> Stream:
        """Return the stream with these columns only."""
        layout = _layout(stream)
        if columns is None or columns >= set(layout.names):
            return stream
        names = tuple(name for name in layout.names if name in columns) or layout.names[:1]
        f = Expression({name: name for name in names}, (layout,), _row_of(layout.element, names))
        (narrow,) = self._apply(Map(f), [stream], vertex, f"/columns{place}")
        narrow.name = stream.name
        return narrow


def _layout(stream: Stream) -> Layout:
    return Layout.expect(stream.type.collection.element)  # type: ignore[attr-defined]


def _rebound(f: Expression, layouts: tuple[Layout, ...]) -> Expression:
    """Return the expression on rows with other columns, of which it reads none that is gone."""
    return f if f.inputs == layouts else f.on_rows(layouts)


def fuse_projections(dag: Dag) -> Dag:
    """Fuse the projections of a DAG in place, and return it."""
    makers = {stream: vertex for vertex in dag.vertices for stream in vertex.outputs}
    readers = Counter([*(stream for vertex in dag.vertices for stream in vertex.inputs), *dag.outputs])
    for vertex in list(dag.vertices):
        f = _projection(vertex)
        while f is not None and (maker := makers.get(vertex.inputs[0])) is not None:
            before, is_join, only_reader = _making(maker), len(maker.inputs) > 1, readers[vertex.inputs[0]] == 1
            fused = None if before is None else _fused(f, before, only_reader)
            if fused is None or (is_join and not only_reader):
                break
            if is_join:  # it keeps its id, by which its state is stored
                maker.operator = replace(maker.operator, **{maker.operator.reads.makes: fused})
                maker.outputs = vertex.outputs
                makers[vertex.outputs[0]] = maker
                dag.vertices.remove(vertex)
                break
            readers[vertex.inputs[0]] -= 1
            readers[maker.inputs[0]] += 1
            vertex.operator, vertex.inputs, f = Map(fused), maker.inputs, fused
    _drop_unread(dag, readers)
    return dag


def _projection(vertex: Vertex) -> Expression | None:
    """Return the expression of a vertex that makes rows of named columns; None if it does something else."""
    return _making(vertex) if isinstance(vertex.operator, Map) else None


def _making(vertex: Vertex) -> Expression | None:
    """Return the expression that makes the rows of a projection or a join; None if there is none."""
    f = getattr(vertex.operator, vertex.operator.reads.makes, None) if vertex.operator.reads.makes else None
    return f if isinstance(f, Expression) and isinstance(f.given, Mapping) and not _calls(f) else None


def _fused(f: Expression, before: Expression, only_reader: bool) -> Expression | None:
    """Return f after another projection as one; None if that would compute something twice, or has no names."""
    if _selects(f) and (only_reader or _selects(before)):
        column_of = {called: name for name, called in f.arguments[0].items()}
        asked = Counter(column_of[each] for each in f.given.values())
        if any(name not in asked and can_fail(before, name) for name in before.given):
            return None  # it would no longer fail
        if all(count == 1 or isinstance(before.given[name], str) for name, count in asked.items()):
            given = {name: before.given[column_of[each]] for name, each in f.given.items()}
            return Expression(given, before.inputs, f.kind, before.arguments)
    if not _selects(before) or len(before.inputs) > 1:
        return None
    column_of = {called: name for name, called in before.arguments[0].items()}
    read = {column_of[before.given[name]]: f.arguments[0][name] for name in f.reads[0]}
    if len(read) < len(f.reads[0]):  # one column by two names
        return None
    taken = set(read.values())
    called = {name: read.get(name) or _new_name(name, taken) for name in before.inputs[0].names}
    return Expression(f.given, before.inputs, f.kind, (called,))


def _selects(f: Expression) -> bool:
    """Return whether it only selects columns."""
    return all(isinstance(each, str) for each in f.given.values())


def _new_name(name: str, taken: set[str]) -> str:
    """Return a name for a column that is not read, and note that it is taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _drop_unread(dag: Dag, readers: Counter[Stream]) -> None:
    """Drop projections that nothing reads any more."""
    kept: list[Vertex] = []
    for vertex in reversed(dag.vertices):
        if _projection(vertex) is not None and not readers[vertex.outputs[0]]:
            readers[vertex.inputs[0]] -= 1
        else:
            kept.append(vertex)
    dag.vertices = kept[::-1]


TOTAL = frozenset(
    {
        *COMPARISONS,
        *("col", "lit", "result", "alias", "when_then", "coalesce", "fill_null", "struct", "struct.field"),
        *("__and__", "__or__", "__invert__", "all_horizontal", "any_horizontal", "is_null", "is_in", "is_between"),
        *("is_nan", "is_finite", "str.len_chars", "str.starts_with", "str.ends_with"),
        *("str.to_lowercase", "str.to_uppercase", "str.strip_chars"),
    }
)
"""Functions with a result for all operands that their types allow."""
TOTAL_OF_FLOATS = frozenset(
    {"__add__", "__sub__", "__rsub__", "__mul__", "__truediv__", "__rtruediv__", "__neg__", "abs"}
)
"""Functions with a result if an operand is a float and the others are numbers: there are infinities."""
FLOATS = ("double", "float")


def can_fail(f: Expression, name: str) -> bool:
    """Return whether a column of the result may raise for a row."""
    given = f.given[name]
    if isinstance(given, str):
        return False
    if isinstance(given, ColumnFunction):
        return given.can_fail
    return not all(map(_is_total, Expression({name: given}, f.inputs, None, f.arguments).calls))


def _is_total(call: FunctionCall) -> bool:
    if call.function in TOTAL:
        return True
    kinds = [kind.removeprefix("literal ") for kind in call.operands]
    return call.function in TOTAL_OF_FLOATS and any(kind in FLOATS for kind in kinds)

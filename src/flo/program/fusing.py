"""Fuses consecutive projections of rows into one, and drops those that change nothing.

Verbs are composed of others, which project rows again and again. A projection that only selects or renames columns is
taken into the one before it, or into the one behind it.

A projection that can fail for a row stays. Integers and decimals may leave their range, texts may not be readable in a
cast, times may lie beyond the calendar. What `TOTAL` lists has a result for every row; a function that is missing from
the list is only computed needlessly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from flo.columns.evaluation import ColumnFunction, FunctionCall
from flo.columns.expression import Expression
from flo.columns.node_functions import COMPARISONS
from flo.columns.traced import TracedExpression
from flo.program.dag import Dag, Stream, Vertex
from flo.values.operators.elementwise import Map


def fuse_projections(dag: Dag) -> Dag:
    """Fuse the projections of a DAG in place, and return it."""
    makers = {stream: vertex for vertex in dag.vertices for stream in vertex.outputs}
    readers = Counter([*(stream for vertex in dag.vertices for stream in vertex.inputs), *dag.outputs])
    for vertex in dag.vertices:
        f = _projection(vertex)
        while f is not None and (maker := makers.get(vertex.inputs[0])) is not None:
            before = _projection(maker)
            fused = None if before is None else _fused(f, before, readers[vertex.inputs[0]] == 1)
            if fused is None:
                break
            readers[vertex.inputs[0]] -= 1
            readers[maker.inputs[0]] += 1
            vertex.operator, vertex.inputs, f = Map(fused), maker.inputs, fused
    _drop_unread(dag, readers)
    return dag


def _projection(vertex: Vertex) -> Expression | None:
    """Return the expression of a vertex that makes rows of named columns; None if it does something else."""
    match vertex.operator:
        case Map(Expression() as f) if isinstance(f.given, Mapping) and not isinstance(f, TracedExpression):
            return f
    return None


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
    if not _selects(before):
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

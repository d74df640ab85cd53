"""The primary key of a stream of rows, derived from the operators that make it.

Of the columns of a key no two rows have the same values: each of them has at most one row, with weight 1. A group has
its columns as a key, `distinct(on=…)` and `top(1, by=…)` those that they choose by, a table its own. Operators that
drop rows keep the key, and so do projections and joins that pass its columns on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from flo.core.operator import Operator
from flo.values.changes import shape_of
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.final import FinalGroups
from flo.values.operators.group_by import GroupBy
from flo.values.operators.over import Over
from flo.values.operators.retain import Retain
from flo.values.operators.session_columns import SessionColumns
from flo.values.operators.upserts import Upsert
from flo.values.operators.zset_asof import AsOfJoin
from flo.values.operators.zset_joins import AntiJoin, Join, LeftJoin, SemiJoin
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zsets import Distinct, Positive, ToZSet
from flo.values.weighted import Set

if TYPE_CHECKING:
    from flo.api.scope import StreamBase, Vertex

Key: TypeAlias = tuple[str, ...] | None
"""Columns of rows. No columns are the key of a stream with one row; None if no key is known."""


def key_of(stream: StreamBase[Any, Any]) -> Key:
    """Return the columns of which no two rows of a stream have the same values, if the program says so."""
    if isinstance(stream.collection, Set):
        return _columns(stream.collection.element) or None
    vertex = stream.source
    if vertex is not None and vertex.key is not None:
        return vertex.key
    rule = None if vertex is None else RULES.get(type(vertex.operator))
    return None if vertex is None or rule is None else rule(vertex.operator, vertex)


def _of_input(operator: Operator, vertex: Vertex) -> Key:
    """Some of the rows of the first input."""
    return key_of(vertex.inputs[0])


def _of_table(operator: Operator, vertex: Vertex) -> Key:
    shape = shape_of(getattr(vertex.inputs[0].collection, "element", None))
    return None if shape is None else shape.key


def _of_groups(operator: GroupBy, vertex: Vertex) -> Key:
    return _columns(operator.row)[: operator.keys]


def _of_final_groups(operator: FinalGroups, vertex: Vertex) -> Key:
    return _of_groups(operator.groups, vertex)


def _of_distinct(operator: Distinct, vertex: Vertex) -> Key:
    known = key_of(vertex.inputs[0])
    return _all_columns(vertex) if known is None else known


def _of_first(operator: TopK, vertex: Vertex) -> Key:
    chosen = _plain_columns(operator.by) if operator.count == 1 and operator.ties is None else None
    return key_of(vertex.inputs[0]) if chosen is None else chosen


def _of_projection(operator: Map, vertex: Vertex) -> Key:
    return _passed(operator.f, key_of(vertex.inputs[0]))


def _of_window_functions(operator: Over | SessionColumns, vertex: Vertex) -> Key:
    from flo.columns.projection import Widened

    known = key_of(vertex.inputs[0])
    kept = operator.into.kept if isinstance(operator.into, Widened) else ()
    return known if known is not None and set(known) <= set(kept) else None


def _of_matches(operator: AsOfJoin, vertex: Vertex) -> Key:
    """Each left row has one match at most."""
    return _passed(operator.into, key_of(vertex.inputs[0]))


def _of_pairs(operator: Join | LeftJoin, vertex: Vertex) -> Key:
    """The keys of both sides; that of one side, if each of its rows has one partner at most."""
    left, right = map(key_of, vertex.inputs)
    on, other_on = _plain_columns(operator.on) or (), _plain_columns(operator.other_on) or ()
    if right is not None and set(right) <= set(other_on):
        return _passed(operator.into, left)
    if left is None or right is None:
        return None
    if set(left) <= set(on) and isinstance(operator, Join):
        return _passed_right(operator.into, right, on, other_on)
    first, second = _passed(operator.into, left), _passed_right(operator.into, right, on, other_on)
    return None if first is None or second is None else tuple(dict.fromkeys((*first, *second)))


RULES: dict[type[Operator], Callable[[Any, Vertex], Key]] = {
    AntiJoin: _of_input,
    AsOfJoin: _of_matches,
    Distinct: _of_distinct,
    Filter: _of_input,
    FinalGroups: _of_final_groups,
    GroupBy: _of_groups,
    Join: _of_pairs,
    LeftJoin: _of_pairs,
    Map: _of_projection,
    Over: _of_window_functions,
    Positive: _of_input,
    Retain: _of_input,
    SemiJoin: _of_input,
    SessionColumns: _of_window_functions,
    ToZSet: _of_input,
    TopK: _of_first,
    Upsert: _of_table,
}
"""How the key of an operator's output follows from its inputs. The output of another operator has none."""


def _columns(element: Any) -> tuple[str, ...]:
    from flo.columns.layout import Layout

    layout = Layout.of(element)
    return () if layout is None else tuple(layout.names)


def _all_columns(vertex: Vertex) -> Key:
    return _columns(getattr(vertex.outputs[0].collection, "element", None)) or None


def _plain_columns(given: Any) -> Key:
    """The columns that a key function reads, if it is made of nothing else."""
    if given is None:
        return ()
    columns = getattr(given, "given", None)
    columns = columns if isinstance(columns, tuple) else (columns,)
    return columns if all(isinstance(each, str) for each in columns) else None


def _passed(f: Any, key: Key) -> Key:
    """The columns of a result that have the key of the first row."""
    from flo.columns.expression import Expression
    from flo.columns.projection import Projection

    return f.passed(key) if key is not None and isinstance(f, (Expression, Projection)) else None


def _passed_right(f: Any, key: tuple[str, ...], on: tuple[str, ...], other_on: tuple[str, ...]) -> Key:
    """The columns of a result that have the key of the second row. Columns joined on are equal on both sides."""
    from flo.columns.expression import Expression

    if not isinstance(f, Expression):
        return None
    same = dict(zip(other_on, on, strict=True)) if len(on) == len(other_on) else {}
    named = {called: name for name, called in f.given.items() if isinstance(called, str)}
    found = []
    for column in key:
        own = named.get(f.arguments[1].get(column, column))
        if own is None and column in same:
            own = named.get(f.arguments[0][same[column]])
        if own is None:
            return None
        found.append(own)
    return tuple(found)

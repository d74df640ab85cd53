"""The columns of an input that its program reads, as a projection in Catalyst, before operators that run in tasks.

    bids(auction, bidder, price, channel, url, dateTime, extra)
    the program    map(bidder, starttime=dateTime.dt.truncate("10s"))        Catalyst may not run `truncate`
    in Catalyst    select(bidder, dateTime)
    in tasks       map(bidder, starttime=dateTime.dt.truncate("10s"))

Each column that Spark reads and hands to Python costs as much as many operators. Here a program is cut into what
Catalyst may always run, which is to leave columns out, and the rest. Only projections make rows of which it is known
that nothing else of them is read; rows that become equal add their weights, so the input is a bag or a z-set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flo.columns.cell import fields_of
from flo.columns.expression import Expression
from flo.columns.row_types import row_type
from flo.columns.traced import TracedExpression
from flo.program.dag import Dag, Stream
from flo.shards.plan.rewrites import rewrites
from flo.spark.driver.pushdown import expression_of, is_pushed_down
from flo.tables.operators.elementwise import MapTables
from flo.tables.values import Columns, layout_of
from flo.values.operators.elementwise import Map
from flo.values.weighted import Bag, ZSet


def narrow_input(dag: Dag) -> tuple[MapTables, Dag] | None:
    """Return a projection to the columns that the readers of an input read, and the operators on its rows; None if they
    read all columns, or if one is no projection."""
    (given,) = dag.inputs
    of = given.type.collection
    if (
        not rewrites.narrow_inputs
        or given in dag.outputs
        or not isinstance(of, Columns)
        or not isinstance(of.base, (Bag, ZSet))
    ):
        return None
    readers: list[Any] = [vertex.operator for vertex in dag.vertices if given in vertex.inputs]
    if not readers or not all(isinstance(each, MapTables) and _is_plain(expression_of(each)) for each in readers):
        return None
    layout = layout_of(of.base)
    read = {name for each in readers for name in expression_of(each).reads[0]}
    fields, names = fields_of(layout.element) or {}, [name for name in layout.names if name in read]
    if len(names) == len(layout.names) or not fields.keys() >= set(names):
        return None
    row = row_type({name: fields[name] for name in names})
    projection = MapTables(Map(Expression({name: name for name in names}, (layout,), row))).typed((given.type,))
    if not is_pushed_down(projection):
        return None
    (kind,) = projection.type((given.type,))
    narrow = Stream(kind, given.number, given.name)
    own = layout_of(projection.outputs[0])
    vertices = []
    for vertex in dag.vertices:
        operator: Any = vertex.operator
        if given in vertex.inputs:
            like = replace(operator.like, f=expression_of(operator).on_rows((own,)))
            narrowed = replace(operator, like=like).typed((kind,))
            if narrowed.outputs != operator.outputs:
                return None
            vertex = replace(vertex, operator=narrowed, inputs=(narrow,))
        vertices.append(vertex)
    return projection, Dag([narrow], vertices, dag.outputs, dag.count)


def _is_plain(f: Any) -> bool:
    """Whether a function is made of columns, and never called with whole rows."""
    return isinstance(f, Expression) and not isinstance(f, TracedExpression)

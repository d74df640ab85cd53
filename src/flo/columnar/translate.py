"""From a graph on values to the same graph on tables: each operator that has a columnar form takes it, the others stay
as they are, and conversions stand where the two meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from flo.columnar.conversions import ToColumns, ToValues
from flo.columnar.operator import columnar, given, plain
from flo.columnar.rows import Columns
from flo.core.derivation import StreamTypes
from flo.core.graph import Graph, Node, Parallel, Sequential, parallel, sequence
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.wire import Wire, identity

Make: TypeAlias = Callable[[Any, StreamTypes], Operator | None]
FORMS: dict[type[Operator], Make] = {}
"""For a class of operators on values, what makes the columnar form of one, given its input types on values; None where
this one has none."""


def form_of(*kinds: type[Operator]) -> Callable[[Make], Make]:
    """Registers the columnar form of these operators."""

    def registered(make: Make) -> Make:
        FORMS.update(dict.fromkeys(kinds, make))
        return make

    return registered


def translated(graph: Graph, inputs: StreamTypes) -> tuple[Graph, StreamTypes]:
    """The graph whose inputs are of these types, on tables where it can be, and the types of its outputs."""
    match graph:
        case Sequential(left, right):
            first, between = translated(left, inputs)
            second, outputs = translated(right, between)
            return Sequential(first, second), outputs
        case Parallel(left, right):
            count = left.arity[0]
            first, some = translated(left, inputs[:count])
            second, others = translated(right, inputs[count:])
            return Parallel(first, second), some + others
        case Node(_, operator, origin):
            wanted, chosen = _chosen(operator, inputs)
            node = Node(None, chosen, origin)
            outputs = chosen.typed(wanted).judge(wanted).outputs
            conversion = converting(inputs, wanted)
            return (node if conversion is None else sequence(conversion, node)), outputs


def _chosen(operator: Operator, inputs: StreamTypes) -> tuple[StreamTypes, Operator]:
    """The operator to run, and the types that it reads."""
    if isinstance(operator, Wire):
        return inputs, operator  # moves values of any kind
    make = FORMS.get(type(operator))
    values = tuple(map(plain, inputs))
    tables = tuple(map(columnar, inputs))
    if make is not None and None not in tables:
        form = make(operator, values)
        if form is not None and all(given(output) is not None for output in operator.judge(values).outputs):
            return tables, form  # type: ignore[return-value]
    return values, operator


def converting(found: StreamTypes, wanted: StreamTypes) -> Graph | None:
    """What turns streams of one form into the other; None if nothing must."""
    if found == wanted:
        return None
    return parallel(*(_one(have, want) for have, want in zip(found, wanted, strict=True)))


def _one(have: StreamType, want: StreamType) -> Graph:
    if have == want:
        return Node(None, identity(1))
    return Node(None, ToColumns() if isinstance(want.collection, Columns) else ToValues())

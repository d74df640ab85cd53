"""From a graph on values to the same graph on tables: each operator that has a columnar form takes it, the others stay
as they are, and conversions stand where the two meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from flo.columnar.conversions import ToColumns, ToValues
from flo.columnar.operator import columnar, given, plain
from flo.core.derivation import StreamTypes
from flo.core.graph import Graph, Node, Parallel, Sequential, parallel, sequence
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.typing import initial
from flo.core.wire import Wire, identity

Make: TypeAlias = Callable[[Any, StreamTypes], Operator | Graph | None]
FORMS: dict[type[Operator], Make] = {}
"""For a class of operators on values, what makes the columnar form of one, given its input types on values; None where
this one has none. A graph stands for the operator: its inputs and outputs are those of the form."""


def form_of(*kinds: type[Operator]) -> Callable[[Make], Make]:
    """Registers the columnar form of these operators."""

    def registered(make: Make) -> Make:
        FORMS.update(dict.fromkeys(kinds, make))
        return make

    return registered


Choose: TypeAlias = Callable[[Any, StreamTypes], tuple[StreamTypes, Operator | Graph] | None]
CHOICES: dict[type[Operator], Choose] = {}
"""For operators on streams that can be tables in more than one way: given the types that are there, the types to read
and what reads them; None to go by FORMS."""


def choice_of(*kinds: type[Operator]) -> Callable[[Choose], Choose]:
    """Registers what is chosen for these operators."""

    def registered(choose: Choose) -> Choose:
        CHOICES.update(dict.fromkeys(kinds, choose))
        return choose

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
            node = Node(None, chosen, origin) if isinstance(chosen, Operator) else chosen
            outputs = initial(node, wanted)[1]
            conversion = converting(inputs, wanted)
            return (node if conversion is None else sequence(conversion, node)), outputs


def _chosen(operator: Operator, inputs: StreamTypes) -> tuple[StreamTypes, Operator | Graph]:
    """The operator to run, or the graph, and the types that it reads."""
    if isinstance(operator, Wire):
        return inputs, operator  # moves values of any kind
    if type(operator) in CHOICES and (choice := CHOICES[type(operator)](operator, inputs)) is not None:
        return choice
    make = FORMS.get(type(operator))
    values = tuple(map(plain, inputs))
    tables = tuple(map(columnar, inputs))
    if make is not None and None not in tables:
        form = make(operator, values)
        is_graph = not isinstance(form, Operator)  # and gives what it can
        if form is not None and (is_graph or all(given(out) is not None for out in operator.judge(values).outputs)):
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
    return Node(None, ToValues() if want == plain(have) else ToColumns())

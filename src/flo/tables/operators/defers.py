"""What a `nest` carries from one inner stream to the next, as tables: what is read has the type of what is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.core.collection import Collection, End
from flo.core.defer import ReadDefer, WriteDefer
from flo.core.errors import FloError
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.operator import Measure, Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.core.typing import derive
from flo.tables.operator import in_tables, register_in
from flo.tables.state.trace import added_up, weighing
from flo.tables.translate import CHOICES
from flo.tables.values import Columns, Rows, ordered
from flo.values.element_value import ElementCollection
from flo.values.weighted import Set


@final
@dataclass(frozen=True)
class WriteRows(WriteDefer):
    """write_defer(k) of rows without order: at the end equal ones become one, or every round would add them again."""

    gathered: bool = False

    name = "write_defer_tables"

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        assert isinstance(value, Rows)
        if value.end is End.ARRIVED and not self.gathered:
            once = Rows(value.of, gathered(value.of, value.table), End.ARRIVED)
            yield Step("write-defer-gather", (once,), replace(self, gathered=True), ())

    def measure(self, inputs: Values) -> Measure:
        return (int(not self.gathered),)


def gathered(of: Collection, table: pa.Table) -> pa.Table:
    """Each row once, with its weight."""
    ones = np.ones(table.num_rows, np.int64)
    if not isinstance(of, Set):
        return added_up(table)
    table = added_up(weighing(table, ones))
    return weighing(table, ones[: table.num_rows])


@register_in(CHOICES, WriteDefer)
def written(like: WriteDefer, inputs: StreamTypes) -> tuple[StreamTypes, Operator]:
    wanted = in_tables(inputs[0])
    of = wanted.collection
    return (wanted,), WriteRows(like.key) if isinstance(of, Columns) and not ordered(of.base) else like


def settled(body: Graph, inputs: StreamTypes) -> Graph | None:
    """The body with what it reads typed as what it writes; None if these types are not told to be the same.

    Where the elements are not known, those of the first round may say what they are.
    """
    return next((each for each in (_guessed(body), body) if _same(each, inputs)), None)


def _same(body: Graph, inputs: StreamTypes) -> bool:
    try:
        judged = derive(body, inputs)
    except FloError:  # with the types that were guessed
        return False
    writes = dict(judged.writes)
    return all(writes.get(key) == collection for key, collection in judged.reads)


def _guessed(graph: Graph) -> Graph:
    match graph:
        case Sequential(left, right):
            return Sequential(_guessed(left), _guessed(right))
        case Parallel(left, right):
            return Parallel(_guessed(left), _guessed(right))
        case Node(state, ReadDefer() as read, origin):
            return Node(state, replace(read, collection=_typed(read.collection, read.value)), origin)
        case _:
            return graph


def _typed(of: Collection, value: Any) -> Collection:
    """The collection with the type of these elements, if it has none and they have one."""
    if not isinstance(of, ElementCollection) or of.element is not Any:
        return of
    kinds = {_kind(element) for element in value.elements_list()}
    return type(of)(kinds.pop()) if len(kinds) == 1 else of


def _kind(element: Any) -> Any:
    return tuple[tuple(map(_kind, element))] if type(element) is tuple and element else type(element)  # type: ignore[misc]

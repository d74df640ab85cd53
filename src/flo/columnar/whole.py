"""A body on many whole streams at once: every operator of it once, with the number of the stream in its key.

Inner streams that are complete need no state and no order among them, so what `nest` would do for one after the other
is one pass over all of their rows. Operators that have such a form are registered with `whole_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from flo.columnar.keys import Places
from flo.columnar.streams import STREAM, numbers
from flo.core.collection import Collection
from flo.core.derivation import StreamTypes
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.wire import Wire


@dataclass(frozen=True)
class Whole:
    """The rows of one place of the body, of all `count` streams: the number of the stream, and then its columns."""

    of: Collection
    count: int
    table: pa.Table

    @property
    def streams(self) -> Places:
        return numbers(self.table)

    def rows(self) -> pa.Table:
        return self.table.drop_columns([STREAM])


Wholes: TypeAlias = tuple[Whole, ...]
Run: TypeAlias = Callable[[Any, Wholes, tuple[Collection, ...]], Wholes]
WHOLE: dict[type[Operator], tuple[Run, Callable[[Any], bool]]] = {}


def whole_of(*kinds: type[Operator], when: Callable[[Any], bool] = lambda operator: True) -> Callable[[Run], Run]:
    """Registers how these operators run on whole streams: (operator, inputs, what the outputs are) to outputs."""

    def registered(run: Run) -> Run:
        WHOLE.update(dict.fromkeys(kinds, (run, when)))
        return run

    return registered


def runs_whole(graph: Graph) -> bool:
    """Whether every operator of the body has a form on whole streams."""
    match graph:
        case Sequential(left, right) | Parallel(left, right):
            return runs_whole(left) and runs_whole(right)
        case Node(_, Wire()):
            return True
        case Node(_, operator):
            return type(operator) in WHOLE and WHOLE[type(operator)][1](operator)


def run_whole(graph: Graph, given: Wholes) -> Wholes:
    """The outputs of the body for all streams."""
    match graph:
        case Sequential(left, right):
            return run_whole(right, run_whole(left, given))
        case Parallel(left, right):
            count = left.arity[0]
            return run_whole(left, given[:count]) + run_whole(right, given[count:])
        case Node(_, Wire() as wire):
            return tuple(given[place] for place in wire.routes)
        case Node(_, operator):
            types: StreamTypes = tuple(StreamType(each.of, bounded=True) for each in given)
            outputs = operator.judge(types).outputs
            run, _ = WHOLE[type(operator)]
            return run(operator, given, tuple(output.collection for output in outputs))


def bounds(whole: Whole) -> Places:
    """Where the rows of each stream begin, and where the last ones end: rows stand by stream."""
    return np.searchsorted(whole.streams, np.arange(whole.count + 1))

"""Functions that raise on tables: an operator consumes a whole delta at once, and the error shows the row at fault.

If a function of the user raises, the delta is consumed again in halves, until the first row at fault is found. A push
that raises changes nothing, so nothing of that is kept. An error from anywhere else is a bug in the engine; no row is
at fault, and it is raised at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from flo.columns.expression import is_row_fault
from flo.columns.indices import take_rows
from flo.core.collection import Collection
from flo.core.errors import EngineError
from flo.core.operator import Deltas, Operator
from flo.tables.state.trace import group_equal_rows, sum_ranges, with_weights
from flo.tables.streams import KeyedStreams, Streams
from flo.tables.values import SUMMED, WEIGHT, is_ordered, layout_of
from flo.values.keyed import Keyed
from flo.values.operators.shapes import annotate_error, find_faults
from flo.values.weighted import ZSet

V = TypeVar("V", Streams, KeyedStreams)


def expect_row_fault(operator: Any, error: Exception) -> None:
    """Raises an engine error unless a function of the user raised on a row."""
    if not is_row_fault(error):
        raise EngineError(f"`{operator.like.name}` on tables raised {type(error).__name__}: {error}") from error


def consume_rows(operator: Any, values: tuple[Any, ...]) -> tuple[Operator, Deltas]:
    """The operator and its outputs after these values. If a function raises on a row, the error shows the row.

    A function need not take rows that cancel out, since values do not hold such rows.
    """
    try:
        return operator.take_in(*values)  # type: ignore[no-any-return]
    except Exception as error:
        expect_row_fault(operator, error)
        if any(SUMMED in value.table.column_names for value in values):
            raise  # the rows are not here
        fewer = tuple(replace(value, table=consolidate_in_order(rows_in(value.of), value.table)) for value in values)
        if not any(value.has_content() for value in fewer):
            return operator, (None,) * operator.arity[1]
        if sum(value.table.num_rows for value in fewer) < sum(value.table.num_rows for value in values):
            return consume_rows(operator, fewer)
        fault = _show_first_fault(operator, fewer) or error
        raise fault from fault.__cause__


def _show_first_fault(operator: Any, values: tuple[Any, ...]) -> Exception | None:
    """The error of the first row at fault, with the row; None if functions raise on no row after those before it."""

    def take(start: int, stop: int) -> None:
        nonlocal operator
        part = replace(value.drained(), table=value.table.slice(start, stop - start))
        operator, _ = operator.take_in(*(part if each is value else each.drained() for each in values))

    for value in values:
        for index, error in find_faults(take, value.table.num_rows, Exception):
            return annotate_error(error, operator.unit(value.of, value.table.slice(index, 1)))
    return None


def raise_on_values(like: Operator, streams: Streams, take: Callable[[int, int], object]) -> None:
    """Raises the error of the first inner stream at fault as the operator on values does. `take` consumes some."""
    for index, _ in find_faults(take, streams.count, Exception):
        for _ in like.advance((cut(streams, index, index + 1).value(),)):
            pass


def cut(value: V, start: int, stop: int) -> V:
    """The inner streams of a value from `start` to `stop`."""
    return value.send(stop)[1].send(start)[0]


def rows_in(of: Collection) -> Collection:
    """The collection of the rows: of a keyed one, that under each key."""
    return of.inner if isinstance(of, Keyed) else of


def show_row(of: Collection, part: pa.Table) -> str:
    """The only row of a table as errors show it, in a z-set with its weight."""
    (element,) = layout_of(of).to_elements(part)
    return repr((element, part[WEIGHT][0].as_py()) if isinstance(of, ZSet) else element)


def consolidate_in_order(of: Collection, table: pa.Table) -> pa.Table:
    """Consolidates equal rows, and keeps the order in which they came."""
    if is_ordered(of) or not table.num_rows:
        return table
    order, firsts = group_equal_rows(table.drop_columns([WEIGHT]))
    weights = sum_ranges(table[WEIGHT].to_numpy()[order], firsts)
    indices = order[firsts]
    again = np.argsort(indices)
    kept = again[weights[again] != 0]
    return with_weights(take_rows(table, indices[kept]), weights[kept])

"""Handling functions that raise: an operator consumes all rows except those at fault.

An error from anywhere else is a bug in the engine; no row is at fault, and it is raised at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.expression import is_row_fault
from flo.columns.indices import Indices, take_rows
from flo.core.errors import EngineError
from flo.core.operator import Step
from flo.tables.keyed import ENDED, KeyedRows, key_names
from flo.tables.state.trace import group_equal_rows, sum_ranges, with_weights
from flo.tables.values import WEIGHT, Rows, is_ordered, layout_of
from flo.values.operators.shapes import annotate_error
from flo.values.weighted import ZSet


def expect_row_fault(operator: Any, error: Exception) -> None:
    """Raises an engine error unless a function of the user raised on a row."""
    if not is_row_fault(error):
        raise EngineError(f"`{operator.like.name}` on tables raised {type(error).__name__}: {error}") from error


def consume_piecewise(operator: Any, inputs: tuple[Rows, ...], *, onwards: bool) -> Iterator[Step]:
    """Steps that consume the rows on which no function raises; finally raises the first error.

    Each step starts from the current state, or with `onwards` from the step before. Rows that cancel out are dropped
    first. In a sequence, no row after the one at fault is consumed.
    """
    values = [Rows(value.of, consolidate_in_order(value), value.end) for value in inputs]
    if not any(value.table.num_rows for value in values):
        yield Step(operator.rule, tuple(value.drained() for value in inputs), operator, (None,) * operator.arity[1])
        return
    fault: Exception | None = None
    left = [np.ones(value.table.num_rows, bool) for value in values]
    for index, value in enumerate(values):
        waiting = [(0, value.table.num_rows)] if value.table.num_rows else []
        while waiting:
            start, count = waiting.pop()
            part = value.table.slice(start, count)
            try:
                after, outputs = operator.consume(*_alone(values, index, part))
            except Exception as error:
                expect_row_fault(operator, error)
                if count > 1:
                    half = count // 2
                    waiting += [(start + half, count - half), (start, half)]
                    continue
                fault = fault or annotate_error(error, operator.unit(value.of, part))
                if is_ordered(value.of):
                    break
                continue
            rest = [each.copy() for each in left]
            rest[index][start : start + count] = False
            yield Step(operator.rule, tuple(map(_kept, values, rest)), after, outputs)
            if onwards:
                operator, left = after, rest
            elif is_ordered(value.of):
                break
    if fault is not None:
        raise fault


def show_row(of: Any, part: pa.Table) -> str:
    """The only row of a table as errors show it, in a z-set with its weight."""
    (element,) = layout_of(of).to_elements(part)
    return repr((element, part[WEIGHT][0].as_py()) if isinstance(of, ZSet) else element)


def consolidate_in_order(value: Rows) -> pa.Table:
    """Consolidates equal rows, and keeps the order in which they came."""
    if is_ordered(value.of) or not value.table.num_rows:
        return value.table
    order, firsts = group_equal_rows(value.table.drop_columns([WEIGHT]))
    weights = sum_ranges(value.table[WEIGHT].to_numpy()[order], firsts)
    indices = order[firsts]
    again = np.argsort(indices)
    kept = again[weights[again] != 0]
    return with_weights(take_rows(value.table, indices[kept]), weights[kept])


def _alone(values: list[Rows], index: int, part: pa.Table) -> list[pa.Table]:
    return [part if at == index else value.table.slice(0, 0) for at, value in enumerate(values)]


def _kept(value: Rows, which: Any) -> Rows:
    return Rows(value.of, value.table.filter(pa.array(which)), value.end)


def consume_piecewise_by_key(operator: Any, inputs: tuple[KeyedRows, ...], *, onwards: bool) -> Iterator[Step]:
    """One step that consumes rows on which no function raises, or with `onwards` all such steps; finally raises.

    In the sequence of a key, no row after the one at fault is consumed. Keys are consumed before all rows, and ends of
    streams after them.
    """
    values = [replace(value, table=_by_key(value)) for value in inputs]
    for rest, part in _keys_first(values):
        operator, outputs = operator.take_in(*part)
        yield Step(operator.rule, tuple(rest), operator, outputs)
        if not onwards:
            return
        values = rest
    fault: Exception | None = None
    for index, value in enumerate(values):
        starts, left, behind = _starts(value), np.ones(value.table.num_rows, bool), 0
        waiting = [(0, value.table.num_rows)]
        while waiting:
            start, stop = waiting.pop()
            start = max(start, behind)
            if start >= stop:
                continue
            part = value.table.slice(start, stop - start)
            try:
                operator, outputs = operator.take_in(*_alone_in_key(values, index, part))
            except Exception as error:
                expect_row_fault(operator, error)
                middle = _middle(starts, start, stop, operator.whole_keys)
                if middle is not None:
                    waiting += [(middle, stop), (start, middle)]
                    continue
                fault = fault or annotate_error(error, operator.unit(value.of, part.slice(0, 1)))
                if is_ordered(value.inner):
                    behind = int(starts[np.searchsorted(starts, start, side="right")])
                continue
            left[start:stop] = False
            values[index] = replace(value, table=value.table.filter(pa.array(left)))
            yield Step(operator.rule, tuple(values), operator, outputs)
            if not onwards:
                return
    if fault is not None:
        raise fault


def _by_key(value: KeyedRows) -> pa.Table:
    """The consolidated rows, grouped by key and in their order."""
    table = consolidate_in_order(Rows(value.inner, value.table))
    return take_rows(table, group_equal_rows(table.select(list(key_names(value.of))))[0]) if table.num_rows else table


def _keys_first(values: list[KeyedRows]) -> Iterator[tuple[list[KeyedRows], list[KeyedRows]]]:
    """The part that announces keys but has no rows, and the rest; or everything, if all rows cancelled out."""
    keys = [value.keys.filter(pc.invert(value.keys[ENDED])) for value in values]
    if not any(value.table.num_rows for value in values):
        yield [value.drained() for value in values], values
    elif any(some.num_rows for some in keys):
        rest = [replace(value, keys=value.keys.filter(value.keys[ENDED])) for value in values]
        yield rest, [replace(value.empty(), keys=some) for value, some in zip(values, keys, strict=True)]


def _starts(value: KeyedRows) -> Indices:
    """The index of the first row of each key, and the number of rows."""
    keys = value.table.select(list(key_names(value.of)))
    return np.append(group_equal_rows(keys)[1], keys.num_rows) if keys.num_rows else np.zeros(1, np.int64)


def _middle(starts: Indices, start: int, stop: int, whole_keys: bool) -> int | None:
    """The index at which to halve rows; None if they cannot be halved."""
    if not whole_keys:
        return (start + stop) // 2 if stop - start > 1 else None
    cuts = starts[(starts > start) & (starts < stop)]
    return int(cuts[len(cuts) // 2]) if len(cuts) else None


def _alone_in_key(values: list[KeyedRows], index: int, part: pa.Table) -> list[KeyedRows]:
    return [replace(v.empty(), table=part) if at == index else v.empty() for at, v in enumerate(values)]

"""What is done when a function raises under some key: what is at fault holds up itself only, or its key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columnar.faults import expect_of_a_row, present
from flo.columnar.keyed import ENDED, KeyedRows, key_names
from flo.columnar.keys import Places
from flo.columnar.places import taken
from flo.columnar.rows import Rows, ordered
from flo.columnar.trace import alike
from flo.core.operator import Step
from flo.values.operators.unary import noted


def piecewise_by_key(operator: Any, inputs: tuple[KeyedRows, ...], *, onwards: bool) -> Iterator[Step]:
    """A step that consumes some rows that can be, or `onwards` all such steps; at last what was raised.

    Of a key's sequence, nothing behind the row at fault is consumed. Keys come before all rows, ends of streams behind.
    """
    values = [replace(value, table=_by_key(value)) for value in inputs]
    for rest, part in _keys_first(values):
        operator, outputs = operator.take_in(*part)
        yield Step(operator.rule, tuple(rest), operator, outputs)
        if not onwards:
            return
        values = rest
    fault: Exception | None = None
    for place, value in enumerate(values):
        starts, left, behind = _starts(value), np.ones(value.table.num_rows, bool), 0
        waiting = [(0, value.table.num_rows)]
        while waiting:
            start, stop = waiting.pop()
            start = max(start, behind)
            if start >= stop:
                continue
            part = value.table.slice(start, stop - start)
            try:
                operator, outputs = operator.take_in(*_alone(values, place, part))
            except Exception as error:
                expect_of_a_row(operator, error)
                middle = _middle(starts, start, stop, operator.whole_keys)
                if middle is not None:
                    waiting += [(middle, stop), (start, middle)]
                    continue
                fault = fault or noted(error, operator.unit(value.of, part.slice(0, 1)))
                if ordered(value.inner):
                    behind = int(starts[np.searchsorted(starts, start, side="right")])
                continue
            left[start:stop] = False
            values[place] = replace(value, table=value.table.filter(pa.array(left)))
            yield Step(operator.rule, tuple(values), operator, outputs)
            if not onwards:
                return
    if fault is not None:
        raise fault


def _by_key(value: KeyedRows) -> pa.Table:
    """The rows that are there, by key and in their order."""
    table = present(Rows(value.inner, value.table))
    return taken(table, alike(table.select(list(key_names(value.of))))[0]) if table.num_rows else table


def _keys_first(values: list[KeyedRows]) -> Iterator[tuple[list[KeyedRows], list[KeyedRows]]]:
    """What is left, and the part that brings no rows, if there is one; or nothing at all, if rows cancelled out."""
    keys = [value.keys.filter(pc.invert(value.keys[ENDED])) for value in values]
    if not any(value.table.num_rows for value in values):
        yield [value.drained() for value in values], values
    elif any(some.num_rows for some in keys):
        rest = [replace(value, keys=value.keys.filter(value.keys[ENDED])) for value in values]
        yield rest, [replace(value.empty(), keys=some) for value, some in zip(values, keys, strict=True)]


def _starts(value: KeyedRows) -> Places:
    """Where the rows of each key begin, and where the last ones end."""
    keys = value.table.select(list(key_names(value.of)))
    return np.append(alike(keys)[1], keys.num_rows) if keys.num_rows else np.zeros(1, np.int64)


def _middle(starts: Places, start: int, stop: int, whole_keys: bool) -> int | None:
    """Where to cut these rows; None if they cannot be."""
    if not whole_keys:
        return (start + stop) // 2 if stop - start > 1 else None
    cuts = starts[(starts > start) & (starts < stop)]
    return int(cuts[len(cuts) // 2]) if len(cuts) else None


def _alone(values: list[KeyedRows], place: int, part: pa.Table) -> list[KeyedRows]:
    return [replace(v.empty(), table=part) if at == place else v.empty() for at, v in enumerate(values)]

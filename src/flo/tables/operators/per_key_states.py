"""Operators of the body of `per_key` that keep one state for each key: positions and running results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.calling import calling
from flo.columns.indices import Places, taken
from flo.columns.layout import Layout
from flo.core.elements import returned_type
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import beside, elements_of, written
from flo.tables.keyed import ENDED, KeyedRows, noticed
from flo.tables.operators.keyed import keyed_delta
from flo.tables.operators.per_key import OfEveryKey, every_key
from flo.tables.operators.weights import chosen
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.run import Run
from flo.tables.state.totals import Totals, grouped
from flo.tables.state.trace import Latest, alike
from flo.tables.values import WEIGHT, layout_of
from flo.values.operators.sequences import Enumerate, Scan, Take
from flo.values.operators.shapes import as_declared, copy_if_mutable

NO_TOTALS = Totals(())
NO_ROWS = Latest(())


@dataclass(frozen=True)
class ByKey:
    """Rows by key, in their order; each key once; and how many rows each has."""

    rows: pa.Table
    keys: Run
    counts: Places

    @staticmethod
    def of(table: pa.Table, names: tuple[str, ...]) -> ByKey:
        table = table.combine_chunks()
        keys = table.select(list(names))
        numbers = keys_of(keys.columns)
        order, firsts = alike(keys, numbers)
        places = order[firsts]
        run = Run(names, Keys(numbers.numbers[places], numbers.exact), taken(keys, places))
        return ByKey(taken(table, order), run, np.diff(firsts, append=len(order)))

    def positions(self) -> Places:
        """The position of each row among those of its key."""
        starts = np.cumsum(self.counts) - self.counts
        return np.arange(len(self.rows)) - np.repeat(starts, self.counts)

    def each(self, items: list[Any]) -> list[list[Any]]:
        """What stands beside the rows of each key."""
        ends = np.cumsum(self.counts).tolist()
        return [items[end - count : end] for end, count in zip(ends, self.counts.tolist(), strict=True)]


@dataclass(frozen=True)
class Placed(OfEveryKey):
    """Goes by the position of an element: `counts` has how many each key had."""

    counts: Totals = field(default=NO_TOTALS)

    def placed(self, table: pa.Table) -> tuple[Self, ByKey, Places, Places]:
        """With these rows; they by key, the position of each, and how many each key had before."""
        rows = ByKey.of(table, self.keys)
        delta, _ = grouped(rows.keys.table, rows.keys.keys, rows.counts, [])
        counts = replace(self.counts, columns=self.keys)
        before = counts.known(rows.keys)[WEIGHT]
        after = replace(self, counts=counts.extended(delta))
        return after, rows, rows.positions() + np.repeat(before, rows.counts), before


@final
@dataclass(frozen=True)
class EnumerateOfEveryKey(Placed):
    name = "enumerate_of_every_key"

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,), of = values, self.outputs[0]
        if not value.table.num_rows:
            return self, (keyed_delta(of, None, value.keys),)  # type: ignore[arg-type]
        after, rows, positions, _ = self.placed(value.table)
        numbers = pa.array(positions + self.like.position)  # type: ignore[attr-defined]
        pairs = [numbers, layout_of(value.inner).as_array(rows.rows)]
        found = pa.Table.from_arrays(pairs, schema=layout_of(of.inner).schema)  # type: ignore[attr-defined]
        return after, (keyed_delta(of, beside(found, rows.rows.select(list(self.keys))), value.keys),)  # type: ignore[arg-type]


@final
@dataclass(frozen=True)
class TakeOfEveryKey(Placed):
    """The first elements of each key, and then the end of its stream."""

    name = "take_of_every_key"

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,), of = values, self.outputs[0]
        said, after, found = value.keys, self, None
        count = int(self.like.count)  # type: ignore[attr-defined]
        most = max(1, count)  # the end of nothing comes with the first element
        if value.table.num_rows:
            after, rows, positions, before = self.placed(value.table)
            found = rows.rows.filter(pa.array(positions < count))
            full = np.flatnonzero((before < most) & (before + rows.counts >= most))
            said = pa.concat_tables([said, noticed(taken(rows.keys.table, full), ended=True)])
        ended = ByKey.of(said.filter(said[ENDED]), self.keys).keys
        known = replace(self.counts, columns=self.keys).known(ended)[WEIGHT]
        ended = chosen(ended, np.flatnonzero(known < most))  # the others have ended before
        said = pa.concat_tables([said.filter(pc.invert(said[ENDED])), noticed(ended.table, ended=True)])
        return after, (keyed_delta(of, found, said),)  # type: ignore[arg-type]


@final
@dataclass(frozen=True)
class ScanOfEveryKey(OfEveryKey):
    """The running result of each key: `results` has the last ones."""

    results: Latest = field(default=NO_ROWS)

    name = "scan_of_every_key"

    @calling
    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,), of = values, self.outputs[0]
        if not value.table.num_rows:
            return self, (keyed_delta(of, None, value.keys),)  # type: ignore[arg-type]
        like: Any = self.like
        rows = ByKey.of(value.table, self.keys)
        results = replace(self.results, columns=self.keys)
        given = rows.each(elements_of(value.inner, rows.rows))
        found: list[Any] = []
        lasts: list[Any] = []
        for acc, elements in zip(known_results(results, rows.keys, like), given, strict=True):
            for element in elements:
                found.append(acc := like.f(copy_if_mutable(acc), element))
            lasts.append(acc)
        as_declared(like.f, found)
        table = beside(written(found, returned_type(like.f)), rows.rows.select(list(self.keys)))
        grown = results.extended(with_results(rows.keys, lasts, like))
        return replace(self, results=grown), (keyed_delta(of, table, value.keys),)  # type: ignore[arg-type]


def known_results(results: Latest, keys: Run, like: Any) -> list[Any]:
    """What was reached for each key; at first what the operator begins with."""
    found = [like.acc] * keys.rows
    places, rows = results.known(keys)
    if rows is not None:
        layout = Layout.of(returned_type(like.f))
        assert layout is not None
        for place, result in zip(places.tolist(), layout.to_elements(rows), strict=True):
            found[place] = result
    return found


def with_results(keys: Run, results: list[Any], like: Any) -> Run:
    table = beside(keys.table, written(results, returned_type(like.f)))
    return Run(keys.columns, keys.keys, table)


def has_columns(like: Any) -> bool:
    return Layout.of(returned_type(like.f)) is not None


def keeps_states(
    form: Callable[..., Operator], *kinds: type[Operator], when: Callable[[Any], bool] = lambda like: True
) -> None:
    @every_key(*kinds)
    def make(like: Operator, inputs: StreamTypes) -> Operator | None:
        return form(like) if when(like) else None


keeps_states(EnumerateOfEveryKey, Enumerate)
keeps_states(TakeOfEveryKey, Take)
keeps_states(ScanOfEveryKey, Scan, when=has_columns)

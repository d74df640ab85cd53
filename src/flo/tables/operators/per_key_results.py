"""Operators of the body of `per_key` that give one result for each key, when its stream ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import repeat
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.calling import calling
from flo.columns.indices import Places, one_chunk, taken
from flo.columns.layout import VALUE
from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.errors import brief
from flo.core.operator import Deltas, Operator
from flo.tables.functions import beside, elements_of, written
from flo.tables.keyed import ENDED, KeyedColumns, KeyedRows, noticed
from flo.tables.operators.keyed import keyed_delta
from flo.tables.operators.per_key import OfEveryKey
from flo.tables.operators.per_key_states import (
    NO_ROWS,
    NO_TOTALS,
    ByKey,
    has_columns,
    keeps_states,
    known_results,
    with_results,
)
from flo.tables.operators.weights import NOTHING, chosen, new_rows, weights_in
from flo.tables.state.keys import keys_of
from flo.tables.state.run import Run, run_of
from flo.tables.state.totals import Totals, as_array, grouped, numbers_in
from flo.tables.state.trace import Latest, Trace, weighing
from flo.tables.values import WEIGHT, layout_of, ordered
from flo.values.operators.bags import Count, FoldUnordered, Sum
from flo.values.operators.sequences import Fold, Last
from flo.values.operators.shapes import as_declared, copy_if_mutable
from flo.values.weighted import Set


@dataclass(frozen=True)
class Final(OfEveryKey):
    """One result for each key, when its stream ends. `open` has the keys that wait for it."""

    open: Trace = field(default=NOTHING)
    seen: Trace = field(default=NOTHING)
    """The elements of sets, which may come again."""

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,), of = values, self.outputs[0]
        new = run_of(ones(value.keys.filter(pc.invert(value.keys[ENDED])).select(list(self.keys))), self.keys)
        after = replace(self, open=self.open.extended(new))
        if value.table.num_rows:
            after, table = after._once(value)
            after = after.added(ByKey.of(table, self.keys), value.inner) if table.num_rows else after
        gone = ByKey.of(value.keys.filter(value.keys[ENDED]), self.keys).keys
        gone = chosen(gone, np.flatnonzero(weights_in(after.open, gone)))
        if not gone.rows:
            return after, (keyed_delta(of, None, noticed(new.table.select(list(self.keys)))),)  # type: ignore[arg-type]
        left = after.open.extended(Run(gone.columns, gone.keys, weighing(gone.table, -np.ones(gone.rows, np.int64))))
        keys = gone.table.select(list(self.keys))
        said = pa.concat_tables([noticed(new.table.select(list(self.keys))), noticed(keys, ended=True)])
        return replace(after, open=left), (keyed_delta(of, after.results(gone), said),)  # type: ignore[arg-type]

    def _once(self, value: KeyedRows) -> tuple[Self, pa.Table]:
        """The rows; of a set only those that are new."""
        if not isinstance(value.inner, Set):
            return self, value.table
        new = new_rows(self.seen, value.table, (*self.keys, *layout_of(value.inner).names))
        return replace(self, seen=self.seen.extended(new)), new.table

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        of: Any = self.outputs[0]
        table = self.open.table()
        done = KeyedColumns(of).bottom()
        if table is not None and table.num_rows:
            keys = run_of(table.select(list(self.keys)), self.keys)
            done = done.concat(keyed_delta(of, self.results(keys), noticed(keys.table)))  # type: ignore[arg-type]
        return type(self)(self.like, inputs=self.inputs, outputs=self.outputs, keys=self.keys), (done.fix(),)

    def added(self, rows: ByKey, of: Any) -> Self:
        """With these rows."""
        raise NotImplementedError

    def results(self, keys: Run) -> pa.Table:
        """The results of these keys, beside them."""
        raise NotImplementedError

    def beside_keys(self, array: pa.Array, keys: Run) -> pa.Table:
        of: Any = self.outputs[0]
        found = pa.Table.from_arrays([array], schema=layout_of(of.inner).schema)
        return beside(found, keys.table.select(list(self.keys)))


def ones(keys: pa.Table) -> pa.Table:
    return weighing(keys, np.ones(keys.num_rows, np.int64))


def weights_beside(rows: ByKey) -> Places:
    table = rows.rows
    return numbers_in(table, WEIGHT) if WEIGHT in table.column_names else np.ones(table.num_rows, np.int64)


@final
@dataclass(frozen=True)
class TotalOfEveryKey(Final):
    """count and sum."""

    totals: Totals = field(default=NO_TOTALS)

    name = "total_of_every_key"

    def added(self, rows: ByKey, of: Any) -> Self:
        keys = rows.rows.select(list(self.keys))
        columns = [one_chunk(rows.rows[VALUE])] if isinstance(self.like, Sum) else []
        delta, _ = grouped(keys, keys_of(keys.columns), weights_beside(rows), columns)
        return replace(self, totals=replace(self.totals, columns=self.keys).extended(delta))

    def results(self, keys: Run) -> pa.Table:
        of: Any = self.outputs[0]
        sums = replace(self.totals, columns=self.keys).known(keys)
        if isinstance(self.like, Count):
            return self.beside_keys(pa.array(sums[WEIGHT]), keys)
        kind = layout_of(of.inner).cells[0].arrow
        names = keys.table.select(list(self.keys))
        return self.beside_keys(as_array(sums, 0, kind, lambda place: brief(*names.slice(place, 1).to_pylist())), keys)


@final
@dataclass(frozen=True)
class FoldOfEveryKey(Final):
    """fold of sequences, and of bags and sets where the order does not matter."""

    reached: Latest = field(default=NO_ROWS)

    name = "fold_of_every_key"

    @calling
    def added(self, rows: ByKey, of: Any) -> Self:
        like: Any = self.like
        reached = replace(self.reached, columns=self.keys)
        elements = elements_of(of, rows.rows)
        if not ordered(of):
            counts = numbers_in(rows.rows, WEIGHT).tolist()
            elements = [list(repeat(element, count)) for element, count in zip(elements, counts, strict=True)]
        found = []
        for acc, given in zip(known_results(reached, rows.keys, like), rows.each(elements), strict=True):
            flat = given if ordered(of) else [element for some in given for element in some]
            found.append(reduce(like.f, flat, copy_if_mutable(acc)))
        return replace(self, reached=reached.extended(with_results(rows.keys, found, like)))

    def results(self, keys: Run) -> pa.Table:
        like: Any = self.like
        found = known_results(replace(self.reached, columns=self.keys), keys, like)
        as_declared(like.f, found)
        return beside(written(found, returned_type(like.f)), keys.table.select(list(self.keys)))


@final
@dataclass(frozen=True)
class LastOfEveryKey(Final):
    """The last element of each key, if there is one."""

    kept: Latest = field(default=NO_ROWS)

    name = "last_of_every_key"

    def added(self, rows: ByKey, of: Any) -> Self:
        newest = taken(rows.rows, np.cumsum(rows.counts) - 1)
        kept = replace(self.kept, columns=self.keys)
        return replace(self, kept=kept.extended(Run(self.keys, rows.keys.keys, newest)))

    def results(self, keys: Run) -> pa.Table:
        _, rows = replace(self.kept, columns=self.keys).known(keys)
        of: Any = self.outputs[0]
        return KeyedColumns(of).bottom().table if rows is None else rows


keeps_states(TotalOfEveryKey, Count, Sum)
keeps_states(FoldOfEveryKey, Fold, FoldUnordered, when=has_columns)
keeps_states(LastOfEveryKey, Last)

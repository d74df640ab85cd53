"""Weights of rows and of keys: looked up in traces, and compared before and after a delta.

A trace has the weights of a row in several runs. Their sum says how often the row is there:

    run 1             run 2             delta             find_flips: the row ...
    row  weight       row  weight       row  weight
    x    +2           x    -1           x    -1           -1   falls to 0: it is gone
    y    +1                             y    +1            0   was there, and is
                                        z    +1           +1   rises above 0: it is new

`Partners` does the same for keys, one level up: it keeps the weight of each row, and for each key the number of its
rows that are there. Invariant: a key is there if at least one row of it has a weight above zero. A delta is looked up
by row and then by key, so the cost does not depend on how many rows a key has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, Numbers, largest, take_rows
from flo.core.errors import ElementError
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.tables.operator import OnTables
from flo.tables.state.keys import Keys, estimate_distinct, extend_keys, keys_of
from flo.tables.state.matching import match_keys
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace, add_checked, group_equal_rows, sum_ranges, weight_overflow, with_weights
from flo.tables.values import WEIGHT

NOTHING = Trace(())
S = TypeVar("S", bound=OnTables[Any])


def totals(table: pa.Table, columns: tuple[str, ...], keys: Keys | None = None) -> Run:
    """Adds up the weights of rows with equal `columns`. Returns each of them once, unless its weight is zero. `keys`
    are numbers of these columns, if there are any."""
    table = table.combine_chunks()
    keys = keys or keys_of([table[name] for name in columns])
    order, firsts = group_equal_rows(table.select(columns), keys)
    if not len(order):
        return Run(columns, keys, table)
    sums = sum_ranges(table[WEIGHT].to_numpy()[order], firsts)
    kept = sums != 0
    indices = order[firsts[kept]]
    return Run(columns, Keys(keys.numbers[indices], keys.exact), with_weights(take_rows(table, indices), sums[kept]))


def sum_equal_rows(
    by: OnTables[Any], table: pa.Table, keys: Keys, few: Callable[[int, int], bool]
) -> tuple[pa.Table, Numbers]:
    """Equal rows once, with the sums of their weights, if there are `few` of these; and the key number of each row.
    `keys` are those of the operator that reads them."""
    columns, key, every = tuple(name for name in table.column_names if name != WEIGHT), by.key_columns(0) or (), keys
    rest = [table[name] for name in columns if name not in key]
    for column in (None, *sorted(rest, key=lambda each: pa.types.is_boolean(each.type))):
        every = every if column is None else extend_keys(every, [column])
        if not few(table.num_rows, estimate_distinct(every.numbers)):  # rows differ, whatever the columns behind have
            return table, keys.numbers
    try:
        rows = totals(table, columns, every).table
    except ElementError:  # a weight does not fit 64 bits; with those of other parts it may
        return table, keys.numbers
    return rows, by.key_numbers(0, rows)


def weights_of(run: Run) -> Indices:
    weights: Indices = run.table[WEIGHT].to_numpy()
    return weights


def weights_in(trace: Trace, rows: Run) -> Indices:
    """Returns, for each of these rows, the sum of the weights that its key has in a trace."""
    sums, met, bound = np.zeros(rows.rows, np.int64), [], 0
    for run in trace:
        ours, theirs = match_keys(rows, run)
        weights = weights_of(run)[theirs]
        np.add.at(sums, ours, weights)
        met.append((ours, weights))
        bound += largest(weights) * len(weights)
    if bound > 2**62:  # rare, and then looked at closely
        exact = np.zeros(rows.rows, object)
        for ours, weights in met:
            np.add.at(exact, ours, weights.astype(object))
        if (exact != sums).any():
            raise weight_overflow()
    return sums


def multiply_weights(one: pa.ChunkedArray, other: Any) -> pa.ChunkedArray:
    """The products of weights; an error if one does not fit 64 bits."""
    try:
        return pc.multiply_checked(one, other)
    except pa.ArrowInvalid:
        raise weight_overflow() from None


def select_rows(run: Run, which: Indices, weights: Indices | None = None) -> Run:
    """Some rows of a run, in their order, with other weights if they are given."""
    if len(which) == run.rows and weights is None:
        return run
    some = run.take(which)
    return some if weights is None else replace(some, table=with_weights(some.table, weights))


def select_matching(rows: Run, trace: Trace) -> Run:
    """The rows whose key is in a trace."""
    matches = np.zeros(rows.rows, bool)
    for run in trace:
        matches[match_keys(rows, run.each_key)[0]] = True
    return select_rows(rows, np.flatnonzero(matches))


def new_rows(seen: Trace, table: pa.Table, columns: tuple[str, ...]) -> Run:
    """The rows that were not there before, each once."""
    rows = totals(table, columns)
    new = np.flatnonzero(weights_in(seen, rows) == 0)
    return select_rows(rows, new, np.ones(len(new), np.int64))


def find_flips(trace: Trace, delta: Run) -> Indices:
    """For each row of a delta: 1 if its weight rises above zero, -1 if it falls to zero or below, else 0."""
    before = weights_in(trace, delta)
    after = add_checked(before, weights_of(delta))
    return (after > 0).astype(np.int64) - (before > 0)


def drop_side(operator: S, ended: int) -> S:
    """The operator without what it keeps of one side, when the other has ended."""
    changes: dict[str, Any] = {"left" if ended else "right": NOTHING, "ended_side": ended}
    return replace(operator, **changes)


@dataclass(frozen=True)
class Partners(Lowerable):
    """The keys of one side that have a row whose weight is above zero."""

    rows: Trace = field(default=NOTHING)
    """The weight of each row."""
    keys: Trace = field(default=NOTHING)
    """For each key, how many of its rows have a weight above zero."""

    def add(self, delta: Run, columns: tuple[str, ...]) -> MovedPartners:
        """Adds a delta of rows, sorted by key; `columns` are those of a row."""
        rows = totals(delta.table, columns)
        come = find_flips(self.rows, rows)
        keys = totals(with_weights(rows.table.select([*delta.columns, WEIGHT]), come), delta.columns)
        changed = find_flips(self.keys, keys)
        moved = np.flatnonzero(changed)
        kept = Run(columns, rows.keys, rows.table.select([*columns, WEIGHT]))
        after = Partners(self.rows.extend(kept), self.keys.extend(keys))
        return MovedPartners(after, select_rows(keys, moved, changed[moved]))

    def keys_only(self) -> Partners:
        """The keys alone, for when no more rows will arrive."""
        keys = [select_rows(run, np.flatnonzero(weights_of(run) > 0)) for run in self.keys.consolidate()]
        ones = [select_rows(run, np.arange(run.rows), np.ones(run.rows, np.int64)) for run in keys if run.rows]
        return Partners(NOTHING, replace(self.keys, runs=tuple(ones)))

    def there(self, rows: Run) -> Indices:
        """The indices of the rows that have a partner."""
        return np.flatnonzero(weights_in(self.keys, rows) > 0)

    def absent(self, rows: Run) -> Indices:
        """The indices of the rows that have none."""
        return np.flatnonzero(weights_in(self.keys, rows) <= 0)

    def lower(self, lower: Lowering) -> Term:
        return Call("partners", (lower(self.rows), lower(self.keys)))


register("partners", Partners)


class MovedPartners(NamedTuple):
    """The keys of a side after a delta, and the keys that the delta has moved."""

    partners: Partners
    moved: Run
    """Keys that appear, with weight 1, or disappear, with weight -1."""


def summable(weights: Indices) -> Indices:
    """Return weights whose sums are exact: as integers of Python, if they may not fit 64 bits."""
    return weights.astype(object) if largest(weights) * len(weights) > 2**62 else weights


def in_64_bits(weights: Indices) -> Indices:
    """Return such weights as others. Raise if one does not fit."""
    try:
        return weights.astype(np.int64)
    except OverflowError:
        raise weight_overflow() from None

"""Rows by group, for operators on tables that keep state for each group.

A group is a value of the key columns of an operator (`OnTables.keys`). Without key columns all rows are one group,
`ONE`, and are neither sorted nor compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, is_sorted, take_rows
from flo.core.errors import brief
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.tables.functions import ALL, beside
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.matching import match_keys
from flo.tables.state.run import Run, run_of
from flo.tables.state.totals import Totals, run_of_sums
from flo.tables.state.trace import EqualRows, Trace, add_checked, group_equal_rows
from flo.tables.streams import NUMBER, STREAM, numbers
from flo.tables.values import WEIGHT

T = TypeVar("T", bound=Trace)

ONE = run_of(pa.table({ALL: np.zeros(1, np.int8)}), (ALL,))
"""The one group where there are no key columns."""


@dataclass(frozen=True)
class Groups:
    """Rows by group, in their order; the key of each group once; how many rows each has."""

    rows: pa.Table
    keys: Run
    counts: Indices

    @staticmethod
    def of(table: pa.Table, names: tuple[str, ...]) -> Groups:
        """Groups rows by key columns."""
        if not names:
            return Groups(table, ONE, np.array([table.num_rows]))
        table = table.combine_chunks()
        keys, (order, firsts) = distinct_keys(table, names)
        rows = table if is_sorted(order) else take_rows(table, order)
        return Groups(rows, keys, np.diff(firsts, append=len(order)))

    @property
    def firsts(self) -> Indices:
        """The index of the first row of each group."""
        return np.cumsum(self.counts) - self.counts

    def positions(self) -> Indices:
        """The position of each row among those of its group."""
        indices = np.arange(self.rows.num_rows)
        return indices if len(self.counts) == 1 else indices - self.beside(self.firsts)

    def beside(self, items: Indices) -> Indices:
        """Repeats the item of each group for all of its rows; not if there is only one group."""
        return items if len(self.counts) == 1 else np.repeat(items, self.counts)

    def split(self, items: list[Any]) -> list[list[Any]]:
        """Splits a list with an item for each row into a list for each group."""
        ends = np.cumsum(self.counts).tolist()
        return [items[end - count : end] for end, count in zip(ends, self.counts.tolist(), strict=True)]


def keys_by(table: pa.Table, names: tuple[str, ...]) -> Keys:
    """The numbers of the groups of rows: those of inner streams are in the order of the streams, so that rows by stream
    stay where they are."""
    if names == (STREAM,):
        return Keys(numbers(table).astype(np.uint64) << np.uint64(32), exact=True)
    return keys_of([table[name] for name in names])


def distinct_keys(table: pa.Table, names: tuple[str, ...]) -> tuple[Run, EqualRows]:
    """The key of each group of rows, once, and which rows are of a group."""
    keys = table.select(list(names)).combine_chunks()
    numbers = keys_by(keys, names)
    equal = group_equal_rows(keys, numbers)
    firsts = equal.order[equal.firsts]
    return Run(names, Keys(numbers.at(firsts), numbers.exact), take_rows(keys, firsts)), equal


def run_by(table: pa.Table, names: tuple[str, ...]) -> Run:
    """Rows sorted by group; those of one group stay in their order."""
    return run_of(table, names, keys_by(table, names))


def stream_groups(count: int) -> Run:
    """The groups of so many inner streams."""
    return run_by(pa.table([pa.array(np.arange(count))], schema=pa.schema([NUMBER])), (STREAM,))


@dataclass(frozen=True)
class Counts(Lowerable):
    """How many rows each group had: a number where all rows are one group, else sums by group."""

    one: int = 0
    each: Totals = Totals(())  # noqa: RUF009

    def known(self, groups: Run) -> Indices:
        if groups is ONE:
            return np.array([self.one])
        return key_by_groups(self.each, groups).look_up(groups)[WEIGHT]

    def added(self, groups: Run, counts: Indices) -> Counts:
        """Returns the counts after so many more rows of each of these groups."""
        if groups is ONE:
            return Counts(int(add_checked(np.array([self.one]), counts)[0]))
        delta = run_of_sums(groups.table, groups.keys, {WEIGHT: counts})
        return Counts(0, key_by_groups(self.each, groups).extend(delta))

    def lower(self, lower: Lowering) -> Term:
        return Call("counts", (self.one, lower(self.each)))


register("counts", Counts)


def key_by_groups(trace: T, groups: Run) -> T:
    """Returns the trace with the columns of these groups as its key."""
    return replace(trace, columns=groups.columns)


def rows_of(trace: Trace, groups: Run) -> tuple[pa.Table | None, Indices]:
    """Returns the rows of these groups in a trace, older ones first, and the group of each; for `ONE` all rows."""
    if groups is ONE:
        parts = [(run.table, np.zeros(run.rows, np.int64)) for run in trace]
    else:
        met = [(run, *match_keys(groups, run)) for run in trace]
        parts = [(_rows_at(run, theirs), ours) for run, ours, theirs in met]
    if not parts:
        return None, np.zeros(0, np.int64)
    return pa.concat_tables([table for table, _ in parts]), np.concatenate([which for _, which in parts])


def _rows_at(run: Run, indices: Indices) -> pa.Table:
    """Takes these rows; no row index occurs twice."""
    return run.table if len(indices) == run.rows and is_sorted(indices) else take_rows(run.table, indices)


def with_keys(table: pa.Table, groups: Run | pa.Table, names: tuple[str, ...]) -> pa.Table:
    """The rows with the key columns of their groups beside them."""
    keys = groups.table if isinstance(groups, Run) else groups
    return beside(table, keys.select(list(names))) if names else table


def group_name(groups: Run, names: tuple[str, ...], index: int) -> str:
    """The name of a group, for errors."""
    if not names:
        return "all elements"
    (key,) = groups.table.select(list(names)).slice(index, 1).to_pylist()
    return f"inner stream {key[STREAM]}" if names == (STREAM,) else brief(key)

"""Rows by group: what operators on tables that keep something for each group have in common.

A group is a value of the key columns of an operator (`OnTables.keys`). Without key columns all rows are one group,
`ONE`, and are neither sorted nor compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, expanded, taken
from flo.core.errors import brief
from flo.tables.functions import ALL, beside
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.run import Run, pairs, run_of
from flo.tables.state.trace import Trace, alike
from flo.tables.streams import NUMBER, STREAM, numbers

T = TypeVar("T", bound=Trace)

ONE = run_of(pa.table({ALL: np.zeros(1, np.int8)}), (ALL,))
"""The one group where there are no key columns."""


@dataclass(frozen=True)
class Groups:
    """Rows by group, in their order; the key of each group once; how many rows each has."""

    rows: pa.Table
    keys: Run
    counts: Places

    @staticmethod
    def of(table: pa.Table, names: tuple[str, ...]) -> Groups:
        """These rows by key columns."""
        if not names:
            return Groups(table, ONE, np.array([table.num_rows]))
        table = table.combine_chunks()
        keys = table.select(list(names))
        if names == (STREAM,) and (found := _of_sorted_streams(table)) is not None:
            return found
        key_numbers = keys_of(keys.columns)
        order, firsts = alike(keys, key_numbers)
        places = order[firsts]
        run = Run(names, Keys(key_numbers.numbers[places], key_numbers.exact), taken(keys, places))
        return Groups(taken(table, order), run, np.diff(firsts, append=len(order)))

    @property
    def firsts(self) -> Places:
        """Where the rows of each group begin."""
        return np.cumsum(self.counts) - self.counts

    def positions(self) -> Places:
        """The position of each row among those of its group."""
        return np.arange(self.rows.num_rows) - np.repeat(self.firsts, self.counts)

    def split(self, items: list[Any]) -> list[list[Any]]:
        """What stands beside the rows, for each group."""
        ends = np.cumsum(self.counts).tolist()
        return [items[end - count : end] for end, count in zip(ends, self.counts.tolist(), strict=True)]


def _of_sorted_streams(table: pa.Table) -> Groups | None:
    """The rows of inner streams, where these stand one after the other: only the streams are sorted."""
    streams = numbers(table)
    changes = np.diff(streams)
    if len(changes) and changes.min() < 0:
        return None
    firsts = np.flatnonzero(np.concatenate([[True], changes > 0])[: len(streams)])
    found = pa.table([pa.array(firsts), pa.array(np.diff(firsts, append=len(streams)))], names=[_FIRST, _COUNT])
    run = run_of(found.add_column(0, NUMBER, pa.array(streams[firsts])), (STREAM,))
    counts = run.table[_COUNT].to_numpy()
    rows = taken(table, expanded(run.table[_FIRST].to_numpy(), counts))
    return Groups(rows, Run(run.columns, run.keys, run.table.select([STREAM])), counts)


_FIRST, _COUNT = "first", "count"


def stream_groups(count: int) -> Run:
    """The groups of so many inner streams."""
    return run_of(pa.table([pa.array(np.arange(count))], schema=pa.schema([NUMBER])), (STREAM,))


def by_groups(trace: T, groups: Run) -> T:
    """A trace that is kept by the columns of these groups."""
    return replace(trace, columns=groups.columns)


def rows_of(trace: Trace, groups: Run) -> tuple[pa.Table | None, Places]:
    """(the rows that a trace has of these groups, older ones first; for each the group): all that it has of `ONE`."""
    if groups is ONE:
        parts = [(run.table, np.zeros(run.rows, np.int64)) for run in trace]
    else:
        met = [(run, *pairs(groups, run)) for run in trace]
        parts = [(taken(run.table, theirs), ours) for run, ours, theirs in met]
    if not parts:
        return None, np.zeros(0, np.int64)
    return pa.concat_tables([table for table, _ in parts]), np.concatenate([which for _, which in parts])


def with_keys(table: pa.Table, groups: Run | pa.Table, names: tuple[str, ...]) -> pa.Table:
    """The rows with the key columns of their groups beside them."""
    keys = groups.table if isinstance(groups, Run) else groups
    return beside(table, keys.select(list(names))) if names else table


def group_name(groups: Run, names: tuple[str, ...], place: int) -> str:
    """How people call a group."""
    if not names:
        return "all elements"
    (key,) = groups.table.select(list(names)).slice(place, 1).to_pylist()
    return f"inner stream {key[STREAM]}" if names == (STREAM,) else brief(key)

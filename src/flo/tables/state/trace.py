"""Traces: state as a list of sorted runs, which are merged in levels as they grow, like an LSM tree.

A trace is a z-set: its content is the sum of the weights of equal rows over all runs. Here four deltas have come, and
the first three are merged:

    run 0 (oldest)            run 1
    user  amount  weight      user  amount  weight
    ann   3       2           ann   3       -1        content: ann 3 once, bob 9 once, eve 5 once
    bob   9       1           eve   5       1

Invariant: every run is sorted by key number, and in a run that was merged rows are consolidated as far as retractions
ask for it. Runs are ordered by age.

`extend` appends a delta as a run, and merges some rows of earlier runs (merging.py). So the cost of a delta follows its
size, every row is copied a logarithmic number of times, and old runs are rarely touched. Versions of a trace share
their common runs.

A subclass says in `join` how rows of runs are combined: `Latest` keeps the newest row of each key, `Totals` adds up
columns, `Ranked` sorts by an order too. The functions below consolidate equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa

from flo.columns.indices import (
    Indices,
    Numbers,
    expand_ranges,
    has_all,
    has_any,
    increases,
    largest,
    sort_numbers,
    sort_with_indices,
    take_rows,
    to_arrow,
)
from flo.core.data import canonical_text
from flo.core.errors import ElementError
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.tables.state.keys import Keys, find_equal, keys_of
from flo.tables.state.matching import match_keys
from flo.tables.state.merging import Merge, advance_merges, fuel_of, group_runs, merge_small
from flo.tables.state.packing import pack_columns
from flo.tables.state.run import Run, interleave, merge_runs, starts_of
from flo.tables.values import WEIGHT, WEIGHT_FIELD


@dataclass(frozen=True, eq=False)
class Trace(Lowerable):
    """A z-set, sorted by key. Merging runs consolidates equal rows."""

    columns: tuple[str, ...]
    runs: tuple[Run, ...] = ()
    merges: tuple[Merge, ...] = field(default=(), kw_only=True)
    """The merges that have begun, each of adjacent runs."""

    term: ClassVar[str] = "trace"
    """How a stored state names the class."""

    terms: ClassVar[set[str]] = {"trace"}
    """How a stored state names any class of traces."""

    def __init_subclass__(cls) -> None:
        if "term" in vars(cls):
            Trace.terms.add(cls.term)
            register(cls.term, cls.lift)

    @property
    def rows(self) -> int:
        return sum(run.rows for run in self.runs)

    @property
    def bytes(self) -> int:
        """The memory of the runs, and of the parts of merges that have begun."""
        return sum(run.bytes for run in (*self.runs, *(part for merge in self.merges for part in merge.parts)))

    def extend(self, *deltas: Run) -> Self:
        """Return the trace with the rows of deltas, which pay for a part of the merges that are due."""
        rows = sum([delta.rows for delta in deltas])
        if not rows:
            return self
        new = self.join([*deltas], oldest=not self.runs)
        merged = None
        if not self.merges:
            merged = merge_small((*self.runs, new) if new.rows else self.runs, self.join, self.how)
        if merged is not None:
            return self._with(merged)
        merges = [*group_runs(self.runs, self.merges), *([Merge((new,))] if new.rows else [])]
        merges = advance_merges(merges, fuel_of(rows, self.rows), self.join, self.cut, self.how)
        runs = tuple(run for merge in merges for run in merge.runs)
        return self._with(runs, tuple(merge for merge in merges if len(merge.runs) > 1))

    def _with(self, runs: tuple[Run, ...], merges: tuple[Merge, ...] = ()) -> Self:
        """Return the trace with other runs."""
        after = object.__new__(type(self))
        vars(after).update(vars(self), runs=runs, merges=merges)
        return after

    @property
    def how(self) -> tuple[object, ...]:
        """What the result of `join` depends on besides the runs: traces that agree on it share merged runs."""
        return type(self), self.columns

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        """Merge runs, oldest first, into one, and combine the rows that belong together.

        `fully` asks to consolidate all rows. `oldest` says that no earlier run has the keys of these.
        """
        return consolidate_runs(*runs, fully=fully)

    def cut(self, runs: list[Run], fuel: int) -> list[int] | None:
        """Cut the rows of one key number, if these have an order; see `merging.CutRuns`."""
        return None

    def consolidate(self) -> Self:
        """Return the same content in at most one run, with every row once."""
        whole = [self.join(list(self.runs), fully=True)] if self.runs else []
        return replace(self, runs=tuple(run.prepare() for run in whole if run.rows))

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def table(self) -> pa.Table | None:
        """Return all rows, each once, with the sum of its weights; None if there are no runs."""
        return self.join(list(self.runs), fully=True).table if self.runs else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace) or type(other) is not type(self) or bool(self.runs) != bool(other.runs):
            return False
        if len(self.runs) == len(other.runs) and all(map(_identical, self.runs, other.runs)):
            return True
        return other.columns == self.columns and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(type(self))

    def _content(self) -> dict[str, Any]:
        """Return the weights of rows by their text, to compare traces that have other runs, and some."""
        rows = self.join(list(self.runs), fully=True).table.to_pylist()
        return {text_of({n: v for n, v in row.items() if n != WEIGHT}): row[WEIGHT] for row in rows}

    def lower(self, lower: Lowering) -> Term:
        runs, merges = tuple(lower(run) for run in self.runs), self.lower_merges(lower)
        return Call(self.term, (self.columns, runs, *([merges] if merges else [])))

    def lower_merges(self, lower: Lowering) -> tuple[Term, ...]:
        """Return the merges that have begun as terms: the first run, the number of runs, and what is done."""
        merges: list[Term] = []
        place = 0
        for merge in group_runs(self.runs, self.merges):
            if len(merge.runs) > 1:
                parts = tuple(lower(part) for part in merge.parts)
                merges.append(Call("merge", (place, len(merge.runs), merge.done, parts)))
            place += len(merge.runs)
        return tuple(merges)

    @classmethod
    def lift(cls, columns: Any = (), runs: Any = (), merges: Any = ()) -> Self:
        return cls(tuple(columns), tuple(runs), merges=lift_merges(runs, merges))


def lift_merges(runs: Any, merges: Any) -> tuple[Merge, ...]:
    """Return the merges of these runs that had begun when they were stored."""
    return tuple(Merge(tuple(runs[place : place + count]), parts, done) for place, count, done, parts in merges)


register(Trace.term, Trace.lift)
register("merge", lambda place, count, done, parts: (place, count, tuple(done), tuple(parts)))


def _identical(one: Run, other: Run) -> bool:
    """Return whether two runs have the same content, without comparing rows."""
    return one is other or (one.rows == other.rows and one.name == other.name)


def consolidate_runs(*runs: Run, fully: bool = False) -> Run:
    """Merge runs into one, and consolidate equal rows: add their weights, and drop rows whose sum is zero.

    Rows that were only inserted need no comparison. So only rows with a key that has a negative weight are
    consolidated, unless the key is the whole row, or `fully` asks for all.

    1. Interleave the runs by key number.
    2. Choose the keys to consolidate: `open_keys`.
    3. Group the equal rows of these keys. The first of each group gets the sum of the weights; the others are dropped.
    """
    first, inserts = runs[0], all(run.inserts for run in runs)
    if inserts and len(runs) == 1 and first.rows < 2:
        return first
    names = [name for name in first.table.schema.names if name != WEIGHT]
    whole_key = set(names) == set(first.columns)
    if inserts and not (fully or whole_key):
        return merge_runs([*runs])
    table, order, keys = interleave([run.table for run in runs], [run.keys for run in runs])
    weights = table[WEIGHT].to_numpy()
    if not len(order) or (len(runs) == 1 and increases(keys.numbers) and has_all(weights)):
        return first
    weights = weights[order]
    if whole_key:
        return _consolidate_keys(first.columns, table, order, keys, weights)
    edges = starts_of(keys.numbers)
    starts, counts = edges[:-1], np.diff(edges)
    if fully:
        open_keys = np.flatnonzero((counts > 1) | (weights[starts] == 0))
    else:
        open_keys = np.flatnonzero(np.minimum.reduceat(weights, starts) <= 0)
    indices = expand_ranges(starts[open_keys], counts[open_keys])
    if not len(indices):
        return first if len(runs) == 1 else Run(first.columns, keys, take_rows(table, order))
    grouped, firsts = group_equal_rows(take_rows(table.select(names), order[indices]))
    sums = sum_ranges(weights[indices[grouped]], firsts)
    kept = np.ones(len(order), bool)
    kept[indices] = False
    firsts = indices[grouped[firsts]]
    weights[firsts], kept[firsts] = sums, sums != 0
    where = np.flatnonzero(kept)
    kept_rows = with_weights(take_rows(table, order[where]), weights[where])
    return Run(first.columns, Keys(keys.at(where), keys.exact), kept_rows)


def _consolidate_keys(columns: tuple[str, ...], table: pa.Table, order: Indices, keys: Keys, weights: Indices) -> Run:
    """Consolidate rows that have no columns besides their key. `keys` and `weights` are in the order of the numbers."""
    grouped, firsts = group_equal_rows(table.select(columns), keys, order)
    sums = sum_ranges(weights[grouped], firsts)
    kept = np.flatnonzero(sums)
    where = grouped[firsts[kept]]
    return Run(columns, Keys(keys.at(where), keys.exact), with_weights(take_rows(table, order[where]), sums[kept]))


def with_weights(table: pa.Table, weights: Indices) -> pa.Table:
    """Return the table with these weights."""
    place = table.schema.get_field_index(WEIGHT)
    if place < 0:
        return table.append_column(WEIGHT_FIELD, to_arrow(weights))
    return table.set_column(place, WEIGHT_FIELD, to_arrow(weights))


def weigh(run: Run, weights: Indices) -> Run:
    """Return the rows of a run with other weights, without those whose weight is 0."""
    there = np.flatnonzero(weights)
    rows = run.take(there)
    return replace(rows, table=with_weights(rows.table, weights[there]))


def sum_ranges(weights: Indices, firsts: Indices) -> Indices:
    """Return the sums of weights from each index in `firsts` to the next. Raise if one does not fit 64 bits."""
    return sum_checked(weights, lambda numbers: add_ranges(numbers, firsts))


def sum_checked(weights: Indices, add: Callable[[Indices], Indices]) -> Indices:
    """Return the sums of weights that `add` returns. Raise if one does not fit 64 bits."""
    sums = add(weights)
    if len(sums) < len(weights) and largest(weights) * len(weights) > 2**62:  # rare; check exactly
        if (add(weights.astype(object)) != sums).any():
            raise weight_overflow()
    return sums


def add_ranges(numbers: Indices, firsts: Indices) -> Indices:
    """Return the sums of numbers from each index in `firsts` to the next, modulo 2⁶⁴."""
    if len(firsts) == len(numbers):
        return numbers[firsts]
    if 2 * len(firsts) < len(numbers):
        return np.add.reduceat(numbers, firsts)
    sums, behind = numbers[firsts], np.ones(len(numbers), bool)  # few rows follow a first one
    behind[firsts] = False
    rest = np.flatnonzero(behind)
    np.add.at(sums, rest - np.arange(1, len(rest) + 1), numbers[rest])
    return sums


def add_checked(one: Indices, other: Indices) -> Indices:
    """Return the elementwise sums. Raise if one does not fit 64 bits."""
    sums = one + other
    if has_any(((one ^ sums) & (other ^ sums)) < 0):
        raise weight_overflow()
    return sums


def weight_overflow() -> ElementError:
    """Return the error of a sum of weights that does not fit 64 bits."""
    return ElementError(
        "the sum of the weights of equal rows of {input}, or of a group, does not fit 64 bits",
        facts=(("expected", f"from {-(2**63)} to {2**63 - 1}"),),
        instead=(("smaller weights", "such as 1 for each event"),),
        index=0,
    )


class EqualRows(NamedTuple):
    """Rows in an order in which equal ones are adjacent.

    rows            order       firsts     numbers
    0: x 1: y 2: x  [0, 2, 1]   [0, 2]     [0, 1, 0]      rows 0 and 2 are equal
    """

    order: Indices
    """The row indices in that order."""
    firsts: Indices
    """Where each distinct row begins in the order."""

    @property
    def size(self) -> int:
        """How many distinct rows there are."""
        return len(self.firsts)

    def numbers(self) -> Indices:
        """Return for each row which of the distinct rows it is."""
        numbers = np.empty(len(self.order), np.int64)
        numbers[self.order] = np.repeat(np.arange(len(self.firsts)), np.diff(self.firsts, append=len(self.order)))
        return numbers

    def add(self, numbers: Indices) -> Indices:
        """Return the sum of the numbers of equal rows, given one for each row, modulo 2⁶⁴."""
        return add_ranges(numbers[self.order], self.firsts)


def group_equal_rows(table: pa.Table, keys: Keys | None = None, rows: Indices | None = None) -> EqualRows:
    """Group equal rows.

    Rows are in the order of their key numbers, older ones first among equal rows. Distinct rows that share a number
    are distinguished by their text. With `rows`, these are the rows that are grouped, and `keys` are theirs.
    """
    keys = keys_of(table.columns) if keys is None else keys
    numbers = keys.numbers
    order = np.arange(len(numbers))
    if len(numbers) < 2:
        return EqualRows(order, order)
    if has_any(numbers[1:] < numbers[:-1]):
        order, numbers = sort_numbers(numbers)
    new = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=new[1:])
    doubtful = order[:0] if keys.exact else (~new).nonzero()[0]
    if len(doubtful):
        both = (order[places] for places in (doubtful - 1, doubtful))
        one, other = (take_rows(table, places if rows is None else rows[places]) for places in both)
        equal = find_equal(one.columns, other.columns)
        if not equal.all():
            whole = table if rows is None else take_rows(table, rows)
            return _split_collisions(whole, order, numbers, doubtful[~equal])
    return EqualRows(order, new.nonzero()[0])


def gather_equal_rows(table: pa.Table) -> EqualRows:
    """Group equal rows, as `group_equal_rows` does, but in any order.

    Rows of a few small integers or times are packed and sorted, without comparing columns.
    """
    bits = table.num_rows.bit_length()
    small = pack_columns(table, 63 - bits)
    if small is None:
        return group_equal_rows(table)
    both = sort_with_indices(small, bits)
    order = both & ((1 << bits) - 1)
    both >>= bits
    new = np.ones(len(both), bool)
    np.not_equal(both[1:], both[:-1], out=new[1:])
    return EqualRows(order, new.nonzero()[0])


def _split_collisions(table: pa.Table, order: Indices, numbers: Numbers, different: Indices) -> EqualRows:
    """Do what `group_equal_rows` does if distinct rows share a number."""
    indices = np.flatnonzero(np.isin(numbers, numbers[different]))
    texts = [text_of(row) for row in take_rows(table, order[indices]).to_pylist()]
    ties = np.zeros(len(order), np.int64)
    ties[indices] = np.unique(texts, return_inverse=True)[1]
    again = np.lexsort((ties, numbers))
    order, numbers, ties = order[again], numbers[again], ties[again]
    new = np.concatenate([[True], (numbers[1:] != numbers[:-1]) | (ties[1:] != ties[:-1])])
    return EqualRows(order, np.flatnonzero(new))


def text_of(row: dict[str, Any]) -> str:
    """Return a text that is the same for equal rows. 0.0 and -0.0 are equal."""
    return canonical_text(_one_zero(row))


def _one_zero(item: Any) -> Any:
    """Return the item with 0.0 for -0.0, at any depth."""
    match item:
        case float():
            return item + 0.0
        case dict():
            return {name: _one_zero(value) for name, value in item.items()}
        case list():
            return [_one_zero(value) for value in item]
        case _:
            return item


@dataclass(frozen=True, eq=False)
class Latest(Trace):
    """A trace with one row per key: the newest one replaces the others."""

    term = "latest"

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        """Merge runs, and keep the newest row of each key."""
        whole = merge_runs(runs)
        order, firsts = group_equal_rows(whole.table.select(list(self.columns)), whole.keys)
        if len(firsts) == whole.rows:
            return whole
        newest = order[np.append(firsts[1:], len(order)) - 1]
        return whole.take(newest)

    def look_up(self, keys: Run) -> tuple[Indices, pa.Table | None]:
        """Return which of these distinct keys the trace has, as indices, and the row of each; None if it has none."""
        unknown, indices, parts = np.ones(keys.rows, bool), [], []
        for run in reversed(self.runs):
            ours, theirs = match_keys(keys, run)
            new = unknown[ours]
            if new.any():
                unknown[ours] = False
                indices.append(ours[new])
                parts.append(take_rows(run.table, theirs[new]))
        return (np.concatenate(indices), pa.concat_tables(parts)) if parts else (np.zeros(0, np.int64), None)

    def _content(self) -> dict[str, Any]:
        rows = self.join(list(self.runs), fully=True).table.to_pylist()
        return {text_of({name: row[name] for name in self.columns}): text_of(row) for row in rows}

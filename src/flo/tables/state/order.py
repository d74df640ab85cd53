"""Orders of rows by columns: total, as Python orders their values, with ties broken.

An order by amount, descending, breaks ties by the text of the row. Groups are numbered from 0:

    row  group  user  amount           sorted by group and order     first of each distinct row
    0    0      bob   5                row 2   0  eve  9             0
    1    1      ann   7                row 3   0  ann  5             1     ties with row 0: 'ann' < 'bob'
    2    0      eve   9                row 0   0  bob  5             2
    3    0      ann   5                row 1   1  ann  7             3
    4    1      ann   7                row 4   1  ann  7                   equal to row 1

Invariant: the order is total on distinct rows, and depends on nothing but the rows. So runs of a trace that were sorted
at different times can be merged, and equal rows are adjacent.

A sort turns the first column into numbers (comparison.py), packs them with the group into one number, and sorts these.
Further columns and the text are looked at for rows that are equal so far.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from typing import Any, get_args, get_origin

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell, fields_of
from flo.columns.indices import Indices, Mask, Numbers, bisect_ranges, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.core.data import canonical_text
from flo.tables.state.comparison import Comparison, comparisons, has_numbers, own_numbers, rank_values
from flo.tables.state.keys import find_equal
from flo.tables.state.merging import last_of, places_in
from flo.tables.state.trace import EqualRows, group_equal_rows
from flo.values.canonical import canonical_element
from flo.values.operators.zset_ranking import comparable

_SIMPLE = r"^[ -&(-\[\]-~]*$"
"""Matches strings whose repr is the string itself in quotes."""


@dataclass(frozen=True)
class Order:
    """An order by columns. Ties are broken by the text of the row, or in another deterministic way."""

    columns: tuple[str, ...]
    descending: bool | tuple[bool, ...]
    """Whether columns are descending: one answer for all, or one for each."""
    layout: Layout
    """The layout of the whole row."""
    by_text: bool
    """Whether the text of the row breaks ties; otherwise its key number does."""
    key: Layout | None = None
    """The layout of the order columns, if Python may not be able to compare their values."""
    decisive: bool = False
    """Whether rows of a group with equal order columns are equal."""
    group_columns: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    """The columns of a group, if groups may share a key number: then equal rows have them equal too."""

    @property
    def directions(self) -> tuple[bool, ...]:
        return (self.descending,) * len(self.columns) if isinstance(self.descending, bool) else self.descending

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """How the values of each column compare."""
        return (self.key and comparisons(self.key)) or (Comparison(own_numbers),) * len(self.columns)

    def sort(self, table: pa.Table, groups: Indices, in_parts: bool = False) -> EqualRows:
        """Sort rows by group and order.

        Groups are numbered from 0. `in_parts` says that the table consists of parts that are sorted already.
        """
        if not table.num_rows:
            return EqualRows(np.zeros(0, np.int64), np.zeros(0, np.int64))
        columns = self._by_column(table)
        first = self.numbers_of(0, columns[0][1])
        codes, exact = _codes(groups, first)
        order = np.argsort(codes, kind="stable" if in_parts else None)
        codes = codes[order]
        new = np.concatenate([[True], codes[1:] != codes[:-1]])
        if not exact:
            _break_ties(order, new, lambda rows: [first[rows]])
        for place, (_, array) in enumerate(columns[1:], start=1):  # only of the rows that are equal so far
            _break_ties(order, new, partial(self._numbers_at, place, array))
        if not self.decisive:
            _break_ties(order, new, lambda rows: [self._ties(take_rows(table.select(list(self.layout.names)), rows))])
        self._tell_apart(table, order, new)
        return EqualRows(order, np.flatnonzero(new))

    def _tell_apart(self, table: pa.Table, order: Indices, new: Mask) -> None:
        """Mark rows as distinct that are equal, but belong to groups that share a number."""
        tied = np.flatnonzero(~new)
        if not self.group_columns or not len(tied):
            return
        groups = table.select(list(self.group_columns))
        if not find_equal(*(take_rows(groups, order[rows]).columns for rows in (tied - 1, tied))).all():
            _break_ties(order, new, lambda rows: [group_equal_rows(take_rows(groups, rows)).numbers()])

    def numbers_of(self, place: int, array: pa.Array) -> Numbers:
        """Return numbers in the order of the values of a column."""
        numbers = self.comparisons[place].numbers(array)
        return ~numbers if self.directions[place] else numbers

    def _numbers_at(self, place: int, array: pa.Array, rows: Indices) -> list[npt.NDArray[Any]]:
        """Return numbers in the order of the values of a column, for some rows."""
        return [self.numbers_of(place, array.take(pa.array(rows)))]

    def before(self, one: pa.Array, other: pa.Array, place: int = 0) -> Mask:
        """Return whether values of a column come before others, elementwise."""
        if self.directions[place]:
            one, other = other, one
        of = self.comparisons[place]
        if has_numbers(one.type) and not one.null_count + other.null_count:
            return of.numbers(one) < of.numbers(other)
        numbers = of.numbers(pa.concat_arrays([one, other]))
        return numbers[: len(one)] < numbers[len(one) :]

    def is_before(self, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Mask:
        """Return whether values of the first column come before others, elementwise, given `numbers_in_place`."""
        if self.directions[0]:
            one, other = other, one
        before: Mask = one < other
        return before | (np.isnan(other) & ~np.isnan(one)) if one.dtype.kind == "f" else before

    def numbers_in_place(self, array: pa.Array) -> npt.NDArray[Any] | None:
        """Return values of the first column as numbers that compare alike, without a copy; None if that cannot be."""
        kind = array.type
        if self.comparisons[0].of_values is not own_numbers or array.null_count:
            return None
        if pa.types.is_temporal(kind):
            return np.asarray(array.view(pa.int32() if kind.bit_width == 32 else pa.int64()))
        return np.asarray(array) if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None

    def cut(self, tables: list[pa.Table], fuel: int) -> list[int]:
        """Cut sorted tables. Return how many rows of each come before the cut, about so many in all."""
        columns = [one_chunk(table[self.columns[0]]) for table in tables]
        some = pa.concat_arrays([each.take(pa.array(places_in(len(each), fuel))) for each in columns])
        bound = some.take(pa.array([last_of(self.numbers_of(0, some), fuel)]))

        def end(column: pa.Array) -> int:
            numbers, asked = self.numbers_in_place(column), self.numbers_in_place(bound)
            if numbers is not None and asked is not None and not self.directions[0]:
                return int(np.searchsorted(numbers, asked[0], "right"))
            every = np.array([0]), np.array([len(column)])
            return int(bisect_ranges(*every, lambda rows, _: ~self.before(bound, column.take(pa.array(rows))))[0])

        return [end(column) for column in columns]

    def find_changes(self, table: pa.Table, count: int) -> Mask:
        """Return which rows differ from the row before in the first `count` columns. The first row does."""
        new = np.ones(table.num_rows, bool)
        new[1:] = False
        for of, array in self._by_column(table)[:count]:
            numbers = of.numbers(array)
            new[1:] |= numbers[1:] != numbers[:-1]
        return new

    def find_incomparable(self, table: pa.Table, owners: Indices, rows: Indices) -> Indices:
        """Return the groups that have keys which Python cannot compare. `rows` has the row indices in order."""
        assert self.key is not None
        doubtful = np.logical_or.reduce([each.doubtful(array) for each, array in self._by_column(table)])
        if not doubtful.any():
            return np.zeros(0, np.int64)
        one, other = rows[:-1], rows[1:]
        pairs = np.flatnonzero((owners[one] == owners[other]) & (doubtful[one] | doubtful[other]))
        keys = table.select(list(self.columns)).rename_columns(list(self.key.names))
        both = [self.key.to_elements(take_rows(keys, side[pairs])) for side in (one, other)]
        wrong = [index for index, a, b in zip(pairs, *both, strict=True) if not _can_compare(a, b)]
        return np.unique(owners[one[wrong]])

    def _by_column(self, table: pa.Table) -> list[tuple[Comparison, pa.Array]]:
        """Return the columns of the order, and how each compares."""
        return [(each, one_chunk(table[name])) for each, name in zip(self.comparisons, self.columns, strict=True)]

    def _ties(self, rows: pa.Table) -> Indices:
        """Return a number for each row that is equal for equal rows only. Its order depends on nothing but the rows."""
        if self.by_text:
            return rank_values(texts(self.layout, rows)).astype(np.int64)
        return group_equal_rows(rows).numbers()


def _codes(groups: Indices, keys: Numbers) -> tuple[Numbers, bool]:
    """Return one number for group and key, which sorts much faster; and whether it distinguishes all keys."""
    above = keys - keys.min()
    used = int(np.bitwise_or.reduce(above))
    zeros = max(0, (used & -used).bit_length() - 1)  # at the end of all of them, as whole floats have
    bits, key_bits = int(groups.max()).bit_length(), used.bit_length() - zeros
    cut = max(0, bits + key_bits - 64)
    shifted = above >> np.uint64(zeros + cut)
    if key_bits - cut == 64:
        return shifted, True
    return (groups.astype(np.uint64) << np.uint64(key_bits - cut)) | shifted, cut == 0


def _break_ties(order: Indices, new: Mask, by: Callable[[Indices], list[npt.NDArray[Any]]]) -> None:
    """Sort rows that are equal so far by more keys, in place, and mark those that are distinct."""
    tied = np.flatnonzero(~new | np.append(~new[1:], False))
    if not len(tied):
        return
    tied_groups = np.cumsum(new)[tied]
    more = by(order[tied])
    within = _within(tied_groups, more)
    order[tied] = order[tied][within]
    changes = [key[within][1:] != key[within][:-1] for key in more]
    new[tied[1:]] = np.logical_or.reduce([tied_groups[1:] != tied_groups[:-1], *changes])


def _within(groups: npt.NDArray[Any], keys: list[npt.NDArray[Any]]) -> Indices:
    """Return the indices that sort rows by group and keys. One key is packed with the group, which sorts faster."""
    if len(keys) == 1 and keys[0].dtype == np.uint64:
        codes, exact = _codes(groups, keys[0])
        if exact:
            return np.argsort(codes, kind="stable")
    return np.lexsort((*keys[::-1], groups))


def _can_compare(one: Any, other: Any) -> bool:
    try:
        comparable(one) < comparable(other)  # noqa: B015
    except TypeError:
        return False
    return True


def have_equal_texts(layout: Layout) -> bool:
    """Return whether equal elements have equal texts. Equal decimals may have different texts."""
    return not any(_holds_decimal(cell.kind) for cell in layout.cells)


def _holds_decimal(kind: Any) -> bool:
    """Return whether values of a type have decimals, at any depth."""
    kind = getattr(kind, "__supertype__", kind)  # of a `NewType`
    inner = (fields_of(kind) or {}).values() if isinstance(get_origin(kind) or kind, type) else ()
    return kind is Decimal or any(map(_holds_decimal, (*get_args(kind), *inner)))


def texts(layout: Layout, table: pa.Table) -> pa.Array:
    """Return the texts of `canonical(element)`, without their common prefix."""
    parts = [_text(cell, one_chunk(table[name])) for name, cell in zip(layout.names, layout.cells, strict=True)]
    if layout.form == "value":
        return parts[0]
    return _concat(_concat(*parts, between=", "), ",)" if len(parts) == 1 else ")")


def _concat(*parts: pa.Array | str, between: str = "") -> pa.Array:
    """Concatenate texts row by row. A text alone is the same for all rows."""
    texts = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, between)]
    return pc.binary_join_element_wise(*texts)


def _text(cell: Cell, array: pa.Array) -> pa.Array:
    """Return the texts of the values of a column."""
    text = pa.large_string()
    if cell.kind is int or cell.wide:
        return pc.fill_null(array.cast(text), "None")
    if cell.kind is str and pc.all(pc.match_substring_regex(array, _SIMPLE), min_count=0).as_py():
        return pc.fill_null(_concat("'", array.cast(text), "'"), "None")
    return pa.array([canonical_text(canonical_element(value)) for value in cell.to_values(array)], text)

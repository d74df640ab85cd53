"""Ordering rows by columns, as Python values are ordered: total, with null the least, nan the greatest, and ties
broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, get_args, get_origin

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell, fields_of
from flo.columns.indices import Numbers, Places, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.core.data import canonical_text
from flo.tables.state.python_order import Comparison, comparisons, has_numbers, own_numbers, ranks
from flo.tables.state.trace import alike
from flo.values.canonical import canonical_element
from flo.values.operators.zset_ranking import comparable

_SIMPLE = r"^[ -&(-\[\]-~]*$"
"""Strings whose repr is the string itself in quotes."""


@dataclass(frozen=True)
class Order:
    """An order by columns. Ties are broken by the text of the row, or in another deterministic way."""

    columns: tuple[str, ...]
    descending: bool | tuple[bool, ...]
    """For all columns, or for each."""
    layout: Layout
    """The layout of the whole row."""
    by_text: bool
    key: Layout | None = None
    """The layout of the order columns, if Python may not be able to compare their values."""
    decisive: bool = False
    """Whether rows of a group with equal order columns are equal."""

    @property
    def directions(self) -> tuple[bool, ...]:
        """For each column, whether it is descending."""
        return (self.descending,) * len(self.columns) if isinstance(self.descending, bool) else self.descending

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """How the values of each column compare."""
        return (self.key and comparisons(self.key)) or (Comparison(own_numbers),) * len(self.columns)

    def sorted(self, table: pa.Table, groups: Places, in_parts: bool = False) -> tuple[Places, Places]:
        """Sorts row indices by group and order; also returns where each distinct row starts.

        Groups are numbered from 0. `in_parts` says that the table consists of parts that are sorted already.
        """
        if not table.num_rows:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        columns = self._by_column(table)
        first = self._numbers(columns[:1])[0]
        codes, exact = _codes(groups, first)
        order = np.argsort(codes, kind="stable" if in_parts else None)
        codes = codes[order]
        new = np.concatenate([[True], codes[1:] != codes[:-1]])
        if not exact or len(columns) > 1:  # the other columns only matter where there are ties
            _break_ties(order, new, lambda rows: self._numbers(columns, rows, first))
        if not self.decisive:
            _break_ties(order, new, lambda rows: [self._ties(take_rows(table.select(list(self.layout.names)), rows))])
        return order, np.flatnonzero(new)

    def _numbers(
        self, columns: list[tuple[Comparison, pa.Array]], rows: Places | None = None, first: Numbers | None = None
    ) -> list[Numbers]:
        """Numbers in the order of the values of each column, in some rows or in all. The first may be known."""
        found = []
        for place, ((of, array), down) in enumerate(zip(columns, self.directions, strict=False)):
            if place == 0 and first is not None:
                found.append(first[rows])
                continue
            numbers = of.numbers(array if rows is None else array.take(pa.array(rows)))
            found.append(~numbers if down else numbers)
        return found

    def before(self, one: pa.Array, other: pa.Array) -> npt.NDArray[np.bool_]:
        """Whether values of the first column come before others, elementwise."""
        if self.directions[0]:
            one, other = other, one
        of = self.comparisons[0]
        if has_numbers(one.type) and not one.null_count + other.null_count:
            return of.numbers(one) < of.numbers(other)
        numbers = of.numbers(pa.concat_arrays([one, other]))
        return numbers[: len(one)] < numbers[len(one) :]

    def not_compared(self, table: pa.Table, owners: Places, rows: Places) -> Places:
        """The groups of sorted rows with keys that Python cannot compare."""
        assert self.key is not None
        doubtful = np.logical_or.reduce([each.doubtful(array) for each, array in self._by_column(table)])
        if not doubtful.any():
            return np.zeros(0, np.int64)
        one, other = rows[:-1], rows[1:]
        pairs = np.flatnonzero((owners[one] == owners[other]) & (doubtful[one] | doubtful[other]))
        keys = table.select(list(self.columns)).rename_columns(list(self.key.names))
        both = [self.key.to_elements(take_rows(keys, side[pairs])) for side in (one, other)]
        found = [place for place, a, b in zip(pairs, *both, strict=True) if not _can_compare(a, b)]
        return np.unique(owners[one[found]])

    def _by_column(self, table: pa.Table) -> list[tuple[Comparison, pa.Array]]:
        return [(each, one_chunk(table[name])) for each, name in zip(self.comparisons, self.columns, strict=True)]

    def _ties(self, rows: pa.Table) -> Places:
        """A number for each row that is equal for equal rows only. Its order depends on nothing but the rows."""
        if self.by_text:
            return ranks(texts(self.layout, rows)).astype(np.int64)
        order, firsts = alike(rows)
        begins = np.zeros(len(order), np.int64)
        begins[firsts] = 1
        found = np.empty(len(order), np.int64)
        found[order] = np.cumsum(begins)
        return found


def _codes(groups: Places, keys: Numbers) -> tuple[Numbers, bool]:
    """One number for group and key, which sorts much faster; and whether it distinguishes all keys."""
    low = keys.min()
    bits, key_bits = int(groups.max()).bit_length(), int(keys.max() - low).bit_length()
    cut = max(0, bits + key_bits - 64)
    shifted = np.zeros(len(keys), np.uint64) if cut == 64 else (keys - low) >> np.uint64(cut)
    if key_bits - cut == 64:
        return shifted, True
    return (groups.astype(np.uint64) << np.uint64(key_bits - cut)) | shifted, cut == 0


def _break_ties(order: Places, new: npt.NDArray[np.bool_], by: Callable[[Places], list[npt.NDArray[Any]]]) -> None:
    """Breaks ties by more keys, and updates which rows are distinct."""
    tied = np.flatnonzero(~new | np.append(~new[1:], False))
    if not len(tied):
        return
    tied_groups = np.cumsum(new)[tied]
    more = by(order[tied])
    within = np.lexsort((*more[::-1], tied_groups))
    order[tied] = order[tied][within]
    changes = [key[within][1:] != key[within][:-1] for key in more]
    new[tied[1:]] = np.logical_or.reduce([tied_groups[1:] != tied_groups[:-1], *changes])


def _can_compare(one: Any, other: Any) -> bool:
    try:
        comparable(one) < comparable(other)  # noqa: B015
    except TypeError:
        return False
    return True


def shown_alike(layout: Layout) -> bool:
    """Whether equal elements have equal texts. Equal decimals may have different texts."""
    return not any(_holds_decimal(cell.kind) for cell in layout.cells)


def _holds_decimal(kind: Any) -> bool:
    kind = getattr(kind, "__supertype__", kind)  # of a `NewType`
    inner = (fields_of(kind) or {}).values() if isinstance(get_origin(kind) or kind, type) else ()
    return kind is Decimal or any(map(_holds_decimal, (*get_args(kind), *inner)))


def texts(layout: Layout, table: pa.Table) -> pa.Array:
    """The texts of `canonical(element)`, without their common prefix."""
    parts = [_text(cell, one_chunk(table[name])) for name, cell in zip(layout.names, layout.cells, strict=True)]
    if layout.form == "value":
        return parts[0]
    return _concat(_concat(*parts, between=", "), ",)" if len(parts) == 1 else ")")


def _concat(*parts: pa.Array | str, between: str = "") -> pa.Array:
    texts = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, between)]
    return pc.binary_join_element_wise(*texts)


def _text(cell: Cell, array: pa.Array) -> pa.Array:
    text = pa.large_string()
    if cell.kind is int or cell.wide:
        return pc.fill_null(array.cast(text), "None")
    if cell.kind is str and pc.all(pc.match_substring_regex(array, _SIMPLE), min_count=0).as_py():
        return pc.fill_null(_concat("'", array.cast(text), "'"), "None")
    return pa.array([canonical_text(canonical_element(value)) for value in cell.to_values(array)], text)

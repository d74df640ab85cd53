"""Ordering columns and rows as Python orders their values: total, with None the least and nan the
greatest, and with ties broken."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell, fields_of
from flo.columns.expression import calling
from flo.columns.indices import Indices, Numbers, bisect_ranges, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.core.data import canonical_text, class_name
from flo.core.term import Call, Lowering, Term
from flo.tables.state.keys import find_equal
from flo.tables.state.merging import last_of, places_in
from flo.tables.state.trace import group_equal_rows
from flo.values.canonical import canonical_element
from flo.values.operators.zset_ranking import comparable, is_plain_tuple


@calling
def code_of(key: Any) -> bytes:
    """Bytes that are equal if and only if Python says that the keys are equal."""
    return repr(term_of(key)).encode("utf-8", "surrogatepass")


def term_of(key: Any) -> Term:
    """A key as a term. 1, 1.0, True and Decimal("1.00") are equal, and so are tuples and named tuples of them."""
    match key:
        case None:
            return None
        case str():
            return str.__str__(key)
        case int():
            return int(key)
        case float() | Decimal() | Fraction():
            return _number(key)
        case complex():
            return _number(key.real) if not key.imag else Call("complex", (_number(key.real), _number(key.imag)))
        case tuple():
            return tuple(map(term_of, key))
        case frozenset():
            return Call("frozenset", tuple(sorted(map(term_of, key), key=repr)))
        case datetime():
            moment = key.replace(fold=0) if key.tzinfo is None else key.astimezone(UTC)
            return Call("datetime", (moment.isoformat(),))
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        compared = [field.name for field in dataclasses.fields(key) if field.compare]
        return Call("data", (class_name(type(key)), *(term_of(getattr(key, name)) for name in compared)))
    return Lowering()(key)


def _number(key: Any) -> Term:
    if key != key or key in (float("inf"), float("-inf")):
        return Call(repr(float(key)))
    above, below = key.as_integer_ratio()
    return above if below == 1 else Call("Fraction", (above, below))


_SIGN = np.uint64(1 << 63)
_PLAIN = (int, bool, str, bytes, date, datetime, time, timedelta, Decimal)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How the values of a type compare."""

    of_values: Callable[[pa.Array], Numbers]
    """Numbers in the order of values without nulls; equal for equal values only."""
    inside: Callable[[pa.Array], npt.NDArray[np.bool_]] | None = None
    """Which values other than nulls Python may not be able to compare; None if it can compare all."""
    raw: bool = False
    """Whether Python compares the values itself, as those in a row or a list. It cannot compare nulls."""

    def numbers(self, array: pa.Array) -> Numbers:
        """Numbers in the order of values with nulls, which come first."""
        if not array.null_count:
            return self.of_values(array)
        there = rank_densely([self.of_values(array.drop_null())])
        numbers = np.zeros(len(array), np.uint64)
        numbers[np.asarray(array.is_valid())] = there + np.uint64(1)
        return numbers

    def doubtful(self, array: pa.Array) -> npt.NDArray[np.bool_]:
        """Which values Python may not be able to compare with others."""
        nulls: npt.NDArray[np.bool_] = np.asarray(array.is_null())
        doubtful = nulls.copy() if self.raw else np.zeros(len(array), bool)
        if self.inside is not None:
            doubtful[~nulls] = self.inside(array.drop_null())
        return doubtful


def comparisons(layout: Layout | None) -> tuple[Comparison, ...] | None:
    """How the columns of keys compare; None if Python orders such keys in another way."""
    if layout is None:
        return None
    parts = (comparison(layout.element),) if layout.form == "value" else _parts(layout.element, raw=False)
    return None if None in parts else parts  # type: ignore[return-value]


@lru_cache(maxsize=1024)
def comparison(kind: Any, raw: bool = False) -> Comparison | None:
    """How values of a type compare; None if unknown. `raw` says that Python compares them itself: nulls are not ordered
    first, and nan not last."""
    compares = _comparison(kind, raw)
    return compares and dataclasses.replace(compares, raw=raw)


def _comparison(kind: Any, raw: bool) -> Comparison | None:
    if isinstance(kind, NewType):
        return comparison(kind.__supertype__, raw)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return comparison(parts[0], raw)
    if origin in (Union, types.UnionType):
        rest = [part for part in parts if part is not type(None)]
        return comparison(rest[0], raw) if len(rest) == 1 else None
    if origin is Literal:
        kinds: list[Any] = list({type(part) for part in parts})
        return comparison(kinds[0], raw) if len(kinds) == 1 else None
    if kind in _PLAIN or kind in (None, type(None)) or (kind is float and not raw):
        return Comparison(own_numbers)
    if kind is UUID:
        return Comparison(lambda array: own_numbers(array.cast(pa.binary())))
    if origin is list or (origin is tuple and parts[-1] is ...):
        inner = comparison(parts[0], raw or origin is list)
        return inner and Comparison(
            lambda array: rank_lists(inner.numbers, array), lambda array: _in_lists(inner, array)
        )
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind)
    return _struct(_parts(kind, raw))


def _parts(kind: Any, raw: bool) -> tuple[Comparison | None, ...]:
    """How the parts of tuples and rows compare."""
    if get_origin(kind) is tuple:
        return tuple(comparison(part, raw) for part in get_args(kind))
    fields = tuple((fields_of(kind) or {}).values())
    if fields and issubclass(kind, tuple):
        return tuple(comparison(part, raw) for part in fields) if is_plain_tuple(kind) else (None,)
    row_class, parts = kind, tuple(comparison(part, True) for part in fields)
    if not parts or not dataclasses.is_dataclass(kind) or None in parts:
        return (None,)
    parameters = row_class.__dataclass_params__
    if not parameters.eq or not all(field.compare for field in dataclasses.fields(kind)):
        return (None,)
    if parameters.order:
        return parts
    return tuple(map(_unordered, parts)) if _has_no_order(kind) else (None,)  # type: ignore[arg-type]


def _has_no_order(kind: Any) -> bool:
    none = vars(object)
    return (kind.__lt__, kind.__gt__) == (none["__lt__"], none["__gt__"])


def _unordered(equal: Comparison) -> Comparison:
    """A comparison of values that Python can test for equality but not order."""
    return Comparison(equal.of_values, lambda array: np.ones(len(array), bool))


def _enum(kind: type[Enum]) -> Comparison | None:
    members: list[Any] = list(kind)
    ordered = not _has_no_order(kind)
    if ordered:
        members = _sort_members(members)
    if not members:
        return None
    index = {member: index for index, member in enumerate(members)}
    names = pa.array(kind.__members__)
    ranks = np.array([index[member] for member in kind.__members__.values()], np.uint64)
    by_rank = Comparison(lambda array: ranks[np.asarray(pc.index_in(array, names))])
    return by_rank if ordered else _unordered(by_rank)


def _sort_members(members: list[Any]) -> list[Any]:
    """The members in order; empty if their order is not total."""
    try:
        members = sorted(members)
        total = all(a < b and not b < a for index, a in enumerate(members) for b in members[index + 1 :])
    except TypeError:
        return []
    return members if total else []


def _struct(parts: tuple[Comparison | None, ...]) -> Comparison | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def numbers(array: pa.Array) -> Numbers:
        return rank_densely([part.numbers(column) for part, column in zip(known, array.flatten(), strict=True)])

    def inside(array: pa.Array) -> npt.NDArray[np.bool_]:
        each = [part.doubtful(column) for part, column in zip(known, array.flatten(), strict=True)]
        return np.logical_or.reduce(each)  # type: ignore[no-any-return]

    return Comparison(numbers, inside)


def rank_lists(numbers: Callable[[pa.Array], Numbers], array: pa.Array) -> Numbers:
    """Ranks of lists, compared item by item by the numbers of items. A prefix comes first."""
    lengths = np.asarray(pc.list_value_length(array)).astype(np.int64)
    items = rank_densely([numbers(array.flatten())]) + np.uint64(1)
    begins = np.cumsum(lengths) - lengths
    ranks = np.zeros(len(array), np.uint64)
    for index in range(int(lengths.max(initial=0))):
        there = lengths > index
        each = np.zeros(len(array), np.uint64)
        each[there] = items[begins[there] + index]
        ranks = rank_densely([ranks, each])
    return ranks


def _in_lists(inner: Comparison, array: pa.Array) -> npt.NDArray[np.bool_]:
    lengths = np.asarray(pc.list_value_length(array)).astype(np.int64)
    running = np.concatenate([[0], np.cumsum(inner.doubtful(array.flatten()))])
    ends = np.cumsum(lengths)
    return running[ends] > running[ends - lengths]  # type: ignore[no-any-return]


def rank_densely(columns: list[Numbers]) -> Numbers:
    """Dense ranks of rows of numbers, from 0."""
    order = np.lexsort(columns[::-1])
    new = [np.concatenate([[False], column[order][1:] != column[order][:-1]])[: len(order)] for column in columns]
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.cumsum(np.logical_or.reduce(new))
    return ranks


def own_numbers(array: pa.Array) -> Numbers:
    """Numbers in the order of the values: the value itself if it has 64 bits, otherwise its rank in the array."""
    kind = array.type
    if pa.types.is_floating(kind):
        values = np.asarray(array.cast(pa.float64())) + 0.0  # -0.0 becomes 0.0
        bits = values.view(np.uint64)
        ordered = np.where(bits & _SIGN, ~bits, bits | _SIGN)
        return np.where(np.isnan(values), ~np.uint64(0), ordered)
    if pa.types.is_boolean(kind) or pa.types.is_unsigned_integer(kind):
        return np.asarray(array).astype(np.uint64)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == 32 and not pa.types.is_integer(kind) else pa.int64()
        return np.asarray(array.cast(narrow)).astype(np.int64).view(np.uint64) ^ _SIGN
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.uint64)
    if pa.types.is_decimal128(kind) and len(array):
        words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
        low, high = words[::2], words[1::2]
        if np.array_equal(high, low >> 63):  # all fit 64 bits
            return np.ascontiguousarray(low).view(np.uint64) ^ _SIGN
    return ranks(array)


def has_numbers(kind: pa.DataType) -> bool:
    """Whether `own_numbers` depends on the value alone, not on the rest of the array."""
    return pa.types.is_primitive(kind) and not pa.types.is_decimal(kind)


MANY = 1000
"""From this many on, equal values are found before they are sorted."""


def ranks(array: pa.Array) -> Numbers:
    """Dense ranks of the values."""
    if (
        len(array) > MANY
        and (pa.types.is_string(array.type) or pa.types.is_binary(array.type))
        and not array.null_count
    ):
        coded = array.dictionary_encode()  # which does not sort
        if 2 * len(coded.dictionary) < len(array):
            return ranks(coded.dictionary).take(np.asarray(coded.indices))
    return np.asarray(pc.rank(array, sort_keys="ascending", tiebreaker="dense")).astype(np.uint64)


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
    group_columns: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    """The columns of a group, if groups may share a key number: then equal rows have them equal too."""

    @property
    def directions(self) -> tuple[bool, ...]:
        """For each column, whether it is descending."""
        return (self.descending,) * len(self.columns) if isinstance(self.descending, bool) else self.descending

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """How the values of each column compare."""
        return (self.key and comparisons(self.key)) or (Comparison(own_numbers),) * len(self.columns)

    def sort(self, table: pa.Table, groups: Indices, in_parts: bool = False) -> tuple[Indices, Indices]:
        """Sorts row indices by group and order; also returns where each distinct row starts.

        Groups are numbered from 0. `in_parts` says that the table consists of parts that are sorted already.
        """
        if not table.num_rows:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
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
        return order, np.flatnonzero(new)

    def _tell_apart(self, table: pa.Table, order: Indices, new: npt.NDArray[np.bool_]) -> None:
        """Mark rows as distinct that are equal, but belong to different groups."""
        tied = np.flatnonzero(~new)
        if not self.group_columns or not len(tied):
            return
        groups = table.select(list(self.group_columns))
        if not find_equal(*(take_rows(groups, order[rows]).columns for rows in (tied - 1, tied))).all():
            _break_ties(order, new, lambda rows: [_number_rows(take_rows(groups, rows))])

    def numbers_of(self, place: int, array: pa.Array) -> Numbers:
        """Numbers in the order of the values of a column."""
        numbers = self.comparisons[place].numbers(array)
        return ~numbers if self.directions[place] else numbers

    def _numbers_at(self, place: int, array: pa.Array, rows: Indices) -> list[npt.NDArray[Any]]:
        return [self.numbers_of(place, array.take(pa.array(rows)))]

    def before(self, one: pa.Array, other: pa.Array, place: int = 0) -> npt.NDArray[np.bool_]:
        """Whether values of a column come before others, elementwise."""
        if self.directions[place]:
            one, other = other, one
        of = self.comparisons[place]
        if has_numbers(one.type) and not one.null_count + other.null_count:
            return of.numbers(one) < of.numbers(other)
        numbers = of.numbers(pa.concat_arrays([one, other]))
        return numbers[: len(one)] < numbers[len(one) :]

    def numbers_in_place(self, array: pa.Array) -> npt.NDArray[Any] | None:
        """Values of the first column as numbers that compare as they do, without a copy; None if there are none."""
        kind = array.type
        if self.comparisons[0].of_values is not own_numbers or array.null_count:
            return None
        if pa.types.is_temporal(kind):
            return np.asarray(array.view(pa.int32() if kind.bit_width == 32 else pa.int64()))
        return np.asarray(array) if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None

    def cut(self, tables: list[pa.Table], fuel: int) -> list[int]:
        """Cuts sorted tables: the first rows of each, about so many in all, that are not after the others."""
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

    def find_changes(self, table: pa.Table, count: int) -> npt.NDArray[np.bool_]:
        """Which rows differ from the row before in the first `count` columns; the first row does."""
        new = np.ones(table.num_rows, bool)
        new[1:] = False
        for of, array in self._by_column(table)[:count]:
            numbers = of.numbers(array)
            new[1:] |= numbers[1:] != numbers[:-1]
        return new

    def find_incomparable(self, table: pa.Table, owners: Indices, rows: Indices) -> Indices:
        """The groups of sorted rows with keys that Python cannot compare."""
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
        return [(each, one_chunk(table[name])) for each, name in zip(self.comparisons, self.columns, strict=True)]

    def _ties(self, rows: pa.Table) -> Indices:
        """A number for each row that is equal for equal rows only. Its order depends on nothing but the rows."""
        if self.by_text:
            return ranks(texts(self.layout, rows)).astype(np.int64)
        return _number_rows(rows)


def _number_rows(rows: pa.Table) -> Indices:
    """A number for each row that is equal for equal rows only."""
    order, firsts = group_equal_rows(rows)
    begins = np.zeros(len(order), np.int64)
    begins[firsts] = 1
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(begins)
    return numbers


def _codes(groups: Indices, keys: Numbers) -> tuple[Numbers, bool]:
    """One number for group and key, which sorts much faster; and whether it distinguishes all keys."""
    low = keys.min()
    bits, key_bits = int(groups.max()).bit_length(), int(keys.max() - low).bit_length()
    cut = max(0, bits + key_bits - 64)
    shifted = np.zeros(len(keys), np.uint64) if cut == 64 else (keys - low) >> np.uint64(cut)
    if key_bits - cut == 64:
        return shifted, True
    return (groups.astype(np.uint64) << np.uint64(key_bits - cut)) | shifted, cut == 0


def _break_ties(order: Indices, new: npt.NDArray[np.bool_], by: Callable[[Indices], list[npt.NDArray[Any]]]) -> None:
    """Breaks ties by more keys, and updates which rows are distinct."""
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
    """The order of rows by group and keys. One key is packed with the group, which sorts faster."""
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

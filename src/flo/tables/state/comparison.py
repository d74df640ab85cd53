"""How Python compares values, on columns: which are equal, and which comes first.

A `Comparison` turns the values of a column into numbers that are ordered as Python orders the values:

    float    number          (int, str)    number: its rank in the column
    None     0               (2, "b")      1
    -1.5     1               (2, "c")      2
    0.0      2               (1, "z")      0
    nan      3

Invariant: within one call, numbers are equal if and only if the values are, and ascend as the values do. None is the
least value, and nan is the greatest number. Numbers of different calls compare only where `has_numbers` says so.

Python cannot compare all values: (1, None) < (1, 2) raises. Such values are *doubtful*, and have numbers nevertheless;
an operator that meets them asks Python. `raw` says that Python compares a value itself, as those in a row or a list,
where None has no order and nan is not the greatest.

Equality is simpler: `code_of` gives bytes that are equal if and only if Python says that two keys are.

`order_numbers` has the total order of `flo.values.canonical` on columns: of all values, whether Python can compare them
or not.

    column   number        column            number: its rank in the column
    null     0             {a: 1, b: null}   0
    2.0      1             {a: 1, b: 7}      1
    nan      2             {a: 2, b: null}   2

Invariant: within one call, numbers are equal if and only if the values are, and ascend as the values do. Null is the
least value at any depth, and nan is the greatest number. Rows and lists compare part by part.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import fields_of
from flo.columns.expression import calling
from flo.columns.indices import Mask, Numbers, has_any, one_chunk
from flo.columns.layout import Layout
from flo.core.data import class_name
from flo.core.term import Call, Lowering, Term
from flo.values.operators.zset_ranking import is_plain_tuple


@calling
def code_of(key: Any) -> bytes:
    """Return bytes that are equal if and only if Python says that the keys are equal."""
    return repr(term_of(key)).encode("utf-8", "surrogatepass")


def term_of(key: Any) -> Term:
    """Return a key as a term. 1, 1.0, True and Decimal("1.00") have one term, and so have tuples of them."""
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
    """Return a number as an integer or a fraction."""
    if key != key or key in (float("inf"), float("-inf")):
        return Call(repr(float(key)))
    above, below = key.as_integer_ratio()
    return above if below == 1 else Call("Fraction", (above, below))


_SIGN = np.uint64(1 << 63)
_LEAST = np.int64(-1 << 63)
_PLAIN = (int, bool, str, bytes, date, datetime, time, timedelta, Decimal)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How the values of a type compare."""

    of_values: Callable[[pa.Array], Numbers]
    """Gives numbers in the order of values without nulls; equal for equal values only."""
    inside: Callable[[pa.Array], Mask] | None = None
    """Says which values other than nulls Python may not be able to compare; None if it can compare all."""
    raw: bool = False
    """Whether Python compares the values itself, as those in a row or a list. It cannot compare nulls."""

    def numbers(self, array: pa.Array) -> Numbers:
        """Return numbers in the order of values with nulls, which come first."""
        return number_nulls_first(self.of_values, array)

    def doubtful(self, array: pa.Array) -> Mask:
        """Return which values Python may not be able to compare with others."""
        nulls: Mask = np.asarray(array.is_null())
        doubtful = nulls.copy() if self.raw else np.zeros(len(array), bool)
        if self.inside is not None:
            doubtful[~nulls] = self.inside(array.drop_null())
        return doubtful


def comparisons(layout: Layout | None) -> tuple[Comparison, ...] | None:
    """Return how the columns of keys compare; None if Python orders such keys in another way."""
    if layout is None:
        return None
    parts = (comparison(layout.element),) if layout.form == "value" else _parts(layout.element, raw=False)
    return None if None in parts else parts  # type: ignore[return-value]


@lru_cache(maxsize=1024)
def comparison(kind: Any, raw: bool = False) -> Comparison | None:
    """Return how values of a type compare; None if unknown. `raw` says that Python compares them itself."""
    compares = _comparison(kind, raw)
    return compares and dataclasses.replace(compares, raw=raw)


def _comparison(kind: Any, raw: bool) -> Comparison | None:
    """Return how values of a type compare, but for whether they are raw."""
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
            lambda array: rank_lists(inner.numbers, array), lambda array: _find_doubtful_lists(inner, array)
        )
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind)
    return _struct(_parts(kind, raw))


def _parts(kind: Any, raw: bool) -> tuple[Comparison | None, ...]:
    """Return how the parts of tuples and rows compare; None for one that is unknown."""
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
    """Return whether `<` and `>` are not defined for a class."""
    none = vars(object)
    return (kind.__lt__, kind.__gt__) == (none["__lt__"], none["__gt__"])


def _unordered(equal: Comparison) -> Comparison:
    """Return the comparison of values that Python can test for equality but not order."""
    return Comparison(equal.of_values, lambda array: np.ones(len(array), bool))


def _enum(kind: type[Enum]) -> Comparison | None:
    """Return how the members of an enum compare; None if their order is not total."""
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
    """Return the members in order; none if their order is not total."""
    try:
        members = sorted(members)
        total = all(a < b and not b < a for index, a in enumerate(members) for b in members[index + 1 :])
    except TypeError:
        return []
    return members if total else []


def _struct(parts: tuple[Comparison | None, ...]) -> Comparison | None:
    """Return how rows compare, part by part; None if a part is unknown."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def numbers(array: pa.Array) -> Numbers:
        return rank_densely([part.numbers(column) for part, column in zip(known, array.flatten(), strict=True)])

    def inside(array: pa.Array) -> Mask:
        each = [part.doubtful(column) for part, column in zip(known, array.flatten(), strict=True)]
        return np.logical_or.reduce(each)  # type: ignore[no-any-return]

    return Comparison(numbers, inside)


def number_nulls_first(of_values: Callable[[pa.Array], Numbers], array: pa.Array) -> Numbers:
    """Return numbers in the order of values with nulls, which come first, given how to number values without nulls."""
    if not array.null_count:
        return of_values(array)
    numbers = np.zeros(len(array), np.uint64)
    numbers[np.asarray(array.is_valid())] = rank_densely([of_values(array.drop_null())]) + np.uint64(1)
    return numbers


def rank_lists(numbers: Callable[[pa.Array], Numbers], array: pa.Array) -> Numbers:
    """Return the ranks of lists, compared item by item by the numbers of items. A prefix comes first."""
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


def _find_doubtful_lists(inner: Comparison, array: pa.Array) -> Mask:
    """Return which lists have a doubtful item."""
    lengths = np.asarray(pc.list_value_length(array)).astype(np.int64)
    running = np.concatenate([[0], np.cumsum(inner.doubtful(array.flatten()))])
    ends = np.cumsum(lengths)
    return running[ends] > running[ends - lengths]  # type: ignore[no-any-return]


def rank_densely(columns: list[Numbers]) -> Numbers:
    """Return the dense ranks of rows of numbers, from 0."""
    order = np.lexsort(columns[::-1])
    new = [np.concatenate([[False], column[order][1:] != column[order][:-1]])[: len(order)] for column in columns]
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.cumsum(np.logical_or.reduce(new))
    return ranks


def own_numbers(array: pa.Array) -> Numbers:
    """Return numbers in the order of the values: the value itself if it fits 64 bits, otherwise its rank."""
    kind = array.type
    if pa.types.is_floating(kind):
        values = np.asarray(array.cast(pa.float64())) + 0.0  # -0.0 becomes 0.0
        bits = values.view(np.int64)
        ordered = (bits ^ (bits >> 63 | _LEAST)).view(np.uint64)  # of a negative number all bits, of others the sign
        nans = np.isnan(values)
        return np.where(nans, ~np.uint64(0), ordered) if has_any(nans) else ordered
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
    return rank_values(array)


def has_numbers(kind: pa.DataType) -> bool:
    """Return whether `own_numbers` of this type depends on the value alone, not on the rest of the array."""
    return pa.types.is_primitive(kind) and not pa.types.is_decimal(kind)


MANY = 1000
"""With more values than this, equal ones are grouped before they are sorted."""


def rank_values(array: pa.Array) -> Numbers:
    """Return the dense ranks of the values."""
    if (
        len(array) > MANY
        and (pa.types.is_string(array.type) or pa.types.is_binary(array.type))
        and not array.null_count
    ):
        coded = array.dictionary_encode()  # which does not sort
        if 2 * len(coded.dictionary) < len(array):
            return rank_values(coded.dictionary).take(np.asarray(coded.indices))
    return np.asarray(pc.rank(array, sort_keys="ascending", tiebreaker="dense")).astype(np.uint64)


def order_numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """Return numbers in the order of the values of a column; equal for equal values only."""
    return number_nulls_first(_number_values, one_chunk(column))


def _number_values(array: pa.Array) -> Numbers:
    """Return numbers in the order of values without nulls."""
    kind = array.type
    if pa.types.is_struct(kind):
        return rank_densely([order_numbers(part) for part in array.flatten()])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return rank_lists(order_numbers, array)
    if pa.types.is_fixed_size_binary(kind):
        array = array.cast(pa.binary())
    if pa.types.is_decimal256(kind):
        values = array.to_pylist()
        places = {value: place for place, value in enumerate(sorted(set(values)))}
        return np.array([places[value] for value in values], np.uint64)
    return own_numbers(array)


def row_numbers(table: pa.Table, names: tuple[str, ...]) -> Numbers:
    """Return numbers in the order of rows, compared column by column."""
    columns = [order_numbers(table[name]) for name in names]
    return columns[0] if len(columns) == 1 else rank_densely(columns)

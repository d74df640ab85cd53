"""Key numbers: keys of any type as 64-bit numbers, by which traces are sorted and searched.

    column id      number      columns user, day       number
    1              5692…       ann, 2024-01-01         0372…
    2              dbd2…       ann, 2024-01-02         7a9f…
    1              5692…       null, 2024-01-01        0eff…

    one column of fixed width, without nulls:          several columns, texts or nulls:
    exact, other keys have other numbers               other keys may have the same number, rarely

Invariant: equal keys have equal numbers. The number of a key depends on the key alone, not on the process, the machine
or the order of rows, since it is stored and decides to which shard a row belongs. If keys are not `exact`, code that
compares numbers must compare the columns too.

Each column gives a number for each value (`numbers_of`), and the numbers of several columns are mixed into one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, Mask, Numbers, has_all, one_chunk, to_arrow
from flo.core.term import Lowering

_ODD = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0x6A09E667F3BCC909)
_LENGTH = np.uint64(0xD1B54A32D192ED03)
_SHIFTS = [np.array([bits], np.uint64) for bits in (30, 27, 31)]
_FACTORS = [np.array([factor], np.uint64) for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)]
"""Of splitmix64. NumPy is faster with arrays than with scalars."""
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)
"""Masks for words of which only the first n bytes count."""
_INT64 = pa.int64().id
LONG = 512
"""A text of more bytes is hashed by itself."""
SAMPLE = 64
"""One of so many keys is counted, to estimate how many there are."""
BLOCK = 1 << 14
"""How many numbers are mixed at a time."""


@dataclass(frozen=True)
class Keys:
    """The key numbers of rows. `exact` says that different keys have different numbers."""

    numbers: Numbers
    exact: bool

    def at(self, indices: Indices) -> Numbers:
        return self.numbers.take(indices)

    def between(self, start: int, end: int, exact: bool) -> Keys:
        """Return the keys from `start` up to `end`, without a copy."""
        return Keys(self.numbers[start:end], exact)

    @property
    def bytes(self) -> int:
        """The memory of the numbers, in bytes."""
        return int(self.numbers.nbytes)


def keys_of(columns: list[pa.ChunkedArray]) -> Keys:
    """Return the key numbers of the rows of these columns."""
    if not columns:
        raise ValueError("a key needs at least one column")
    every = [numbers_of(one_chunk(column)) for column in columns]
    numbers = _in_blocks(_mix_columns, [each.numbers for each in every])
    return Keys(numbers, every[0].exact and len(every) == 1)


def extend_keys(keys: Keys, columns: list[pa.ChunkedArray]) -> Keys:
    """Return the key numbers of the columns of these keys and more columns, as `keys_of` does for all of them."""
    more = [numbers_of(one_chunk(column)).numbers for column in columns]
    return Keys(_in_blocks(_mix_more, [keys.numbers, *more]), keys.exact and not columns)


def has_fixed_width(kind: pa.DataType) -> bool:
    """Return whether values of this type are quickly turned into numbers."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def estimate_distinct(numbers: Numbers) -> int:
    """Return about how many distinct keys there are, given key numbers.

    The keys with one of `SAMPLE` remainders are counted. All rows of a key are in the sample or none, so it does not
    matter how unequally rows are spread over keys.
    """
    some = numbers[numbers & np.uint64(SAMPLE - 1) == 0]  # a power of two: `%` takes ten times as long
    return len(np.unique(some)) * SAMPLE


def mix_numbers(numbers: Numbers) -> Numbers:
    """Spread adjacent numbers over the whole range: a bijection, the finalizer of splitmix64."""
    return _in_blocks(_mix, [numbers])


def _mix(numbers: Numbers) -> Numbers:
    x = (numbers ^ (numbers >> _SHIFTS[0])) * _FACTORS[0]
    x = (x ^ (x >> _SHIFTS[1])) * _FACTORS[1]
    return x ^ (x >> _SHIFTS[2])


def _mix_columns(first: Numbers, *rest: Numbers) -> Numbers:
    """Return the key numbers of columns, given the numbers of their values."""
    return _mix_more(_mix(first), *rest)


def _mix_more(numbers: Numbers, *columns: Numbers) -> Numbers:
    """Return the key numbers of more columns, given those of the first ones."""
    for other in columns:
        numbers = _mix(numbers * _ODD + _mix(other))
    return numbers


def _in_blocks(mix: Callable[..., Numbers], columns: list[Numbers]) -> Numbers:
    """Call a function on some rows at a time, so that what it computes on the way stays in the cache."""
    rows = len(columns[0])
    if rows <= BLOCK:
        return mix(*columns)
    mixed = np.empty(rows, np.uint64)
    for start in range(0, rows, BLOCK):
        mixed[start : start + BLOCK] = mix(*[column[start : start + BLOCK] for column in columns])
    return mixed


def numbers_of(array: pa.Array) -> Keys:
    """Return a number for each value, equal for equal values."""
    kind = array.type
    if kind.id == _INT64 and not array.null_count:
        return Keys(array.to_numpy().view(np.uint64), exact=True)
    if pa.types.is_dictionary(kind):
        return numbers_of(array.dictionary_decode())
    if array.null_count:
        there = numbers_of(_fill_nulls(array)).numbers
        return Keys(np.where(np.asarray(array.is_null()), _NULL, there), exact=False)
    if pa.types.is_floating(kind):
        return Keys(_of_floats(np.asarray(array.cast(pa.float64()))), exact=True)
    if pa.types.is_boolean(kind):
        return Keys(np.asarray(array.cast(pa.uint8())).astype(np.uint64), exact=True)
    if pa.types.is_uint64(kind):
        return Keys(np.asarray(array), exact=True)
    if _fits_int64(kind):
        return Keys(np.asarray(_to_int64(array)).view(np.uint64), exact=True)
    return Keys(_of_many(array), exact=False)


def _of_many(array: pa.Array) -> Numbers:
    """Return numbers of values wider than 64 bits, which may collide."""
    kind = array.type
    if pa.types.is_struct(kind):
        parts = [pa.chunked_array([part]) for part in array.flatten()]
        return keys_of(parts).numbers if parts else np.zeros(len(array), np.uint64)
    if _is_text(kind):
        return _of_bytes(array.cast(pa.large_binary()))
    if pa.types.is_fixed_size_binary(kind):
        return _of_bytes(array.cast(pa.binary()).cast(pa.large_binary()))
    if pa.types.is_decimal128(kind) or pa.types.is_decimal256(kind):
        words = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, kind.bit_width // 64)
        return _mix_words(words[array.offset : array.offset + len(array)].T)
    if pa.types.is_fixed_size_list(kind):
        return _of_many(array.cast(pa.list_(kind.value_type)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = np.asarray(array.offsets).astype(np.int64)
        items = array.values.slice(offsets[0], offsets[-1] - offsets[0])
        return _of_lists(offsets - offsets[0], mix_numbers(numbers_of(items).numbers))
    return _one_by_one(array)


def _mix_words(words: Iterable[Numbers]) -> Numbers:
    """Mix the words of each value into one number."""
    numbers: Numbers | np.uint64 = np.uint64(0)
    for word in words:
        numbers = mix_numbers(numbers * _ODD + word)
    return numbers  # type: ignore[return-value]


def _is_text(kind: pa.DataType) -> bool:
    """Return whether values of this type are strings or bytes of any length."""
    types = pa.types
    tests = (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)
    return any(test(kind) for test in tests)


def _fill_nulls(array: pa.Array) -> pa.Array:
    """Return the array with any values in place of nulls; their numbers are not used."""
    some = array.drop_null()
    if not len(some):
        return pa.array(np.zeros(len(array), np.int64))
    return pc.fill_null(array, some[0]) if not pa.types.is_nested(array.type) else _fill_nested(array, some)


def _fill_nested(array: pa.Array, some: pa.Array) -> pa.Array:
    """Return the array with a value of its own in place of each null. `some` has its values without nulls."""
    indices = np.cumsum(np.asarray(array.is_valid())) - 1
    return some.take(pa.array(np.maximum(indices, 0)))


def _fits_int64(kind: pa.DataType) -> bool:
    """Return whether values of this type are integers of at most 64 bits, or stored as such."""
    return bool(pa.types.is_integer(kind) or (pa.types.is_temporal(kind) and kind != pa.month_day_nano_interval()))


def _to_int64(array: pa.Array) -> pa.Array:
    narrow = pa.types.is_date32(array.type) or pa.types.is_time32(array.type)
    return (array.cast(pa.int32()) if narrow else array).cast(pa.int64())


def _of_floats(values: npt.NDArray[np.float64]) -> Numbers:
    """Return the bits of floats, where equal floats have equal bits: 0.0 and -0.0, and all nan."""
    one_zero = values + 0.0  # -0.0 and 0.0 are equal
    bits: Numbers = one_zero.view(np.uint64)
    return np.where(np.isnan(values), np.uint64(0x7FF8000000000000), bits)


def _of_bytes(array: pa.Array) -> Numbers:
    """Hash texts: many of them at once, eight bytes at a time; very long ones one by one."""
    count = len(array)
    _, ends, data = array.buffers()
    offsets = np.frombuffer(ends, np.int64)[array.offset : array.offset + count + 1]
    lengths = np.diff(offsets)
    numbers = (lengths + 1).astype(np.uint64) * _LENGTH
    if not count or not lengths.any():
        return numbers
    low, high = int(offsets[0]), int(offsets[-1])
    text = np.concatenate([np.frombuffer(data, np.uint8)[low:high], np.zeros(8, np.uint8)])
    for index in np.flatnonzero(lengths > LONG):
        value = text[offsets[index] - low : offsets[index + 1] - low]
        numbers[index] = np.frombuffer(blake2b(value.tobytes(), digest_size=8).digest(), "<u8")[0]
    starts = offsets[:-1] - low
    for first in range(0, count, BLOCK):  # what is computed on the way stays in the cache
        some = slice(first, first + BLOCK)
        _mix_texts(numbers[some], starts[some], lengths[some], text)
    return numbers


def _mix_texts(numbers: Numbers, starts: Indices, lengths: Indices, text: npt.NDArray[np.uint8]) -> None:
    """Mix the words of short texts, which follow each other, into their numbers. Texts of one length have them at equal
    distances."""
    size = int(lengths[0])
    if size <= LONG and (lengths == size).all():
        for at in range(0, size, 8):
            numbers += np.ndarray(len(numbers), "<u8", text, int(starts[0]) + at, (size,)) & _MASKS[min(size - at, 8)]
            numbers *= _ODD
            numbers ^= numbers >> np.uint64(29)
        return
    words: Numbers = np.ndarray(len(text) - 7, "<u8", text, strides=(1,))  # one at every byte
    short, at = (lengths > 0) & (lengths <= LONG), 0
    if has_all(short):  # the first words of all texts
        numbers += words[starts] & _MASKS[np.minimum(lengths, 8)]
        numbers *= _ODD
        numbers ^= numbers >> np.uint64(29)
        short, at = lengths > 8, 8
    rows = np.flatnonzero(short)
    while len(rows):
        left = lengths[rows] - at
        word = words[starts[rows] + at] & _MASKS[np.minimum(left, 8)]
        number = (numbers[rows] + word) * _ODD
        numbers[rows] = number ^ (number >> np.uint64(29))
        rows, at = rows[left > 8], at + 8


def _of_lists(offsets: Indices, items: Numbers) -> Numbers:
    """Return Σ item · oddᵖˡᵃᶜᵉ modulo 2⁶⁴, over the items of each list."""
    lengths = np.diff(offsets)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)), _ODD), dtype=np.uint64)
    index = np.arange(len(items), dtype=np.int64) - np.repeat(offsets[:-1], lengths)
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(items * powers[index], dtype=np.uint64)])
    numbers: Numbers = running[offsets[1:]] - running[offsets[:-1]] + (lengths + 1).astype(np.uint64) * _LENGTH
    return numbers


def _one_by_one(array: pa.Array) -> Numbers:
    """Return numbers of values without a vectorized form, such as maps."""
    lowering = Lowering()
    return _of_bytes(pa.array([repr(lowering(value)).encode() for value in array.to_pylist()], pa.large_binary()))


def find_equal(left: list[pa.ChunkedArray], right: list[pa.ChunkedArray]) -> Mask:
    """Return whether the keys of two tables are equal, row by row. Null equals null, and nan equals nan."""
    equal = np.ones(len(left[0]), bool)
    for one, other in zip(left, right, strict=True):
        equal &= equal_values(one_chunk(one), one_chunk(other))
    return equal


def equal_values(one: pa.Array, other: pa.Array) -> Mask:
    """Return whether the values of two columns are equal, row by row."""
    kind = one.type
    if not (one.null_count or other.null_count):
        if pa.types.is_integer(kind) or pa.types.is_string(kind):
            return np.asarray(pc.equal(one, other))
        if pa.types.is_float64(kind) and pa.types.is_float64(other.type):
            some, others = one.to_numpy(), other.to_numpy()
            return (some == others) | ((some != some) & (others != others))  # type: ignore[no-any-return]
    nulls, others = np.asarray(one.is_null()), np.asarray(other.is_null())
    if pa.types.is_null(kind) or pa.types.is_null(other.type):
        return nulls & others  # type: ignore[no-any-return]
    if pa.types.is_struct(kind):
        parts = [equal_values(a, b) for a, b in zip(one.flatten(), other.flatten(), strict=True)]
        equals = np.logical_and.reduce(parts) if parts else np.ones(len(one), bool)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        equals = _equal_lists(one, other)
    elif pa.types.is_nested(kind):
        equals = np.array([a == b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)], bool)
    else:
        equal = pc.equal(one, other)
        if pa.types.is_floating(kind):
            equal = pc.or_kleene(equal, pc.and_(pc.is_nan(one), pc.is_nan(other)))
        equals = np.asarray(pc.fill_null(equal, False))
    both: Mask = np.where(nulls | others, nulls & others, equals)
    return both


def _equal_lists(one: pa.Array, other: pa.Array) -> Mask:
    """Return whether two columns of lists are equal, row by row: lists of one length whose items do not differ."""
    lengths, others = (np.asarray(pc.fill_null(pc.list_value_length(each), 0)) for each in (one, other))
    equal: Mask = lengths == others
    indices = pa.array(np.flatnonzero(equal))
    differ = ~equal_values(pc.list_flatten(one.take(indices)), pc.list_flatten(other.take(indices)))
    sizes = lengths[equal]
    running = np.concatenate([[0], np.cumsum(differ)])
    ends = np.cumsum(sizes)
    equal[equal] = running[ends] == running[ends - sizes]
    return equal


def are_comparable(one: pa.DataType, other: pa.DataType) -> bool:
    """Return whether equal values of these two types have equal numbers."""
    types = pa.types
    if one == other:
        return True
    if types.is_struct(one) and types.is_struct(other):
        return one.num_fields == other.num_fields and all(
            are_comparable(one.field(index).type, other.field(index).type) for index in range(one.num_fields)
        )
    if types.is_list(one) and types.is_list(other):
        return are_comparable(one.value_type, other.value_type)
    if types.is_timestamp(one) and types.is_timestamp(other):
        return bool(one.unit == other.unit) and (one.tz is None) == (other.tz is None)
    if types.is_decimal128(one) and types.is_decimal128(other):
        return bool(one.scale == other.scale)
    families = (types.is_floating, lambda kind: types.is_integer(kind) and not types.is_uint64(kind))
    texts = (types.is_string, types.is_large_string), (types.is_binary, types.is_large_binary)
    return any(matches(one) and matches(other) for matches in families) or any(
        any(test(one) for test in pair) and any(test(other) for test in pair) for pair in texts
    )


class Implied(Keys):
    """Key numbers that are computed from the key columns when needed, and take no memory."""

    columns: list[pa.Array]

    def __init__(self, columns: list[pa.Array], exact: bool) -> None:
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "exact", exact)

    @property
    def numbers(self) -> Numbers:
        return keys_of(self.columns).numbers

    def at(self, indices: Indices) -> Numbers:
        return keys_of([column.take(to_arrow(indices)) for column in self.columns]).numbers

    def between(self, start: int, end: int, exact: bool) -> Keys:
        return Implied([column.slice(start, end - start) for column in self.columns], exact)

    @property
    def bytes(self) -> int:
        return 0


def imply_keys(keys: Keys, columns: list[pa.Array]) -> Implied | None:
    """Return the same keys, computed from the columns when needed; None if that is slow, or gives other numbers."""
    if not columns or not len(columns[0]) or not all(map(_is_quick, columns)):
        return None
    computed = Implied(columns, keys.exact)
    some = np.linspace(0, len(columns[0]) - 1, 16).astype(np.int64)
    return computed if np.array_equal(computed.at(some), keys.at(some)) else None


def _is_quick(column: pa.Array) -> bool:
    """Return whether the numbers of a column are computed quickly, one row apart from the others."""
    return pa.types.is_primitive(column.type) and not pa.types.is_boolean(column.type) and not column.null_count

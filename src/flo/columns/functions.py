"""Functions of column expressions that Narwhals does not have: hashes, parts of texts, casts that give null.

Each is a node of a Narwhals expression with a name of Flo's, so it composes with all others. Only Flo's evaluation
knows these nodes. Regular expressions are those of RE2, as everywhere in column expressions.
"""

from __future__ import annotations

import copy
import hashlib
import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import arithmetic, times
from flo.columns.indices import Indices
from flo.columns.nodes import ComputeNode, Data
from flo.core.errors import ElementError


def call(name: str, columns: tuple[Any, ...], **options: object) -> nw.Expr:
    """Return the expression that calls a function of Flo's on columns or expressions."""
    node = copy.copy(nw.coalesce("any")._nodes[0])  # a function of each row, with any number of operands
    node.name, node.exprs, node.kwargs = name, columns, options
    return nw.Expr(node)


def _on_arrays(compute: Callable[..., pa.Array]) -> Callable[..., Data]:
    """Make a function of arrays also one of literals."""

    def on_either(data: Data, **options: object) -> Data:
        if isinstance(data, pa.Scalar):
            return compute(pa.array([data.as_py()], data.type), **options)[0]
        return compute(data, **options)

    return on_either


def _expect(name: str, data: Data, what: str, *tests: Callable[[pa.DataType], bool]) -> None:
    if not (pa.types.is_null(data.type) or any(test(data.type) for test in tests)):
        raise TypeError(f"`{name}` must get {what}; got {data.type}")


def _expect_text(name: str, data: Data) -> Data:
    _expect(name, data, "a text", pa.types.is_string, pa.types.is_large_string)
    return pc.cast(data, pa.string())


# Regular expressions


def expect_pattern(pattern: object) -> None:
    """Raise unless the text is a regular expression."""
    if isinstance(pattern, str):
        try:
            pc.match_substring_regex(pa.array([""]), pattern)
        except pa.ArrowInvalid as error:
            raise ValueError(f"the regular expression {pattern!r} is invalid: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return str(error).removeprefix("Invalid regular expression: ").strip()


def count_groups(pattern: str) -> int:
    """Return the number of groups that a regular expression captures."""
    return _only_group(pattern, 0)[1]


def _only_group(pattern: str, wanted: int) -> tuple[str, int]:
    """Return the pattern with one named group, `g`, where group `wanted` was, and the number of groups. Arrow extracts
    named groups only."""
    rewritten, groups, place, in_class = "", 0, 0, -1
    while place < len(pattern):
        sign = pattern[place]
        end = place + 1
        if pattern.startswith("\\Q", place):
            end = pattern.find("\\E", place)
            end = len(pattern) if end < 0 else end + 2
            sign = pattern[place:end]
        elif sign == "\\":
            end = place + 2
            sign = pattern[place:end]
        elif in_class >= 0:
            if pattern.startswith("[:", place) and ":]" in pattern[place:]:
                end = pattern.index(":]", place) + 2
                sign = pattern[place:end]
            elif sign == "]" and place > in_class:
                in_class = -1
        elif sign == "[":
            in_class = place + (2 if pattern.startswith("[^", place) else 1)
            end = in_class
            sign = pattern[place:end]
        elif sign == "(":
            named = pattern.startswith(("(?P<", "(?<"), place)
            if named or not pattern.startswith("(?", place):
                groups += 1
                end = pattern.index(">", place) + 1 if named else place + 1
                sign = "(?P<g>" if groups == wanted else "(?:"
        rewritten += sign
        place = end
    return (f"(?P<g>{rewritten})" if wanted == 0 else rewritten), groups


def _regexp_extract(data: Data, pattern: str, group: int) -> Data:
    data = _expect_text("regexp_extract", data)
    return pc.struct_field(pc.extract_regex(data, _only_group(pattern, group)[0]), ["g"])


# Parts of texts and lists


@_on_arrays
def _split_part(data: pa.Array, separator: str, index: int) -> pa.Array:
    lists = pc.split_pattern(_expect_text("split_part", data), separator)
    parts = element_at(lists, index - 1 if index > 0 else index)
    return pc.if_else(pc.is_null(data), pa.scalar(None, parts.type), pc.fill_null(parts, ""))


def _lengths(lists: pa.Array) -> Indices:
    """Return how many items of the flattened lists each has: null has none, whatever Arrow stores in its place."""
    counts: Indices = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return counts


def element_at(lists: pa.Array, index: int) -> pa.Array:
    """Return the item of each list at an index, which counts from the end if it is negative; null out of range."""
    counts = _lengths(lists)
    starts = np.cumsum(counts) - counts
    places = starts + (index if index >= 0 else counts + index)
    there = (index < counts) if index >= 0 else (-index <= counts)
    return lists.flatten().take(pa.array(np.where(there, places, 0), pa.int64(), mask=~there))


@_on_arrays
def list_item(data: pa.Array, index: int) -> pa.Array:
    _expect_list("list.get", data)
    return element_at(data, index)


@_on_arrays
def sorted_lists(data: pa.Array, *, descending: bool, nulls_last: bool) -> pa.Array:
    """Sort the items of each list. NaN is the greatest number, and nulls come first unless `nulls_last`."""
    _expect_list("list.sort", data)
    items, counts = data.flatten(), _lengths(data)
    which = np.repeat(np.arange(len(data)), counts)
    direction = "descending" if descending else "ascending"
    columns = {"which": pa.array(which), "null": pc.is_null(items), "item": items}
    keys = [("which", "ascending"), ("null", "ascending" if nulls_last else "descending"), ("item", direction)]
    if pa.types.is_floating(items.type):
        columns["nan"] = pc.is_nan(items)
        keys.insert(2, ("nan", direction))
    order = pc.sort_indices(pa.table(columns), keys)
    large = pa.types.is_large_list(data.type)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int64() if large else pa.int32())
    array_class = pa.LargeListArray if large else pa.ListArray
    return array_class.from_arrays(offsets, items.take(order), type=data.type, mask=data.is_null())


@_on_arrays
def list_contains(data: pa.Array, item: object) -> pa.Array:
    """Return whether each list has an item. Null is never found."""
    _expect_list("list.contains", data)
    equal = arithmetic.comparison("equal")(data.flatten(), arithmetic.literal(item))
    which = np.repeat(np.arange(len(data)), _lengths(data))
    contains = np.zeros(len(data), bool)
    contains[which[pc.fill_null(equal, False).to_numpy(zero_copy_only=False)]] = True
    return pa.array(contains, mask=data.is_null().to_numpy(zero_copy_only=False))


def _expect_list(name: str, data: pa.Array) -> None:
    if not (pa.types.is_list(data.type) or pa.types.is_large_list(data.type)):
        raise TypeError(f"`{name}` must get a list; got {data.type}")


# Hashes


def _digest(name: str, algorithm: Callable[[bytes], Any]) -> Callable[[Data], Data]:
    @_on_arrays
    def compute(data: pa.Array) -> pa.Array:
        _expect(name, data, "a text or bytes", pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
        texts = [each.encode() if isinstance(each, str) else each for each in data.to_pylist()]
        return pa.array([None if each is None else algorithm(each).hexdigest() for each in texts], pa.string())

    return compute


def _hashed(columns: list[Data]) -> Data:
    for data in columns:
        _expect(
            "hash",
            data,
            "numbers, texts, bytes, bools, dates, times or durations",
            *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal),
            *(pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_fixed_size_binary),
            *(pa.types.is_date, pa.types.is_timestamp, pa.types.is_time, pa.types.is_duration),
        )
    counts = [len(data) for data in columns if isinstance(data, pa.Array)]
    count = counts[0] if counts else 1
    parts = [
        [encoded(data.as_py())] * count if isinstance(data, pa.Scalar) else list(map(encoded, data.to_pylist()))
        for data in map(_plain, columns)
    ]
    numbers = [_number(b"".join(row)) for row in zip(*parts, strict=True)]
    hashes = pa.array(numbers, pa.int64())
    return hashes if counts else hashes[0]


def _number(encoded: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "big", signed=True)


def _plain(data: Data) -> Data:
    """Return times and durations as microseconds, so that neither the unit nor the zone matters."""
    if pa.types.is_timestamp(data.type) or pa.types.is_duration(data.type):
        kind = pa.timestamp if pa.types.is_timestamp(data.type) else pa.duration
        return pc.cast(pc.cast(data, kind(data.type.unit)), kind("us"), safe=False)  # nanoseconds are left out
    return data


def encoded(value: object) -> bytes:
    """Return the bytes of a value that are hashed: a letter for its kind, the number of bytes, and the bytes."""
    match value:
        case None:
            kind, text = b"N", b""
        case bool():
            kind, text = b"B", str(int(value)).encode()
        case int():
            kind, text = b"I", str(value).encode()
        case float():
            canonical = 0.0 if value == 0 else float("nan") if value != value else value
            kind, text = b"F", struct.pack(">d", canonical)
        case str():
            kind, text = b"S", value.encode()
        case bytes():
            kind, text = b"Y", value
        case Decimal():
            kind, text = b"D", format(value.normalize() if value else Decimal(0), "f").encode()
        case datetime() | date():
            kind, text = b"T", value.isoformat().encode()
        case _:
            kind, text = b"O", str(value).encode()
    return kind + struct.pack(">I", len(text)) + text


# Casts that give null


def is_type(given: object) -> bool:
    """Return whether it is a type of Narwhals, such as `nw.Int64` or `nw.Datetime("us")`."""
    return isinstance(given, nw.dtypes.DType) or (isinstance(given, type) and issubclass(given, nw.dtypes.DType))


def try_cast(data: Data, kind: pa.DataType) -> Data:
    try:
        return times.cast(data, kind)
    except (ElementError, pa.ArrowInvalid, OverflowError):
        if isinstance(data, pa.Scalar):
            return pa.scalar(None, kind)
    if pa.types.is_floating(data.type):  # equal floats may differ: 0.0 and -0.0
        return pa.concat_arrays([_cast_or_null(data[place : place + 1], kind) for place in range(len(data))])
    distinct = data.dictionary_encode()
    values = [_cast_or_null(distinct.dictionary[n : n + 1], kind) for n in range(len(distinct.dictionary))]
    return pa.concat_arrays(values).take(distinct.indices)


def _cast_or_null(one: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return times.cast(one, kind)
    except (ElementError, pa.ArrowInvalid, OverflowError):
        return pa.nulls(1, kind)


# The greatest and the least


def _greatest(columns: list[Data]) -> Data:
    """Return the greatest of the values that are not null. NaN is the greatest number."""
    return reduce(_greater, columns)


def _greater(left: Data, right: Data) -> Data:
    left, right = arithmetic.same_type(left, right)
    larger = of_instants(pc.max_element_wise)(left, right)
    if not pa.types.is_floating(larger.type):
        return larger
    either = pc.or_(pc.fill_null(pc.is_nan(left), False), pc.fill_null(pc.is_nan(right), False))
    return pc.if_else(either, pa.scalar(float("nan"), larger.type), larger)


def _least(columns: list[Data]) -> Data:
    """Return the least of the values that are not null."""
    return reduce(lambda left, right: of_instants(pc.min_element_wise)(*arithmetic.same_type(left, right)), columns)


def of_instants(function: Callable[[Data, Data], Data]) -> Callable[[Data, Data], Data]:
    """Return the function, which Arrow does not have for times with a zone: it gets their instants then. The result is
    in the zone of the first."""

    def compute(left: Data, right: Data) -> Data:
        kind = left.type
        if not all(pa.types.is_timestamp(each) and each.tz is not None for each in (kind, right.type)):
            return function(left, right)
        instants = [pc.cast(pc.cast(each, kind), pa.int64()) for each in (left, right)]
        return pc.cast(function(*instants), kind)

    return compute


def of_first(compute: Callable[..., Data]) -> ComputeNode:
    """Make a function of the first operand and the options one of nodes."""
    return lambda node, operands: compute(operands[0].data, **node.kwargs)


def _of_all(compute: Callable[[list[Data]], Data]) -> ComputeNode:
    return lambda node, operands: compute([each.data for each in operands])


FUNCTIONS: dict[str, ComputeNode] = {
    "greatest": _of_all(_greatest),
    "hash": _of_all(_hashed),
    "least": _of_all(_least),
    "md5": of_first(_digest("md5", hashlib.md5)),
    "regexp_extract": of_first(_regexp_extract),
    "sha256": of_first(_digest("sha256", hashlib.sha256)),
    "split_part": of_first(_split_part),
}
"""The functions by node name; they get the node and its operands. `evaluation` adds `try_cast`, which needs types."""

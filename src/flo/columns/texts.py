"""Functions of texts in column expressions: what Narwhals computes on Arrow, without a table for each.

Regular expressions are those of RE2. Lengths and positions count code points. Texts become times by a format.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from datetime import UTC, datetime
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import times
from flo.columns.nodes import ColumnNode, ComputeNode, Data, NodeValue, unary
from flo.core.errors import ElementError

BLANKS = string.whitespace
"""What `strip_chars` removes if it is not told."""


def _argument(node: ColumnNode, operands: list[NodeValue], index: int = 1) -> str:
    """Return an argument that must be a constant."""
    given = operands[index].data
    if not isinstance(given, pa.Scalar) or not pa.types.is_string(given.type) or given.as_py() is None:
        raise TypeError(f"`{node.name}` must get a constant text as its argument; got {operands[index].kind}")
    return str(given.as_py())


def _matched(literal: Callable[..., Data], pattern: Callable[..., Data]) -> ComputeNode:
    def compute(node: ColumnNode, operands: list[NodeValue]) -> Data:
        function = literal if node.kwargs["literal"] else pattern
        return function(operands[0].data, _argument(node, operands))

    return compute


def _affix(function: Callable[..., Data]) -> ComputeNode:
    return lambda node, operands: function(operands[0].data, _argument(node, operands))


def _replaced(node: ColumnNode, operands: list[NodeValue]) -> Data:
    """Replace matches. The replacement of a regular expression refers to groups by `\\1`."""
    function = pc.replace_substring if node.kwargs["literal"] else pc.replace_substring_regex
    return function(
        operands[0].data,
        node.kwargs["pattern"],
        replacement=_argument(node, operands),
        max_replacements=node.kwargs.get("n", -1),
    )


def _trimmed(function: Callable[..., Data]) -> ComputeNode:
    def compute(node: ColumnNode, operands: list[NodeValue]) -> Data:
        given = node.kwargs["characters"]
        return function(operands[0].data, BLANKS if given is None else given)

    return compute


def _sliced(node: ColumnNode, operands: list[NodeValue]) -> Data:
    start, length = node.kwargs["offset"], node.kwargs["length"]
    stop = None if length is None or start < 0 <= start + length else start + length
    return pc.utf8_slice_codeunits(operands[0].data, start=start, stop=stop)


def joined(node: ColumnNode, operands: list[NodeValue]) -> Data:
    """Join texts; numbers and others as `cast` writes them. With `ignore_nulls`, of nothing it is the empty text."""
    first, *rest = (times.cast(each.data, pa.string()) for each in operands)
    if node.kwargs["ignore_nulls"]:  # Arrow leaves rows out that have only nulls
        nothing = reduce(pc.and_, map(pc.is_null, (first, *rest)))
        first = pc.if_else(nothing, "", first)
    handling = "skip" if node.kwargs["ignore_nulls"] else "emit_null"
    return pc.binary_join_element_wise(first, *rest, node.kwargs["separator"], null_handling=handling)


def _parsed(data: Data, form: str) -> Data:
    """Return the times that texts denote. Only Python reads fractions of a second, `%f`."""
    if "%f" not in form.replace("%%", ""):
        return pc.strptime(data, format=form, unit="us")
    if isinstance(data, pa.Scalar):
        return _parsed(pa.array([data.as_py()], data.type), form)[0]
    if not pa.types.is_string(data.type):
        raise TypeError(f"a format must be read from texts; got {data.type}")
    kind = pa.timestamp("us", "UTC" if "%z" in form.replace("%%", "") else None)
    return pa.array([None if text is None else _moment(text, form) for text in data.to_pylist()], kind)


def _moment(text: str, form: str) -> datetime:
    try:
        moment = datetime.strptime(text, form)
    except ValueError as error:
        raise ElementError(f"Failed to parse string: {error}") from None
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _to_datetime(node: ColumnNode, operands: list[NodeValue]) -> Data:
    return _parsed(operands[0].data, node.kwargs["format"])


def _to_date(node: ColumnNode, operands: list[NodeValue]) -> Data:
    return times.cast(_to_datetime(node, operands), pa.date32())


FUNCTIONS: dict[str, ComputeNode] = {
    "str.contains": _matched(pc.match_substring, pc.match_substring_regex),
    "str.ends_with": _affix(pc.ends_with),
    "str.len_chars": unary(pc.utf8_length),
    "str.replace": _replaced,
    "str.replace_all": _replaced,
    "str.slice": _sliced,
    "str.split": lambda node, operands: pc.split_pattern(operands[0].data, node.kwargs["by"]),
    "str.starts_with": _affix(pc.starts_with),
    "str.strip_chars": _trimmed(pc.utf8_trim),
    "str.strip_chars_end": _trimmed(pc.utf8_rtrim),
    "str.strip_chars_start": _trimmed(pc.utf8_ltrim),
    "str.to_date": _to_date,
    "str.to_datetime": _to_datetime,
    "str.to_lowercase": unary(pc.utf8_lower),
    "str.to_titlecase": unary(pc.utf8_title),
    "str.to_uppercase": unary(pc.utf8_upper),
}
"""The functions whose result is null exactly where the text is."""

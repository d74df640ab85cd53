"""Rejects calls in column expressions that fail on any rows, when the program is built.

Types that a function does not support, regular expressions and formats that are invalid, times with a zone beside
times without one, negative powers of integers. The error names the function, its operands and their types.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.arithmetic import is_whole
from flo.columns.functions import expect_pattern
from flo.columns.node_functions import COMPARISONS
from flo.columns.nodes import ColumnNode, NodeValue

INFIX = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__floordiv__": "//",
    "__mod__": "%",
    "__pow__": "**",
    "__eq__": "==",
    "__ne__": "!=",
    "__lt__": "<",
    "__le__": "<=",
    "__gt__": ">",
    "__ge__": ">=",
    "__and__": "and",
    "__or__": "or",
}
"""Functions that are written between their operands."""
SIGNS = INFIX | {"__invert__": "not", "__neg__": "-", "when_then": "when … then … otherwise"}
READ = frozenset("aAbBcCdDeFhHIjklmMnprRsStTuUwWxXyYzZ%f")
"""The directives of formats by which texts are read; `%f` is read by Python."""
WRITTEN = (READ - set("kls")) | {"g", "G", "V"}
"""The directives of formats by which times are written."""
CHOICES = ("coalesce", "fill_null")
"""Functions whose result is one of their operands."""
FORMATS = {
    "str.to_datetime": READ,
    "str.to_date": READ,
    "str.to_time": READ,
    "dt.to_string": WRITTEN,
}


def unsupported_error(node: ColumnNode, operands: list[NodeValue]) -> TypeError:
    """Return the error of a function that does not support the types of its operands."""
    name = SIGNS.get(node.name, node.name)
    given = " and ".join(map(_described, operands))
    asked = next((node.kwargs[option] for option in ("item", "other", "dtype") if option in node.kwargs), None)
    more = "" if asked is None else f" with {asked!r}"
    return TypeError(f"`{name}` does not support {given}{more}")


def _described(operand: NodeValue) -> str:
    if isinstance(operand.data, pa.Scalar):
        return f"{operand.data.as_py()!r} ({operand.data.type})"
    return f"`{operand.name}` ({operand.data.type})"


def expect_sound(node: ColumnNode, operands: list[NodeValue]) -> None:
    """Raise if a call fails, or means nothing, on any rows."""
    if node.name in COMPARISONS or node.name in ("is_between", "__sub__", *CHOICES):
        _expect_zones(node, operands)
    if node.name in CHOICES:
        _expect_one_nested_type(node, operands)
    if node.name in FORMATS:
        _expect_format(node.name, node.kwargs["format"])
    if node.name == "str.split" and not node.kwargs["by"]:
        raise ValueError("the separator of `str.split` must not be empty")
    if node.name == "str.contains" and not node.kwargs["literal"] and isinstance(operands[1].data, pa.Scalar):
        expect_pattern(operands[1].data.as_py())
    if node.name in ("str.replace", "str.replace_all") and not node.kwargs["literal"]:
        expect_pattern(node.kwargs["pattern"])
        _expect_replacement(node.kwargs["pattern"], operands[1].data)
    if node.name == "__pow__" and all(is_whole(each.data.type) for each in operands):
        power = operands[1].data
        if isinstance(power, pa.Scalar) and power.as_py() is not None and power.as_py() < 0:
            raise ValueError(f"an integer cannot have the negative power {power.as_py()}; use cast(nw.Float64) first")


def _expect_zones(node: ColumnNode, operands: list[NodeValue]) -> None:
    """Raise if only some of the times have a zone."""
    moments = [each for each in operands if pa.types.is_timestamp(each.data.type)]
    if len({each.data.type.tz is None for each in moments}) > 1:
        raise unsupported_error(node, operands)


def _expect_one_nested_type(node: ColumnNode, operands: list[NodeValue]) -> None:
    """Raise if lists or structs differ in type: Arrow notices only when there are rows."""
    kinds = {each.data.type for each in operands if not pa.types.is_null(each.data.type)}
    if len(kinds) > 1 and any(map(pa.types.is_nested, kinds)):
        raise unsupported_error(node, operands)


def are_other_times(one: pa.DataType, other: pa.DataType) -> bool:
    """Return whether these are two kinds of times of which none equals one of the other kind: dates, times with a zone
    and times without."""
    kinds = [
        "date" if pa.types.is_date(kind) else kind.tz is None if pa.types.is_timestamp(kind) else None
        for kind in (one, other)
    ]
    return None not in kinds and kinds[0] != kinds[1]


def _expect_format(name: str, form: object) -> None:
    if not isinstance(form, str):
        return
    directives = re.findall(r"%(.?)", form, re.DOTALL)
    wrong = next((each for each in directives if each not in FORMATS[name]), None)
    if wrong is not None:
        raise ValueError(f"the format {form!r} of `{name}` has the unknown directive `%{wrong}`")
    if name != "dt.to_string" and not any(each != "%" for each in directives):
        raise ValueError(f"the format {form!r} of `{name}` has no directives, such as `%Y`")


def _expect_replacement(pattern: str, replacement: object) -> None:
    """Raise if a replacement refers to a group that the pattern does not have."""
    if isinstance(replacement, pa.Scalar) and isinstance(replacement.as_py(), str):
        try:
            pc.replace_substring_regex(pa.array([""]), pattern, replacement=replacement.as_py())
        except pa.ArrowInvalid as error:
            given = replacement.as_py()
            raise ValueError(f"the replacement {given!r} does not fit {pattern!r}: {error}") from None

"""The functions of column expressions, by the name of their node, and whether their results can be null.

A function gets its node, with the options, and its operands. Functions that are not listed in `OWN` are computed by
Narwhals; those that are not listed in `NULLABLE` can return null.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import arithmetic, functions, texts, times, windowing
from flo.columns.arithmetic import same_type
from flo.columns.nodes import ColumnNode, ComputeNode, Data, NodeValue, Options, unary


def broadcast(data: Data, count: int) -> pa.Array:
    """Return a column with `count` rows."""
    if not isinstance(data, pa.Scalar):
        return data
    return pa.repeat(data, count) if count else pa.nulls(0, data.type)  # Arrow cannot repeat a list zero times


@lru_cache(maxsize=256)
def arrow_type(dtype: Any) -> pa.DataType:
    """Return the Arrow type of a Narwhals type."""
    empty = nw.from_native(pa.table({"0": pa.array([], pa.null())}), eager_only=True)
    return empty.select(nw.col("0").cast(dtype)).to_native().schema[0].type


Nullable: TypeAlias = "Callable[[ColumnNode, list[NodeValue]], bool]"


def _binary(function: arithmetic.Binary) -> ComputeNode:
    return lambda node, operands: function(operands[0].data, operands[1].data)


def _reflected(function: arithmetic.Binary) -> ComputeNode:
    return lambda node, operands: function(operands[1].data, operands[0].data)


def _in_order(function: Callable[..., Data]) -> ComputeNode:
    """Fold a function of two operands over any number of them."""
    return lambda node, operands: reduce(lambda x, y: function(*same_type(x, y)), (each.data for each in operands))


def _extreme(function: Callable[..., Data]) -> ComputeNode:
    """Fold `max_element_wise` or `min_element_wise` over any number of operands."""
    return _in_order(functions.of_instants(function))


def _as_floats(name: str) -> ComputeNode:
    """A function of floats that also accepts integers and decimals."""
    function = getattr(pc, name)
    return lambda node, operands: function(_floats(operands[0].data))


def _floats(data: Data) -> Data:
    exact = arithmetic.is_whole(data.type) or pa.types.is_decimal(data.type)
    return arithmetic.to_float(data, pa.float64()) if exact else data


def _cast(node: ColumnNode, operands: list[NodeValue]) -> Data:
    return times.cast(operands[0].data, arrow_type(node.kwargs["dtype"]))


def _tried(node: ColumnNode, operands: list[NodeValue]) -> Data:
    return functions.try_cast(operands[0].data, arrow_type(node.kwargs["dtype"]))


def _between(node: ColumnNode, operands: list[NodeValue]) -> Data:
    value, low, high = (each.data for each in operands)
    closed = node.kwargs["closed"]
    above = COMPARISONS["__ge__" if closed in ("left", "both") else "__gt__"]
    below = COMPARISONS["__le__" if closed in ("right", "both") else "__lt__"]
    return pc.and_kleene(above(value, low), below(value, high))


def _filled(node: ColumnNode, operands: list[NodeValue]) -> Data:
    value, instead = same_type(operands[0].data, operands[1].data)
    return pc.coalesce(value, instead)


def _sum(node: ColumnNode, operands: list[NodeValue]) -> Data:
    return reduce(arithmetic.add, (pc.fill_null(each.data, pa.scalar(0, each.data.type)) for each in operands))


def _mean(node: ColumnNode, operands: list[NodeValue]) -> Data:
    there = [pc.cast(pc.is_valid(each.data), pa.float64()) for each in operands]
    total = reduce(pc.add, (pc.fill_null(_floats(each.data), pa.scalar(0.0)) for each in operands))
    return pc.divide(total, reduce(pc.add, there))


def _list_sum(node: ColumnNode, operands: list[NodeValue]) -> Data:
    """Sum exactly: a sum that does not fit into 64 bits is an error."""
    (lists,) = (each.data for each in operands)
    kind = lists.type.value_type
    narrow = pa.types.is_integer(kind) and kind.bit_width < 64
    sums = [
        None if items is None else sum(item for item in items if item is not None)
        for items in (lists.to_pylist() if isinstance(lists, pa.Array) else [lists.as_py()])
    ]
    return pa.array(sums, pa.int64() if narrow else kind)


def _clip(least: Callable[..., Data], index: int, data: Data, operands: list[NodeValue]) -> Data:
    return least(*same_type(data, operands[index].data), skip_nulls=False)


def _clipped(node: ColumnNode, operands: list[NodeValue]) -> Data:
    data = operands[0].data
    if node.name != "clip_lower":
        data = _clip(pc.min_element_wise, len(operands) - 1, data, operands)
    return data if node.name == "clip_upper" else _clip(pc.max_element_wise, 1, data, operands)


def _struct(node: ColumnNode, operands: list[NodeValue]) -> Data:
    fields = [pa.field(each.name, each.data.type, each.nullable) for each in operands]
    counts = [len(each.data) for each in operands if isinstance(each.data, pa.Array)]
    if not counts:
        return pa.scalar({each.name: each.data.as_py() for each in operands}, pa.struct(fields))
    return pa.StructArray.from_arrays([broadcast(each.data, counts[0]) for each in operands], fields=fields)


def _field(node: ColumnNode, operands: list[NodeValue]) -> Data:
    data, name = operands[0].data, node.kwargs["name"]
    if not pa.types.is_struct(data.type):
        raise TypeError(f"`struct.field` must get rows; got {data.type}")
    if data.type.get_field_index(name) < 0:
        names = ", ".join(field.name for field in data.type)
        raise TypeError(f"`struct.field` has no field `{name}` here; there are {names}")
    return pc.struct_field(data, [name])


def _rounded(node: ColumnNode, operands: list[NodeValue]) -> Data:
    return pc.round(operands[0].data, node.kwargs["decimals"], round_mode="half_towards_infinity")


def _is_in(node: ColumnNode, operands: list[NodeValue]) -> Data:
    """Return whether a value is one of these. Null is null."""
    data, values = operands[0].data, list(node.kwargs["other"])
    among = pa.array(values, data.type) if all(each is None for each in values) else pa.array(values)
    compared = _floats(data) if pa.types.is_decimal(data.type) and pa.types.is_floating(among.type) else data
    is_among = pc.is_in(compared, value_set=among)
    return pc.if_else(pc.is_null(data), pa.scalar(None, pa.bool_()), is_among)


def _all_or_any(function: Callable[..., Data], *, instead: bool) -> ComputeNode:
    def compute(node: ColumnNode, operands: list[NodeValue]) -> Data:
        conditions = [each.data for each in operands]
        for each in operands:
            if not (pa.types.is_boolean(each.data.type) or pa.types.is_null(each.data.type)):
                raise TypeError(f"a condition must be bool; `{each.name}` is {each.data.type}")
        conditions = [pc.cast(each, pa.bool_()) for each in conditions]
        if node.kwargs["ignore_nulls"]:
            conditions = [pc.fill_null(each, instead) for each in conditions]
        return reduce(function, conditions)

    return compute


COMPARISONS = {
    "__eq__": arithmetic.comparison("equal"),
    "__ne__": arithmetic.comparison("not_equal"),
    "__lt__": arithmetic.comparison("less"),
    "__le__": arithmetic.comparison("less_equal"),
    "__gt__": arithmetic.comparison("greater"),
    "__ge__": arithmetic.comparison("greater_equal"),
}
ARITHMETIC = {
    "__add__": _binary(arithmetic.add),
    "__sub__": _binary(arithmetic.subtract),
    "__rsub__": _reflected(arithmetic.subtract),
    "__mul__": _binary(arithmetic.multiply),
    "__pow__": _binary(arithmetic.power),
    "__rpow__": _reflected(arithmetic.power),
    "__truediv__": _binary(arithmetic.divide),
    "__rtruediv__": _reflected(arithmetic.divide),
    "__neg__": unary(arithmetic.negate),
    "abs": unary(arithmetic.absolute),
}
DIVISIONS = {
    "__floordiv__": _binary(arithmetic.floor_divide),
    "__rfloordiv__": _reflected(arithmetic.floor_divide),
    "__mod__": _binary(arithmetic.remainder),
    "__rmod__": _reflected(arithmetic.remainder),
}
KEEPING: dict[str, ComputeNode] = {
    **{name: _binary(function) for name, function in COMPARISONS.items()},
    **ARITHMETIC,
    **{name: _as_floats(name) for name in ("exp", "sqrt", "sin", "cos", "is_nan", "is_finite")},
    **texts.FUNCTIONS,
    **times.FUNCTIONS,
    **windowing.FUNCTIONS,
    "ceil": unary(pc.ceil),
    "floor": unary(pc.floor),
    "is_in": _is_in,
    "list.len": unary(lambda data: pc.cast(pc.list_value_length(data), pa.uint32())),
    "round": _rounded,
    "__and__": _in_order(pc.and_kleene),
    "__or__": _in_order(pc.or_kleene),
    "__invert__": unary(pc.invert),
    "log": lambda node, operands: pc.logb(_floats(operands[0].data), pa.scalar(float(node.kwargs["base"]))),
    "_is_close_float_promote": unary(lambda data: _floats(data)),
    "cast": _cast,
    "clip": _clipped,
    "clip_lower": _clipped,
    "clip_upper": _clipped,
    "is_between": _between,
}
"""Computed here; the result is null exactly where an operand is."""
OWN: dict[str, ComputeNode] = {
    **KEEPING,
    **DIVISIONS,
    **functions.FUNCTIONS,
    "try_cast": _tried,
    "list.contains": functions.of_first(functions.list_contains),
    "list.get": functions.of_first(functions.list_item),
    "list.sort": functions.of_first(functions.sorted_lists),
    "all_horizontal": _all_or_any(pc.and_kleene, instead=True),
    "any_horizontal": _all_or_any(pc.or_kleene, instead=False),
    "coalesce": _in_order(pc.coalesce),
    "concat_str": texts.joined,
    "fill_null": _filled,
    "is_null": unary(pc.is_null),
    "list.sum": _list_sum,
    "max_horizontal": _extreme(pc.max_element_wise),
    "mean_horizontal": _mean,
    "min_horizontal": _extreme(pc.min_element_wise),
    "struct": _struct,
    "struct.field": _field,
    "sum_horizontal": _sum,
}
KEPT_BY_NARWHALS = ("str.to_time", "str.zfill", "str.pad_start", "str.pad_end")
"""Functions of Narwhals whose result is null exactly where the operand is."""


def _any_null(node: ColumnNode, operands: list[NodeValue]) -> bool:
    return any(each.nullable for each in operands)


def _all_null(node: ColumnNode, operands: list[NodeValue]) -> bool:
    return all(each.nullable for each in operands)


def _null_by_zero(node: ColumnNode, operands: list[NodeValue]) -> bool:
    """Division by zero is null, so division by any column may be null."""
    divisor = operands[0 if node.name.startswith("__r") else 1].data
    return _any_null(node, operands) or not isinstance(divisor, pa.Scalar) or not divisor.as_py()


def _null_of_decimals(node: ColumnNode, operands: list[NodeValue]) -> bool:
    decimals = arithmetic.gives_decimals(*(each.data for each in operands))
    return (_null_by_zero if decimals else _any_null)(node, operands)


NULLABLE: dict[str, Nullable] = {
    **dict.fromkeys((*KEEPING, *KEPT_BY_NARWHALS), _any_null),
    **dict.fromkeys(DIVISIONS, _null_by_zero),
    **dict.fromkeys(("__truediv__", "__rtruediv__"), _null_of_decimals),
    **dict.fromkeys(("coalesce", "min_horizontal", "max_horizontal", "greatest", "least"), _all_null),
    **dict.fromkeys(("list.contains", "list.sort", "md5", "sha256", "split_part"), _any_null),
    "hash": lambda node, operands: False,
    **dict.fromkeys(("is_null", "list", "struct", "sum_horizontal", "mean_horizontal"), lambda node, operands: False),
    **dict.fromkeys(
        ("all_horizontal", "any_horizontal", "concat_str"),
        lambda node, operands: not node.kwargs["ignore_nulls"] and _any_null(node, operands),
    ),
    "fill_nan": lambda node, operands: node.kwargs["value"] is None or _any_null(node, operands),
    "fill_null": lambda node, operands: operands[1].nullable,
    "replace_strict": lambda node, operands: None in node.kwargs["new"] or operands[-1].nullable,
    "struct.field": lambda node, operands: (
        operands[0].nullable or operands[0].data.type.field(node.kwargs["name"]).nullable
    ),
}
"""Whether the result can be null, by function; functions that are not listed can return null."""
RENAMES: dict[str, Callable[[str, Options], str]] = {
    "alias": lambda name, options: options["name"],
    "name.keep": lambda name, options: name,
    "name.map": lambda name, options: options["function"](name),
    "name.prefix": lambda name, options: options["prefix"] + name,
    "name.suffix": lambda name, options: name + options["suffix"],
    "name.to_lowercase": lambda name, options: name.lower(),
    "name.to_uppercase": lambda name, options: name.upper(),
}
"""Functions that only change the name of a column."""

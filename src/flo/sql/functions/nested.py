"""Structs and arrays: fields and items.

`element_at` is not left to Spark: at the place -2147483648 it reads other memory, which can end the JVM.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions.comparisons import ANY
from flo.sql.functions.decimals import size_of
from flo.sql.nodes import Expr, SqlError, as_array
from flo.sql.registry import ANSI, LEGACY, Data, Family, Signature, declare, family_of, many, of


def _field(node: Expr, operands: list[Data]) -> Data:
    return pc.struct_field(operands[0], indices=[node.option("ordinal")])


def _struct(node: Expr, operands: list[Data]) -> Data:
    """A struct of constant names and values."""
    values = operands[1::2]
    count = size_of(*operands) if any(isinstance(each, pa.Array) for each in operands) else 1
    return pa.StructArray.from_arrays([as_array(each, count) for each in values], fields=list(node.type))


def array_of(node: Expr, operands: list[Data]) -> Data:
    count = size_of(*operands)
    items = pa.concat_arrays([as_array(each, count) for each in operands])
    order = np.arange(count * len(operands)).reshape(len(operands), count).T.reshape(-1)
    ends = np.arange(count + 1, dtype=np.int32) * len(operands)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items.take(pa.array(order)), type=node.type)


def _items(array: pa.Array, places: pa.Array) -> pa.Array:
    """Return an item of each array; null if there is no such place."""
    count = len(array)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) if count else np.zeros(0, int)
    wanted = places.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    inside = (wanted >= 0) & (wanted < lengths)
    indices = pa.array(np.where(inside, starts + wanted, 0), pa.int64(), mask=~inside)
    return pc.list_flatten(array).take(indices)


def _outside(array: pa.Array, places: pa.Array) -> pa.Array:
    """Return the rows that have an array and a place, but not an item there."""
    there = pc.and_(array.is_valid(), places.is_valid())
    lengths = pc.list_value_length(array)
    wrong = pc.or_(pc.less(places, 0), pc.greater_equal(places, pc.cast(lengths, places.type)))
    return pc.and_(there, pc.fill_null(wrong, False))


def _get_item(node: Expr, operands: list[Data]) -> Data:
    """a[i], from 0."""
    count = size_of(*operands)
    array, places = (as_array(each, count) for each in operands)
    places = pc.cast(places, pa.int64())
    if node.ansi and pc.any(_outside(array, places), min_count=0).as_py():
        raise SqlError("INVALID_ARRAY_INDEX", "there is no such item")
    return _items(array, places)


def _element_at(node: Expr, operands: list[Data]) -> Data:
    """element_at(a, i), from 1; negative places count from the end."""
    count = size_of(*operands)
    array, places = (as_array(each, count) for each in operands)
    places = pc.cast(places, pa.int64())
    lengths = pc.cast(pc.list_value_length(array), pa.int64())
    there = pc.and_(array.is_valid(), places.is_valid())
    beyond = pc.and_(there, pc.fill_null(pc.greater(pc.abs(places), lengths), False))
    if node.ansi and pc.any(beyond, min_count=0).as_py():
        raise SqlError("INVALID_ARRAY_INDEX_IN_ELEMENT_AT", "there is no such item")
    zero = pc.and_(pc.and_(there, pc.equal(places, 0)), pc.invert(beyond))
    if pc.any(zero, min_count=0).as_py():
        raise SqlError("INVALID_INDEX_OF_ZERO", "the index 0 is invalid: it must be less or greater than 0")
    from_zero = pc.if_else(pc.greater(places, 0), pc.subtract(places, 1), pc.add(lengths, places))
    return _items(array, pc.if_else(pc.fill_null(beyond, False), pa.scalar(-1, pa.int64()), from_zero))


class StructFields(Signature):
    """Pairs of a constant name and a value of any type."""

    def accepts(self, node: Expr) -> bool:
        names, values = node.children[::2], node.children[1::2]
        return all(each.name == "Literal" for each in names) and all(family_of(each.type) for each in values)


declare("GetStructField", "{}.a", [of(Family.STRUCT)], _field)
declare(
    "CreateNamedStruct",
    "struct({}, {})",
    [StructFields(of(each, each).operands) for each in ANY],
    _struct,
    strict=False,
)
declare("CreateArray", "array({}, {})", [of(each, many(each)) for each in ANY], array_of, strict=False)
declare("GetArrayItem", "{}[{}]", [of(Family.ARRAY, Family.INTEGER)], _get_item, modes=(ANSI, LEGACY))
declare("ElementAt", "element_at({}, {})", [of(Family.ARRAY, Family.INTEGER)], _element_at, modes=(ANSI, LEGACY))

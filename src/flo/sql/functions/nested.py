"""Structs, their fields, and arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions.comparisons import ANY
from flo.sql.functions.decimals import size_of
from flo.sql.nodes import Node, as_array
from flo.sql.registry import Data, Family, Signature, declare, family_of, many, of


def _field(node: Node, operands: list[Data]) -> Data:
    return pc.struct_field(operands[0], indices=[node.option("ordinal")])


def _struct(node: Node, operands: list[Data]) -> Data:
    """A struct of constant names and values."""
    values = operands[1::2]
    count = size_of(*operands) if any(isinstance(each, pa.Array) for each in operands) else 1
    return pa.StructArray.from_arrays([as_array(each, count) for each in values], fields=list(node.type))


def array_of(node: Node, operands: list[Data]) -> Data:
    count = size_of(*operands)
    items = pa.concat_arrays([as_array(each, count) for each in operands])
    order = np.arange(count * len(operands)).reshape(len(operands), count).T.reshape(-1)
    ends = np.arange(count + 1, dtype=np.int32) * len(operands)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items.take(pa.array(order)), type=node.type)


class StructFields(Signature):
    """Pairs of a constant name and a value of any type."""

    def accepts(self, node: Node) -> bool:
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

"""Comparisons, conditions on null, lists of values and structs. NaN is equal to itself and greater than all numbers."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import FUNCTIONS, Data, Node


def _compare(name: str) -> Any:
    function = getattr(pc, name)

    def compute(node: Node, operands: list[Data]) -> Data:
        left, right = operands
        found = function(left, right)
        if not pa.types.is_floating(left.type):
            return found
        one, other = pc.is_nan(left), pc.is_nan(right)
        equal = pc.and_(one, other)
        match name:
            case "equal":
                return pc.or_(found, equal)
            case "less":
                return pc.or_(found, pc.and_not(other, one))
            case "greater":
                return pc.or_(found, pc.and_not(one, other))
            case "less_equal":
                return pc.or_(found, other)
            case _:
                return pc.or_(found, one)

    return compute


_EQUAL = _compare("equal")


def _null_safe(node: Node, operands: list[Data]) -> Data:
    left, right = operands
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(_EQUAL(node, operands), False), both)


def _in(node: Node, operands: list[Data]) -> Data:
    value, *others = operands
    return reduce(pc.or_kleene, (_EQUAL(node, [value, each]) for each in others))


def _in_set(node: Node, operands: list[Data]) -> Data:
    values = node.option("values")
    present = [each for each in values if each is not None]
    found = pc.is_in(operands[0], value_set=pa.array(present, operands[0].type))
    if isinstance(operands[0], pa.Scalar):
        found = pa.scalar(found.as_py() if operands[0].is_valid else None, pa.bool_())
    else:
        found = pc.if_else(pc.is_valid(operands[0]), found, pa.scalar(None, pa.bool_()))
    return found if len(present) == len(values) else pc.if_else(found, found, pa.scalar(None, pa.bool_()))


def _nan_to_null_order(node: Node, operands: list[Data], *, largest: bool) -> Data:
    """greatest and least: nulls are skipped, NaN is the largest."""
    later = _compare("greater" if largest else "less")

    def choose(one: Data, other: Data) -> Data:
        better = pc.fill_null(later(node, [other, one]), False)
        chosen = pc.if_else(better, other, one)
        return pc.coalesce(chosen, other)

    return reduce(choose, operands)


def _field(node: Node, operands: list[Data]) -> Data:
    return pc.struct_field(operands[0], indices=[node.option("ordinal")])


def _struct(node: Node, operands: list[Data]) -> Data:
    values = operands[1::2]
    names = [field.name for field in node.type]
    return pc.make_struct(*values, field_names=names)


FUNCTIONS.update(
    {
        "EqualTo": _EQUAL,
        "LessThan": _compare("less"),
        "LessThanOrEqual": _compare("less_equal"),
        "GreaterThan": _compare("greater"),
        "GreaterThanOrEqual": _compare("greater_equal"),
        "EqualNullSafe": _null_safe,
        "In": _in,
        "InSet": _in_set,
        "Not": lambda node, operands: pc.invert(operands[0]),
        "IsNull": lambda node, operands: pc.is_null(operands[0]),
        "IsNotNull": lambda node, operands: pc.is_valid(operands[0]),
        "IsNaN": lambda node, operands: pc.fill_null(pc.is_nan(operands[0]), False),
        "Greatest": lambda node, operands: _nan_to_null_order(node, operands, largest=True),
        "Least": lambda node, operands: _nan_to_null_order(node, operands, largest=False),
        "GetStructField": _field,
        "CreateNamedStruct": _struct,
        "NormalizeNaNAndZero": lambda node, operands: pc.add(operands[0], pa.scalar(0.0, operands[0].type)),
        "KnownNotNull": lambda node, operands: operands[0],
        "KnownFloatingPointNormalized": lambda node, operands: operands[0],
    }
)

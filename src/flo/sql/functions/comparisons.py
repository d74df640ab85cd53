"""Comparisons, conditions and lists of values. NaN is equal to itself and greater than all numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import Expr
from flo.sql.registry import NUMBERS, SIMPLE, Compute, Data, Family, Signature, declare, family_of, many, of, twice

if TYPE_CHECKING:
    from collections.abc import Iterable

ORDERED = (*SIMPLE, Family.BINARY)
ANY = (*ORDERED, Family.STRUCT, Family.ARRAY)


def _compare(name: str) -> Compute:
    function = getattr(pc, name)

    def compute(node: Expr, operands: list[Data]) -> Data:
        left, right = operands
        numbers = function(left, right)
        if not pa.types.is_floating(left.type):
            return numbers
        one, other = pc.is_nan(left), pc.is_nan(right)
        equal = pc.and_(one, other)
        match name:
            case "equal":
                return pc.or_(numbers, equal)
            case "less":
                return pc.or_(numbers, pc.and_not(other, one))
            case "greater":
                return pc.or_(numbers, pc.and_not(one, other))
            case "less_equal":
                return pc.or_(numbers, other)
            case _:
                return pc.or_(numbers, one)

    return compute


_EQUAL = _compare("equal")


def _null_safe(node: Expr, operands: list[Data]) -> Data:
    left, right = operands
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(_EQUAL(node, operands), False), both)


def _in(node: Expr, operands: list[Data]) -> Data:
    value, *others = operands
    return reduce(pc.or_kleene, (_EQUAL(node, [value, each]) for each in others))


def _in_set(node: Expr, operands: list[Data]) -> Data:
    (data,), values = operands, node.option("values")
    present = [each for each in values if each is not None]
    is_in = pc.is_in(data, value_set=pa.array(present, data.type))
    if pa.types.is_floating(data.type):  # Arrow distinguishes the zeros
        if any(each == 0 for each in present):
            is_in = pc.or_(is_in, pc.fill_null(pc.equal(data, pa.scalar(0.0, data.type)), False))
        if any(math.isnan(each) for each in present):
            is_in = pc.or_(is_in, pc.fill_null(pc.is_nan(data), False))
    unknown = pa.scalar(None, pa.bool_())
    is_in = pc.if_else(pc.is_valid(data), is_in, unknown)
    return is_in if len(present) == len(values) else pc.if_else(is_in, is_in, unknown)


def _extreme(*, largest: bool) -> Compute:
    """greatest and least: nulls are skipped, NaN is the largest. Of equal values it is the first."""
    better = _compare("greater" if largest else "less")

    def compute(node: Expr, operands: list[Data]) -> Data:
        def choose(one: Data, other: Data) -> Data:
            chosen = pc.if_else(pc.fill_null(better(node, [other, one]), False), other, one)
            return pc.coalesce(chosen, other)

        return reduce(choose, operands)

    return compute


def normal_floats(node: Expr, operands: list[Data]) -> Data:
    """Floats with one zero and one NaN."""
    (data,) = operands
    positive = pc.if_else(pc.equal(data, pa.scalar(0.0, data.type)), pa.scalar(0.0, data.type), data)
    return pc.if_else(pc.is_nan(data), pa.scalar(math.nan, data.type), positive)


def _unary(function: Callable[[Data], Data]) -> Compute:
    return lambda node, operands: function(operands[0])


@dataclass(frozen=True)
class Branches(Signature):
    """Pairs of a condition and a value, and perhaps another value."""

    def accepts(self, node: Expr) -> bool:
        asked = node.children[:-1:2] if len(node.children) % 2 else node.children[::2]
        values = [*node.children[1::2], *(node.children[-1:] if len(node.children) % 2 else ())]
        return all(pa.types.is_boolean(each.type) for each in asked) and all(
            family_of(each.type) is self.operands[1].family for each in values
        )


def _each(families: Iterable[Family]) -> list[Signature]:
    return [of(each) for each in families]


_OF_BOOLEANS = [of(Family.BOOLEAN, Family.BOOLEAN)]
declare("EqualTo", "{} = {}", twice(*ORDERED), _EQUAL)
declare("LessThan", "{} < {}", twice(*ORDERED), _compare("less"))
declare("LessThanOrEqual", "{} <= {}", twice(*ORDERED), _compare("less_equal"))
declare("GreaterThan", "{} > {}", twice(*ORDERED), _compare("greater"))
declare("GreaterThanOrEqual", "{} >= {}", twice(*ORDERED), _compare("greater_equal"))
declare("EqualNullSafe", "{} <=> {}", twice(*ORDERED), _null_safe, strict=False)
declare("In", "{} IN ({}, {})", [of(each, many(each)) for each in ORDERED], _in, strict=False)
declare(
    "InSet",
    "{} IN (…)",
    _each([*NUMBERS, Family.STRING, Family.DATE, Family.TIMESTAMP, Family.LOCAL]),
    _in_set,
)
declare("Not", "NOT {}", _each([Family.BOOLEAN]), _unary(pc.invert))
declare("IsNull", "{} IS NULL", _each(ANY), _unary(pc.is_null), strict=False)
declare("IsNotNull", "{} IS NOT NULL", _each(ANY), _unary(pc.is_valid), strict=False)
declare("IsNaN", "isnan({})", _each([Family.FLOAT]), _unary(lambda data: pc.fill_null(pc.is_nan(data), False)))
declare(
    "Greatest", "greatest({}, {})", [of(each, many(each)) for each in ORDERED], _extreme(largest=True), strict=False
)
declare("Least", "least({}, {})", [of(each, many(each)) for each in ORDERED], _extreme(largest=False), strict=False)
declare("NormalizeNaNAndZero", None, _each([Family.FLOAT]), normal_floats)
declare("KnownNullable", None, _each(ANY), _unary(lambda data: data))
declare("KnownNotNull", None, _each(ANY), _unary(lambda data: data))
declare("KnownFloatingPointNormalized", None, _each(ANY), _unary(lambda data: data))

# The evaluation of these decides which rows the operands are evaluated on, so it is part of `flo.sql.nodes`
declare("And", "{} AND {}", _OF_BOOLEANS, None, strict=False)
declare("Or", "{} OR {}", _OF_BOOLEANS, None, strict=False)
declare("Coalesce", "coalesce({}, {})", [of(each, many(each)) for each in ANY], None, strict=False)
declare("If", "if({}, {}, {})", [of(Family.BOOLEAN, each, each) for each in ANY], None, strict=False)
declare(
    "CaseWhen",
    "CASE WHEN {} THEN {} END",
    [Branches(of(Family.BOOLEAN, each).operands) for each in ANY],
    None,
    strict=False,
)

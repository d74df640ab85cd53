"""The expressions of Spark SQL that are computed on Arrow: their classes in Catalyst, operand types and modes.

A class, the types of its operands and its result, and its evaluation mode decide whether an expression is computed.
Each combination that is declared here is held to Spark by a differential test. Everything else is left to Spark.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from flo.columns.nodes import Data as Data

if TYPE_CHECKING:
    from flo.sql.nodes import Expr

Compute: TypeAlias = "Callable[[Expr, list[Data]], Data]"

ANSI, LEGACY, TRY = MODES = ("ANSI", "LEGACY", "TRY")
"""Evaluation modes: an error, Spark 3's lenient result, or null."""


class Family(Enum):
    """Types that expressions treat alike. The value is the name in the documentation."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    LOCAL = "timestamp_ntz"
    INTERVAL = "day-time interval"
    STRUCT = "struct"
    ARRAY = "array"
    NULL = "void"


NUMBERS = (Family.INTEGER, Family.FLOAT, Family.DECIMAL)
SIMPLE = (
    *NUMBERS,
    Family.STRING,
    Family.BOOLEAN,
    Family.DATE,
    Family.TIMESTAMP,
    Family.LOCAL,
    Family.INTERVAL,
)
"""Types of single values that have an order."""


@cache
def family_of(kind: pa.DataType) -> Family | None:
    """Return the family of a type; None if nothing is computed on it."""
    if pa.types.is_decimal128(kind):
        return Family.DECIMAL
    if pa.types.is_timestamp(kind):
        return (Family.LOCAL if kind.tz is None else Family.TIMESTAMP) if kind.unit == "us" else None
    if pa.types.is_struct(kind):
        return Family.STRUCT if all(family_of(field.type) for field in kind) else None
    if pa.types.is_list(kind):
        return Family.ARRAY if family_of(kind.value_type) else None
    return _EXACT.get(kind)


_EXACT = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), Family.INTEGER),
    **dict.fromkeys((pa.float32(), pa.float64()), Family.FLOAT),
    pa.string(): Family.STRING,
    pa.binary(): Family.BINARY,
    pa.bool_(): Family.BOOLEAN,
    pa.date32(): Family.DATE,
    pa.duration("us"): Family.INTERVAL,
    pa.null(): Family.NULL,
}


@dataclass(frozen=True)
class Operand:
    """The family of an operand; whether it must be a constant; whether more of the same may follow."""

    family: Family
    constant: bool = False
    repeated: bool = False

    def accepts(self, node: Expr) -> bool:
        return family_of(node.type) is self.family and (not self.constant or node.name == "Literal")

    def __str__(self) -> str:
        return ("constant " if self.constant else "") + self.family.value + (", …" if self.repeated else "")


@dataclass(frozen=True)
class Signature:
    """The operands of an expression, the family of its result if that is not implied, and its modes."""

    operands: tuple[Operand, ...]
    result: Family | None = None
    modes: tuple[str, ...] = ()
    only: Callable[[Expr], bool] = field(default=lambda node: True, compare=False)
    """Whether it is for this node too, whose operands are of these families."""

    def accepts(self, node: Expr) -> bool:
        if self.result is not None and family_of(node.type) is not self.result:
            return False
        if self.modes and node.option("mode") not in self.modes:
            return False
        operands = self.operands
        if operands and operands[-1].repeated and len(node.children) >= len(operands):
            operands += operands[-1:] * (len(node.children) - len(operands))
        pairs = zip(operands, node.children, strict=False)
        fit = len(operands) == len(node.children) and all(operand.accepts(child) for operand, child in pairs)
        return fit and self.only(node)


@dataclass(frozen=True)
class Function:
    """A class of Catalyst that is computed on Arrow.

    `sql` is how it is written, with a place for each operand, and `try_sql` how it is written to get null for an error.
    Flo's own classes, which no query has, are written in no way. A function that is `strict` is null if an operand is,
    and does not evaluate the operands after a null: in the order `first`, if that is not from left to right.
    """

    name: str
    sql: str | None
    signatures: tuple[Signature, ...]
    compute: Compute | None
    try_sql: str | None = None
    strict: bool = True
    first: tuple[int, ...] = ()


FUNCTIONS: dict[str, Function] = {}


def of(*families: Family | Operand, to: Family | None = None, modes: tuple[str, ...] = ()) -> Signature:
    operands = tuple(each if isinstance(each, Operand) else Operand(each) for each in families)
    return Signature(operands, to, modes)


def constant(family: Family) -> Operand:
    return Operand(family, constant=True)


def many(family: Family) -> Operand:
    return Operand(family, repeated=True)


def twice(*families: Family) -> list[Signature]:
    """Return the signatures of two operands of the same family."""
    return [of(each, each) for each in families]


def declare(
    name: str,
    sql: str | None,
    signatures: Iterable[Signature],
    compute: Compute | None,
    *,
    modes: tuple[str, ...] = (),
    try_sql: str | None = None,
    strict: bool = True,
    first: tuple[int, ...] = (),
) -> None:
    """Declare that a class of Catalyst is computed for these signatures, in these modes where they have no own."""
    accepted = tuple(replace(each, modes=each.modes or modes) for each in signatures)
    assert name not in FUNCTIONS, name
    FUNCTIONS[name] = Function(name, sql, accepted, compute, try_sql, strict, first)


def functions() -> dict[str, Function]:
    """Return all functions by the names of their classes."""
    if not FUNCTIONS:
        importlib.import_module("flo.sql.functions")  # a task has only imported `flo.sql.nodes`
    return FUNCTIONS


LEAVES = ("AttributeReference", "Literal", "ScalarSubquery")
"""Classes without operands. They are computed whatever their type is."""


def is_computed(node: Expr) -> bool:
    """Return whether an expression and all of its parts are computed on Arrow. Otherwise Spark must compute it."""
    return next(not_computed(node), None) is None


def not_computed(node: Expr) -> Iterator[Expr]:
    """Yield the parts of an expression that are not computed on Arrow, given their operands."""
    if node.name not in LEAVES and not _is_declared(node):
        yield node
    for child in node.children:
        yield from not_computed(child)


def _is_declared(node: Expr) -> bool:
    function = functions().get(node.name)
    if function is None or family_of(node.type) is None or node.option("variant") is not None:
        return False  # a variant is a setting of Spark that nothing here follows
    return any(each.accepts(node) for each in function.signatures)


def types_text(node: Expr) -> str:
    """Return the types of a node's operands and its result, and its mode, as text."""
    mode = node.option("mode")
    return f"({', '.join(str(child.type) for child in node.children)}) -> {node.type}" + (f", {mode}" if mode else "")

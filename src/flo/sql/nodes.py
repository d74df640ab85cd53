"""Expressions of Spark SQL as trees: the classes of Catalyst, with their types, evaluated on Arrow columns.

A node has the name of its class in Catalyst, and the type and nullability that Catalyst derived. Which classes are
evaluated here, on which types, is declared in `flo.sql.registry`. Everything else is left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.evaluation import ColumnFunction, InputRows
from flo.columns.node_functions import broadcast
from flo.columns.nodes import NodeValue
from flo.core.errors import ElementError
from flo.sql.java import Java
from flo.sql.registry import Data, Function, functions
from flo.sql.sql_text import sql_text

UNICODE = "unicode"
"""The option with the version of Unicode that Spark knows. It is not shown: a query is the same with a newer Spark."""
TOTAL = frozenset(
    {
        *("AttributeReference", "Literal", "And", "Or", "Not", "If", "CaseWhen", "Coalesce", "In", "InSet"),
        *("EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"),
        *("IsNull", "IsNotNull", "IsNaN", "CreateNamedStruct", "GetStructField"),
    }
)
"""Classes of expressions that give a result for every row, if their operands do."""


class SqlError(ElementError):
    """An error that Spark raises for a row in ANSI mode: `condition` is the name that Spark gives it.

    Fix: batch Spark fails on the same rows: correct the data, or write `try_cast`, `try_add` or `try_divide`.
    """

    def __init__(self, condition: str, summary: str) -> None:
        super().__init__(f"[{condition}] {summary}")
        self.condition = condition


@dataclass(frozen=True)
class Expr(ColumnFunction):
    """An expression of Catalyst. A column has the class `AttributeReference`, and its name as option."""

    name: str
    type: pa.DataType
    nullable: bool
    children: tuple[Expr, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    catalyst: Java = field(default=None, compare=False)
    """The expression in Catalyst itself, in the process that planned the query. None for an expression of Flo."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "catalyst": None}  # tasks cannot reach the driver's Java

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)

    @property
    def ansi(self) -> bool:
        """Whether errors are raised; otherwise the result is null."""
        return bool(self.option("mode") == "ANSI")

    @property
    def column(self) -> str:
        return str(self.option("column"))

    @property
    def is_column(self) -> bool:
        return self.name == "AttributeReference"

    def walk(self) -> Iterator[Expr]:
        yield self
        for child in self.children:
            yield from child.walk()

    @cached_property
    def reads(self) -> frozenset[str]:
        return frozenset(node.column for node in self.walk() if node.is_column)

    @cached_property
    def text(self) -> str:
        if self.is_column:
            return self.column
        parts = [child.text for child in self.children]
        if self.name == "Literal":
            return f"{self.option('value')!r}"
        options = [f"{name}={value!r}" for name, value in self.options if name != UNICODE]
        return f"{self.name}({', '.join([*parts, *options])})" + (f": {self.type}" if self.name == "Cast" else "")

    @property
    def described(self) -> str:
        return sql_text(self)

    @property
    def can_fail(self) -> bool:
        return not all(node.name in TOTAL for node in self.walk())

    def __repr__(self) -> str:
        return self.text

    def evaluate(self, rows: InputRows) -> NodeValue:
        return NodeValue(evaluate(self, rows), self.nullable, self.text)


def column(name: str, kind: pa.DataType, nullable: bool) -> Expr:
    return Expr("AttributeReference", kind, nullable, (), (("column", name),))


MONTHS = pa.month_day_nano_interval()
"""The type of a constant number of months. Columns do not have it."""


class Months(NamedTuple):
    """A constant number of months. Arrow's own `MonthDayNano` cannot be pickled."""

    months: int

    def __str__(self) -> str:
        return f"INTERVAL '{self.months}' MONTH"


def literal(value: Any, kind: pa.DataType) -> Expr:
    return Expr("Literal", kind, value is None, (), (("value", value),))


ZERO = literal(0, pa.int32())


def cast(given: Expr, kind: pa.DataType) -> Expr:
    """Return an expression in another type. A value that does not fit is an error."""
    return given if given.type == kind else Expr("Cast", kind, given.nullable, (given,), (("mode", "ANSI"),))


def is_null(of: Expr) -> Expr:
    return Expr("IsNull", pa.bool_(), False, (of,))


def is_there(of: Expr) -> Expr:
    return Expr("IsNotNull", pa.bool_(), False, (of,))


def combine(name: str, conditions: Iterable[Expr]) -> Expr:
    """Return conditions as one: `And` of all, or `Or`. None of them may be null."""
    return reduce(lambda one, other: Expr(name, pa.bool_(), False, (one, other)), conditions)


def one_row(value: str, count: str, kind: pa.DataType) -> Expr:
    """Return the value of the only row, of these columns. It is an error if there are several."""
    return Expr("OneRow", kind, True, (column(value, kind, True), column(count, pa.int64(), True)))


def replace_nodes(node: Expr, others: dict[Expr, Expr]) -> Expr:
    """Return the expression with some of its parts replaced by others."""
    if node in others:
        return others[node]
    children = tuple(replace_nodes(child, others) for child in node.children)
    return node if children == node.children else replace(node, children=children)


def is_opaque(kind: pa.DataType) -> bool:
    """Return whether only Spark has values of this type."""
    return isinstance(kind, pa.OpaqueType)


def evaluate(node: Expr, rows: InputRows) -> Data:
    """Return the results for every row; one value if it is the same for all. Without rows, nothing can fail."""
    if not rows.count:
        return pa.nulls(0, node.type)
    match node.name:
        case "AttributeReference":
            data = rows.column(node.column).data
            return data if data.type == node.type or pa.types.is_nested(node.type) else data.cast(node.type)
        case "Literal":
            return pa.scalar(node.option("value"), node.type)
        case "CaseWhen" | "If":
            return _choose(node, list(node.children), rows)
        case "And" | "Or":
            return _combine(node, rows)
        case "Coalesce":
            return _first_present(node, rows)
    function = functions()[node.name]
    try:
        operands = [evaluate(child, rows) for child in node.children]
    except ElementError:
        if node.name == "In":
            return evaluate(_in_branches(node), rows)
        if not function.strict:
            raise
        return _up_to_null(node, function, rows)
    return _compute(node, function, operands)


def _compute(node: Expr, function: Function, operands: list[Data]) -> Data:
    """Return the results of a function. It gets at least one array."""
    assert function.compute is not None
    if all(isinstance(each, pa.Scalar) for each in operands):
        first, *others = operands
        return function.compute(node, [pa.repeat(first, 1), *others])[0]
    return function.compute(node, operands)


def _up_to_null(node: Expr, function: Function, rows: InputRows) -> Data:
    """Return the results of a function one operand of which failed: a row with a null does not reach the next."""
    order = function.first or range(len(node.children))
    for place in order:
        data = as_array(evaluate(node.children[place], rows), rows.count)
        if data.null_count:
            return _by_mask(
                pc.is_valid(data),
                rows,
                lambda some: evaluate(node, some),
                lambda some: pa.scalar(None, node.type),
                node.type,
            )
    raise AssertionError("an operand failed, and then it did not")


def as_array(data: Data, count: int) -> pa.Array:
    return broadcast(data, count)


def _choose(node: Expr, parts: list[Expr], rows: InputRows) -> Data:
    """CASE: each branch is evaluated only on the rows that reach it, as an error in another row does not count."""
    if len(parts) == 1:
        return evaluate(parts[0], rows)
    if not parts:
        return pa.scalar(None, node.type)
    condition, then, *other = parts
    mask = as_array(pc.fill_null(evaluate(condition, rows), False), rows.count)
    return _by_mask(mask, rows, lambda some: evaluate(then, some), lambda some: _choose(node, other, some), node.type)


def _by_mask(
    mask: pa.Array,
    rows: InputRows,
    where: Callable[[InputRows], Data],
    elsewhere: Callable[[InputRows], Data],
    kind: pa.DataType,
) -> pa.Array:
    """Return `where` of the rows in the mask and `elsewhere` of the others."""
    some = pc.sum(mask, min_count=0).as_py() if len(mask) else 0
    if rows.count and some == rows.count:
        return as_array(where(rows), rows.count)
    if rows.count and not some:
        return as_array(elsewhere(rows), rows.count)
    others = pc.invert(mask)
    parts = [
        as_array(each(rows.only(one)), count)
        for each, one, count in ((where, mask, some), (elsewhere, others, rows.count - some))
    ]
    first, second = (pc.subtract(pc.cumulative_sum(pc.cast(one, pa.int64())), 1) for one in (mask, others))
    places = pc.if_else(mask, first, pc.add(second, some))
    return pa.concat_arrays([part if part.type == kind else part.cast(kind) for part in parts]).take(places)


def _combine(node: Expr, rows: InputRows) -> Data:
    """AND, OR: the right side is not evaluated where the left decides."""
    kleene = pc.and_kleene if node.name == "And" else pc.or_kleene
    left = evaluate(node.children[0], rows)
    try:
        return kleene(left, evaluate(node.children[1], rows))
    except ElementError:
        decided = pc.equal(left, pa.scalar(node.name == "Or"))
        mask = as_array(pc.fill_null(decided, False), rows.count)
        right = _by_mask(
            mask,
            rows,
            lambda some: pa.scalar(node.name == "Or"),
            lambda some: evaluate(node.children[1], some),
            pa.bool_(),
        )
        return kleene(as_array(left, rows.count), right)


def _first_present(node: Expr, rows: InputRows) -> Data:
    if not pa.types.is_nested(node.type):
        try:
            return pc.coalesce(*(evaluate(child, rows) for child in node.children))
        except ElementError:
            pass
    first, *others = node.children
    values = as_array(evaluate(first, rows), rows.count)
    if not others:
        return values
    rest = Expr(node.name, node.type, node.nullable, tuple(others))
    return _by_mask(
        pc.is_valid(values), rows, lambda some: evaluate(first, some), lambda some: evaluate(rest, some), node.type
    )


def _in_branches(node: Expr) -> Expr:
    """Return IN as a chain of OR: a value is compared with one item after the other, until they are equal."""
    value, *items = node.children
    equal = [Expr("EqualTo", pa.bool_(), True, (value, item)) for item in items]
    is_item = reduce(lambda rest, one: Expr("Or", pa.bool_(), True, (one, rest)), reversed(equal))
    unknown = is_null(value)
    return Expr("If", pa.bool_(), True, (unknown, literal(None, pa.bool_()), is_item))

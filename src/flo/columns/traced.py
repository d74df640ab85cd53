"""Python functions of rows as column expressions, where both give the same for every row.

The source of the function is translated, nothing is called. Only what Python and columns compute alike is translated:
columns without nulls, arithmetic and comparisons of ints and floats, comparisons of texts and times, `and`, `or`, `not`
and conditions of bools, and division by a constant that is not zero. If an integer leaves 64 bits, where Python goes
on, the function itself is called.
"""

from __future__ import annotations

import ast
from datetime import date, datetime
from functools import reduce
from operator import and_, or_
from types import FunctionType
from typing import Any, get_args

import narwhals as nw

from flo.columns.cell import fields_of
from flo.columns.expression import Expression
from flo.columns.function_types import Declared, KnownObject, _Body, returned_expression
from flo.columns.known_types import COMPARISONS, OPERATIONS, Unclear
from flo.columns.layout import VALUE, Layout
from flo.core.elements import returned_type
from flo.core.errors import FloError
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, TypeForm

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult)
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
_ORDERED = (str, date, datetime)
_LITERALS = (bool, int, float, str, date, datetime)


class TracedExpression(Expression):
    """A function of rows that is computed as columns. `traced_from` is called for rows that columns cannot compute."""

    traced_from: Any

    def __init__(self, given: object, inputs: tuple[Layout, ...], kind: TypeForm, function: AnyFunction) -> None:
        super().__init__(given, inputs, kind)
        self.traced_from = function
        self.__name__ = function.__name__  # a program names the function, as if it were called
        self.__qualname__ = function.__qualname__

    @property
    def stands_for(self) -> Any:
        """The user's function."""
        return self.traced_from

    @property
    def __code__(self) -> Any:
        return self.traced_from.__code__


def trace_function(function: Any, element: object) -> TracedExpression | None:
    """Return the function of such elements as columns; None if it cannot be one."""
    plain = function.__wrapped__ if isinstance(function, Declared) else function
    if Layout.of(element) is None or not isinstance(plain, FunctionType) or isinstance(function, Expression):
        return None
    try:
        return expect_traced(function, element)
    except (Unclear, FloError, TypeError, ValueError, OverflowError):
        return None


def expect_traced(function: AnyFunction, element: object) -> TracedExpression:
    """Return the function of such elements as columns. Raises, with the reason, if it cannot be one."""
    layout, kind = Layout.expect(element), returned_type(function)
    plain: Any = function.__wrapped__ if isinstance(function, Declared) else function
    given = _ColumnTranslation(plain, element, layout).columns()
    traced = TracedExpression(given, (layout,), None if kind is Any else kind, plain)
    own, declared = Expression(given, (layout,)), Layout.of(traced.kind)
    if declared is None or own.layout.schema.types != declared.schema.types:
        raise Unclear("columns have another type than its results")
    if any(field.nullable for field in own.schema):
        raise Unclear("columns may be null where Python raises")
    return traced


class _ColumnTranslation(_Body):
    """Translates the body of a function with one parameter."""

    def __init__(self, function: FunctionType, element: object, layout: Layout) -> None:
        super().__init__(function, 0)
        self.layout = layout
        self.element = element
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        if len(names) != 1:
            raise Unclear("it takes other arguments")
        (self.parameter,) = names
        self.names[self.parameter] = element

    def columns(self) -> Any:
        """Return the results as columns: one, a tuple, or a dict for rows."""
        body = returned_expression(self.source)
        match body:
            case ast.Tuple(parts):
                return tuple(map(self.column, parts))
            case ast.Call(row, given, named) if self._is_row(row):
                fields = list(fields_of(self._thing(row)) or {})
                by_name = dict(zip(fields, given, strict=False)) | {str(each.arg): each.value for each in named}
                if list(by_name) != fields:
                    raise Unclear("a field has a default")
                return {name: self.column(each) for name, each in by_name.items()}
        return self.column(body)

    def _thing(self, node: ast.expr) -> Any:
        try:
            value = self.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        except Unclear:
            return None
        return value.thing if isinstance(value, KnownObject) else None

    def _is_row(self, node: ast.expr) -> bool:
        row = self._thing(node)
        plain = isinstance(row, type) and issubclass(row, tuple) and "__new__" in vars(row)
        return plain and "__init__" not in vars(row) and bool(fields_of(row))

    def column(self, node: ast.expr) -> Any:
        """Return an expression as a column. Raises Unclear if Python might compute something else."""
        match node:
            case ast.Attribute(ast.Name(name), column) if name == self.parameter:
                return self._own(column)
            case ast.Name(name) if name == self.parameter and self.layout.form == "value":
                return self._own(VALUE)
            case ast.BinOp(left, sign, right) if type(sign) in _ARITHMETIC:
                self._expect(node, left, right, among=(int, float))
                return OPERATIONS[type(sign)][1](self.column(left), self.column(right))
            case ast.BinOp(left, sign, right) if type(sign) in _DIVISIONS:
                return self._divided(node, left, sign, right)
            case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
                self._expect(node, operand, among=(int, float))
                return -self.column(operand)
            case ast.UnaryOp(ast.Not(), operand):
                self._expect(node, operand, among=(bool,))
                return ~self.column(operand)
            case ast.Compare(left, signs, others):
                pairs = zip([left, *others[:-1]], signs, others, strict=True)
                return reduce(and_, (self._compared(*pair) for pair in pairs))
            case ast.BoolOp(sign, parts):
                self._expect(node, *parts, among=(bool,))
                return reduce(and_ if isinstance(sign, ast.And) else or_, map(self.column, parts))
            case ast.IfExp(test, body, orelse):
                self._expect(node, test, among=(bool,))
                if self._exact(body) != self._exact(orelse):
                    raise Unclear("its branches have different types")
                return nw.when(self.column(test)).then(self.column(body)).otherwise(self.column(orelse))
            case ast.Call(ast.Name("abs"), [operand], []) if self._thing(node.func) is abs:
                self._expect(node, operand, among=(int, float))
                return self.column(operand).abs()
            case ast.Call(ast.Attribute(text, "startswith" | "endswith" as name), [ast.Constant(str(part))], []):
                self._expect(node, text, among=(str,))
                strings = self.column(text).str
                return strings.starts_with(part) if name == "startswith" else strings.ends_with(part)
        return self._literal(node)

    def _own(self, name: str) -> Any:
        if name not in self.layout.names:
            raise Unclear(f"there is no column `{name}`")
        cell = self.layout.cells[self.layout.names.index(name)]
        if cell.nullable:
            raise Unclear(f"`{name}` may be None")
        if cell.kind not in _LITERALS:
            raise Unclear(f"Python has other rules for `{name}`, {type_name(cell.kind)}")
        return nw.col(name)

    def _literal(self, node: ast.expr) -> Any:
        try:
            value = self.value(node)
        except Unclear:
            value = None
        if isinstance(value, KnownObject) and type(value.thing) in _LITERALS:
            zoned = isinstance(value.thing, datetime) and value.thing.tzinfo is not None
            if not zoned and (type(value.thing) is not int or -(2**63) <= value.thing < 2**63):
                return nw.lit(value.thing)
        raise Unclear(f"columns may compute `{ast.unparse(node)}` in another way")

    def _exact(self, node: ast.expr) -> Any:
        """Return the type, if it is certain."""
        kind = self.kind(node)
        if type(None) in get_args(kind):
            raise Unclear(f"`{ast.unparse(node)}` may be None")
        if kind not in _LITERALS:
            raise Unclear(f"`{ast.unparse(node)}` is not a plain value")
        return kind

    def _expect(self, node: ast.expr, *operands: ast.expr, among: tuple[type, ...]) -> None:
        for operand in operands:
            if self._exact(operand) not in among:
                raise Unclear(f"Python has other rules for `{ast.unparse(node)}`")

    def _divided(self, node: ast.expr, left: ast.expr, sign: ast.operator, right: ast.expr) -> Any:
        divisor = self.value(right)
        if not isinstance(divisor, KnownObject) or not divisor.thing:
            raise Unclear("it may divide by zero")
        real = isinstance(sign, ast.Div)
        self._expect(node, left, right, among=(int, float) if real else (int,))
        if real and self._exact(left) is int and self._exact(right) is int:
            raise Unclear("Python rounds quotients of integers once")
        return OPERATIONS[type(sign)][1](self.column(left), self.column(right))

    def _compared(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Any:
        if isinstance(sign, (ast.Is, ast.IsNot)):
            raise Unclear(f"`{ast.unparse(left)}` may be None")
        if type(sign) not in COMPARISONS:
            raise Unclear("it has a comparison that columns do not have")
        one, other = self._exact(left), self._exact(right)
        numbers = {one, other} <= {int, float}
        alike = one is other and (one in _ORDERED or (one is bool and isinstance(sign, (ast.Eq, ast.NotEq))))
        if not (numbers or alike):
            raise Unclear("Python compares these types in another way")
        return COMPARISONS[type(sign)](self.column(left), self.column(right))

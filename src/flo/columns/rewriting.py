"""Why a Python function of rows is called row by row, and what to write instead: the same as columns, if it has one.

A suggestion is shown only if it builds on the columns of the rows. It may differ from the function for nulls: columns
give null where an operand is null, and Python raises.
"""

from __future__ import annotations

import ast
import copy
from types import FunctionType
from typing import Any

import narwhals as nw

from flo.columns.expression import Expression
from flo.columns.function_types import Declared, returned_expression
from flo.columns.known_types import Unclear
from flo.columns.layout import VALUE, Layout
from flo.columns.traced import expect_traced
from flo.core.errors import FloError
from flo.core.labels import source_of
from flo.core.untyped import AnyFunction

_CALLS = {
    "upper": "str.to_uppercase",
    "lower": "str.to_lowercase",
    "strip": "str.strip_chars",
    "startswith": "str.starts_with",
    "endswith": "str.ends_with",
    "replace": "str.replace_all",
    "date": "dt.date",
}
"""Methods of Python's values, and those of columns that do the same."""
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_BOUND = {ast.And: ast.BitAnd, ast.Or: ast.BitOr}


def why_row_by_row(function: AnyFunction, element: object) -> str:
    """Return why a function of such elements does not run on columns."""
    plain = plain_function(function)
    if Layout.of(element) is None:
        return "its rows have no columns"
    if not isinstance(plain, FunctionType):
        return "it is not a function written in Python"
    try:
        expect_traced(function, element)
    except Unclear as why:
        return str(why)
    except (FloError, TypeError, ValueError, OverflowError) as error:
        return str(error).strip().splitlines()[0]
    return "here functions are always called for each row"


def suggest_columns(function: AnyFunction, element: object) -> str | None:
    """Return columns that compute the same as the function, as the user would write them; None if there are none."""
    layout, plain = Layout.of(element), plain_function(function)
    source = source_of(plain.__code__) if isinstance(plain, FunctionType) else None
    if layout is None or source is None or len(source.args.args) != 1:
        return None
    try:
        body = copy.deepcopy(returned_expression(source))
        text = ast.unparse(ast.fix_missing_locations(_ToColumns(source.args.args[0].arg, layout).visit(body)))
        text = text.replace("'", '"')
        if "nw." not in text:
            return None
        Expression(eval(text, {"nw": nw}), (layout,))  # it is text that was made here, of names and operators
    except Exception:  # anything that columns do not have
        return None
    return text


def plain_function(function: AnyFunction) -> Any:
    return function.__wrapped__ if isinstance(function, Declared) else function


class _ToColumns(ast.NodeTransformer):
    """Rewrites an expression of a row as one of columns. Raises for all that has no counterpart."""

    def __init__(self, row: str, layout: Layout) -> None:
        self.row, self.layout = row, layout

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.row:
            return _column(node.attr)
        if node.attr in _PARTS:
            return _call(self.visit(node.value), f"dt.{node.attr}")
        raise Unclear(f"`{ast.unparse(node)}` has no column")

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self.row and self.layout.form == "value":
            return _column(VALUE)
        raise Unclear(f"`{node.id}` has no column")

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node.ops, node.comparators:
            case [ast.Is()], [ast.Constant(None)]:
                return _call(self.visit(node.left), "is_null")
            case [ast.IsNot()], [ast.Constant(None)]:
                return ast.UnaryOp(ast.Invert(), _call(self.visit(node.left), "is_null"))
            case [ast.In()], [ast.Tuple(parts) | ast.List(parts) | ast.Set(parts)]:
                return _call(self.visit(node.left), "is_in", ast.List(parts, ast.Load()))
            case [sign], [other] if not isinstance(sign, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
                return ast.Compare(self.visit(node.left), [sign], [self.visit(other)])
        raise Unclear(f"`{ast.unparse(node)}` has no column")

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        match node:
            case ast.BoolOp(ast.Or(), [value, ast.Constant(int() | float() | str()) as default]) if not isinstance(
                default.value, bool
            ):
                return _call(self.visit(value), "fill_null", default)
        combined: ast.expr = self.visit(node.values[0])
        for each in node.values[1:]:
            combined = ast.BinOp(combined, _BOUND[type(node.op)](), self.visit(each))
        return combined

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = node.operand if isinstance(node.operand, ast.Constant) else self.visit(node.operand)
        return ast.UnaryOp(ast.Invert() if isinstance(node.op, ast.Not) else node.op, operand)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        chosen = ast.Call(ast.Attribute(ast.Name("nw"), "when"), [self.visit(node.test)], [])
        return _call(_call(chosen, "then", self._value(node.body)), "otherwise", self._value(node.orelse))

    def _value(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant):
            return ast.Call(ast.Attribute(ast.Name("nw"), "lit"), [node], [])
        column: ast.expr = self.visit(node)
        return column

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Name("abs"), [value], []):
                return _call(self.visit(value), "abs")
            case ast.Call(ast.Name("len"), [value], []):
                return _call(self.visit(value), "str.len_chars")
            case ast.Call(ast.Name("round"), [value, ast.Constant() as digits], []):
                return _call(self.visit(value), "round", digits)
            case ast.Call(ast.Attribute(value, name), given, []) if name in _CALLS and all(
                isinstance(each, ast.Constant) for each in given
            ):
                return _call(self.visit(value), _CALLS[name], *given)
        raise Unclear(f"`{ast.unparse(node)}` has no column")

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.BinOp, ast.Tuple, ast.Constant, ast.operator, ast.expr_context)):
            return super().generic_visit(node)
        raise Unclear("there is no column like this")


def _column(name: str) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name("nw"), "col"), [ast.Constant(name)], [])


def _call(value: ast.expr, path: str, *given: ast.expr) -> ast.expr:
    for part in path.split("."):
        value = ast.Attribute(value, part)
    return ast.Call(value, list(given), [])

"""The return type of a function without annotations, derived from its source and its argument types.

This is for lambdas, which cannot be annotated, and for functions that only return an expression; others say what they
return. Nothing is called and no values are used: every part of the expression gets a type, including both branches of
every condition. If the type of a part is not certain, the type of the result is unclear.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import inspect
import operator
import sys
import typing
from collections.abc import Hashable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import FunctionType, MethodDescriptorType, ModuleType, NoneType
from typing import Any, get_origin
from uuid import UUID

from flo.columns.cell import fields_of
from flo.columns.known_types import (
    ATTRIBUTES,
    COMPARISONS,
    FUNCTIONS,
    GIVES,
    METHODS,
    OPERATIONS,
    Unclear,
    binary_type,
    indexed_type,
    is_fixed_tuple,
    item_type_at,
    items_of,
    members,
    unary_type,
    union_of,
)
from flo.core.elements import returned_type
from flo.core.labels import label, source_of
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, TypeForm
from flo.values.exact import plain_type

DEEP = 8
"""The maximum depth of nested calls."""
_CONSTANTS = (bool, int, float, str, bytes, Decimal, date, datetime, time, timedelta, UUID, NoneType)
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


@dataclasses.dataclass(frozen=True, eq=False)
class KnownObject:
    """An object that the function refers to: a constant, a class, a module, another function."""

    thing: Any


class Declared:
    """A user's function with a derived return type."""

    derived = True

    def __init__(self, function: AnyFunction, returns: Any) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", None) or label(function)
        self.returns = returns  # read by `returned_type`

    def __call__(self, *arguments: object) -> Any:
        return self.__wrapped__(*arguments)

    @property
    def stands_for(self) -> Any:
        """The user's function."""
        return self.__wrapped__

    def __getattr__(self, name: str) -> Any:
        """Delegate to the user's function: its name, its code."""
        if name == "__wrapped__":  # not set yet while unpickling
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __reduce__(self) -> Any:
        return Declared, (self.__wrapped__, self.returns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Declared) and (other.__wrapped__, other.returns) == (self.__wrapped__, self.returns)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)


def result_type(function: Any, arguments: tuple[object, ...], deep: int = 0) -> TypeForm:
    """Return the type of the result for arguments of these types; raises Unclear."""
    if not isinstance(function, Hashable) or deep > DEEP:
        raise Unclear("its calls are nested too deeply" if deep > DEEP else "it is not hashable")
    if function in GIVES:
        return GIVES[function]
    if function in FUNCTIONS:
        return _asked(FUNCTIONS[function], function, arguments, {})
    said = returned_type(function)
    if said is not Any:
        return said
    if isinstance(function, functools.partial) and not function.keywords:
        return result_type(function.func, (*map(constant_type, function.args), *arguments), deep)
    if isinstance(function, MethodDescriptorType):
        return _method(function.__objclass__, function.__name__)
    if isinstance(function, operator.itemgetter):
        indices = function.__reduce__()[1]
        items = [item_type_at(arguments[0], index) for index in indices]
        return items[0] if len(items) == 1 else tuple[tuple(items)]  # type: ignore[misc]
    if isinstance(function, FunctionType):
        return _Body(function, deep).result(arguments)
    raise Unclear(f"`{label(function)}` has no return annotation")


def constant_type(thing: Any) -> TypeForm:
    """Return the type of a constant."""
    kind = type(thing)
    if kind in _CONSTANTS or isinstance(thing, Enum):
        return kind
    if kind is tuple and thing:
        return tuple[tuple(map(constant_type, thing))]  # type: ignore[misc]
    if fields_of(kind) is not None and not isinstance(thing, type):
        return kind
    raise Unclear(f"the element type of a {kind.__name__} is unknown")


def _asked(rule: Any, function: Any, kinds: tuple[TypeForm, ...], named: dict[str, Any]) -> Any:
    try:
        return rule(*kinds, **named)
    except TypeError:  # arguments that the rule does not support
        raise Unclear(f"the type of `{label(function)}` with these arguments is unknown") from None


def _method(kind: TypeForm, name: str) -> Any:
    if (kind, name) not in METHODS:
        raise Unclear(f"the return type of `{name}` of {type_name(kind)} is unknown")
    return METHODS[kind, name]


def returned_expression(source: ast.Lambda | ast.FunctionDef) -> ast.expr:
    """Return the expression that a function returns; raises Unclear if it does anything else."""
    match source:
        case (
            ast.Lambda(_, body)
            | ast.FunctionDef(
                body=[ast.Return(ast.expr() as body)] | [ast.Expr(ast.Constant()), ast.Return(ast.expr() as body)]
            )
        ):
            return body
    raise Unclear("it has statements")


class _Body:
    """The body of one function, with the types of its variables."""

    def __init__(self, function: FunctionType, deep: int) -> None:
        source = source_of(function.__code__)
        if source is None:
            raise Unclear("its source is not available")
        if any(isinstance(node, ast.NamedExpr) for node in ast.walk(source)):
            raise Unclear("it uses `:=`")
        self.function = function
        self.source = source
        self.deep = deep
        self.names: dict[str, Any] = {}
        self.narrowed: dict[str, Any] = {}
        """Types of expressions that a condition narrows, by their text."""

    def result(self, arguments: tuple[Any, ...]) -> Any:
        try:
            bound = inspect.signature(self.function).bind(*arguments)
        except TypeError:
            raise Unclear("it takes other arguments") from None
        for name, parameter in bound.signature.parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                raise Unclear(f"its parameter `{name}` is variadic or keyword-only")
            self.names[name] = bound.arguments.get(name, KnownObject(parameter.default))
        return self.kind(returned_expression(self.source))

    def assign(self, target: ast.expr, kind: TypeForm) -> None:
        match target:
            case ast.Name(name):
                self.names[name] = kind
                self.narrowed = {}
            case ast.Tuple(targets) if not any(isinstance(each, ast.Starred) for each in targets):
                for index, each in enumerate(targets):
                    self.assign(each, item_type_at(kind, index))
            case _:
                raise Unclear(f"line {target.lineno} assigns to something other than a name")

    def facts(self, test: ast.expr, holds: bool) -> dict[str, Any]:
        """Return the expressions that are not None if the test holds, or if it does not."""
        match test:
            case ast.UnaryOp(ast.Not(), inner):
                return self.facts(inner, not holds)
            case ast.BoolOp(sign, parts) if isinstance(sign, ast.And) is holds:
                return {text: kind for part in parts for text, kind in self.facts(part, holds).items()}
            case ast.Compare(left, [ast.Is() | ast.IsNot() as sign], [ast.Constant(None)]):
                return self._without_none(left) if isinstance(sign, ast.IsNot) is holds else {}
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._without_none(test) if holds else {}
        return {}

    def _without_none(self, expression: ast.expr) -> dict[str, Any]:
        rest = [each for each in members(self.kind(expression)) if each is not NoneType]
        return {ast.unparse(expression): union_of(*rest)} if rest else {}

    def within(self, test: ast.expr, holds: bool, expression: ast.expr) -> Any:
        """Return the type of an expression where the test holds, or does not."""
        before = self.narrowed
        self.narrowed = {**before, **self.facts(test, holds)}
        try:
            return self.kind(expression)
        finally:
            self.narrowed = before

    def as_kind(self, value: object) -> TypeForm:
        return constant_type(value.thing) if isinstance(value, KnownObject) else value

    def kind(self, node: ast.expr) -> Any:
        """Return the type of an expression."""
        return self.as_kind(self.value(node))

    def value(self, node: ast.expr) -> Any:
        """Return the type of an expression, or the object itself if it is known."""
        if self.narrowed and (text := ast.unparse(node)) in self.narrowed:
            return self.narrowed[text]
        match node:
            case ast.Constant(value):
                return KnownObject(value)
            case ast.Name(name):
                return self.name(name)
            case ast.Attribute(base, name):
                return self.attribute(self.value(base), name)
            case ast.Subscript(base, index):
                return self.subscript(self.kind(base), index)
            case ast.UnaryOp(ast.Not(), _):
                return bool
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)) if not isinstance(value, bool):
                return KnownObject(-value)
            case ast.UnaryOp(sign, operand):
                return unary_type(_UNARY[type(sign)], self.kind(operand))
            case ast.BinOp(left, sign, right):
                return self.operated(sign, self.kind(left), right)
            case ast.BoolOp(sign, parts):
                return self.chosen(isinstance(sign, ast.And), parts)
            case ast.Compare(left, signs, others):
                return self.compared([left, *others], signs)
            case ast.IfExp(test, body, orelse):
                return union_of(self.within(test, True, body), self.within(test, False, orelse))
            case ast.Tuple(parts):
                return tuple[tuple(map(self.kind, parts))]  # type: ignore[misc]
            case ast.List(parts) if parts:
                return list[union_of(*map(self.kind, parts))]  # type: ignore[misc]
            case ast.JoinedStr():
                return str
            case ast.ListComp(element, loops):
                return list[self.looped(element, loops)]  # type: ignore[misc]
            case ast.GeneratorExp(element, loops):
                return Iterable[self.looped(element, loops)]  # type: ignore[misc]
            case ast.Call(function, given, named):
                return self.called(function, given, named)
        raise Unclear(f"the type of `{ast.unparse(node)}` is not certain")

    def name(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        code, function = self.function.__code__, self.function
        if name in code.co_freevars:
            try:
                return KnownObject((function.__closure__ or ())[code.co_freevars.index(name)].cell_contents)
            except ValueError:
                raise Unclear(f"`{name}` has no value yet") from None
        if name in code.co_varnames:
            raise Unclear(f"`{name}` may be unassigned")
        builtins = function.__globals__.get("__builtins__", {})
        scope = function.__globals__ if name in function.__globals__ else getattr(builtins, "__dict__", builtins)
        if name not in scope:
            raise Unclear(f"there is no `{name}`")
        module = sys.modules.get(function.__module__)
        if scope is function.__globals__ and name in getattr(module, "__annotations__", {}):
            with contextlib.suppress(Exception):  # unresolvable annotations
                return typing.get_type_hints(module)[name]
        return KnownObject(scope[name])

    def attribute(self, base: object, name: str) -> Any:
        if isinstance(base, KnownObject) and isinstance(base.thing, (ModuleType, type)):
            if not hasattr(base.thing, name):
                raise Unclear(f"`{label(base.thing)}` has no `{name}`")
            return KnownObject(getattr(base.thing, name))
        return union_of(*(_field(each, name) for each in members(self.as_kind(base)) if each is not NoneType))

    def subscript(self, kind: TypeForm, index: ast.expr) -> Any:
        if isinstance(index, ast.Slice):
            bounds = [None if each is None else self.value(each) for each in (index.lower, index.upper, index.step)]
            if all(each is None or isinstance(each, KnownObject) for each in bounds):
                return item_type_at(kind, slice(*(each and each.thing for each in bounds)))
            return union_of(*(indexed_type(each, is_slice=True) for each in members(kind) if each is not NoneType))
        place = self.value(index)
        if isinstance(place, KnownObject):
            return item_type_at(kind, place.thing)
        return union_of(*(indexed_type(each, is_slice=False) for each in members(kind) if each is not NoneType))

    def operated(self, sign: ast.operator, left: object, right: ast.expr) -> Any:
        other = self.value(right)
        exponent = other.thing if isinstance(other, KnownObject) else None
        if type(sign) not in OPERATIONS:
            raise Unclear(f"`{type(sign).__name__}` is not supported")
        return binary_type(OPERATIONS[type(sign)][0], left, self.as_kind(other), exponent)

    def chosen(self, both: bool, parts: list[ast.expr]) -> Any:
        """`a and b` returns a if that is false, else b; `a or b` returns a if that is true, else b."""
        first, *others = parts
        if not others:
            return self.kind(first)
        rest = ast.BoolOp(ast.And() if both else ast.Or(), others)
        kept = [each for each in members(self.kind(first)) if (_may_be_false(each) if both else each is not NoneType)]
        return union_of(*kept, self.within(first, both, rest))

    def compared(self, sides: list[ast.expr], signs: list[ast.cmpop]) -> Any:
        for left, sign, right in zip(sides, signs, sides[1:], strict=False):
            if type(sign) in COMPARISONS:
                for each in (left, right):
                    _expect_truth(self.kind(each), f"__{COMPARISONS[type(sign)].__name__}__")
        return bool

    def looped(self, element: ast.expr, loops: list[ast.comprehension]) -> Any:
        before = self.names, self.narrowed
        self.names, self.narrowed = dict(self.names), dict(self.narrowed)
        for loop in loops:
            self.assign(loop.target, items_of(self.kind(loop.iter)))
            for test in loop.ifs:
                self.narrowed = {**self.narrowed, **self.facts(test, True)}
        kind = self.kind(element)
        self.names, self.narrowed = before
        return kind

    def called(self, function: ast.expr, given: list[ast.expr], named: list[ast.keyword]) -> Any:
        if any(isinstance(each, ast.Starred) for each in given) or any(each.arg is None for each in named):
            raise Unclear(f"`{ast.unparse(function)}` is called with `*` or `**`")
        if isinstance(function, ast.Attribute):
            base = self.value(function.value)
            if not (isinstance(base, KnownObject) and isinstance(base.thing, (ModuleType, type))):
                of = [each for each in members(self.as_kind(base)) if each is not NoneType]
                return union_of(*(self.method(each, function.attr, given, named) for each in of))
        target = self.value(function)
        if not isinstance(target, KnownObject):
            raise Unclear(f"the return type of `{ast.unparse(function)}` is unknown")
        thing = target.thing
        if not isinstance(thing, Hashable):
            raise Unclear(f"the return type of `{ast.unparse(function)}` is unknown")
        if thing in GIVES:
            return GIVES[thing]
        if isinstance(thing, type) and thing not in FUNCTIONS:
            if fields_of(thing) is None and not issubclass(thing, (Enum, UUID)):
                raise Unclear(f"{thing.__name__} is not a row type")
            if getattr(thing, "__parameters__", ()):
                raise Unclear(f"{thing.__name__} is generic, and a call does not give its parameters")
            return thing
        said = returned_type(thing)
        if said is not Any and thing not in FUNCTIONS:
            return said
        kinds = tuple(self.kind(each) for each in given)
        if thing in FUNCTIONS:
            by_name = {str(each.arg): None if each.arg == "key" else self.kind(each.value) for each in named}
            return _asked(FUNCTIONS[thing], thing, kinds, by_name)
        if named:
            raise Unclear(f"`{ast.unparse(function)}` has keyword arguments and no return annotation")
        return result_type(thing, kinds, self.deep + 1)

    def method(self, kind: TypeForm, name: str, given: list[ast.expr], named: list[ast.keyword]) -> Any:
        if (plain_type(kind), name) in METHODS:
            return METHODS[plain_type(kind), name]
        if name == "_replace" and hasattr(kind, "_fields"):
            return kind
        function = inspect.getattr_static(get_origin(kind) or kind, name, None)
        if isinstance(function, FunctionType) and returned_type(function) is not Any:
            return returned_type(function)
        if isinstance(function, FunctionType) and not named:
            return result_type(function, (kind, *(self.kind(each) for each in given)), self.deep + 1)
        if isinstance(function, (staticmethod, classmethod)) and returned_type(function.__func__) is not Any:
            return returned_type(function.__func__)
        return _method(kind, name)


def _field(kind: TypeForm, name: str) -> Any:
    """Return the type of an attribute."""
    fields = fields_of(kind) or {}
    if name in fields:
        return fields[name]
    if (plain_type(kind), name) in ATTRIBUTES:
        return ATTRIBUTES[plain_type(kind), name]
    plain = get_origin(kind) or kind
    if isinstance(plain, type) and issubclass(plain, Enum) and name in ("name", "value"):
        return str if name == "name" else union_of(*(constant_type(member.value) for member in plain))
    attribute = inspect.getattr_static(plain, name, None)
    function = getattr(attribute, "fget", None) or getattr(attribute, "func", None)
    if isinstance(attribute, (property, functools.cached_property)) and function is not None:
        return result_type(function, (kind,), 1)
    raise Unclear(f"the type of `{name}` of {type_name(kind)} is unknown")


def _may_be_false(kind: Any) -> bool:
    plain = get_origin(kind) or kind
    if plain in (date, datetime) or is_fixed_tuple(kind):
        return False
    is_row = fields_of(kind) is not None and not typing.is_typeddict(kind)
    return not (is_row and "__bool__" not in vars(plain) and (issubclass(plain, tuple) or "__len__" not in vars(plain)))


def _expect_truth(kind: TypeForm, method: str) -> None:
    """Raise if a class defines a comparison that may not return a bool."""
    for each in members(kind):
        function = inspect.getattr_static(get_origin(each) or each, method, None)
        generated = isinstance(function, FunctionType) and function.__code__.co_filename.startswith("<")
        if isinstance(function, FunctionType) and not generated and returned_type(function) is not bool:
            raise Unclear(f"`{method}` of {type_name(each)} is not annotated to return bool")

"""Reads the rule names in an operator's code, so that a report can list the rules that never fired."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from types import FunctionType
from typing import Any

from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.values.element_value import ElementCollection
from flo.values.lvar import LVar

Names = set[str]
REMEMBERED = 4096
"""So many methods are parsed once."""


def named_rules(operator: Operator, types: StreamTypes) -> frozenset[str]:
    """The rules that the operator says it has, or else the first argument of every `Step(…)` in its methods, as far as
    it can be read.

    Names may be put together: from attributes of the operator, and from the suffixes of the collections it is used on.
    """
    own = operator.rules_for(types)
    if own is not None:
        return own
    reader = _RuleReader(operator, types)
    named = frozenset(name for method, known in _methods(type(operator)) for name in reader.rules(method, known))
    has_clock = any(isinstance(kind.collection, LVar) for kind in types)
    return named if has_clock else named.difference(operator.clock_rules)


def _methods(kind: type) -> Iterator[tuple[ast.FunctionDef, dict[str, Any]]]:
    """Yield the methods of a class, own, inherited and called by `super()`, each with the globals of its module.

    `advance` is left out: it repeats the rules of `steps`.
    """
    for name in dir(kind):
        for owner in kind.__mro__ if name != "advance" else ():
            method = owner.__dict__.get(name)
            method = getattr(method, "__func__", method)
            if not inspect.isfunction(method):
                continue
            parsed = _parsed(method)
            if parsed is None:  # no source
                break
            steps, calls_super = parsed
            yield from ((node, method.__globals__) for node in steps)
            if not calls_super:
                break


@lru_cache(maxsize=REMEMBERED)
def _parsed(method: FunctionType) -> tuple[tuple[ast.FunctionDef, ...], bool] | None:
    """The definition of the method, if it makes steps, and whether it calls `super()`; None if it has no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, SyntaxError, TypeError):
        return None
    called = {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    functions = tuple(node for node in tree.body if isinstance(node, ast.FunctionDef))
    return functions if called & {"Step", "replace"} else (), "super" in called


class _RuleReader:
    """Finds the strings that an expression can evaluate to; none if that is not known."""

    def __init__(self, operator: Operator, types: StreamTypes) -> None:
        self.operator = operator
        self.known: dict[str, Any] = {}
        self.sources = [t.collection.value_class for t in types if isinstance(t.collection, ElementCollection)]

    def rules(self, method: ast.FunctionDef, known: dict[str, Any]) -> Iterator[str]:
        self.known = known
        assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(method):
            match node:
                case ast.Assign([ast.Name(name)], value):
                    assigned.setdefault(name, []).append(value)
                case ast.Assign([ast.Tuple(targets)], ast.Call() as value) if _called(value) == "rules_on":
                    for place, target in enumerate(targets):
                        if isinstance(target, ast.Name):
                            assigned[target.id] = [ast.Subscript(value, ast.Constant(place))]
        for node in self._open(method):
            if isinstance(node, ast.Call) and _called(node) in ("Step", "replace"):
                named = [keyword.value for keyword in node.keywords if keyword.arg == "rule"]
                for rule in named or (node.args[:1] if _called(node) == "Step" else []):
                    yield from self.read(rule, assigned)

    def _open(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes of a method, without branches for other operators, such as `if self.awaited is not None:`."""
        yield node
        for child in ast.iter_child_nodes(node):
            if not (isinstance(child, ast.If) and any(map(self._lacks, _conjuncts(child.test)))):
                yield from self._open(child)
            else:
                for other in child.orelse:
                    yield from self._open(other)

    def _lacks(self, test: ast.expr) -> bool:
        match test:
            case ast.Compare(ast.Attribute(ast.Name("self"), name), [ast.IsNot()], [ast.Constant(None)]):
                state = getattr(self.operator, "__dataclass_fields__", ())
                return name not in state and getattr(self.operator, name, name) is None
        return False

    def read(self, node: ast.expr, assigned: dict[str, list[ast.expr]]) -> Names:
        match node:
            case ast.Constant(str(name)):
                return {name}
            case ast.JoinedStr(parts):
                return _joined([self.read(part, assigned) for part in parts])
            case ast.FormattedValue(inside):
                return self.read(inside, assigned)
            case ast.BinOp(left, ast.Add(), right):
                return _joined([self.read(left, assigned), self.read(right, assigned)])
            case ast.IfExp(_, one, other):
                return self.read(one, assigned) | self.read(other, assigned)
            case ast.BoolOp(ast.Or(), parts):  # `self.end_rule or …`: the first that is not empty
                return next((texts for part in parts if (texts := self.read(part, assigned))), set())
            case ast.Name(name) if name in assigned:
                others = {key: value for key, value in assigned.items() if key != name}
                return {text for each in assigned[name] for text in self.read(each, others)}
            case ast.Attribute(ast.Name("self"), name):
                return _strings(getattr(self.operator, name, None))
            case ast.Attribute(_, "suffix" | "end_suffix" as name):
                return {getattr(source, name) for source in self.sources}
            case ast.Subscript(ast.Call() as call, ast.Constant(int(place))) if _called(call) == "rules_on":
                on: Any = self.operator
                sources: list[Any] = [*self.sources] or [None]  # of keyed streams the rules have one name
                return {on.rules_on(source)[place] for source in sources}
            case ast.Subscript(inside):
                return self.read(inside, assigned)
            case ast.Call() if _called(node) == "rule_for":
                return self._returned("rule_for")
            case ast.Call() if _called(node) == "rule_on":
                rules = self.read(node.args[0], assigned)
                on = self.operator
                return {on.rule_on(rule, source) for rule, source in product(rules, self.sources)}
            case ast.Call(ast.Attribute(ast.Name(table), "get")) if isinstance(self.known.get(table), dict):
                return _strings(eval(ast.unparse(node), self.known, {"self": self.operator}))
        return set()

    def _returned(self, name: str) -> Names:
        """The strings that a method of the operator can return."""
        method = inspect.unwrap(getattr(type(self.operator), name))
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
        returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None]
        return {text for each in returned for text in self.read(each, {})}


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


def _joined(parts: list[Names]) -> Names:
    return {"".join(chosen) for chosen in product(*parts)}


def _strings(item: object) -> Names:
    if isinstance(item, str):
        return {item}
    return {part for part in item if isinstance(part, str)} if isinstance(item, tuple) else set()

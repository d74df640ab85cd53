"""What the code of a function uses: names of its module, attributes, and whether it may change what it captures."""

from __future__ import annotations

import ast
import dis
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, MappingProxyType

from flo.core.labels import source_of

_CHANGING = frozenset(
    {name for kind in (list, set, dict, deque, Counter, bytearray) for name in dir(kind) if not name.startswith("_")}
    - {name for kind in (tuple, frozenset, MappingProxyType, bytes) for name in dir(kind)}
    - {"elements", "most_common", "total", "maxlen"}
    | {"heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "shuffle", "setattr"}
)
"""Names of methods and functions that change their argument."""
_STORES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "DELETE_ATTR")
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD")
_ASSIGNS = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR")
_NEW = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MAKERS = frozenset({"list", "dict", "set", "bytearray", "deque", "defaultdict", "Counter", "sorted"})
"""Functions that return a new object."""


@dataclass
class Uses:
    """The names that the code of functions uses."""

    globals: dict[str, set[str]] = field(default_factory=dict)
    """Names of the module that are read, each with the attributes that are read of it."""
    attributes: set[str] = field(default_factory=set)
    """All attributes that are read."""
    assigned: set[str] = field(default_factory=set)
    """Names of the module and of enclosing functions, and attributes, that the code assigns."""
    changes: bool = False
    """Whether the code may change an object that it has not made itself."""

    def add(self, code: CodeType) -> None:
        tree = source_of(code)
        self.changes |= _may_change(code) if tree is None else _changes_others(tree)
        for each in codes_in(code):
            last = None
            for step in dis.get_instructions(each):
                if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    last = self.globals.setdefault(str(step.argval), set())
                    continue
                if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                    self.attributes.add(str(step.argval))
                    if last is not None:
                        last.add(str(step.argval))
                elif step.opname in _ASSIGNS:
                    self.assigned.add(str(step.argval))
                last = None


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those within it: of comprehensions, lambdas and local functions."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


def _may_change(code: CodeType) -> bool:
    """Return whether code without a source has an instruction that may change an object."""
    steps = (step for each in codes_in(code) for step in dis.get_instructions(each))
    return any(step.opname in _STORES or (step.opname in _LOADS and step.argval in _CHANGING) for step in steps)


def _changes_others(tree: ast.AST) -> bool:
    """Return whether a function may change an object other than those that it makes: a list in a local variable."""
    nodes = list(ast.walk(tree))
    new = _new_objects(nodes)
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in _CHANGING:
            return True
        match node:  # an attribute that is assigned is known by its name
            case ast.Attribute(ast.Name(name), method) if method in _CHANGING and name in new:
                continue
            case ast.Subscript(ast.Name(name), _, ast.Store() | ast.Del()) if name in new:
                continue
            case ast.Attribute(_, method) if method in _CHANGING:
                return True
            case ast.Subscript(_, _, ast.Store() | ast.Del()):
                return True
    return False


def _new_objects(nodes: list[ast.AST]) -> set[str]:
    """Return the variables that are assigned new objects only."""
    new: set[str] = set()
    others = {node.arg for node in nodes if isinstance(node, ast.arg)}
    others |= {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    bound = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    for node in nodes:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value) if _is_new(value):
                new.add(name)
                bound[name] -= 1
    return {name for name in new if not bound[name]} - others


def _is_new(value: ast.AST | None) -> bool:
    match value:
        case ast.Call(ast.Name(name)):
            return name in _MAKERS
    return isinstance(value, _NEW)

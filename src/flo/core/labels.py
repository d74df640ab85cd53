"""Labels of functions: the name, or the source text of a lambda; where the source is; and what their code uses: names
of its module, attributes, and whether it may change what it captures.
"""

from __future__ import annotations

import ast
import dis
import linecache
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from types import CodeType, MappingProxyType
from typing import Any

from flo.core.errors import brief
from flo.core.untyped import AnyFunction


def label(function: Any) -> str:
    """Return how messages name the function: its name, or the text of a lambda."""
    if isinstance(function, partial):
        arguments = [*map(brief, function.args), *(f"{key}={brief(item)}" for key, item in function.keywords.items())]
        return f"partial({', '.join([label(function.func), *arguments])})"
    name = getattr(function, "__name__", None) or type(function).__name__
    if name != "<lambda>":
        return str(name)
    while not hasattr(function, "__code__") and hasattr(function, "__wrapped__"):  # of a cache around it
        function = function.__wrapped__
    return _lambda_text(getattr(function, "__code__", None)) or "lambda"


def identity(function: AnyFunction) -> str:
    """Return the text that identifies a function when a state is restored: its name, or the source of a lambda."""
    function = getattr(function, "traced_from", function)  # of one that runs as columns
    name = getattr(function, "__qualname__", "")
    if name and "<lambda>" not in name:
        return str(name)
    whole = getattr(function, "text", None)
    text = whole if isinstance(whole, str) else label(function)  # `label` may be truncated, `text` is not
    return text if text != "lambda" else f"lambda {_code_text(function.__code__)}"  # no source


def _code_text(code: Any) -> str:
    consts = [_code_text(const) if hasattr(const, "co_code") else repr(const) for const in code.co_consts]
    return f"{code.co_varnames} {code.co_names} {consts} {code.co_code.hex()}"


def _lambda_text(code: object) -> str | None:
    source = source_of(code)
    return None if source is None else ast.unparse(source)


@cache
def source_of(code: Any) -> ast.Lambda | ast.FunctionDef | None:
    """Return the syntax tree of a function; None if it has no source. A lambda is found by its body's position."""
    if code.co_name != "<lambda>":
        named = [node for node in _functions(code.co_filename) if isinstance(node, ast.FunctionDef)]
        firsts = [(min([node.lineno, *(each.lineno for each in node.decorator_list)]), node) for node in named]
        sources = [node for line, node in firsts if (line, node.name) == (code.co_firstlineno, code.co_name)]
        return sources[0] if len(sources) == 1 else None
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    around = [
        node
        for node in _functions(code.co_filename)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and places
        and all(_start(node) <= place < _end(node) for place in places)
    ]
    return max(around, key=_start) if around else None  # the innermost


def _start(node: ast.Lambda) -> tuple[int, int]:
    return node.body.lineno, node.body.col_offset


def _end(node: ast.Lambda) -> tuple[int, int]:
    return node.body.end_lineno or 0, node.body.end_col_offset or 0


@cache
def _functions(filename: str) -> list[ast.Lambda | ast.FunctionDef]:
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, ast.FunctionDef))]


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
    """Names of the module that are read, each with the attributes that are read of it, and theirs: `b` and `b.c`."""
    attributes: set[str] = field(default_factory=set)
    """All attributes that are read."""
    variables: dict[str, set[str]] = field(default_factory=dict)
    """The attributes that are read of each variable, and theirs, where the code has a source."""
    imported: set[str] = field(default_factory=set)
    """What is read of the modules that the code itself imports: `app.settings.rate`, or `.settings.rate`."""
    assigned: set[str] = field(default_factory=set)
    """Names of the module and of enclosing functions, and attributes, that the code assigns."""
    changes: bool = False
    """Whether the code may change an object that it has not made itself."""

    def add(self, other: Uses) -> None:
        for name, attributes in other.globals.items():
            self.globals[name] = self.globals.get(name, set()) | attributes
        self.attributes |= other.attributes
        self.assigned |= other.assigned
        self.changes |= other.changes


@cache
def uses_of(code: CodeType) -> Uses:
    """Return the names that a function uses, with those of the functions within it."""
    tree, uses = source_of(code), Uses()
    uses.changes = _may_change(code) if tree is None else _changes_others(tree)
    imports = dict[str, set[str]]()
    if tree is not None:
        uses.variables, imports = _attributes_in(tree), _imports_in(tree)
        uses.imported = {
            path + each
            for name, paths in imports.items()
            for path in paths
            for each in ("", *(f".{of}" for of in uses.variables.get(name, ())))
        }
    for each in codes_in(code):
        of: set[str] | None = None
        path = ""
        for step in dis.get_instructions(each):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                of, path = uses.globals.setdefault(str(step.argval), set()), ""
                continue
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                uses.attributes.add(str(step.argval))
                path = f"{path}.{step.argval}".removeprefix(".")
                if of is not None:
                    of.add(path)
                continue
            if step.opname in _ASSIGNS and not (step.opname == "STORE_DEREF" and step.argval in imports):
                uses.assigned.add(str(step.argval))
            of = None
    return uses


def _attributes_in(tree: ast.AST) -> dict[str, set[str]]:
    """Return the attributes that code reads of each variable, and theirs: `b` and `b.c` of `a` in `a.b.c`."""
    names: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        path, of = "", node
        while isinstance(of, ast.Attribute):
            path, of = f"{of.attr}.{path}" if path else of.attr, of.value
        if path and isinstance(of, ast.Name):
            names.setdefault(of.id, set()).add(path)
    return names


def _imports_in(tree: ast.AST) -> dict[str, set[str]]:
    """Return the modules, or values of modules, that code imports, by the variables that they are assigned to."""
    names: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        of = "." * node.level + f"{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
        for each in node.names:
            whole = f"{of}.{each.name}" if of.strip(".") else f"{of}{each.name}"
            first = each.name if of or each.asname else each.name.partition(".")[0]
            names.setdefault(each.asname or first, set()).add(whole if of or each.asname else first)
    return names


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

"""Loads a user's file as a module, as Python would import it, and unloads it again; and finds what to check in it:
flows, functions that return them, operators, lattices and collections.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from flo.api.flow import Flow
from flo.core.collection import Collection
from flo.core.errors import FloError, UnknownNameError, is_users
from flo.core.operator import Operator
from flo.core.term import forget
from flo.values.lattice import Lattice


@dataclass(frozen=True, slots=True)
class ModuleTarget:
    """A file, the name of its module, and the folder that imports start from."""

    path: Path
    module: str
    folder: Path


def find_target(argument: str) -> ModuleTarget:
    """Find the file of `pipeline.py`, `folder/pipeline.py` or `package.module`."""
    path = Path(argument)
    if path.is_dir():
        raise FloError(
            f"`{argument}` is a folder, and checking a file imports it",
            instead=((f"flo check {path / '*.py'}", "name the files that may be imported"),),
        )
    if path.is_file():
        if path.suffix != ".py":
            raise FloError(f"`{argument}` is not a Python file", instead=(("flo check pipeline.py", ""),))
        return _in_package(path.resolve())
    looks_like_a_file = path.suffix == ".py" or os.sep in argument
    if looks_like_a_file or not all(part.isidentifier() for part in argument.split(".")):
        raise UnknownNameError(f"there is no file `{argument}`", facts=(("looked in", str(Path.cwd())),))
    return _on_path(argument)


def _in_package(path: Path) -> ModuleTarget:
    """A file inside packages is imported as a part of them."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ModuleTarget(path, ".".join(parts), folder)


def _on_path(module: str) -> ModuleTarget:
    folders = [Path.cwd(), *(Path(entry) for entry in sys.path if entry)]
    for folder in folders:
        whole = folder.joinpath(*module.split("."))
        for path in (whole.with_suffix(".py"), whole / "__init__.py"):
            if path.is_file():
                return ModuleTarget(path.resolve(), module, folder)
    raise UnknownNameError(
        f"there is neither a file nor a module `{module}`",
        facts=(("looked in", str(folders[0])), ("", f"and the {len(folders) - 1} folders of Python's path")),
    )


@contextlib.contextmanager
def isolated(where: ModuleTarget) -> Iterator[None]:
    """Imports inside find the neighbours of the file; afterwards the user's modules are unloaded."""
    before = set(sys.modules)
    sys.path.insert(0, str(where.folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(where.folder))
        new = [name for name, module in sys.modules.items() if name not in before]
        users = {name for name in new if is_users(getattr(sys.modules[name], "__file__", None))}
        for name in users:
            del sys.modules[name]
        forget(users)


def load(where: ModuleTarget) -> ModuleType:
    """Imports the file. Its prints go to stderr, because stdout is for the diagnostics."""
    with contextlib.redirect_stdout(sys.stderr):
        package, _, _ = where.module.rpartition(".")
        if package:
            importlib.import_module(package)
        loaded = sys.modules.get(where.module)
        if loaded is not None and loaded.__file__ == str(where.path):
            return loaded
        name = where.module if loaded is None else f"{where.module}_"  # a file may be called as a library is
        spec = importlib.util.spec_from_file_location(name, where.path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


KINDS: dict[type, str] = {Flow: "flow", Operator: "operator", Lattice: "lattice", Collection: "collection"}
EXAMPLES = "flo_examples"
"""The variable of a file with the values to try its flows on, by type."""
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to check, by its name in the file."""

    kind: str
    name: str
    line: int
    make: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A flow, operator, … that cannot be checked as it is written, and why."""

    name: str
    line: int
    reason: str


Candidate: TypeAlias = Subject | Skipped


def find_subjects(module: ModuleType) -> list[Candidate]:
    """Return the subjects in the order of the file; an object with two names occurs once."""
    defined = _definitions(Path(str(module.__file__)))
    everything = [*_objects(module, defined), *_functions(module, defined), *_classes(module, defined)]
    return sorted(everything, key=lambda each: each.line)


def _definitions(file: Path) -> dict[str, ast.stmt]:
    """The statement that gives each name at module level its first value."""
    statements: dict[str, ast.stmt] = {}
    waiting = list(ast.parse(file.read_bytes()).body)
    while waiting:
        statement = waiting.pop(0)
        match statement:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                statements.setdefault(name, statement)
                continue
            case ast.Import(names) | ast.ImportFrom(names=names):
                bound = [alias.asname or alias.name for alias in names]
            case ast.Assign(targets) | ast.AnnAssign(target=targets):
                nodes = targets if isinstance(targets, list) else [targets]
                bound = [node.id for top in nodes for node in ast.walk(top) if isinstance(node, ast.Name)]
            case _:
                bound = []
                waiting += _inside(statement)
        for name in bound:
            statements.setdefault(name, statement)
    return statements


def _inside(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of an `if`, a `try`, a `with`, …"""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def _kind(checked: type) -> str | None:
    return next((name for kind, name in KINDS.items() if issubclass(checked, kind)), None)


def _objects(module: ModuleType, defined: dict[str, ast.stmt]) -> Iterator[Subject]:
    """Flows, and instances of classes that Flo does not ship."""
    seen: list[object] = []
    for name, item in vars(module).items():
        kind = _kind(type(item))
        users = kind == "flow" or not type(item).__module__.startswith("flo.")
        if kind is not None and users and not any(item is other for other in seen):
            seen.append(item)
            yield Subject(kind, name, _line(defined.get(name)), lambda item=item: item)  # type: ignore[misc]


def _functions(module: ModuleType, defined: dict[str, ast.stmt]) -> Iterator[Candidate]:
    """Functions of this file that are annotated `-> flo.Flow`."""
    for name, statement in defined.items():
        function = vars(module).get(name)
        if isinstance(statement, ast.FunctionDef) and callable(function) and _gives_a_flow(statement, module):
            required = _required(statement.args)
            if required:
                yield Skipped(name, statement.lineno, f"`{name}` needs {required}: with defaults it would be checked")
            else:
                yield Subject("flow", name, statement.lineno, function)


def _gives_a_flow(function: ast.FunctionDef, module: ModuleType) -> bool:
    if function.returns is None:
        return False
    text = ast.unparse(function.returns).strip("'\"")
    try:
        kind = eval(text, dict(vars(module)))
    except Exception:  # a name that only type checkers see
        return text.rpartition(".")[2] == "Flow"
    return isinstance(kind, type) and issubclass(kind, Flow)


def _required(arguments: ast.arguments) -> str:
    positional = [*arguments.posonlyargs, *arguments.args]
    names = [argument.arg for argument in positional[: len(positional) - len(arguments.defaults)]]
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    names += [argument.arg for argument, default in by_name if default is None]
    return ", ".join(f"`{name}`" for name in names)


def _classes(module: ModuleType, defined: dict[str, ast.stmt]) -> Iterator[Candidate]:
    """Operators, lattices and collections of this file; those that need arguments, as instances at module level."""
    instances = {type(item) for item in vars(module).values()}
    for name, statement in defined.items():
        defined_class = vars(module).get(name)
        if not isinstance(statement, ast.ClassDef) or not isinstance(defined_class, type) or defined_class in instances:
            continue
        kind = _kind(defined_class)
        if kind in (None, "flow") or inspect.isabstract(defined_class):
            continue
        parameters = inspect.signature(defined_class).parameters.values()
        needed = [each.name for each in parameters if each.default is each.empty and each.kind not in _VARIADIC]
        if needed:
            names = ", ".join(needed)
            example = f"`{name.lower()} = {name}({names})`"
            yield Skipped(name, statement.lineno, f"the {kind} `{name}` needs arguments: {example} would be checked")
        else:
            yield Subject(str(kind), name, statement.lineno, defined_class)


def _line(statement: ast.stmt | None) -> int:
    return 1 if statement is None else statement.lineno

"""Loads a user's file as a module, as Python would import it, and unloads it again."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from flo.core.errors import FloError, UnknownNameError, is_users
from flo.core.term import forget


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

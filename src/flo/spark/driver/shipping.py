"""Shipping code to workers: Flo itself, and the user's functions with resolved annotations."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import shutil
import sys
import tempfile
import typing
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession

from flo.columns.function_types import Declared
from flo.columns.projection import Projection
from flo.core.errors import is_users

ARCHIVE = "flo_shipped.zip"
PACKAGES = ("flo", "narwhals", "pyspark_flo")
"""The packages that tasks import besides PyArrow, NumPy and PySpark: pure Python without dependencies."""


def ship(spark: SparkSession) -> None:
    """Ships Flo to workers that may not have it: on other machines, or with another Python. Once per session."""
    context = spark.sparkContext
    if _runs_locally(context) or any(Path(each).name == ARCHIVE for each in context._python_includes or ()):
        return
    context.addPyFile(str(build_archive(Path(tempfile.mkdtemp(prefix="flo-shipped-")))))


def _runs_locally(context: SparkContext) -> bool:
    """Whether workers run on this machine, with the packages of this process."""
    python = shutil.which(context.pythonExec) or context.pythonExec
    return str(context.master).startswith("local") and Path(python).parent == Path(sys.executable).parent


def pickle_by_value(module: ModuleType) -> None:
    """Makes functions and classes of a module that workers cannot import travel by value."""
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def build_archive(folder: Path) -> Path:
    """Writes the packages into a zip file that Python can import from."""
    target = folder / ARCHIVE
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = importlib.util.find_spec(package)
            assert spec is not None
            assert spec.origin is not None
            if spec.submodule_search_locations is None:  # a single file
                archive.write(spec.origin, Path(spec.origin).name)
                continue
            root = Path(spec.origin).parent
            for file in sorted(root.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, Path(package) / file.relative_to(root))
    return target


def resolve_annotations(item: Any, seen: set[int] | None = None) -> None:
    """Replaces the names in annotations by types, in a function or class of the user and in all types it mentions.

    A function or class that is pickled by value does not take along the names that only its annotations use.
    """
    seen = set() if seen is None else seen
    derived = (item.__wrapped__, item.returns) if isinstance(item, Declared) else ()
    if isinstance(item, Projection):
        derived = (*item.functions.values(), item.element)
    for part in (*typing.get_args(item), *derived):
        resolve_annotations(part, seen)
    if id(item) in seen or not (inspect.isfunction(item) or inspect.isclass(item)) or not _is_users(item):
        return
    seen.add(id(item))
    with contextlib.suppress(Exception):  # an annotation that cannot be resolved is ignored here too
        hints = typing.get_type_hints(item, include_extras=True)
        item.__annotations__.update({name: hints[name] for name in item.__annotations__})
        for hint in hints.values():
            resolve_annotations(hint, seen)


def _is_users(item: Any) -> bool:
    try:
        return is_users(inspect.getsourcefile(item))
    except TypeError:  # without a source file: built in, or defined in a shell
        return getattr(item, "__module__", "") == "__main__"

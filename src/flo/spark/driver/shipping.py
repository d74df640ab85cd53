"""What a program takes along to other processes: Flo, and functions and types that say the same there as here."""

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
from flo.core.errors import is_users

ARCHIVE = "flo_shipped.zip"
PACKAGES = ("flo", "narwhals")
"""What tasks import beside PyArrow, NumPy and PySpark: pure Python, which needs nothing else."""


def ship(spark: SparkSession) -> None:
    """Brings Flo to workers that need not have it: those on other machines, and those that run another Python than this
    process. Once for each session."""
    context = spark.sparkContext
    if _runs_here(context) or any(Path(each).name == ARCHIVE for each in context._python_includes or ()):
        return
    context.addPyFile(str(packed_in(Path(tempfile.mkdtemp(prefix="flo-shipped-")))))


def _runs_here(context: SparkContext) -> bool:
    """Whether workers run on this machine, with the packages of this process."""
    python = shutil.which(context.pythonExec) or context.pythonExec
    return str(context.master).startswith("local") and Path(python).parent == Path(sys.executable).parent


def take_along(module: ModuleType) -> None:
    """A module that workers cannot import goes with what the program has of it."""
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def packed_in(folder: Path) -> Path:
    """The packages as a file that Python can import from."""
    target = folder / ARCHIVE
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            found = importlib.util.find_spec(package)
            assert found is not None
            assert found.origin is not None
            root = Path(found.origin).parent
            for file in sorted(root.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, Path(package) / file.relative_to(root))
    return target


def resolve_annotations(item: Any, seen: set[int] | None = None) -> None:
    """A function or a class that travels by value leaves behind the names that only its annotations use.

    So the user's are made to hold types instead of names, and those of the types they name as well.
    """
    seen = set() if seen is None else seen
    derived = (item.__wrapped__, item.returns) if isinstance(item, Declared) else ()
    for part in (*typing.get_args(item), *derived):
        resolve_annotations(part, seen)
    if id(item) in seen or not (inspect.isfunction(item) or inspect.isclass(item)) or not _is_users(item):
        return
    seen.add(id(item))
    with contextlib.suppress(Exception):  # an annotation that cannot be resolved says nothing here either
        hints = typing.get_type_hints(item, include_extras=True)
        item.__annotations__.update({name: hints[name] for name in item.__annotations__})
        for hint in hints.values():
            resolve_annotations(hint, seen)


def _is_users(item: Any) -> bool:
    try:
        return is_users(inspect.getsourcefile(item))
    except TypeError:  # made by no file: a class of the standard library, or typed into a shell
        return getattr(item, "__module__", "") == "__main__"

"""The layers: core ← values ← verify ← columns ← program ← api ← pictures ← sql ← tables ← shards ← local ← spark ←
tools.

Each imports only those to its left.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter

import pytest

from tests.parsed_modules import ROOT, parsed_modules

pytestmark = pytest.mark.xdist_group("parsed modules")

LAYERS = (
    "core",
    "values",
    "verify",
    "columns",
    "program",
    "api",
    "pictures",
    "sql",
    "tables",
    "shards",
    "local",
    "spark",
    "tools",
)
MODULES = sorted(ROOT.rglob("*.py"))
ALLOWED_OUTSIDE = {"rich"}
FOR_TABLES = {"narwhals", "numpy", "pyarrow"}
"""What tables are made of: `columns` and `tables` import it, and `sql` and `spark`, which run on tables."""
FOR_SPARK = {"py4j", "pyspark"}
"""`spark` imports it, and `sql` where it plans a query."""
EXTRAS = {"duckdb", "google", "hypothesis", "polars", "z3"}
"""Installed by an extra, or by the user: imported inside functions only, so that Flo works without them."""
FOR_PYTEST = "flo.tools.pytest_plugin"
"""Imported by pytest only."""


def name_of(path):
    return "flo." + ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _is_module(name):
    if not name.startswith("flo."):
        return False
    path = ROOT.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or path.is_dir()


def _is_for_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in {
        getattr(each, "id", getattr(each, "attr", None)) for each in ast.walk(node.test)
    }


@cache
def imports(path, inside_functions=True):
    return list(_imports(path, inside_functions))


def _imports(path, inside_functions):
    """Every module that this one imports, at the top or inside a function; not what only type checkers see."""
    tree = parsed_modules().get(path) or ast.parse(path.read_text(encoding="utf-8"))
    package = name_of(path).split(".")[:-1]
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if _is_for_checkers(node):
            waiting += node.orelse
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not inside_functions:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = ".".join(package[: len(package) - node.level + 1])
                yield (f"{base}.{node.module}" if node.module else base), node.lineno
            else:
                for alias in node.names:
                    inside = f"{node.module}.{alias.name}"
                    yield (inside if node.module == "flo" or _is_module(inside) else node.module), node.lineno
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.excepthandler))]
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.match_case)]


def layer_of(module):
    parts = module.split(".")
    return LAYERS.index(parts[1]) if parts[0] == "flo" and len(parts) > 1 and parts[1] in LAYERS else None


def is_in(path, *layers):
    return layer_of(name_of(path)) in [LAYERS.index(layer) for layer in layers]


@pytest.mark.always
def test_imports_go_one_way():
    for path in MODULES:
        own = layer_of(name_of(path))
        for module, line in imports(path):
            other = layer_of(module)
            if own == LAYERS.index("tools") and module == "flo":
                continue  # the last layer uses Flo as users do
            if own is not None and module.split(".")[0] == "flo":
                assert other is not None, f"{path}:{line} imports {module}, which belongs to no layer"
                assert other <= own, f"{path}:{line}: {LAYERS[own]} imports {module}"


def test_what_is_imported_from_outside():
    for path in MODULES:
        allowed = set(sys.stdlib_module_names) | {"flo"}
        if not is_in(path, "core"):  # core needs nothing but the standard library
            allowed |= ALLOWED_OUTSIDE | EXTRAS
        if is_in(path, "columns", "program", "sql", "tables", "shards", "local", "spark"):
            allowed |= FOR_TABLES
        if is_in(path, "sql", "spark"):
            allowed |= FOR_SPARK
        if name_of(path) == FOR_PYTEST:
            allowed |= {"pytest"}
        for module, line in imports(path):
            assert module.split(".")[0] in allowed, f"{path}:{line} imports {module}"
        extras = EXTRAS if is_in(path, "spark") else EXTRAS | FOR_SPARK
        for module, line in imports(path, inside_functions=False):
            assert module.split(".")[0] not in extras, f"{path}:{line} imports {module}, which is an extra, at the top"


def test_flo_is_imported_without_spark():
    for path in MODULES:
        if not is_in(path, "spark"):
            for module, line in imports(path, inside_functions=False):
                assert layer_of(module) != LAYERS.index("spark"), f"{path}:{line} imports {module} at the top"


FOLDERS = {
    "verify": ({"data", "solver", "functions"}, {"exploration"}, {"programs"}),
    "tables": ({"state"}, {"checkpoint"}, {"io"}, {"operators"}),
    "shards": ({"plan"}, {"tasks"}, {"checkpoint"}, {"sinks"}),
    "spark": ({"tasks"}, {"driver"}),
}
"""Of a layer: each imports only its own and those to its left."""


def folder_of(module, layer):
    parts = (*module.split("."), "", "")
    found = [place for place, names in enumerate(FOLDERS[layer]) if parts[2] in names]
    return found[0] if parts[:2] == ("flo", layer) and found else None


@pytest.mark.parametrize("layer", FOLDERS)
def test_the_folders_of_a_layer_import_one_way(layer):
    checked = 0
    for path in MODULES:
        allowed = folder_of(name_of(path), layer)
        for module, line in imports(path) if allowed is not None else ():
            assert (folder_of(module, layer) or 0) <= allowed, f"{path}:{line} imports {module}"
            checked += 1
    assert checked


VERBS = "flo.api."
"""A stream's verbs return streams, so the modules of the fluent API import each other. No others may."""


def test_no_module_imports_itself_by_way_of_others():
    names = {name_of(path).removesuffix(".__init__"): path for path in MODULES}
    reached = {name: {each for each, _ in imports(path)} & set(names) for name, path in names.items()}
    order = TopologicalSorter({name: found - {name} for name, found in reached.items() if not name.startswith(VERBS)})
    order.prepare()  # raises CycleError, which names the modules


def test_every_module_belongs_to_a_layer():
    for path in MODULES:
        parts = path.relative_to(ROOT).parts
        assert parts[0] in LAYERS or parts in (("__init__.py",), ("__main__.py",), ("authoring.py",)), path


def test_the_checks_see_imports_inside_functions(tmp_path, monkeypatch):
    source = "\n".join(
        [
            "from typing import TYPE_CHECKING",
            "if TYPE_CHECKING:",
            "    import only_for_checkers",
            "def f(x):",
            "    match x:",
            "        case 1:",
            "            from flo.api import flow",
            "    try:",
            "        pass",
            "    except ValueError:",
            "        import pyspark.sql",
        ]
    )
    path = tmp_path / "core" / "module.py"
    path.parent.mkdir()
    path.write_text(source)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert {module for module, _ in imports(path)} == {"typing", "flo.api", "pyspark.sql"}
    assert {module for module, _ in imports(path, inside_functions=False)} == {"typing"}

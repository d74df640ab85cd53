"""Names in the source: a type name has one meaning, and a variable says what it is."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "flo"
ONE_CONCEPT = {
    "Filter": "an operator, and the same in a plan of Catalyst",
    "Join": "an operator, and the same in a plan of Catalyst",
    "Stream": "what the user holds, and what it is in the DAG",
    "Union": "an operator, and the same in a plan of Catalyst",
    "Upsert": "rows that replace those of their key, in a stream and in a table",
    "Vertex": "an operator while the user builds a program, and in the DAG",
    "View": "an output at a version, which Spark can read, too",
    "WorkerLost": "a worker of Spark, and one of a process",
}
"""Names of types that more than one module defines: the same concept on another engine, or at another stage."""
SAY_NOTHING = {"found", "made", "shown"}
"""They say how a value came about, not what it is."""
MODULES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_bytes()) for path in SOURCE.glob("**/*.py")}


def test_a_type_name_is_of_one_module() -> None:
    modules = defaultdict(list)
    for file, module in MODULES.items():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(file)
    several = {name: files for name, files in modules.items() if len(files) > 1}
    assert {name: files for name, files in several.items() if name not in ONE_CONCEPT} == {}
    assert ONE_CONCEPT.keys() <= several.keys()


def test_variables_say_what_they_are() -> None:
    places = []
    for file, module in MODULES.items():
        for node in ast.walk(module):
            is_set = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
            name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", getattr(node, "arg", None))
            if name in SAY_NOTHING and (is_set or isinstance(node, ast.arg)):
                places.append(f"{file}:{getattr(node, 'lineno', 0)} {name}")
    assert places == []

"""docs/paper-map.md is true: everything of the paper is in it, and every home, test and verb exists.

A home is a module, or something in one: in Flo, in the examples, or in the tests for what is only stated there.
"""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import flo
from tests.paper_rules import ITEMS, RULES

ROOT = Path(__file__).parent.parent
KINDS = {
    "Small steps": "small step",
    "Typing rules": "typing rule",
    "Definitions": "definition",
    "Lemmas": "lemma",
    "Figures": "figure",
    "Notions": "notion",
    "Operators": "operator",
}


def rows():
    """(kind, name) → (place, home, test, verb); the last for operators only."""
    found, kind = {}, ""
    for line in (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind = KINDS[line[3:]]
        row = re.fullmatch(r"\| ([^|]+) \| ([^|]+) \| `([^|]+)` \| `([^|]+)` \|(?: ([^|]+) \|)?", line)
        if row:
            name, place, home, test, verb = row.groups()
            assert (kind, name) not in found, f"{kind} {name} is there twice"
            assert (verb is not None) == (kind == "operator"), f"{kind} {name}: operators have a verb"
            found[kind, name] = (place, home, test, verb)
    return found


ROWS = rows()
every_row = pytest.mark.parametrize(("kind", "name"), ROWS, ids=[f"{kind}-{name}" for kind, name in ROWS])


@cache
def functions_in(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_everything_of_the_paper_is_in_the_map():
    assert {(item.kind, item.name): item.place for item in ITEMS} == {key: row[0] for key, row in ROWS.items()}


def test_every_row_is_read():
    """A row that is written in another way would be left out in silence."""
    lines = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if line.startswith("|") and not line.startswith(("|---", "| in the paper"))]
    assert len(written) == len(ROWS) == len(ITEMS)


@every_row
def test_the_home_exists(kind, name):
    module, _, path = ROWS[kind, name][1].partition(":")
    found = importlib.import_module(module)
    for part in filter(None, path.split(".")):
        found = getattr(found, part)


@every_row
def test_the_test_exists(kind, name):
    file, _, function = ROWS[kind, name][2].partition("::")
    assert function in functions_in(file)


@pytest.mark.parametrize("name", [name for kind, name in ROWS if kind == "operator"])
def test_the_verb_exists(name):
    verbs = re.findall(r"`(\w+)\(", ROWS["operator", name][3])
    assert all(hasattr(flo.Stream, verb) or hasattr(flo.Loop, verb) for verb in verbs)
    assert verbs or ROWS["operator", name][3].startswith("none: ")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}-{rule.name}")
def test_every_rule_has_a_test_of_its_name(rule):
    assert ROWS[rule.kind, rule.name][2].endswith(f"::{rule.test}")


def test_names_are_given_once():
    assert len({(item.kind, item.name) for item in ITEMS}) == len(ITEMS)

"""docs/paper-map.md is true: everything of the paper is in it, and every home, test and verb exists.

A home is a module, or something in one: in Flo, in the examples, or in the tests for what is only stated there.
"""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import flo
from tests.paper_rules import ITEMS, RULES

ROOT = Path(__file__).parent.parent
KINDS = {
    "Small steps": "small step",
    "Typing rules": "typing rule",
    "Extensions": "extension",
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
EXTENSIONS = {key for key in ROWS if key[0] == "extension"}


@cache
def functions_in(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_everything_of_the_paper_is_in_the_map():
    of_paper = {key: row[0] for key, row in ROWS.items() if key not in EXTENSIONS}
    assert {(item.kind, item.name): item.place for item in ITEMS} == of_paper


def test_every_row_is_read():
    """A row that is written in another way would be left out in silence."""
    lines = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if line.startswith("|") and not line.startswith(("|---", "| in the paper"))]
    assert len(written) == len(ROWS) == len(ITEMS) + len(EXTENSIONS)


def is_there(home):
    """Whether a module, or a path of names in one, exists."""
    module, _, path = home.partition(":")
    try:
        found = importlib.import_module(module)
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_home_exists():
    assert [(*row, home) for row, (_, home, _, _) in ROWS.items() if not is_there(home)] == []
    assert not is_there("flo.core.no_module")
    assert not is_there("flo.core.graph:Graph.no_name")


def test_every_test_exists():
    parted = {row: test.partition("::") for row, (_, _, test, _) in ROWS.items()}
    assert [(*row, test) for row, (file, _, test) in parted.items() if test not in functions_in(file)] == []


def test_every_verb_exists():
    for (kind, name), (_, _, _, verb) in ROWS.items():
        if kind == "operator":
            verbs = re.findall(r"`(\w+)\(", verb)
            assert all(hasattr(flo.Stream, each) or hasattr(flo.Loop, each) for each in verbs), f"{name}: {verb}"
            assert verbs or verb.startswith("none: "), f"{name}: {verb}"


def test_every_rule_has_a_test_of_its_name():
    named = {rule: ROWS[rule.kind, rule.name][2] for rule in RULES}
    assert [(rule, test) for rule, test in named.items() if not test.endswith(f"::{rule.test}")] == []


def test_names_are_given_once():
    assert len({(item.kind, item.name) for item in ITEMS}) == len(ITEMS)

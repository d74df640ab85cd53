"""proofs/ is about Flo as it is: its rules have the names and premises of the code's, and its runs are flo.core's.

Agda is not needed here: `make proofs` checks the proofs themselves.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flo.core.graph import Parallel, Sequential
from flo.core.nest import Nest
from flo.values.operators.lvars import Threshold
from flo.values.operators.zset_joins import Join
from tests.paper_rules import ITEMS, RULES
from tests.proofs.expected import THEOREM, with_lines
from tests.proofs.programs import programs, reached

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"
FILES = sorted(PROOFS.rglob("*.agda"))
TEXTS = {file.relative_to(PROOFS).as_posix(): file.read_text(encoding="utf-8") for file in FILES}
PAGE = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
STRING = re.compile(r'^  "(.*)" ∷$', re.MULTILINE)


def expected() -> dict[str, set[str]]:
    """What Agda computes for each program."""
    lines: dict[str, set[str]] = {}
    for line in STRING.findall(TEXTS["Flo/Expected.agda"]):
        if line.startswith("# "):
            lines[line[2:]] = current = set()
        else:
            assert line not in current, line
            current.add(line)
    return lines


EXPECTED = expected()


def test_every_program_is_in_the_file():
    assert [name for name, _, _ in programs()] == list(EXPECTED)
    assert sum(len(lines) for lines in EXPECTED.values()) > 2000


@pytest.mark.parametrize("size", ["one", ";", "|"])
def test_flo_reaches_the_states_that_agda_reaches(size):
    for name, program, arriving in programs():
        if (size in name) if size != "one" else name.isidentifier():
            assert reached(name, program, arriving) == EXPECTED[name], name


def test_every_run_has_one_stuck_state():
    for name, lines in EXPECTED.items():
        assert sum(line.endswith(" is stuck") for line in lines) == 1, name


def test_every_module_is_checked_and_safe():
    everything = set(re.findall(r"^import (Flo\.\S+)", TEXTS["Everything.agda"], re.MULTILINE))
    modules = {name.removesuffix(".agda").replace("/", ".") for name in TEXTS} - {"Everything"}
    assert everything == modules
    for name, text in TEXTS.items():
        assert text.startswith("{-# OPTIONS --safe #-}\n"), name
        assert re.findall(r"\{-# (\w+)", text) == ["OPTIONS"], name
        assert not re.search(r"\bpostulate\b|trustMe|\{!", text), name


def declaration(file: str, name: str) -> str:
    """Return the type of a constructor, or of a function."""
    found = re.search(rf"^( *){re.escape(name)} *: ((?:.*\n)(?:\1  .*\n)*)", TEXTS[file], re.MULTILINE)
    assert found is not None, f"{file} has no {name}"
    return " ".join(found[2].split())


def premises(file: str, name: str) -> int:
    """Return the number of premises of a rule: the arrows of its type that are not within parentheses or braces."""
    text = declaration(file, name)
    quantified = re.match(r"∀ (?:\{[^}]*\}|\([^)]*\)|[^→ ]+| )*→ ", text)
    text = text[quantified.end() :] if quantified else text
    depth, count = 0, 0
    for sign in text:
        depth += (sign in "({") - (sign in ")}")
        count += sign == "→" and depth == 0
    return count


# The rules that are modelled: where, and how many premises each has in the paper or, if amended, in the code.
RULES_OF = {
    ("small step", "sequence-left"): ("Flo/Composition.agda", 1),
    ("small step", "sequence-right"): ("Flo/Composition.agda", 1),
    ("small step", "par-left"): ("Flo/Composition.agda", 1),
    ("small step", "par-right"): ("Flo/Composition.agda", 1),
    ("small step", "nest-first"): ("Flo/Nest.agda", 0),
    ("small step", "nest-first-fixed"): ("Flo/Nest.agda", 0),
    ("small step", "nest-run-graph"): ("Flo/Nest.agda", 4),  # one, and three equations that name the results
    ("small step", "nest-run-step"): ("Flo/Nest.agda", 3),  # stuck, outputs fixed, deferred fixed
    ("small step", "nest-run-fixed"): ("Flo/Nest.agda", 2),
    ("small step", "read-defer-emit"): ("Flo/Defer.agda", 0),
    ("small step", "lvar-threshold"): ("Flo/Operators/Threshold.agda", 1),
    ("small step", "lvar-threshold-terminated"): ("Flo/Operators/Threshold.agda", 1),  # amended: 2
    ("small step", "join-zset"): ("Flo/Operators/Join.agda", 1),  # amended: 1
    ("small step", "join-zset-terminated"): ("Flo/Operators/Join.agda", 0),
    ("typing rule", "reflexive-subtype"): ("Flo/Progress.agda", 0),
    ("typing rule", "bound-subtype"): ("Flo/Progress.agda", 0),
    ("typing rule", "sequence"): ("Flo/Graph.agda", 3),
    ("typing rule", "par"): ("Flo/Graph.agda", 2),
    ("typing rule", "operator"): ("Flo/Graph.agda", 1),
    ("typing rule", "map-type"): ("Flo/Operators/OnSequences.agda", 0),
    ("typing rule", "fold-type"): ("Flo/Operators/OnSequences.agda", 0),
    ("typing rule", "read-defer-value-type"): ("Flo/Defer.agda", 4),  # in R, bounded, fixed, with its inner streams
    ("typing rule", "write-defer-type"): ("Flo/Defer.agda", 1),  # bounded, which the paper writes as B
    ("typing rule", "nest-type"): ("Flo/NestProgress.agda", 2),  # and, named, the type of the body; keys differ
    ("typing rule", "nest-with-copy-type"): ("Flo/NestProgress.agda", 2),  # the type of the body, and any state of it
    ("typing rule", "lvar-threshold-type"): ("Flo/Operators/Threshold.agda", 0),
}


@pytest.mark.parametrize("rule", RULES_OF)
def test_rules_have_the_names_and_the_premises(rule):
    file, count = RULES_OF[rule]
    assert rule in {(item.kind, item.name) for item in RULES}
    assert premises(file, rule[1]) == count


# The small steps whose rules are printed by the programs, or named as strings.
NAMED = {"map", "map-terminator", "fold", "fold-terminator", "operator"}


def test_every_rule_of_the_paper_is_modelled_or_said_to_be_missing():
    modelled = {name for _, name in RULES_OF} | NAMED
    for name in NAMED:
        assert any(f'"{name}"' in text for text in TEXTS.values()), name
    missing = set(re.findall(r"`([\w-]+)`", PAGE.partition("## Not modelled")[2].partition("\n## ")[0]))
    assert {item.name for item in RULES} - modelled <= missing
    assert not modelled & {item.name for item in RULES} & missing


def test_grammar_has_the_arity_of_the_code():
    assert premises("Flo/Graph.agda", "_⨟_") == 2 == len(Sequential.__match_args__)
    assert premises("Flo/Graph.agda", "_∥_") == 2 == len(Parallel.__match_args__)


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("Flo/Nest.agda", Nest.steps.__code__.co_consts + Nest._finish.__code__.co_consts),
        ("Flo/Operators/Threshold.agda", Threshold.steps.__code__.co_consts),
        ("Flo/Operators/Thresholds.agda", Threshold.steps.__code__.co_consts),
    ],
)
def test_the_code_uses_these_rules(file, code):
    constructors = set(re.findall(r"^    ((?:nest|lvar)-[\w-]+) : ", TEXTS[file], re.MULTILINE)) - {
        "lvar-threshold-type"
    }
    assert constructors == {
        const for const in code if isinstance(const, str) and re.fullmatch(r"(nest|lvar)-[\w-]+", const)
    }


def test_the_join_has_the_rules_of_the_code():
    strings = set(re.findall(r'"(join-zset[\w-]*)"', TEXTS["Flo/Operators/Join.agda"]))
    assert strings == {Join.rule + end for end in ("", "-terminated", "-left-ended", "-right-ended")}


def test_the_page_names_the_lines_of_the_theorems():
    assert len(THEOREM.findall(PAGE)) >= 30
    assert with_lines(PAGE) == PAGE


def test_the_page_names_things_of_the_paper():
    named = set(re.findall(r"^\| ([^|]+) \| ([^|]+) \| `[^`]+` \|", PAGE, re.MULTILINE))
    known = {item.name for item in ITEMS} | {"—"}
    for _, place in named:
        for part in place.split(";"):
            assert part.strip() in known, part

"""Every verb is in a program that runs on every engine, on every collection that it takes."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_overloads

import pytest

import flo
from flo.api import aggregates, group_by, row_verbs
from flo.api.group_by import aggregated
from flo.api.scope import StreamBase
from flo.api.stream import Stream
from tests.engines.families import Family, build_programs

FILES = sorted(Path(__file__).parent.glob("test_*_verbs.py"))
FAMILIES: list[Family] = [import_module(f"tests.engines.{file.stem}").FAMILY for file in FILES]
COLLECTIONS = {"Sequence", "Bag", "Set", "ZSet", "LVar", "Nested", "Keyed"}
ALIASES = {
    "Unordered": ("Bag", "Set", "ZSet", "LVar"),
    "Lattice": ("LVar",),
    "ElementKind": ("Sequence", "Bag", "Set", "ZSet"),
}


def verbs() -> dict[str, Any]:
    found = inspect.getmembers(Stream, inspect.isfunction)
    return {name: verb for name, verb in found if not name.startswith("_") and name not in vars(StreamBase)}


def collections_of(verb: Any) -> set[str]:
    """The collections that its `self` is annotated with; none if it takes any."""
    found: set[str] = set()
    for each in get_overloads(verb) or [verb]:
        taken = re.match(r"\w+Verbs\[(.*)\]", inspect.signature(each).parameters["self"].annotation)
        assert taken is not None, f"{verb.__name__} does not say what it takes"
        for name in _names_of_union(taken[1]):
            found |= {*ALIASES.get(name, (name,))} & COLLECTIONS
    return found


def _names_of_union(arguments: str) -> list[str]:
    """The types that the first argument is a union of, without their own arguments: `Bag[T] | Set[T], B`."""
    without = arguments
    while "[" in without:
        without = re.sub(r"\[[^\[\]]*\]", "", without)
    return [each.strip() for each in without.partition(",")[0].split("|")]


def called_verbs(patch: pytest.MonkeyPatch, families: list[Family]) -> set[tuple[str, str]]:
    """Verbs and collections that the programs use."""
    called: set[tuple[str, str]] = set()

    def note(name: str, verb: Any) -> Any:
        def noted(stream: Any, *arguments: Any, **options: Any) -> Any:
            called.add((name, type(stream.collection).__name__))
            return verb(stream, *arguments, **options)

        return noted

    for name, verb in verbs().items():
        patch.setattr(Stream, name, note(name, verb), raising=False)
    for name in ("read_defer", "write_defer", "constant"):
        patch.setattr(flo.Loop, name, _note_loop(called, name, getattr(flo.Loop, name)))
    for family in families:
        build_programs(family.programs)
    return called


def _note_loop(called: set[tuple[str, str]], name: str, verb: Any) -> Any:
    def noted(*arguments: Any, **options: Any) -> Any:
        called.add((name, "Loop"))
        return verb(*arguments, **options)

    return noted


def test_every_verb_is_in_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    called = called_verbs(monkeypatch, FAMILIES)
    monkeypatch.undo()
    names = {name for name, _ in called}
    assert [name for name in verbs() if name not in names] == []
    loop = {name for name, _ in inspect.getmembers(flo.Loop, inspect.isfunction) if not name.startswith("_")}
    assert loop - {name for name, of in called if of == "Loop"} == set()


def test_on_every_collection_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    called = called_verbs(monkeypatch, FAMILIES)
    monkeypatch.undo()
    taken = {(name, of) for name, verb in verbs().items() for of in collections_of(verb)}
    assert len(taken) > 90
    assert sorted(taken - called) == []


def test_every_aggregate_is_in_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of groups that every verb makes, and of all rows."""
    used: set[tuple[str, str]] = set()

    def noted(stream: Any, keys: Any, given: dict[str, Any], sets: Any = None) -> Any:
        used.update((spec.kind, "sets" if sets else "groups" if keys else "all rows") for spec in given.values())
        return aggregated(stream, keys, given, sets)

    for module in (group_by, row_verbs):
        monkeypatch.setattr(module, "aggregated", noted)
    for family in FAMILIES:
        build_programs(family.programs)
    kinds = {name for name, made in vars(aggregates).items() if returns_aggregate(made)}
    assert len(kinds) > 25
    assert kinds - {kind for kind, _ in used} == set()
    assert {of for _, of in used} == {"groups", "all rows", "sets"}


def returns_aggregate(made: Any) -> bool:
    return inspect.isfunction(made) and made.__annotations__.get("return") == "AggregateSpec"


def test_a_verb_without_a_program_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    called = called_verbs(monkeypatch, [family for family in FAMILIES if family.name != "lattice verbs"])
    assert not {"above", "sum_lattice", "to_sequence"} & {name for name, _ in called}


def test_samples_are_programs() -> None:
    for family in FAMILIES:
        assert family.sample
        assert set(family.sample) <= set(family.programs)
    names = [name for family in FAMILIES for name in family.sample]
    assert len(names) == len(set(names)), "programs of one query have different names"

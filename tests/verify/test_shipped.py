"""Everything that Flo ships passes all its laws, every rule fires, and docs/laws.md says what was found."""

from __future__ import annotations

import re
from itertools import product

import pytest

from flo.core.collection import Collection
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.values.keyed import Keyed
from flo.values.lattice import Lattice
from tests.quick import is_thorough
from tests.verify.laws_table import (
    PAGE,
    TRIES,
    collection_row,
    fired_rules,
    function_row,
    lattice_row,
    operator_row,
    rules,
)
from tests.verify.shipped import (
    COLLECTIONS,
    EVERY,
    LATTICES,
    accepted,
    operators_in,
    report_of,
    shipped_classes,
    streams,
)
from tests.verify.shipped_functions import FUNCTIONS
from tests.verify.shipped_operators import CASES, ELSEWHERE, cases, names, reports


def missing(base, found):
    return [kind.__name__ for kind in shipped_classes(base) if kind not in found]


def test_all_that_is_shipped_is_in_the_catalogue():
    assert len(shipped_classes(Operator)) > 60
    found = {type(each) for case in CASES for each in operators_in(case.operator)}
    assert missing(Operator, found | set(ELSEWHERE)) == []
    assert missing(Collection, set(map(type, COLLECTIONS))) == []
    assert missing(Lattice, set(map(type, LATTICES))) == []


def test_every_case_has_types_that_the_operator_takes():
    assert [str(case) for case in CASES if not case.signatures()] == []


def shape(collection):
    """The collection without its elements: `Keyed[Bag]`."""
    if isinstance(collection, Nested):
        return ("Nested", *(shape(stream.collection) for stream in collection.inner))
    return ("Keyed", shape(collection.inner)) if isinstance(collection, Keyed) else collection.name


@pytest.mark.parametrize("name", names())
def test_an_operator_is_tried_on_every_collection_that_it_takes(name):
    """On one of its inputs."""
    taken, tried = set(), set()
    for case in cases(name):
        tried |= set(map(shape, case.over))
        for place, collection in product(range(len(case.over)), EVERY):
            for others in (case.over, (collection,) * len(case.over)):
                over = (*others[:place], collection, *others[place + 1 :])
                if any(accepted(case.operator, streams(over, (flag,) * len(over))) for flag in (False, True)):
                    taken.add(shape(collection))
    assert taken <= tried


SOME = TRIES if is_thorough() else 3
"""How many inputs are made at random: `make thorough` makes as many as `make laws`."""


def written(row, *, numbers=True):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    if not numbers:
        row, lines = without_numbers(row), [*map(without_numbers, lines)]
    assert row in lines, "docs/laws.md says otherwise: run `make laws`"


def without_numbers(line):
    """A line of a table without the numbers of inputs that were made at random, and that were tried."""
    return re.sub(r" \+[\d,]+(?= \|)|(?<=\|) [\d,]+(?= \|)", "", line)


def test_fewer_inputs_are_compared_without_their_numbers():
    assert without_numbers("| `x` | ∀≤2 +60 | proved | — | 2,135 | 1 of 2 |") == "| `x` | ∀≤2 | proved | — | | 1 of 2 |"


LONG = {"Product[Max[int], SetUnion[int]]"}
"""A lattice with so many values that `make test` leaves it out: another product is checked."""


@pytest.mark.slow
@pytest.mark.every(test=3)
@pytest.mark.parametrize("collection", COLLECTIONS, ids=str)
def test_collection(collection):
    report = report_of(collection)
    assert report.ok, report
    written(collection_row(collection, report))


@pytest.mark.slow
@pytest.mark.every(test=2)
@pytest.mark.parametrize(
    "lattice",
    [pytest.param(lattice, marks=pytest.mark.thorough) if str(lattice) in LONG else lattice for lattice in LATTICES],
    ids=str,
)
def test_lattice(lattice):
    report = report_of(lattice)
    assert report.ok, report
    written(lattice_row(lattice, report))


MANY = {
    *("nest", "wire", "per_key", "zip_nested", "nest_once", "repeat_nested", "flatten"),
    *("join_keyed", "map_values", "entries", "join_bags", "join_sets", "join_zsets", "semi_join", "anti_join"),
    *("left_join", "right_join", "full_join", "asof_join", "group_by", "over", "top_k", "upsert"),
    *("map", "flat_map"),
}
"""Operators with so many cases that `make test` checks a part of them."""


@pytest.mark.slow
@pytest.mark.every(test=9)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough) if name in MANY else name for name in names()]
)
def test_operator(name):
    """All laws, on all small inputs in all cases, and on some larger ones; every rule that the operator names fires."""
    found = reports(name, SOME)
    for report in found:
        assert report.ok, report
        assert not report.strength.limits
    assert rules(name) <= fired_rules(found)
    assert not any(report.never_fired - fired_rules(found) for report in found)
    written(operator_row(name, found), numbers=SOME == TRIES)


@pytest.mark.slow
@pytest.mark.every(test=12)
@pytest.mark.parametrize("name", sorted(MANY))
def test_operator_of_many_cases(name):
    """Every sixth case."""
    for case in cases(name)[::6]:
        for report in case.check(SOME):
            assert report.ok, report
            assert not report.strength.limits


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_function(function):
    """The solver proves what holds of all numbers, and what does not hold has a counterexample."""
    found = function.reports()
    proved, broken = found[: len(function.proved)], found[len(function.proved) :]
    assert [report.laws for report in proved if not (report.ok and report.strength.proved)] == []
    assert [report.laws for report in broken if report.ok] == []
    written(function_row(function, found))

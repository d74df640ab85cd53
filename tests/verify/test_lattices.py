"""Lattices of a user's own are tried when they are used, and refused with the values that break a law."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import flo
from flo.verify import check, laws

pytestmark = pytest.mark.slow


def last_wins(a: object, b: object) -> object:
    return b if b is not None else a


def add(a: int, b: int) -> int:
    return a + b


def average(a: float, b: float) -> float:
    return (a + b) / 2


def union(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
    return a | b


@pytest.mark.parametrize(
    ("lattice", "law"),
    [
        (flo.Lattice.of(None, last_wins), laws.JOIN_COMMUTATIVE),
        (flo.Lattice.of(0, add), laws.JOIN_IDEMPOTENT),
        (flo.Lattice.of(0, average), laws.BOTTOM_IS_LEAST),
    ],
    ids=["last one wins", "sum", "average of averages"],
)
def test_what_is_no_lattice_is_refused(lattice: flo.Lattice[object], law: laws.Law) -> None:
    report = check(lattice)
    assert report.counterexample is not None
    assert report.counterexample.law == law, str(report)
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    with pytest.raises(flo.LawError, match="is not a lattice"):
        numbers.fold_lattice(lattice)


@pytest.mark.parametrize(
    "lattice",
    [
        flo.Max(int), flo.Min(str), flo.And(), flo.Or(), flo.SetUnion(int), flo.MapUnion(str, flo.Max(int)),
        pytest.param(flo.Product(flo.Max(int), flo.SetUnion(str)), marks=pytest.mark.thorough),
        flo.Versioned(int, flo.Max(int)), flo.GCounter(str),
        flo.PNCounter(str), flo.NaturalSum(int), flo.Flat(str), flo.Lattice.of(frozenset(), union),
        flo.Lattice.of(0, max),
    ],
    ids=str,
)  # fmt: skip
def test_lattices_pass(lattice: flo.Lattice[object]) -> None:
    report = check(lattice, tries=20)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    "lattice", [flo.Max(int), flo.Min(int), flo.Or(), flo.NaturalSum(int), flo.Lattice.of(0, max)], ids=str
)
def test_what_the_solver_can_follow_is_proved(lattice: flo.Lattice[object]) -> None:
    report = check(lattice)
    assert report.strength.proved, str(report)


def only_upwards(a: int, b: int) -> int:
    if a <= b:
        return b
    raise ValueError("not upwards")


def never(a: int, b: int) -> int:
    raise ValueError("never")


def agree(a: int | None, b: int | None) -> int | None:
    if a is None or b is None or a == b:
        return b if a is None else a
    raise ValueError("they differ")


@pytest.mark.parametrize("join", [only_upwards, never])
def test_a_join_must_exist_on_both_sides_or_on_none(join: Callable[[int, int], int]) -> None:
    lattice = flo.Lattice.of(0, join)
    report = check(lattice)
    assert not report.ok
    assert "no join" in str(report)
    assert not report.strength.proved
    with pytest.raises(flo.LawError, match="is not a lattice"):
        flo.Flow().input("numbers", flo.Sequence[int]).fold_lattice(lattice)


def test_values_that_exclude_each_other_may_have_no_join() -> None:
    assert check(flo.Lattice.of(None, agree)).ok


def shy(a: int, b: int) -> int:
    if a * a == 10**10 and b > a:
        raise ValueError("only this way round")
    return max(a, b)


def test_the_solver_finds_a_join_that_exists_on_one_side_only() -> None:
    report = check(flo.Lattice.of(0, shy), tries=0)
    assert report.counterexample is not None, str(report)
    assert "no join" in report.counterexample.outcomes


@pytest.mark.parametrize(
    "lattice", [flo.Lattice.of(0, lambda a, b: max(0, a, b)), flo.Lattice.of(10, max), flo.Lattice.of(9.5, max)]
)
@pytest.mark.every(test=3)
def test_values_that_are_none_of_the_lattice_are_not_tried(lattice: flo.Lattice[object]) -> None:
    report = check(lattice, tries=50)
    assert report.ok, str(report)
    assert report.strength.exhaustive > 20
    flo.Flow().input("numbers", flo.Sequence[int]).fold_lattice(lattice)


def forgetful(a: int, b: int) -> int:
    return b if a == 777 else max(a, b)


def greedy(a: set[int], b: set[int]) -> set[int]:
    a |= b
    return a


def test_values_that_no_example_has_are_found() -> None:
    found = check(flo.Lattice.of(0, forgetful)).counterexample
    assert found is not None
    with pytest.raises(AssertionError):
        exec(found.reproduce, {"forgetful": forgetful, "flo": flo})


def test_a_join_that_changes_a_value_is_found_out() -> None:
    lattice = flo.Lattice.of(set, greedy)
    report = check(lattice, examples={lattice: [{1}, {2}]})
    assert report.counterexample is not None
    assert "it changes its argument" in str(report)


def test_a_lattice_of_which_no_values_are_known_says_so() -> None:
    class Secret:
        """Only its author can make one."""

        def __init__(self) -> None:
            self.hidden = 0

    report = check(flo.Lattice.of(Secret, lambda a, b: b if a.hidden == b.hidden else a))
    assert "no values but ⊥" in str(report)


def test_a_lattice_class_of_ones_own_is_tried_when_an_lvar_of_it_is_read() -> None:
    flow = flo.Flow()
    sums = flow.input("sums", flo.LVar(flo.MapUnion(str, flo.Lattice.of(0, add))))
    with pytest.raises(flo.LawError, match="is not a lattice: it breaks the law that the join is idempotent"):
        sums.above({"a": 1})


def test_a_lattice_of_ones_own_works_once_it_passes() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
    flow.output("largest", numbers.fold_lattice(flo.Lattice.of(0, max)).to_sequence())
    assert flow.run(numbers=[3, 9, 4]) == {"largest": [9]}

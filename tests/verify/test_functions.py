"""Laws of functions: proved where the solver can, tried where it cannot, refuted with a counterexample to paste."""

from __future__ import annotations

import operator
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

import flo
from flo.verify import check, laws
from flo.verify.effort import Effort
from flo.verify.functions.domains import NO_START
from flo.verify.functions.function import check_function


def total(a: int, x: int) -> int:
    return a + x


def last(a: int, x: int) -> int:
    return x


def count(acc, row):
    return acc[0] + row[1], acc[1] + row[0] * row[1]


@pytest.mark.parametrize(
    ("f", "types", "start"),
    [
        (total, (), 0),
        (total, (), None),
        (max, (int, int), None),
        (lambda a, x: max(a, x), (int,), 0),
        (lambda a, x: a if a > x else x, (int, int), None),
        (lambda a, x: a | x, (frozenset[int], frozenset[int]), None),
        (lambda a, x: a | {x}, (int,), frozenset({1})),
        (lambda acc, row: (acc[0] + row[1], acc[1] + row[0] * row[1]), (tuple[int, int],), (0, 0)),
        (count, (tuple[int, int], tuple[int, int]), None),
        (lambda a, x: a + (1 if x > 100 else 0), (int,), 0),
    ],
)
def test_what_the_solver_can_follow_is_proved(f: Callable[..., Any], types: tuple[Any, ...], start: Any) -> None:
    report = check(f, *types, **({} if start is None else {"start": start}))
    assert report.ok, str(report)
    assert report.laws == (laws.A_FUNCTION, laws.COMMUTATIVE)
    assert report.strength.proved, str(report)
    assert report.strength.exhaustive
    assert not report.strength.random
    assert "proved for all values" in str(report)


def leaving(a: Any, x: int) -> Any:
    """Adds ints, until one comes that no example and no constant has: then order matters."""
    big = x * x == 10**10 and x > 0
    if a is None:
        return "s" if big else None
    if a in ("s", "t"):
        return "t"
    return None if big else a + x


def test_a_proof_counts_only_if_accumulators_stay_in_their_type() -> None:
    assert leaving(leaving(leaving(0, 10**5), 10**5), 1) != leaving(leaving(leaving(0, 10**5), 1), 10**5)
    report = check(leaving, int, start=0)
    assert not report.strength.proved
    assert "commutative: not proved, its results may leave their type" in report.strength.limits
    larger = check(lambda a, x: x if a is None else max(a, x), int, start=None)
    assert larger.strength.proved, str(larger)


@pytest.mark.parametrize(
    ("f", "types"),
    [
        (lambda a, x: (a + x) / 2, ()),
        (last, ()),
        (lambda a, x: x, ()),
        (lambda a, x: 2 * a + x, ()),
        (lambda a, x: a + x, (float, float)),
        (lambda a, x: a + x, (str, str)),
        (lambda a, x: a + (x if x < 1000 else -a), (int, int)),
        (lambda a, x: a + (x if x != 123456789 else -a), (int, int)),
    ],
)
def test_what_depends_on_the_order_is_refuted_by_values_that_show_it(f: Any, types: tuple[Any, ...]) -> None:
    report = check(f, *types)
    found = report.counterexample
    assert found is not None
    assert found.law == laws.COMMUTATIVE
    assert len(found.columns) == 2
    assert found.outcomes[0] != found.outcomes[1]
    assert [len(column) for column in found.columns] == [2, 2]
    with pytest.raises(AssertionError):
        exec(found.reproduce, {"last": last, "flo": flo})


@dataclass(frozen=True)
class Sale:
    price: float
    place: str
    count: int


@dataclass(frozen=True)
class Late:
    place: str
    count: int
    price: float


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "price"),
    [
        (float, lambda x: x),
        (tuple[str, float], lambda row: row[1]),
        pytest.param(tuple[float, str, int], lambda row: row[0], marks=pytest.mark.thorough),
        pytest.param(Sale, lambda row: row.price, marks=pytest.mark.thorough),
        (Late, lambda row: row.price),
    ],
)
def test_a_sum_of_floats_is_refuted_wherever_they_are(kind: Any, price: Any) -> None:
    assert not check(lambda total, row: total + price(row), kind, start=0.0).ok
    assert check(lambda most, row: max(most, price(row)), kind, start=0.0, tries=20).ok


def test_random_values_are_shrunk_and_the_seed_repeats_them() -> None:
    def rare(a: int, text: str) -> int:
        return a + len(text) if len(text.encode()) < 9 else 2 * a

    reports = [check(rare, str, start=0, tries=300, seed=3) for _ in range(2)]
    assert reports[0] == reports[1]
    assert reports[0].counterexample is not None
    assert reports[0].strength.random
    assert len(reports[0].counterexample.about) < 60


@pytest.mark.every(test=2)
@pytest.mark.parametrize(
    ("f", "law", "types", "options"),
    [
        (operator.add, laws.ASSOCIATIVE, (), {}),
        (max, laws.IDEMPOTENT, (), {}),
        (lambda row, weight: 3 * weight, laws.ADDITIVE, (), {}),
        (lambda weight: -weight, laws.ADDITIVE, (), {}),
        (lambda a, x: a + x, laws.INVERSE, (), {"inverse": lambda a, x: a - x}),
        (lambda x: x + 1, laws.INVERSE, (), {"inverse": lambda x: x - 1}),
        (lambda x: x + 1, laws.MONOTONE, (flo.Max(int), flo.Max(int)), {}),
        (len, laws.MONOTONE, (flo.SetUnion(int), flo.Max(int)), {}),
    ],
)
def test_other_laws_hold(f: Any, law: laws.Law, types: Any, options: dict[str, Any]) -> None:
    report = check(f, *types, laws=[law], **options)
    assert report.ok, str(report)
    assert report.laws == (law,)


@pytest.mark.parametrize(
    ("f", "law", "types", "options"),
    [
        (operator.sub, laws.ASSOCIATIVE, (), {}),
        (operator.add, laws.IDEMPOTENT, (), {}),
        (lambda row, weight: weight * weight, laws.ADDITIVE, (), {}),
        (lambda weight: weight + 1, laws.ADDITIVE, (), {}),
        (lambda a, x: max(a, x), laws.INVERSE, (), {"inverse": lambda a, x: a - x}),
        (lambda x: -x, laws.MONOTONE, (flo.Max(int), flo.Max(int)), {}),
        (lambda x: x, laws.MONOTONE, (flo.Max(int), flo.Min(int)), {}),
        (lambda x: x if x < 1000 else 0, laws.MONOTONE, (flo.Max(int), flo.Max(int)), {}),
    ],
)
def test_other_laws_are_refuted(f: Any, law: laws.Law, types: Any, options: dict[str, Any]) -> None:
    report = check(f, *types, laws=[law], **options)
    assert report.counterexample is not None
    assert report.counterexample.law == law
    names = {"flo": flo, "sub": operator.sub, "add": operator.add}
    with pytest.raises(AssertionError):
        exec(report.counterexample.reproduce, names)


def test_types_come_from_the_call_then_from_annotations_then_from_guesses() -> None:
    def joined(a: str, x: str) -> str:
        return a + x

    assert not check(joined).ok
    assert check(joined, int, int).ok
    guessed = check(lambda a, x: a + x)
    assert guessed.ok
    assert "types guessed: int, int" in guessed.strength.limits
    assert "types guessed: int, str" in str(check(lambda a, x: a + len(x)))
    with pytest.raises(flo.LawError, match="takes 2 arguments; got 3 types"):
        check(joined, int, int, int)
    with pytest.raises(flo.LawError, match="fails on every type that was tried"):
        check(lambda a, x: a.nothing + x)


@pytest.mark.always  # no other test starts a fold from a value
def test_an_accumulator_is_what_the_fold_comes_to_and_nothing_else() -> None:
    def never_below(a: int, x: int) -> int:
        return a + abs(x) if a >= 0 else x  # a fold from 0 is never below it

    assert not check(never_below, int, int).ok
    assert check(never_below, int, start=0).ok


def test_a_function_that_is_none_breaks_the_first_law() -> None:
    found = check(lambda a, x: a + random.random()).counterexample
    assert found is not None
    assert found.law == laws.A_FUNCTION
    assert found.outcomes[0] != found.outcomes[1]


def test_a_function_that_raises_says_on_what() -> None:
    def inverse(a: int, x: int) -> int:
        return a + 12 // x

    with pytest.raises(flo.FunctionError, match="`inverse` raised ZeroDivisionError") as caught:
        check(inverse)
    assert "0, 0" in str(caught.value)
    assert "examples={int: […]}" in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    assert check(inverse, examples={int: [1, 2, 3]}).ok


def test_a_function_that_never_returns_is_stopped() -> None:
    def endless(a: int, x: int) -> int:
        while x == 2:
            pass
        return a

    with pytest.raises(flo.FunctionError, match=r"`endless` was aborted after 0\.2 s of processor time") as caught:
        check(endless, seconds=0.2)
    assert "0, 2" in str(caught.value)
    assert "while x == 2" in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def test_a_function_that_changes_its_arguments_is_found_out() -> None:
    def greedy(a: int, row: list[int]) -> int:
        row.append(1)
        return a

    report = check(greedy)
    assert report.counterexample is not None
    assert "it changes its argument" in str(report)
    with pytest.raises(AssertionError):
        exec(report.counterexample.reproduce, {"greedy": greedy})


def test_an_accumulator_may_be_changed() -> None:
    """Flo hands a fold a copy of it."""

    def gather(a: set[int], x: int) -> set[int]:
        a.add(x)
        return a

    start: set[int] = set()
    assert check(gather, start=start).ok
    assert start == set()


def test_moments_with_and_without_a_zone_are_not_mixed() -> None:
    report = check(lambda a, x: max(a, x), datetime, datetime, tries=50)
    assert report.ok, str(report)
    assert report.strength.random


def test_a_check_stops_when_its_work_is_done_and_says_so() -> None:
    def total(a: float, x: float) -> float:
        return a + float(x)

    report = check(total, float, float, work=10)
    assert report.ok
    assert "stopped after 10 units of work" in report.strength.limits
    assert report.strength.attempts == 10
    nothing = check_function(total, (float, float), Effort(work=0), laws=None, start=NO_START)
    assert not nothing.ok
    assert nothing.verdict == "is undecided: nothing was tried"


def test_without_the_libraries_of_the_extra_it_says_what_was_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.setitem(sys.modules, "z3", None)
    report = check(total)
    assert report.ok
    assert not report.strength.proved
    assert not report.strength.random
    assert "Hypothesis is not installed" in str(report)
    assert "z3 is not installed" in str(report)


def test_a_law_that_needs_more_asks_for_it() -> None:
    with pytest.raises(flo.LawError, match="cannot be tried without it"):
        check(total, laws=[laws.INVERSE])
    with pytest.raises(flo.LawError, match="cannot be tried without lattices"):
        check(abs, int, laws=[laws.MONOTONE])

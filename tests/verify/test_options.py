"""Options and reports of `check`: meaningless options are rejected, and reports say how hard laws were tried."""

from __future__ import annotations

import json
import random
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st

import flo
from flo.values.operators.bags import Count
from flo.verify import check, laws
from flo.verify.equality import are_equal

pytestmark = pytest.mark.every(check=5)


def total(a: int, x: int) -> int:
    return a + x


def flow_of(kind: Any, make: Any) -> flo.Flow:
    flow = flo.Flow("tried")
    flow.output("results", make(flow.input("rows", kind, bounded=True)))
    return flow


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"laws": ["commutative"]}, "unknown law 'commutative'"),
        ({"laws": "commutative"}, "got 'commutative'"),
        ({"laws": [laws.CONFLUENCE]}, "unknown law `confluence`"),
        ({"laws": []}, "no law to try on `total`"),
        ({"laws": [laws.INVERSE]}, "has an inverse cannot be tried without it"),
        ({"laws": [laws.MONOTONE]}, "cannot be tried without lattices"),
        ({"examples": {int: st.nothing()}}, "the examples of int are empty"),
        ({"examples": {int: []}}, "the examples of int are empty"),
        ({"seconds": "a"}, "`seconds` must be a number > 0; got 'a'"),
        ({"seconds": 0}, "`seconds` must be"),
        ({"seconds": float("nan")}, "`seconds` must be"),
        ({"tries": -1}, "`tries` must be an integer ≥ 0; got -1"),
        ({"most": 1.5}, "`most` must be an integer"),
        ({"seed": "a"}, "`seed` must be an integer"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(flo.LawError) as caught:
        check(total, **options)
    assert says in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


@pytest.mark.parametrize("option", [{"laws": [laws.COMMUTATIVE]}, {"start": 0}, {"inverse": total}])
def test_options_of_functions_are_refused_elsewhere(option: dict[str, Any]) -> None:
    with pytest.raises(flo.LawError, match="applies only to the check of a function"):
        check(flo.Max(int), **option)


def test_subjects_that_cannot_be_tried_as_they_are() -> None:
    with pytest.raises(flo.LawError, match="needs an instance of an operator; got the class Count"):
        check(Count)
    for kind in (flo.Bag[list[int]], flo.Set[set[int]], flo.Keyed[list[int], flo.Sequence[int]]):
        with pytest.raises(flo.LawError, match="must be hashable"):
            check(kind)


def test_one_law_is_as_good_as_a_list() -> None:
    assert check(total, laws=laws.COMMUTATIVE).laws == (laws.COMMUTATIVE,)


def test_an_inverse_is_tried_when_it_is_given() -> None:
    report = check(max, int, int, inverse=lambda a, x: a)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.INVERSE
    assert laws.INVERSE in check(total, inverse=lambda a, x: a - x).laws


def test_a_report_names_the_laws_of_monotone_functions() -> None:
    report = check(lambda a: a + 1, flo.Max[int], flo.Max[int])
    assert report.laws == (laws.A_FUNCTION, laws.MONOTONE)
    with pytest.raises(flo.LawError, match="unknown law `commutative`; expected one of one result, monotone"):
        check(lambda a: a + 1, flo.Max[int], flo.Max[int], laws=[laws.COMMUTATIVE])


def test_what_breaks_in_a_part_breaks_in_the_whole() -> None:
    last = flow_of(flo.Bag[int], lambda rows: rows.fold(0, lambda a, x: x, commutative="so I say"))
    report = check(last, most=0, tries=0)
    assert not report.ok
    assert report.counterexample is not None
    assert report.counterexample.law == laws.COMMUTATIVE
    assert str(report).count("f(f(a, x), y)") == 1


def ends(*arguments: Any) -> Any:
    sys.exit(3)


def test_a_function_that_ends_python_is_one_that_raises() -> None:
    with pytest.raises(flo.FunctionError, match="`ends` raised SystemExit: 3"):
        check(ends, int, int)
    with pytest.raises(flo.FunctionError, match="raised SystemExit: 3"):
        check(flow_of(flo.Sequence[int], lambda rows: rows.map(ends)))
    with pytest.raises(flo.LawError, match="could not be tried"):
        flow_of(flo.Bag[int], lambda rows: rows.fold(0, ends))


@pytest.mark.thorough
def test_times_are_without_zones_unless_examples_have_them() -> None:
    begin = datetime(2020, 1, 1)
    assert check(flow_of(flo.Sequence[datetime], lambda rows: rows.map(lambda moment: moment - begin))).ok
    zoned = {datetime: [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)]}
    assert check(lambda a, x: max(a, x, begin.replace(tzinfo=UTC)), datetime, datetime, examples=zoned).ok


@pytest.mark.every(test=2)
@pytest.mark.parametrize("kind", [timedelta, Decimal])
def test_sums_of_generated_values_do_not_overflow(kind: Any) -> None:
    report = check(lambda a, x: a + x > kind(0), kind, kind, laws=laws.A_FUNCTION)
    assert report.ok, str(report)
    assert report.strength.random


@pytest.mark.parametrize("kind", [date, datetime])
def test_generated_dates_are_far_from_the_first_and_the_last(kind: Any) -> None:
    century = timedelta(days=36_525)
    assert check(lambda day: (day - century, day + century), kind).strength.random


def test_nan_is_nan_wherever_it_is() -> None:
    def nan() -> float:
        return float("nan")

    for one, other in (
        (nan(), nan()),
        ([nan()], [nan()]),
        ({"a": nan()}, {"a": nan()}),
        ({nan(), 1.0}, {nan(), 1.0}),
        (Decimal("nan"), Decimal("nan")),
        (complex(nan(), 1), complex(nan(), 1)),
    ):
        assert are_equal(one, other)
    for one, other in (({"a": nan()}, {"a": 1.0}), ({nan(), 1.0}, {nan(), 2.0}), (Decimal("nan"), Decimal(1))):
        assert not are_equal(one, other)
    assert check(lambda a: {"mean": float("nan")}, int).ok


def test_functions_are_equal_if_their_code_and_its_values_are() -> None:
    def adder(n: int) -> Any:
        return lambda x: x + n

    def recursive() -> Any:
        def countdown(n: int) -> int:
            return countdown(n - 1) if n else 0

        return countdown

    for one, other in ((adder(1), adder(1)), (partial(pow, 2), partial(pow, 2)), (recursive(), recursive())):
        assert are_equal(one, other)
    for one, other in (
        (lambda x: x, lambda x: x + 1),
        (adder(1), adder(2)),
        (lambda x=1: x, lambda x=2: x),
        (partial(pow, 2), partial(pow, 3)),
        (partial(pow, 2), partial(divmod, 2)),
    ):
        assert not are_equal(one, other)
    assert check(adder, int).ok
    results = iter(range(1_000))
    assert not check(lambda a: adder(next(results)), int).ok


def test_the_simplest_counterexample_is_shown() -> None:
    report = check(lambda a, x: (a + x) / 2, float, float)
    assert report.counterexample is not None
    assert report.counterexample.about == "on a = 0.0, x = 0.0, y = 1.0"


@pytest.mark.thorough
@pytest.mark.slow
def test_a_proof_for_floats_does_not_speak_of_ints() -> None:
    assert "no ints in their place" in str(check(max, float, float))
    assert "no ints in their place" in str(check(lambda a, x: max(a, x), tuple[int, float], tuple[int, float]))
    assert "no ints" not in str(check(max, int, int))


def parsed(line: str) -> Any:
    return json.loads(line)


def test_what_raised_is_shown_on_the_users_line_with_its_type() -> None:
    for kind in (flo.Bag[str], flo.Sequence[str]):
        with pytest.raises(flo.FunctionError) as caught:
            check(flow_of(kind, lambda rows: rows.map(parsed)))
        text = str(caught.value)
        assert ("given", "'a'") in caught.value.facts
        assert "return json.loads(line)" in text
        assert "decoder.py" not in text
        assert "examples={str: […]}" in text


def test_the_advice_names_the_type_as_it_was_given() -> None:
    with pytest.raises(flo.FunctionError) as caught:
        check(lambda row: row[0], list[int])
    assert "examples={list[int]: […]}" in str(caught.value)


def test_a_join_that_never_returns_is_named_with_what_it_was_given() -> None:
    def endless(a: int, b: int) -> int:
        while True:
            pass

    with pytest.raises(flo.FunctionError, match=r"`endless` was aborted after 0\.2 s of processor time") as caught:
        check(flo.Lattice.of(0, endless), seconds=0.2)
    assert ("given", "0, 1") in caught.value.facts
    with pytest.raises(flo.LawError) as refused:
        flow_of(flo.Bag[int], lambda rows: rows.fold_lattice(flo.Lattice.of(0, endless)))
    assert refused.value.facts[:2] == (("join", "endless"), ("given", "0, 1"))


def test_a_collection_that_never_returns_is_stopped() -> None:
    class Endless(flo.Sequence[int]):
        def mismatch(self, value: Any) -> str | None:
            while True:
                pass

    with pytest.raises(flo.FunctionError, match=r"was aborted after 0\.2 s of processor time") as caught:
        check(Endless(int), seconds=0.2)
    assert ("check(…, seconds=2.4)", "if it is only slow") in caught.value.instead


@pytest.mark.parametrize("reason", [False, True, 0, "", "  ", 3])
def test_a_claim_is_a_text(reason: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match="`commutative` of `fold` must be a non-empty string"):
        flow_of(flo.Bag[int], lambda rows: rows.fold(0, lambda a, x: x, commutative=reason))
    with pytest.raises(flo.TypeMismatch, match="`monotone` of `map_monotone` must be a non-empty string"):
        flow_of(flo.LVar[flo.Max[int]], lambda x: x.map_monotone(lambda v: -v, flo.Max(int), monotone=reason))


def test_a_random_function_is_not_said_to_fall() -> None:
    dice = random.Random(0)
    for f in (lambda v: dice.random(), lambda v: dice.choice([0.0, 0.0, 0.0, 1.0])):
        with pytest.raises(flo.LawError, match="returns two results for the same arguments"):
            flow_of(flo.LVar[flo.Max[int]], lambda x, f=f: x.map_monotone(f, flo.Max(float)))


def drawn(totals: tuple[int, int]) -> float:
    return random.random()


def test_finish_is_tried_too() -> None:
    with pytest.raises(flo.LawError, match="returns two results for the same arguments"):
        flow_of(flo.ZSet[int], lambda x: x.agg(mean=flo.linear(lambda row: (row, 1), drawn)))
    flow_of(flo.ZSet[int], lambda x: x.agg(mean=flo.linear(lambda row: (row, 1), lambda n: n[0] / n[1])))


@pytest.mark.parametrize(
    ("kind", "start", "f", "advised"),
    [
        (str, "", lambda a, x: a + x, False),
        (int, 0, lambda a, x: x, False),
        (float, 0.0, lambda a, x: (a + x) / 2, False),
        (float, 0.0, lambda a, x: a + x, True),
        (Decimal, Decimal(0), lambda a, x: a + x, True),
    ],
)
def test_a_sum_is_advised_only_for_sums(kind: Any, start: Any, f: Any, advised: bool) -> None:
    with pytest.raises(flo.LawError) as caught:
        flow_of(flo.Bag[kind], lambda rows: rows.fold(start, f))
    assert ("rows.sum()" in str(caught.value)) is advised

"""Checks: what is legal passes, and each illegal operator is caught by the law it breaks, on a small input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add
from random import Random

import pytest

import flo
import flo.verify
from flo.values.operators.bags import Count, Sum
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.lvars import Threshold
from flo.values.operators.pairs import Zip
from flo.values.operators.sequences import Batch, Enumerate, Fold, Last, Scan, Take
from flo.values.operators.sets import Intersection, UnionSets
from flo.values.operators.shapes import Unary
from flo.values.operators.zset_joins import Join
from flo.values.operators.zsets import Distinct, Negate
from flo.verify import laws
from flo.verify.programs.rules import named_rules
from tests.seeded import operators as illegal
from tests.seeded.lvars import CurrentValue

pytestmark = pytest.mark.every(check=3)

DICE = Random(0)


def increment(x: int) -> int:
    return x + 1


@dataclass(frozen=True)
class Picky(flo.Operator):
    """Takes nothing that is tried."""

    name = "picky"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        raise flo.CollectionError("`picky` works on Keyed[str, …], and {input} is none")

    def steps(self, inputs: tuple[flo.Value, ...]) -> Iterator[flo.Step]:
        return iter(())


class Plain(flo.Operator):
    """Not a dataclass."""

    name = "plain"
    type, steps = Picky.type, Picky.steps


@dataclass(frozen=True)
class Lazy(Unary):
    """Has a rule for what does not happen."""

    name = "lazy"
    rule = "lazy"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def rule_for(self, unit: object) -> str:
        return "lazy" if unit is not None else "lazy-never"

    def consume(self, units, source):
        return self, (source.of(units),)


@dataclass(frozen=True)
class Rare(Lazy):
    """Emits a text for one number."""

    name = "rare"

    def consume(self, units, source):
        return self, (source.of(["much" if unit == 123_456 else unit for unit in units]),)


@dataclass(frozen=True)
class Named(Lazy):
    """The same, with a number that its class has a name for."""

    name = "named"
    LIMIT = 654_321

    def consume(self, units, source):
        return self, (source.of(["much" if unit == self.LIMIT else unit for unit in units]),)


@pytest.mark.parametrize("operator", [Rare(), Named()], ids=lambda operator: operator.name)
def test_small_inputs_have_numbers_that_the_methods_of_an_operator_speak_of(operator: flo.Operator) -> None:
    report = flo.verify.check(operator, flo.Sequence[int], tries=0)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.PRESERVATION


def twice(x: int) -> list[int]:
    return [x, x]


@pytest.mark.slow
@pytest.mark.parametrize(
    "operator",
    [
        Map(increment), Fold(0, add), Last(), Zip(), UnionSets(), Distinct(), Threshold((1,)), Sum(),
        *(
            pytest.param(operator, marks=pytest.mark.thorough)
            for operator in (
                Filter(increment), FlatMap(twice), Scan(0, add), Enumerate(), Take(2), Batch(2), Intersection(), Join(),
                Negate(), Count(),
            )
        ),
    ],
    ids=lambda operator: operator.name,
)  # fmt: skip
def test_legal_operators_pass(operator: flo.Operator) -> None:
    """On the types that are guessed; test_shipped.py has all operators, and names their types."""
    report = flo.verify.check(operator, tries=10)
    assert report.ok, str(report)
    assert report.fired
    assert not report.never_fired, str(report)
    assert report.strength.up_to == 3
    assert report.strength.random >= 10


@pytest.mark.parametrize(
    ("operator", "law"),
    [
        (CurrentValue(), laws.EAGER_EXECUTION),
        (illegal.Hanging(), laws.OUTPUT_MAXIMALITY),
        (illegal.Endless(), laws.STUCK_STATE),
        (illegal.Racing(), laws.CONFLUENCE),
        (illegal.Mistyped(), laws.PRESERVATION),
    ],
    ids=lambda item: item.name,
)
def test_illegal_operators_are_caught_by_the_law_they_break(operator: flo.Operator, law: laws.Law) -> None:
    report = flo.verify.check(operator)
    assert not report.ok
    assert report.counterexample is not None
    assert report.counterexample.law == law, str(report)


def test_an_operator_that_never_ends_is_caught_on_bounded_types() -> None:
    report = flo.verify.check(illegal.Unending(), flo.StreamType(flo.Sequence(int), bounded=True))
    assert report.counterexample is not None
    assert report.counterexample.law == laws.BOUNDED_OUTPUTS


def test_a_race_is_shown_in_two_columns() -> None:
    report = flo.verify.check(CurrentValue())
    assert report.counterexample is not None
    columns = report.counterexample.columns
    assert len(columns) == 2
    assert max(map(len, columns)) <= 3
    assert "current-value" in str(report)
    assert "instead" in str(report)
    assert 'data=[[1, 1]], trace="1←1 current-value 1←1 current-value")' in str(report)


@pytest.mark.every(test=4)
@pytest.mark.parametrize(
    "collection",
    [
        flo.Sequence[int], flo.Bag[int], flo.Set[str], flo.ZSet[int], flo.LVar[flo.Max[int]],
        flo.Nested[flo.Sequence[int]], flo.Keyed[int, flo.Bag[int]],
    ],
    ids=str,
)  # fmt: skip
def test_collections_pass(collection: type[flo.Collection]) -> None:
    report = flo.verify.check(collection, tries=10)
    assert report.ok, str(report)
    assert report.strength.random == 10


def test_what_has_no_laws_is_refused() -> None:
    with pytest.raises(flo.LawError, match="no laws for int"):
        flo.verify.check(3)


def noisy(x: int) -> int:
    return x + DICE.randrange(100)


def inverse(x: int) -> int:
    return 1 // x


def endless(x: int) -> int:
    while x > 1:
        pass
    return x


def test_a_function_that_gives_something_else_each_time_is_named() -> None:
    report = flo.verify.check(Map(noisy))
    assert report.counterexample is not None
    assert report.counterexample.law == laws.A_FUNCTION
    assert "`noisy` gives one result the first time and another the second" in str(report)


def test_a_function_that_raises_is_an_error_with_its_line() -> None:
    with pytest.raises(flo.FunctionError) as caught:
        flo.verify.check(Map(inverse), flo.Sequence[int])
    shown = str(caught.value)
    assert "raised ZeroDivisionError" in shown
    assert "given               0" in shown
    assert "return 1 // x" in shown
    assert "examples=" in shown
    assert flo.verify.check(Map(inverse), flo.Sequence[int], examples={int: [1, 2]}, tries=10).ok


def test_inputs_that_are_skipped_because_types_are_a_guess_are_reported() -> None:
    report = flo.verify.check(Map(inverse), most=2, tries=10)
    assert report.ok
    assert any("inputs were skipped" in limit for limit in report.strength.limits)


def test_a_function_that_never_returns_is_stopped() -> None:
    with pytest.raises(flo.LawError) as caught:
        flo.verify.check(Map(endless), flo.Sequence[int], examples={int: [2]}, seconds=0.2)
    shown = str(caught.value)
    assert "a function was aborted after 0.2 s of processor time: it had not returned" in shown
    assert "endless(x=2)" in shown
    assert "([2],)" in shown
    assert "test_check.py" in shown


def test_work_that_is_done_is_said() -> None:
    report = flo.verify.check(Join(), most=6, work=3_000)
    assert report.ok
    assert report.strength.up_to < 6
    assert "not all inputs of 2 elements, as 3,000 units of work were done" in report.strength.limits


def test_nothing_but_empty_inputs_is_not_enough() -> None:
    for report in (flo.verify.check(Join(), work=1), flo.verify.check(Join(), most=0, tries=0)):
        assert not report.ok
        assert report.counterexample is None
        assert report.verdict == "is undecided: only empty inputs were tried"
        assert "is undecided: only empty inputs were tried" in str(report)
    assert flo.verify.check(Join(), most=1, tries=0).ok


@pytest.mark.slow
@pytest.mark.thorough
def test_what_is_found_does_not_depend_on_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is one on which the clock jumps."""
    subjects = [(Fold(0, add), flo.Sequence[int]), (Join(), flo.ZSet[int], flo.ZSet[int]), (Lazy(), flo.Sequence[int])]
    before = [flo.verify.check(*subject, tries=5, most=1) for subject in subjects]
    hours = iter(range(0, 10**9, 3600))
    for clock in ("monotonic", "time", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: float(next(hours)))
    assert [flo.verify.check(*subject, tries=5, most=1) for subject in subjects] == before
    proved = flo.verify.check(max, int, int, laws=[laws.COMMUTATIVE])
    assert proved.strength.proved


def test_a_collection_stands_for_its_bounded_and_its_unbounded_stream() -> None:
    assert flo.verify.check(Fold(0, add), flo.Sequence[int], tries=5).ok
    assert flo.verify.check(illegal.Unending(), flo.Sequence[int]).counterexample is not None
    with pytest.raises(flo.OrderError, match="requires Sequence"):
        flo.verify.check(Fold(0, add), flo.Bag[int])


def test_an_operator_that_takes_none_of_the_guesses_says_why() -> None:
    with pytest.raises(flo.LawError) as caught:
        flo.verify.check(Picky())
    assert "rejects every input type" in str(caught.value)
    assert "`picky` works on Keyed[str, …]" in str(caught.value)


def test_an_operator_that_is_no_dataclass_is_refused() -> None:
    with pytest.raises(flo.LawError, match="must be a dataclass"):
        flo.verify.check(Plain())


def test_rules_that_never_fire_are_reported() -> None:
    report = flo.verify.check(Lazy(), flo.Sequence[int], tries=20)
    assert report.ok
    assert report.never_fired == {"lazy-never"}
    assert report.verdict == "passes, with gaps: rule lazy-never never fired"
    assert report.verdict in str(report)


@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        (Map(increment), (flo.Bag(int),), {"map-bag", "map-bag-terminated"}),
        (Zip(), (flo.Sequence(int), flo.Sequence(int)), {"zip", "zip-drain", "zip-terminator"}),
        (Join(), (flo.ZSet(int), flo.ZSet(int)), {"join-zset", "join-zset-terminated"}),
        (
            UnionSets(),
            (flo.Set(int), flo.Set(int)),
            {"union-set-left", "union-set-right", "union-set-terminated"},
        ),
    ],
    ids=lambda item: getattr(item, "name", None),
)
def test_the_rules_that_an_operator_names(
    operator: flo.Operator, types: tuple[flo.Collection, ...], expected: set[str]
) -> None:
    assert named_rules(operator, tuple(flo.StreamType(kind, bounded=True) for kind in types)) == expected


def test_a_report_is_the_same_each_time() -> None:
    assert str(flo.verify.check(illegal.Racing())) == str(flo.verify.check(illegal.Racing()))
    assert flo.verify.check(Enumerate(), tries=20, seed=5) == flo.verify.check(Enumerate(), tries=20, seed=5)

"""Checks: what is legal passes, and each illegal operator is caught by the law it breaks, on a small input."""

from __future__ import annotations

from operator import add

import pytest

import flo
import flo.verify
from flo.values.operators.bags import Count, Sum
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.pairs import Zip
from flo.values.operators.sequences import Batch, Enumerate, Fold, Last, Scan, Take
from flo.values.operators.sets import Intersection, SetUnion
from flo.values.operators.thresholds import Threshold
from flo.values.operators.zset_joins import Join
from flo.values.operators.zsets import Distinct, Negate
from flo.verify import laws
from tests.verify import illegal


def increment(x: int) -> int:
    return x + 1


def twice(x: int) -> list[int]:
    return [x, x]


@pytest.mark.parametrize(
    "operator",
    [
        Map(increment), Filter(increment), FlatMap(twice), Scan(0, add), Fold(0, add), Enumerate(), Take(2), Last(),
        Batch(2), Zip(), SetUnion(), Intersection(), Join(), Distinct(), Negate(), Threshold((1,)), Count(), Sum(),
    ],
    ids=lambda operator: operator.name,
)  # fmt: skip
def test_legal_operators_pass(operator: flo.Operator) -> None:
    report = flo.verify.check(operator)
    assert report.ok, str(report)
    assert report.fired


@pytest.mark.parametrize(
    ("operator", "law"),
    [
        (illegal.CurrentValue(), laws.EAGER_EXECUTION),
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
    report = flo.verify.check(illegal.CurrentValue())
    assert report.counterexample is not None
    columns = report.counterexample.columns
    assert len(columns) == 2
    assert max(map(len, columns)) <= 4
    assert "current-value" in str(report)
    assert "instead" in str(report)


@pytest.mark.parametrize(
    "collection",
    [
        flo.Sequence[int], flo.Bag[int], flo.Set[str], flo.ZSet[int], flo.LVar[flo.Max[int]],
        flo.Nested[flo.Sequence[int]], flo.Keyed[int, flo.Bag[int]],
    ],
    ids=str,
)  # fmt: skip
def test_collections_pass(collection: type[flo.Collection]) -> None:
    report = flo.verify.check(collection)
    assert report.ok, str(report)


def test_what_has_no_laws_is_refused() -> None:
    with pytest.raises(flo.LawError, match="no laws for int"):
        flo.verify.check(3)

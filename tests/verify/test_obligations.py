"""What operators ask of functions: tried when a program is built, once, and refused with the counterexample."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

import flo
from flo.core.stream_type import StreamType
from flo.values.operators.bags import FoldUnordered
from flo.values.operators.elementwise import Map
from flo.values.operators.group_aggregates import CountRows, LinearOf
from flo.values.operators.group_by import Aggregated, GroupBy
from flo.values.operators.lvars import MapLattice
from flo.values.operators.zsets import MapWeights
from flo.verify import laws
from flo.verify.effort import Effort
from flo.verify.functions.rejections import check_obligation, obligations

BAG = flo.Bag[int]


def bag(kind: Any = BAG) -> Any:
    return flo.Flow("numbers").input("numbers", kind, bounded=True)


def last(a: int, x: int) -> int:
    return x


def shaken(x: int) -> float:
    return x + random.random()


def total(a: int, x: int) -> int:
    return a + x


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: bag().fold(0, last), "`fold` over a Bag needs a commutative function; `last` is not"),
        (lambda: bag(flo.Set[int]).fold(0, last), "`fold` over a Set needs a commutative function"),
        (lambda: bag().fold(0, lambda a, x: a + (x if x < 100 else -a)), "f(f(0, 1), 100) = 0"),
        (
            lambda: bag().fold(0, lambda a, x: a + random.random()),
            "does not return the same result every time: it calls `random.random`",
        ),
        (lambda: bag(flo.ZSet[int]).map_weights(lambda x, w: abs(w)), "additive in the weight"),
        (lambda: bag(flo.ZSet[int]).map_weights(lambda x, w: w if w < 50 else 50), "additive in the weight"),
        (lambda: bag(flo.LVar[flo.Max[int]]).map_monotone(lambda x: -x, flo.Max(int)), "needs a monotone function"),
        (
            lambda: bag(flo.ZSet[int]).agg(total=flo.linear(shaken, lambda n: n)),
            "`shaken` does not return the same result every time",
        ),
        (lambda: bag(flo.Bag[list[int]]).fold(0, lambda a, row: row.append(a) or a), "changes its arguments"),
    ],
)
def test_what_breaks_a_law_is_refused_on_the_users_line(build: Callable[[], Any], says: str) -> None:
    with pytest.raises(flo.LawError) as caught:
        build()
    assert says in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def test_what_keeps_the_laws_is_built_and_runs() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", BAG, bounded=True)
    flow.output("total", numbers.fold(0, total))
    rows = numbers.to_zset()
    flow.output("double", rows.map_weights(lambda x, w: 2 * w))
    flow.output(
        "means", rows.group_by(odd=lambda x: x % 2).agg(mean=flo.linear(lambda x: (x, 1), lambda t: t[0] / t[1]))
    )
    flow.output("most", numbers.fold_lattice(flo.Max(int)).map_monotone(lambda x: x + 1, flo.Max(int)))
    assert flow.run(numbers=[1, 2, 2]) == {
        "total": [5], "double": {1: 2, 2: 4}, "means": {(1, 1.0): 1, (0, 2.0): 1}, "most": 3
    }  # fmt: skip


def test_an_operator_that_is_applied_by_hand_is_asked_too() -> None:
    with pytest.raises(flo.LawError, match="needs a commutative function"):
        bag().apply(FoldUnordered(0, last))


class Tally:
    calls = 0


def test_a_program_that_is_built_again_is_not_tried_again() -> None:
    def build(step: int) -> int:
        def f(a: int, x: int) -> int:
            Tally.calls += 1
            return a + step * x

        before = Tally.calls
        bag().fold(0, f)
        return Tally.calls - before

    assert build(1) > 0
    assert build(1) == 0
    assert build(2) > 0


def test_a_function_whose_constants_changed_is_tried_again() -> None:
    def build(limit: int) -> None:
        bag().fold(0, lambda a, x: a + x if x < limit else a if limit > 10 else x)

    build(10**9)
    with pytest.raises(flo.LawError):
        build(2)


def test_a_claim_is_believed_when_built_and_tried_when_checked() -> None:
    stream = bag().fold(0, last, commutative="all elements are equal")
    operator = stream.source.operator
    assert operator.commutative == "all elements are equal"
    assert operator == FoldUnordered(0, last)
    types = (StreamType(flo.Bag(int), bounded=True),)
    (obligation,) = obligations(operator, types)
    assert obligation.claim == "all elements are equal"
    report = check_obligation(obligation, Effort(tries=50))
    assert report.counterexample is not None
    assert report.counterexample.law == laws.COMMUTATIVE
    falling = bag(flo.LVar[flo.Max[int]]).map_monotone(lambda x: -x, flo.Max(int), monotone="it does not matter")
    (obligation,) = obligations(falling.source.operator, (StreamType(flo.LVar(flo.Max(int)), bounded=True),))
    assert not check_obligation(obligation, Effort(tries=50)).ok


def test_what_operators_ask() -> None:
    zset, unbounded = StreamType(flo.ZSet(int), bounded=False), StreamType(flo.LVar(flo.Max(int)), bounded=False)
    pairs = StreamType(flo.ZSet(tuple[str, int | None]), bounded=False)
    linear = GroupBy(1, (Aggregated(CountRows()), Aggregated(LinearOf(abs), (1,))), tuple)
    asked = {MapWeights(total): (zset, laws.ADDITIVE), linear: (pairs, laws.A_FUNCTION)}
    for operator, (given, law) in asked.items():
        (obligation,) = obligations(operator, (given,))
        assert law in obligation.laws
        assert hash(obligation) == hash(next(obligations(operator, (given,))))
        assert obligation == next(obligations(operator, (given,)))
        assert check_obligation(obligation, Effort(tries=20)).ok is (operator is linear)
    (obligation,) = obligations(MapLattice(abs, flo.Max(int)), (unbounded,))
    assert obligation.laws == (laws.A_FUNCTION, laws.MONOTONE)
    assert not list(obligations(Map(abs), (zset,)))


def test_values_that_the_function_is_not_meant_for_are_left_out() -> None:
    bag(flo.Bag[str]).fold(0, lambda a, text: a + ord(text))  # of one letter only
    with pytest.raises(flo.LawError, match="needs a commutative function"):
        bag(flo.Bag[str]).fold(0, lambda a, text: 2 * a + ord(text))


def test_a_function_that_cannot_be_tried_needs_a_claim() -> None:
    class Secret:
        def __init__(self) -> None:
            raise NotImplementedError

    def amount(a: int, x: Any) -> int:
        return a + x.amount

    with pytest.raises(flo.LawError, match="could not be tried") as caught:
        bag(flo.Bag[Secret]).fold(0, amount)
    assert 'fold(…, commutative="why")' in str(caught.value)
    with pytest.raises(flo.LawError, match="could not be tried") as caught:
        bag(flo.Bag[str]).fold(0, amount)
    assert "AttributeError" in str(caught.value)
    bag(flo.Bag[Secret]).fold(0, amount, commutative="a sum")


def endless(a: int, x: int) -> int:
    while True:
        pass


def test_a_function_that_never_returns_does_not_hang_the_build() -> None:
    with pytest.raises(
        flo.LawError, match="the function of `fold` was aborted after 1 s of processor time: it had not returned"
    ) as caught:
        bag().fold(0, endless)
    assert "0, 0" in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def test_a_program_can_be_built_in_any_thread() -> None:
    seen: list[str] = []

    def build() -> None:
        try:
            bag(flo.Bag[str]).fold("", lambda text, word: text + word + "!")
        except flo.LawError as error:
            seen.append(error.summary)

    thread = threading.Thread(target=build)
    thread.start()
    thread.join(600)
    assert "needs a commutative function" in seen[0]

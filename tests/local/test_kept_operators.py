"""Who keeps what: operators that are written twice, inputs that have ended, and outputs that were views."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from flo.shards.sinks.sinks import Changes
from tests.local.edit_trial import changes_between, total_of


class Sale(NamedTuple):
    shop: str
    price: int


class Shop(NamedTuple):
    shop: str
    city: str


SALES = [Sale("a", 1), Sale("b", 2), Sale("a", 3)]


def sums(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.sum("price"))


def largest(sales: Any) -> Any:
    return sums(sales).agg(most=flo.max("total"), n=flo.count())


def counts(sales: Any) -> Any:
    return sums(sales).agg(n=flo.count())


def flow_of(outputs: dict[str, Callable[[Any], Any]]) -> flo.Flow:
    """A program in which every output has operators of its own."""
    flow = flo.Flow("twice")
    sales = flow.input("sales", flo.ZSet[Sale])
    for name, make in outputs.items():
        flow.output(name, make(sales))
    return flow


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values())[:-1] for row in view.arrow().to_pylist())


PROGRAMS: list[tuple[dict[str, Callable[[Any], Any]], dict[str, Callable[[Any], Any]]]] = [
    ({"one": sums, "two": sums}, {"two": sums}),
    ({"one": sums, "two": sums}, {"one": sums}),
    ({"one": sums, "two": largest}, {"two": largest}),
    ({"one": sums, "two": largest}, {"one": sums}),
    ({"one": largest, "two": sums}, {"two": sums}),
    ({"one": largest, "two": counts, "three": sums}, {"three": sums, "two": counts}),
    ({"one": sums, "two": sums}, {"two": sums, "one": sums}),
    ({"one": sums, "two": largest}, {"two": largest, "one": sums}),
]


@pytest.mark.parametrize("with_sinks", [False, True], ids=["views", "sinks"])
@pytest.mark.parametrize(("before", "now"), PROGRAMS)
@pytest.mark.every(test=3)
def test_one_of_two_equal_operators_is_removed(before: Any, now: Any, with_sinks: bool, tmp_path: Path) -> None:
    """No row is read again: the other one has the state of both."""

    def sinks(program: Any) -> dict[str, Any]:
        return {name: Changes(str(tmp_path / name)) for name in program if with_sinks}

    with flow_of(before).on(flo.here).start(sinks(before), checkpoint=tmp_path / "c", shards=3) as query:
        query.push(sales=SALES)
    with flow_of(now).on(flo.here).start(sinks(now), checkpoint=tmp_path / "c", changed="fill") as query:
        query.push(sales=[Sale("b", 5), Sale("c", 1)])
        expected = flow_of(now).on(flo.here).run(sales=[*SALES, Sale("b", 5), Sale("c", 1)])
        for name in now:
            if with_sinks:
                assert total_of(changes_between(tmp_path / name, -1, None)) == total_of([expected[name]])
            else:
                assert total_of([query.view(name).arrow()]) == total_of([expected[name]])


@pytest.mark.parametrize(("now", "before"), PROGRAMS[:6])
@pytest.mark.every(test=2)
def test_an_operator_is_written_once_more(before: Any, now: Any, tmp_path: Path) -> None:
    with flow_of(before).on(flo.here).start(checkpoint=tmp_path, shards=3) as query:
        query.push(sales=SALES)
    fill = {"sales": SALES}
    with flow_of(now).on(flo.here).start(checkpoint=tmp_path, changed="fill", fill=fill) as query:
        query.push(sales=[Sale("b", 5), Sale("c", 1)])
        expected = flow_of(now).on(flo.here).run(sales=[*SALES, Sale("b", 5), Sale("c", 1)])
        for name in now:
            assert total_of([query.view(name).arrow()]) == total_of([expected[name]])


def test_an_ended_input_that_is_unbounded_now_stays_ended(tmp_path: Path) -> None:
    def build(bounded: bool, *more: str) -> flo.Flow:
        flow = flo.Flow("ended")
        sales = flow.input("sales", flo.ZSet[Sale])
        shops: Any = flow.input("shops", flo.ZSet[Shop], bounded=bounded)
        joined = sales.join(shops, on="shop")
        flow.output("cities", joined.group_by("city").agg(n=flo.count()))
        for name in more:
            flow.output(name, shops.distinct())
        return flow

    shops = [Shop("a", "x"), Shop("b", "y")]
    with build(True).on(flo.here).start(checkpoint=tmp_path, shards=3) as query:
        query.push(sales=SALES, shops=shops)
        query.end("shops")
    fill: Any = {"sales": SALES, "shops": shops}
    for more in ((), ("shops",)):
        with build(False, *more).on(flo.here).start(checkpoint=tmp_path, changed="fill", fill=fill) as query:
            with pytest.raises(flo.FloError, match="has ended"):
                query.push(shops=[Shop("c", "z")])
            query.push(sales=[Sale("b", 7)])
            fill["sales"] = [*fill["sales"], Sale("b", 7)]
            assert rows(query.view("cities")) == [("x", 2), ("y", len(fill["sales"]) - 2)]
            for name in more:
                assert rows(query.view(name)) == sorted(map(tuple, shops))


@pytest.mark.parametrize("reconciles", [False, True])
def test_back_to_when_an_output_with_a_sink_was_a_view(reconciles: bool, tmp_path: Path) -> None:
    def start(sink: Changes | None, **more: Any) -> Any:
        return (
            flow_of({"sums": sums})
            .on(flo.here)
            .start({"sums": sink} if sink else {}, checkpoint=tmp_path / "c", **more)
        )

    sink = Changes(str(tmp_path / "sums"))
    with start(None, keep=10) as query:
        query.push(sales=SALES)
        query.push(sales=SALES)
    with start(sink, changed="fill", keep=10) as query:
        query.push(sales=SALES)
    with start(sink.reconcile() if reconciles else sink, version=0, changed="fill", keep=10) as query:
        expected = flow_of({"sums": sums}).on(flo.here).run(sales=SALES)["sums"]
        assert total_of(changes_between(tmp_path / "sums", -1, None)) == total_of([expected])
        query.push(sales=[Sale("c", 1)])
    expected = flow_of({"sums": sums}).on(flo.here).run(sales=[*SALES, Sale("c", 1)])["sums"]
    assert total_of(changes_between(tmp_path / "sums", -1, None)) == total_of([expected])


def test_the_order_of_equal_operators_is_not_another_program(tmp_path: Path) -> None:
    def made(*order: str) -> flo.Flow:
        flow = flo.Flow("twins")
        numbers = flow.input("numbers", flo.ZSet[int])
        twins = {name: numbers.distinct() for name in order}
        for least, name in enumerate("ab"):
            flow.output(name, twins[name].filter(lambda x, least=least: x > least))
        return flow

    with made("a", "b").on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(numbers=[1, 1, 2])
    with made("b", "a").on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(numbers={1: -2, 3: 1})
        assert [query.view(name).value() for name in "ab"] == [{2: 1, 3: 1}, {2: 1, 3: 1}]

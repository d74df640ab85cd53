"""The `repr` of flows, streams and loops, and the module for authors of operators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import flo
import flo.authoring


def double(x: int) -> int:
    return 2 * x


def shop() -> flo.Flow:
    flow = flo.Flow("shop")
    prices = flow.input("prices", flo.Sequence[int], bounded=True)
    orders = flow.input("orders", flo.Bag[str])
    flow.output("doubled", prices.map(double).filter(bool))
    flow.output("orders", orders)
    return flow


def test_a_flow_shows_its_inputs_outputs_and_size() -> None:
    assert repr(shop()) == (
        "<Flow 'shop': 2 operators\n"
        "  input   prices   Sequence[int], bounded\n"
        "  input   orders   Bag[str], unbounded\n"
        "  output  doubled  Sequence[int], bounded\n"
        "  output  orders   Bag[str], unbounded>"
    )


def test_operators_in_bodies_count() -> None:
    flow = flo.Flow("sums")
    prices = flow.input("prices", flo.Sequence[int])
    flow.output("sums", prices.batch(2).nest(lambda batch: batch.map(double).sum()))
    assert repr(flow).startswith("<Flow 'sums': 4 operators\n")


def test_a_flow_that_is_not_finished_has_a_repr_too() -> None:
    flow = flo.Flow()
    assert repr(flow) == "<Flow 'flow': 0 operators>"
    flow.input("unread", flo.Sequence[int]).map(double)
    assert repr(flow) == "<Flow 'flow': 1 operator\n  input   unread  Sequence[int], unbounded>"


def test_a_stream_shows_its_name_and_type() -> None:
    flow = flo.Flow("names")
    numbers = flow.input("prices", flo.Sequence[int])
    doubled = numbers.map(double)
    assert repr(numbers) == "<Stream prices: Sequence[int], unbounded>"
    assert repr(doubled) == "<Stream doubled: Sequence[int], unbounded>"


def test_a_loop_shows_its_inputs_and_outputs() -> None:
    loop, on_tables = shop().loop(), shop().on(flo.here)
    loop.end("prices")
    assert repr(loop) == "<FlowLoop from prices (ended), orders to doubled, orders>"
    assert repr(on_tables.loop()) == "<TableLoop from prices, orders to doubled, orders>"
    assert repr(on_tables) == "<Flow 'shop', in this process: run(…), loop(…), start(…), explain()>"


def test_a_stream_without_a_name_shows_the_verb_and_the_line() -> None:
    stream = flo.Flow("lines").input("prices", flo.Sequence[int])
    shown = repr(stream.map(double).take(3))
    assert shown.startswith("<Stream `take` at test_reprs.py:")
    assert shown.endswith(": Sequence[int], unbounded>")


def test_authors_find_everything_in_one_module() -> None:
    assert all(hasattr(flo.authoring, name) for name in flo.authoring.__all__)
    assert flo.authoring.Operator is flo.Operator
    assert {"expect_bounded", "expect_collection", "Unary", "Sides", "SequenceValue"} <= set(flo.authoring.__all__)


@dataclass(frozen=True)
class Differences(flo.authoring.Unary):
    """Emits how much each number differs from the one before it."""

    last: int | None = None

    name = "running_differences"

    def type(self, inputs: flo.authoring.StreamTypes) -> flo.authoring.StreamTypes:
        flo.authoring.expect_collection(self, inputs[0], flo.Sequence)
        return inputs

    def consume(self, units: list[int], source: Any) -> Any:
        known = units if self.last is None else [self.last, *units]
        differences = [after - before for before, after in pairwise(known)]
        return replace(self, last=known[-1]), (flo.authoring.SequenceValue.of(differences),)


def test_an_operator_by_elements_needs_a_type_and_what_it_does_to_them() -> None:
    flow = flo.Flow("differences")
    (found,) = flow.input("numbers", flo.Sequence[int], bounded=True).apply(Differences())
    flow.output("found", found)
    loop = flow.loop(record=True)
    loop.push(numbers=[1, 4])
    loop.end("numbers")
    loop.run()
    assert loop.result() == {"found": [3]}
    rules = [step.rule for step in loop.history]
    assert rules == ["running-differences", "running-differences", "running-differences-terminator"]
    assert flow.on(flo.here).run(numbers=[1, 4, 9])["found"].to_pylist() == [{"value": 3}, {"value": 5}]
    assert flo.verify.check(Differences(), flo.Sequence[int], most=2, tries=20).ok

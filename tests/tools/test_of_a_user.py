"""A test file as users write it: docs/testing.md shows it."""

from __future__ import annotations

import pytest

import flo


def totals() -> flo.Flow:
    flow = flo.Flow("totals")
    orders = flow.input("orders", flo.Sequence[int])
    flow.output("totals", orders.filter(lambda order: order > 0).scan(0, lambda total, order: total + order))
    return flow


@pytest.fixture
def flow():
    return totals()


@pytest.mark.flo_explore(orders=[5, -1, 7])
@pytest.mark.flo_explore(orders=[])
def test_totals_do_not_depend_on_timing():
    return totals()


@pytest.mark.flo_explore(orders=[3, 4])
def test_totals(flow):
    assert flow.run(orders=[3, 4]) == {"totals": [3, 7]}


def test_the_laws(flo):
    report = flo.check(totals(), work=10_000)
    assert report.strength.attempts > 10


def test_a_larger_input(flo):
    found = flo.explore(totals(), orders=range(20), most_states=1_000)
    assert found.schedules > 1

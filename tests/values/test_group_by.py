"""Aggregates of groups against the same computed from all rows at once."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.core.checkpoint import decode, encode
from flo.core.errors import CollectionError, FunctionError
from flo.core.graph import Node
from flo.core.semantics import advance
from flo.core.stream_type import StreamType
from flo.core.term import Lifting, Lowering
from flo.core.typing import derive
from flo.values.exact import NAN, Exact, IntSum
from flo.values.operators.group_aggregates import (
    AverageOf,
    CountDistinctOf,
    CountRows,
    FirstOf,
    LinearOf,
    SumOf,
)
from flo.values.operators.group_by import Aggregated, GroupBy
from flo.values.weighted import Bag, ZSet
from tests.harness import fires, refusal
from tests.values.zset_cases import few, group, integrated, number, pieces, run, there, whole_groups, zset

AWKWARD = (0.1, 1e308, -1e308, 1e-308)
ODD = (math.inf, -math.inf, NAN, 2.5)


class Result(NamedTuple):
    result: Any


class Found(NamedTuple):
    key: Any
    result: Any


def grouped(aggregator, keys=1, places=(1,)):
    """The operator on rows (group, number): of each group, or of all rows."""
    return GroupBy(keys, (Aggregated(aggregator, places),), Found if keys else Result)


def with_numbers(deltas, numbers):
    """The deltas with other numbers in their rows."""
    return [zset({(key, numbers[n]): weight for (key, n), weight in integrated([delta]).items()}) for delta in deltas]


def oracle(groups, keys, of_rows):
    """{row of the output: 1}."""
    return {(key, of_rows(members)) if keys else (of_rows(members),): 1 for key, members in groups.items()}


def existing(deltas, keys):
    """The groups whose weights add up to more than zero."""
    groups = whole_groups(integrated(deltas), group if keys else None)
    return {key: members for key, members in groups.items() if sum(members.values()) > 0}


def weighted(members, of=number):
    return sum(of(row) * weight for row, weight in members.items())


LINEAR = [
    (CountRows(), (), lambda rows: sum(rows.values())),
    (SumOf(), (1,), weighted),
    (AverageOf(), (1,), lambda rows: weighted(rows) / sum(rows.values())),
    (LinearOf(lambda total: 2 * total), (1,), lambda rows: 2 * weighted(rows)),
    (LinearOf(lambda totals: totals[0] - totals[1], tuple), (1, 1), lambda rows: 0),
]


@few
@given(pieces(), st.booleans(), st.sampled_from([0, 1]), st.sampled_from(LINEAR))
def test_linear_aggregates(deltas, bounded, keys, aggregate):
    aggregator, places, of_rows = aggregate
    assert run(grouped(aggregator, keys, places), deltas, bounded) == oracle(existing(deltas, keys), keys, of_rows)


@few
@given(pieces(most=5), st.sampled_from([0, 1]))
def test_floats_are_summed_exactly(deltas, keys):
    def saturated(members):
        exact = sum(Fraction(number(row)) * weight for row, weight in members.items())
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf

    deltas = with_numbers(deltas, AWKWARD)
    assert run(grouped(SumOf(), keys), deltas) == oracle(existing(deltas, keys), keys, saturated)


@few
@given(pieces(most=5), st.booleans())
def test_infinities_and_nan_do_not_depend_on_the_order(deltas, mean):
    def total(members):
        found = weighted(members) / (sum(members.values()) if mean else 1)
        return NAN if math.isnan(found) else found

    deltas = with_numbers(deltas, ODD)
    operator = grouped(AverageOf() if mean else SumOf())
    assert run(operator, deltas) == oracle(existing(deltas, 1), 1, total)


@few
@given(pieces(most=5), st.booleans())
def test_decimals_are_summed(deltas, bounded):
    deltas = with_numbers(deltas, [Decimal(n) / 10 for n in range(4)])
    assert run(grouped(SumOf()), deltas, bounded) == oracle(existing(deltas, 1), 1, weighted)


def by_number(members):
    """The weight of each number: rows with the same argument are one value."""
    values = {}
    for row, weight in members.items():
        values[number(row)] = values.get(number(row), 0) + weight
    return values


@few
@given(pieces(most=5), st.booleans(), st.sampled_from([0, 1]), st.booleans())
def test_least_and_greatest(deltas, bounded, keys, greatest):
    """NaN is the greatest; only rows with positive weights are there."""

    def extreme(members):
        present = sorted(there(by_number(members)), key=lambda x: (math.isnan(x), 0 if math.isnan(x) else x))
        return (present[-1] if greatest else present[0]) if present else None

    deltas = with_numbers(deltas, ODD)
    operator = grouped(FirstOf((0,), (greatest,)), keys)
    assert run(operator, deltas, bounded) == oracle(existing(deltas, keys), keys, extreme)


@few
@given(pieces(most=5), st.booleans(), st.sampled_from([0, 1]), st.sampled_from([AWKWARD, (1, 1, 2, 2)]))
def test_different_values_are_counted(deltas, bounded, keys, numbers):
    def different(members):
        return len(there(by_number(members)))

    deltas = with_numbers(deltas, numbers)
    operator = grouped(CountDistinctOf(), keys)
    assert run(operator, deltas, bounded) == oracle(existing(deltas, keys), keys, different)


def test_long_runs_against_all_rows_at_once():
    rng = random.Random(7)
    operators = [grouped(FirstOf((0,), (True,))), grouped(AverageOf(), 0)]
    total, outputs = {}, [{} for _ in operators]
    for _ in range(400):
        delta = {("abc"[rng.randrange(3)], rng.randrange(30)): rng.choice([-1, 1, 1, 2]) for _ in range(3)}
        total = integrated([zset(total), zset(delta)])
        for place, operator in enumerate(operators):
            graph, deltas = advance(Node((zset(delta),), operator))
            operators[place] = graph.operator
            outputs[place] = integrated([zset(outputs[place]), *(d for (d,) in deltas if d is not None)])
        groups = {key: rows for key, rows in whole_groups(total, group).items() if sum(rows.values())}
        assert outputs[0] == oracle(groups, 1, lambda rows: max(map(number, there(rows)), default=None))
        mean = Fraction(weighted(total), sum(total.values()) or 1)
        assert outputs[1] == ({(float(mean),): 1} if sum(total.values()) else {})


def test_group_by_takes_back_the_old_row():
    graph, outputs = fires("group-by-zset", Node((zset({("a", 2): 3}),), grouped(SumOf())))
    assert outputs == (zset({("a", 6): 1}),)
    graph, deltas = advance(Node((zset({("a", 1): 1}),), graph.operator))
    assert deltas == [(zset({("a", 6): -1, ("a", 7): 1}),)]
    graph, deltas = advance(Node((zset({("a", 0): 1}),), graph.operator))
    assert deltas == [(None,)], "the sum did not change"
    graph, deltas = advance(Node((zset({("a", 0): -1, ("a", 1): -1, ("a", 2): -3}),), graph.operator))
    assert deltas == [(zset({("a", 7): -1}),)]
    assert graph.operator == grouped(SumOf()), "a group that is gone leaves nothing behind"


def test_a_linear_state_does_not_grow_with_the_rows():
    graph, _ = advance(Node((zset({("a", n): 1 for n in range(1000)}),), grouped(AverageOf())))
    ((weight, ((count, sums),)),) = graph.operator.groups.to_dict().values()
    assert (weight, count, sums) == (1000, 1000, (Exact((("int", 499500, 1000),)),))


def test_a_group_whose_weights_cancel_is_remembered():
    graph, deltas = advance(Node((zset({("a", 1): 1, ("a", 5): -1}),), grouped(SumOf())))
    assert deltas == [(None,)]
    _, deltas = advance(Node((zset({("a", 5): 1}),), graph.operator))
    assert deltas == [(zset({("a", 1): 1}),)]


def test_the_end():
    graph, _ = advance(Node((zset({("a", 1): 1}),), grouped(CountRows(), 0, ())))
    graph, outputs = fires("group-by-zset-terminated", Node((zset(end=True),), graph.operator))
    assert outputs == (zset(end=True),)
    assert graph.operator == grouped(CountRows(), 0, ())


def test_a_nan_is_taken_back_after_a_restart():
    graph, ((output,),) = advance(Node((zset({("a", NAN): 1}),), grouped(SumOf())))
    assert output == zset({("a", NAN): 1})
    lowering = Lowering()
    state = encode(lowering((graph, output)))
    graph, output = Lifting(lowering.names)(decode(state))
    _, ((change,),) = advance(Node((zset({("a", NAN): -1}),), graph.operator))
    assert output.concat(change) == zset()


def fields(element, aggregates, **keys):
    """The types of the columns of the results."""
    rows = flo.Flow("types").input("rows", ZSet[element])
    return tuple(rows.group_by(**keys).agg(**aggregates).collection.element.__annotations__.values())


def test_types():
    def name(row: tuple[str, int]) -> str:
        return row[0]

    def text(total: int) -> str:
        return str(total)

    aggregates = {
        "count": flo.count(),
        "sum": flo.sum("1"),
        "avg": flo.avg("1"),
        "linear": flo.linear("1", text),
        "max": flo.max(name),
    }
    assert fields(tuple[str, int], aggregates, key=name) == (str, int, IntSum, float, str, str)
    assert fields(Decimal, {"sum": flo.sum("value")}, key=lambda x: x > 0) == (bool, Decimal)
    bag = (StreamType(Bag(int), True),)
    assert isinstance(refusal(derive, Node(None, grouped(CountRows())), bag), CollectionError)


@pytest.mark.parametrize(
    ("aggregator", "rows", "reason"),
    [
        (SumOf(), {("a", "text"): 1}, "got 'text'"),
        (FirstOf(), {("a", 1): 1, ("a", "one"): 1}, "'<'"),
    ],
)
def test_what_cannot_be_summed_or_compared_is_named(aggregator, rows, reason):
    graph = Node((zset(rows),), grouped(aggregator))
    error = None
    while error is None:  # what comes before the fault is done
        try:
            graph, _ = advance(graph)
        except FunctionError as raised:
            error = raised
    assert reason in str(error)

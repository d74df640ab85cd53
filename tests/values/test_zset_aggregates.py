"""Aggregates and top-k of z-sets against the same computed from all rows at once, and exact sums."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from itertools import permutations
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.checkpoint import decode, encode
from flo.core.data import canonical_text
from flo.core.errors import CollectionError, ElementError, FunctionError
from flo.core.graph import Node
from flo.core.semantics import advance
from flo.core.stream_type import StreamType
from flo.core.term import Lifting, Lowering
from flo.core.typing import derive
from flo.values.exact import DECIMAL_NAN, NAN, Exact, Int128
from flo.values.operators.zset_aggregates import Aggregate, Avg, Count, CountDistinct, Linear, Sum
from flo.values.operators.zset_ranking import Max, Min, TopK
from flo.values.weighted import Bag, ZSet
from tests.harness import fires, refusal
from tests.values.zset_cases import few, integrated, pieces, run, there, zset

AWKWARD = (0.1, 1e308, -1e308, 1e-308)
ODD = (math.inf, -math.inf, math.nan, 2.5)


def group(row):
    return row[0]


def number(row):
    return row[1]


def awkward(row):
    return AWKWARD[row[1]]


def odd(row):
    return ODD[row[1]]


def money(row):
    return Decimal(row[1]) / 10


def whole_groups(total, by):
    """The rows of each group, with their weights."""
    groups = {}
    for row, weight in total.items():
        groups.setdefault(None if by is None else by(row), {})[row] = weight
    return groups


def linear_oracle(total, by, of_rows):
    """{row of the output: 1} for groups whose weights do not add up to zero."""
    rows = {}
    for key, members in whole_groups(total, by).items():
        if sum(members.values()):
            result = of_rows(members)
            rows[result if by is None else (key, result)] = 1
    return rows


AGGREGATES = [
    (Count(), lambda rows: sum(rows.values())),
    (Sum(number), lambda rows: sum(number(row) * n for row, n in rows.items())),
    (Sum(money), lambda rows: sum((money(row) * n for row, n in rows.items()), Decimal(0))),
    (Avg(number), lambda rows: sum(number(row) * n for row, n in rows.items()) / sum(rows.values())),
    (
        Linear(lambda row: (number(row), number(row) ** 2, 1), lambda total: total[1] * total[2] - total[0] ** 2),
        lambda rows: (
            sum(number(row) ** 2 * n for row, n in rows.items()) * sum(rows.values())
            - sum(number(row) * n for row, n in rows.items()) ** 2
        ),
    ),
    (Linear(number), lambda rows: sum(number(row) * n for row, n in rows.items())),
]


@few
@given(pieces(), st.booleans(), st.sampled_from([None, group]), st.sampled_from(AGGREGATES))
def test_linear_aggregates(deltas, bounded, by, aggregate):
    aggregator, of_rows = aggregate
    expected = linear_oracle(integrated(deltas), by, of_rows)
    assert run(Aggregate(by, aggregator), deltas, bounded) == expected


@few
@given(pieces(most=5), st.sampled_from([None, group]))
def test_floats_are_summed_exactly(deltas, by):
    def saturated(members):
        exact = sum(Fraction(awkward(row)) * weight for row, weight in members.items())
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf

    assert run(Aggregate(by, Sum(awkward)), deltas) == linear_oracle(integrated(deltas), by, saturated)


@few
@given(pieces(most=5), st.booleans())
def test_infinities_and_nan_do_not_depend_on_the_order(deltas, mean):
    def total(members):
        terms = [odd(row) * n for row, n in members.items()]
        found = sum(terms) / (sum(members.values()) if mean else 1)
        return math.nan if math.isnan(found) else found

    aggregator = Avg(odd) if mean else Sum(odd)
    assert run(Aggregate(group, aggregator), deltas) == linear_oracle(integrated(deltas), group, total)


@few
@given(pieces(most=5), st.booleans(), st.sampled_from([None, group]), st.sampled_from([min, max]))
def test_least_and_greatest(deltas, bounded, by, extreme):
    expected = {}
    for key, members in whole_groups(there(integrated(deltas)), by).items():
        result = extreme(number(row) for row in members)
        expected[result if by is None else (key, result)] = 1
    aggregator = Min(number) if extreme is min else Max(number)
    assert run(Aggregate(by, aggregator), deltas, bounded) == expected


@few
@given(pieces(most=5), st.booleans(), st.sampled_from([None, group]), st.sampled_from([None, number, odd]))
def test_different_values_are_counted(deltas, bounded, by, of):
    expected = {}
    for key, members in whole_groups(integrated(deltas), by).items():
        values = {}
        for row, weight in members.items():
            value = repr(row if of is None else of(row))
            values[value] = values.get(value, 0) + weight
        if there(values):
            expected[len(there(values)) if by is None else (key, len(there(values)))] = 1
    assert run(Aggregate(by, CountDistinct(of)), deltas, bounded) == expected


@few
@given(pieces(most=5), st.booleans())
def test_nan_is_the_greatest(deltas, greatest):
    expected = {}
    for key, members in whole_groups(there(integrated(deltas)), group).items():
        ranked = sorted((odd(row) for row in members), key=lambda x: (math.isnan(x), 0 if math.isnan(x) else x))
        expected[(key, ranked[-1] if greatest else ranked[0])] = 1
    assert run(Aggregate(group, Max(odd) if greatest else Min(odd)), deltas) == expected


def top_oracle(total, count, key, by, descending):
    chosen = {}
    for members in whole_groups(there(total), by).values():
        ranked = sorted(members, key=canonical_text)
        ranked.sort(key=key, reverse=descending)
        places = [row for row in ranked for _ in range(members[row])][:count]
        for row in places:
            chosen[row] = chosen.get(row, 0) + 1
    return chosen


@few
@given(pieces(most=6), st.integers(0, 4), st.booleans(), st.sampled_from([None, group]), st.booleans())
def test_top_k(deltas, count, descending, by, bounded):
    def parity(row):
        return row[1] % 2

    expected = top_oracle(integrated(deltas), count, parity, by, descending)
    assert run(TopK(count, parity, by, descending), deltas, bounded) == expected


@few
@given(pieces(most=6), st.integers(0, 4), st.sampled_from([(True, False), (False, True), (True, True)]))
def test_top_k_with_a_direction_for_each_column(deltas, count, descending):
    def columns(row):
        return row[1] % 2, row[1] % 3

    def signed(row):
        return tuple(-part if down else part for part, down in zip(columns(row), descending, strict=True))

    expected = top_oracle(integrated(deltas), count, signed, group, False)
    assert run(TopK(count, columns, group, descending), deltas) == expected


@few
@given(pieces(most=4), st.booleans())
def test_top_k_of_the_rows_themselves(deltas, descending):
    expected = top_oracle(integrated(deltas), 2, lambda row: row, None, descending)
    assert run(TopK(2, descending=descending), deltas) == expected


def test_long_runs_against_all_rows_at_once():
    rng = random.Random(7)
    operators = [Aggregate(group, Max(number)), Aggregate(None, Avg(number)), TopK(3, number, group)]
    total, outputs = {}, [{} for _ in operators]
    for _ in range(400):
        delta = {("abc"[rng.randrange(3)], rng.randrange(30)): rng.choice([-1, 1, 1, 2]) for _ in range(3)}
        total = integrated([zset(total), zset(delta)])
        for place, operator in enumerate(operators):
            graph, deltas = advance(Node((zset(delta),), operator))
            operators[place] = graph.operator
            outputs[place] = integrated([zset(outputs[place]), *(d for (d,) in deltas if d is not None)])
        groups = whole_groups(there(total), group)
        assert outputs[0] == {(key, max(map(number, rows))): 1 for key, rows in groups.items()}
        mean = Fraction(sum(number(row) * n for row, n in total.items()), sum(total.values()) or 1)
        assert outputs[1] == ({float(mean): 1} if sum(total.values()) else {})
        assert outputs[2] == top_oracle(total, 3, number, group, False)


def test_aggregate_takes_back_the_old_row():
    graph, outputs = fires("aggregate-zset", Node((zset({("a", 2): 3}),), Aggregate(group, Sum(number))))
    assert outputs == (zset({("a", 6): 1}),)
    graph, deltas = advance(Node((zset({("a", 1): 1}),), graph.operator))
    assert deltas == [(zset({("a", 6): -1, ("a", 7): 1}),)]
    graph, deltas = advance(Node((zset({("a", 0): 1}),), graph.operator))
    assert deltas == [(None,)], "the sum did not change"
    graph, deltas = advance(Node((zset({("a", 0): -1, ("a", 1): -1, ("a", 2): -3}),), graph.operator))
    assert deltas == [(zset({("a", 7): -1}),)]
    assert graph.operator == Aggregate(group, Sum(number)), "a group that is gone leaves nothing behind"


def test_a_linear_state_does_not_grow_with_the_rows():
    graph, _ = advance(Node((zset({("a", n): 1 for n in range(1000)}),), Aggregate(group, Avg(number))))
    assert graph.operator.groups.to_dict() == {"a": (1000, Exact((("int", 499500, 1000),)))}


def test_a_group_whose_weights_cancel_is_remembered():
    graph, deltas = advance(Node((zset({("a", 1): 1, ("a", 5): -1}),), Aggregate(group, Sum(number))))
    assert deltas == [(None,)]
    _, deltas = advance(Node((zset({("a", 5): 1}),), graph.operator))
    assert deltas == [(zset({("a", 1): 1}),)]


def test_the_end():
    for operator, rule in (
        (Aggregate(None, Count()), "aggregate-zset-terminated"),
        (TopK(1), "top-k-zset-terminated"),
    ):
        graph, _ = advance(Node((zset({1: 1}),), operator))
        graph, outputs = fires(rule, Node((zset(end=True),), graph.operator))
        assert outputs == (zset(end=True),)
        assert graph.operator == operator


def test_a_group_is_searched_only_when_its_top_is_taken_back():
    calls = []

    def watched(row):
        calls.append(row)
        return row

    graph, _ = advance(Node((zset(dict.fromkeys(range(1000), 1)),), Aggregate(None, Min(watched))))
    for delta, most in (({500: -1}, 5), ({-3: 1}, 5), ({-3: -1, -4: 1}, 8), ({-4: 1}, 5), ({-4: -1}, 5)):
        calls.clear()
        graph, _ = advance(Node((zset(delta),), graph.operator))
        assert len(calls) <= most, delta
    calls.clear()
    _, deltas = advance(Node((zset({-4: -1}),), graph.operator))
    assert deltas == [(zset({-4: -1, 0: 1}),)]
    assert len(calls) > 999


def test_top_k_emits_only_what_changes():
    graph, outputs = fires("top-k-zset", Node((zset({"b": 3}),), TopK(2)))
    assert outputs == (zset({"b": 2}),)
    graph, deltas = advance(Node((zset({"a": 1, "c": 1}),), graph.operator))
    assert deltas == [(zset({"a": 1, "b": -1}),)]
    graph, deltas = advance(Node((zset({"a": -1, "b": -2}),), graph.operator))
    assert deltas == [(zset({"a": -1, "c": 1}),)]


def test_a_nan_is_taken_back_after_a_restart():
    graph, ((output,),) = advance(Node((zset({("a", 2): 1}),), Aggregate(group, Sum(odd))))
    assert output == zset({("a", NAN): 1})
    lowering = Lowering()
    state = encode(lowering((graph, output)))
    graph, output = Lifting(lowering.names)(decode(state))
    _, ((change,),) = advance(Node((zset({("a", 2): -1}),), graph.operator))
    assert output.concat(change) == zset()


def test_types():
    def name(row: tuple[str, int]) -> str:
        return row[0]

    def price(row: tuple[str, int]) -> int:
        return row[1]

    def text(total: int) -> str:
        return str(total)

    given = (StreamType(ZSet(tuple[str, int]), False),)

    def element(operator, types=given):
        (output,) = derive(Node(None, operator), types).outputs
        return output.collection.element

    assert element(Aggregate(name, Count())) == tuple[str, int]
    assert element(Aggregate(name, Sum(price))) == tuple[str, Int128]
    assert element(Aggregate(name, Avg(price))) == tuple[str, float]
    assert element(Aggregate(None, Linear(price, text))) is str
    assert element(Aggregate(None, Max(name))) is str
    assert element(Aggregate(None, Min())) == element(TopK(3)) == tuple[str, int]
    assert element(Aggregate(None, Sum()), (StreamType(ZSet(Decimal), True),)) is Decimal
    for operator in (Aggregate(None, Count()), TopK(2)):
        assert isinstance(refusal(derive, Node(None, operator), (StreamType(Bag(int), True),)), CollectionError)


def test_what_cannot_be_summed_or_compared_is_named():
    error = refusal(advance, Node((zset({"text": 1}),), Aggregate(None, Sum())))
    assert isinstance(error, FunctionError)
    assert "got 'text'" in str(error)
    mixed = Linear(lambda n: 1 if n == 1 else (1, 2))
    for aggregator, reason in (
        (mixed, "and a tuple of length 2"),
        (Min(lambda n: n if n == 1 else "one"), "'<'"),
    ):
        graph, _ = advance(Node((zset({1: 1, 2: 1}),), Aggregate(None, aggregator)))  # what comes before the fault
        error = refusal(advance, graph)
        assert isinstance(error, FunctionError)
        assert reason in str(error)


# exact sums


def total(*numbers):
    return Exact().added((x, 1) for x in numbers).value()


def test_kinds_of_sums():
    assert (total(1, 2), type(total(1, 2))) == (3, int)
    assert (total(1, 2.5), type(total(1, 2))) == (3.5, int)
    assert type(total(1, 2.0)) is float
    assert (total(Decimal("1.10"), 2), type(total(Decimal("1.10"), 2))) == (Decimal("3.1"), Decimal)
    assert (total(Fraction(1, 3), 1), type(total(Fraction(1, 3), 1))) == (Fraction(4, 3), Fraction)
    assert type(total(Fraction(1, 3), Decimal(1))) is Fraction
    assert type(total(Decimal("0.5"), 0.5)) is float
    assert (total(True, True), type(total(True))) == (2, int)
    assert (total(), type(total())) == (0, int)


def test_a_large_decimal_sum_is_not_rounded():
    with localcontext() as context:
        context.prec = 3
        digits = Decimal("12345678901234567890123456789012345678901234567890.123")
        assert str(total(digits, Decimal("0.001"))) == "12345678901234567890123456789012345678901234567890.124"
        mean = Exact().added([(Decimal(1), 1)]).mean(3)
        assert str(mean) == "0." + "3" * 18
        assert str(Exact().added([(Decimal(5), 1)]).mean(2)) == "2.5"
        tiny = Exact().added([(Decimal("1e-30"), 1)])
        assert (tiny.mean(1), tiny.mean(2), tiny.mean(-3)) == (Decimal("1e-30"), 0, 0)
        half = Exact().added([(Decimal("3e-18"), 1)])
        assert (half.mean(2), half.mean(-2)) == (Decimal("2e-18"), Decimal("-2e-18"))
    assert str(total(Decimal("1E+3"), Decimal("-0"))) == "1000"


def test_sums_are_rounded_once():
    assert total(*[0.1] * 10) == 1.0
    assert reduce(add, [0.1] * 10) != 1.0
    assert total(1e308, 1e308, -1e308, -1e308, 5e-324) == 5e-324
    assert total(1e308, 1e308) == math.inf
    assert total(-1e308, -1e308) == -math.inf
    assert Exact().added([(2**53 + 1, 1)]).mean(1) == float(2**53)
    assert Exact().added([(0.1, 3)]).mean(3) == 0.1


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((math.inf, 1), math.inf),
        ((-math.inf, 1), -math.inf),
        ((math.inf, -math.inf), NAN),
        ((math.inf, math.nan), NAN),
        ((Decimal("Infinity"), 1), Decimal("Infinity")),
        ((Decimal("-Infinity"), Decimal("Infinity")), DECIMAL_NAN),
        ((Decimal("Infinity"), 1.5), math.inf),
    ],
)
def test_what_is_not_finite(numbers, expected):
    for order in permutations(numbers):
        found = total(*order)
        assert found is expected or found == expected
        assert type(found) is type(expected)


def test_what_is_taken_back_cancels():
    numbers = [0.1, math.inf, -math.inf, math.nan, 3, Decimal("1.1"), Fraction(1, 3), 1e300]
    some = Exact().added([(0.3, 1)])
    after = (
        some.added((x, 2) for x in numbers).added((x, -1) for x in numbers).added((x, -1) for x in reversed(numbers))
    )
    assert after == some
    assert after.added([(0.3, -1)]) == Exact()


def test_taking_back_an_infinity_that_never_came():
    assert Exact().added([(math.inf, -1)]).value() == -math.inf
    assert Exact().added([(math.inf, -1), (-math.inf, 1)]).value() == -math.inf
    assert Exact().added([(math.inf, 1)]).mean(-2) == -math.inf


numbers = st.one_of(st.integers(), st.floats(), st.decimals(places=3, min_value=-1000, max_value=1000), st.fractions())


@few
@given(st.lists(st.tuples(numbers, st.integers(-2, 2)), max_size=6), st.randoms())
def test_no_order_can_be_seen(terms, rng):
    shuffled = list(terms)
    rng.shuffle(shuffled)
    exact, other = Exact().added(terms), Exact()
    for term in shuffled:
        other = other.added([term])
    assert exact == other
    assert repr(exact.value()) == repr(other.value())
    assert Lifting()(Lowering()(exact)) == exact


def test_numbers_of_other_libraries():
    class Half(float):
        pass

    assert total(Half(0.5), 1) == 1.5
    with pytest.raises(TypeError, match="exact sums take"):
        total(1j)


def test_a_tie_of_rows_that_have_no_text():
    class Opaque:
        pass

    one, other = Opaque(), Opaque()
    graph, outputs = advance(Node((zset({one: 1}),), TopK(1, lambda row: 1)))
    assert outputs[0][0].elements_list() == [one]
    graph, _ = advance(Node((zset({one: 1}),), graph.operator))
    error = refusal(advance, Node((zset({other: 1}),), graph.operator))
    assert isinstance(error, ElementError)
    assert "`top_k` orders elements with equal keys" in str(error)

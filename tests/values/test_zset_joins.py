"""Joins of z-sets against what they are defined to be on the z-sets that the deltas add up to."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core import data as _data
from flo.core.collection import End
from flo.core.errors import CollectionError, FunctionError
from flo.core.graph import Node
from flo.core.persistent import PersistentMap
from flo.core.semantics import advance, small_steps, stuck
from flo.core.stream_type import StreamType
from flo.core.typing import derive
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join, LeftJoin, RightJoin, SemiJoin
from flo.values.weighted import Bag, ZSet
from tests.harness import fires, refusal
from tests.values.zset_cases import added, few, integrated, pieces, run_two, there, zset

assert _data


def key(row):
    return row[0]


def other_key(row):
    return "ab"[row[1] % 2]


def both(x, y):
    return f"{x} {y}"


def parts(left, right, into=lambda x, y: (x, y)):
    """The parts that all joins are made of, from whole z-sets."""
    matched = [(into(x, y), m * n) for x, m in left.items() for y, n in right.items() if key(x) == other_key(y)]
    keys, other_keys = set(map(key, there(left))), set(map(other_key, there(right)))
    return SimpleNamespace(
        matched=matched,
        some=[(x, n) for x, n in left.items() if key(x) in other_keys],
        none=[(x, n) for x, n in left.items() if key(x) not in other_keys],
        left_only=[(into(x, None), n) for x, n in left.items() if key(x) not in other_keys],
        right_only=[(into(None, y), n) for y, n in right.items() if other_key(y) not in keys],
    )


@few
@given(pieces(), pieces(), st.booleans())
def test_natural_join(lefts, rights, bounded):
    left, right = integrated(lefts), integrated(rights)
    expected = {row: left[row] * right[row] for row in left.keys() & right.keys()}
    assert run_two(Join(), lefts, rights, bounded) == expected


@few
@given(pieces(), pieces(), st.booleans())
def test_join(lefts, rights, bounded):
    left, right = integrated(lefts), integrated(rights)
    assert run_two(Join(key, other_key), lefts, rights, bounded) == added(*parts(left, right).matched)
    expected = added(*parts(left, right, both).matched)
    assert run_two(Join(key, other_key, both), lefts, rights, bounded) == expected


@few
@given(pieces(), pieces(), st.booleans())
def test_semi_and_anti_join(lefts, rights, bounded):
    expected = parts(integrated(lefts), integrated(rights))
    assert run_two(SemiJoin(key, other_key), lefts, rights, bounded) == added(*expected.some)
    assert run_two(AntiJoin(key, other_key), lefts, rights, bounded) == added(*expected.none)


@few
@given(pieces(), pieces(), st.booleans(), st.sampled_from([None, both]))
def test_outer_joins(lefts, rights, bounded, into):
    arguments = (integrated(lefts), integrated(rights)) + ((into,) if into else ())
    whole = parts(*arguments)
    expected = added(*whole.matched, *whole.left_only)
    assert run_two(LeftJoin(key, other_key, into), lefts, rights, bounded) == expected
    expected = added(*whole.matched, *whole.right_only)
    assert run_two(RightJoin(key, other_key, into), lefts, rights, bounded) == expected
    expected = added(*whole.matched, *whole.left_only, *whole.right_only)
    assert run_two(FullJoin(key, other_key, into), lefts, rights, bounded) == expected


@few
@given(pieces(most=3), pieces(most=3))
def test_joins_on_whole_elements(lefts, rights):
    left, right = integrated(lefts), integrated(rights)
    some = {row: n for row, n in left.items() if row in there(right)}
    assert run_two(SemiJoin(), lefts, rights) == some
    assert run_two(AntiJoin(), lefts, rights) == {row: n for row, n in left.items() if row not in some}
    matched = [((row, row), left[row] * right[row]) for row in left.keys() & right.keys()]
    none = [((row, None), n) for row, n in left.items() if row not in some]
    assert run_two(LeftJoin(), lefts, rights) == added(*matched, *none)


def test_join_zset():
    """(a + a') ⋈ (b + b') = a ⋈ b + a ⋈ b' + a' ⋈ b + a' ⋈ b', of which a ⋈ b is out already."""
    graph, outputs = fires("join-zset", Node((zset({"k": 2}), zset({"k": 3})), Join()))
    assert outputs == (zset({"k": 6}),)
    graph, outputs = fires("join-zset", Node((zset({"k": 1}), zset({"k": -4})), graph.operator))
    assert outputs == (zset({"k": (2 + 1) * (3 - 4) - 6}),)
    assert graph.state == (zset(), zset())


def test_join_zset_terminated():
    graph, outputs = fires("join-zset-terminated", Node((zset(end=True), zset(end=True)), Join()))
    assert outputs == (zset(end=True),)
    assert stuck(graph)


JOINS = [Join, SemiJoin, AntiJoin, LeftJoin, RightJoin, FullJoin]


@pytest.mark.parametrize("kind", JOINS)
def test_joins_need_something_to_consume(kind):
    assert stuck(Node((zset(), zset()), kind()))
    for side, ends in {"left": (True, False), "right": (False, True)}.items():
        graph, outputs = fires(f"{kind.rule}-{side}-ended", Node(tuple(zset(end=end) for end in ends), kind()))
        assert outputs == (None,), "the end of one side does not end the output"
        assert stuck(graph)
    assert not stuck(Node((zset(end=True), zset({1: 1})), kind()))


@pytest.mark.parametrize("kind", JOINS)
def test_the_end_comes_when_both_sides_ended_and_the_state_goes(kind):
    operator, _ = advance(Node((zset({1: 1}), zset({2: 1})), kind()))
    graph, outputs = fires(f"{kind.rule}-terminated", Node((zset(end=True), zset(end=True)), operator.operator))
    assert outputs == (zset(end=True),)
    assert [value.end for value in graph.state] == [End.PASSED, End.PASSED]
    assert graph.operator == kind()


def test_a_partner_that_comes_and_goes():
    start = Node((zset({("a", 1): 2}), zset()), LeftJoin(key, key))
    steps = [
        (zset(), zset({("a", 7): 1}), {(("a", 1), None): -2, (("a", 1), ("a", 7)): 2}),
        (zset(), zset({("a", 8): 1}), {(("a", 1), ("a", 8)): 2}),
        (zset(), zset({("a", 7): -1}), {(("a", 1), ("a", 7)): -2}),
        (zset(), zset({("a", 8): -1}), {(("a", 1), ("a", 8)): -2, (("a", 1), None): 2}),
        (zset({("a", 1): -2}), zset(), {(("a", 1), None): -2}),
    ]
    graph, _ = advance(start)
    for left, right, expected in steps:
        graph, deltas = advance(Node((left, right), graph.operator))
        assert deltas == [(zset(expected),)]
    assert graph.operator == LeftJoin(key, key), "rows that are gone leave nothing behind"


def test_a_partner_below_zero_is_none():
    _, deltas = advance(Node((zset({("a", 1): 1}), zset({("a", 1): -1, ("a", 3): 0})), AntiJoin(key, key)))
    assert deltas == [(zset({("a", 1): 1}),)]
    _, deltas = advance(Node((zset({("a", 1): 1}), zset({("a", 1): -5, ("a", 3): 1})), SemiJoin(key, key)))
    assert deltas == [(zset({("a", 1): 1}),)]


def test_a_step_touches_only_the_keys_that_arrived(monkeypatch):
    many = zset({("k", n): 1 for n in range(1000)})
    graph, _ = advance(Node((many, many), Join(lambda row: row[1], lambda row: row[1])))
    touched = []
    copied = PersistentMap.to_dict
    monkeypatch.setattr(PersistentMap, "to_dict", lambda table: touched.append(len(table)) or copied(table))
    _, deltas = advance(Node((zset({("new", 7): 1}), zset()), graph.operator))
    assert deltas == [(zset({(("new", 7), ("k", 7)): 1}),)]
    assert max(touched) < 10


def test_types():
    left, right = StreamType(ZSet(int), True), StreamType(ZSet(float), False)

    def text(x: int, y: float) -> str:
        return f"{x} {y}"

    def element(operator):
        (output,) = derive(Node(None, operator), (left, right)).outputs
        assert not output.bounded
        return output.collection.element

    assert element(Join()) is int
    assert element(Join(key, key)) == tuple[int, float]
    assert [element(kind(key, key, text)) for kind in (Join, LeftJoin, RightJoin, FullJoin)] == [str] * 4
    assert element(SemiJoin()) is element(AntiJoin()) is int
    assert element(LeftJoin()) == tuple[int, float | None]
    assert element(RightJoin()) == tuple[int | None, float]
    assert element(FullJoin()) == tuple[int | None, float | None]
    error = refusal(derive, Node(None, Join()), (left, StreamType(Bag(int), True)))
    assert isinstance(error, CollectionError)
    assert error.index == 1


def test_functions_that_fail_name_their_rows():
    def fail(*rows):
        raise ValueError("no")

    error = refusal(advance, Node((zset({"row": 1}), zset()), Join(fail, fail)))
    assert isinstance(error, FunctionError)
    assert "'row'" in str(error)
    rest, _ = advance(Node((zset({"x": 1}), zset({"y": 1})), Join(len, len, fail)))
    error = refusal(advance, rest)
    assert "('x', 'y')" in str(error)


def tenth(row: int) -> int:
    if row == 7:
        raise StopIteration
    return 10 // row


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", [Join, SemiJoin, AntiJoin, LeftJoin, RightJoin, FullJoin])
def test_a_row_at_fault_holds_up_itself_only(kind, side):
    good, bad = zset({5: 1, 2: 1}), zset({5: 1, 0: 1, 2: 1, 7: 1})
    inputs = (bad, good) if side == 0 else (good, bad)
    whole, expected = advance(Node((good, good), kind(tenth, tenth)))
    rest, outputs = advance(Node(inputs, kind(tenth, tenth)))
    assert added(*(unit for (delta,) in outputs if delta for unit in delta.all_units())) == added(
        *(unit for (delta,) in expected if delta for unit in delta.all_units())
    )
    assert rest.operator == whole.operator
    assert rest.state[side] == zset({0: 1, 7: 1})
    error = refusal(advance, rest)
    assert isinstance(error, FunctionError)
    assert "ZeroDivisionError" in str(error)
    assert "given   0" in str(error)

    graph = Node(inputs, kind(tenth, tenth))
    while graph.state != rest.state:
        graph = next(small_steps(graph)).graph
    assert graph == rest, "step by step it is the same"

"""Top-k of z-sets against the same computed from all rows at once."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from flo.core.data import canonical_text
from flo.core.errors import CollectionError, ElementError, FunctionError
from flo.core.graph import Node
from flo.core.semantics import advance
from flo.core.stream_type import StreamType
from flo.core.typing import derive
from flo.values.operators.zset_ranking import TopK
from flo.values.weighted import Bag
from tests.harness import fires, refusal
from tests.values.zset_cases import few, group, integrated, number, pieces, run, there, whole_groups, zset


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
    operator = TopK(3, number, group)
    total, output = {}, {}
    for _ in range(400):
        delta = {("abc"[rng.randrange(3)], rng.randrange(30)): rng.choice([-1, 1, 1, 2]) for _ in range(3)}
        total = integrated([zset(total), zset(delta)])
        graph, deltas = advance(Node((zset(delta),), operator))
        operator = graph.operator
        output = integrated([zset(output), *(d for (d,) in deltas if d is not None)])
        assert output == top_oracle(total, 3, number, group, False)


def test_the_end():
    graph, _ = advance(Node((zset({1: 1}),), TopK(1)))
    graph, outputs = fires("top-k-zset-terminated", Node((zset(end=True),), graph.operator))
    assert outputs == (zset(end=True),)
    assert graph.operator == TopK(1)


def test_a_group_is_searched_only_when_its_top_is_taken_back():
    calls = []

    def watched(row):
        calls.append(row)
        return row

    graph, _ = advance(Node((zset(dict.fromkeys(range(1000), 1)),), TopK(1, watched)))
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


def test_only_z_sets_are_ranked():
    assert isinstance(refusal(derive, Node(None, TopK(2)), (StreamType(Bag(int), True),)), CollectionError)


def test_what_cannot_be_compared_is_named():
    graph, _ = advance(Node((zset({1: 1, 2: 1}),), TopK(1, lambda n: n if n == 1 else "one")))
    error = refusal(advance, graph)
    assert isinstance(error, FunctionError)
    assert "'<'" in str(error)


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

"""The solver's numbers and texts are those of Python, and what it says of random expressions holds."""

from __future__ import annotations

import itertools
import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.verify.solver.prove import Proved, Refuted, Unknown, prove, prove_type
from tests.quick import sample, tried
from tests.verify.test_prove import GENEROUS

SIGNED = [-7, -3, -1, 1, 2, 7]
FLOATS = [0.1, 1e308, 5e-324, -0.0, 0.0, -math.inf]
TEXTS = ["", "a", "ab", "Z", "\uffff", "\U0001f600", "\\u{41}", "\ud800"]


def at(p, operation, q):
    """Where a is p, the operation gives what it gives in Python."""
    wanted = operation(p, q)
    return lambda a: (operation(a, q) if a == p else wanted, wanted)


def at_both(p, operation, q):
    wanted = operation(p, q)
    return lambda a, b: (operation(a, b) if (a, b) == (p, q) else wanted, wanted)


@pytest.mark.every(test=3)
@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod, operator.mul, operator.sub, max, min])
def test_ints_are_those_of_python(operation):
    for p, q in sample(itertools.product(SIGNED, SIGNED)):
        assert prove(at_both(p, operation, q), (int, int), work=GENEROUS) == Proved(), (p, q)
        assert prove(at(p, operation, q), (int,), work=GENEROUS) == Proved(), (p, q)


@pytest.mark.slow
@pytest.mark.parametrize(
    "operation",
    [
        operator.add,
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in (operator.sub, operator.mul, operator.truediv, operator.eq, operator.lt)
        ),
    ],
)
def test_floats_are_those_of_python(operation):
    for p, q in itertools.product(FLOATS, [0.1, -math.inf]):
        assert prove(at(p, operation, q), (float,), work=GENEROUS) == Proved(), (p, q)


@pytest.mark.every(test=4)
@pytest.mark.parametrize("operation", [operator.add, operator.lt, operator.le, operator.eq])
def test_texts_are_those_of_python(operation):
    for p, q in sample(itertools.product(TEXTS, TEXTS)):
        assert prove(at(p, operation, q), (str,), work=GENEROUS) == Proved(), (p, q)


LEAVES = st.sampled_from(["a", "b", "-3", "-1", "0", "1", "2", "5"])


def larger(parts):
    pairs = st.tuples(parts, parts)
    return st.one_of(
        st.tuples(st.sampled_from("+-*"), pairs).map(lambda drawn: f"({drawn[1][0]} {drawn[0]} {drawn[1][1]})"),
        st.tuples(st.sampled_from(["//", "%"]), parts, st.sampled_from(["-3", "-1", "2", "5", "b"])).map(
            lambda drawn: f"({drawn[1]} {drawn[0]} {drawn[2]})"
        ),
        st.tuples(st.sampled_from(["max", "min"]), pairs).map(lambda drawn: f"{drawn[0]}({', '.join(drawn[1])})"),
        parts.map(lambda part: f"abs({part})"),
        st.tuples(parts, st.sampled_from(["<", "<=", "==", "!=", ">"]), parts, parts, parts).map(
            lambda drawn: f"({drawn[3]} if {drawn[0]} {drawn[1]} {drawn[2]} else {drawn[4]})"
        ),
        pairs.map(lambda pair: f"({pair[0]} and {pair[1]})"),
    )


EXPRESSIONS = st.recursive(LEAVES, larger, max_leaves=5)
REWRITTEN = st.sampled_from(["{0}", "({0} + 0)", "-(-{0})", "max({0}, {0})", "({0} - b + b)", "({0} * 1)", "({0} % 2)"])


@tried(24)
@given(EXPRESSIONS, EXPRESSIONS, REWRITTEN, st.booleans(), st.lists(st.tuples(st.integers(), st.integers(-6, 6))))
def test_verdicts_on_random_arithmetic_hold(one, other, rewritten, related, tries):
    sides = eval(f"lambda a, b: ({one}, {rewritten.format(one) if related else other})")
    found = prove(sides, (int, int), work=600_000)
    if isinstance(found, Proved):
        for a, b in [*tries, *itertools.product(range(-6, 7), repeat=2)]:
            left, right = sides(a, b)
            assert left == right
    if isinstance(found, Refuted):
        left, right = sides(*found.arguments)
        assert left != right


def leaves_far_out(a, x):
    big = x * x == 10**10 and x > 0
    return None if big else a + x


@pytest.mark.parametrize(
    ("f", "types", "kind"),
    [
        (lambda a, x: a + x, [int, int], int),
        (lambda a, x: (a[0] + x, max(a[1], x)), [tuple[int, int], int], tuple[int, int]),
        (lambda a, x: a | {x}, [frozenset[int], int], frozenset[int]),
        (lambda a, x: x if a is None else max(a, x), [int | None, int], int | None),
        (max, [str, str], str),
    ],
)
def test_results_that_stay_in_their_type(f, types, kind):
    assert prove_type(f, types, kind) == Proved()


@pytest.mark.parametrize(
    "f", [leaves_far_out, lambda a, x: a + x if x < 12345 else 1.0, lambda a, x: (a, x), lambda a, x: a > x]
)
def test_results_that_may_leave_their_type(f):
    assert prove_type(f, [int, int], int) == Unknown("its results may leave their type")

"""Lattices: the laws of every one that is shipped, membership, order, and how they are named."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.errors import CollectionError
from flo.core.graph import text
from flo.core.term import Lifting, Lowering
from flo.values.lattice import BOTTOM, TOP, Lattice
from flo.values.lattice_orders import And, Flat, Max, Min, NaturalSum, Or
from flo.values.lattice_structures import GCounter, MapUnion, PNCounter, Product, SetUnion, Versioned
from tests.harness import refusal
from tests.quick import tried


def gcd_join(a: int, b: int) -> int:
    """Divisibility upside down: ⊥ is 0, which every number divides."""
    while b:
        a, b = b, a % b
    return a


@dataclass(frozen=True)
class Interval(Lattice[tuple[int, int]]):
    """Intervals that shrink to what all of them have in common; an empty one is a conflict. A lattice of a user's."""

    low: int = 0
    high: int = 10

    def bottom(self):
        return (self.low, self.high)

    def top(self):
        return (self.high, self.low)

    def join(self, a, b):
        low, high = max(a[0], b[0]), min(a[1], b[1])
        return (low, high) if low <= high else self.top()


def one_way(a, b):
    """A partial join: only equal values have one."""
    if a is None or b is None or a == b:
        return b if a is None else a
    raise ValueError(f"{a} and {b} exclude each other")


small = st.integers(0, 5)
keys = st.sampled_from("abc")
counts = st.dictionaries(keys, st.integers(0, 4))
numbers = st.one_of(small, st.floats(0, 10), st.fractions(0, 5), st.decimals(0, 5, places=2))
LATTICES = {
    "max": (Max(int), st.one_of(st.just(BOTTOM), st.integers())),
    "max of text": (Max(str), st.text(max_size=2)),
    "min": (Min(float), st.one_of(st.just(BOTTOM), st.floats(allow_nan=False))),
    "and": (And(), st.booleans()),
    "or": (Or(), st.booleans()),
    "set": (SetUnion(int), st.frozensets(small)),
    "map": (MapUnion(str, Max(int)), st.dictionaries(keys, st.one_of(st.just(BOTTOM), small))),
    "map of sets": (MapUnion(str, SetUnion(int)), st.dictionaries(keys, st.frozensets(small))),
    "map of maps": (MapUnion(str, MapUnion(str, Max(int))), st.dictionaries(keys, st.dictionaries(keys, small))),
    "product": (Product(Max(int), Or(), SetUnion(int)), st.tuples(small, st.booleans(), st.frozensets(small))),
    "versioned": (
        Versioned(int, SetUnion(int)),
        st.one_of(st.just(BOTTOM), st.tuples(st.integers(0, 2), st.frozensets(small))),
    ),
    "versioned agreement": (Versioned(int, Flat(str)), st.tuples(st.integers(0, 2), keys)),
    "gcounter": (GCounter(str), counts),
    "pncounter": (PNCounter(str), st.tuples(counts, counts)),
    "natural sum": (NaturalSum(), numbers),
    "natural sum of ints": (NaturalSum(int), small),
    "flat": (Flat(str), st.one_of(st.just(BOTTOM), st.just(TOP), keys)),
    "gcd": (Lattice.of(0, gcd_join), st.integers(0, 60)),
    "sets from two functions": (Lattice.of(frozenset, frozenset.union), st.frozensets(small)),
    "intervals": (Interval(), st.tuples(st.integers(0, 5), st.integers(5, 10))),
}
each = pytest.mark.parametrize("name", LATTICES)


@each
@given(data=st.data())
@tried(24)
def test_laws(name, data):
    lattice, strategy = LATTICES[name]
    a, b, c = (lattice.value(data.draw(strategy)) for _ in range(3))
    join, leq, bottom = lattice.join, lattice.leq, lattice.bottom()
    assert join(a, join(b, c)) == join(join(a, b), c)
    assert join(a, b) == join(b, a)
    assert join(a, a) == a
    assert join(a, bottom) == a == join(bottom, a)
    assert lattice.join_all([a, b, c]) == join(a, join(b, c))
    assert lattice.join_all([a]) == a
    assert lattice.join_all([]) == bottom
    assert leq(bottom, a)
    assert leq(a, join(a, b))
    assert leq(a, b) == (join(a, b) == b)
    assert lattice.is_bottom(a) == (a == bottom)
    assert all(lattice.mismatch(value) is None for value in (a, b, join(a, b), bottom))
    top = lattice.top()
    assert top is None or (lattice.mismatch(top) is None and leq(a, top))
    if lattice.conflict(a):
        assert lattice.conflict(join(a, b))
    assert lattice.incompatible(a, b) == lattice.incompatible(b, a)
    if lattice.incompatible(a, b):
        assert not leq(a, b)
        assert lattice.conflict(join(join(a, b), c))


@each
@given(data=st.data())
@tried(20)
def test_expressions_and_plain_data(name, data):
    lattice, strategy = LATTICES[name]
    value = lattice.value(data.draw(strategy))
    lowering = Lowering()
    assert Lifting(lowering.names)(lowering((lattice, value))) == (lattice, value)
    assert lattice.value(value) == value
    assert lattice.value(lattice.plain(value)) == value or isinstance(value, Fraction)
    assert hash(lattice) == hash(Lifting(lowering.names)(lowering(lattice)))
    assert lattice.accepts(lattice)


def test_values_are_changed_by_no_join():
    lattice = MapUnion(str, Max(int))
    old = lattice.value({"a": 1})
    new = lattice.join(old, lattice.value({"a": 2, "b": 1}))
    assert (lattice.plain(old), lattice.plain(new)) == ({"a": 1}, {"a": 2, "b": 1})
    assert lattice.join(new, old) == new


@pytest.mark.parametrize(
    ("annotation", "lattice", "shown"),
    [
        (Max[int], Max(int), "Max[int]"),
        (Max, Max(), "Max"),
        (Min(str), Min(str), "Min[str]"),
        (Or, Or(), "Or"),
        (SetUnion[int], SetUnion(int), "SetUnion[int]"),
        (MapUnion[str, Max[int]], MapUnion(str, Max(int)), "MapUnion[str, Max[int]]"),
        (Product[Max[int], Or], Product(Max(int), Or()), "Product[Max[int], Or]"),
        (Versioned[int, Flat[str]], Versioned(int, Flat(str)), "Versioned[int, Flat[str]]"),
        (GCounter[str], GCounter(str), "GCounter[str]"),
        (NaturalSum, NaturalSum(), "NaturalSum"),
        (Max[int | None], Max(int | None), "Max[int | None]"),
        (Lattice.of(0, max), Lattice.of(0, max), "Lattice[max]"),
        (Interval, Interval(), "Interval"),
        (Interval(1, 5), Interval(1, 5), "Interval[1, 5]"),
    ],
)
def test_names(annotation, lattice, shown):
    assert Lattice.from_annotation(annotation) == lattice
    assert str(Lattice.from_annotation(annotation)) == shown == repr(lattice)


def test_expressions_print():
    assert text(Lowering()(MapUnion(str, Max(int)))) == "MapUnion(str, Max(int))"
    assert text(Lowering()(Lattice.of(0, gcd_join))) == "lattice(0, gcd_join)"
    assert text(Lowering()(Product(Or(), Flat()))) == "Product(Or(), Flat())"


@pytest.mark.parametrize("annotation", [int, 3, Lattice, Lattice[int], "Max"])
def test_what_is_no_lattice(annotation):
    error = refusal(Lattice.from_annotation, annotation)
    assert isinstance(error, CollectionError)
    assert "is not a lattice" in str(error)
    assert "flo.Lattice.of(bottom, join)" in str(error)


@pytest.mark.parametrize(
    ("lattice", "value", "reason"),
    [
        (Max(int), "a", "'a' is not of type int"),
        (Max(float), float("nan"), "nan is not equal to itself"),
        (Max(), object, "has no order"),
        (And(), 1, "1 is not of type bool"),
        (SetUnion(int), [1], "[1] is not a set"),
        (SetUnion(int), {"a"}, "'a' is not of type int"),
        (MapUnion(str, Max(int)), 3, "3 is not a map"),
        (MapUnion(str, Max(int)), {1: 1}, "the key 1 is not of type str"),
        (MapUnion(str, Max(int)), {"a": "b"}, "at the key 'a': 'b' is not of type int"),
        (Product(Or(), Max(int)), (True,), "(True,) is not a tuple of length 2"),
        (Product(Or(), Max(int)), (True, "a"), "component 1: 'a' is not of type int"),
        (Versioned(int, Or()), 3, "3 is not a pair of a version and a value"),
        (Versioned(int, Or()), ("a", True), "the version: 'a' is not of type int"),
        (Versioned(int, Or()), (BOTTOM, True), "the version: ⊥ is not a version"),
        (Versioned(int, Or()), (1, 2), "2 is not of type bool"),
        (GCounter(str), {"a": -1}, "at the key 'a': -1 is below 0"),
        (NaturalSum(), -0.5, "-0.5 is below 0"),
        (NaturalSum(), float("inf"), "inf is not a finite number"),
        (NaturalSum(int), 0.5, "not a finite number of type int"),
        (NaturalSum(), "a", "'a' is not a finite number"),
        (Flat(str), 1, "1 is not of type str"),
        (Flat(), float("nan"), "nan is not equal to itself"),
        (Lattice.of(0, max), -3, "-3 is not above ⊥"),
        (Lattice.of(0, max), "a", "has no join with ⊥"),
    ],
)
def test_what_is_no_value(lattice, value, reason):
    assert reason in lattice.mismatch(lattice.value(value))


def test_a_partial_order_is_refused_where_it_shows():
    with pytest.raises(ValueError, match="needs a total order"):
        Max(frozenset).join(frozenset({1}), frozenset({2}))
    with pytest.raises(ValueError, match="is higher"):
        Versioned(frozenset, Or()).join((frozenset({1}), True), (frozenset({2}), True))


@pytest.mark.parametrize(
    ("lattice", "a", "b", "expected"),
    [
        (Flat(), "yes", "no", True),
        (Flat(), "yes", "yes", False),
        (Flat(), "yes", BOTTOM, False),
        (Flat(), "yes", TOP, False),  # what passes ⊤ passes "yes"
        (Max(int), 1, 2, False),
        (Or(), False, True, False),
        (Product(Or(), Or()), (True, False), (False, True), False),  # (True, True) is a value like any other
        (Product(Flat(), Or()), ("yes", False), ("no", False), True),
        (Product(Flat(), Or()), ("yes", False), (BOTTOM, True), False),
        (MapUnion(str, Flat()), {"a": 1}, {"a": 2}, True),
        (MapUnion(str, Flat()), {"a": 1}, {"b": 2}, False),
        (Versioned(int, Flat()), (1, "yes"), (1, "no"), False),  # (2, "maybe") lies above both
        (Interval(), (0, 3), (5, 9), True),
        (Interval(), (0, 5), (4, 9), False),
        (Lattice.of(None, one_way), 1, 2, True),
        (Lattice.of(None, one_way), 1, 1, False),
        (Lattice.of(0, max, top=9), 3, 9, False),
    ],
)
def test_incompatible(lattice, a, b, expected):
    assert lattice.incompatible(lattice.value(a), lattice.value(b)) is expected


def test_no_join_means_not_below():
    lattice = Lattice.of(None, one_way)
    assert lattice.leq(None, 1)
    assert not lattice.leq(1, 2)


def test_counters_have_totals():
    counter = GCounter(str)
    joined = counter.join(counter.value({"a": 2, "b": 1}), counter.value({"a": 1, "c": 4}))
    assert counter.total(joined) == 7
    both = PNCounter(str)
    assert both.total(both.join(both.value(({"a": 5}, {})), both.value(({"a": 3}, {"b": 2})))) == 3


def test_a_higher_version_wins():
    lattice = Versioned(int, SetUnion(str))
    one, two = (1, frozenset("ab")), (2, frozenset("c"))
    assert lattice.join(one, two) == two
    assert lattice.join(two, (2, frozenset("d"))) == (2, frozenset("cd"))


def test_sums_are_read_in_the_type_that_was_summed():
    half = Fraction(1, 2)
    shown = {kind: NaturalSum(kind).plain(half) for kind in (float, Decimal, Fraction)}
    assert {kind: type(value) for kind, value in shown.items()} == {kind: kind for kind in shown}
    assert set(shown.values()) == {half}
    assert (NaturalSum().plain(half), NaturalSum().plain(2), NaturalSum(float).plain(2)) == (0.5, 2, 2.0)


def test_subtyping_follows_the_parameters():
    assert Max(float).accepts(Max(int))
    assert not Max(int).accepts(Max(float))
    assert not Max(int).accepts(Min(int))
    assert MapUnion(str, Max(float)).accepts(MapUnion(str, Max(int)))
    assert not MapUnion(str, Max(int)).accepts(MapUnion(str, Min(int)))
    assert Product(Max(float), Or()).accepts(Product(Max(int), Or()))
    assert not Product(Max(float)).accepts(Product(Max(int), Or()))
    assert not Lattice.of(0, max).accepts(Lattice.of(0, gcd_join))
    assert not Interval(0, 5).accepts(Interval(0, 6))

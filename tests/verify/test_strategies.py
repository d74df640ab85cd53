"""Generated data of every collection, values of the user's own, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import flo
from flo.core.collection import Collection
from flo.verify import check
from flo.verify.data.given import Given, lattice_values
from flo.verify.data.strategies import data_strategy

FEW = settings(max_examples=25, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
LATTICES = [
    flo.Max(int), flo.Min(str), flo.And(), flo.Or(), flo.SetUnion(int), flo.MapUnion(str, flo.Max(int)),
    flo.Product(flo.Max(int), flo.SetUnion(str)), flo.Versioned(int, flo.Max(int)), flo.GCounter(str),
    flo.PNCounter(str), flo.NaturalSum(int), flo.NaturalSum(float), flo.Flat(str), flo.Lattice.of(0, max),
    flo.MapUnion(str, flo.Product(flo.GCounter(int), flo.Or())),
]  # fmt: skip


@pytest.mark.parametrize(
    ("collection", "kind"),
    [
        (flo.Sequence[int], list), (flo.Sequence[list[int]], list), (flo.Bag[str], Counter), (flo.Set[int], set),
        (flo.ZSet[tuple[int, str]], dict), (flo.Keyed[str, flo.Bag[int]], dict), (flo.Nested[flo.Sequence[int]], list),
        (flo.Nested[flo.Set[int], flo.LVar[flo.Max[int]]], list), (flo.Keyed[int, flo.LVar[flo.GCounter[str]]], dict),
        (flo.Bag, Counter),
    ],
    ids=str,
)  # fmt: skip
def test_data_belongs_to_the_collection(collection: Any, kind: type) -> None:
    of = Collection.of(collection)
    seen: list[Any] = []

    @FEW
    @given(data_strategy(of, Given()))
    def test(plain: Any) -> None:
        assert isinstance(plain, kind)
        assert of.value(plain) in of
        seen.append(len(plain))

    test()
    assert max(seen) > 1


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_values_of_every_lattice(lattice: flo.Lattice[Any]) -> None:
    seen: list[Any] = []

    @FEW
    @given(data_strategy(flo.LVar(lattice), Given()))
    def test(values: list[Any]) -> None:
        assert not [value for value in values if lattice.mismatch(value) is not None]
        seen.extend(values)

    test()
    assert [value for value in seen if not lattice.is_bottom(value)]
    assert lattice_values(lattice, Given())


def test_elements_that_cannot_be_hashed_are_left_out() -> None:
    found = find(data_strategy(flo.Bag(list[int] | int), Given()), lambda plain: len(plain) > 1, settings=FEW)
    assert {type(element) for element in found} == {int}


class Anything(flo.Collection):
    """A collection that only its author knows values of."""

    name = "Anything"

    def bottom(self) -> Any:
        return flo.Sequence(int).bottom()

    def mismatch(self, value: Any) -> str | None:
        return None

    def accepts(self, other: Collection) -> bool:
        return isinstance(other, Anything)

    def value(self, data: Any) -> Any:
        return flo.Sequence(int).value(data)

    def plain(self, value: Any) -> Any:
        return flo.Sequence(int).plain(value)

    def lower(self, lower: Any) -> Any:
        raise NotImplementedError

    def __str__(self) -> str:
        return "Anything"

    __repr__ = __str__


def test_a_collection_of_ones_own_needs_examples() -> None:
    with pytest.raises(flo.LawError, match="no values of Anything can be made"):
        data_strategy(Anything(), Given())
    for own in ([[5, 6]], st.just([5, 6])):
        assert find(data_strategy(Anything(), Given({Anything: own})), lambda plain: True, settings=FEW) == [5, 6]
    with pytest.raises(flo.LawError, match="the examples of Anything contain a value of another type"):
        data_strategy(Anything(), Given({Anything: [["not a number"]]}))


@pytest.mark.parametrize("own", [[7, 8], st.sampled_from([7, 8])], ids=["list", "strategy"])
def test_values_of_ones_own_are_used_wherever_the_type_occurs(own: Any) -> None:
    mine = Given({int: own})
    assert set(mine.examples(int)) == {7, 8}
    assert {part for pair in mine.examples(tuple[int, str]) for part in pair[:1]} == {7, 8}

    @FEW
    @given(data_strategy(flo.Sequence(tuple[str, int]), mine))
    def test(plain: list[tuple[str, int]]) -> None:
        assert {number for _, number in plain} <= {7, 8}

    test()


def strange() -> Iterator[tuple[str, Any]]:
    yield "list", [1, "two"]
    yield "strategy", st.just("two")
    yield "strategy that goes wrong late", st.integers().map(lambda n: n if n < 10 else "two")


@pytest.mark.parametrize("own", [own for _, own in strange()], ids=[name for name, _ in strange()])
def test_values_outside_the_type_are_refused_on_the_users_line(own: Any) -> None:
    with pytest.raises(flo.LawError, match="the examples of int contain a value of another type: 'two'") as caught:
        check(lambda a, x: a + x, int, int, examples={int: own}, tries=2000)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    assert "expected" in str(caught.value)


def test_examples_that_are_no_mapping_and_no_list_are_refused() -> None:
    with pytest.raises(flo.LawError, match="a mapping from types to values"):
        Given([1, 2])  # type: ignore[arg-type]
    with pytest.raises(flo.LawError, match="must be a list or a strategy"):
        Given({int: 3}).examples(int)


def test_values_of_a_lattice_of_ones_own() -> None:
    weights = flo.Lattice.of(None, lambda a, b: b if a is None or b is None or b > a else a)
    assert check(flo.Lattice.of(0, max), examples={int: [5]}).ok
    broken = check(weights, examples={weights: [0.5, None]})
    assert broken.counterexample is not None

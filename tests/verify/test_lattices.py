"""Lattices of a user's own are tried when they are used, and refused with the values that break a law."""

from __future__ import annotations

import pytest

import flo
from flo.verify import laws


def last_wins(a: object, b: object) -> object:
    return b if b is not None else a


def add(a: int, b: int) -> int:
    return a + b


def average(a: float, b: float) -> float:
    return (a + b) / 2


def union(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
    return a | b


@pytest.mark.parametrize(
    ("lattice", "law"),
    [
        (flo.Lattice.of(None, last_wins), laws.COMMUTATIVE),
        (flo.Lattice.of(0, add), laws.IDEMPOTENT),
        (flo.Lattice.of(0, average), laws.BOTTOM_IS_LEAST),
    ],
    ids=["last one wins", "sum", "average of averages"],
)
def test_what_is_no_lattice_is_refused(lattice: flo.Lattice[object], law: laws.Law) -> None:
    report = flo.verify.check(lattice)
    assert report.counterexample is not None
    assert report.counterexample.law == law, str(report)
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    with pytest.raises(flo.LawError, match="is not a lattice"):
        numbers.fold_lattice(lattice)


@pytest.mark.parametrize(
    "lattice",
    [
        flo.Max(int), flo.Min(str), flo.And(), flo.Or(), flo.SetUnion(int), flo.MapUnion(str, flo.Max(int)),
        flo.Product(flo.Max(int), flo.SetUnion(str)), flo.Versioned(int, flo.Max(int)), flo.GCounter(str),
        flo.PNCounter(str), flo.NaturalSum(int), flo.Flat(str), flo.Lattice.of(frozenset(), union),
        flo.Lattice.of(0, max),
    ],
    ids=str,
)  # fmt: skip
def test_lattices_pass(lattice: flo.Lattice[object]) -> None:
    report = flo.verify.check(lattice)
    assert report.ok, str(report)


def test_a_lattice_of_ones_own_works_once_it_passes() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
    flow.output("largest", numbers.fold_lattice(flo.Lattice.of(0, max)).to_sequence())
    assert flow.run(numbers=[3, 9, 4]) == {"largest": [9]}

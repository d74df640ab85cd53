"""Verbs of lattice variables on every engine: values that only grow."""

from __future__ import annotations

from typing import NamedTuple

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("lattice verbs", sample=("thresholds",))
Numbers = flo.Sequence[int]


class Vote(NamedTuple):
    who: str
    points: int


def alone(x: int) -> frozenset[int]:
    return frozenset({x})


@FAMILY.program
def fold_lattice(p: Program) -> None:
    p.expect(p.input(Numbers, [3, 1], [], [7, 2]).fold_lattice(flo.Max(int)), 3, 3, 7)
    p.expect(p.input(flo.Bag[int], [3, 1], [], [-7, 2]).fold_lattice(flo.Min(int)), 1, 1, -7)
    votes = p.input(flo.Sequence[Vote], [Vote("ann", 3)], [Vote("bob", 1)], [Vote("ann", 9)])
    p.expect(votes.fold_lattice(flo.Max(int), "points"), 3, 3, 9)


@FAMILY.program
def fold_lattice_of_sets(p: Program) -> None:
    p.expect(p.input(flo.Set[int], {1, 2}, {2, 3}).fold_lattice(flo.SetUnion(int), alone), {1, 2}, {1, 2, 3})
    p.expect(p.input(flo.Bag[int], [1, 1], [3]).fold_lattice(flo.SetUnion(int), alone), {1}, {1, 3})


@FAMILY.program
def sum_lattice(p: Program) -> None:
    p.expect(p.input(Numbers, [1, 2], [3]).sum_lattice(), 3, 6)
    p.expect(p.input(flo.Bag[int], [2, 2], [2]).sum_lattice(), 4, 6)


@FAMILY.program
def thresholds(p: Program) -> None:
    """An event comes once, however far the value grows."""
    highest = p.input(Numbers, [3, 1], [7, 2], [9]).fold_lattice(flo.Max(int))
    p.expect(highest.event_when_above(5), [], [5], [5])
    p.expect(highest.event_when_above(7), [], [], [7])
    p.expect(highest.event_when_above(9), [], [], [])
    p.expect(highest.threshold(8), [], [], [8])
    p.expect(highest.threshold(7), [], [7], [7])
    p.expect(highest.above(5), False, True, True)
    p.expect(highest.above(9), False, False, False)
    p.expect(highest.at_least(9), False, False, True)


@FAMILY.program
def one_of_two_thresholds(p: Program) -> None:
    """Which one is passed: a value that has one element cannot get another."""
    seen = p.input(flo.Sequence[str], ["b"], ["b"]).fold_lattice(flo.Flat(str))
    p.expect(seen.threshold("a", "b"), ["b"], ["b"])


@FAMILY.program
def map_monotone(p: Program) -> None:
    seen = p.input(Numbers, [1, 2], [2, 5]).fold_lattice(flo.SetUnion(int), alone)
    p.expect(seen.map_monotone(len, flo.Max(int)), 2, 3)
    p.expect(seen.map_monotone(len, flo.Max(int)).threshold(3), [], [3])


@FAMILY.program
def union_of_lattice_variables(p: Program) -> None:
    one, other = (p.input(Numbers, *deltas).fold_lattice(flo.Max(int)) for deltas in (([3], [4]), ([1], [9])))
    p.expect(one.union(other), 3, 9)


@FAMILY.program
def to_sequence_at_the_end(p: Program) -> None:
    numbers = p.input(Numbers, [3, 8], [5], bounded=True)
    p.expect(numbers.fold_lattice(flo.Max(int)).to_sequence(), [8])
    p.expect(numbers.sum_lattice().to_sequence(), [16])


@FAMILY.on_every_engine
def test_lattice_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

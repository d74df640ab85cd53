"""Verbs of nested streams on every engine: a body for each inner stream, and state from one to the next."""

from __future__ import annotations

from typing import NamedTuple

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("nest verbs", sample=("integrate_and_differentiate",))
Numbers = flo.Sequence[int]


class Event(NamedTuple):
    at: int
    user: str


EVENTS = (
    [Event(1, "a"), Event(2, "b"), Event(11, "a")],
    [Event(12, "a"), Event(21, "c")],
    [Event(35, "b")],
)


@FAMILY.program
def nest(p: Program) -> None:
    batches = p.input(Numbers, [3, 1, 2], [5], [7]).batch(2)
    p.expect(
        batches.nest(lambda batch: batch.map(lambda x: 10 * x)), [[30, 10]], [[30, 10], [20, 50]], [[30, 10], [20, 50]]
    )
    p.expect(batches.nest(lambda batch: batch.sort()).flatten(), [1, 3], [1, 3, 2, 5], [1, 3, 2, 5])
    p.expect(batches.nest(lambda batch: batch.to_set()), [{1, 3}], [{1, 3}, {2, 5}], [{1, 3}, {2, 5}])


@FAMILY.program
def nest_gives_several_streams(p: Program) -> None:
    results = p.input(Numbers, [1, 2, 3], [4]).batch(2).nest(lambda batch: (batch.sum(), batch.last()))
    p.expect(results, [([3], [2])], [([3], [2]), ([7], [4])])


@FAMILY.program
def nest_over_windows(p: Program) -> None:
    windows = p.input(flo.Sequence[Event], *EVENTS).tumbling(10, "at")
    p.expect(windows.nest(lambda window: window.count()).flatten(), [2], [2, 2], [2, 2, 1])
    users = windows.nest(lambda window: window.key_by("user").per_key(lambda stream: stream.count()).entries())
    first, second, third = {("a", 1): 1, ("b", 1): 1}, {("a", 2): 1}, {("c", 1): 1}
    p.expect(users, [first], [first, second], [first, second, third])


@FAMILY.program
def nest_in_a_nest(p: Program) -> None:
    outer = p.input(Numbers, [1, 2, 3, 4], [5, 6, 7, 8]).batch(4)
    sums = outer.nest(lambda batch: batch.batch(2).nest(lambda pair: pair.sum()).flatten())
    p.expect(sums, [[3, 7]], [[3, 7], [11, 15]])


@FAMILY.program
def state_passes_to_the_next_inner_stream(p: Program) -> None:
    def total(batch, loop):
        before = loop.read_defer("total", Numbers, initial=[100])
        after = before.union(batch).sum()
        loop.write_defer("total", after)
        return after

    p.expect(
        p.input(Numbers, [1, 2, 3], [4], [5, 6]).batch(2).nest(total).flatten(), [103], [103, 110], [103, 110, 121]
    )


@FAMILY.program
def constants_of_a_body(p: Program) -> None:
    def scaled(batch, loop):
        return batch.zip(loop.constant(Numbers, [10, 100])).map(lambda pair: pair[0] * pair[1])

    p.expect(p.input(Numbers, [1, 2, 3], [4]).batch(2).nest(scaled), [[10, 200]], [[10, 200], [30, 400]])


@FAMILY.program
def reachable_nodes(p: Program) -> None:
    """A fixed number of rounds, on a set that grows."""
    edges = p.input(flo.Set[tuple[int, int]], {(1, 2), (2, 3)}, {(3, 4), (7, 8), (4, 5)}, bounded=True)

    def step(edges, loop):
        before = loop.read_defer("reached", flo.Set[int], initial={1})
        reached = before.union(before.join(edges))
        loop.write_defer("reached", reached)
        return reached

    p.expect(edges.repeat_nested(3).nest(step).last(), {1, 2, 3, 4})


@FAMILY.program
def flatten_other_collections(p: Program) -> None:
    batches = p.input(Numbers, [1, 1, 2], [1]).batch(2)
    p.expect(batches.flatten(), [1, 1], [1, 1, 2, 1])
    p.expect(batches.nest(lambda batch: batch.to_bag()).flatten(), {1: 2}, {1: 3, 2: 1})
    p.expect(batches.nest(lambda batch: batch.to_set()).flatten(), {1}, {1, 2})
    p.expect(batches.nest(lambda batch: batch.to_zset().negate()).flatten(), {1: -2}, {1: -3, 2: -1})


@FAMILY.program
def repeat_nested(p: Program) -> None:
    numbers, times = p.input(Numbers, [1], [2], bounded=True), p.input(Numbers, [3], bounded=True)
    p.expect(numbers.repeat_nested(2), [[1, 2], [1, 2]])
    p.expect(numbers.repeat_nested(times).nest(lambda each: each.sum()).flatten(), [3, 3, 3])
    p.expect(p.input(flo.ZSet[int], {1: 2}, {1: -2, 3: 1}, bounded=True).repeat_nested(2), [{3: 1}, {3: 1}])


@FAMILY.program
def nest_once(p: Program) -> None:
    """The driver says how many inner streams there are; all but the first are empty."""
    numbers, driver = p.input(Numbers, [1, 2], bounded=True), p.input(Numbers, [7, 8], [9], [10, 11, 12]).batch(2)
    p.expect(numbers.nest_once(driver), [[1, 2], [], []])
    p.expect(numbers.to_bag().nest_once(driver), [{1: 1, 2: 1}, {}, {}])


@FAMILY.program
def zip_of_nested_streams(p: Program) -> None:
    numbers = p.input(Numbers, [1, 2, 3], [4])
    pairs = numbers.batch(2).zip(numbers.map(lambda x: 10 * x).batch(2))
    p.expect(pairs.nest(lambda one, other: one.union(other)), [[1, 2, 10, 20]], [[1, 2, 10, 20], [3, 4, 30, 40]])


@FAMILY.program
def last_inner_streams(p: Program) -> None:
    numbers = p.input(Numbers, [1, 2], [3], bounded=True)
    p.expect(numbers.batch(2).last(), [3])
    batches = numbers.batch(2).zip(numbers.map(lambda x: 10 * x).batch(2)).zip(numbers.map(lambda x: -x).batch(2))
    for stream, result in zip(batches.last(), ([3], [30], [-3]), strict=True):
        p.expect(stream, result)
    nothing = p.input(Numbers, [], bounded=True).batch(2)
    for stream in (nothing.last(), *nothing.zip(nothing).last()):
        p.expect(stream, [])


@FAMILY.program
def integrate_and_differentiate(p: Program) -> None:
    users = p.input(flo.Sequence[Event], *EVENTS).tumbling(10, "at").nest(lambda window: window.map("user").to_zset())
    changes = [{"a": 1, "b": 1}, {"a": 2}, {"c": 1}]
    sums = [{"a": 1, "b": 1}, {"a": 3, "b": 1}, {"a": 3, "b": 1, "c": 1}]
    differences = [{"a": 1, "b": 1}, {"a": 1, "b": -1}, {"a": -2, "c": 1}]
    p.expect(users, changes[:1], changes[:2], changes)
    p.expect(users.integrate(), sums[:1], sums[:2], sums)
    p.expect(users.differentiate(), differences[:1], differences[:2], differences)
    p.expect(users.integrate().differentiate(), changes[:1], changes[:2], changes)
    p.expect(users.integrate().flatten(), {"a": 1, "b": 1}, {"a": 4, "b": 2}, {"a": 7, "b": 3, "c": 1})


@FAMILY.on_every_engine
def test_nest_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

"""Verbs of sequences on every engine."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("sequence verbs", sample=("scan",))
Numbers = flo.Sequence[int]


class Sale(NamedTuple):
    shop: str
    price: int
    note: str | None


Sales = flo.Sequence[Sale]
MORNING = [Sale("b", 3, None), Sale("a", 5, "x")]
EVENING = [Sale("b", 3, "y"), Sale("a", 1, None)]


def summed(so_far: tuple[Sale | None, int], sale: Sale) -> tuple[Sale | None, int]:
    return sale, so_far[1] + sale.price


def repeat(x: int) -> list[int]:
    return [x] * x


@FAMILY.program
def map_by_a_function(p: Program) -> None:
    p.expect(p.input(Numbers, [1, 2], [], [3]).map(lambda x: 10 * x), [10, 20], [10, 20], [10, 20, 30])


@FAMILY.program
def map_to_rows(p: Program) -> None:
    sales = p.input(Sales, MORNING, EVENING)
    p.expect(sales.map("price"), [3, 5], [3, 5, 3, 1])
    p.expect(sales.map(("shop", nw.col("price") * 2)), [("b", 6), ("a", 10)], [("b", 6), ("a", 10), ("b", 6), ("a", 2)])
    p.expect(sales.map(lambda sale: sale.note), [None, "x"], [None, "x", "y", None])


@FAMILY.program
def filter_by_a_function_and_a_column(p: Program) -> None:
    sales = p.input(Sales, MORNING, EVENING)
    p.expect(sales.filter(lambda sale: sale.note is None), [MORNING[0]], [MORNING[0], EVENING[1]])
    p.expect(sales.filter(nw.col("price") > 3), [MORNING[1]], [MORNING[1]])


@FAMILY.program
def flat_map(p: Program) -> None:
    numbers = p.input(Numbers, [2, 0], [1, 3])
    p.expect(numbers.flat_map(repeat), [2, 2], [2, 2, 1, 3, 3, 3])


@FAMILY.program
def fold(p: Program) -> None:
    numbers = p.input(Numbers, [1, 2], [3], bounded=True)
    p.expect(numbers.fold(0, lambda total, x: 10 * total + x), [123])
    p.expect(numbers.filter(lambda x: x > 9).fold(7, lambda total, x: total + x), [7])


@FAMILY.program
def fold_waits_for_the_end(p: Program) -> None:
    batches = p.input(Numbers, [1, 2, 3], [4, 5]).batch(2)
    folded = batches.nest(lambda batch: batch.fold(0, lambda total, x: 10 * total + x))
    p.expect(folded.flatten(), [12], [12, 34])


@FAMILY.program
def count_sum_and_last(p: Program) -> None:
    numbers = p.input(Numbers, [4, 1], [], [5], bounded=True)
    p.expect(numbers.count(), [3])
    p.expect(numbers.sum(), [10])
    p.expect(numbers.last(), [5])


@FAMILY.program
def count_sum_and_last_of_nothing(p: Program) -> None:
    numbers = p.input(Numbers, [], [], bounded=True)
    p.expect(numbers.count(), [0])
    p.expect(numbers.sum(), [0])
    p.expect(numbers.last(), [])


@FAMILY.program
def sum_of_floats_is_exact(p: Program) -> None:
    p.expect(p.input(flo.Sequence[float], [1e100, 0.1, 0.2], [-1e100, 0.3], bounded=True).sum(), [0.6])
    p.expect(p.input(Numbers, [2**62], [2**62], bounded=True).sum(), [2**63])


@FAMILY.program
def sort(p: Program) -> None:
    numbers = p.input(Numbers, [4, 1], [5, 1], bounded=True)
    p.expect(numbers.sort(), [1, 1, 4, 5])
    p.expect(numbers.sort(lambda x: -x), [5, 4, 1, 1])


@FAMILY.program
def sort_by_columns(p: Program) -> None:
    """Rows with equal keys stay in their order."""
    sales = p.input(Sales, MORNING, EVENING, bounded=True)
    p.expect(sales.sort("shop"), [MORNING[1], EVENING[1], MORNING[0], EVENING[0]])
    p.expect(sales.sort(("price", "shop")), [EVENING[1], MORNING[0], EVENING[0], MORNING[1]])


@FAMILY.program
def distinct(p: Program) -> None:
    p.expect(p.input(Numbers, [2, 1, 2], [1, 3, 2]).distinct(), [2, 1], [2, 1, 3])
    texts = p.input(flo.Sequence[str | None], [None, "a"], ["", None, "a"])
    p.expect(texts.distinct(), [None, "a"], [None, "a", ""])


class Event(NamedTuple):
    id: str | None
    at: int


@FAMILY.program
def dedupe(p: Program) -> None:
    """A key is forgotten when the largest time is more than 10 past the largest time when it was emitted."""
    events = p.input(
        flo.Sequence[Event],
        [Event("a", 1), Event(None, 2), Event("a", 9)],
        [Event("b", 3), Event(None, 12), Event("a", 12)],
        [Event("b", 19), Event("b", 20), Event("b", 4)],
    )
    first, second = [Event("a", 1), Event(None, 2)], [Event("b", 3), Event("a", 12)]
    p.expect(events.dedupe("id", "at", 10), first, first + second, [*first, *second, Event("b", 20)])
    p.expect(
        events.dedupe(lambda event: event.id is None, nw.col("at") * 2, 15),
        [*first, Event("a", 9)],
        [*first, Event("a", 9), Event(None, 12)],
        [*first, Event("a", 9), Event(None, 12), Event("b", 19)],
    )


@FAMILY.program
def dedupe_in_each_key(p: Program) -> None:
    events = p.input(flo.Sequence[Event], [Event("a", 1), Event("b", 30)], [Event("a", 8), Event("b", 41)])
    by_id = events.key_by("id").per_key(lambda rows: rows.dedupe("id", "at", 10))
    a, b = [Event("a", 1)], [Event("b", 30)]
    p.expect(by_id, {"a": a, "b": b}, {"a": a, "b": [*b, Event("b", 41)]})


@FAMILY.program
def alert(p: Program) -> None:
    """Again after an element that has recovered; a condition that is null is not true."""
    numbers = p.input(Numbers, [3, 7, 8], [6, 2, 9], [4, 9, 1, 5])
    p.expect(numbers.alert(lambda x: x > 5), [7], [7, 9], [7, 9, 9])
    p.expect(numbers.alert(nw.col("value") > 5, recovered=nw.col("value") < 2), [7], [7], [7])
    p.expect(numbers.alert(nw.col("value") >= 5, recovered=lambda x: x < 2), [7], [7], [7, 5])
    sales = p.input(Sales, MORNING, EVENING)
    p.expect(sales.alert(nw.col("note") == "x"), [MORNING[1]], [MORNING[1]])


@FAMILY.program
def alert_with_the_running_value(p: Program) -> None:
    """For each shop: the row at which its sum came to more than 5, and the sum."""
    sales = p.input(Sales, MORNING, EVENING)
    sums = sales.key_by("shop").per_key(lambda rows: rows.scan((None, 0), summed).alert(lambda pair: pair[1] > 5))
    p.expect(sums.entries(), {}, {("b", (EVENING[0], 6)): 1, ("a", (EVENING[1], 6)): 1})


@FAMILY.program
def scan(p: Program) -> None:
    numbers = p.input(Numbers, [1, 2], [], [3])
    p.expect(numbers.scan(0, lambda total, x: 10 * total + x), [1, 12], [1, 12], [1, 12, 123])


@FAMILY.program
def enumerate_elements(p: Program) -> None:
    texts = p.input(flo.Sequence[str], ["a", "b"], ["a"])
    p.expect(texts.enumerate(), [(0, "a"), (1, "b")], [(0, "a"), (1, "b"), (2, "a")])


@FAMILY.program
def take_and_first(p: Program) -> None:
    numbers = p.input(Numbers, [7, 8], [9, 10])
    p.expect(numbers.take(3), [7, 8], [7, 8, 9])
    p.expect(numbers.take(0), [], [])
    p.expect(numbers.first(), [7], [7])


@FAMILY.program
def zip_waits_for_the_slower(p: Program) -> None:
    numbers, texts = p.input(Numbers, [1], [2, 3], []), p.input(flo.Sequence[str], ["a", "b"], [], ["c", "d"])
    p.expect(numbers.zip(texts), [(1, "a")], [(1, "a"), (2, "b")], [(1, "a"), (2, "b"), (3, "c")])


@FAMILY.program
def union(p: Program) -> None:
    """All of the first comes first."""
    first, second = p.input(Numbers, [1], [2], bounded=True), p.input(Numbers, [10], [20])
    p.expect(first.union(second), [1, 2, 10, 20])


@FAMILY.program
def merge(p: Program) -> None:
    one, other = p.input(Numbers, [1, 4], [4, 9], bounded=True), p.input(Numbers, [2], [4, 5], bounded=True)
    p.expect(one.merge(other), [1, 2, 4, 4, 4, 5, 9])


@FAMILY.program
def merge_by_a_column(p: Program) -> None:
    """Of equal keys, those of the first come first."""
    one, other = (p.input(Sales, [row], bounded=True) for row in (MORNING[0], EVENING[0]))
    p.expect(one.merge(other, "price"), [MORNING[0], EVENING[0]])
    p.expect(other.merge(one, lambda sale: sale.price), [EVENING[0], MORNING[0]])


@FAMILY.program
def tee(p: Program) -> None:
    first, second = p.input(Numbers, [1], [2]).tee()
    p.expect(first.zip(second.map(lambda x: x + 1)), [(1, 2)], [(1, 2), (2, 3)])


@FAMILY.program
def to_other_collections(p: Program) -> None:
    numbers = p.input(Numbers, [2, 1], [2])
    p.expect(numbers.to_bag(), {1: 1, 2: 1}, {1: 1, 2: 2})
    p.expect(numbers.to_set(), {1, 2}, {1, 2})
    p.expect(numbers.to_zset(), {1: 1, 2: 1}, {1: 1, 2: 2})


@FAMILY.program
def constant(p: Program) -> None:
    p.expect(p.flow.constant(Numbers, [3, 1]).union(p.input(Numbers, [5], [4])), [3, 1, 5], [3, 1, 5, 4])


@FAMILY.on_every_engine
def test_sequence_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

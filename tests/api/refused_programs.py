"""One wrong program for every refusal. The text of each error is kept in tests/golden."""

from __future__ import annotations

# mypy: ignore-errors
# pyright: basic, reportAttributeAccessIssue=false
import time
from dataclasses import dataclass

import flo


@dataclass(frozen=True)
class Bid:
    auction: int
    price: int


def unbounded_fold():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.Sequence[Bid])
    total = bids.fold(0, lambda n, b: n + b.price)
    flow.output("total", total)


def unbounded_last():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.Sequence[Bid])
    bids.map(lambda b: b.price).last()


def unbounded_lvar_to_sequence():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    highest = prices.fold_lattice(flo.Max(int))
    flow.output("highest", highest.to_sequence())


def unbounded_difference():
    flow = flo.Flow("members")
    people = flow.input("people", flo.Set[str])
    blocked = flow.input("blocked", flo.Set[str])
    allowed = people.difference(blocked)
    flow.output("allowed", allowed)


def unbounded_body():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.Nested(flo.StreamType(flo.Sequence(int), bounded=False)))
    flow.output("bids", bids.nest(lambda inner: inner.map(lambda x: x + 1)))


def wrong_collection():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    prices.event_when_above(100)


def nest_of_a_plain_stream():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    prices.nest(lambda b: b.fold(0, lambda n, x: n + x))


def no_order():
    flow = flo.Flow("words")
    words = flow.input("words", flo.Bag[str])
    words.scan("", lambda text, word: text + word)


def no_order_in_union():
    flow = flo.Flow("logs")
    east = flow.input("east", flo.Sequence[str])
    west = flow.input("west", flo.Sequence[str])
    logs = east.union(west)
    flow.output("logs", logs)


def fold_of_a_bag_that_is_not_commutative():
    flow = flo.Flow("words")
    words = flow.input("words", flo.Bag[str], bounded=True)
    words.fold("", lambda text, word: text + word)


def defer_written_twice():
    def body(batch, loop):
        total = loop.read_defer("total", initial=[0])
        loop.write_defer("total", total)
        loop.write_defer("total", batch)
        return total

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(body)


def defer_never_written():
    def body(batch, loop):
        total = loop.read_defer("total", initial=[0])
        return batch.zip(total)

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(body)


def defer_written_with_another_type():
    def body(batch, loop):
        total = loop.read_defer("total", initial=[0])
        loop.write_defer("total", batch.to_bag())
        return total

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(body)


def defer_of_an_unclear_collection():
    def body(batch, loop):
        return loop.read_defer("total", initial={"a": 1})

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(body)


def compatible_thresholds():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    highest = prices.fold_lattice(flo.Max(int))
    highest.threshold(10, 20)


def stream_of_another_flow():
    first, second = flo.Flow("first"), flo.Flow("second")
    numbers = first.input("numbers", flo.Sequence[int])
    others = second.input("others", flo.Sequence[int])
    numbers.zip(others)


def output_named_twice():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    flow.output("prices", prices)
    flow.output("prices", prices.map(lambda x: x + 1))


def input_named_twice():
    flow = flo.Flow("auction")
    flow.input("prices", flo.Sequence[int])
    flow.input("prices", flo.Sequence[str])


def unused_input():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    flow.input("names", flo.Sequence[str])
    flow.output("prices", prices)
    flow.type()


def inner_stream_used_outside():
    kept = []

    def body(batch):
        kept.append(batch)
        return batch

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(body)
    flow.output("leaked", kept[0])


def outer_stream_used_inside():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(lambda batch: batch.zip(numbers))


def body_with_too_many_arguments():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(lambda batch, other, loop: batch)


def body_that_returns_nothing():
    def body(batch):
        batch.sum()

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(body)


def body_that_returns_no_stream():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(lambda batch: [batch.sum(), batch.count()])


def body_with_a_keyword_that_nothing_gives():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).nest(lambda batch, *, size: batch.take(size))


def no_function():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.scan(max, 0)


def coroutine_function():
    async def fetched(number):
        return number

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.map(fetched)


def function_of_other_arguments():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.scan(0, lambda number: number + 1)


def join_on_one_side_only():
    flow = flo.Flow("members")
    people = flow.input("people", flo.ZSet[tuple[int, str]])
    visits = flow.input("visits", flo.ZSet[int])
    people.join(visits, on=lambda person: person[0])


def join_of_keyed_streams_on_something_else():
    flow = flo.Flow("members")
    people = flow.input("people", flo.Keyed[int, flo.Bag[str]])
    people.join(people, on=len, other_on=len)


def join_of_sequences():
    flow = flo.Flow("members")
    people = flow.input("people", flo.Sequence[str])
    people.join(people, on=len, other_on=len)


def union_of_nested_streams():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.batch(2).union(numbers.batch(3))


def distinct_of_a_bag():
    flow = flo.Flow("words")
    words = flow.input("words", flo.Bag[str])
    words.distinct()


def sum_of_something_of_a_sequence():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.Sequence[Bid], bounded=True)
    bids.sum(lambda bid: bid.price)


def element_of_the_wrong_type():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    flow.output("prices", prices)
    flow.run(prices=[1, 2, "three", 4])


def one_value_instead_of_many():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    flow.output("prices", prices)
    flow.run(prices=7)


def function_that_raises():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    flow.output("inverse", prices.map(lambda x: 1 / x))
    flow.run(prices=[2, 1, 0, 4])


def unknown_input():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int])
    flow.output("prices", prices)
    flow.run(price=[1])


def bounded_input_not_given():
    flow = flo.Flow("auction")
    prices = flow.input("prices", flo.Sequence[int], bounded=True)
    flow.output("total", prices.sum())
    flow.run()


def not_a_collection():
    flow = flo.Flow("auction")
    flow.input("prices", list[int])


def batches_of_nothing():
    flow = flo.Flow("auction")
    flow.input("prices", flo.Sequence[int]).batch(0)


def weights_that_are_not_additive():
    flow = flo.Flow("rows")
    rows = flow.input("rows", flo.ZSet[str])
    flow.output("rows", rows.map_weights(lambda row, weight: weight * weight))


def weights_that_are_not_additive_where_nobody_tried():
    flow = flo.Flow("rows")
    rows = flow.input("rows", flo.ZSet[str])
    flow.output("rows", rows.map_weights(lambda row, weight: weight if len(row) < 9 else weight * weight))
    flow.run(rows={"a long row": 2})


def map_that_is_not_monotone():
    flow = flo.Flow("prices")
    prices = flow.input("prices", flo.Sequence[int])
    prices.fold_lattice(flo.Max(int)).map_monotone(lambda price: -price, flo.Max(int))


def lattice_that_counts():
    flow = flo.Flow("prices")
    prices = flow.input("prices", flo.Sequence[int])
    prices.fold_lattice(flo.Lattice.of(0, lambda a, b: a + b))


def fold_that_never_returns():
    def stuck(total, price):
        time.sleep(10_000)
        return total + price

    flow = flo.Flow("prices")
    prices = flow.input("prices", flo.Bag[int], bounded=True)
    prices.fold(0, stuck)


def fold_that_is_no_function():
    results = iter(range(10**9))
    flow = flo.Flow("prices")
    prices = flow.input("prices", flo.Bag[int], bounded=True)
    prices.fold(0, lambda total, price: total + next(results))


def linear_aggregate_of_texts():
    flow = flo.Flow("names")
    names = flow.input("names", flo.ZSet[str])
    names.agg(total=flo.linear(lambda name: name, lambda total: total))


def late_elements_lost_in_a_body():
    flow = flo.Flow("times")
    times = flow.input("times", flo.Sequence[int])
    times.batch(10).nest(lambda b: b.tumbling(5, time=lambda t: t).flatten())


def state_of_another_program():
    def doubling(name):
        flow = flo.Flow(name)
        numbers = flow.input("numbers", flo.Sequence[int])
        return flow, numbers

    first, numbers = doubling("first")
    first.output("out", numbers.scan(0, lambda a, x: a + x))
    second, numbers = doubling("second")
    second.output("out", numbers.filter(lambda x: x > 0).scan(0, lambda a, x: a + x))
    second.loop().restore(first.loop().checkpoint())


def altered_state():
    flow = flo.Flow("sums")
    flow.output("out", flow.input("numbers", flo.Sequence[int]).scan(0, lambda a, x: a + x))
    saved = flow.loop().checkpoint()
    flow.loop().restore(saved[:-1])


def text_that_is_no_graph():
    flo.parse("{[1, 2]}[map(f)]; ; {_}[filter(g)]", {"f": abs, "g": bool})


def keyed_join_of_keys_that_are_never_equal():
    flow = flo.Flow("members")
    people = flow.input("people", flo.Keyed[int, flo.Bag[str]])
    visits = flow.input("visits", flo.Keyed[str, flo.Bag[int]])
    people.join(visits)


def union_of_two_types():
    flow = flo.Flow("members")
    people = flow.input("people", flo.ZSet[int])
    visits = flow.input("visits", flo.ZSet[str])
    people.union(visits)


def top_with_too_many_directions():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.ZSet[Bid])
    bids.top(3, ("auction", "price"), descending=(True, False, True))


def top_with_a_direction_that_is_none():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.ZSet[Bid])
    bids.top(3, "price", descending="yes")


def count_of_a_zset():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.ZSet[Bid])
    bids.count()


def sum_of_several_columns():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.ZSet[Bid])
    bids.group_by("auction").agg(sum=flo.sum(("price", "auction")))


def sum_by_of_a_zset():
    flow = flo.Flow("auction")
    bids = flow.input("bids", flo.ZSet[Bid])
    bids.sum_by("auction", "price")


def output_without_a_name():
    flow = flo.Flow("sums")
    flow.output("", flow.input("numbers", flo.Sequence[int]))


def input_with_a_blank_name():
    flo.Flow("sums").input(" \t", flo.Sequence[int])


def input_with_a_long_name():
    flo.Flow("sums").input("x" * 201, flo.Sequence[int])

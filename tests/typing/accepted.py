"""Programs that type checkers must accept, with the types they must see."""

from __future__ import annotations

from typing import Any, NamedTuple, assert_type

import narwhals as nw

import flo

flow = flo.Flow("accepted")
open_numbers = flow.input("open", flo.Sequence[int])
numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
words = flow.input("words", flo.Bag[str])
edges = flow.input("edges", flo.Set[tuple[int, int]], bounded=True)
rows = flow.input("rows", flo.ZSet[tuple[str, int]])
inner = flow.input("inner", flo.Nested[flo.Sequence[int]])

assert_type(open_numbers, flo.Stream[flo.Sequence[int], flo.Unbounded])
assert_type(numbers, flo.Stream[flo.Sequence[int], flo.Bounded])
assert_type(numbers.fold(0, lambda acc, x: acc + x), flo.Stream[flo.Sequence[int], flo.Bounded])
assert_type(open_numbers.map(str), flo.Stream[flo.Sequence[str], flo.Unbounded])
assert_type(open_numbers.scan(0.0, lambda acc, x: acc + x), flo.Stream[flo.Sequence[float], flo.Unbounded])
assert_type(words.map(len), flo.Stream[flo.Bag[int], flo.Unbounded])
assert_type(numbers.zip(numbers.map(str)), flo.Stream[flo.Sequence[tuple[int, str]], flo.Bounded])
mixed: flo.Stream[flo.Sequence[tuple[int, int]], flo.Unbounded] = numbers.zip(open_numbers)
assert_type(open_numbers.batch(3), flo.Stream[flo.Nested[flo.Sequence[int]], flo.Unbounded])
assert_type(
    open_numbers.batch(3).nest(lambda b: b.fold(0, lambda acc, x: acc + x)),
    flo.Stream[flo.Nested[flo.Sequence[int]], flo.Unbounded],
)
assert_type(inner.nest(lambda b: b.count()), flo.Stream[flo.Nested[flo.Sequence[int]], flo.Unbounded])
assert_type(inner.flatten(), flo.Stream[flo.Sequence[int], flo.Unbounded])
assert_type(words.to_set(), flo.Stream[flo.Set[str], flo.Unbounded])
assert_type(edges.repeat_nested(3), flo.Stream[flo.Nested[flo.Set[tuple[int, int]]], flo.Bounded])
assert_type(
    rows.group_by(key=lambda r: r[0]).agg(sum=flo.sum(lambda r: r[1])), flo.Stream[flo.ZSet[Any], flo.Unbounded]
)
assert_type(open_numbers.key_by(lambda x: x % 3), flo.Stream[flo.Keyed[int, flo.Sequence[int]], flo.Unbounded])
assert_type(
    open_numbers.key_by(str).per_key(lambda s: s.scan(0, lambda acc, x: acc + x)),
    flo.Stream[flo.Keyed[str, flo.Sequence[int]], flo.Unbounded],
)
largest = open_numbers.fold_lattice(flo.Max(int))
assert_type(largest.event_when_above(5), flo.Stream[flo.Sequence[int], flo.Unbounded])
assert_type(numbers.fold_lattice(flo.Max(int)).to_sequence(), flo.Stream[flo.Sequence[int], flo.Bounded])


def hop(e: flo.Stream[flo.Set[tuple[int, int]], flo.Bounded], loop: flo.Loop) -> flo.Stream[flo.Set[int], flo.Bounded]:
    known = loop.read_defer("known", initial={0})
    assert_type(known, flo.Stream[flo.Set[int], flo.Bounded])
    reached = known.union(known.join(e))
    loop.write_defer("known", reached)
    return reached


assert_type(edges.repeat_nested(2).nest(hop), flo.Stream[flo.Nested[flo.Set[int]], flo.Bounded])
windows = open_numbers.tumbling(10, time=lambda x: x)
assert_type(windows.late, flo.Stream[flo.Sequence[int], flo.Unbounded])
assert_type(windows.nest(lambda w: w.sum()), flo.Stream[flo.Nested[flo.Sequence[int]], flo.Unbounded])

assert_type(rows.agg(n=flo.count(), most=flo.max("1")), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(numbers.count(), flo.Stream[flo.Sequence[int], flo.Bounded])
Pair = tuple[str, int]


def first(row: Pair) -> str:
    return row[0]


assert_type(
    rows.join(rows, first, first, into=lambda r, s: r[1] if s is None else s[1], how="left"),
    flo.Stream[flo.ZSet[int], flo.Unbounded],
)
assert_type(
    rows.join(rows, first, first, into=lambda r, s: s[1] if r is None else r[1], how="right"),
    flo.Stream[flo.ZSet[int], flo.Unbounded],
)
assert_type(
    rows.join(rows, first, first, into=lambda r, s: r is None or s is None, how="full"),
    flo.Stream[flo.ZSet[bool], flo.Unbounded],
)
assert_type(rows.join(rows, first, first), flo.Stream[flo.ZSet[tuple[Pair, Pair]], flo.Unbounded])
assert_type(rows.join(rows, first, first, how="inner"), flo.Stream[flo.ZSet[tuple[Pair, Pair]], flo.Unbounded])
assert_type(rows.join(rows, first, first, how="left"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(rows.join(rows, first, first, how="right"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(rows.join(rows, lambda r: r[0], lambda r: r[0], how="full"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(rows.join(rows, lambda r: r[0], lambda r: r[0], how="semi"), flo.Stream[flo.ZSet[Pair], flo.Unbounded])
assert_type(rows.join(rows, lambda r: r[0], "0", how="anti"), flo.Stream[flo.ZSet[Pair], flo.Unbounded])
assert_type(numbers.merge(numbers), flo.Stream[flo.Sequence[int], flo.Bounded])
assert_type(open_numbers.first(), flo.Stream[flo.Sequence[int], flo.Unbounded])
assert_type(numbers.batch(2).last(), flo.Stream[flo.Sequence[int], flo.Bounded])
assert_type(
    numbers.batch(2).zip(numbers.map(str).batch(2)).last(),
    tuple[flo.Stream[flo.Sequence[int], flo.Bounded], flo.Stream[flo.Sequence[str], flo.Bounded]],
)


def scaled(b: flo.Stream[flo.Sequence[int], flo.Bounded], loop: flo.Loop) -> flo.Stream[flo.Sequence[int], flo.Bounded]:
    factors = loop.constant(flo.Sequence[int], [10, 100])
    assert_type(factors, flo.Stream[flo.Sequence[int], flo.Bounded])
    return b.zip(factors).map(lambda pair: pair[0] * pair[1])


assert_type(open_numbers.batch(2).nest(scaled), flo.Stream[flo.Nested[flo.Sequence[int]], flo.Unbounded])


class Order(NamedTuple):
    user: str
    price: int


orders = flow.input("orders", flo.ZSet[Order])
ended_orders = flow.input("ended_orders", flo.Sequence[Order], bounded=True)
assert_type(orders.filter(nw.col("price") > 3), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(orders.map({"user": "user", "total": nw.col("price") * 2}), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.map("user"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.map(lambda o: o.price), flo.Stream[flo.ZSet[int], flo.Unbounded])
assert_type(orders.map(("user", "price")), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.group_by("user").agg(sum=flo.sum("price")), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(ended_orders.to_zset().agg(n=flo.count()), flo.Stream[flo.ZSet[Any], flo.Bounded])
assert_type(orders.join(orders, on="user", other_on="user"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(
    orders.join(orders, on=lambda o: o.user, other_on="user"),
    flo.Stream[flo.ZSet[tuple[Order, Order]], flo.Unbounded],
)
assert_type(
    orders.join(orders, on="user", other_on="user", into={"k": "user", "s": nw.col("price") + nw.col("price_right")}),
    flo.Stream[flo.ZSet[Any], flo.Unbounded],
)
assert_type(
    orders.join(orders, "user", "user", into={"k": "user"}, how="right"), flo.Stream[flo.ZSet[Any], flo.Unbounded]
)
assert_type(orders.join(orders, "user", how="anti"), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(orders.top(3, "price", by="user"), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(
    orders.top(3, by="user", order_by=[flo.desc("price"), "user"], with_ties=True),
    flo.Stream[flo.ZSet[Order], flo.Unbounded],
)
assert_type(orders.top(3, order_by=nw.col("price") * 2, rank="place"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.limit(3, offset=1, order_by=flo.asc("price")), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(
    orders.over(["user"], [flo.desc("price"), nw.col("user")]).with_columns(n=flo.rank(), before=flo.lag("price")),
    flo.Stream[flo.ZSet[Any], flo.Unbounded],
)
assert_type(ended_orders.sort("price"), flo.Stream[flo.Sequence[Order], flo.Bounded])
assert_type(ended_orders.key_by("user"), flo.Stream[flo.Keyed[Any, flo.Sequence[Order]], flo.Bounded])
ended_orders.tumbling(10, "price")
orders.map_weights(nw.col("weight") * 2)

amounts = flow.input("amounts", flo.ZSet[float])
counts = flow.input("counts", flo.ZSet[int], bounded=True)
gaps = flow.input("gaps", flo.ZSet[int | None])
anything = flow.input("anything", flo.ZSet[Any])
assert_type(counts.union(counts), flo.Stream[flo.ZSet[int], flo.Bounded])
assert_type(amounts.union(amounts), flo.Stream[flo.ZSet[float], flo.Unbounded])
widened: flo.Stream[flo.ZSet[float], flo.Unbounded] = counts.union(amounts)
narrower: flo.Stream[flo.ZSet[float], flo.Unbounded] = amounts.union(counts)
with_gaps: flo.Stream[flo.ZSet[int | None], flo.Unbounded] = counts.minus(gaps)
assert_type(gaps.minus(counts).union(gaps), flo.Stream[flo.ZSet[int | None], flo.Bounded | flo.Unbounded])
anything.union(counts).minus(amounts)
counts.union(anything)
counts.join(gaps)
halves = flow.input("halves", flo.Sequence[float], bounded=True)
assert_type(numbers.merge(halves), flo.Stream[flo.Sequence[float], flo.Bounded])
assert_type(halves.merge(numbers, lambda x: -x), flo.Stream[flo.Sequence[float], flo.Bounded])
assert_type(numbers.union(halves), flo.Stream[flo.Sequence[float], flo.Bounded])
some = flow.input("some", flo.Set[int], bounded=True)
assert_type(some.intersection(some).difference(some), flo.Stream[flo.Set[int], flo.Bounded])
assert_type(largest.union(largest).above(3), flo.Stream[flo.LVar[flo.Or], flo.Unbounded])


class Shop(NamedTuple):
    user: str
    city: str


shops = flow.input("shops", flo.ZSet[Shop], bounded=True)
bag_of_orders = flow.input("bag_of_orders", flo.Bag[Order])
set_of_orders = flow.input("set_of_orders", flo.Set[Order], bounded=True)
assert_type(orders.select("user", total=nw.col("price") * 2), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.select(["user", "price"]), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.with_columns(twice=lambda order: order.price * 2), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(ended_orders.with_columns(twice=nw.col("price") * 2), flo.Stream[flo.Sequence[Any], flo.Bounded])
assert_type(bag_of_orders.drop("price"), flo.Stream[flo.Bag[Any], flo.Unbounded])
assert_type(set_of_orders.rename({"user": "who"}, price="cents"), flo.Stream[flo.Set[Any], flo.Bounded])
assert_type(
    orders.group_by("user", dear=nw.col("price") > 3).agg(n=flo.count()), flo.Stream[flo.ZSet[Any], flo.Unbounded]
)
assert_type(shops.group_by(lambda shop: shop.city).agg(n=flo.count()), flo.Stream[flo.ZSet[Any], flo.Bounded])
assert_type(orders.rollup("user").agg(all=flo.sum("price")), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.cube("user", "price").agg(n=flo.count()), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(
    orders.grouping_sets(["user"], "price", []).agg(n=flo.count(), level=flo.grouping_id()),
    flo.Stream[flo.ZSet[Any], flo.Unbounded],
)
assert_type(shops.agg(n=flo.count(), best=flo.arg_max("user", by="city")), flo.Stream[flo.ZSet[Any], flo.Bounded])
assert_type(orders.join(shops, on="user"), flo.Stream[flo.ZSet[Any], flo.Unbounded | flo.Bounded])
assert_type(orders.join(orders, on=["user", nw.col("price")], how="left"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(
    orders.join(
        orders, on="user", other_on="user", how="full", where=nw.col("price") > 3, suffix="_2", nulls_equal=True
    ),
    flo.Stream[flo.ZSet[Any], flo.Unbounded],
)
assert_type(orders.join(orders, how="cross"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.join(orders, on="user", how="semi"), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(orders.join(orders, on="user", how="anti"), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(bag_of_orders.join(bag_of_orders, on="user"), flo.Stream[flo.Bag[Any], flo.Unbounded])
assert_type(set_of_orders.join(set_of_orders, on="user"), flo.Stream[flo.Set[Any], flo.Bounded])
assert_type(orders.union_distinct(orders), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(orders.except_(orders, all=True), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(orders.intersect(orders), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(flow.table("kept", Order, key="user"), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(flow.table("ended", Order, key=["user"], bounded=True), flo.Stream[flo.ZSet[Order], flo.Bounded])
assert_type(orders.explode("items"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.explode("items", position="place"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.join(orders, how="anti", where="late"), flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(ended_orders.explode("items", keep_empty=True), flo.Stream[flo.Sequence[Any], flo.Bounded])
assert_type(orders.join_asof(orders, on="price", by=["user"]), flo.Stream[flo.ZSet[Any], flo.Unbounded])

assert_type(orders.tumble(10, "price"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(ended_orders.hop(10, 5, "price"), flo.Stream[flo.Sequence[Any], flo.Bounded])
assert_type(orders.session(10, "price", by="user"), flo.Stream[flo.ZSet[Any], flo.Unbounded])
assert_type(orders.retain("price", largest, 5).expired, flo.Stream[flo.ZSet[Order], flo.Unbounded])
assert_type(
    ended_orders.tumbling(10, "price", bounds=True).group_by("user").agg(n=flo.count()),
    flo.Stream[flo.Bag[Any], flo.Bounded],
)
assert_type(
    ended_orders.tumbling(10, "price").group_by("user").agg(n=flo.count()), flo.Stream[flo.Bag[Any], flo.Bounded]
)
# partitions and clocks
parts = flow.input("parts", flo.Partitioned[int], partitions=2)
part_windows = parts.tumbling(10, time=lambda x: x)
assert_type(part_windows.late, flo.Stream[flo.Bag[int], flo.Unbounded])
part_clock = parts.clock(lambda x: x, 2)
assert_type(part_clock.rows, flo.Stream[flo.Bag[int], flo.Unbounded])
clocked = part_clock.rows.session(3, clock=part_clock)
assert_type(clocked.late, flo.Stream[flo.Bag[int], flo.Unbounded])
number_clock = open_numbers.clock(lambda x: x)
assert_type(part_clock.partitions, flo.Stream[flo.Partitioned[Any], flo.Unbounded])
assert_type(open_numbers.dedupe(str, "value", 5), flo.Stream[flo.Sequence[int], flo.Unbounded])
assert_type(open_numbers.alert(lambda x: x > 3), flo.Stream[flo.Sequence[int], flo.Unbounded])
clicked = number_clock.rows.key_by(str).current(0.0, lambda n, x: n + x, clock=number_clock, keep=5)
assert_type(clicked.expired, flo.Stream[flo.Bag[tuple[str, float]], flo.Unbounded])
assert_type(
    open_numbers.key_by(str).current(0.0, lambda n, x: n + x), flo.Stream[flo.ZSet[tuple[str, float]], flo.Unbounded]
)
assert_type(largest.at_least(3), flo.Stream[flo.LVar[flo.Or], flo.Unbounded])
minutes = number_clock.rows.to_zset().tumble(60, "value").group_by("window_end").agg(n=flo.count())
assert_type(minutes.final(number_clock), flo.Stream[flo.Bag[Any], flo.Unbounded])
assert_type(number_clock.rows, flo.Stream[flo.Sequence[int], flo.Unbounded])
assert_type(parts.key_by(lambda x: str(x)), flo.Stream[flo.Keyed[str, flo.Sequence[int]], flo.Unbounded])

"""The same program on values and on Spark: one result, however the data is cut and on however many shards."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import flo
from flo.spark.on_spark import OnSpark
from flo.tables.values import Columns
from tests.spark.harness import agree
from tests.spark.programs import Case, add, apart, first, listed, second, thirds, together
from tests.spark.simulated import NO_SPARK, agree_simulated

pytestmark = pytest.mark.every(check=5)


class Sale(NamedTuple):
    shop: str
    price: int


SALES = {Sale("a", 1): 1, Sale("b", 2): 2, Sale("a", 3): -1, Sale("c", 5): 1}


def sums() -> flo.Flow:
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("sales", flo.ZSet[Sale]).group_by("shop").agg(sum=flo.sum("price")))
    return flow


def joined_with_a_table() -> flo.Flow:
    flow = flo.Flow("joined with a table")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Sale], bounded=True)
    flow.output("joined", sales.join(shops, "shop", "shop"))
    flow.output("shops", shops.agg(n=flo.count()))
    return flow


def with_a_constant() -> flo.Flow:
    flow = flo.Flow("constant")
    shops = flow.constant(flo.ZSet[Sale], {Sale("a", 7): 1})
    flow.output("joined", flow.input("sales", flo.ZSet[Sale]).join(shops, "shop", "shop"))
    return flow


def two_outputs() -> flo.Flow:
    flow = flo.Flow("two outputs")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("best", sales.top(1, "price", "shop"))
    flow.output("first", sales.top(2, ("price", "shop"), descending=(True, False)))
    flow.output("sums", sales.group_by("shop").agg(sum=flo.sum("price")).map(lambda row: row[1]).distinct())
    return flow


def batches() -> flo.Flow:
    flow = flo.Flow("batches")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("running", numbers.scan(0, lambda total, n: total + n))
    flow.output("sums", numbers.batch(2).nest(lambda batch: batch.sum()))
    return flow


def ends() -> flo.Flow:
    flow = flo.Flow("ends")
    flow.output("count", flow.input("some", flo.Bag[int], bounded=True).count())
    flow.output("more", flow.input("more", flo.Bag[int]).map(lambda n: n + 1))
    return flow


NUMBERS = [5, 1, 4, 4, 2, 7, 9, 3]
WEIGHTED = {5: 1, 1: 2, 4: -1, 7: 3, 2: 1}


def in_one_place_beside_spread() -> flo.Flow:
    """What is in one place meets what is spread, at each level that either can have: all must end."""
    flow = flo.Flow("in one place beside spread")
    bag, some = flow.input("bag", flo.Bag[int], bounded=True), flow.input("some", flo.ZSet[int], bounded=True)
    sorted_, spread = bag.sort(), some.distinct()
    flow.output("one and spread", sorted_.to_bag().union(bag))
    flow.output("count", sorted_.to_bag().union(bag).count())
    flow.output("spread below", sorted_.distinct().to_zset().union(some).to_bag().count())
    later = spread.to_bag().sort().to_zset()
    flow.output("later", later.union(spread).union(some).to_bag().count())
    flow.output("spread above", sorted_.to_zset().union(later.distinct()).to_bag().count())
    return flow


def read_more_than_once() -> flo.Flow:
    """A stream is two outputs, an input is one, and both are read by others too, by several keys."""
    flow = flo.Flow("read more than once")
    numbers = flow.input("numbers", flo.ZSet[int])
    once = numbers.distinct()
    for name, stream in {"a": once, "b": once, "c": numbers, "d": numbers, "e": numbers.union(numbers)}.items():
        flow.output(name, stream)
    flow.output("joined", once.join(once, thirds, lambda n: n % 2))
    flow.output(
        "again",
        numbers.group_by(key=thirds).agg(n=flo.count()).union(numbers.group_by(key=lambda n: n % 2).agg(n=flo.count())),
    )
    return flow


def without_columns() -> flo.Flow:
    flow = flo.Flow("without columns")
    numbers = flow.input("numbers", flo.Bag[int], bounded=True)
    sets = numbers.map(apart)
    flow.output("sets", sets.map(listed))
    flow.output("different", sets.to_set().map(listed))
    flow.output("count", sets.count())
    flow.output("sizes", sets.to_zset().group_by(key=len).agg(n=flo.count()))
    return flow


def lattices() -> flo.Flow:
    """Every shard has a part of an LVar; what reads it sees the join."""
    flow = flo.Flow("lattices")
    numbers, ended = flow.input("numbers", flo.Bag[int]), flow.input("ended", flo.Set[int], bounded=True)
    seen = numbers.fold_lattice(flo.SetUnion(int), apart)
    flow.output("seen", seen)
    flow.output("alarm", seen.map_monotone(len, flo.Max(int)).threshold(3))
    flow.output("above", numbers.fold_lattice(flo.Max(int)).above(8))
    flow.output("sum", numbers.sum_lattice())
    flow.output("largest", ended.fold_lattice(flo.Max(int)).to_sequence())
    return flow


def nested() -> flo.Flow:
    flow = flo.Flow("nested")
    numbers, others = flow.input("numbers", flo.Sequence[int]), flow.input("others", flo.ZSet[int])
    batches = numbers.batch(2)
    flow.output("batches", batches)
    flow.output("in order", batches.flatten())
    flow.output("changes", batches.nest(lambda batch: batch.to_zset()).integrate())
    flow.output("with others", batches.nest(lambda batch: batch.to_zset()).flatten().union(others))
    return flow


def keyed() -> flo.Flow:
    """Keys that have no rows, at several levels."""
    flow = flo.Flow("keyed")
    numbers, pairs = flow.input("numbers", flo.Sequence[int]), flow.input("pairs", flo.ZSet[tuple[int, int]])
    by_third = numbers.key_by(thirds)
    flow.output("large", by_third.per_key(lambda stream: stream.filter(lambda n: n > 4)))
    flow.output("running", numbers.scan(0, add).key_by(thirds).per_key(lambda stream: stream.scan(0, add)))
    flow.output("batches", by_third.per_key(lambda stream: stream.batch(2).nest(lambda batch: batch.sum())))
    changed = pairs.key_by(first).per_key(lambda stream: stream.map(second).distinct())
    flow.output(
        "joined", changed.join(pairs.group_by(key=second).agg(sum=flo.sum(first)).map(("key", "sum")).key_by(first))
    )
    return flow


def constants() -> flo.Flow:
    flow = flo.Flow("constants")
    numbers, some = flow.input("numbers", flo.ZSet[int]), flow.constant(flo.ZSet[int], {1: 1, 2: 2})
    nothing = flow.constant(flo.ZSet[int], {})
    flow.output("some", some)
    flow.output("all", numbers.union(some).union(nothing))
    flow.output("none", nothing.to_bag().count())
    flow.output("sets", flow.constant(flo.Bag[frozenset[int]], [frozenset({1})]).map(listed))
    flow.output("order", flow.constant(flo.Sequence[int], [3, 1, 2]).union(flow.constant(flo.Sequence[int], [9])))
    return flow


def unannotated() -> flo.Flow:
    flow = flo.Flow("unannotated")
    numbers = flow.input("numbers", flo.ZSet[int])
    flow.output("doubled", numbers.map(lambda number: number * 2))
    flow.output("halves", numbers.group_by(key=lambda number: number % 3).agg(sum=flo.sum(lambda number: number / 2)))
    flow.output("texts", numbers.map(lambda number: (f"<{number}>", None if number > 2 else number)))
    return flow


def test_outputs_have_columns_whether_or_not_functions_are_annotated():
    program = OnSpark(unannotated(), NO_SPARK)
    assert all(isinstance(output.collection, Columns) for output in program._output_types.values())
    flow = flo.Flow("mixed")
    flow.output("mixed", flow.input("numbers", flo.ZSet[int]).map(lambda number: number if number else "none"))
    with pytest.raises(flo.TypeMismatch, match="the output `mixed` cannot be a table"):
        OnSpark(flow, NO_SPARK)


LARGE = {Sale("a", 2**62): 3, Sale("a", -(2**62)): 3, Sale("a", 7): 1, Sale("b", 7): 1, Sale("c", 2**63 - 1): 2}


def large_sums() -> flo.Flow:
    flow = flo.Flow("large sums")
    sales = flow.input("sales", flo.ZSet[Sale])
    sums = sales.group_by("shop").agg(sum=flo.sum("price"))
    flow.output("sums", sums)
    flow.output("all", sales.agg(all=flo.sum("price")))
    flow.output("means", sales.group_by("shop").agg(avg=flo.avg("price")))
    flow.output("counts", sales.group_by("shop").agg(n=flo.count()))
    flow.output("sums of sums", sums.agg(all=flo.sum("sum")))
    flow.output("sums that are prices", sums.join(sales, lambda row: row.sum, lambda sale: sale.price))
    flow.output("prices and sums", sales.map("price").union(sums.map("sum")).distinct())
    flow.output("best", sums.top(2, "sum"))
    return flow


def floats() -> flo.Flow:
    flow = flo.Flow("floats")
    numbers = flow.input("numbers", flo.Sequence[float])
    flow.output("batches", numbers.batch(5).nest(lambda batch: batch.sum()))
    flow.output("by key", numbers.key_by(lambda x: x > 0).per_key(lambda s: s.batch(2).nest(lambda b: b.sum())))
    return flow


CORNERS = [
    (in_one_place_beside_spread, {"bag": NUMBERS, "some": {5: 1, 1: 2, 7: 3}}),
    (read_more_than_once, {"numbers": WEIGHTED}),
    (without_columns, {"numbers": NUMBERS}),
    (lattices, {"numbers": NUMBERS, "ended": {1, 8, 3}}),
    (nested, {"numbers": NUMBERS, "others": WEIGHTED}),
    (keyed, {"numbers": NUMBERS, "pairs": {(1, 2): 1, (2, 2): 1, (1, 3): 2, (3, 1): 1, (2, 1): -1}}),
    (constants, {"numbers": WEIGHTED}),
    (unannotated, {"numbers": WEIGHTED}),
    (batches, {"numbers": [1, 2, 3, 4, 5]}),
    (ends, {"some": [1, 2, 3, 3], "more": [1, 2, 2]}),
    (sums, {"sales": SALES}),
    (joined_with_a_table, {"sales": SALES, "shops": {Sale("a", 7): 1, Sale("b", 1): 3}}),
    (with_a_constant, {"sales": SALES}),
    (two_outputs, {"sales": SALES}),
    (large_sums, {"sales": LARGE}),
    (floats, {"numbers": [1e308, 1e308, -1e308, -1e308, 1.0, 0.1, 0.2, 2.0**53, 1.0, 1.0]}),
]


@pytest.mark.every(test=2)
@pytest.mark.parametrize(("program", "data"), CORNERS)
def test_corners(tmp_path, program, data):
    """Values and ends, in this process."""
    for parts, shards in ((2, 1), (3, 2), (1, 7)):
        agree_simulated(program(), data, tmp_path / str(shards), parts=parts, shards=shards, seed=shards)


@pytest.mark.parametrize(("place", "parts", "shards"), [(0, 2, 2), pytest.param(1, 2, 7, marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_corners_on_spark(spark, tmp_path, place, parts, shards):
    """One half of them, side by side in one query."""
    case = together({program.__name__: Case(program, data) for program, data in CORNERS[place::2]})
    query = agree(spark, case.build(), case.data, tmp_path, shards=shards, parts=parts, seed=shards)
    if place == 0:
        found = query.view("large_sums sums")
        assert found.value() == {("a", 7): 1, ("b", 7): 1, ("c", 2**64 - 2): 1}, "64 bits are not enough on the way"
        with pytest.raises(flo.FloError, match="does not fit into 64 bits"):
            found.arrow()
        assert query.view("batches running").value() == [1, 3, 6, 10, 15]
        assert query.view("batches sums").value() == [[3], [7]]
    else:
        assert query.view("floats batches").value()[0] == [1.0], "rounded once"

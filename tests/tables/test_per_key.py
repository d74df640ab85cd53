"""`per_key` on tables: the body for all keys at once gives what a body for each key gives."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import narwhals as nw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.graph import nodes, setinput
from flo.core.semantics import attempt
from flo.core.stream_type import StreamType
from flo.core.typing import initial
from flo.tables.plan import VALUES, plan
from tests.quick import tried
from tests.tables.harness import agree, on_tables

pytestmark = pytest.mark.every(check=5)


class Sale(NamedTuple):
    shop: str | None
    item: int
    price: float


sales = st.builds(
    Sale, st.sampled_from(["a", "b", "c", None]), st.integers(0, 2), st.sampled_from([0.1, 0.5, -0.0, 1e16, -1e16])
)


def col(given, element=Sale):
    return Expression(given, (Layout.of(element),))


SHOP, ITEM_AND_SHOP = col("shop"), col(("item", "shop"))


def item(sale: Sale) -> int:
    return sale.item


def price(sale: Sale) -> float:
    return sale.price


def shop(sale: Sale) -> str | None:
    return sale.shop


def dear(sale: Sale) -> bool:
    return sale.price > 0.2


def prices(sale: Sale) -> list[float]:
    return [sale.price] * sale.item


def plus(acc: int, sale: Sale) -> int:
    return acc * 2 + sale.item


def joined(acc: str, number: int) -> str:
    return acc + str(number)


SEQUENCES = {
    "nothing": lambda s: s,
    "map": lambda s: s.map(price),
    "map column": lambda s: s.map(col(("price", "item"))),
    "filter": lambda s: s.filter(dear),
    "filter column": lambda s: s.filter(col(nw.col("price") > 0.2)),
    "flat_map": lambda s: s.flat_map(prices),
    "scan": lambda s: s.filter(dear).scan(0, plus),
    "scan of text": lambda s: s.map(item).scan("", joined),
    "enumerate": lambda s: s.enumerate(),
    "take": lambda s: s.take(2),
    "take nothing": lambda s: s.filter(dear).take(0).map(item),
    "takes": lambda s: s.take(3).filter(dear).take(1),
    "distinct": lambda s: s.distinct(),
    "bag": lambda s: s.to_bag(),
    "set": lambda s: s.map(item).to_set(),
    "z-set": lambda s: s.to_zset(),
    "sum_by": lambda s: s.to_zset().group_by(key=col("item")).agg(sum=flo.sum(col("price"))),
    "count_by": lambda s: s.to_zset().group_by(key=item).agg(n=flo.count()),
    "least": lambda s: s.to_zset().group_by(item).agg(least=flo.min(price)),
    "top": lambda s: s.to_zset().top(2, price, by=col("item")),
    "distinct z-set": lambda s: s.to_zset().map(item).distinct(),
    "self join": lambda s: s.to_bag().join(s.filter(dear).to_bag(), col("item"), item),
    "intersection": lambda s: s.map(item).to_set().intersection(s.filter(dear).map(item).to_set()),
    "left join": lambda s: s.to_zset().join(s.filter(dear).to_zset(), item, item, how="left"),
    "right join": lambda s: s.filter(dear).to_zset().join(s.to_zset(), item, item, how="right"),
    "full join": lambda s: s.filter(dear).to_zset().join(s.to_zset(), col("item"), item, how="full"),
    "semi join": lambda s: s.to_zset().join(s.filter(dear).to_zset(), item, item, how="semi"),
    "anti join": lambda s: s.to_zset().join(s.filter(dear).to_zset(), item, item, how="anti"),
    "different prices": lambda s: s.to_zset().group_by(key=item).agg(n=flo.count_distinct(price)),
    "lattice": lambda s: s.map(item).fold_lattice(flo.Max),
    "union of what ends": lambda s: s.take(1).to_bag().union(s.take(2).to_bag()),
    "two outputs": lambda s: (s.map(item), s.take(1)),
}
ENDING = {
    "count": lambda s: s.filter(dear).count(),
    "sum": lambda s: s.map(item).sum(),
    "sum of floats": lambda s: s.map(price).sum(),
    "fold": lambda s: s.fold(7, plus),
    "last": lambda s: s.filter(dear).last(),
    "count of a set": lambda s: s.map(item).to_set().count(),
    "sum of a bag": lambda s: s.to_bag().map(item).sum(),
    "count of the first": lambda s: s.take(2).count(),
    "result of results": lambda s: s.take(2).fold(0, plus).map(text),
    "last of the first": lambda s: s.take(2).last(),
    "sort": lambda s: s.sort(price),
    "sort of a bag": lambda s: s.to_bag().sort(col("item")),
    "sort of the first": lambda s: s.take(3).sort(col("item")).take(2),
    "bag of a z-set": lambda s: s.to_zset().to_bag(),
    "set of a z-set": lambda s: s.take(2).to_zset().map(item).to_set(),
    "lattice of the first": lambda s: s.take(2).map(item).fold_lattice(flo.Max),
}


def text(number: int) -> str:
    return str(number)


ZSETS = {
    "map": lambda z: z.map(item),
    "filter": lambda z: z.filter(dear),
    "distinct": lambda z: z.map(item).distinct(),
    "negate": lambda z: z.negate(),
    "plus": lambda z: z.union(z.filter(dear)),
    "sum_by": lambda z: z.group_by(key=col("item")).agg(sum=flo.sum(item)),
    "average": lambda z: z.group_by(key=item).agg(avg=flo.avg(price)),
    "max": lambda z: z.group_by(item).agg(max=flo.max("price")),
    "top": lambda z: z.top(1, item),
    "minus": lambda z: z.minus(z.filter(dear)),
    "join": lambda z: z.join(z.filter(dear), item, item),
    "join by elements": lambda z: z.join(z.filter(dear)),
    "left join": lambda z: z.join(z.filter(dear), item, item, how="left"),
    "right join": lambda z: z.filter(dear).join(z, item, item, how="right"),
    "full join": lambda z: z.filter(dear).join(z, item, item, how="full"),
    "anti join": lambda z: z.join(z.filter(dear), item, item, how="anti"),
    "count_distinct": lambda z: z.group_by(item).agg(n=flo.count_distinct(price)),
}


@cache
def program(body, kind, bounded=False, key=shop):
    flow = flo.Flow("keyed")
    rows = flow.input("sales", kind[Sale], bounded=bounded)
    found = rows.key_by(key).per_key(body)
    for place, stream in enumerate(found if isinstance(found, tuple) else (found,)):
        flow.output(f"out {place}", stream)
    return flow.graph(), (StreamType(kind(Sale), bounded),)


@cache
def of_forms(*how):
    """The same, in which every operator has a form."""
    graph, types = program(*how)
    assert on_values(graph, types) == []
    return graph, types


def on_values(graph, types):
    """The operators that have no form."""
    return [each.operator.name for each in plan(nodes(on_tables(graph, types)[0])) if each.how == VALUES]


@st.composite
def pieces(draw, weighted=False):
    def data():
        rows = draw(st.lists(sales, max_size=6))
        return {row: draw(st.sampled_from([-1, 1, 2])) for row in rows} if weighted else rows

    return [(data() if draw(st.booleans()) else None,) for _ in range(draw(st.integers(1, 3)))]


@pytest.mark.every(test=2)
@pytest.mark.parametrize("body", SEQUENCES)
@tried(5)
@given(chunks=pieces(), bounded=st.booleans())
def test_bodies_on_sequences(body, chunks, bounded):
    graph, types = of_forms(SEQUENCES[body], flo.Sequence, bounded, SHOP if bounded else shop)
    agree(graph, types, chunks, seeds=2)


@pytest.mark.parametrize("body", ENDING)
@tried(5)
@given(chunks=pieces())
def test_bodies_that_wait_for_the_end(body, chunks):
    graph, types = of_forms(ENDING[body], flo.Sequence, True, ITEM_AND_SHOP)
    agree(graph, types, chunks, seeds=2)


def test_what_is_complete_and_what_the_end_completes_meet_where_keys_are_never_null():
    graph, types = program(lambda s: s.batch(2).nest(lambda b: b.count()).flatten(), flo.Sequence, True, col("item"))
    agree(graph, types, [([Sale("a", number % 3, 1.0)],) for number in range(8)], seeds=5)


@pytest.mark.parametrize("body", ZSETS)
@tried(5)
@given(chunks=pieces(weighted=True), bounded=st.booleans())
def test_bodies_on_z_sets(body, chunks, bounded):
    graph, types = of_forms(ZSETS[body], flo.ZSet, bounded)
    agree(graph, types, chunks, seeds=2)


@pytest.mark.parametrize("kind", [flo.Bag, flo.Set])
@pytest.mark.parametrize("body", [lambda s: s.count(), lambda s: s.map(item).sum(), lambda s: s.map(item)])
@tried(6)
@given(chunks=pieces())
def test_bodies_on_bags_and_sets(kind, body, chunks):
    graph, types = of_forms(body, kind, True)
    agree(graph, types, [(None if data is None else (kind is flo.Set and set(data)) or data,) for (data,) in chunks])


def keyed_inputs(body, count, bounded):
    flow = flo.Flow("keyed")
    streams = [flow.input(f"in {place}", flo.Keyed[str, flo.Sequence[int]], bounded=bounded) for place in range(count)]
    found = streams[0].per_key(body, *streams[1:])
    for place, stream in enumerate(found if isinstance(found, tuple) else (found,)):
        flow.output(f"out {place}", stream)
    return flow.graph(), tuple(stream.type for stream in streams)


keyed_data = st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 2), max_size=3), max_size=3)


@pytest.mark.parametrize(
    "body",
    [
        lambda s: s.count(),
        lambda s: s.scan("", joined),
        lambda s: (s.last(), s.take(1)),
    ],
)
@tried(10)
@given(st.lists(st.tuples(keyed_data), max_size=3))
def test_keys_without_elements_are_there(body, chunks):
    graph, types = keyed_inputs(body, 1, bounded=True)
    assert on_values(graph, types) == []
    agree(graph, types, chunks)


@pytest.mark.parametrize("bounded", [False, True])
@tried(5)
@given(st.lists(st.tuples(keyed_data, st.none() | keyed_data), max_size=2))
def test_a_key_of_one_input_is_a_key_of_all(bounded, chunks):
    def body(one, other):
        both = one.to_bag().union(other.to_bag())
        return (both, one.count()) if bounded else (both, other.enumerate())

    graph, types = keyed_inputs(body, 2, bounded)
    assert on_values(graph, types) == []
    agree(graph, types, chunks, seeds=1)


def test_the_end_of_one_input_is_heard_before_that_of_the_other():
    flow = flo.Flow("ends")
    one = flow.input("one", flo.Keyed[str, flo.Sequence[int]], bounded=True)
    other = flow.input("other", flo.Keyed[str, flo.Sequence[int]], bounded=True)
    counts, copies = one.per_key(lambda a, b: (a.count(), b), other)
    flow.output("counts", counts)
    flow.output("copies", copies)
    for loop in (flow.loop(), flow.on(flo.here).loop()):
        loop.push(one={"a": [1, 2]}, other={"b": [3]})
        loop.end("one")
        loop.run()
        assert loop.pull("counts") == {"a": [2], "b": [0]}
        loop.push(other={"c": [4]})
        loop.run()
        assert loop.pull("counts") == {"c": [0]}
        assert not loop.result().fixed("counts")
        loop.end("other")
        loop.run()
        assert loop.result().fixed("counts")
        assert loop.pull("copies") == {"a": [], "b": [3], "c": [4]}


def counting():
    flow = flo.Flow("counts")
    sales = flow.input("sales", flo.Sequence[Sale])
    counts = flow.input("more", flo.Keyed[str, flo.Sequence[int]], bounded=True)
    totals = counts.per_key(lambda s: s.sum())
    flow.output("running", sales.key_by(shop).per_key(lambda s: s.scan(0, plus)))
    flow.output("totals", totals)
    flow.output("entries", totals.entries())
    return flow


ROWS = [Sale("a", 1, 0.5), Sale("b", 2, 0.5), Sale("a", 0, 0.1)]


def test_results_are_plain_as_from_run():
    data = {"sales": ROWS, "more": {"a": [1, 2], "b": []}}
    expected, found = counting().run(**data), counting().on(flo.here).run(**data)
    assert found["running"] == expected["running"] == {"a": [1, 2], "b": [2]}
    assert found["totals"] == expected["totals"] == {"a": [3], "b": [0]}
    assert sorted(map(str, found["entries"].to_pylist())) == [
        "{'0': 'a', '1': 3, '_weight': 1}",
        "{'0': 'b', '1': 0, '_weight': 1}",
    ]
    assert "0 on values" in counting().on(flo.here).explain()


def test_a_program_goes_on_from_a_checkpoint(tmp_path):
    loop = counting().on(flo.here).loop()
    loop.push(sales=ROWS, more={"a": [1]})
    loop.checkpoint(tmp_path)
    again = counting().on(flo.here).loop()
    again.restore(tmp_path)
    for each in (loop, again):
        each.push(sales=ROWS, more={"c": []})
        each.end("more")
        each.run()
    assert again.state[0] == loop.state[0] > 0
    for name in ("running", "totals"):
        assert again.result()[name] == loop.result()[name] != {}


def test_a_fault_says_the_same_as_on_values():
    def share(sale: Sale) -> float:
        return 1 / sale.item

    rows = [Sale("b", 1, 0.1), Sale("a", 2, 0.1), Sale("a", 0, 0.1), Sale("a", 1, 0.1), Sale("b", 2, 0.1)]
    for kind in (flo.Sequence, flo.Bag):
        graph, types = program(lambda s: s.map(share), kind)
        said = [
            str(attempt(setinput(start, (kind(Sale).value(rows),)))[2])
            for start, _ in (initial(graph, types), on_tables(graph, types))
        ]
        assert "`map` raised ZeroDivisionError" in said[0]
        assert said[0] == said[1]


MIXED = {
    "zip": (lambda s: s.filter(dear).zip(s.map(item)).take(2), {"zip"}),
    "sum": (lambda s: s.map(item).sum_lattice().threshold(3), {"sum_lattice"}),
    "threshold": (lambda s: s.map(item).fold_lattice(flo.Max).threshold(2), set()),
    "keys of keys": (
        lambda s: s.filter(dear).key_by(item).per_key(lambda t: t.enumerate()),
        {"key_by", "per_key", "enumerate"},
    ),
}


@pytest.mark.parametrize("body", MIXED)
@tried(8)
@given(chunks=pieces(), bounded=st.booleans())
def test_an_operator_without_a_form_leaves_the_others_on_tables(body, chunks, bounded):
    make, without = MIXED[body]
    graph, types = program(make, flo.Sequence, bounded)
    assert set(on_values(graph, types)) - {"per_key"} == without - {"per_key"}
    agree(graph, types, chunks, seeds=2)


@tried(8)
@given(chunks=pieces(), early=st.booleans())
def test_pairs_of_streams_that_end(chunks, early):
    def body(s):
        one = s.take(2) if early else s.filter(dear)
        numbers = one.map(item)
        return numbers.union(s.map(item)), s.map(item).to_set().difference(numbers.to_set())

    graph, types = program(body, flo.Sequence, bounded=True)
    agree(graph, types, chunks, seeds=2)


def test_a_body_without_any_form_stays_as_it_is():
    graph, types = program(lambda s: s.zip(s), flo.Sequence)
    assert on_values(graph, types) == ["per_key", "zip"]
    agree(graph, types, [([Sale("a", 1, 0.5)] * 3,)])

"""Bodies of `nest` on all inner streams at once: every operator gives what it gives for one stream after the other."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.errors import FloError
from flo.core.graph import Node, Parallel, Sequential
from flo.core.stream_type import StreamType
from flo.core.structural import Wire
from flo.core.typing import derive
from flo.tables.operators.nest import NestTables
from flo.tables.whole import find_run
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables

pytestmark = pytest.mark.every(check=3)


class Event(NamedTuple):
    user: str | None
    price: int
    share: float


def col(given):
    layout = Layout.of(Event)
    assert layout is not None
    return Expression(given, (layout,))


def user(event: Event) -> str | None:
    return event.user


def price(event: Event) -> int:
    return event.price


def cheap(event: Event) -> bool:
    return event.price < 2


def twice(event: Event) -> list[int]:
    return [event.price] * event.price


def added(total: int, event: Event) -> int:
    return total + event.price


def weighed(event: Event, weight: int) -> int:
    return weight * (event.price - 1)


def both(left: Event, right: Event) -> int:
    return left.price * 10 + right.price


def left(w):
    """A z-set in which rows are taken back, some of them more often than they came."""
    zset = w.to_zset()
    return zset.minus(right(w).map_weights(weighed)).union(zset.negate().map_weights(weighed))


def right(w):
    return w.filter(cheap).to_zset()


BODIES = {
    "map and filter": lambda w: w.filter(cheap).map(price),
    "map of a set": lambda w: w.to_set().map(price).count(),
    "flat_map": lambda w: w.flat_map(twice),
    "flat_map of a bag": lambda w: w.to_bag().flat_map(twice).sum(),
    "enumerate": lambda w: w.enumerate(),
    "take": lambda w: w.take(2),
    "take nothing": lambda w: w.take(0),
    "last": lambda w: w.last(),
    "sort": lambda w: w.sort(price),
    "sort by floats": lambda w: w.sort(col("share")),
    "sort of a bag": lambda w: w.to_bag().sort(price),
    "sort of a set": lambda w: w.to_set().sort(price),
    "distinct": lambda w: w.distinct(),
    "to_set": lambda w: w.to_set(),
    "count of a set": lambda w: w.to_set().count(),
    "to_bag of a set": lambda w: w.to_set().to_bag().count(),
    "to_zset of a set": lambda w: w.to_set().to_zset(),
    "union of bags": lambda w: w.to_bag().union(w.filter(cheap).to_bag()),
    "union of sets": lambda w: w.to_set().union(w.filter(cheap).to_set()).count(),
    "z-sets": left,
    "distinct z-set": lambda w: left(w).distinct(),
    "intersection": lambda w: w.to_set().intersection(w.filter(cheap).to_set()),
    "difference": lambda w: w.to_set().difference(w.filter(cheap).to_set()),
    "join": lambda w: left(w).join(right(w), user, user, both),
    "join by columns": lambda w: left(w).join(right(w), col(("user", "price")), col(("user", "price"))),
    "join of whole rows": lambda w: left(w).join(right(w)),
    "join of bags": lambda w: w.to_bag().join(w.filter(cheap).to_bag(), user, user),
    "join of sets": lambda w: w.to_set().join(w.filter(cheap).to_set(), user, user),
    "left_join": lambda w: left(w).join(right(w), user, user, how="left"),
    "right_join": lambda w: right(w).join(left(w), user, col("user"), how="right"),
    "full_join": lambda w: right(w).join(left(w), col("user"), col("user"), how="full"),
    "semi_join": lambda w: left(w).join(right(w), user, user, how="semi"),
    "anti_join": lambda w: left(w).join(right(w), col("user"), col("user"), how="anti"),
    "count_by": lambda w: left(w).group_by(key=user).agg(n=flo.count()),
    "sum_by": lambda w: left(w).group_by(key=col("user")).agg(sum=flo.sum(col("price"))),
    "avg_by": lambda w: left(w).group_by(key=user).agg(avg=flo.avg(col("share"))),
    "min_by": lambda w: left(w).group_by(key=user).agg(min=flo.min(price)),
    "max_by": lambda w: left(w).group_by(user).agg(max=flo.max("share")),
    "top_k": lambda w: left(w).top(1, price),
    "top_k by": lambda w: left(w).top(2, price, by=user),
    "count distinct": lambda w: left(w).group_by(key=user).agg(n=flo.count_distinct(price)),
    "zip": lambda w: w.zip(w.filter(cheap)),
    "union of sequences": lambda w: w.filter(cheap).union(w),
    "to_bag of a z-set": lambda w: w.to_zset().to_bag(),
    "to_set of a z-set": lambda w: w.to_zset().to_set(),
    "fold": lambda w: w.fold(0, added),
    "fold of a bag": lambda w: w.to_bag().fold(0, added, commutative="a sum"),
    "scan": lambda w: w.scan(0, added),
}
"""Those that have a form on whole streams."""

PYTHON = {
    "merge": lambda w: w.sort(price).merge(w.filter(cheap).sort(price), price),
}
"""Those that run on values between passes over tables."""

events = st.lists(
    st.builds(Event, st.sampled_from(["a", "b", None]), st.integers(0, 3), st.sampled_from([0.0, -0.0, 0.5, -1.5])),
    max_size=9,
)
ALL = BODIES | PYTHON


@cache
def batched(body):
    flow = flo.Flow("batches")
    batches = flow.input("events", flo.Sequence[Event], bounded=True).batch(3)
    flow.output("results", batches.nest(body))
    return flow.graph(), tuple(stream.type for stream in flow._scope.inputs)


@pytest.mark.parametrize("name", ALL)
@given(st.lists(st.tuples(events), max_size=3))
@tried(6)
def test_bodies(name, chunks):
    agree(*batched(ALL[name]), chunks, seeds=1)


def runs(graph, types):
    """Whether each operator of a body runs on all streams at once."""
    match graph:
        case Sequential(left, right):
            return runs(left, types) + runs(right, derive(left, types).outputs)
        case Parallel(left, right):
            count = left.arity[0]
            return runs(left, types[:count]) + runs(right, types[count:])
        case Node(_, operator):
            return [] if isinstance(operator, Wire) else [find_run(operator, types) is not None]


@pytest.mark.parametrize("name", ALL)
def test_which_run_at_once(name):
    (nest,) = [form for form in forms(on_tables(*batched(ALL[name]))[0]) if isinstance(form, NestTables)]
    found = runs(nest.like.graph, (StreamType(flo.Sequence(Event), bounded=True),))
    assert all(found) == (name in BODIES)


def inverse(event: Event) -> float:
    return 1 / event.price


def test_a_function_that_raises_in_a_body():
    flow = flo.Flow("batches")
    flow.output("results", flow.input("events", flo.Sequence[Event]).batch(2).nest(lambda b: b.map(inverse)).flatten())
    good, bad = Event("a", 2, 0.0), Event("b", 0, 0.0)
    data = [good] * 6 + [bad] + [good] * 3
    loop = flow.on(flo.here).loop()
    with pytest.raises(FloError) as found:
        loop.push(events=data)
    assert "the function of `map` raised ZeroDivisionError" in str(found.value)
    assert "Event(user='b', price=0, share=0.0)" in str(found.value)
    assert loop.pull("results").num_rows == 0
    loop.push(events=[good] * 4)
    assert loop.pull("results").num_rows == 4


def test_windows_side_by_side_are_joined():
    def joined(one, other):
        return one.to_zset().join(other.to_zset(), price, price, both)

    flow = flo.Flow("windows")
    one, other = (flow.input(name, flo.Sequence[Event], bounded=True).batch(2) for name in ("one", "other"))
    flow.output("results", one.zip(other).nest(joined))
    types = tuple(stream.type for stream in flow._scope.inputs)
    graph, _ = on_tables(flow.graph(), types)
    assert {"zip_streams", "nest_tables"} <= {form.name for form in forms(graph)}
    rows = [Event("a", n % 3, 0.0) for n in range(7)]
    chunks = [(rows[:3], None), (None, rows[:4]), (rows[3:], rows[1:]), (None, rows)]
    agree(flow.graph(), types, chunks)

"""Types of two streams: keys that can be equal, elements that can be put together, keys and their directions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import (
    Annotated,
    Any,
    Literal,
)

import pyarrow as pa
import pytest

import flo
from tests.api.test_types import (
    Animal,
    Bid,
    Box,
    Cat,
    Celsius,
    Color,
    Dog,
    Level,
    OnlyAuction,
    OrderId,
    Point,
    RowDict,
    T,
    UserId,
)
from tests.api.test_verbs import stream

EQUAL: list[tuple[Any, Any]] = [
    (int, int), (int, float), (int, bool), (int, Decimal), (Fraction, float), (int, int | None),
    (int | None, str | None), (Any, str), (int, T), (UserId, OrderId), (UserId, int), (Bid, tuple[int, str]),
    (Bid, tuple[float, str]),
    (tuple[int, ...], tuple[int, int]), (Literal["a", "b"], str), (Level, int), (Animal, int), (Cat, Dog),
    (object, str), (Celsius, float), (frozenset[int], frozenset[str]), (Hashable, int),
]  # fmt: skip
NEVER_EQUAL: list[tuple[Any, Any]] = [
    (int, str), (str, bytes), (int, None), (int | float, str | bytes), (UserId, str), (Bid, int),
    (Bid, tuple[int, int]), (tuple[int, str], tuple[str, int]), (tuple[int, int], tuple[int, int, int]),
    (Literal["a"], int), (Color, str), (Literal["a"], Literal["b"]), (Level, str),
    (tuple[int, ...], str), (Annotated[int, pa.int32()], str),
]  # fmt: skip


def giving(kind: Any) -> Callable[..., Any]:
    def key(row: Any) -> Any:
        return row

    key.__annotations__ = {"return": kind}
    return key


JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.join(t, giving(a), giving(b))),
    "join of bags": lambda a, b: joinable(flo.Bag, lambda s, t: s.join(t, giving(a), giving(b))),
    "join of sets": lambda a, b: joinable(flo.Set, lambda s, t: s.join(t, giving(a), giving(b))),
    "semi_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.join(t, giving(a), giving(b), how="semi")),
    "anti_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.join(t, giving(a), giving(b), how="anti")),
    "left_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.join(t, giving(a), giving(b), how="left")),
    "right_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.join(t, giving(a), giving(b), how="right")),
    "full_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.join(t, giving(a), giving(b), how="full")),
    "join of elements": lambda a, b: pair(flo.ZSet(a), flo.ZSet(b), lambda s, t: s.join(t)),
    "join of nodes with edges": lambda a, b: pair(flo.Set(a), flo.Set(tuple[b, str]), lambda s, t: s.join(t)),
    "join keyed": lambda a, b: pair(flo.Keyed(a, flo.Bag(int)), flo.Keyed(b, flo.Bag(str)), lambda s, t: s.join(t)),
}


def pair(left: Any, right: Any, verb: Callable[[Any, Any], Any]) -> Any:
    flow = flo.Flow("two")
    return verb(flow.input("left", left, bounded=True), flow.input("right", right, bounded=True))


def joinable(collection: Any, verb: Callable[[Any, Any], Any]) -> Any:
    return pair(collection(Any), collection(Any), verb)


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize(("left", "right"), EQUAL, ids=str)
def test_keys_that_may_be_equal_are_joined(join: str, left: Any, right: Any) -> None:
    JOINS[join](left, right)
    JOINS[join](right, left)


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize(("left", "right"), NEVER_EQUAL, ids=str)
def test_keys_that_are_never_equal_are_refused(join: str, left: Any, right: Any) -> None:
    for one_side, other_side in ((left, right), (right, left)):
        with pytest.raises(flo.TypeMismatch, match="`join`"):
            JOINS[join](one_side, other_side)


def test_columns_are_keys_too() -> None:
    bids = stream(flo.ZSet(Bid))
    bids.join(bids, "auction", "auction")
    with pytest.raises(flo.TypeMismatch, match="never equal: `auction`, int, and `note`, str"):
        bids.join(bids, "auction", "note")


TOGETHER: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "union of z-sets": (flo.ZSet, lambda s, t: s.union(t)),
    "union of bags": (flo.Bag, lambda s, t: s.union(t)),
    "union of sets": (flo.Set, lambda s, t: s.union(t)),
    "union of sequences": (flo.Sequence, lambda s, t: s.union(t)),
    "minus": (flo.ZSet, lambda s, t: s.minus(t)),
    "intersection": (flo.Set, lambda s, t: s.intersection(t)),
    "difference": (flo.Set, lambda s, t: s.difference(t)),
    "merge": (flo.Sequence, lambda s, t: s.merge(t)),
}
RELATED: list[tuple[Any, Any]] = [
    (int, int), (int, bool), (int, float), (int, Decimal), (int, int | None), (int, int | str), (int, Any), (Cat, Dog),
    (Cat, Animal), (Bid, tuple[int, str]), (Literal["a"], Literal["b"]), (UserId, OrderId),
    (int | None, str | None), (int, object), (T, str),
    (str, "Bid"), (tuple[int, str], tuple[int | None, str]), (Box[int], Box[str]),
]  # fmt: skip
UNRELATED: list[tuple[Any, Any]] = [
    (int, str), (int, None), (str, bytes), (Cat, Point), (Bid, int), (Bid, tuple[str, str]), (Celsius, Animal),
    (tuple[int, str], tuple[int, int]), (int | float, str), (UserId, str), (Literal["a"], int),
    (frozenset[int], frozenset[str]),
]  # fmt: skip


OTHER_COLUMNS: list[tuple[Any, Any]] = [(RowDict, OnlyAuction), (flo.rows(pa.schema([("auction", pa.int64())])), Bid)]


@pytest.mark.parametrize("verb", ["union of z-sets", "union of bags", "union of sets", "minus"])
@pytest.mark.parametrize(("left", "right"), OTHER_COLUMNS, ids=["dicts", "tuples"])
def test_rows_with_other_columns_are_not(verb: str, left: Any, right: Any) -> None:
    collection, put = TOGETHER[verb]
    for one, other in ((left, right), (right, left)):
        with pytest.raises(flo.TypeMismatch, match="needs two streams with the same columns"):
            pair(collection(one), collection(other), put)


@pytest.mark.parametrize("verb", TOGETHER)
@pytest.mark.parametrize(("left", "right"), RELATED, ids=str)
def test_streams_of_related_types_are_put_together(verb: str, left: Any, right: Any) -> None:
    collection, call = TOGETHER[verb]
    pair(collection(left), collection(right), call)
    pair(collection(right), collection(left), call)


@pytest.mark.parametrize("verb", TOGETHER)
@pytest.mark.parametrize(("left", "right"), UNRELATED, ids=str)
def test_streams_of_types_with_nothing_in_common_are_refused(verb: str, left: Any, right: Any) -> None:
    collection, call = TOGETHER[verb]
    for one_side, other_side in ((left, right), (right, left)):
        with pytest.raises(flo.TypeMismatch, match="two streams with the same element type"):
            pair(collection(one_side), collection(other_side), call)


def test_a_zip_takes_any_two_types() -> None:
    pair(flo.Sequence(int), flo.Sequence(str), lambda s, t: s.zip(t))


def rated(bid: Bid) -> tuple[int, str]:
    return bid.auction, bid.note


def weights(flow: flo.Flow, on_tables: bool) -> dict[str, dict[Any, int]]:
    """The weights of the elements of each output, whatever runs the program."""
    if not on_tables:
        return dict(flow.run(bids=BIDS))
    found: dict[str, dict[Any, int]] = {}
    for name, table in flow.on(flo.here).run(bids=BIDS).items():
        if isinstance(table, dict):  # elements that have no columns
            found[name] = table
            continue
        rows = [tuple(map(plain, row.values())) for row in table.to_pylist()]
        found[name] = {row[0] if len(row) == 2 else row[:-1]: row[-1] for row in rows}
    return found


def plain(cell: Any) -> Any:
    return tuple(map(plain, cell.values())) if isinstance(cell, dict) else cell


BIDS = [Bid(1, "a"), Bid(1, "b"), Bid(2, "a"), Bid(2, "c")]


@pytest.mark.parametrize("on_tables", [False, True], ids=["values", "tables"])
@pytest.mark.parametrize("key", [("auction", "note"), rated, lambda bid: (bid.auction, bid.note)])
@pytest.mark.parametrize("descending", [(True, False), [True, False]])
def test_each_column_of_a_key_has_its_direction(on_tables: bool, key: Any, descending: Any) -> None:
    flow = flo.Flow("top")
    flow.output("top", flow.input("bids", flo.ZSet(Bid)).top(3, key, descending=descending))
    assert set(weights(flow, on_tables)["top"]) == {Bid(2, "a"), Bid(2, "c"), Bid(1, "a")}


@pytest.mark.parametrize("descending", [(True,), (True, False, True), (), "yes", None, 1, (1, 0), ("a", "b")])
def test_directions_that_do_not_fit_the_key_are_refused(descending: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match=r"must (be|have) .*(direction|descending|True)"):
        stream(flo.ZSet(Bid)).top(3, ("auction", "note"), descending=descending)
    with pytest.raises(flo.TypeMismatch, match=r"must (be|have) .*(direction|descending|True)"):
        stream(flo.ZSet(Bid)).top(3, rated, descending=descending)


def test_one_direction_in_a_tuple_is_that_of_the_only_column() -> None:
    flow = flo.Flow("top")
    flow.output("top", flow.input("bids", flo.ZSet(Bid)).top(1, "note", descending=(True,)))
    assert set(flow.run(bids=BIDS)["top"]) == {Bid(2, "c")}


def test_a_key_without_annotations_is_compared_with_the_directions_when_it_is_computed() -> None:
    flow = flo.Flow("top")
    flow.output("top", flow.input("bids", flo.ZSet(Bid)).top(1, lambda bid: bid.note, descending=(True, False)))
    with pytest.raises(flo.FloError, match="the key must have 2 columns"):
        flow.run(bids=BIDS)


@pytest.mark.parametrize("aggregate", [flo.sum, flo.avg])
def test_a_sum_is_of_one_column(aggregate: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match="it must get numbers; got str"):
        stream(flo.ZSet(Bid)).agg(total=aggregate("note"))
    with pytest.raises(flo.TypeMismatch, match="must get columns one by one"):
        stream(flo.ZSet(Bid)).agg(total=aggregate(("auction", "auction")))


@pytest.mark.parametrize("on_tables", [False, True], ids=["values", "tables"])
def test_a_column_may_be_named_twice_elsewhere(on_tables: bool) -> None:
    flow = flo.Flow("twice")
    bids = flow.input("bids", flo.ZSet(Bid))
    twice = ("auction", "auction")
    outputs = {
        "map": bids.map(twice),
        "count": bids.group_by(one="auction", two="auction").agg(n=flo.count()),
        "distinct": bids.group_by("note").agg(n=flo.count_distinct(*twice)),
        "join": bids.join(bids, twice, twice).agg(n=flo.count()).map("n"),
        "top": bids.top(1, twice),
        "aggregate": bids.group_by("note").agg(total=flo.linear(twice, lambda totals: totals[0] + totals[1])),
        "keyed": bids.key_by(twice).entries().agg(n=flo.count()).map("n"),
    }
    for name, output in outputs.items():
        flow.output(name, output)
    result = weights(flow, on_tables)
    assert result["map"] == {(1, 1): 2, (2, 2): 2}
    assert result["count"] == {(1, 1, 2): 1, (2, 2, 2): 1}
    assert result["distinct"] == {("a", 2): 1, ("b", 1): 1, ("c", 1): 1}
    assert result["join"] == {8: 1}
    assert set(result["top"]) == {Bid(2, "a")}
    assert result["aggregate"] == {("a", 6): 1, ("b", 2): 1, ("c", 4): 1}
    assert result["keyed"] == {4: 1}

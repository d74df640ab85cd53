"""Types are compared when the program is built: what functions take, the keys of joins, the elements of two streams."""

from __future__ import annotations

import enum
import functools
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    overload,
)

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from tests.api.test_verbs import LVAR, NUMBERS, ROWS, VERBS, stream

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]

T = TypeVar("T")
N = TypeVar("N", bound=numbers.Number)
UserId = NewType("UserId", int)
OrderId = NewType("OrderId", int)


class Bid(NamedTuple):
    auction: int
    note: str


class RowDict(TypedDict):
    auction: int
    note: str


class OnlyAuction(TypedDict):
    auction: int


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Animal:
    pass


class Cat(Animal):
    pass


class Dog(Animal):
    pass


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


@dataclass(frozen=True)
class Celsius:
    degrees: float


class HasLength(Protocol):
    def __len__(self) -> int: ...


class Box(Generic[T]):
    pass


class Doubling:
    def __call__(self, x: int) -> int:
        return 2 * x

    def double(self, x: int) -> int:
        return 2 * x

    @classmethod
    def doubled(cls, x: int) -> int:
        return 2 * x

    @staticmethod
    def twice(x: int) -> int:
        return 2 * x


class OfTexts:
    def __call__(self, x: str) -> str:
        return x

    def upper(self, x: str) -> str:
        return x.upper()


def one(kind: Any, *more: Any) -> Callable[..., Any]:
    """A function whose parameters have these types."""

    def f(x: Any, y: Any = 0) -> Any:
        return x

    f.__annotations__ = {"x": kind, **({"y": more[0]} if more else {})}
    return f


def parsing(f: Callable[[int], int]) -> Callable[[str], int]:
    @functools.wraps(f)
    def parsed(text: str) -> int:
        return f(int(text))

    return parsed


@parsing
def increased(x: int) -> int:
    return x + 1


@functools.cache
def cached(x: int) -> int:
    return x


@functools.cache
def cached_text(x: str) -> str:
    return x


@functools.singledispatch
def dispatched(x: str) -> str:
    return x


@overload
def either_way(x: int) -> int: ...
@overload
def either_way(x: str) -> str: ...
def either_way(x: int | str) -> int | str:
    return x


def unresolved(x: Unknown) -> int:
    return 1


def many(*xs: int) -> int:
    return len(xs)


def many_texts(*xs: str) -> int:
    return len(xs)


def with_default(x: int, y: str = "") -> int:
    return x


def none_by_default(x: int = None) -> int:  # type: ignore[assignment]  # noqa: RUF013
    return x


def generic(x: T) -> T:
    return x


def scaled(factor: str, x: int) -> int:
    return len(factor) * x


def of_keyword(x: int, *, unit: str = "") -> int:
    return x


ACCEPTED: list[tuple[Any, Any]] = [
    *((int, one(kind)) for kind in (int, float, complex, object, Any, int | None, Optional[int], Union[str, int])),  # noqa: UP007, UP045
    *((int, one(kind)) for kind in (numbers.Number, numbers.Integral, Hashable, T, N, HasLength, UserId)),
    *((int, one(kind)) for kind in (Annotated[int, "a count"], Annotated[float, 1], "int", "unknown", "int | str")),
    *((int, f) for f in (Doubling(), Doubling().double, Doubling.doubled, Doubling.twice, Point, Celsius)),
    *((int, f) for f in (str, int, float, bool, list, abs, hash, repr, range, int.bit_length, cached, either_way)),
    *((int, f) for f in (unresolved, many, with_default, none_by_default, generic, of_keyword, dispatched)),
    *((int, functools.partial(scaled, "cm")), (int, functools.partial(with_default, y="m"))),
    (bool, one(int)),
    (bool, one(Literal[True, False])),
    (bool, one(Union[Literal[True], Literal[False]])),  # noqa: UP007
    (int | None, one(int | None)),
    (int | None, one(Union[str, int, None])),  # noqa: UP007
    (int | None, none_by_default),
    (Literal["a"], one(Literal["a", "b"])),
    (Literal["a", "b"], one(str)),
    (Literal[1], one(float)),
    (Color, one(Literal[Color.RED, Color.BLUE])),
    (Level, one(float)),
    (UserId, one(int)),
    (UserId, one(UserId)),
    (Annotated[int, pa.int32()], one(int)),
    (str, one(AnySequence[str])),
    (str, one(Iterable[str])),
    (str, str.upper),
    (str, increased),
    (Cat, one(Animal)),
    (Bid, one(tuple[int, str])),
    (Bid, one(tuple[int | float, object])),
    (Bid, one(tuple)),
    (Bid, one(AnySequence[Any])),
    (tuple[int, str], one(tuple[int | str, ...])),
    (tuple[int, ...], one(tuple[int, int])),
    (tuple[bool, Cat], one(tuple[int, Animal])),
    (tuple[int, None], one(tuple[int, str | None])),
    (RowDict, one(RowDict)),
    (RowDict, one(OnlyAuction)),
    (RowDict, one(Mapping[str, Any])),
    (RowDict, one(dict[str, Any])),
    (dict[str, int], one(Mapping[str, float])),
    (list[bool], one(list[int])),
    (frozenset[int], one(Iterable[float])),
    (Box[int], one(Box[float])),
    (Box[float], one(Box[int])),
    (flo.rows(pa.schema([("auction", pa.int64())])), one(Bid)),
    (flo.rows(pa.schema([("auction", pa.int64())])), one(OnlyAuction)),
    (T, one(str)),
    ("Bid", one(str)),
]
REFUSED: list[tuple[Any, Any]] = [
    *((int, one(kind)) for kind in (str, bytes, bool, None, Decimal, tuple, list[int], Bid, Color, str | None, Animal)),
    *((int, one(kind)) for kind in (Literal[1, 2], "str", Annotated[str, 1], NewType("Name", str), Iterable[int])),
    *((int, f) for f in (OfTexts(), OfTexts().upper, str.upper, cached_text, many_texts, OfTexts.upper.__get__(1))),
    (int, functools.partial(scaled, x=1)),
    (float, one(int)),
    (float, Point),
    (str, Celsius),
    (int | None, one(int)),
    (int | str, one(int)),
    (Literal["a", 1], one(str)),
    (Literal["c"], one(Literal["a", "b"])),
    (Color, one(Literal[Color.RED])),
    (UserId, one(str)),
    (UserId, one(OrderId)),
    (Animal, one(Cat)),
    (Dog, one(Cat)),
    (Bid, one(tuple[int])),
    (Bid, one(tuple[int, int])),
    (tuple[int, str], one(Bid)),
    (tuple[int, str], one(tuple[str, int])),
    (tuple[int, str], one(tuple[int, ...])),
    (tuple[int, int], one(tuple[int, int, int])),
    (OnlyAuction, one(RowDict)),
    (list[int], one(list[str])),
    (dict[str, int], one(Mapping[int, int])),
    (flo.rows(pa.schema([("auction", pa.int64())])), one(int)),
]


@pytest.mark.parametrize(("kind", "f"), ACCEPTED)
def test_a_function_that_takes_the_elements_is_accepted(kind: Any, f: Any) -> None:
    stream(flo.Sequence(kind)).map(f)


@pytest.mark.parametrize(("kind", "f"), REFUSED)
def test_a_function_that_does_not_take_the_elements_is_refused(kind: Any, f: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match="`map` calls"):
        stream(flo.Sequence(kind)).map(f)


@pytest.mark.parametrize("name", [name for name in VERBS if name != "aggregate_by"])
def test_every_verb_compares_the_parameters_of_its_function(name: str) -> None:
    def of_texts(x: str, y: str = "") -> Any:
        return x

    def of_texts_last(x: Any, y: str) -> Any:
        return x

    collection, takes, verb = VERBS[name]
    for f in (of_texts, of_texts_last)[:takes]:
        with pytest.raises(flo.TypeMismatch) as caught:
            verb(stream(collection, bounded=True), f)
        assert f.__name__ in str(caught.value)
        assert "expected str" in str(caught.value)
        assert caught.value.where is not None


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_accepts_a_function_of_its_elements(name: str) -> None:
    def of_numbers(x: float | None, y: float | None = 0) -> int:
        return int(x or 0)

    collection, takes, verb = VERBS[name]
    if takes == 1 or name in ("fold", "scan", "join", "left_join into", "full_join into", "join keyed"):
        verb(stream(collection, bounded=True), of_numbers)


def test_what_makes_a_result_of_totals_takes_the_totals() -> None:
    def counted(x: int) -> tuple[int, int]:
        return x, 1

    stream(ROWS).aggregate_by(abs, counted, one(tuple[int, int]))
    stream(ROWS).aggregate_by(abs, abs, one(str))  # `abs` does not say what it gives
    with pytest.raises(flo.TypeMismatch, match=r"expected int as `x`, got tuple\[int, int\]"):
        stream(ROWS).aggregate_by(abs, counted, one(int))


def test_the_functions_of_a_body_are_compared() -> None:
    with pytest.raises(flo.TypeMismatch, match="expected str as `x`, got int"):
        stream(NUMBERS).batch(2).nest(lambda batch: batch.map(one(str)))
    with pytest.raises(flo.TypeMismatch, match="expected str as `x`, got int"):
        stream(NUMBERS).key_by(abs).per_key(lambda s: s.filter(one(str)))


def test_what_functions_return_is_what_the_next_one_takes() -> None:
    def halved(x: int) -> float:
        return x / 2

    with pytest.raises(flo.TypeMismatch, match="expected int as `x`, got float"):
        stream(NUMBERS).map(halved).map(one(int))
    with pytest.raises(flo.TypeMismatch, match="expected str as `x`, got float"):
        stream(NUMBERS).key_by(halved).filter_keys(one(str))


def test_a_function_behind_a_filter_may_take_less() -> None:
    gaps = stream(flo.Sequence(int | None))
    gaps.filter(lambda x: x is not None).map(one(int))
    gaps.filter(lambda x: x is not None).distinct().batch(2).nest(lambda batch: batch.map(one(int)))
    stream(flo.Sequence(Animal)).filter(lambda x: isinstance(x, Cat)).map(one(Cat))
    with pytest.raises(flo.TypeMismatch, match="expected str as `x`"):
        gaps.filter(lambda x: x is not None).map(one(str))


def test_whether_computed_columns_are_null_is_not_known() -> None:
    class Sale(NamedTuple):
        price: int | None

    stream(flo.ZSet(Sale)).map(nw.col("price").fill_null(0)).map(one(int))


def test_a_row_without_a_partner_is_none() -> None:
    rows = stream(ROWS)
    rows.join(rows, abs, abs, into=one(int, int))
    rows.left_join(rows, abs, abs, into=one(int, int | None))
    with pytest.raises(flo.TypeMismatch, match="or None: expected int as `y`"):
        rows.left_join(rows, abs, abs, into=one(int, int))
    with pytest.raises(flo.TypeMismatch, match="or None: expected int as `x`"):
        rows.full_join(rows, abs, abs, into=one(int, int | None))


def total(state: int, x: int) -> int:
    return state + x


def text(state: str, x: int) -> str:
    return state


def grown(state: int, x: int) -> str:
    return ""


def mean(state: float, x: int) -> float:
    return state + x


def longest(state: list[int] | None, x: int) -> list[int]:
    return []


@pytest.mark.parametrize(("initial", "f"), [(0, total), ("", text), (0, mean), (None, longest), ([], longest)])
@pytest.mark.parametrize("verb", ["fold", "scan"])
def test_a_state_of_the_right_type_is_accepted(verb: str, initial: Any, f: Any) -> None:
    getattr(stream(NUMBERS, bounded=True), verb)(initial, f)


@pytest.mark.parametrize(("initial", "f"), [("", total), (0, text), (None, total), (0, grown), (["a"], longest)])
@pytest.mark.parametrize("verb", ["fold", "scan"])
def test_a_state_of_another_type_is_refused(verb: str, initial: Any, f: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match=f"`{verb}`.*expected .* as `state`"):
        getattr(stream(NUMBERS, bounded=True), verb)(initial, f)


def test_lattices_take_values_of_their_type() -> None:
    def shown(x: int) -> str:
        return str(x)

    def joined(a: str, b: str) -> str:
        return max(a, b)

    numbers_, texts = stream(NUMBERS), stream(flo.Sequence(str))
    numbers_.fold_lattice(flo.Max(float))
    numbers_.fold_lattice(flo.Max(int), lambda x: x)
    numbers_.fold_lattice(flo.SetUnion(int), lambda x: {x})
    texts.fold_lattice(flo.Lattice.of("", joined))
    numbers_.fold_lattice(flo.Lattice.of("", joined), shown)
    for refused in (
        lambda: texts.fold_lattice(flo.Max(int)),
        lambda: numbers_.fold_lattice(flo.Max(int), shown),
        lambda: numbers_.fold_lattice(flo.Lattice.of("", joined)),
        lambda: stream(LVAR).map_monotone(one(str), flo.Max(int)),
    ):
        with pytest.raises(flo.TypeMismatch, match=r"expected (int|str)"):
            refused()
    with pytest.raises(flo.FloError):
        stream(LVAR).threshold("high")


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
    "semi_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.semi_join(t, giving(a), giving(b))),
    "anti_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.anti_join(t, giving(a), giving(b))),
    "left_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.left_join(t, giving(a), giving(b))),
    "full_join": lambda a, b: joinable(flo.ZSet, lambda s, t: s.full_join(t, giving(a), giving(b))),
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
        with pytest.raises(flo.TypeMismatch, match=r"`join`|`(semi|anti|left|full)_join`"):
            JOINS[join](one_side, other_side)


def test_columns_are_keys_too() -> None:
    bids = stream(flo.ZSet(Bid))
    bids.join(bids, "auction", "auction")
    with pytest.raises(flo.TypeMismatch, match="keys of type int never equal keys of type str"):
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
    (Cat, Animal), (Bid, tuple[int, str]), (RowDict, OnlyAuction), (Literal["a"], Literal["b"]), (UserId, OrderId),
    (int | None, str | None), (int, object), (T, str), (flo.rows(pa.schema([("auction", pa.int64())])), Bid),
    (str, "Bid"), (tuple[int, str], tuple[int | None, str]), (Box[int], Box[str]),
]  # fmt: skip
UNRELATED: list[tuple[Any, Any]] = [
    (int, str), (int, None), (str, bytes), (Cat, Point), (Bid, int), (Bid, tuple[str, str]), (Celsius, Animal),
    (tuple[int, str], tuple[int, int]), (int | float, str), (UserId, str), (Literal["a"], int),
    (frozenset[int], frozenset[str]),
]  # fmt: skip


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


@pytest.mark.parametrize("verb", ["sum_by", "avg_by"])
def test_a_sum_is_of_one_column(verb: str) -> None:
    bids = stream(flo.ZSet(Bid))
    with pytest.raises(flo.TypeMismatch, match="names 'auction' twice"):
        getattr(bids, verb)("note", ("auction", "auction"))
    with pytest.raises(flo.TypeMismatch, match=r"one number per row: .* got tuple\[int, str\]"):
        getattr(bids, verb)("note", ("auction", "note"))
    with pytest.raises(flo.TypeMismatch, match=r"one number per row: .* got str"):
        getattr(bids, verb)("auction", "note")


@pytest.mark.parametrize("verb", ["sum", "avg"])
def test_the_sum_of_all_is_of_one_column(verb: str) -> None:
    with pytest.raises(flo.TypeMismatch, match=r"one number per row: .* got Bid from the elements"):
        getattr(stream(flo.ZSet(Bid)), verb)()
    with pytest.raises(flo.TypeMismatch, match="names 'auction' twice"):
        getattr(stream(flo.ZSet(Bid)), verb)(("auction", "auction"))


@pytest.mark.parametrize("on_tables", [False, True], ids=["values", "tables"])
def test_a_column_may_be_named_twice_elsewhere(on_tables: bool) -> None:
    flow = flo.Flow("twice")
    bids = flow.input("bids", flo.ZSet(Bid))
    twice = ("auction", "auction")
    outputs = {
        "map": bids.map(twice),
        "count": bids.count_by(twice),
        "max": bids.max_by("note", twice),
        "distinct": bids.count_distinct_by("note", twice),
        "join": bids.join(bids, twice, twice).count(),
        "top": bids.top(1, twice),
        "aggregate": bids.aggregate_by("note", twice, lambda totals: totals),
        "keyed": bids.key_by(twice).entries().count(),
    }
    for name, output in outputs.items():
        flow.output(name, output)
    result = weights(flow, on_tables)
    assert result["map"] == {(1, 1): 2, (2, 2): 2}
    assert result["count"] == {((1, 1), 2): 1, ((2, 2), 2): 1}
    assert result["max"] == {("a", (2, 2)): 1, ("b", (1, 1)): 1, ("c", (2, 2)): 1}
    assert result["distinct"] == {("a", 2): 1, ("b", 1): 1, ("c", 1): 1}
    assert result["join"] == {8: 1}
    assert set(result["top"]) == {Bid(2, "a")}
    assert result["aggregate"] == {("a", (3, 3)): 1, ("b", (1, 1)): 1, ("c", (2, 2)): 1}
    assert result["keyed"] == {4: 1}

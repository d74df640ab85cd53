"""Types are compared when the program is built: what functions take, the keys of joins, the elements of two streams."""

from __future__ import annotations

import enum
import functools
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass
from decimal import Decimal
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


@pytest.mark.parametrize("name", VERBS)
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
    if takes == 1 or name in ("fold", "scan") or name.startswith("join"):
        verb(stream(collection, bounded=True), of_numbers)


def test_what_makes_a_result_of_totals_takes_the_totals() -> None:
    def counted(x: int) -> tuple[int, int]:
        return x, 1

    stream(ROWS).agg(total=flo.linear(counted, one(tuple[int, int])))
    with pytest.raises(flo.TypeMismatch, match=r"expected int as `x`, got tuple\[int, int\]"):
        stream(ROWS).agg(total=flo.linear(counted, one(int)))


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
    rows.join(rows, abs, abs, into=one(int, int | None), how="left")
    with pytest.raises(flo.TypeMismatch, match="or None: expected int as `y`"):
        rows.join(rows, abs, abs, into=one(int, int), how="left")
    with pytest.raises(flo.TypeMismatch, match="or None: expected int as `x`"):
        rows.join(rows, abs, abs, into=one(int, int | None), how="full")


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

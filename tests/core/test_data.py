"""Plain Python data as terms, and back: what elements and operator states are made of."""

from __future__ import annotations

import enum
import math
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.checkpoint import decode, encode
from flo.core.data import canonical_text, find_class
from flo.core.errors import CheckpointError, UnknownNameError
from flo.core.persistent import Elements, PersistentMap
from flo.core.term import Call, Lifting, Lowering, Name
from tests.harness import refusal
from tests.quick import tried


class Point(NamedTuple):
    x: int
    y: float = 0.0


Pair = namedtuple("Pair", "left right")


class Colour(enum.Enum):
    RED = "red"
    GREEN = (0, 255, 0)


class Level(enum.IntEnum):
    LOW = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Order:
    number: int
    at: datetime
    lines: tuple[Point, ...] = ()


@dataclass(slots=True)
class Slotted:
    x: int


@dataclass
class Loud:
    """Whose construction has effects, which lifting must not have."""

    x: int
    derived: int = field(init=False)

    calls = 0

    def __post_init__(self):
        type(self).calls += 1
        if self.x < 0:
            raise ValueError("negative")
        self.derived = self.x * 2

    def __setattr__(self, name, value):
        type(self).calls += 1
        object.__setattr__(self, name, value)


def there_and_back(item):
    """Through terms and bytes."""
    lowering = Lowering()
    term = decode(encode(lowering(item)))
    assert lowering.names == {}
    return Lifting()(term)


zones = [UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Europe/Rome"), ZoneInfo("America/New_York")]

VALUES = [
    None,
    True,
    0,
    -1,
    2**63,
    -(2**200),
    1.5,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    math.inf,
    -math.inf,
    "",
    "plain",
    "é ⊗ 漢字 🙂",
    "\ud800 alone",
    "\udc80\ud83d\ude00",
    "\x00\n\u2028",
    b"",
    b"\x00\xff",
    (),
    (1, ("a", (None, (2.5,)))),
    [1, [2, []]],
    {"a": {1: [2]}},
    {(1, 2): "pair"},
    {1, 2, 3},
    frozenset({"a", ("b", 1)}),
    Counter("abca"),
    Decimal("1.10"),
    Decimal("-1E+400"),
    Decimal("Infinity"),
    Fraction(-22, 7),
    1 - 2j,
    UUID(int=5),
    date(2024, 2, 29),
    time(23, 59, 59, 999999),
    time(1, 2, tzinfo=UTC),
    timedelta(days=-1, microseconds=1),
    datetime(2024, 1, 2, 3, 4, 5, 6),
    *(datetime(2024, 6, 1, 12, tzinfo=zone) for zone in zones),
    UTC,
    zones[1],
    Point(1),
    Pair([1], None),
    Colour.RED,
    Colour.GREEN,
    Level.LOW,
    Access.READ,
    Order(1, datetime(2024, 1, 1, tzinfo=zones[2]), (Point(1, 2.5), Point(3))),
    Slotted(3),
    Elements([1, Point(2)]),
    PersistentMap({"a": [1], ("b",): Colour.RED}),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_data_comes_back(value):
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)
    if not isinstance(value, (set, frozenset)):  # which print in any order
        assert repr(back)[:200] == repr(value)[:200]


atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
moments = st.datetimes(timezones=st.none() | st.sampled_from(zones))
hashables = st.recursive(
    atoms
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.uuids()
    | moments
    | st.timedeltas()
    | st.dates()
    | st.times(),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3) | st.builds(Pair, inner, inner)
    ),
    max_leaves=6,
)
anything = st.recursive(
    hashables,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(hashables, inner, max_size=3) | st.builds(Pair, inner, inner)
    ),
    max_leaves=6,
)


@given(anything)
@tried(24)
def test_any_data_comes_back(value):
    assert there_and_back(value) == value


def test_moments_in_the_hour_that_comes_twice():
    for fold in (0, 1):
        moment = datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=ZoneInfo("Europe/Rome"))
        back = there_and_back(moment)
        assert (back.fold, back.tzinfo, back.utcoffset()) == (fold, moment.tzinfo, moment.utcoffset())


def test_nan_comes_back():
    assert math.isnan(there_and_back(math.nan))
    assert math.isnan(there_and_back((1, [math.nan]))[1][0])
    assert there_and_back(Decimal("NaN")).is_nan()


def test_huge_integers_come_back():
    assert there_and_back(10**5000) == 10**5000
    assert there_and_back([-(10**5000), Decimal(10) ** 5000]) == [-(10**5000), Decimal(10) ** 5000]


def test_true_is_not_one():
    assert [type(item) for item in there_and_back([True, 1, 1.0])] == [bool, int, float]


def test_nothing_of_the_users_is_called():
    loud = Loud(3)
    Loud.calls = 0
    term = Lowering()(loud)
    back = Lifting()(term)
    assert (back, back.derived) == (loud, 6)
    assert Loud.calls == 0
    name = term.args[0]
    assert Lifting()(Call("data", (name, (-1, 0)))).x == -1  # which __post_init__ would refuse
    assert Loud.calls == 0


class Tags(list):
    pass


class Name2(str):
    __slots__ = ()


class Plain:
    pass


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Plain(),
        Tags([1]),
        Name2("a"),
        OrderedDict(a=1),
        defaultdict(int),
        bytearray(b"a"),
        range(3),
        iter([1]),
        memoryview(b"a"),
        ValueError("no"),
        Access.READ | Access.WRITE,
        ZoneInfo("Europe/Rome"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_written_down_is_refused_by_its_type(value):
    for item in (value, (1, [value]), Pair(1, value)):
        error = refusal(Lowering(), item)
        assert isinstance(error, CheckpointError)
        assert f"cannot serialize a value of type {type(value).__name__}" in str(error)


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (Call("data", ("nowhere:Thing", ())), "`nowhere:Thing`, which this program has not loaded"),
        (Call("data", ("antigravity:Thing", ())), "has not loaded"),
        (Call("data", ("subprocess:Popen", ("true",))), "`subprocess:Popen` is not a dataclass"),
        (Call("data", ("builtins:int", ())), "not a dataclass"),
        (Call("data", ("os:system", ("true",))), "has not loaded"),
        (Call("data", (f"{__name__}:Order", (1,))), "not a dataclass with 1 fields"),
        (Call("namedtuple", (f"{__name__}:Point", (1,))), "not a named tuple with 1 fields"),
        (Call("namedtuple", (f"{__name__}:Order", (1, 2, 3))), "not a named tuple"),
        (Call("enum", (f"{__name__}:Colour", "BLUE")), "has no member 'BLUE'"),
        (Call("enum", (f"{__name__}:Order", "number")), "has no member"),
    ],
)
def test_classes_are_looked_up_and_never_made(term, reason):
    import sys

    loaded = set(sys.modules)
    error = refusal(Lifting(), term)
    assert isinstance(error, CheckpointError)
    assert reason in str(error)
    assert set(sys.modules) == loaded


def test_classes_inside_functions_are_found_while_the_program_runs():
    @dataclass
    class Local:
        x: int

    assert there_and_back(Local(1)) == Local(1)


def test_a_class_that_was_defined_again_is_the_new_one(monkeypatch):
    term = Lowering()(Slotted(1))

    @dataclass
    class Again:
        x: int

    monkeypatch.setitem(globals(), "Slotted", Again)
    assert find_class(f"{__name__}:Slotted") is Again
    assert Lifting()(term) == Again(1)


def test_unknown_expressions_are_named():
    error = refusal(Lifting(), Call("fould", (0,)))
    assert isinstance(error, UnknownNameError)
    assert "no expression is called `fould`" in str(error)
    assert "the program supplies no `f`" in str(refusal(Lifting({"g": 1}), Name("f")))


def test_functions_are_named_and_not_stored():
    def twice(x):
        return 2 * x

    lowering = Lowering()
    assert lowering((twice, len, twice)) == (Name("twice"), Name("len"), Name("twice"))
    assert lowering.names == {"twice": twice, "len": len}

    def again():
        def twice(x):
            return x

        return twice

    other = again()
    assert lowering((other, lambda x: x, lambda x: x)) == (Name("twice1"), Name("λ1"), Name("λ2"))
    assert Lifting(lowering.names)(Name("twice1")) is other


def test_every_name_can_be_written():
    def _(x):
        return x

    names = [Lowering()(item).name for item in (_, tuple[int, str], int | None, Colour, lambda x: x)]
    assert all(name.isidentifier() for name in names), names


def test_equal_data_has_one_canonical_text():
    assert canonical_text({3, 1, 2}) == canonical_text({2, 3, 1})
    assert canonical_text(frozenset({"a", "b"})) == canonical_text(frozenset({"b", "a"}))
    assert canonical_text((1, 2)) != canonical_text([1, 2])

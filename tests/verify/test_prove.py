"""The solver proves equations for all values, refutes them with values that break them, or says why it cannot."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import pytest

import flo
from flo.verify import laws
from flo.verify.functions.equations import function_equations, lattice_equations
from flo.verify.solver.prove import Proved, Refuted, Unknown, prove

pytestmark = pytest.mark.every(check=5)

GENEROUS = 40_000_000
"""Seconds: on a busy machine the solver needs more than it does alone."""


def commutes(f):
    return lambda a, x, y: (f(f(a, x), y), f(f(a, y), x))


def verdict(f, *types):
    return prove(commutes(f), types, work=GENEROUS)


@dataclass(frozen=True)
class Counter:
    count: int
    weight: int

    def plus(self, weight):
        return replace(self, count=self.count + 1, weight=self.weight + weight)

    @property
    def both(self):
        return self.count + self.weight


@dataclass(frozen=True, order=True)
class Natural:
    number: int

    def __post_init__(self):
        if self.number < 0:
            raise ValueError("below 0")


class Reading(NamedTuple):
    place: int | None
    heat: int


class Light(Enum):
    RED = 1
    GREEN = 2


LIMIT = 1000
INTS = (int, int, int)

COMMUTATIVE = {
    "a sum": (lambda a, x: a + x, INTS),
    "operator.add": (operator.add, INTS),
    "a product": (operator.mul, INTS),
    "max": (max, INTS),
    "min in a function": (lambda a, x: min(a, x), INTS),
    "max of strs": (max, (str, str, str)),
    "max of floats": (max, (float, float, float)),
    "max of pairs": (max, (tuple[int, int], tuple[int, int], tuple[int, int])),
    "a sum of fractions": (lambda a, x: a + x / 2, (Fraction, Fraction, Fraction)),
    "a sum of constants and fractions": (lambda a, x: a + Fraction(1, 3) * x, (Fraction, int, int)),
    "only what is positive": (lambda a, x: a + x if x > 0 else a, INTS),
    "distances": (lambda a, x: a + abs(x) ** 3, INTS),
    "a count by remainder": (lambda a, x: a + 1 if x % 3 == 2 else a, INTS),
    "a constant of the module": (lambda a, x: a + min(x, LIMIT), INTS),
    "a local function": (lambda a, x: (lambda k: a + k * x)(3), INTS),
    "a partial": (functools.partial(lambda k, a, x: a + k * x, 3), INTS),
    "union": (lambda a, x: a | x, (frozenset[int],) * 3),
    "one more element": (lambda a, x: a | {x}, (frozenset[int], int, int)),
    "one more text": (lambda a, x: a | frozenset({x}), (frozenset[str], str, str)),
    "elements taken away": (lambda a, x: a if x not in a else a - {x}, (frozenset[int], int, int)),
    "symmetric difference": (operator.xor, (frozenset[int],) * 3),
    "union by name": (lambda a, x: a.union(x), (frozenset[str],) * 3),
    "sets of few": (lambda a, x: a | x, (frozenset[bool],) * 3),
    "or": (lambda a, x: a or x, (bool,) * 3),
    "and": (operator.and_, (bool,) * 3),
    "a weighted counter, tuple": (lambda a, x: (a[0] + 1, a[1] + x), (tuple[int, int], int, int)),
    "a weighted counter, unpacked": (
        lambda a, x: tuple(p + q for p, q in zip(a, x, strict=True)),
        (tuple[int, Fraction],) * 3,
    ),
    "a weighted counter, object": (lambda a, x: Counter(a.count + 1, a.weight + x), (Counter, int, int)),
    "a method": (lambda a, x: a.plus(x), (Counter, int, int)),
    "a property": (lambda a, x: a + x.both, (int, Counter, Counter)),
    "objects with an order": (max, (Natural,) * 3),
    "a named tuple": (lambda a, x: Reading(a.place, max(a.heat, x)), (Reading, int, int)),
    "None is passed over": (lambda a, x: a if x is None else a + x, (int, int | None, int | None)),
    "a member of an enum": (lambda a, x: x if x is Light.RED else a, (Light,) * 3),
    "a literal": (lambda a, x: a + x, (int, Literal[1, 5], Literal[1, 5])),
    "any of some": (lambda a, x: a or any(t > 3 for t in x), (bool, tuple[int, int], tuple[int, int])),
    "a sum of a tuple": (lambda a, x: sum((a, *x)), (int, tuple[int, int], tuple[int, int])),
    "a comprehension": (lambda a, x: max([a, *[t * t for t in x]]), (int, tuple[int, int], tuple[int, int])),
    "reduce": (lambda a, x: functools.reduce(operator.add, x, a), (int, tuple[int, int], tuple[int, int])),
}

NOT_COMMUTATIVE = {
    "2 * a + x": (lambda a, x: 2 * a + x, INTS),
    "last one wins": (lambda a, x: x, INTS),
    "last object wins": (lambda a, x: x, (Counter,) * 3),
    "x - a": (lambda a, x: x - a, INTS),
    "from 1000 on it starts again": (lambda a, x: a + x if x < LIMIT else x, INTS),
    "at one text only": (lambda a, x: a + x if x != 'needle\\"☃' else x, (str,) * 3),
    "an average of averages": (lambda a, x: (a + x) / 2, (Fraction,) * 3),
    "texts in a row": (operator.add, (str,) * 3),
    "a set that forgets": (lambda a, x: a - {x} if 7 in a else a | {x}, (frozenset[int], int, int)),
    "texts that are forgotten": (lambda a, x: a - {x} if "b" in a else a | {x}, (frozenset[str], str, str)),
    "difference the other way": (lambda a, x: x - a, (frozenset[int],) * 3),
    "floor division": (lambda a, x: a // x if x else a, INTS),
    "first place wins": (lambda a, x: x if a.place is None else a, (Reading,) * 3),
    "one literal is passed over": (lambda a, x: a if x == 1 else x, (Literal[1, 5, 7],) * 3),
    "a loop": (lambda a, x: counted_down(a) + x, INTS),
}


def counted_down(a):
    while a > 0:
        a -= 1
    return a


@pytest.mark.every(test=2)
@pytest.mark.parametrize("name", COMMUTATIVE)
def test_proves(name):
    f, types = COMMUTATIVE[name]
    assert verdict(f, *types) == Proved()


@pytest.mark.parametrize("name", NOT_COMMUTATIVE)
def test_refutes_with_values_that_differ(name):
    f, types = NOT_COMMUTATIVE[name]
    found = verdict(f, *types)
    assert isinstance(found, Refuted), found
    one, other = commutes(f)(*found.arguments)
    assert one != other


def test_other_equations():
    assert prove(lambda k, v, w: ((v + w) * 3, v * 3 + w * 3), (str, int, int)) == Proved()
    assert (
        prove(lambda a, b: (a + b, b + a), (float, float), work=GENEROUS) == Proved()
    )  # inf - inf is nan on both sides
    assert prove(lambda a, b, c: ((a + b) + c, a + (b + c)), (str, str, str), work=GENEROUS) == Proved()
    assert prove(lambda a, x: (a + x - x, a), (int, int)) == Proved()
    assert isinstance(prove(lambda a, b: (a - b, b - a), (int, int)), Refuted)
    assert isinstance(prove(lambda a, x: (a + x - x, a), (float, float), work=GENEROUS), Refuted)


def test_a_class_that_refuses_some_fields_has_no_such_values():
    assert prove(lambda a: (abs(a.number), a.number), (Natural,)) == Proved()
    assert prove(lambda a: (abs(a.count), a.count), (Counter,)) == Refuted((Counter(-1, 0),))


def test_what_raises_is_neither_proved_nor_refuted():
    assert prove(lambda a, b: (a // b, a // b), (int, int)) == Unknown("it raises ZeroDivisionError for some values")
    found = prove(lambda a, b: (a // b, a // b + (b == 3)), (int, int))
    assert isinstance(found, Refuted)
    assert found.arguments[1] == 3


@pytest.mark.every(test=4)
@pytest.mark.parametrize(
    "lattice",
    [flo.Max[int], flo.Min[str], flo.Max[float], flo.SetUnion[int], flo.Or, flo.And, flo.Flat[int],
     flo.Product[flo.Max[int], flo.SetUnion[str]], flo.Lattice.of(frozenset(), lambda a, b: a | b)],
    ids=str,
)  # fmt: skip
def test_joins_are_proved(lattice):
    lattice = flo.Lattice.from_annotation(lattice)
    kind = frozenset[int] if isinstance(lattice.bottom(), frozenset) else lattice.whole
    for equation in lattice_equations(lattice):
        assert prove(equation.sides, [kind] * len(equation.variables), work=GENEROUS) == Proved(), equation


def test_laws_of_functions_as_equations():
    for law in (laws.COMMUTATIVE, laws.ASSOCIATIVE):
        [equation] = function_equations(law, max, 2)
        assert prove(equation.sides, INTS, work=GENEROUS) == Proved()
        [equation] = function_equations(law, time.time, 2)
        assert "time.time" in prove(equation.sides, INTS).reason


# what cannot be traced

calls = 0
seen: list[int] = []
table = {1: 2}


def counting(a, x):
    global calls
    calls += 1
    return a + x + calls


def remembering(a, x):
    seen.append(x)
    return a + x


def remembering_in_a_default(a, x, kept=[]):  # noqa: B006
    kept += [x]
    return a + x + len(kept)


def trying(a, x):
    try:
        return a + x
    except Exception:
        return a


def swallowing(a, x):
    try:
        return a + int(x)
    except BaseException:
        return 0


def matching(a, x):
    match x:
        case int():
            return a + x
    return a


def generating(a, x):
    yield a + x


def importing(a, x):
    import random

    return random.random()


def counter_of_calls():
    number = 0

    def f(a, x):
        nonlocal number
        number += 1
        return a + x + number

    return f


def marking(a, x):
    marking.last = x
    return a + x


@functools.lru_cache
def cached(a, x):
    return a + x


class Mutable:
    def __init__(self):
        self.total = 0

    def add(self, a, x):
        return a + x + self.total


@dataclass(frozen=True)
class Holder:
    f: Any

    def call(self, a, x):
        return a + self.f()


@dataclass(frozen=True)
class Clock:
    now = functools.partial(time.time)

    def call(self, a, x):
        return a + self.now()


@dataclass(frozen=True)
class StaticClock:
    now = staticmethod(functools.partial(time.time))


@dataclass(frozen=True)
class PropertyClock:
    now = property(functools.partial(time.time))


@dataclass(frozen=True)
class Stamped:
    number: int
    at: float = field(default_factory=functools.partial(time.time))


class Timed(Enum):
    ONE = 1

    @property
    def now(self):
        return time.time()


@dataclass(frozen=True)
class Halved:
    number: int

    def __post_init__(self):
        Fraction(self.number, 2)


@dataclass(frozen=True)
class OfTwo:
    number: int

    def __post_init__(self):
        if len({1} | {self.number}) == 2:
            raise ValueError("another number than 1")


@dataclass(frozen=True)
class Linked:
    number: int
    rest: Linked | None = None


@dataclass
class Changing:
    number: int


@dataclass(frozen=True)
class Listing:
    numbers: list[int] = field(default_factory=list)


REFUSED = {
    "time.time": (lambda a, x: a + time.time(), INTS, "it calls time.time, which cannot be traced"),
    "a built-in itself": (time.time, INTS, "it calls time.time"),
    "random": (lambda a, x: a + random.random(), INTS, "random"),
    "a partial of a clock": (functools.partial(time.time), INTS, "time.time"),
    "a clock in an object": (Holder(time.time).call, INTS, "time.time"),
    "a clock in a class": (Clock().call, INTS, "time.time"),
    "a clock of a new object": (lambda a, x: a + Clock().now(), INTS, "time.time"),
    "a static clock": (lambda a, x: a + StaticClock.now(), INTS, "time.time"),
    "a clock as property": (lambda a, x: a + PropertyClock().now, INTS, "time.time"),
    "a clock as default": (lambda a, x: a + Stamped(x).at, INTS, "time.time"),
    "a clock in an enum": (lambda a, x: a + x.now, (int, Timed, Timed), "time.time"),
    "errors about symbols": (lambda a, x: a + abs(x.number), (int, Halved, Halved), "such values"),
    "errors about sets": (lambda a, x: a + 1, (int, OfTwo, OfTwo), "such values"),
    "a join that fails on symbols": (flo.Lattice.of(0, lambda a, b: max(a, Fraction(b))).join, INTS, "TypeError"),
    "isinstance": (lambda a, x: a + x if isinstance(x, int) else a, INTS, "isinstance"),
    "type": (lambda a, x: a if type(x) is int else x, INTS, "type"),
    "__class__": (lambda a, x: a if x.__class__ == int else x, INTS, "__class__"),  # noqa: E721
    "match": (matching, INTS, "MATCH_CLASS"),
    "a global counter": (counting, INTS, "counting changes a global"),
    "a variable of an outer function": (counter_of_calls(), INTS, "changes `number`"),
    "a global list": (remembering, INTS, "`seen`, a list"),
    "a global dict": (lambda a, x: table.get(x, a), INTS, "`table`, a dict"),
    "a list as default": (remembering_in_a_default, INTS, "`kept`, a list"),
    "an attribute of itself": (marking, INTS, "changes an attribute"),
    "a cache": (cached, INTS, "lru_cache"),
    "a plain object": (Mutable().add, INTS, "Mutable"),
    "hash": (lambda a, x: a + hash(x), INTS, "hash"),
    "id": (lambda a, x: a + id(x), INTS, "id"),
    "a set of two": (lambda a, x: a | {x, 1}, (frozenset[int], int, int), "the hash of an int"),
    "in a constant set": (lambda a, x: a + 1 if x in {1, 2} else a, INTS, "the hash of an int"),
    "a set of Python's": (lambda a, x: a + len(frozenset((1,)) | {x}), INTS, "a set with an int in it"),
    "try": (trying, INTS, "trying handles exceptions"),
    "a swallowed refusal": (swallowing, INTS, "swallowing handles exceptions"),
    "int": (lambda a, x: a + int(x), INTS, "int(…) of an int"),
    "float": (lambda a, x: a + float(x), INTS, "float(…) of an int"),
    "round": (lambda a, x: a + round(x), (Fraction,) * 3, "round"),
    "math.floor": (lambda a, x: a + math.floor(x), (float,) * 3, "math.floor(…) of a float"),
    "a quotient of ints": (lambda a, x: a + x / 2, INTS, "/ of an int and int"),
    "a shift": (lambda a, x: a + (x << 1), INTS, "<<"),
    "a symbolic power": (lambda a, x: a**x, INTS, "**"),
    "ints and floats": (lambda a, x: a + x * 0.5, INTS, "* of an int and float"),
    "an f-string": (lambda a, x: f"{a}{x}", INTS, "the format of an int"),
    "str": (lambda a, x: str(a), INTS, "str(…) of an int"),
    "a method of str": (lambda a, x: a + x.upper(), (str,) * 3, ".upper of a str"),
    "len of a str": (lambda a, x: a + len(x), (int, str, str), "len(…) of a str"),
    "iteration": (lambda a, x: a + sum(x), (int, frozenset[int], frozenset[int]), "iter(…) of a set of ints"),
    "sorted": (lambda a, x: sorted([a, x])[0], INTS, "sorted"),
    "an index": (lambda a, x: (1, 2)[x], INTS, "index"),
    "is": (lambda a, x: a if a is x else a + x, INTS, "`is`"),
    "is True": (lambda a, x: a if x is True else a + x, INTS, "`is`"),
    "is, behind a branch": (lambda a, x: a if a is (x if x > 0 else None) else a + x, INTS, "`is`"),
    "operator.is_": (operator.is_, INTS, "is_"),
    "a generator": (lambda a, x: max(generating(a, x)), INTS, "is a generator"),
    "import": (importing, INTS, "importing imports"),
    "next": (lambda a, x: next(iter((a, x))), INTS, "next"),
    "a count that goes on": (functools.partial(lambda n, a, x: a, itertools.count()), INTS, "a count"),
    "sum of floats": (lambda a, x: sum((a, x)), (float,) * 3, "sum of floats"),
    "Any": (lambda a, x: a, (Any, int, int), "values of Any"),
    "lists": (lambda a, x: a, (list[int], int, int), "values of list[int]"),
    "lists in objects": (lambda a, x: a, (Listing, int, int), "values of list[int]"),
    "objects that change": (lambda a, x: a, (Changing, int, int), "Changing is mutable"),
    "objects in each other": (lambda a, x: a, (Linked, int, int), "too deeply"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_what_cannot_be_traced(name):
    f, types, reason = REFUSED[name]
    found = verdict(f, *types)
    assert isinstance(found, Unknown), found
    assert reason in found.reason


def test_nothing_was_run_that_leaves_a_trace():
    assert (calls, seen) == (0, [])


@pytest.mark.thorough
@pytest.mark.slow
def test_a_loop_that_may_be_long():
    found = prove(lambda a: (counted_down(a) * 0, 0), (int,), work=GENEROUS)
    assert found == Unknown("it tests more than 100 conditions in a row")


def test_too_many_ways(monkeypatch):
    monkeypatch.setattr("flo.verify.solver.prove.MOST_PATHS", 20)

    def f(a, x):
        return a + sum(1 if part > 0 else 0 for part in x)

    kind = tuple[int, int, int, int, int]
    assert prove(lambda a, x: (f(a, x), f(a, x)), (int, kind), work=GENEROUS) == Unknown(
        "there are more than 20 ways through the branches"
    )


def test_time_is_bounded():
    found = prove(lambda a, b, c: (a**3 + b**3, c**3), (int, int, int), work=0)
    assert found == Unknown("the solver did not finish within 0 units of work")


def test_without_z3(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    assert prove(lambda a: (a, a), (int,)) == Unknown("z3 is not installed: pip install 'flo-streams[verify]'")


def test_profilers_are_given_back():
    events = []
    sys.setprofile(profiler := lambda frame, event, argument: events.append(event))
    try:
        prove(commutes(operator.add), INTS)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


def test_threads_take_turns():
    found = []
    threads = [threading.Thread(target=lambda: found.append(verdict(max, *INTS))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Proved()] * 3

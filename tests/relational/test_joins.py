"""Joins of rows: every `how`, with and without a condition, null keys that match or not, and keys of every kind."""

from __future__ import annotations

import random
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.values.canonical import instant_element
from tests.engines.engine import Engine, comparable
from tests.relational.harness import Query, Source, agree
from tests.relational.rows import BERLIN, MONEY, TEXTS, TIMES

pytestmark = pytest.mark.every(check=5, test=2)

HOW = ("inner", "left", "right", "full", "semi", "anti")


class Left(NamedTuple):
    k: int | None
    x: int
    n: str
    f: float | None
    text: str
    d: Annotated[Decimal, pa.decimal128(12, 2)] | None
    sold: Annotated[datetime, BERLIN] | None


class Right(NamedTuple):
    k: int | None
    y: int | None
    n: str
    f: float | None
    text: str
    d: Annotated[Decimal, pa.decimal128(12, 2)] | None
    sold: Annotated[datetime, BERLIN] | None


# one NaN is equal to another, and -0.0 to 0.0, as in DuckDB
FLOATS = [float("nan"), 0.0, -0.0, float("inf"), 1e308]


def draw_left(rng: random.Random) -> Left:
    number, name = rng.choice([1, 2**63 - 1, -(2**63), None]), rng.choice("pq")
    return Left(number, rng.randrange(3), name, *_rest(rng))


def draw_right(rng: random.Random) -> Right:
    number, name = rng.choice([1, 2**63 - 1, 4, None]), rng.choice("pq")
    return Right(number, rng.choice([None, 0, 1, 2]), name, *_rest(rng))


def _rest(rng: random.Random) -> tuple[Any, ...]:
    floats = rng.choice([None, *FLOATS])
    return floats, rng.choice(TEXTS[:4]), rng.choice([None, *MONEY[:2]]), rng.choice([None, *TIMES[:3]])


SIDES = {"l": Source(Left, draw_left), "r": Source(Right, draw_right)}
MORE = "f, text, d, sold"


def flow_of(outputs: dict[str, Any]) -> flo.Flow:
    """A flow with these outputs, each made of both inputs."""
    flow = flo.Flow("joins")
    left, right = flow.input("l", flo.ZSet[Left]), flow.input("r", flo.ZSet[Right])
    for name, make in outputs.items():
        flow.output(name, make(left, right))
    return flow


def sql(how: str, condition: str, shared: tuple[str, ...]) -> str:
    """The query of a join on columns that both sides have by the same names."""
    if how in ("semi", "anti"):
        return f"SELECT l.* FROM l WHERE {'NOT ' if how == 'anti' else ''}EXISTS (SELECT 1 FROM r WHERE {condition})"
    kept = {"full": "coalesce(l.{0}, r.{0})", "right": "r.{0}"}.get(how, "l.{0}")
    columns = [kept.format(name) if name in shared else f"l.{name}" for name in Left._fields]
    columns += [f"r.{name}" for name in Right._fields if name not in shared]
    return f"SELECT {', '.join(columns)} FROM l {how} JOIN r ON {condition}"


def key_condition(shared: tuple[str, ...], nulls_equal: bool) -> str:
    same = " IS NOT DISTINCT FROM " if nulls_equal else " = "
    return " AND ".join(f"l.{name}{same}r.{name}" for name in shared)


@pytest.mark.parametrize("nulls_equal", [False, True])
@pytest.mark.parametrize("where", [False, True])
@pytest.mark.every(test=2)
def test_every_join(where: bool, nulls_equal: bool) -> None:
    condition = nw.col("x") < nw.col("y") if where else None

    def made(how: str) -> Any:
        return lambda left, right: left.join(right, on="k", how=how, where=condition, nulls_equal=nulls_equal)

    text = key_condition(("k",), nulls_equal) + (" AND l.x < r.y" if where else "")
    queries = {how: sql(how, text, ("k",)) for how in HOW}
    agree(lambda: flow_of({how: made(how) for how in HOW}), SIDES, queries, seed=2, steps=10)


@pytest.mark.parametrize("on", ["k", None])
def test_a_function_as_the_condition(on: str | None) -> None:
    def condition(row: Any) -> bool:
        return row.y is not None and row.x < row.y

    text = "l.x < r.y" + (" AND l.k = r.k" if on else "")
    hows = ("left", "full", "semi", "anti")
    outputs = {how: lambda left, right, how=how: left.join(right, on=on, how=how, where=condition) for how in hows}
    queries = {how: sql(how, text, ("k",) if on else ()) for how in hows}
    agree(lambda: flow_of(outputs), SIDES, queries, seed=3, steps=6)


KEYS = [("f",), ("text",), ("d",), ("sold",), ("k", "n"), ("text", "f")]


@pytest.mark.parametrize("how", ["left", *(pytest.param(how, marks=pytest.mark.thorough) for how in HOW)])
@pytest.mark.parametrize("nulls_equal", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_keys_of_every_kind(how: str, nulls_equal: bool) -> None:
    def made(key: tuple[str, ...]) -> Any:
        return lambda left, right: left.join(right, on=list(key), how=how, nulls_equal=nulls_equal)

    outputs = {"_".join(key): made(key) for key in KEYS}
    queries = {"_".join(key): sql(how, key_condition(key, nulls_equal), key) for key in KEYS}
    agree(lambda: flow_of(outputs), SIDES, queries, seed=3, steps=8)


def test_other_columns_and_expressions_as_keys() -> None:
    outputs = {
        "other": lambda left, right: left.join(right, on=["k", "x"], other_on=["k", "y"], how="left"),
        "computed": lambda left, right: left.join(
            right, on=nw.col("x") + 1, other_on=nw.col("y") * 2, how="full", suffix="_of_r"
        ),
        "cross": lambda left, right: left.join(right, how="cross", where=nw.col("x") == nw.col("y")),
        "every_pair": lambda left, right: left.select("x").join(right.select("y", "n"), how="cross"),
    }
    queries: dict[str, Query | str] = {
        "other": f"SELECT l.*, r.y, r.n, r.{MORE.replace(', ', ', r.')} FROM l LEFT JOIN r ON l.k = r.k AND l.x = r.y",
        "computed": "SELECT l.*, r.* FROM l FULL JOIN r ON l.x + 1 = r.y * 2",
        "cross": "SELECT l.*, r.* FROM l JOIN r ON l.x = r.y",
        "every_pair": "SELECT l.x, r.y, r.n FROM l, r",
    }
    agree(lambda: flow_of(outputs), SIDES, queries, seed=5, steps=8)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (nw.col("x") < nw.col("y"), "l.x < r.y"),
        (
            (nw.col("k") <= nw.col("k_right")) & (nw.col("text") > nw.col("text_right")),
            "l.k <= r.k AND l.text > r.text",
        ),
        (nw.col("sold") >= nw.col("sold_right"), "l.sold >= r.sold"),
    ],
    ids=["two numbers", "extreme numbers and texts", "times"],
)
@pytest.mark.every(test=2)
def test_conditions_alone(condition: Any, text: str) -> None:
    """Inequalities without equal keys: rows of outer, semi and anti joins that are compared with all of the others."""
    how = [each for each in HOW if each != "inner"]

    def made(each: str) -> Any:
        return lambda left, right: left.join(right, how=each, where=condition)

    queries = {each: sql(each, text, ()) for each in how}
    agree(lambda: flow_of({each: made(each) for each in how}), SIDES, queries, seed=7, steps=8)


def test_a_table_joined_with_itself() -> None:
    outputs = {"itself": lambda left, right: left.join(left, on="k", how="left", where=nw.col("x") < nw.col("x_right"))}
    query = "SELECT l.*, o.x, o.n, o.f, o.text, o.d, o.sold FROM l LEFT JOIN l AS o ON l.k = o.k AND l.x < o.x"
    outputs["rest"] = lambda left, right: right.select("k")
    agree(lambda: flow_of(outputs), SIDES, {"itself": query, "rest": "SELECT k FROM r"}, seed=6, steps=8)


class Priced(NamedTuple):
    n: int | None
    m: float | None
    d: Annotated[Decimal, pa.decimal128(12, 2)] | None
    at: Annotated[datetime, BERLIN] | None


class Paid(NamedTuple):
    n: Annotated[Decimal, pa.decimal128(20, 4)] | None
    m: int | None
    d: Annotated[Decimal, pa.decimal128(20, 4)] | None
    at: Annotated[datetime, pa.timestamp("us", "Asia/Tokyo")] | None


def draw_priced(rng: random.Random) -> Priced:
    money = rng.choice([None, Decimal("1.50"), Decimal("2.00")])
    return Priced(rng.choice([None, 1, 2]), rng.choice([None, 0.5, -0.0, 2.0]), money, rng.choice([None, *TIMES[:2]]))


def draw_paid(rng: random.Random) -> Paid:
    money = [None, Decimal("1.5000"), Decimal("1.5001"), Decimal("2.0000")]
    number = rng.choice([None, 0, 2])
    return Paid(rng.choice(money), number, rng.choice(money), rng.choice([None, *TIMES[:2]]))


@pytest.mark.parametrize("how", ["full", *(pytest.param(how, marks=pytest.mark.thorough) for how in HOW[:3])])
def test_keys_of_two_types(how: str) -> None:
    """Numbers are compared as numbers, and times with a zone as instants."""
    names = Priced._fields

    def build() -> flo.Flow:
        flow = flo.Flow("types")
        left, right = flow.input("l", flo.ZSet[Priced]), flow.input("r", flo.ZSet[Paid])
        for name in names:
            flow.output(name, left.join(right, on=name, how=how))
        return flow

    def query(key: str) -> str:
        kept = {"full": f"coalesce(l.{key}, r.{key})", "right": f"r.{key}"}.get(how, f"l.{key}")
        columns = [kept if name == key else f"l.{name}" for name in names]
        columns += [f"r.{name}" for name in names if name != key]
        return f"SELECT {', '.join(columns)} FROM l {how} JOIN r ON l.{key} = r.{key}"

    sources = {"l": Source(Priced, draw_priced), "r": Source(Paid, draw_paid)}
    agree(build, sources, {name: query(name) for name in names}, seed=4, steps=6)


class Doubled(NamedTuple):
    k: int
    x: int
    x_right: int


class Once(NamedTuple):
    k: int
    x: int


@pytest.mark.parametrize("how", ["left", "right"])
def test_a_column_with_the_suffix_of_another(how: str) -> None:
    """A column is that of its side, whatever the names of the other side end in."""
    flow = flo.Flow("names")
    left, right = flow.input("l", flo.ZSet[Doubled]), flow.input("r", flo.ZSet[Once])
    one, other = (left, right) if how == "left" else (right, left)
    flow.output("out", one.join(other, on="k", how=how, suffix="_other"))
    data: Any = {"l": {Doubled(1, 2, 3): 1}, "r": {Once(1, 4): 1}}
    expected = (1, 2, 3, 4) if how == "left" else (1, 4, 2, 3)
    (row,) = flow.run(**data)["out"]
    assert tuple(row) == expected
    (found,) = flow.on(flo.here).run(**data)["out"].to_pylist()
    assert tuple(found.values()) == (*expected, 1)
    assert list(found)[:-1] == (["k", "x", "x_right", "x_other"] if how == "left" else ["k", "x", "x_other", "x_right"])


@pytest.mark.sampled(spark=())
def test_on_every_engine(engine: Engine) -> None:
    """Rows with equal keys are sent to one place, and rows without a partner keep theirs."""

    def made(how: str, where: Any) -> Any:
        return lambda left, right: left.join(right, on=["k", "n"], how=how, where=where)

    outputs = {how: made(how, None) for how in HOW}
    outputs |= {f"{how}_where": made(how, nw.col("x") < nw.col("y")) for how in HOW}
    rng = random.Random(12)
    data: dict[str, dict[Any, int]] = {"l": {}, "r": {}}
    for name, source in SIDES.items():
        for _ in range(25):
            row = instant_element(source.draw(rng))
            data[name][row] = data[name].get(row, 0) + 1
    expected = {name: comparable(value) for name, value in flow_of(outputs).run(**data).items()}
    assert engine.run(flow_of(outputs), data) == expected

"""Window functions against DuckDB, after every delta, on values and on tables."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.core.errors import CollectionError, TypeMismatch
from flo.values.exact import Digits, IntSum
from tests.api.window_oracle import expected, shown
from tests.engines.engine import comparable
from tests.harness import all_digits
from tests.quick import is_thorough

pytestmark = pytest.mark.every(check=5, test=2)


class Sale(NamedTuple):
    shop: str | None
    at: int
    price: float | None
    cost: Annotated[Decimal, pa.decimal128(10, 2)] | None
    big: int
    note: str | None


class Event(NamedTuple):
    who: int
    day: date | None
    at: Annotated[datetime, pa.timestamp("us", "Europe/Paris")] | None
    local: datetime
    size: int


SHOPS = ["a", "ä'", None]
PRICES = [None, math.nan, 0.0, 1.25, -2.5, 1e300, 3.0, 3.0]
COSTS = [None, Decimal("1.10"), Decimal("-3.33"), Decimal("99999999.99"), Decimal("2.20")]
PARIS = ZoneInfo("Europe/Paris")


def sale(rng: random.Random) -> Sale:
    return Sale(
        rng.choice(SHOPS),
        rng.randrange(8),
        rng.choice(PRICES),
        rng.choice(COSTS),
        rng.choice([2**63 - 1, 2**62, -(2**63), 7]),
        rng.choice([None, "", "x", "日本"]),
    )


def event(rng: random.Random) -> Event:
    moment = datetime(2024, 10, 27, 0, 30, tzinfo=PARIS) + timedelta(minutes=30 * rng.randrange(8))
    return Event(
        rng.randrange(2),
        rng.choice([None, date(2024, 2, 27 + rng.randrange(3)), date(2024, 3, 1)]),
        rng.choice([None, moment, moment.replace(fold=1)]),
        datetime(2024, 1, 1) + timedelta(hours=rng.randrange(30)),
        rng.randrange(3),
    )


def deltas(make: Any, seed: int, count: int = 7, size: int = 6) -> list[dict[Any, int]]:
    """Rows that come, come again, are taken back, and are taken back before they come."""
    rng, known, found = random.Random(seed), [], []
    for _ in range(count):
        delta: Counter[Any] = Counter()
        for _ in range(rng.randrange(1, size)):
            row = rng.choice(known) if known and rng.random() < 0.4 else make(rng)
            known.append(row)
            delta[row] += rng.choice([1, 1, 1, 2, -1, -1, -2])
        found.append({row: weight for row, weight in delta.items() if weight})
    return found


def compare(kind: Any, chunks: list[dict[Any, int]], functions: dict[str, Any], by: Any = None, order: Any = None):
    """Runs the functions on values and on tables, and compares all rows with SQL's after every delta."""
    flow = flo.Flow("over")
    flow.output(
        "out", all_digits(flow.input("rows", flo.ZSet[kind]).over(by, order).with_columns(**for_flo(functions)))
    )
    loops = {"values": flow.loop(negative="allow"), "tables": flow.on(flo.here).loop(negative="allow")}
    weights: Counter[Any] = Counter()
    for chunk in chunks:
        for row, weight in chunk.items():
            weights[row] += weight
        present = {row: weight for row, weight in weights.items() if weight > 0}
        names = [] if by is None else [by] if isinstance(by, str) else list(by)
        wanted = expected(kind, present, names, order, functions)
        for name, loop in loops.items():
            loop.push(rows=chunk)
            loop.run()
            assert rows_of(loop.result()["out"]) == wanted, name


def rows_of(result: Any) -> Counter[Any]:
    """The rows of a result as `shown` shows them, each as often as it is there."""
    if isinstance(result, pa.Table):
        *columns, weights = (column.to_pylist() for column in result.columns)
        units = zip(zip(*columns, strict=True), weights, strict=True)
    else:
        units = result.items()
    found: Counter[Any] = Counter()
    for row, weight in units:
        found[shown(row)] += weight
    assert all(weight >= 0 for weight in found.values())
    return +found


NUMBERING = {
    "row": flo.row_number(),
    "ranked": flo.rank(),
    "dense": flo.dense_rank(),
    "percent": flo.percent_rank(),
    "share": flo.cume_dist(),
    "bucket": flo.ntile(3),
}
NEIGHBOURS = {
    "previous": flo.lag("price"),
    "following": flo.lead("cost", 2),
    "itself": flo.lag("at", 0),
    "known": flo.lag("big", 1, default=-1),
    "text": flo.lead("note", 1, default="none"),
}


def aggregates(**frame: Any) -> dict[str, Any]:
    return {
        "n": flo.count(**frame),
        "prices": flo.count("price", **frame),
        "total": flo.sum("price", **frame),
        "costs": flo.sum("cost", **frame),
        "huge": flo.sum("big", **frame),
        "mean": flo.avg("at", **frame),
        "cheapest": flo.min("price", **frame),
        "dearest": flo.max("price", **frame),
        "least_note": flo.min("note", **frame),
    }


def all_aggregates(**frame: Any) -> dict[str, Any]:
    """Those that slide over frames as on values."""
    return {
        "spread": flo.var_pop("at", **frame),
        "deviation": flo.stddev_samp("at", **frame),
        "together": flo.covar_pop("at", "at", **frame),
        "middle": flo.median("at", **frame),
        "quarter": flo.quantile("at", 0.25, **frame),
        "different": flo.count_distinct("price", **frame),
        "once": flo.sum("cost", distinct=True, **frame),
        "huge_once": flo.sum("big", distinct=True, **frame),
        "mean_once": flo.avg("at", distinct=True, **frame),
    }


def positions(**frame: Any) -> dict[str, Any]:
    return {
        "first_note": flo.first("note", **frame),
        "last_cost": flo.last("cost", **frame),
        "one": flo.first_value("note", **frame),
        "other": flo.last_value("cost", **frame),
        "second": flo.nth_value("price", 2, **frame),
    }


FUNCTIONS: dict[str, dict[str, Any]] = {
    "row_number": {"row": flo.row_number()},
    "rank": {"ranked": flo.rank()},
    "numbering": NUMBERING,
    "lag": {"previous": flo.lag("price")},
    "neighbours": NEIGHBOURS,
    "default frame": aggregates(),
    "running rows": aggregates(rows=(None, 0)),
    "rows around": aggregates(rows=(-2, 1)),
    "rows before": aggregates(rows=(-3, -1)),
    "rows behind": aggregates(rows=(1, 2)),
    "the rest": aggregates(rows=(0, None)),
    "almost all": aggregates(rows=(None, 1)),
    "all": aggregates(range=(None, None)),
    "peers": aggregates(range=(0, 0)),
    "peers and the rest": aggregates(range=(0, None)),
    "positions": positions(),
    "positions around": positions(rows=(-1, 2)),
    "all aggregates": all_aggregates(),
    "all aggregates around": all_aggregates(rows=(-2, 1)),
    "all aggregates before": all_aggregates(rows=(-3, -1)),
    "all aggregates of the rest": all_aggregates(rows=(0, None)),
    "all aggregates of peers": all_aggregates(range=(0, 0)),
    "texts": {"notes": flo.string_agg("note", "-", rows=(-2, 0)), "few": flo.string_agg("note", "", rows=(None, 0))},
    "sums": {"total": flo.sum("price", rows=(None, 0)), "n": flo.count(), "mean": flo.avg("cost", rows=(None, -1))},
    "mixed": {"ranked": flo.rank(), "previous": flo.lag("price"), "around": flo.sum("big", rows=(-1, 1))},
    "sometimes": {"high": flo.sum("at", where='"at" > 3'), "many": flo.count(where='"big" > 7', rows=(-2, 2))},
}
"""What is asked of sales, by name."""
ORDERS: dict[str, Any] = {
    "at": "at",
    "desc": flo.desc("price"),
    "nulls last": [flo.asc("cost", nulls_last=True), flo.desc("note")],
    "none": None,
    "total": [flo.desc("at"), "price", "cost", flo.desc("big"), flo.asc("note", nulls_last=True), "shop"],
}


CONDITIONS = {'"at" > 3': nw.col("at") > 3, '"big" > 7': nw.col("big") > 7}
"""What SQL and Flo call the same."""


def for_flo(functions: dict[str, Any]) -> dict[str, Any]:
    return {
        name: replace(each, where=CONDITIONS[each.where]) if getattr(each, "where", None) else each
        for name, each in functions.items()
    }


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.every(test=2)
def test_as_sql_has_it(name, seed):
    """In one order in a quick run; in all of them in a thorough one."""
    chosen = random.Random(f"{name} {seed}").sample(list(ORDERS), len(ORDERS) if is_thorough() else 1)
    if name == "positions":
        chosen = ["total"]  # which of several peers comes first is not decided in SQL
    for order in chosen:
        by = "shop" if seed == 0 else None
        compare(Sale, deltas(sale, seed * 1000 + len(name)), FUNCTIONS[name], by=by, order=ORDERS[order])


RANGES: dict[str, tuple[Any, Any, Any]] = {
    "numbers": (Sale, "at", [(-2, 1), (None, 2), (1, 3), (-3, -1), (-1, None)]),
    "floats": (Sale, flo.desc("price"), [(-1.5, 0), (-1, 2.75), (None, -0.5)]),
    "decimals": (Sale, flo.asc("cost", nulls_last=True), [(Decimal("-4.43"), 0), (-1, Decimal("1.1"))]),
    "days": (Event, flo.desc("day"), [(timedelta(days=-1), timedelta(days=1)), (timedelta(days=1), None)]),
    "moments": (Event, "at", [(timedelta(minutes=-60), 0), (timedelta(minutes=-30), timedelta(minutes=90))]),
    "local": (Event, "local", [(timedelta(hours=-3), timedelta(hours=2)), (timedelta(days=-1), timedelta(hours=-1))]),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", RANGES)
@pytest.mark.every(test=2)
def test_ranges_as_sql_has_them(name, seed):
    kind, order, bounds = RANGES[name]
    make, of, by = (sale, "at", "shop") if kind is Sale else (event, "size", "who")
    for place, frame in enumerate(bounds):
        functions = {"n": flo.count(range=frame), "most": flo.max(of, range=frame), "sum": flo.sum(of, range=frame)}
        functions |= {"middle": flo.median(of, range=frame), "once": flo.count_distinct(of, range=frame)}
        compare(kind, deltas(make, seed * 100 + place, count=4), functions, by=by if place % 2 else None, order=order)


def test_on_every_engine(engine):
    flow = flo.Flow("over")
    sales = flow.input("sales", flo.ZSet[Sale])
    by_shop = sales.over("shop", [flo.desc("price"), "at"])
    flow.output("ranked", by_shop.with_columns(place=flo.rank(), before=flo.lag("cost"), total=flo.sum("cost")))
    flow.output(
        "frames",
        by_shop.with_columns(
            notes=flo.collect("note", rows=(-2, 0)),
            kinds=flo.collect("note", distinct=True, rows=(-2, 0)),
            usual=flo.mode("note", rows=(None, 0)),
            dearest=flo.arg_max("big", "cost", rows=(-1, 1)),
            alike=flo.corr("at", "big", rows=(-3, 0)),
            high=flo.bool_and(nw.col("at") > 3, where=nw.col("big") > 7),
            middle=flo.median("cost", rows=(1, 3)),
            twice=flo.linear(["at", "big"], lambda totals: totals[0] * 2),
        ),
    )
    flow.output("first", sales.top(2, by="shop", order_by=flo.desc("price"), with_ties=True, rank="place"))
    flow.output("page", sales.limit(3, offset=1, order_by="at"))
    rows = dict(Counter(sale(random.Random(seed)) for seed in range(30)))
    expected = {name: comparable(value) for name, value in flow.run(sales=rows).items()}
    assert engine.run(flow, {"sales": rows}) == expected


class Typed(NamedTuple):
    key: str
    n: int
    maybe: int | None
    price: Annotated[Decimal, pa.decimal128(10, 2)]
    at: datetime


def test_types_are_derived():
    stream = flo.Flow("over").input("rows", flo.ZSet[Typed])
    whole, ordered = stream.over("key"), stream.over("key", "at")

    def kinds(over: Any, **functions: Any) -> list[Any]:
        return list(over.with_columns(**functions).collection.element.__annotations__.values())[5:]

    assert kinds(ordered, a=flo.rank(), b=flo.cume_dist(), c=flo.count("maybe")) == [int, float, int]
    assert kinds(ordered, a=flo.lag("n"), b=flo.lag("n", default=0), c=flo.lag("maybe", 1, 0)) == [
        int | None,
        int,
        int | None,
    ]
    digits = Annotated[Decimal, Digits(38, 2)]
    assert kinds(whole, a=flo.sum("n"), b=flo.sum("maybe"), c=flo.sum("price")) == [
        IntSum,
        IntSum | None,
        digits,
    ]
    assert kinds(ordered, a=flo.avg("n", rows=(-2, -1)), b=flo.max("at", rows=(0, 1))) == [float | None, datetime]
    assert kinds(ordered, a=flo.min("n", where=nw.col("n") > 0), b=flo.first_value("n")) == [int | None, int]
    assert kinds(ordered, a=flo.nth_value("n", 1), b=flo.first("key", rows=(1, 2))) == [int | None, str | None]


def test_a_column_is_replaced_in_its_place():
    stream = flo.Flow("over").input("rows", flo.ZSet[Typed])
    made = stream.over("key", "at").with_columns(maybe=flo.lag("maybe"), place=flo.rank(), key=flo.count())
    assert made.collection.element._fields == ("key", "n", "maybe", "price", "at", "place")
    assert made.collection.element.__annotations__["key"] is int


REFUSED = {
    "nothing": (lambda rows: rows.over("key").with_columns(), "at least one window function"),
    "no function": (
        lambda rows: rows.over("key").with_columns(a="n"),
        "`a` of `with_columns` must be a window function",
    ),
    "no column": (
        lambda rows: rows.over("kee").with_columns(a=flo.rank()),
        "`partition_by` of `over` gets the column `kee`",
    ),
    "no order": (lambda rows: rows.over("key", 3), "`order_by` of `over` must be columns"),
    "no number": (lambda rows: rows.over().with_columns(a=flo.sum("key")), "adds one number per row"),
    "two columns": (lambda rows: rows.over().with_columns(a=flo.max(("n", "key"))), "must read one column"),
    "another order": (
        lambda rows: rows.over("key", "at").with_columns(a=flo.first("n", order_by="price")),
        "`a` of `with_columns` must not have `order_by`: the rows have the order of `over`",
    ),
    "two frames": (
        lambda rows: rows.over().with_columns(a=flo.sum("n", rows=(0, 1), range=(0, 0))),
        "`rows` or `range`, not both",
    ),
    "no pair": (lambda rows: rows.over().with_columns(a=flo.sum("n", rows=3)), "`rows` of `a` must be a pair"),
    "fractions": (lambda rows: rows.over().with_columns(a=flo.sum("n", rows=(0.5, 1))), "must be integers or None"),
    "backwards": (lambda rows: rows.over().with_columns(a=flo.sum("n", rows=(1, -1))), "not behind its second"),
    "no order column": (
        lambda rows: rows.over("key").with_columns(a=flo.sum("n", range=(-1, 0))),
        "unless `order_by` is one column",
    ),
    "two order columns": (
        lambda rows: rows.over("key", ["n", "at"]).with_columns(a=flo.sum("n", range=(-1, 0))),
        "unless `order_by` is one column",
    ),
    "another offset": (
        lambda rows: rows.over("key", "at").with_columns(a=flo.sum("n", range=(-1, 0))),
        "must be timedeltas, which can be added to datetime",
    ),
    "another default": (
        lambda rows: rows.over("key", "at").with_columns(a=flo.lag("n", 1, default="x")),
        "`default` of `lag` must be int",
    ),
    "no distance": (lambda rows: flo.lag("n", -1), "`distance` of `lag` must be an integer ≥ 0; got -1"),
    "no buckets": (lambda rows: flo.ntile(0), "`buckets` of `ntile` must be an integer ≥ 1; got 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    make, message = REFUSED[name]
    with pytest.raises(TypeMismatch, match=message):
        make(flo.Flow("over").input("rows", flo.ZSet[Typed]))


def test_other_collections_are_refused():
    with pytest.raises(CollectionError, match="`over` requires ZSet"):
        flo.Flow("over").input("rows", flo.Bag[Typed]).over("key")


def test_a_checkpoint_resumes(tmp_path):
    def program() -> flo.Flow:
        flow = flo.Flow("resumed")
        sales = flow.input("sales", flo.ZSet[Sale])
        functions = {**NUMBERING, "before": flo.lag("cost", 2, default=Decimal("0.00")), "sum": flo.sum("price")}
        flow.output("out", sales.over("shop", flo.desc("at")).with_columns(**functions))
        return flow

    chunks = deltas(sale, 3)
    expected = rows_of(_pushed(program().loop(), chunks).result()["out"])
    values = _pushed(program().loop(), chunks[:4])
    resumed = program().loop()
    resumed.restore(values.checkpoint())
    assert rows_of(_pushed(resumed, chunks[4:]).result()["out"]) == expected
    _pushed(program().on(flo.here).loop(negative="allow"), chunks[:4]).checkpoint(tmp_path)
    tables = program().on(flo.here).loop(negative="allow")
    tables.restore(tmp_path)
    assert rows_of(_pushed(tables, chunks[4:]).result()["out"]) == expected


def _pushed(loop: Any, chunks: list[dict[Any, int]]) -> Any:
    for chunk in chunks:
        loop.push(sales=chunk)
        loop.run()
    return loop


ROUNDED = ("spread", "deviation", "together")
"""What DuckDB rounds on the way, so that its results of many rows differ."""
LONG = {
    **{
        name: {column: each for column, each in functions.items() if column not in ROUNDED}
        for name, functions in FUNCTIONS.items()
    },
    "span": {"a": flo.sum("at", range=(-20, 5)), "b": flo.max("price", range=(-3, 3)), "c": flo.lag("price", 3)},
    "running span": {"a": flo.sum("at", range=(None, 5)), "r": flo.rank()},
}
SAMPLED = ("mixed", "sums", "span", "rows around")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [each if each in SAMPLED else pytest.param(each, marks=pytest.mark.thorough) for each in LONG]
)
@pytest.mark.every(test=2)
def test_long_partitions_as_sql_has_them(name):
    """Small changes of many rows, on tables."""
    rng = random.Random(name)
    flow = flo.Flow("long")
    rows = flow.input("rows", flo.ZSet[Sale]).over("shop", "at").with_columns(**for_flo(LONG[name]))
    flow.output("out", all_digits(rows))
    loop, weights = flow.on(flo.here).loop(), Counter()
    for turn in range(8):
        delta: Counter[Any] = Counter()
        for _ in range(rng.choice([1, 3, 40]) if turn else 1500):
            if turn and rng.random() < 0.4:
                delta[rng.choice(list(weights))] = -1
            else:
                delta[sale(rng)._replace(at=rng.randrange(2000))] += 1
        weights.update(delta)
        weights = +weights
        loop.push(rows=dict(delta))
        if name != "positions":  # which of several peers comes first is not decided in SQL
            assert rows_of(loop.result()["out"]) == expected(Sale, dict(weights), ["shop"], "at", LONG[name])

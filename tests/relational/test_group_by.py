"""group_by(…).agg(…): every aggregate, with conditions, null keys, grouping sets, and one row of all rows."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.values.canonical import instant_element
from flo.values.exact import to_float
from tests.engines.engine import Engine, comparable
from tests.relational.harness import Query, Source, agree
from tests.relational.rows import SALES, Sale, draw_sale, exact_mean, exact_sum

pytestmark = pytest.mark.every(check=5)

HOT = nw.col("qty") > 1


def pairs_of(values: list[Any]) -> tuple[list[Fraction], list[Fraction]] | None:
    """Pairs of exact numbers; None if one is not finite."""
    numbers = [(each["x"], each["y"]) for each in values]
    if not all(math.isfinite(part) for each in numbers for part in each):
        return None
    return [Fraction(x) for x, _ in numbers], [Fraction(y) for _, y in numbers]


def variance(less: int, root: bool = False) -> Any:
    """Of exact numbers, rounded once: DuckDB stops at infinities and at what is too large for a float."""

    def of(values: list[Any]) -> float | None:
        if len(values) <= less:
            return None
        if not all(map(math.isfinite, values)):
            return math.nan
        exact = list(map(Fraction, values))
        middle = sum(exact) / len(exact)
        found = sum((each - middle) ** 2 for each in exact) / (len(exact) - less)
        if not root:
            return to_float(found)
        return to_float(Fraction(math.isqrt(int(found * 4**1200)), 2**1200))

    return of


def covariance(less: int) -> Any:
    def of(values: list[Any]) -> float | None:
        if len(values) <= less:
            return None
        found = pairs_of(values)
        if found is None:
            return math.nan
        x, y = found
        middle, other = sum(x) / len(x), sum(y) / len(y)
        return to_float(sum((a - middle) * (b - other) for a, b in zip(x, y, strict=True)) / (len(x) - less))

    return of


def correlation(values: list[Any]) -> float | None:
    """NaN if one does not vary. DuckDB gives null or NaN, as the sums happen to be rounded."""
    if not values:
        return None
    found = pairs_of(values)
    if found is None or len(set(found[0])) < 2 or len(set(found[1])) < 2:
        return math.nan
    x, y = found
    middle, other = sum(x) / len(x), sum(y) / len(y)
    both = sum((a - middle) * (b - other) for a, b in zip(x, y, strict=True))
    square = both**2 / (sum((a - middle) ** 2 for a in x) * sum((b - other) ** 2 for b in y))
    return math.sqrt(square) * (1 if both >= 0 else -1)


def least_mode(values: list[Any]) -> Any:
    """The least of the most frequent values. DuckDB gives the one that came first."""
    found = statistics.multimode(values)
    return min(found) if found else None


def lower(at: Fraction) -> Any:
    """The value at q · (n - 1), or the one below. DuckDB's `quantile_disc` counts otherwise."""
    return lambda values: sorted(values)[math.floor(at * (len(values) - 1))] if values else None


def exact_quantile(at: Fraction) -> Any:
    """On the line between the two values next to q · (n - 1), rounded once; DuckDB rounds in between."""

    def of(values: list[Any]) -> float | None:
        if not values:
            return None
        ordered, place = sorted(map(Fraction, values)), at * (len(values) - 1)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        return to_float(low + (place - math.floor(place)) * (high - low))

    return of


FIRST = "(list({of} ORDER BY {order}){where})[1]"
BY_ITEM = "item ASC"
# name: (the aggregate, the query, what is left to do)
AGGREGATES: dict[str, tuple[Any, str, Any]] = {
    "n": (flo.count(), "count(*)", None),
    "n_of": (flo.count("price"), "count(price)", None),
    "n_hot": (flo.count(where=HOT), "count(*) FILTER (qty > 1)", None),
    "n_ok": (flo.count("big", where=nw.col("ok")), "count(big) FILTER (ok)", None),
    "total": (flo.sum("qty"), "sum(qty)", None),
    "total_big": (flo.sum("big"), "sum(big)", None),
    "total_cost": (flo.sum("cost"), "sum(cost)", None),
    "total_price": (flo.sum("price"), "list(price) FILTER (price IS NOT NULL)", exact_sum),
    "total_tame": (flo.sum("tame", where=HOT), "sum(tame) FILTER (qty > 1)", "close"),
    "total_ok": (flo.sum(nw.col("qty") * 2, where=nw.col("ok")), "sum(qty * 2) FILTER (ok)", None),
    "mean": (flo.avg("qty"), "avg(qty)", "close"),
    "mean_big": (flo.avg("big"), "list(big) FILTER (big IS NOT NULL)", exact_mean),
    "mean_price": (flo.avg("price"), "list(price) FILTER (price IS NOT NULL)", exact_mean),
    "mean_cost": (flo.avg("cost"), "avg(cost)", "close"),
    "least": (flo.min("price"), "min(price)", None),
    "greatest": (flo.max("price"), "max(price)", None),
    "least_item": (flo.min("item"), "min(item)", None),
    "latest": (flo.max("sold"), "max(sold)", None),
    "dearest_cost": (flo.max("cost", where=HOT), "max(cost) FILTER (qty > 1)", None),
    "different": (flo.count_distinct("price"), "count(DISTINCT price)", None),
    "different_items": (flo.count_distinct("item", where=HOT), "count(DISTINCT item) FILTER (qty > 1)", None),
    "different_pairs": (
        flo.count_distinct("item", "big"),
        "count(DISTINCT (item, big)) FILTER (big IS NOT NULL)",
        None,
    ),
    "once": (flo.sum("big", distinct=True), "sum(DISTINCT big)", None),
    "once_price": (flo.sum("price", distinct=True), "list(DISTINCT price) FILTER (price IS NOT NULL)", exact_sum),
    "mean_once": (flo.avg("big", distinct=True), "list(DISTINCT big) FILTER (big IS NOT NULL)", exact_mean),
    "mean_price_once": (flo.avg("price", distinct=True), "list(DISTINCT price) FILTER (price IS NOT NULL)", exact_mean),
    "mean_cost_once": (flo.avg("cost", distinct=True, where=HOT), "avg(DISTINCT cost) FILTER (qty > 1)", "close"),
    "var_once": (flo.var_pop("price", distinct=True), "list(DISTINCT price) FILTER (price IS NOT NULL)", variance(0)),
    "root_once": (
        flo.stddev_samp("cost", distinct=True),
        "list(DISTINCT cost) FILTER (cost IS NOT NULL)",
        variance(1, root=True),
    ),
    "corr_once": (flo.corr("tame", "qty", distinct=True), "list(DISTINCT {x: tame, y: qty})", correlation),
    "all_ok": (flo.bool_and("ok"), "bool_and(ok)", None),
    "any_ok": (flo.bool_or("ok"), "bool_or(ok)", None),
    "none_hot": (flo.bool_and("ok", where=HOT), "bool_and(ok) FILTER (qty > 1)", None),
    # ties: the least, where DuckDB gives any
    "dearest": (
        flo.arg_max("item", "price"),
        FIRST.format(of="item", order="price DESC, item", where=" FILTER (price IS NOT NULL)"),
        None,
    ),
    "cheapest": (
        flo.arg_min("big", "cost"),
        FIRST.format(of="big", order="cost, big", where=" FILTER (cost IS NOT NULL AND big IS NOT NULL)"),
        None,
    ),
    "first": (
        flo.first("price", order_by=[flo.desc("qty"), "item"]),
        FIRST.format(of="price", order="qty DESC, item, price", where=" FILTER (price IS NOT NULL)"),
        None,
    ),
    "last": (
        flo.last("item", order_by=flo.asc("price", nulls_last=True)),
        "(list(item ORDER BY price ASC NULLS LAST, item))[-1]",
        None,
    ),
    "first_hot": (
        flo.first("item", order_by="qty", where=nw.col("ok")),
        FIRST.format(of="item", order="qty, item", where=" FILTER (ok)"),
        None,
    ),
    "all_items": (flo.collect("item"), "list(item ORDER BY item)", tuple),
    "all_big": (flo.collect("big", distinct=True), "list(DISTINCT big ORDER BY big) FILTER (big IS NOT NULL)", tuple),
    "all_ordered": (
        flo.collect("qty", order_by=flo.desc("item"), where=HOT),
        "list(qty ORDER BY item DESC, qty) FILTER (qty > 1)",
        tuple,
    ),
    "by_price": (
        flo.collect("item", order_by=flo.desc("price", nulls_last=True)),
        "list(item ORDER BY price DESC NULLS LAST, item)",
        tuple,
    ),
    "joined": (flo.string_agg("item", "-"), "string_agg(item, '-' ORDER BY item)", None),
    "joined_once": (
        flo.string_agg("item", "", distinct=True, where=HOT),
        "string_agg(DISTINCT item, '' ORDER BY item) FILTER (qty > 1)",
        None,
    ),
    "middle": (flo.median("qty"), "median(qty)", "close"),
    "middle_tame": (flo.quantile("tame", 0.3), "quantile_cont(tame, 0.3)", "close"),
    "middle_finite": (
        flo.median("finite"),
        "list(finite) FILTER (finite IS NOT NULL)",
        exact_quantile(Fraction(1, 2)),
    ),
    "part_big": (flo.quantile("big", 0.3), "list(big) FILTER (big IS NOT NULL)", exact_quantile(Fraction(3, 10))),
    "low": (
        flo.quantile("big", 0.3, interpolation="lower"),
        "list(big) FILTER (big IS NOT NULL)",
        lower(Fraction(3, 10)),
    ),
    "usual": (flo.mode("item"), "list(item)", least_mode),
    # one column for two arguments
    "in_order": (flo.collect("item", order_by=flo.desc("item")), "list(item ORDER BY item DESC)", tuple),
    "most": (flo.arg_max("big", by="big"), "max(big)", None),
    "different_twice": (flo.count_distinct("item", "item"), "count(DISTINCT item)", None),
}
MOMENTS: dict[str, tuple[Any, str, Any]] = {
    "var_samp": (flo.var_samp("tame"), "var_samp(tame)", "close"),
    "var_pop": (flo.var_pop("qty"), "var_pop(qty)", "close"),
    "stddev_samp": (flo.stddev_samp("qty", where=HOT), "stddev_samp(qty) FILTER (qty > 1)", "close"),
    "stddev_pop": (flo.stddev_pop("tame"), "stddev_pop(tame)", "close"),
    "covar_samp": (flo.covar_samp("tame", "qty"), "covar_samp(tame, qty)", "close"),
    "covar_pop": (flo.covar_pop("tame", "qty"), "covar_pop(tame, qty)", "close"),
    "var_finite": (flo.var_samp("finite"), "list(finite) FILTER (finite IS NOT NULL)", variance(1)),
    "var_price": (flo.var_pop("price"), "list(price) FILTER (price IS NOT NULL)", variance(0)),
    "var_big": (flo.var_pop("big"), "list(big) FILTER (big IS NOT NULL)", variance(0)),
    "root_cost": (flo.stddev_samp("cost"), "list(cost) FILTER (cost IS NOT NULL)", variance(1, root=True)),
    "root_finite": (flo.stddev_pop("finite"), "list(finite) FILTER (finite IS NOT NULL)", variance(0, root=True)),
    "covar_big": (
        flo.covar_samp("big", "finite"),
        "list({x: big, y: finite}) FILTER (big IS NOT NULL AND finite IS NOT NULL)",
        covariance(1),
    ),
    "covar_price": (
        flo.covar_pop("cost", "price"),
        "list({x: cost, y: price}) FILTER (cost IS NOT NULL AND price IS NOT NULL)",
        covariance(0),
    ),
    "corr": (flo.corr("tame", "qty"), "list({x: tame, y: qty})", correlation),
    "corr_big": (
        flo.corr("big", "finite"),
        "list({x: big, y: finite}) FILTER (big IS NOT NULL AND finite IS NOT NULL)",
        correlation,
    ),
}


def chosen(names: list[str]) -> dict[str, tuple[Any, str, Any]]:
    return {name: {**AGGREGATES, **MOMENTS}[name] for name in names}


def aggregates(of: dict[str, tuple[Any, str, Any]]) -> dict[str, Any]:
    return {name: spec for name, (spec, _, _) in of.items()}


def query(of: dict[str, tuple[Any, str, Any]], keys: str = "", more: str = "") -> Query:
    columns = ", ".join(f"{sql} AS {name}" for name, (_, sql, _) in of.items())
    close = frozenset(name for name, (_, _, left) in of.items() if left == "close" or left is correlation)
    lists = {name: left for name, (_, _, left) in of.items() if callable(left)}
    return Query(f"SELECT {keys}{columns} FROM sales {more}", close, lists)


def sales_of(flow: flo.Flow) -> Any:
    return flow.input("sales", flo.ZSet[Sale])


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 12))])
@pytest.mark.every(test=2)
def test_every_aggregate(seed: int) -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("every aggregate")
        sales = sales_of(flow)
        flow.output("by_shop", sales.group_by("shop").agg(**aggregates(AGGREGATES)))
        flow.output("whole", sales.agg(**aggregates(AGGREGATES)))
        return flow

    queries = {
        "by_shop": query(AGGREGATES, "shop, ", "GROUP BY shop"),
        "whole": query(AGGREGATES),
    }
    agree(build, SALES, queries, seed=seed)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 12))])
def test_moments(seed: int) -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("moments")
        sales = sales_of(flow)
        flow.output("by_shop", sales.group_by("shop").agg(**aggregates(MOMENTS)))
        flow.output("whole", sales.agg(**aggregates(MOMENTS)))
        return flow

    agree(
        build,
        SALES,
        {"by_shop": query(MOMENTS, "shop, ", "GROUP BY shop"), "whole": query(MOMENTS)},
        seed=seed,
        steps=8,
        size=5,
    )


SOME = chosen(["n", "total_big", "total_price", "least", "different", "all_items", "usual"])


@pytest.mark.parametrize("column", ["price", "big", "cost", "sold", "ok", "item"])
def test_groups_of_every_kind(column: str) -> None:
    """NaN is one group, 0.0 and -0.0 are one, instants are equal whatever their zone, and null is one group."""

    def build() -> flo.Flow:
        flow = flo.Flow("groups")
        flow.output("found", sales_of(flow).group_by(column).agg(**aggregates(SOME)))
        return flow

    agree(build, SALES, {"found": query(SOME, f"{column}, ", f"GROUP BY {column}")}, seed=3, steps=8)


class Reading(NamedTuple):
    place: str
    value: float
    number: int
    name: str


def draw_reading(rng: random.Random) -> Reading:
    value = rng.choice([rng.random(), 0.5, math.nan, -math.inf])
    return Reading(rng.choice("aab"), value, rng.randrange(1000), rng.choice("xyz"))


def test_large_groups() -> None:
    """So many values that they are searched, and not read one by one; the first and last ones come and go."""
    of: dict[str, tuple[Any, str, Any]] = {
        "least": (flo.min("value"), "min(value)", None),
        "greatest": (flo.max("value"), "max(value)", None),
        "name": (flo.arg_max("name", "value"), FIRST.format(of="name", order="value DESC, name", where=""), None),
        "other": (flo.arg_min("name", "value"), FIRST.format(of="name", order="value, name", where=""), None),
        "first": (
            flo.first("value", order_by=["name", flo.desc("number")]),
            FIRST.format(of="value", order="name, number DESC, value", where=""),
            None,
        ),
        "last": (flo.last("number", order_by="name"), "(list(number ORDER BY name, number))[-1]", None),
        "different": (flo.count_distinct("number"), "count(DISTINCT number)", None),
        "middle": (flo.median("number"), "median(number)", "close"),
        "spread": (flo.var_samp("number"), "var_samp(number)", "close"),
    }

    def build() -> flo.Flow:
        flow = flo.Flow("large")
        readings = flow.input("readings", flo.ZSet[Reading])
        flow.output("found", readings.group_by("place").agg(**aggregates(of)))
        return flow

    made = query(of, "place, ", "GROUP BY place")
    found = Query(made.sql.replace("FROM sales", "FROM readings"), made.close, made.of_lists)
    agree(build, {"readings": Source(Reading, draw_reading)}, {"found": found}, seed=8, steps=10, size=150)


def test_groups_of_expressions() -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("groups")
        flow.output("found", sales_of(flow).group_by("ok", long=nw.col("qty") > 2).agg(**aggregates(SOME)))
        return flow

    agree(build, SALES, {"found": query(SOME, "ok, qty > 2 AS long, ", "GROUP BY ALL")}, seed=4, steps=8)


def test_grouping_sets() -> None:
    some = chosen(["n", "total_big", "least_item", "different"])

    def build() -> flo.Flow:
        flow = flo.Flow("sets")
        sales = sales_of(flow)
        flow.output("rollup", sales.rollup("shop", "ok").agg(**aggregates(some), id=flo.grouping_id()))
        flow.output("cube", sales.cube("shop", "qty").agg(**aggregates(some), id=flo.grouping_id()))
        flow.output("sets", sales.grouping_sets(["shop", "ok"], ["qty"], []).agg(**aggregates(some)))
        return flow

    def grouped(keys: str, by: str, identifier: str = "") -> Query:
        made = query(some, keys, "")
        return Query(made.sql.replace(" FROM sales ", f"{identifier} FROM sales GROUP BY {by}"), made.close)

    queries = {
        "rollup": grouped("shop, ok, ", "ROLLUP (shop, ok)", ", grouping(shop, ok)"),
        "cube": grouped("shop, qty, ", "CUBE (shop, qty)", ", grouping(shop, qty)"),
        "sets": grouped("shop, ok, qty, ", "GROUPING SETS ((shop, ok), (qty), ())"),
    }
    agree(build, SALES, queries, seed=5)


def build_some() -> flo.Flow:
    flow = flo.Flow("some")
    sales = sales_of(flow)
    several = chosen(
        ["n", "total_big", "total_price", "mean_cost", "least", "dearest", "different", "once", "all_items", "usual"]
    )
    flow.output("by_shop", sales.group_by("shop").agg(**aggregates(several)))
    flow.output("by_price", sales.group_by("price").agg(**aggregates(chosen(["n", "var_big", "middle"]))))
    flow.output("rollup", sales.rollup("shop", "ok").agg(**aggregates(several), id=flo.grouping_id()))
    flow.output("whole", sales.agg(**aggregates(chosen(["n", "latest", "corr", "joined"]))))
    flow.output("sums", sales.group_by("shop", "ok").agg(n=flo.count()).group_by("n").agg(shops=flo.count()))
    return flow


@pytest.mark.sampled(spark=())
def test_on_every_engine(engine: Engine) -> None:
    """Rows are sent to the place of their group, and of one group if there are no columns."""
    rng, data = random.Random(11), Counter[Any]()
    for _ in range(60):
        data[instant_element(draw_sale(rng))] += rng.choice([1, 1, 2])
    expected = {name: comparable(value) for name, value in build_some().run(sales=dict(data)).items()}
    assert engine.run(build_some(), {"sales": dict(data)}) == expected


def test_explain_names_the_columns() -> None:
    flow = flo.Flow("explained")
    flow.output("found", sales_of(flow).group_by("shop").agg(n=flo.count(), best=flo.max("qty")))
    assert 'group_by("shop").agg(n=flo.count(), best=flo.max("qty"))' in flow.explain()
    assert "totals: a trace; traces: 2 traces" in flow.on(flo.here).explain()

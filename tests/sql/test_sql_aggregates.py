"""Aggregates, window functions and generators give what batch Spark gives, while rows come and go."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from tests.sql.compared import compare


class Reading(NamedTuple):
    id: int
    place: str | None
    n: int | None
    x: float | None
    price: Decimal | None


SCHEMA = "id bigint, place string, n bigint, x double, price decimal(38, 18)"
MOST = 2**63 - 1
READINGS = [
    Reading(1, "a", 5, 0.5, Decimal("1.10")),
    Reading(2, "a", -1, math.nan, None),
    Reading(3, "b", MOST, math.inf, Decimal("-2.5")),
    Reading(4, None, None, None, None),
    Reading(5, "b", -MOST - 1, 0.0, Decimal("1.10")),
    Reading(6, "a", 5, 2.25, Decimal("7")),
    Reading(7, "", 6, -3.0, Decimal("7")),
]
GONE = [READINGS[5], READINGS[3], READINGS[2]]
AGGREGATES = (
    "bit_and(n)",
    "bit_or(n)",
    "bit_xor(n)",
    "bit_or(CAST(id AS TINYINT)) FILTER (WHERE n > 0)",
    "bit_and(DISTINCT CAST(-id AS SMALLINT))",
    "listagg(place, '|') WITHIN GROUP (ORDER BY id DESC)",
    "listagg(place) WITHIN GROUP (ORDER BY n NULLS LAST, id)",
    "string_agg(DISTINCT place, ',') WITHIN GROUP (ORDER BY place DESC)",
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY x)",
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY price DESC)",
    "percentile_disc(array(0.0, 0.5, 1.0)) WITHIN GROUP (ORDER BY id)",
    "percentile(id, array(0.25, 0.5))",
    "percentile_cont(array(0.1)) WITHIN GROUP (ORDER BY x DESC)",
    "mode(price, true)",
    "mode() WITHIN GROUP (ORDER BY price DESC)",
    "mode() WITHIN GROUP (ORDER BY price)",
    "regr_count(id, n)",
    "regr_avgx(x, id)",
    "regr_avgy(x, id)",
    "regr_sxx(price, id)",
    "regr_syy(price, id)",
    "regr_sxy(price, id)",
    "regr_slope(id, 2 * id)",
    "regr_intercept(id, 2 * id)",
    "regr_r2(id, 2 * id)",
    "regr_r2(1, id)",
    "regr_slope(id, 1)",
    "any_value(substring(place, 5))",
    "stddev(x) FILTER (WHERE id = 3)",
    "corr(id, x) FILTER (WHERE id = 3)",
    "covar_samp(id, x) FILTER (WHERE id = 3)",
)
WINDOWS = (
    "bit_xor(n) OVER (PARTITION BY place)",
    "stddev_pop(id) OVER (PARTITION BY place)",
    "median(id) OVER ()",
    "lag(n) IGNORE NULLS OVER (ORDER BY id)",
    "lead(place, 1, 'none') IGNORE NULLS OVER (ORDER BY id DESC)",
    "lag(n, 1, id) OVER (ORDER BY id)",
    "lead(n, -2, -id) OVER (PARTITION BY place ORDER BY id)",
)
LISTED = ", ".join(f"{each} AS a{at}" for at, each in enumerate(AGGREGATES))
QUERIES = {
    "groups": f"SELECT place, {LISTED} FROM readings GROUP BY place",
    "all": f"SELECT {LISTED} FROM readings",
    "windows": f"SELECT id, {', '.join(f'{each} AS w{at}' for at, each in enumerate(WINDOWS))} FROM readings",
    "generators": """
        SELECT place, at, item, key
        FROM (SELECT place, listagg(id) WITHIN GROUP (ORDER BY id) AS ids FROM readings GROUP BY place)
        LATERAL VIEW OUTER posexplode(split(ids, '')) AS at, item LATERAL VIEW explode(map(ids, 1)) AS key, one""",
}


@pytest.mark.every(test=4)
@pytest.mark.parametrize("name", QUERIES)
def test_as_spark_has_them(name: str, spark: Any) -> None:
    """The same on values and on tables."""
    text = QUERIES[name]
    flow = flo.Flow("readings")
    readings = flow.input("readings", flo.ZSet[Reading])
    flow.output("out", flow.sql(text, readings=readings))
    loop = flow.on(flo.here).loop()
    now: dict[str, int] = {}
    for left, delta in ((READINGS, dict.fromkeys(READINGS, 1)), (_left(), dict.fromkeys(GONE, -1))):
        spark.createDataFrame(left, SCHEMA).createOrReplaceTempView("readings")
        expected = sorted(repr(tuple(map(_plain, row))) for row in spark.sql(text).collect())
        loop.push(readings=delta)
        for row in loop.pull("out").to_pylist():
            *values, weight = row.values()
            key = repr(tuple(map(_plain, values)))
            now[key] = now.get(key, 0) + weight
        assert sorted(key for key, weight in now.items() for _ in range(weight)) == expected
        on_values = flow.run(readings=left)["out"]
        assert sorted(repr(tuple(map(_plain, row))) for row in on_values) == expected


def _left() -> list[Reading]:
    return [each for each in READINGS if each not in GONE]


def _plain(value: Any) -> Any:
    """Return a value to compare: floats with 14 digits, as Spark's sums of squares depend on the order of rows."""
    if isinstance(value, float):
        return f"{value:.14g}"
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.thorough
def test_variances_out_of_range(spark: Any) -> None:
    """Spark's own sums of squares overflow: an infinity, or NaN where it multiplies one with zero."""
    schema = pa.schema([pa.field("x", pa.float64())])
    text = "SELECT stddev(x) AS a, stddev_pop(x) AS b, variance(x) AS c, var_pop(x) AS d FROM t"
    for first, second in ((1e308, -1e308), (1e308, 2.0), (1e200, 3e200), (1e154, -1e154), (1e3, 2e3)):
        deltas = [[(first, 1)], [(second, 1)], [(1.0, 1), (first, -1)]]
        compare(spark, text, {"t": schema}, [{"t": delta} for delta in deltas])

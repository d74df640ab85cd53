"""Functions that Flo does not compute, in every place where a query may have one, compared with batch Spark.

Catalyst runs them, so their results are right by definition. What is compared is that each reaches Catalyst with the
right operands, mode and time zone, and that its errors come back as errors of the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import flo
from flo.sql.nodes import SqlError
from tests.sql.compared import compare
from tests.sql.oracle import make_flow

SCHEMA = pa.schema(
    [
        pa.field("i", pa.int32(), False),
        pa.field("s", pa.string()),
        pa.field("x", pa.float64()),
        pa.field("d", pa.decimal128(10, 3)),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
    ]
)
ZONE = "spark.sql.session.timeZone"
SUMMER, WINTER = datetime(2024, 3, 31, 0, 59, 59, 5, UTC), datetime(2024, 10, 27, 1, 30, tzinfo=UTC)
DELTAS = [
    [
        (1, "Straße 12", 2.5, Decimal("-1.555"), date(2024, 2, 29), SUMMER, 1),
        (2, " 42 ", -0.5, Decimal("1234567.125"), date(1, 2, 1), WINTER, 2),
        (3, None, None, None, None, None, 1),
    ],
    [
        (2, " 42 ", -0.5, Decimal("1234567.125"), date(1, 2, 1), WINTER, -1),
        (4, "a,b,,c", 1e300, Decimal("0.005"), date(9998, 12, 31), datetime(1969, 12, 31, tzinfo=UTC), 1),
    ],
]
VALUES = {
    "letters": "initcap(max(s)), soundex(max(s)), nanvl(max(x), 1D)",
    "parts of strings": """lpad(max(s), 12, '_'), replace(max(s), 'a', min(s)), instr(max(s), 'b'),
        concat_ws('-', max(s), i),
        split_part(max(s), ',', 2), substring_index(max(s), ',', 2), trim('a ' FROM max(s)), max(s) LIKE min(s),
        substring(max(s), i, 2), repeat(max(s), i), overlay(max(s) PLACING 'xy' FROM 2), ascii(max(s)), chr(64 + i)""",
    "hashes": "md5(max(s)), sha2(max(s), 256), crc32(max(s)), size(collect_list(s))",
    "powers": "exp(avg(x)), ln(avg(x)), log10(avg(x)), log(2, avg(x)), pow(avg(x), 1.5D), sqrt(avg(x)), sign(avg(x))",
    "rounding": "bround(max(d), 1), ceil(max(d)), floor(max(d), 1), round(max(d), -1), round(max(x), 1), max(d) % 0.7",
    "integers": "max(i) DIV 2, pmod(-max(i), 3), max(i) | 8, ~max(i), shiftleft(max(i), 3), try_add(max(i), 1)",
    "casts": """try_cast(max(s) AS INT), try_cast(max(s) AS DOUBLE), try_cast(max(s) AS DECIMAL(9, 2)),
        CAST(max(x) AS STRING),
        try_cast(max(x) AS INT), CAST(max(at) AS STRING), CAST(max(day) AS TIMESTAMP), CAST(max(at) AS DATE),
        CAST(max(d) AS STRING), try_cast(max(s) AS DATE), CAST(max(at) AS BIGINT)""",
    "dates": """add_months(max(day), i), last_day(max(day)), trunc(max(day), 'quarter'), max(day) + INTERVAL '1' MONTH,
        try_to_date(max(s)), make_date(2024, i, 29), unix_date(max(day))""",
    "times": """hour(max(at)), second(max(at)), date_trunc('hour', max(at)), max(at) + INTERVAL '1 2' DAY TO HOUR,
        max(at) - INTERVAL '1' MONTH, max(at) - min(at), unix_timestamp(max(at)), extract(SECOND FROM max(at)),
        from_utc_timestamp(max(at), 'America/St_Johns')""",
}
"""Expressions above a group."""
PLACES = {
    "at an input": "i, initcap(s) AS v FROM t WHERE hour(at) >= 0",
    "the condition of an outer join": "t.i, u.i AS j FROM t LEFT JOIN t u ON t.i <= u.i AND initcap(t.s) <> u.s",
    "a key of a join": "t.i, u.s FROM t JOIN t u ON initcap(t.s) = initcap(u.s)",
    "a semi join": "i FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.i > t.i AND initcap(u.s) > soundex(t.s))",
    "NOT IN": "i FROM t WHERE initcap(s) NOT IN (SELECT initcap(s) FROM t WHERE s IS NOT NULL AND i > 2)",
    "a key of a group": "date_trunc('month', at) AS m, count(*) AS n FROM t GROUP BY 1",
    "an aggregate with a filter": "sum(CAST(s AS INT)) FILTER (WHERE s RLIKE '^ *[0-9]+ *$') AS n FROM t",
    "HAVING": "i FROM t GROUP BY i HAVING pow(max(x), 2) > 1",
    "a window": "i, sum(length(soundex(s))) OVER (PARTITION BY initcap(left(s, 1)) ORDER BY pow(x, 2), i) AS n FROM t",
    "a scalar subquery": "i, ln(i + (SELECT max(i) FROM t)) AS n FROM t",
    "a branch": "i, CASE WHEN x > 0 THEN ln(x) ELSE CAST(s AS INT) END AS n FROM t WHERE s LIKE '%2%'",
    "a limit": "i FROM t ORDER BY soundex(s) DESC NULLS LAST, i LIMIT 2",
    "a constant that fails": "i, CASE WHEN i > 100 THEN CAST('x' AS INT) ELSE CAST('7' AS INT) END AS n FROM t",
    "an error": "i, CAST(max(s) AS INT) AS n FROM t WHERE i > 1 GROUP BY i",
}
"""Queries with such a function in other places."""


@pytest.fixture(autouse=True)
def summer_time(spark: Any) -> Iterator[None]:
    """A time zone in which the clocks change."""
    before = spark.conf.get(ZONE)
    spark.conf.set(ZONE, "Europe/Berlin")
    yield
    spark.conf.set(ZONE, before)


def as_in_batch_spark(spark: Any, text: str) -> None:
    assert "native: " in make_flow(text, {"t": SCHEMA}).explain()
    compare(spark, text, {"t": SCHEMA}, [{"t": delta} for delta in DELTAS])


@pytest.mark.every(test=9)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.thorough
def test_above_a_group(spark: Any, name: str) -> None:
    named = ", ".join(f"{each} AS v{place}" for place, each in enumerate(_split(VALUES[name])))
    as_in_batch_spark(spark, f"SELECT i, {named} FROM t WHERE i <> 4 OR s IS NOT NULL GROUP BY i")


@pytest.mark.every(test=7)
@pytest.mark.parametrize("name", PLACES)
def test_in_other_places(spark: Any, name: str) -> None:
    as_in_batch_spark(spark, f"SELECT {PLACES[name]}")


@pytest.mark.every(test=3)
@pytest.mark.parametrize("engine", ["values", "tables", "Spark"])
@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("CAST(max(s) AS INT)", "CAST_INVALID_INPUT"),
        ("CAST(max(day) AS TIMESTAMP) + INTERVAL '106751990' DAY", "ARITHMETIC_OVERFLOW"),  # Java's own error
    ],
)
def test_errors_are_those_of_the_query(spark: Any, engine: str, expression: str, condition: str) -> None:
    flow, rows = make_flow(f"SELECT i, {expression} AS v FROM t GROUP BY i", {"t": SCHEMA}), flo.rows(SCHEMA)
    given = [rows(*row) for *row, _ in DELTAS[0]]
    run = {
        "values": lambda: flow.run(t=given),
        "tables": lambda: flow.on(flo.here).run(t=given),
        "Spark": lambda: flow.on(spark).run(t=spark.createDataFrame(given), shards=1),
    }[engine]
    with pytest.raises(SqlError) as caught:
        run()
    assert caught.value.condition == condition


def _split(text: str) -> list[str]:
    """Return the expressions of a list: commas inside parentheses do not separate them."""
    parts, depth = [""], 0
    for sign in text:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts

"""What no row reaches is not computed: branches, constants that fail, arguments of aggregates with filters.

Every query is compared with batch Spark after each delta.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import flo
import flo.spark
from flo.sql.query import QueryError
from tests.sql.compared import compare

SCHEMA = pa.schema([pa.field("i", pa.int32()), pa.field("a", pa.int32()), pa.field("s", pa.string())])
DELTAS = [
    [(1, 2, "x", 1), (2, 0, "y", 1), (3, None, None, 1)],
    [(4, 5, "1", 1), (2, 0, "y", -1)],
    [(500, 0, "z", 1)],
]
AT_THE_INPUT = (
    "i FROM t WHERE i < 100 OR 1/0 > 1",
    "i FROM t WHERE i IS NULL OR i > 0 AND (i < 100 OR 1 DIV 0 > 1) LIMIT 1 + 2",
    "i FROM t WHERE NOT (i > 100 AND 1/0 > 1)",
    "i FROM t WHERE 1/0 > 1 OR i < 100",
    "i, i IN (1, 2, 3, 4, CAST('x' AS INT)) AS x FROM t",
    "i, 2147483647 + 1 AS x FROM t WHERE i > 100",
    "sum(x) AS x FROM (SELECT 1/0 AS x FROM t WHERE i > 100)",
    "u.i FROM t JOIN (SELECT * FROM t WHERE i < 100 OR 1/0 > 1) u ON t.i = u.i",
)
IN_BRANCHES = (
    "i, CASE WHEN i > 100 THEN 1/0 ELSE 0 END AS x FROM t",
    "i, CASE i WHEN 1 THEN 1 WHEN 500 THEN raise_error('x') END AS x FROM t",
    "i, coalesce(a, 1/0) AS x FROM t",
    "i, nvl(i, 1/0) AS x, nvl2(i, 1, 1 DIV 0) AS y, ifnull(i, CAST('x' AS INT)) AS z, nanvl(i, 1/0) AS w FROM t",
    "i, nullif(a, 1 DIV a) AS x FROM t",
    "i, if(i > 100, to_date('x'), DATE '2020-01-01') AS x FROM t",
    "i, if(i > 100, element_at(array(1, 2), 5), 1) AS x, try_divide(1, 0) AS y, try_cast('x' AS INT) AS z FROM t",
    "i, a IN (0, 1 DIV a) AS x, a NOT IN (0, 1 DIV a, NULL) AS y, a = 0 OR 1 DIV a > 0 AS z FROM t",
    "i, a IN (1 DIV a, 0) AS x FROM t",
    "i, CASE WHEN count(*) > 100 THEN 1/0 ELSE 0 END AS x FROM t GROUP BY i",
    "i, sum(a) AS x FROM t GROUP BY i HAVING if(sum(i) > 100, 1 DIV 0 > 0, true)",
    "sum(CASE WHEN i > 100 THEN 1/0 ELSE 0 END) AS x FROM t",
    "i, sum(if(i > 100, 1 DIV 0, i)) OVER (ORDER BY i) AS x FROM t",
    "t.i, u.i AS j FROM t LEFT JOIN t u ON t.i = u.i AND if(t.i > 100, 1 DIV 0 > 0, true)",
    "t.i, u.i AS j FROM t JOIN t u ON t.i < u.i AND t.a <> u.a AND 6 DIV (t.a - u.a) < 9",
    "t.i, u.i AS j FROM t LEFT JOIN t u ON t.i < u.i AND t.a > 0 AND 6 DIV t.a < u.i",
    "i, lag(s, 1, CAST(1 DIV a AS STRING)) OVER (ORDER BY i DESC) AS x FROM t WHERE i < 400",
    "i, lag(s, 1, CAST(1 DIV a AS STRING)) IGNORE NULLS OVER (ORDER BY i DESC) AS x FROM t WHERE i < 400",
    "count(nullif(a, 0), 1 DIV a) AS x, corr(nullif(a, 0), 1 DIV a) AS y FROM t",
    "i, CASE WHEN count(*) > 1 THEN ln(avg(a)) ELSE 1 DIV max(i) END AS x FROM t GROUP BY i",
    "* FROM (SELECT i, a FROM t) PIVOT (sum(1 DIV a) AS s FOR i IN (1 AS one, 4 AS four))",
)
FILTERED = (
    "sum(1/a) FILTER (WHERE a > 0) AS x, count(1 DIV a) FILTER (WHERE a > 0) AS y FROM t",
    "i, max(1 DIV a) FILTER (WHERE a <> 0) AS x, avg(1/a) FILTER (WHERE a > 0) AS y FROM t GROUP BY i",
    "sum(CAST(s AS INT)) FILTER (WHERE s RLIKE '^[0-9]+$') AS x FROM t",
    "sum(to_number(s, '9')) FILTER (WHERE s BETWEEN '0' AND '9') AS x FROM t",
    "collect_list(1 DIV a) FILTER (WHERE a > 0) AS x, percentile(1 DIV a, 0.5) FILTER (WHERE a > 0) AS y FROM t",
    "max_by(1 DIV a, i) FILTER (WHERE a > 0) AS x, corr(1/a, i) FILTER (WHERE a > 0) AS y FROM t",
    "listagg(CAST(1 DIV a AS STRING)) WITHIN GROUP (ORDER BY 1 DIV a, i) FILTER (WHERE a > 0) AS x FROM t",
    "sum(1/a) FILTER (WHERE i < 100 AND a >= 0) AS x FROM t",
)
READ_FOR_NOTHING = (
    "1 AS x FROM t WHERE 1/a = 1 HAVING 1 < 2",
    "1 AS x FROM t WHERE a <> 0 AND 1/a = 1 HAVING 1 < 2",
    "1 AS x FROM t HAVING 1 > 2",
)


@pytest.mark.every(test=36)
@pytest.mark.parametrize("text", [*AT_THE_INPUT, *IN_BRANCHES, *FILTERED, *READ_FOR_NOTHING])
def test_it_is_as_in_batch_spark(spark: Any, text: str) -> None:
    compare(spark, f"SELECT {text}", {"t": SCHEMA}, [{"t": delta} for delta in DELTAS])


@pytest.mark.parametrize(
    "text", ["i FROM t GROUP BY i HAVING sum(a) < 9 OR 1/0 > 1", "lag(i, 1, 1 DIV 0) OVER (ORDER BY i) AS x FROM t"]
)
def test_a_constant_that_fails_for_any_rows_is_rejected(spark: Any, text: str) -> None:
    """Batch Spark fails when it plans the query, whatever the rows are."""
    flow = flo.Flow("rejected")
    with pytest.raises(QueryError, match="DIVIDE_BY_ZERO"):
        flow.sql(f"SELECT {text}", t=flow.input("t", flo.ZSet[flo.rows(SCHEMA)]))


@pytest.mark.thorough
def test_on_spark(spark: Any) -> None:
    """Catalyst runs what is at the inputs, on rows that it does not have at hand."""
    frame = spark.createDataFrame([(1, 2), (2, 0)], "i int, a int").coalesce(1).cache()
    queries = {
        "condition": "SELECT i FROM t WHERE i < 100 OR 1/0 > 1",
        "items": "SELECT i FROM t WHERE i IN (1, 2, 1 DIV 0)",
        "frame": frame.where("i < 100 OR 1/0 > 1").select("i"),
        "filter": "SELECT sum(1 DIV a) FILTER (WHERE a > 1) AS i FROM t",
    }
    found = flo.spark.views(spark, queries, {"t": frame}).run(shards=1)
    rows = {name: sorted(row.i for row in result.collect()) for name, result in found.items()}
    assert rows == {"condition": [1, 2], "items": [1, 2], "frame": [1, 2], "filter": [0]}

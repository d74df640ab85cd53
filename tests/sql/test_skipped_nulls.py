"""Window functions that skip nulls, and PIVOT by several columns, compared with batch Spark after each delta."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import flo
from tests.sql.compared import compare

SCHEMA = pa.schema(
    [
        pa.field("i", pa.int32(), False),
        pa.field("k", pa.int32()),
        pa.field("s", pa.string()),
        pa.field("x", pa.int32()),
    ]
)
DELTAS = [
    [(1, 1, "a", 5, 1), (2, 1, "b", None, 1), (3, 2, "a", 7, 1), (4, 2, None, 8, 1), (5, 1, "a", None, 1)],
    [(6, 1, "b", 9, 1), (7, 2, "b", None, 1), (3, 2, "a", 7, -1)],
    [(8, 2, "a", 1, 1), (1, 1, "a", 5, -1)],
]
QUERIES = (
    "i, lag(x, 2) IGNORE NULLS OVER (ORDER BY i) AS r, lag(x, 0, 9) IGNORE NULLS OVER (ORDER BY i) AS s, "
    "lead(x, 2, i) IGNORE NULLS OVER (PARTITION BY k ORDER BY i DESC) AS t, "
    "lag(x, -3, -1) IGNORE NULLS OVER (ORDER BY i) AS u FROM t",
    "i, nth_value(x, 2) IGNORE NULLS OVER (ORDER BY i) AS r, "
    "nth_value(x, 2) IGNORE NULLS OVER (PARTITION BY k ORDER BY i ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS s, "
    "nth_value(x, 1) IGNORE NULLS OVER (ORDER BY i RANGE BETWEEN 1 FOLLOWING AND 3 FOLLOWING) AS t FROM t",
    "* FROM (SELECT k, s, x FROM t) PIVOT (sum(x) FOR (k, s) IN ((1, 'a') AS a, (2, 'b') AS b, (2, NULL) AS n))",
    "* FROM (SELECT i % 2 AS g, k, s, x FROM t) "
    "PIVOT (max(x) AS m, count(*) AS n FOR (k, s) IN ((1, 'a') AS p, (2, 'a') AS q))",
)


@pytest.mark.every(test=2)
@pytest.mark.parametrize("text", QUERIES)
def test_it_is_as_in_batch_spark(spark: Any, text: str) -> None:
    compare(spark, f"SELECT {text}", {"t": SCHEMA}, [{"t": delta} for delta in DELTAS])


def test_values_and_tables_agree(spark: Any) -> None:
    flow = flo.Flow("both")
    rows = flo.rows(SCHEMA)
    for place, text in enumerate(QUERIES[:2]):
        flow.output(f"q{place}", flow.sql(f"SELECT {text}", t=flow.input(f"t{place}", flo.ZSet[rows])))
    given = {f"t{place}": [rows(*row[:-1]) for row in DELTAS[0]] for place in range(2)}
    on_values, on_tables = flow.run(**given), flow.on(flo.here).run(**given)
    for name, found in on_values.items():
        assert {(*row, weight) for row, weight in found.items()} == {
            tuple(row.values()) for row in on_tables[name].to_pylist()
        }


def test_two_columns_of_one_name(spark: Any) -> None:
    """The error says which of them needs which name."""
    flow = flo.Flow("names")
    rows = flow.input("t", flo.ZSet[flo.rows(SCHEMA)])
    with pytest.raises(flo.FloError, match=r"two columns `k`: columns 2 and 3(.|\n)*u\.k AS `k_2`"):
        flow.sql("SELECT t.i, t.k, u.k FROM t JOIN t u ON t.i = u.i", t=rows)
    with pytest.raises(flo.FloError, match=r"sum\(x\) AS `sum\(x\)_2`"):
        flow.sql("SELECT sum(x), sum(x) FROM t", t=rows)

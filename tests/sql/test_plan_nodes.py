# ruff: noqa: E501  # queries are on one line
"""Every node of Catalyst's plans that is maintained, compared with batch Spark after every delta."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.oracle import Batch, difference, draw_deltas, tables_of

SEED = 1
QUERIES = {
    "project": "SELECT id + k AS a, upper(s) AS b, d * 2 AS c FROM t WHERE k < 100",
    "filter": "SELECT * FROM t WHERE (k > 1 OR s IS NULL) AND NOT ok",
    "constant": "SELECT 1 AS one, 'a' AS a FROM w",
    "values": "SELECT c.k, count(w.s) AS n FROM VALUES (1, 'x'), (2, NULL), (NULL, 'z') AS c(k, s) LEFT JOIN w ON w.k = c.k GROUP BY c.k",
    "one row": "SELECT 1 AS a, (SELECT max(k) FROM t) AS b",
    "range": "SELECT r.id, count(t.k) AS n FROM range(1, 6, 2) r LEFT JOIN t ON t.k = r.id GROUP BY r.id",
    "CTE": "WITH c AS (SELECT k, count(*) AS n FROM t GROUP BY k) SELECT a.k, b.n FROM c a JOIN c b ON a.n = b.n",
    # joins
    "inner join": "SELECT t.id, u.id AS other FROM t JOIN u ON t.k = u.k AND t.s <> u.s",
    "cross join": "SELECT v.k, w.s FROM v CROSS JOIN w",
    "join without equality": "SELECT t.id, v.d FROM t LEFT JOIN v ON t.d < v.d AND t.day >= v.day",
    "null-safe join": "SELECT t.id, v.k FROM t FULL JOIN v ON t.k <=> v.k",
    "null-safe and plain join": "SELECT t.id, v.k FROM t LEFT JOIN v ON t.k <=> v.k AND t.day = v.day",
    "join of floats": "SELECT t.id, u.id AS other FROM t JOIN u ON t.x = u.y",
    "full join with a condition": "SELECT t.id, u.id AS other FROM t FULL JOIN u ON t.k = u.k AND t.id > u.id",
    "semi join": "SELECT * FROM v LEFT SEMI JOIN t ON v.k = t.k AND v.d > t.d",
    "anti join": "SELECT * FROM v LEFT ANTI JOIN t ON v.k = t.k AND v.d > t.d",
    "NOT IN": "SELECT id FROM t WHERE k NOT IN (SELECT k FROM v)",
    "NOT IN of two columns": "SELECT id FROM t WHERE (k, day) NOT IN (SELECT k, day FROM v)",
    "NOT IN that is correlated": "SELECT id FROM t WHERE k NOT IN (SELECT u.k FROM u WHERE u.s = t.s)",
    "EXISTS or": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.k = t.k) OR s = 'a'",
    "IN or": "SELECT id, k IN (SELECT k FROM w) AS there FROM t",
    "EXISTS that is not correlated": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM w WHERE k > 3)",
    "subquery in a join": "SELECT t.id FROM t JOIN w ON t.k = w.k AND t.id < (SELECT max(k) FROM v)",
    "subquery with one row": "SELECT id, (SELECT v.d FROM v WHERE v.k = 77) AS d FROM t",
    "subquery with one partner": "SELECT id, (SELECT count(*) + max(w.k) FROM w WHERE w.k = t.k) AS n FROM t",
    "subqueries that are merged": "WITH c AS (SELECT median(k) AS m FROM v WHERE EXISTS (SELECT 1 FROM u)) SELECT a.m, b.m AS n FROM c a LEFT JOIN c b ON a.m = b.m",
    "subquery with several rows": "SELECT id, (SELECT w.k FROM w) AS k FROM t",
    "several partners": "SELECT id, (SELECT w.s FROM w WHERE w.k = t.k) AS s FROM t",
    # aggregates
    "aggregates": "SELECT k, count(*) AS n, sum(d) AS s, avg(d) AS a, min(s) AS mi, max(day) AS ma FROM t GROUP BY k",
    "aggregates of nothing": "SELECT count(*) AS n, sum(k) AS s, max(s) AS m, avg(x) AS a FROM t WHERE id > 1000",
    "extremes by": "SELECT k, max_by(s, id * 1000 + coalesce(k, 0)) AS a FROM t GROUP BY k, id, s",
    "extremes by, of nulls": "SELECT min_by(s, named_struct('a', id, 'b', s)) AS a FROM t",
    "moments": "SELECT s, stddev(d) AS a, var_pop(k) AS b, covar_pop(k, id) AS c, covar_samp(k, id) AS e FROM t GROUP BY s",
    "bools": "SELECT k, bool_and(ok) AS a, some(ok) AS b, count_if(d > 1) AS c FROM t GROUP BY k",
    "lists": "SELECT k, collect_list(s) AS a, collect_set(id) AS b FROM t GROUP BY k",
    "percentiles": "SELECT k, percentile(d, 0.3) AS a, median(id) AS b FROM t GROUP BY k",
    "percentile in a group": "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY id DESC) AS a FROM t",
    "several distinct": "SELECT k, count(DISTINCT s) AS a, count(DISTINCT id, ok) AS b, sum(DISTINCT d) AS c, max(id) AS e FROM t GROUP BY k",
    "several distinct of nothing": "SELECT sum(DISTINCT x) FILTER (WHERE d > 5) AS a, every(ok) AS b, sum(k) AS c FROM t",
    "filtered": "SELECT k, sum(d) FILTER (WHERE ok) AS a, count(*) FILTER (WHERE s = 'b') AS b FROM t GROUP BY k",
    "pivot": "SELECT * FROM (SELECT k, s, id, d FROM t) PIVOT (sum(id) AS n, max(d) AS m FOR s IN ('a', 'b', 'ab'))",
    "grouping sets": "SELECT k, s, grouping(k) AS g, grouping_id(k, s) AS i, count(*) AS n FROM t GROUP BY GROUPING SETS ((k, s), (k), ())",
    "rollup": "SELECT k, ok, sum(d) AS d FROM t GROUP BY ROLLUP (k, ok) HAVING count(*) > 1",
    "cube": "SELECT k, ok, max(id) AS m FROM t GROUP BY CUBE (k, ok)",
    "groups of nothing": "SELECT 1 AS one FROM t GROUP BY GROUPING SETS (())",
    "group by a float": "SELECT y, count(*) AS n FROM u GROUP BY y",
    # windows
    "ranks": "SELECT id, k, rank() OVER w AS a, dense_rank() OVER w AS b, percent_rank() OVER w AS c, cume_dist() OVER w AS e FROM t WINDOW w AS (PARTITION BY s ORDER BY k DESC)",
    "neighbours": "SELECT *, lag(s, 1, 'none') OVER w AS a, lead(id, 2) OVER w AS b, nth_value(d, 2) OVER w AS c FROM t WINDOW w AS (PARTITION BY k ORDER BY id, s, d, x, day, ok)",
    "frames of rows": "SELECT *, sum(d) OVER (PARTITION BY k ORDER BY id, s, d, x, day, ok ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a FROM t",
    "frames of a range": "SELECT id, d, sum(id) OVER (ORDER BY d RANGE BETWEEN 1.5 PRECEDING AND 2 FOLLOWING) AS a FROM t",
    "frames of days": "SELECT id, day, count(*) OVER (ORDER BY day RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS a, min(id) OVER (ORDER BY day DESC RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND INTERVAL 2 DAYS FOLLOWING) AS b FROM t",
    "frames of time": "SELECT id, at, count(k) OVER (ORDER BY at RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW) AS a FROM u",
    "values without nulls": "SELECT *, last(s) IGNORE NULLS OVER (ORDER BY id, k, s, d, x, day, ok ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS a FROM t",
    "several windows": "SELECT id, sum(k) OVER (PARTITION BY s) AS a, max(d) OVER (PARTITION BY day) AS b, count(k, d) OVER () AS c FROM t",
    "window of groups": "SELECT k, rank() OVER (ORDER BY count(*) DESC) AS a, sum(sum(d)) OVER () AS b FROM t GROUP BY k",
    "best rows": "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id, s, d, x, day, ok) AS n FROM t) WHERE n <= 2",
    # sets
    "union": "SELECT k FROM t UNION SELECT k FROM v UNION ALL SELECT k FROM w",
    "intersect": "SELECT k FROM t INTERSECT SELECT k FROM v",
    "intersect all": "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
    "except": "SELECT k FROM t EXCEPT SELECT k FROM v",
    "except all": "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
    # order
    "order": "SELECT id FROM t ORDER BY k",
    "limit": "SELECT id, k, s FROM t ORDER BY k DESC NULLS FIRST, id, s LIMIT 3",
    "limit and offset": "SELECT id, k, s FROM t ORDER BY k, id, s LIMIT 3 OFFSET 2",
    "offset": "SELECT id, k, s FROM t ORDER BY k, id, s OFFSET 4",
    "limit of a limit": "SELECT * FROM (SELECT id, k FROM t ORDER BY id, k LIMIT 5) ORDER BY k, id LIMIT 2",
    "limit of sorted rows": "SELECT id + 1 AS a, s AS b FROM (SELECT id, s, k FROM t ORDER BY k, id, s) LIMIT 4",
    "partitions": "SELECT /*+ REPARTITION(3) */ id FROM t DISTRIBUTE BY id SORT BY id",
    # generators
    "explode": "SELECT id, item FROM t LATERAL VIEW explode(array(k, id)) AS item",
    "explode behind a group": "SELECT s, explode(items) AS item FROM (SELECT s, collect_list(id) AS items FROM t GROUP BY s)",
    "explode_outer": "SELECT s, i FROM (SELECT s, collect_list(k) AS ks FROM t GROUP BY s) LATERAL VIEW OUTER explode(ks) AS i",
    "posexplode": "SELECT n, pos, col FROM (SELECT count(*) AS n, max(k) AS m FROM t GROUP BY s) LATERAL VIEW posexplode(array(n, m)) AS pos, col",
    "inline": "SELECT n, a, b FROM (SELECT count(*) AS n, max(s) AS m FROM t GROUP BY k) LATERAL VIEW inline(array(struct(n, m), named_struct('n', n + 1, 'm', 'x'))) AS a, b",
    "inline behind a group": "SELECT s, a, b FROM (SELECT s, collect_list(struct(id, k)) AS l FROM t GROUP BY s) LATERAL VIEW OUTER inline(filter(l, i -> i.k > 1)) AS a, b",
    "places of items": "SELECT s, pos, i FROM (SELECT s, array_sort(collect_list(id)) AS a FROM t GROUP BY s) LATERAL VIEW inline(transform(a, (x, i) -> struct(i, x))) AS pos, i",
    "subquery with lesser partners": "SELECT id, (SELECT count(*) FROM u WHERE u.k < t.k AND u.s = t.s) AS n FROM t",
    "lateral subquery": "SELECT t.id, l.m FROM t LEFT JOIN LATERAL (SELECT max(d) AS m FROM v WHERE v.k >= t.k) AS l",
    "first rows for each row": "SELECT t.id, l.id AS other, l.n FROM t, LATERAL (SELECT u.id, u.n FROM u WHERE u.k = t.k ORDER BY u.n DESC, u.s, u.id LIMIT 2) l",
    "first value for each row": "SELECT id, (SELECT v.d FROM v WHERE v.k = t.k ORDER BY v.day DESC, v.d LIMIT 1) AS d FROM t",
    "default that is a column": "SELECT id, coalesce(lag(struct(s AS v)) OVER (ORDER BY id, k, s, d, x, day, ok), struct('none' AS v)).v AS a FROM t",
    "stack": "SELECT s, what, value FROM (SELECT s, count(*) AS n, max(id) AS m FROM t GROUP BY s) LATERAL VIEW stack(2, 'n', n, 'm', CAST(m AS BIGINT)) AS what, value",
}  # fmt: skip


@pytest.fixture(scope="module")
def deltas() -> Any:
    return draw_deltas(SEED)


@pytest.fixture(scope="module")
def batch(spark: Any, deltas: Any) -> Any:
    batch = Batch(spark, deltas)
    yield batch
    batch.forget()


@pytest.mark.every(test=20)
@pytest.mark.parametrize("name", QUERIES)
def test_node(name: str, batch: Batch, deltas: Any) -> None:
    text = QUERIES[name]
    found = difference(text, deltas, tables_of(text), batch.results(text))
    assert not found, f"{found}\n{text}"

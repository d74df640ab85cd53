# ruff: noqa: E501  # queries are on one line
"""WITH RECURSIVE as a maintained view: after insertions and deletions it has the rows of batch Spark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest

import flo
import flo.spark
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import SqlError
from flo.sql.set_recursion import with_union_all

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.skipif(pyspark.__version__ < "4.1", reason="Spark has recursion since 4.1"),
]


class Hop(NamedTuple):
    src: str
    dst: str
    km: int


class Person(NamedTuple):
    id: int
    boss: int | None


Bag = Counter[Any]
STATES: list[dict[str, dict[Any, int]]] = [
    {
        "hops": {Hop("a", "b", 1): 1, Hop("b", "c", 2): 1, Hop("c", "d", 3): 1, Hop("a", "c", 9): 2},
        "staff": {Person(1, None): 1, Person(2, 1): 1, Person(3, 1): 1, Person(4, 2): 1, Person(5, 4): 1},
    },
    {  # a bridge goes, and another way comes
        "hops": {Hop("b", "c", 2): -1, Hop("a", "c", 9): -1, Hop("d", "e", 4): 1, Hop("b", "d", 5): 1},
        "staff": {Person(4, 2): -1, Person(4, 3): 1, Person(6, 5): 1},
    },
    {
        "hops": {Hop("a", "b", 1): -1, Hop("e", "f", 1): 2, Hop("a", "c", 9): -1},
        "staff": {Person(5, 4): -1, Person(2, 1): -1},
    },
]
REACH = "WITH RECURSIVE r(src, dst) AS (SELECT src, dst FROM hops UNION ALL SELECT r.src, h.dst FROM r JOIN hops h ON r.dst = h.src)"
QUERIES = {
    "ways": f"{REACH} SELECT * FROM r",
    "several references": f"{REACH} SELECT a.src, count(*) AS n FROM r a JOIN r b ON a.dst = b.src GROUP BY a.src",
    "in a subquery": f"{REACH} SELECT src, dst FROM hops WHERE dst IN (SELECT dst FROM r WHERE src = 'b')",
    "lengths": """WITH RECURSIVE r(dst, km, path) AS (
        SELECT 'a', 0L, 'a' UNION ALL SELECT h.dst, r.km + h.km, concat(path, '-', h.dst) FROM r JOIN hops h ON r.dst = h.src
    ) SELECT dst, min(km) AS km, max(path) AS path FROM r GROUP BY dst""",
    "org chart": """WITH RECURSIVE chart(id, boss, depth) AS (
        SELECT id, boss, 0 FROM staff WHERE boss IS NULL
        UNION ALL SELECT s.id, s.boss, depth + 1 FROM chart c JOIN staff s ON s.boss = c.id
    ) SELECT depth, count(*) AS n, max(id) AS last FROM chart GROUP BY depth""",
    "series up to a count": """WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < (SELECT count(*) FROM hops))
        SELECT n FROM t""",
    "series with a limit": """WITH RECURSIVE t(n) AS (SELECT count(*) FROM staff UNION ALL SELECT n + 1 FROM t)
        SELECT n * 2 AS n FROM t LIMIT 4""",
    "self join": """WITH RECURSIVE r(src, dst) AS (
        SELECT src, dst FROM hops UNION ALL SELECT a.src, b.dst FROM r a JOIN r b ON a.dst = b.src
    ) SELECT * FROM r""",
    "distinct in each level": """WITH RECURSIVE r(dst, n) AS (
        SELECT 'a', 1 UNION ALL SELECT DISTINCT h.dst, n + 1 FROM r JOIN hops h ON r.dst = h.src
    ) SELECT * FROM r""",
    "two steps": """WITH RECURSIVE r(x, n) AS (
        SELECT src, 1 FROM hops
        UNION ALL (SELECT x, n + 1 FROM r WHERE n < 3 UNION ALL SELECT concat(x, 'x'), n + 1 FROM r WHERE n < 2)
    ) SELECT * FROM r""",
    "semi join with the levels": """WITH RECURSIVE r(x) AS (
        SELECT 'a' UNION ALL SELECT dst FROM hops WHERE src IN (SELECT x FROM r)
    ) SELECT * FROM r""",
    "left join": """WITH RECURSIVE r(x, n) AS (
        SELECT src, 1 FROM hops UNION ALL SELECT dst, n + 1 FROM r LEFT JOIN hops ON x = src WHERE n < 4
    ) SELECT * FROM r""",
    "nulls": "WITH RECURSIVE r(id) AS (SELECT max(id) FROM staff UNION ALL SELECT nullif(id - 1, 2) FROM r WHERE id > 0) SELECT id FROM r",
    "items": """WITH RECURSIVE r(n) AS (SELECT boss FROM staff UNION ALL SELECT explode(array(n + 1, n + 2)) FROM r WHERE n < 3)
        SELECT * FROM r""",
    "arrays that may have nulls": """WITH RECURSIVE r(x, p) AS (
        SELECT src, array(src) FROM hops
        UNION ALL SELECT h.dst, array_append(p, h.dst) FROM r JOIN hops h ON x = h.src WHERE NOT array_contains(p, h.dst)
    ) SELECT x, array_join(p, ' ') AS p FROM r""",
    "structs that may have nulls": """WITH RECURSIVE r(s) AS (
        SELECT named_struct('a', src, 'b', km) FROM hops
        UNION ALL SELECT named_struct('a', nullif(s.a, 'a'), 'b', s.b + 1) FROM r WHERE s.b < 3
    ) SELECT s.a, s.b FROM r""",
    "one after the other": """WITH RECURSIVE a(n) AS (SELECT min(id) FROM staff UNION ALL SELECT n + 1 FROM a WHERE n < 3),
        b(n) AS (SELECT n FROM a UNION ALL SELECT n + 10 FROM b JOIN a USING (n) WHERE n < 9) SELECT * FROM b""",
    "exists": """WITH RECURSIVE r(x) AS (
        SELECT 'a' UNION ALL SELECT dst FROM hops WHERE EXISTS (SELECT 1 FROM r WHERE r.x = src)
    ) SELECT * FROM r""",
    "not exists": """WITH RECURSIVE r(x) AS (
        SELECT 'a' UNION ALL SELECT dst FROM hops h JOIN r ON h.src = r.x
        WHERE NOT EXISTS (SELECT 1 FROM hops k WHERE k.src = h.dst AND k.km > 2)
    ) SELECT * FROM r""",
    "exists, of something else": """WITH RECURSIVE r(n) AS (
        SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4 AND EXISTS (SELECT 1 FROM hops WHERE km > 2)
    ) SELECT * FROM r""",
    "intersection": """WITH RECURSIVE r(n) AS (
        SELECT min(km) FROM hops UNION ALL (SELECT n + 1 FROM r INTERSECT SELECT km FROM hops)
    ) SELECT * FROM r""",
    "limit in the anchor": """WITH RECURSIVE r(n) AS (
        (SELECT km FROM hops ORDER BY km LIMIT 1) UNION ALL SELECT n + 1 FROM r WHERE n < 4
    ) SELECT n FROM r""",
    "limit with an offset": "WITH RECURSIVE r(n) AS (SELECT count(*) FROM hops UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT 3 OFFSET 2",
    "names of the anchor": "WITH RECURSIVE r AS (SELECT count(*) AS n FROM hops UNION ALL SELECT n + 1 AS z FROM r WHERE n < 9) SELECT n FROM r",
    "lateral": """WITH RECURSIVE r(n) AS (
        SELECT min(km) FROM hops UNION ALL SELECT k.m FROM r, LATERAL (SELECT r.n + 1 AS m) k WHERE r.n < 4
    ) SELECT * FROM r""",
    "another recursion in the step": """WITH RECURSIVE r(n) AS (
        SELECT 1L UNION ALL (
            WITH RECURSIVE s(m) AS (SELECT min(km) FROM hops UNION ALL SELECT m + 1 FROM s WHERE m < 3)
            SELECT n + m FROM r JOIN s ON true WHERE n < 4
        )
    ) SELECT * FROM r""",
    "another recursion in the anchor": """WITH RECURSIVE r(n) AS (
        (WITH RECURSIVE s(m) AS (SELECT min(km) FROM hops UNION ALL SELECT m + 1 FROM s WHERE m < 3) SELECT m FROM s)
        UNION ALL SELECT n + 10 FROM r WHERE n < 20
    ) SELECT * FROM r""",
    "within a subquery": """SELECT q.n, dst FROM (
        WITH RECURSIVE r(n) AS (SELECT 1L UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r
    ) q JOIN hops ON q.n = km""",
}  # fmt: skip


def maintained(text: str, on_values: bool) -> Any:
    """Return a loop with a query, and what it reads."""
    flow = flo.Flow("recursion")
    kinds: dict[str, Any] = {"hops": Hop, "staff": Person}
    streams = {name: flow.input(name, flo.ZSet[kind]) for name, kind in kinds.items() if name in text}
    flow.output("rows", flow.sql(text, **streams))
    return (flow.loop() if on_values else flow.on(flo.here).loop()), list(streams)


def push(loop: Any, names: list[str], state: dict[str, dict[Any, int]]) -> Bag:
    """Push changes; return those of the query."""
    loop.push(**{name: state[name] for name in names})
    if hasattr(loop, "run"):
        loop.run()
    changes = loop.pull("rows")
    if hasattr(changes, "to_pylist"):
        return Counter({tuple(row.values())[:-1]: row["_weight"] for row in changes.to_pylist()})
    return Counter({tuple(row): weight for row, weight in changes.items()})


def batch(spark: Any, content: dict[str, Bag], text: str) -> Bag:
    schemas = {"hops": "src STRING, dst STRING, km BIGINT", "staff": "id BIGINT, boss BIGINT"}
    for name, rows in content.items():
        spark.createDataFrame(list(rows.elements()), schemas[name]).coalesce(1).createOrReplaceTempView(name)
    return Counter(map(tuple, spark.sql(text).collect()))


def plus(one: Bag, other: Bag) -> Bag:
    return Counter({row: one[row] + other[row] for row in (*one, *other) if one[row] + other[row]})


@contextmanager
def setting(spark: Any, **values: int) -> Iterator[None]:
    names = {f"spark.sql.cteRecursion{name}Limit": value for name, value in values.items()}
    for name, value in names.items():
        spark.conf.set(name, value)
    yield
    for name in names:
        spark.conf.unset(name)


SAMPLE = {"semi join with the levels", "arrays that may have nulls"}
"""Queries for every run of the tests: batch Spark takes a job for each level."""


@pytest.mark.parametrize(
    "name", [each if each in SAMPLE else pytest.param(each, marks=pytest.mark.thorough) for each in QUERIES]
)
def test_as_batch_spark(spark: Any, name: str) -> None:
    text = QUERIES[name]
    loops = [(maintained(text, on_values), Counter[Any]()) for on_values in (False, True)]
    content: dict[str, Bag] = {"hops": Counter(), "staff": Counter()}
    for state in STATES:
        content = {each: plus(rows, Counter(state[each])) for each, rows in content.items()}
        expected = batch(spark, content, text)
        for place, ((loop, names), rows) in enumerate(loops):
            rows = plus(rows, push(loop, names, state))
            loops[place] = (loop, names), rows
            assert rows == expected


ERRORS = {
    "ASSIGNMENT_ARITY_MISMATCH": "r(n) AS (SELECT src, dst FROM hops UNION ALL SELECT 1, 2 FROM r)",
    "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE": "r(n) AS (SELECT 1 FROM hops UNION ALL SELECT n + 1L FROM r)",
    "INVALID_RECURSIVE_CTE": "r(n) AS (SELECT km FROM hops EXCEPT SELECT n FROM r)",
    "INVALID_RECURSIVE_REFERENCE.PLACE": "r(n) AS (SELECT km FROM hops UNION ALL SELECT max(n) FROM r)",
}


@pytest.mark.parametrize("condition", ERRORS)
def test_errors_are_those_of_spark(spark: Any, condition: str) -> None:
    text = f"WITH RECURSIVE {ERRORS[condition]} SELECT * FROM r"
    spark.createDataFrame([], "src STRING, dst STRING, km BIGINT").createOrReplaceTempView("hops")
    with pytest.raises(Exception, match=re.escape(condition)):
        spark.sql(text).collect()
    with pytest.raises(flo.FloError, match=re.escape(f"[{condition}]")):
        maintained(text, False)


REJECTED = {
    "has a limit": "r(n) AS (SELECT km FROM hops UNION ALL (SELECT n + 1 FROM r WHERE n < 5 LIMIT 1))",
    "or NOT IN": "r(n) AS (SELECT km FROM hops UNION ALL SELECT km FROM hops WHERE km NOT IN (SELECT n FROM r))",
    "levels within levels": """r(n) AS (SELECT km FROM hops UNION ALL (
        WITH RECURSIVE s(m) AS (SELECT n FROM r UNION ALL SELECT m + 10 FROM s WHERE m < 20) SELECT m + 1 FROM s
    ))""",
}


@pytest.mark.parametrize("message", REJECTED)
def test_what_spark_runs_and_flo_rejects(message: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=message):
        maintained(f"WITH RECURSIVE {REJECTED[message]} SELECT * FROM r", False)


CYCLE = {"hops": {Hop("c", "a", 1): 1}, "staff": {}}


def test_levels_beyond_the_limit_are_an_error_that_changes_nothing(spark: Any) -> None:
    text = f"{QUERIES['ways']}"
    for on_values in (False, True):
        with setting(spark, Level=3):
            loop, names = maintained(text, on_values)
        assert push(loop, names, STATES[0])[("a", "d")] == 3
        with pytest.raises(SqlError, match="RECURSION_LEVEL_LIMIT_EXCEEDED"):
            push(loop, names, CYCLE)
        if not on_values:  # the loop on tables goes on from before
            assert push(loop, names, {"hops": {Hop("b", "c", 2): -1}})[("a", "d")] == -1


def exceeded(error: Exception) -> str:
    """Return the name of the limit that an error says is exceeded."""
    (name,) = re.findall(r"RECURSION_(LEVEL|ROW)_LIMIT_EXCEEDED", str(error))[:1]
    return str(name)


@pytest.mark.parametrize(("levels", "rows"), [(3, -1), (4, -1), (-1, 4), (-1, 5), (-1, 6), (3, 4), (2, 3)])
@pytest.mark.every(test=4)
def test_limits_are_those_of_spark(spark: Any, levels: int, rows: int) -> None:
    text = (
        "WITH RECURSIVE t(n) AS (SELECT max(id) FROM staff UNION ALL SELECT n - 1 FROM t WHERE n > 1) SELECT n FROM t"
    )
    staff = {"staff": {Person(5, None): 1}, "hops": {}}
    with setting(spark, Level=levels + 1 if levels > 0 else -1, Row=rows):
        loop, names = maintained(text, False)
        try:
            expected: Any = batch(spark, {"staff": Counter(staff["staff"])}, text)
        except Exception as error:
            expected = exceeded(error)
    try:
        given: Any = push(loop, names, staff)
    except flo.FloError as error:
        given = exceeded(error)
    assert given == expected


def test_rows_that_double_in_every_level_end_at_the_limit_of_rows() -> None:
    for on_values in (False, True):
        loop, names = maintained(
            QUERIES["ways"].replace("src, dst) AS", "src, dst) MAX RECURSION LEVEL 99 AS"), on_values
        )
        with pytest.raises(flo.FloError, match="RECURSION_ROW_LIMIT_EXCEEDED"):
            push(loop, names, {"hops": {Hop("a", "a", 1): 2}})


def test_a_limit_takes_the_first_levels() -> None:
    text = "WITH RECURSIVE t(n) AS (SELECT id FROM staff UNION ALL SELECT n - 1 FROM t) SELECT n FROM t LIMIT 3"
    for on_values in (False, True):
        loop, names = maintained(text, on_values)
        first = {Person(7, None): 1, Person(8, None): 1}
        assert push(loop, names, {"staff": first}) == {(7,): 1, (8,): 1, (6,): 1}
        assert push(loop, names, {"staff": {Person(8, None): -1}}) == {(8,): -1, (5,): 1}


def test_union_is_a_set_that_follows_cycles() -> None:
    text = "WITH RECURSIVE r(src, dst) AS (SELECT src, dst FROM hops UNION SELECT r.src, h.dst FROM r JOIN hops h ON r.dst = h.src) SELECT * FROM r"
    for on_values in (False, True):
        loop, names = maintained(text, on_values)
        rows = plus(push(loop, names, STATES[0]), push(loop, names, CYCLE))
        assert rows == {(one, other): 1 for one in "abc" for other in "abcd"} | {("c", "d"): 1}
        rows = plus(rows, push(loop, names, {"hops": {Hop("c", "a", 1): -1}}))
        assert rows == dict.fromkeys([("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")], 1)


def test_only_the_union_of_a_recursion_is_a_set(spark: Any) -> None:
    text = """WITH RECURSIVE
        plain AS (SELECT src FROM hops UNION SELECT dst FROM hops),
        r (x) AS (SELECT src FROM plain UNION
        DISTINCT SELECT dst FROM `r` JOIN hops ON x = src),
        s AS (SELECT 1 AS n UNION ALL (SELECT n FROM s UNION SELECT 2))
        SELECT * FROM r"""
    other, marks = with_union_all(text)
    assert len(marks) == 1
    assert other.count("\n") == text.count("\n")
    assert f"r (x) MAX RECURSION LEVEL {marks[0]} AS (SELECT src FROM plain UNION ALL" in other
    assert other.count("UNION ALL") == 2


@pytest.mark.thorough
def test_on_spark(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    schema = StructType(
        [StructField("src", StringType()), StructField("dst", StringType()), StructField("km", LongType())]
        + [StructField("_weight", LongType(), False)]
    )
    content: Bag = Counter()
    folder = tmp_path / "hops"
    queries = {
        "ways": QUERIES["ways"],
        "reach": QUERIES["ways"].replace("UNION ALL", "UNION"),
    }
    for number, state in enumerate(STATES[:2]):
        rows = [(*hop, weight) for hop, weight in state["hops"].items()]
        spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(str(folder))
        content = plus(content, Counter(state["hops"]))
        views = flo.spark.views(spark, queries, {"hops": spark.readStream.schema(schema).parquet(str(folder))})
        query = views.start(checkpoint=tmp_path / "state", shards=2, trigger={"availableNow": True})
        query.wait()
        expected = batch(spark, {"hops": content}, QUERIES["ways"])
        found = {name: query.view(name).arrow().to_pylist() for name in queries}
        ways = Counter({(row["src"], row["dst"]): row.get("_weight", 1) for row in found["ways"]})
        assert ways == expected, number
        assert {(row["src"], row["dst"]) for row in found["reach"]} == set(expected)
        query.stop()

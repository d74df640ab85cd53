"""Expressions that Spark runs: at inputs, and between stateful operators. The oracle is batch Spark."""

from __future__ import annotations

import pickle
from collections import Counter
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import flo
import flo.spark
from flo.sql import plan
from flo.sql.catalyst import UnsupportedQueryError, stand_in
from flo.sql.native import Segment, can_run_natively
from flo.sql.plan_reader import read_frame
from flo.sql.query import activate, planning_session
from tests.sql.maintained_views import SCHEMA, register_functions, rows_of, rows_of_view


class Sale(NamedTuple):
    shop: int
    name: str
    n: int


SALES = [Sale(1, "a17", 3), Sale(1, "b4", 5), Sale(2, "a9", -1), Sale(2, "c", 0), Sale(3, "x20", 7)]
LATE = {SALES[1]: -1, SALES[4]: -1, Sale(2, "z8", 4): 2}
QUERIES = {
    "above a group": r"""SELECT shop, regexp_extract(max(name), '(\\d+)', 1) AS digits, sum(n) + 1 AS n
        FROM sales GROUP BY shop""",
    "in HAVING": "SELECT shop, count(*) AS n FROM sales GROUP BY shop HAVING plus_one(cast(count(*) AS int)) > 2",
    "of Flo's operands": "SELECT shop, format_number(avg(n), 2) AS mean FROM sales GROUP BY shop",
    "in a condition of a join": """SELECT l.name, r.name AS other FROM sales l
        LEFT JOIN sales r ON l.shop = r.shop AND regexp_replace(l.name, '1.*', '') < r.name""",
    "of types that only Spark has": "SELECT shop, size(str_to_map(max(name), '1')) AS parts FROM sales GROUP BY shop",
}


@pytest.fixture
def functions(spark: Any) -> Any:
    """The session, with functions in Python. It is the active one, whatever other tests have left."""
    register_functions(spark)
    activate(spark)
    return spark


def batch(spark: Any, query: str, weights: Counter[Sale]) -> Counter[tuple[Any, ...]]:
    """What batch Spark gives for the rows so far."""
    spark.createDataFrame([tuple(row) for row in weights.elements()], SCHEMA).createOrReplaceTempView("sales")
    return rows_of(spark.sql(query))


@pytest.mark.every(test=5)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_segment_gives_what_spark_gives_in_process(functions, query):
    """On tables and on values, with rows that are taken back."""
    flow = flo.Flow("sales")
    flow.output("found", flow.sql(query, sales=flow.input("sales", flo.ZSet[Sale])))
    assert "native: " in flow.explain()
    engines = [flow.loop(), flow.on(flo.here).loop()]
    weights: Counter[Sale] = Counter()
    totals: list[Counter[tuple[Any, ...]]] = [Counter(), Counter()]
    for delta in (Counter(SALES), LATE):
        weights.update(delta)
        expected = batch(functions, query, weights)
        for loop, total in zip(engines, totals, strict=True):
            loop.push("sales", dict(delta))
            loop.run()
            found = loop.pull("found")
            total.update(
                {tuple(row): weight for row, weight in found.items()}
                if isinstance(found, dict)
                else rows_of_view(found)
            )
            assert +total == expected
            assert not -total


def test_rows_are_evaluated_together_and_once(functions):
    flow = flo.Flow("sales")
    flow.output(
        "found", flow.sql("SELECT shop, soundex(name) AS hash FROM sales", sales=flow.input("sales", flo.ZSet[Sale]))
    )
    segment = next(
        each.operator.f for each in flow._scope.vertices if isinstance(getattr(each.operator, "f", None), Segment)
    )
    asked: list[int] = []
    flattened = segment.flattened
    segment.flattened = lambda table: (asked.append(table.num_rows), flattened(table))[1]  # type: ignore[method-assign]
    flow.run(sales=SALES)
    flow.run(sales=[*SALES, Sale(9, "new", 0)])
    assert asked == [len(SALES), 1]


@pytest.mark.thorough
def test_all_schedules_of_a_native_expression_agree(functions):
    flow = flo.Flow("sales")
    query = "SELECT regexp_replace(name, '1', '2') AS name, count(*) AS n FROM sales GROUP BY 1"
    flow.output("found", flow.sql(query, sales=flow.input("sales", flo.ZSet[Sale])))
    assert flow.explore(sales={SALES[0]: 1, SALES[1]: 2}).outcomes


def cut_twice() -> flo.Flow:
    """Segments at the input, and between two verbs."""
    flow = flo.Flow("sales")
    hashes = flow.sql("SELECT shop, soundex(name) AS hash, n FROM sales", sales=flow.input("sales", flo.ZSet[Sale]))
    sums = hashes.group_by("shop").agg(n=flo.sum("n"), hash=flo.max("hash"))
    texts = flow.sql(
        "SELECT concat_ws('-', cast(n AS string), regexp_replace(hash, '1', '2')) AS text FROM sums", sums=sums
    )
    flow.output("found", texts.group_by("text").agg(rows=flo.count()))
    return flow


@pytest.mark.thorough
def test_a_program_with_segments_runs_on_spark(functions):
    """The program is cut twice, and gives what it gives on values."""
    flow = cut_twice()
    expected = flow.run(sales=SALES)["found"]
    sales = functions.createDataFrame([tuple(row) for row in SALES], "shop long, name string, n long")
    assert rows_of(flow.on(functions).run(sales=sales, shards=3)["found"]) == expected


def bodies() -> flo.Flow:
    """Segments in the bodies of a `nest` and of a `per_key`."""
    query = "SELECT soundex(name) AS hash, sum(n) AS n FROM some GROUP BY 1"
    flow = flo.Flow("bodies")
    sales = flow.input("sales", flo.Sequence[Sale])
    windows = sales.tumbling(2, time=lambda sale: sale.shop)
    flow.output("windows", windows.nest(lambda pane: flow.sql(query, some=pane.to_zset())))
    flow.output("keys", sales.key_by(lambda sale: sale.shop).per_key(lambda one: flow.sql(query, some=one.to_zset())))
    return flow


def test_segments_in_bodies_run_on_spark(functions):
    """Catalyst cannot run them between stages, so the driver runs their stages."""
    flow = bodies()
    expected = flow.run(sales=SALES)
    sales = functions.createDataFrame([(*row, at) for at, row in enumerate(SALES)], f"{SCHEMA}, at long")
    found = flow.on(functions).run(sales=sales, shards=3, order={"sales": "at"})
    assert {name: found[name] for name in expected} == expected


def test_segments_with_workers(functions):
    """Between stages they run in the process that has the session; in a body they would run in a worker."""
    flow = cut_twice()
    expected = flow.on(flo.here).run(sales=SALES)
    found = flow.on(flo.here, workers=2).run(sales=SALES)
    assert {name: sorted(map(str, found[name].to_pylist())) for name in expected} == {
        name: sorted(map(str, table.to_pylist())) for name, table in expected.items()
    }
    with pytest.raises(flo.FloError, match="workers have no session"):
        bodies().on(flo.here, workers=2).loop()


@pytest.mark.thorough
def test_segments_in_bodies_go_on_after_a_restart(functions, tmp_path):
    source, schema = tmp_path / "sales", f"{SCHEMA}, at long"
    for end in (3, len(SALES)):
        rows = [(*row, at) for at, row in enumerate(SALES)][0 if end == 3 else 3 : end]
        functions.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(str(source))
        frame = functions.readStream.schema(schema).parquet(str(source))
        query = (
            bodies()
            .on(functions)
            .start({"sales": frame}, checkpoint=str(tmp_path / "checkpoint"), shards=2, order={"sales": "at"})
        )
        query.process_all_available()
        found = {name: query.view(name).value() for name in ("windows", "keys")}
        query.stop()
    loop = bodies().loop()
    loop.push(sales=SALES)
    loop.run()
    assert found == loop.result()


def test_a_session_that_has_ended_is_named(functions):
    flow = flo.Flow("sales")
    flow.output("found", flow.sql("SELECT soundex(name) AS hash FROM sales", sales=flow.input("sales", flo.ZSet[Sale])))
    (segment,) = (
        each.operator.f for each in flow._scope.vertices if isinstance(getattr(each.operator, "f", None), Segment)
    )
    segment.spark = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    with pytest.raises(flo.FloError, match="the session that planned the query has been stopped"):
        flow.on(flo.here).run(sales=SALES)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT at_random(n) AS n FROM sales", "different each time"),
        ("SELECT shop, in_python(n) AS n FROM sales GROUP BY shop", "an aggregate in Python"),
        ("SELECT map(shop, name) AS m FROM sales", "columns do not have this type"),
        ("SELECT name COLLATE UTF8_LCASE AS name FROM sales", "a collation compares them otherwise"),
    ],
)
def test_what_cannot_be_maintained_is_rejected(functions, query, reason):
    flow = flo.Flow("sales")
    with pytest.raises(UnsupportedQueryError, match=reason):
        flow.sql(query, sales=flow.input("sales", flo.ZSet[Sale]))


def test_a_query_leaves_the_session_as_it_was(functions):
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.sql("SELECT n FROM sales", sales=sales)
    functions.udf.register("registered_later", lambda n: n, "long")
    flow.output("found", flow.sql("SELECT registered_later(n) AS n FROM sales", sales=sales))
    assert "registered_later(n)" in flow.explain()


def test_expressions_differ_by_what_is_no_operand(functions):
    """Equal relations share a stream, so expressions that only differ in a parameter must not be equal."""
    pairs = [
        ("from_json(name, 'a int').a", "from_json(name, 'b int').b"),
        ("parse_url(name, 'HOST')", "parse_url(name, 'PATH')"),
        ("plus_one(shop)", "minus_one(shop)"),
        ("transform(array(shop), x -> x + 1)", "transform(array(shop), x -> x + 2)"),
    ]
    with planning_session(functions) as planner:
        number = stand_in(planner, "sales", SCHEMA)
        for one, other in pairs:
            read = [
                plan.canonical(read_frame(planner.sql(f"SELECT {each} AS found FROM sales"), {number: "sales"}))
                for each in (one, other, one)
            ]
            assert read[0] != read[1]
            assert read[0] == read[2]
            (given,) = read[0].given  # type: ignore[attr-defined]
            assert can_run_natively(given.given)
            assert pickle.loads(pickle.dumps(given.given)) == given.given

"""`format("flo")`: the views of a checkpoint as a data source of Spark."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import EqualTo, In, IsNull, Not
from pyspark.sql.types import StructType

import flo
import flo.spark
from flo.shards.checkpoint.retention import Retention
from flo.shards.checkpoint.stored_views import StoredViews
from flo.shards.tasks.view_filters import Condition, condition_of, filter_rows
from flo.shards.tasks.view_parts import ViewPart, repeat_rows
from flo.spark.view_source import ChangesReader, Request
from tests.spark.shops import sales, sums
from tests.spark.simulated import Simulated
from tests.sql.feeding import Feed

SCHEMA = "shop string, price int, _weight long"
COLUMNS = pa.schema([("shop", pa.string()), ("price", pa.int32()), ("_weight", pa.int64())])
QUERIES = {
    "revenue": "SELECT shop, sum(price) AS revenue FROM sales GROUP BY shop",
    "sold": "SELECT shop, price, cast(price AS double) / 0.1D AS tenth FROM sales",
}
BATCHES = [
    [("a", 5, 1), ("b", 7, 1), ("b", 7, 1), (None, 1, 1)],
    [("a", 5, -1), ("a", 6, 1), ("c", None, 2)],
    [("b", 7, -1), ("b", 8, 1)],
]


class Store:
    """A query that was run on a feed, and its checkpoint."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.feed = Feed(spark, folder / "sales", SCHEMA, COLUMNS)
        self.views = flo.spark.views(spark, QUERIES, {"sales": self.feed.frame})
        self.checkpoint = str(folder / "checkpoint")

    def put(self, *batches: list[tuple[Any, ...]]) -> None:
        for rows in batches:
            self.feed.put(*rows)
        self.views.start(checkpoint=self.checkpoint, trigger={"availableNow": True}, shards=2, keep=10).wait()


@pytest.fixture(scope="module")
def stored(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Store:
    found = Store(spark, tmp_path_factory.mktemp("stored"))
    found.put(*BATCHES)
    return found


def read(spark: Any, stored: Store, view: str, **options: Any) -> Any:
    return spark.read.format("flo").option("view", view).options(**options).load(stored.checkpoint)


def rows(frame: Any) -> Counter[Any]:
    return Counter(map(tuple, frame.collect()))


def expected(spark: Any, view: str, version: int) -> Counter[Any]:
    """What batch Spark gives for the rows so far."""
    weights: Counter[Any] = Counter()
    for batch in BATCHES[: version + 1]:
        for shop, price, weight in batch:
            weights[shop, price] += weight
    sales = spark.createDataFrame(list(weights.elements()), "shop string, price int")
    return rows(spark.sql(QUERIES[view].replace("FROM sales", "FROM {sales}"), sales=sales))


@pytest.mark.thorough
@pytest.mark.parametrize("view", QUERIES)
def test_reads_the_rows_of_every_version(spark: Any, stored: Store, view: str) -> None:
    found = read(spark, stored, view)
    assert rows(found) == expected(spark, view, 2)
    assert found.columns == spark.createDataFrame([], found.schema).columns
    assert rows(read(spark, stored, view, version=0)) == expected(spark, view, 0)


@pytest.mark.thorough
def test_reads_changes_between_versions(spark: Any, stored: Store) -> None:
    changes = read(spark, stored, "revenue", changes="true", startingVersion=1, version=2)
    assert rows(changes) == {
        ("a", 5, -1): 1, ("a", 6, 1): 1, ("b", 14, -1): 1, ("b", 15, 1): 1, ("c", None, 1): 1,
    }  # fmt: skip
    whole = read(spark, stored, "sold", changes="true", version=0)
    assert [weight for *_, weight in whole.where("shop = 'b'").collect()] == [2]


@pytest.mark.thorough
def test_streams_changes_exactly_once(spark: Any, tmp_path: Path) -> None:
    stored = Store(spark, tmp_path)
    stored.put(*BATCHES[:2])

    def stream(**options: Any) -> Counter[Any]:
        read = spark.readStream.format("flo").option("view", "revenue").option("changes", "true").options(**options)
        write = read.load(stored.checkpoint).writeStream.format("parquet").option("path", str(tmp_path / "out"))
        query = write.option("checkpointLocation", str(tmp_path / "offsets")).trigger(availableNow=True).start()
        query.awaitTermination()
        return rows(spark.read.parquet(str(tmp_path / "out")))

    first = stream()
    assert first == {("a", 6, 1): 1, ("b", 14, 1): 1, ("c", None, 1): 1, (None, 1, 1): 1}
    stored.put(BATCHES[2])
    assert stream() == first + Counter({("b", 14, -1): 1, ("b", 15, 1): 1})


@pytest.mark.thorough
def test_errors_reach_the_user(spark: Any, stored: Store) -> None:
    with pytest.raises(PySparkException, match=r"no view `profit`(.|\n)*views +revenue, sold"):
        read(spark, stored, "profit")


@pytest.mark.thorough
def test_tables_of_the_catalog(spark: Any, tmp_path: Path) -> None:
    stored = Store(spark, tmp_path)
    stored.put(BATCHES[0])
    where = f"OPTIONS (path '{stored.checkpoint}', view 'revenue')"
    try:
        spark.sql(f"CREATE TABLE flo_revenue USING flo {where}")
        assert rows(spark.table("flo_revenue")) == expected(spark, "revenue", 0)
        stored.put(BATCHES[1])
        assert rows(spark.sql("SELECT * FROM flo_revenue")) == expected(spark, "revenue", 1), "the newest version"
    finally:
        spark.sql("DROP TABLE IF EXISTS flo_revenue")
    assert Path(stored.checkpoint, "flo.json").exists()


CONDITIONS = (
    "shop = 'b'",
    "not (shop <=> null) and price > 6",
    "shop not in ('a', 'c')",
    "price in (1, 8, null)",
    "tenth = 60",
)


@pytest.mark.thorough
def test_filters_mean_the_same_where_they_are_pushed_down(spark: Any, stored: Store) -> None:
    whole = rows(read(spark, stored, "sold"))
    there = spark.createDataFrame(list(whole.elements()), "shop string, price int, tenth double")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        # one query for all conditions: each is pushed to a scan of its own
        parts = [read(spark, stored, "sold").where(each).selectExpr(f'"{each}" AS c', "*") for each in CONDITIONS]
        union = parts[0]
        for part in parts[1:]:
            union = union.union(part)
        found = rows(union)
        plan = parts[0]._jdf.queryExecution().executedPlan().toString()
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert "Filter" not in plan.replace("RuntimeFilters", "")
    wanted: Counter[Any] = Counter()
    for each in CONDITIONS:
        wanted += rows(there.where(each).selectExpr(f'"{each}" AS c', "*"))
    assert found == wanted


def test_null_is_not_true() -> None:
    table = pa.table({"x": pa.array([1, None, 2])})
    for condition, left in (
        (Condition("In", "x", (1, None)), [1]),
        (Condition("In", "x", (1, None), negated=True), []),
        (Condition("EqualTo", "x", (1,), negated=True), [2]),
        (Condition("EqualNullSafe", "x", (1,), negated=True), [None, 2]),
        (Condition("EqualTo", "x", (None,)), []),
    ):
        assert filter_rows(table, [condition])["x"].to_pylist() == left, condition


MOMENT = datetime(2024, 5, 17, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "fit", "unfit"),
    [
        (pa.bool_(), [True], [1]),
        (pa.int8(), [-127, 127], [128, True, 1.0]),
        (pa.int64(), [2**62], [2**63, Decimal(1)]),
        (pa.uint8(), [], [1]),
        (pa.string(), ["a"], [b"a", 1]),
        (pa.date32(), [MOMENT.date()], [MOMENT]),
        (pa.timestamp("us"), [MOMENT.replace(tzinfo=None)], [MOMENT, MOMENT.date()]),
        (pa.timestamp("us", "UTC"), [MOMENT], [MOMENT.replace(tzinfo=None)]),
        (pa.decimal128(5, 2), [Decimal("123.45")], [Decimal("1234.5"), Decimal("0.001"), 1]),
        (pa.float64(), [], [1.0]),
        (pa.list_(pa.int64()), [], [[1]]),
    ],
    ids=str,
)
def test_constants_that_arrow_compares_as_spark_does(kind: pa.DataType, fit: list[Any], unfit: list[Any]) -> None:
    schema = pa.schema([("x", kind)])
    for value in fit:
        assert condition_of(EqualTo(("x",), value), schema) == Condition("EqualTo", "x", (value,))
        assert condition_of(Not(In(("x",), (value,))), schema) == Condition("In", "x", (value,), negated=True)
    for value in unfit:
        assert condition_of(EqualTo(("x",), value), schema) is None
        assert condition_of(Not(In(("x",), (*fit, value))), schema) is None
    assert condition_of(IsNull(("x",)), schema) == Condition("IsNull", "x")


# Without Spark


class Item(NamedTuple):
    name: str
    number: int


def everything() -> flo.Flow:
    """A view of each collection, and one whose rows are in other shards than their equals."""
    flow = flo.Flow("everything")
    items = flow.input("items", flo.ZSet[Item])
    flow.output("zset", items.group_by("number").agg(name=flo.min("name")).select("name"))
    flow.output("bag", flow.input("bag", flo.Bag[Item]))
    flow.output("set", flow.input("set", flo.Set[Item]))
    flow.output("sequence", flow.input("sequence", flo.Sequence[Item]))
    return flow


def weights(parts: list[ViewPart]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for part in parts:
        for row in part.changes().to_pylist():
            found[tuple(value for name, value in row.items() if name != "_weight")] += row["_weight"]
    return found


def without_zeros(found: Counter[Any]) -> dict[Any, int]:
    return {row: weight for row, weight in found.items() if weight}


@pytest.mark.parametrize("seed", range(3))
def test_changes_lead_from_version_to_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr("flo.shards.checkpoint.stored_views.PART_BYTES", 1)  # as many parts as shards
    rng = random.Random(seed)
    query = Simulated(everything(), tmp_path, shards=3, seed=seed)
    query.batches.retention = Retention.of(6)
    held: list[Item] = []
    for _ in range(6):
        added = [Item(rng.choice("abc"), rng.randrange(9)) for _ in range(rng.randrange(5))]
        removed = rng.sample(held, min(len(held), rng.randrange(3)))
        held = [*held, *added]
        changes: Counter[Item] = Counter(added)
        for item in removed:
            held.remove(item)
            changes[item] -= 1
        rows = {item: weight for item, weight in changes.items() if weight}
        query.turn({"items": rows, "bag": Counter(added), "set": set(added), "sequence": added})
    views = StoredViews(str(tmp_path))
    assert views.versions() == list(range(6))
    for name in views.names:
        states = [views.view(name, version) for version in range(6)]
        contents = [without_zeros(weights(state.parts())) for state in states]
        for place, (one, other) in enumerate(pairwise(states)):
            moved = Counter(contents[place])
            moved.update(weights(other.parts(one)))
            assert without_zeros(moved) == contents[place + 1], name
        assert not states[3].parts(states[3]) or name == "set", "the runs of a version are those of itself"
        assert without_zeros(weights(states[3].parts(states[3]))) == {}
    values = query.values()
    assert contents[-1] == {tuple(row): count for row, count in Counter(values["sequence"]).items()}
    newest = {name: without_zeros(weights(views.view(name).parts())) for name in ("zset", "bag", "set")}
    assert newest["zset"] == {(row.name,): weight for row, weight in values["zset"].items()}
    assert newest["bag"] == {tuple(row): count for row, count in values["bag"].items()}
    assert newest["set"] == {tuple(row): 1 for row in values["set"]}


def request(path: Path, view: str = "sums", **options: Any) -> Request:
    return Request.of({"path": str(path), "view": view, **{name: str(value) for name, value in options.items()}})


def test_errors_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(flo.CheckpointError, match="there is no checkpoint in"):
        request(tmp_path / "nowhere").schema()
    query = Simulated(sums(), tmp_path)
    with pytest.raises(flo.CheckpointError, match="no micro-batch is committed yet"):
        request(tmp_path).schema()
    for version in range(4):
        query.turn({"sales": sales(version * 10, 10)})
    with pytest.raises(flo.UnknownNameError, match=r"no view `profit`(.|\n)*views +sums"):
        request(tmp_path, view="profit").schema()
    with pytest.raises(flo.CheckpointError, match=r"version 7 of `sums` is not committed yet(.|\n)*kept +2 to 3"):
        request(tmp_path, version=7).schema()
    with pytest.raises(flo.CheckpointError, match=r"version 1 of `sums` is no longer kept(.|\n)*keep=100"):
        request(tmp_path, version=1).schema()
    with pytest.raises(flo.UnknownNameError, match="needs the option `view`"):
        Request.of({"path": str(tmp_path)})
    with pytest.raises(flo.ElementError, match="`version` must be an integer"):
        request(tmp_path, version="new")
    with pytest.raises(flo.ElementError, match="`changes` must be true or false"):
        request(tmp_path, changes="yes")
    with pytest.raises(flo.ElementError, match="`startingVersion` is for changes"):
        request(tmp_path, startingVersion=1)
    with pytest.raises(flo.FloError, match="a stream reads the changes of a view"):
        ChangesReader(request(tmp_path), StructType())
    with pytest.raises(flo.FloError, match="a stream reads all versions"):
        ChangesReader(request(tmp_path, changes="true", version=3), StructType())


def test_a_stream_fails_where_changes_are_lost(tmp_path: Path) -> None:
    query = Simulated(sums(), tmp_path)
    for version in range(3):
        query.turn({"sales": sales(version * 10, 10)})

    def reader(**options: Any) -> ChangesReader:
        given = request(tmp_path, changes="true", **options)
        return ChangesReader(given, given.schema())

    with pytest.raises(flo.CheckpointError, match=r"version 0 of `sums` is no longer kept"):
        reader(startingVersion=1).initialOffset()
    stream = reader(startingVersion=2)
    start, end = stream.initialOffset(), stream.latestOffset()
    assert (start["version"], end["version"]) == (1, 2)
    planned = stream.partitions(start, end)
    changes = [row for part in planned for batch in stream.read(part) for row in batch.to_pylist()]
    assert changes
    assert stream.partitions(end, end) == []
    now = reader()
    now.prepareForTriggerAvailableNow()
    query.turn({"sales": sales(30, 10)})
    assert now.latestOffset()["version"] == 2, "what was there when the query started"
    assert stream.latestOffset()["version"] == 3
    with pytest.raises(flo.CheckpointError, match=r"version 1 of `sums` is no longer kept"):
        stream.partitions(start, stream.latestOffset())
    for version in range(4, 7):
        query.turn({"sales": sales(version * 10, 10)})
    with pytest.raises(flo.CheckpointError, match="was removed while it was read"):
        list(stream.read(planned[0]))
    with pytest.raises(flo.CheckpointError, match="was replaced by another one"):
        stream.partitions({**end, "checkpoint": "another"}, stream.latestOffset())


def test_tasks_import_nothing_of_the_driver() -> None:
    asked = "import sys, pyspark_flo; assert 'flo' not in sys.modules; import flo.spark.view_source; "
    asked += (
        "print([name for name in sys.modules if name.startswith(('flo.spark.driver', 'flo.spark.on_', 'flo.tools'))])"
    )
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_rows_are_repeated_by_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flo.shards.tasks.view_parts.ROWS", 3)
    table = pa.table({"x": ["a", "b", "c"], "_weight": pa.array([2, 0, 3], pa.int64())})
    batches = list(repeat_rows(table))
    assert [batch.num_rows for batch in batches] == [3, 2]
    assert [x for batch in batches for x in batch.column("x").to_pylist()] == ["a", "a", "c", "c", "c"]
    with pytest.raises(flo.ElementError, match="has the weight -1"):
        list(repeat_rows(pa.table({"x": ["a"], "_weight": pa.array([-1], pa.int64())})))

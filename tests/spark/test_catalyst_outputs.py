"""Outputs that Catalyst writes have the rows, counts and errors of those that tasks write, also after a failure."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sf

import flo
from flo.columns.expression import Expression
from flo.core.errors import EngineError
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.plan.rewrites import rewrites
from flo.spark import Changes
from flo.spark.driver import catalyst_outputs, micro_batches
from flo.spark.driver.catalyst_outputs import OWN, publish_files
from flo.spark.driver.direct_reads import DirectRead
from flo.spark.driver.micro_batches import SparkMicroBatches
from flo.spark.driver.query import Query
from flo.tables.io.files import WEIGHTS
from tests.spark.sources import files
from tests.spark.test_pushdown import LAYOUT, Row, cases, telling_rows

pytestmark = [pytest.mark.slow, pytest.mark.every(test=3)]

BY_CATALYST, BY_TASKS = "parquet-mr", "parquet-cpp-arrow"
SPLIT = [0, 150, 150, 484]
"""Where the rows are cut into micro-batches. The second has none."""


class Item(NamedTuple):
    n: int
    text: str | None


class Listed(NamedTuple):
    items: tuple[int, ...]


ITEMS = [pa.table({"n": pa.array(some, pa.int64()), "text": [str(n) for n in some]}) for some in ([1, 2, 2], [3], [4])]


@pytest.fixture(autouse=True)
def none_is_small(request, monkeypatch):
    """Catalyst writes all micro-batches, though they have few rows, unless the test is about that."""
    if "small" not in request.node.name:
        monkeypatch.setattr(micro_batches, "FEW_ROWS", -1)


def pick_even(edge: int = 2) -> flo.Flow:
    flow = flo.Flow("even")
    rows = flow.input("rows", flo.ZSet[Item])
    flow.output("even", rows.filter(nw.col("n") % edge == 0))
    return flow


def start(spark: Any, flow: flo.Flow, tables: list[pa.Table], folder: Path, **options: Any) -> Query:
    """A query that writes its output to the folder `out`, and takes a table in each micro-batch."""
    (name,) = flow._outputs
    options = {"checkpoint": folder / "checkpoint", "trigger": {"availableNow": True}, "shards": 2} | options
    sinks = {name: Changes(str(folder / "out"))} | options.pop("sinks", {})
    source = options.pop("source", folder / "rows")
    return flow.on(spark).start({"rows": files(spark, tables, source)}, sinks, **options)


def finish(*given: Any, **options: Any) -> Query:
    query = start(*given, **options)
    query.wait()
    return query


def writers_of(folder: Path) -> set[str]:
    """Who has written the files of a folder."""
    return {pq.read_metadata(file).created_by.split(" ")[0] for file in folder.rglob("*.parquet")}


def read_back(folder: Path) -> list[Counter[str]]:
    """How often each row was added in each version. Equal rows may be in several files, or once with their weight."""
    stored, found = StoredChanges(str(folder)), []
    for version in stored.versions():
        parts, _ = stored.parts(None, version - 1, version)
        counts = Counter[str]()
        for row in (row for part in parts for row in part.changes().to_pylist()):
            weight = row.pop(WEIGHTS)
            counts[repr(row)] += weight
        found.append(counts)
    return found


def draw_program(rng: random.Random) -> flo.Flow:
    """Maps and filters, in any order and of any expressions that Catalyst may run; sometimes none at all."""
    flow = flo.Flow("drawn")
    of = rng.choice([flo.Bag, flo.ZSet])
    rows: Any = flow.input("rows", of[Row])
    expressions = cases()
    truths = [each for each in expressions if Expression(each, (LAYOUT,)).schema.field(0).type == pa.bool_()]
    for kind in rng.choices(["filter", "map"], k=rng.randrange(4)):
        if kind == "filter":
            rows = rows.filter(rng.choice(truths))
        else:  # each column keeps its type, so that what follows fits
            one, other = rng.choice(["ij", "st", "bc", "de"])
            rows = rows.with_columns(**{one: nw.col(other), other: nw.col(one)})
        if of is flo.Bag and rng.random() < 0.3:
            rows, of = rows.to_zset(), flo.ZSet
    some = {f"x{place}": each for place, each in enumerate(rng.sample(expressions, 5))}
    if rng.random() < 0.7:
        rows = rows.select(*rng.sample(Row._fields, 3), **some) if rng.random() < 0.7 else rows.select(**some)
    flow.output("found", rows.to_zset() if of is flo.Bag and rng.random() < 0.5 else rows)
    return flow


@pytest.mark.always
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 30))])
def test_drawn_programs_have_the_same_rows_and_counts_either_way(spark, tmp_path, monkeypatch, seed):
    rows = LAYOUT.to_table(telling_rows())
    tables = [rows.slice(low, high - low) for low, high in pairwise(SPLIT)]
    found = []
    for on in (True, False):
        monkeypatch.setattr(rewrites, "catalyst_outputs", on)
        flow, folder = draw_program(random.Random(seed)), tmp_path / str(on)
        query = finish(spark, flow, tables, folder)
        assert writers_of(folder / "out") == {BY_CATALYST if on else BY_TASKS}
        schema = StoredChanges(str(folder / "out")).schema(None, None)
        counts = [(each.version, each.rows, each.taken, each.diverted, each.ended) for each in query.progress]
        by_spark = spark.read.parquet(str(folder / "out")).dtypes
        found.append((read_back(folder / "out"), schema, counts, by_spark))
    assert found[0] == found[1]
    assert [taken for _, _, taken, _, _ in found[0][2]] == [{"rows": table.num_rows} for table in tables]


@pytest.mark.always
@pytest.mark.parametrize("edge", [2, 1])
def test_the_plan_of_a_micro_batch_gives_the_rows_and_counts_of_its_rdd(spark, tmp_path, monkeypatch, edge):
    """Also those that Spark reports, which does not run its own plan of the micro-batch."""
    found = []
    for directly in (True, False):
        monkeypatch.setattr(rewrites, "direct_reads", directly)
        read, folder, proper = [], tmp_path / str(directly), DirectRead.of.__func__

        def spy(kind: Any, *given: Any, calls: list[bool] = read, proper: Any = proper) -> Any:
            direct = proper(kind, *given)
            calls.append(direct is not None)
            return direct

        with monkeypatch.context() as patch:
            patch.setattr(DirectRead, "of", classmethod(spy))
            query = finish(spark, pick_even(edge), ITEMS, folder)
        assert read == [True] * 3 * directly
        counts = [(each.rows, each.taken) for each in query.progress]
        by_spark = [each["numInputRows"] for each in query._query.recentProgress][:3]
        found.append((read_back(folder / "out"), counts, by_spark))
    assert found[0] == found[1]
    assert found[0][2] == [3, 1, 1]


def test_the_rows_of_a_users_plan_are_those_of_its_rdd(spark, tmp_path, monkeypatch):
    """With times of Spark, conditions, and columns of its own: only the rows that pass are counted."""
    found = []
    for directly in (True, False):
        monkeypatch.setattr(rewrites, "direct_reads", directly)
        for edge in (1, 2):
            folder = tmp_path / f"{directly} {edge}"
            now = sf.current_timestamp() > sf.lit("2001-01-01").cast("timestamp")
            rows = files(spark, ITEMS, folder / "rows").where("n > 1").where(now)
            rows = rows.withColumn("n", sf.col("n") * 2).withColumn("text", sf.concat("text", sf.lit("é")))
            query = (
                pick_even(edge)
                .on(spark)
                .start(
                    {"rows": rows},
                    {"even": Changes(str(folder / "out"))},
                    checkpoint=folder / "checkpoint",
                    trigger={"availableNow": True},
                )
            )
            query.wait()
            found.append((read_back(folder / "out"), [(each.rows, each.taken) for each in query.progress]))
    assert found[:2] == found[2:]
    assert found[0][1] == found[1][1]


STEPS = {
    "written": (catalyst_outputs, "publish_files"),
    "published": (SparkMicroBatches, "summarize"),
    "taken": (SparkMicroBatches, "commit_micro_batch"),
    "committed": (Changes, "commit"),
}
"""What is called next, by what Spark or the sink has done."""


def break_off(monkeypatch: pytest.MonkeyPatch, after: str, call: int = 2) -> None:
    """A micro-batch fails after a step: the second one, if each takes it once."""
    calls, (owner, name) = [], STEPS[after]
    proper = getattr(owner, name)

    def fail_once(*given: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == call:
            raise RuntimeError(f"broken off when it was {after}")
        return proper(*given, **options)

    monkeypatch.setattr(owner, name, fail_once)


@pytest.mark.parametrize(
    ("after", "ways"),
    [
        pytest.param("written", (True, True), marks=pytest.mark.always),
        ("written", (True, False)),
        pytest.param("published", (True, False), marks=pytest.mark.always),
        ("published", (True, True)),
        ("published", (False, True)),
        ("taken", (True, True)),
        ("taken", (True, False)),
        ("committed", (True, True)),
        ("committed", (False, True)),
    ],
)
def test_a_micro_batch_that_was_broken_off_comes_again(spark, tmp_path, monkeypatch, after, ways):
    """Whichever way the first attempt and the second go."""
    before, then = ways
    monkeypatch.setattr(rewrites, "catalyst_outputs", before)
    with pytest.MonkeyPatch.context() as patch:
        break_off(patch, after)
        with pytest.raises(RuntimeError, match=f"when it was {after}"):
            finish(spark, pick_even(), ITEMS, tmp_path)
    monkeypatch.setattr(rewrites, "catalyst_outputs", then)
    query = finish(spark, pick_even(), ITEMS, tmp_path)
    assert query.progress[-1].version == 2
    assert read_back(tmp_path / "out") == [{row(2): 2}, {}, {row(4): 1}]
    assert not list((tmp_path / "out").rglob(f"{OWN}*"))
    last = tmp_path / "out" / "version=00000002"
    assert {file.name for file in last.iterdir()} <= {f"0000{place}-of-00002.parquet" for place in range(2)}
    assert writers_of(last) == {BY_CATALYST if then else BY_TASKS}


def test_files_of_one_attempt_replace_those_of_another(tmp_path):
    """Of a query that has lost its checkpoint to this one, and went on for a while."""
    own, staged = tmp_path / f"{OWN}1", tmp_path / "00000007"
    for folder, names in (
        (own, ("part-00000.c000", "part-00003.c000")),
        (staged, ("00000-of-00004", "00003-of-00004")),
    ):
        folder.mkdir()
        for name in names:
            pq.write_table(ITEMS[0], folder / f"{name}.parquet")
    (own / ".part-00000.c000.parquet.crc").write_bytes(b"1")
    (own / "_SUCCESS").write_bytes(b"")
    assert publish_files(own, staged, 4) == 2 * ITEMS[0].num_rows
    assert [each.name for each in tmp_path.iterdir()] == ["00000007"]
    assert sorted(each.name for each in staged.iterdir()) == ["00000-of-00004.parquet", "00001-of-00004.parquet"]
    with pytest.raises(EngineError, match="must share the disk"):
        publish_files(own, staged, 4)


def row(n: int) -> str:
    return repr({"n": n, "text": str(n)})


def test_spark_writes_no_files_beside_those_with_rows(spark, tmp_path, monkeypatch):
    """Checksums, and a file that says that all are there, take longer than a few rows, and would be removed."""
    beside: list[set[str]] = []

    def publish(own, staged, shards):
        beside.append({each.suffix for each in own.iterdir()})
        return publish_files(own, staged, shards)

    monkeypatch.setattr(catalyst_outputs, "publish_files", publish)
    finish(spark, draw_program(random.Random(0)), [LAYOUT.to_table(telling_rows())], tmp_path)
    assert beside == [{".parquet"}]


def test_a_task_that_fails_is_repeated_without_its_rows_twice(spark, tmp_path):
    """A row that does not fit ends the query. With the row corrected, the micro-batch comes again."""
    bad = pa.table({"n": pa.array([6, None], pa.int64()), "text": ["6", "7"]})
    with pytest.raises(flo.ElementError, match="a row of `rows` does not fit: `n` is null"):
        finish(spark, pick_even(), [*ITEMS, bad], tmp_path)
    assert read_back(tmp_path / "out") == [{row(2): 2}, {}, {row(4): 1}]
    pq.write_table(pa.table({"n": [6, 6], "text": ["6", "6"]}), tmp_path / "rows" / "003.parquet")
    finish(spark, pick_even(), ITEMS, tmp_path)
    assert read_back(tmp_path / "out") == [{row(2): 2}, {}, {row(4): 1}, {row(6): 2}]
    assert writers_of(tmp_path / "out") == {BY_CATALYST}


@pytest.mark.always
def test_a_checkpoint_goes_on_with_another_program_and_another_number_of_shards(spark, tmp_path, monkeypatch):
    """Its stage has a state, though no row has passed through it."""
    found = []
    for on in (True, False):
        monkeypatch.setattr(rewrites, "catalyst_outputs", on)
        folder = tmp_path / str(on)
        finish(spark, pick_even(), ITEMS[:1], folder)
        query = finish(spark, pick_even(), ITEMS[:2], folder, shards=3)
        assert query._batches.shards == 3
        finish(spark, pick_even(edge=1), ITEMS, folder, changed="fill")
        stored = sum(read_back(folder / "out"), Counter())
        found.append((stored, StoredChanges(str(folder / "out")).versions()))
    assert found[0] == found[1]
    assert found[0][0] == {row(1): 1, row(2): 2, row(3): 1, row(4): 1}


def test_small_micro_batches_run_in_one_task_of_python(spark, tmp_path, monkeypatch):
    """From the second on: how many rows there are is expected from those before."""
    large = pa.table({"n": pa.array([5] * 9 + [6], pa.int64()), "text": ["a"] * 10})
    monkeypatch.setattr(micro_batches, "FEW_ROWS", 9)
    query = finish(spark, pick_even(), [*ITEMS, large, large], tmp_path)
    writers = [writers_of(folder) for folder in sorted((tmp_path / "out").glob("version=*"))]
    assert writers == [{BY_CATALYST}, {BY_TASKS}, {BY_TASKS}, {BY_TASKS}, {BY_CATALYST}]
    assert [each.taken for each in query.progress] == [{"rows": count} for count in (3, 1, 1, 10, 10)]
    assert [each.rows for each in query.progress] == [{"even": count} for count in (2, 0, 1, 1, 1)]
    assert read_back(tmp_path / "out")[:3] == [{row(2): 2}, {}, {row(4): 1}]


def test_a_micro_batch_that_is_not_small_after_all_is_written_by_catalyst(spark, tmp_path, monkeypatch):
    """Rows are counted once, though they are read twice."""
    monkeypatch.setattr(micro_batches, "FEW_ROWS", 9)
    monkeypatch.setattr(micro_batches, "FEW_BYTES", 200)
    large = pa.table({"n": pa.array([5] * 9 + [6] * 10, pa.int64()), "text": ["a" * 100] * 19})
    query = finish(spark, pick_even(), [ITEMS[0], large], tmp_path)
    assert writers_of(tmp_path / "out") == {BY_CATALYST}
    assert [each.taken for each in query.progress] == [{"rows": 3}, {"rows": 19}]
    assert [each.rows for each in query.progress] == [{"even": 2}, {"even": 10}]


def test_explain_says_who_writes_an_output(spark, monkeypatch):
    assert "= even   output   written by Catalyst, if to Changes" in pick_even().on(spark).explain()
    monkeypatch.setattr(rewrites, "catalyst_outputs", False)
    assert "written" not in pick_even().on(spark).explain()


def grouped(rows: Any) -> Any:
    return rows.group_by("text").agg(n=flo.count())


OTHERS = {
    "a function of Python": (flo.ZSet[Item], lambda rows: rows.filter(lambda item: item.n > int(item.text or 0))),
    "a function that is not listed": (flo.ZSet[Item], lambda rows: rows.filter(nw.col("n") + 1 > 1)),
    "a state": (flo.ZSet[Item], grouped),
    "rows in order": (flo.Sequence[Item], lambda rows: rows.filter(nw.col("n") > 1)),
    "a set": (flo.Set[Item], lambda rows: rows),
    "two branches": (flo.ZSet[Item], lambda rows: rows.union(rows.filter(nw.col("n") > 1))),
    "another type": (flo.Bag[Listed], lambda rows: rows),
}


@pytest.mark.parametrize("case", OTHERS)
def test_programs_whose_output_catalyst_does_not_write(spark, case):
    flow = flo.Flow("other")
    of, made = OTHERS[case]
    flow.output("found", made(flow.input("rows", of)))
    assert "written" not in flow.on(spark).explain()


WEIGHTED = [table.append_column(WEIGHTS, pa.array([1] * table.num_rows)) for table in ITEMS]
NARROW = [table.cast(pa.schema([("n", pa.int32()), ("text", pa.string())])) for table in ITEMS]


@pytest.mark.parametrize(
    ("tables", "options"),
    [
        pytest.param(ITEMS, {"on_error": "divert"}, id="rows are diverted as they came", marks=pytest.mark.always),
        pytest.param(WEIGHTED, {}, id="rows have weights"),
        pytest.param(NARROW, {}, id="other types"),
        pytest.param(ITEMS, {"order": {"rows": "n"}}, id="a position"),
        pytest.param(ITEMS, {"sinks": {"even": "memory"}}, id="another sink"),
    ],
)
def test_what_tasks_write(spark, tmp_path, tables, options):
    query = finish(spark, pick_even(), tables, tmp_path, **options)
    assert not query._batches.written
    if "sinks" not in options:
        assert writers_of(tmp_path / "out") == {BY_TASKS}
        assert read_back(tmp_path / "out") == [{row(2): 2}, {}, {row(4): 1}]


def test_neither_settings_of_the_session_nor_the_name_of_the_folder_change_the_files(spark, tmp_path):
    """Dates are not moved to the calendar of the Romans, and there are no more files than shards."""
    tmp_path = tmp_path / "a b%20#ü+[x]{y}*?:z"
    source = tmp_path.parent / "source"
    flow = flo.Flow("dates")
    flow.output("dates", flow.input("rows", flo.Bag[Row]).select("d", "at"))
    old = {"spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY", "spark.sql.files.maxRecordsPerFile": "10"}
    before = {name: spark.conf.get(name) for name in old}
    rows = LAYOUT.to_table(telling_rows())
    try:
        for name, value in old.items():
            spark.conf.set(name, value)
        finish(spark, flow, [rows], tmp_path, source=source)
        assert {name: spark.conf.get(name) for name in old} == old
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    written = pq.read_table(tmp_path / "out" / "version=00000000")
    assert Counter(map(repr, written.select(["d", "at"]).to_pylist())) == Counter(
        map(repr, rows.select(["d", "at"]).to_pylist())
    )
    assert len(list((tmp_path / "out" / "version=00000000").iterdir())) <= 2
    assert writers_of(tmp_path / "out") == {BY_CATALYST}

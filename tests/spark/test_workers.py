"""Workers with no more packages than the documents ask for, sessions that cannot be used, and many shards."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import flo
from flo.shards.tasks.state import BLANK, StateVersions
from flo.spark.driver.micro_batches import ON_CLUSTER, most_tasks
from flo.spark.driver.session_checks import expect_same_session
from flo.tables.checkpoint.folders import folder as open_folder
from flo.tables.checkpoint.store import write_sealed
from tests.spark import workers
from tests.spark.shops import Sale, Shop, sales, sums
from tests.spark.simulated import Simulated
from tests.spark.sources import files

pytestmark = pytest.mark.every(test=2)

REQUIRED = ("pyarrow", "numpy", "pandas")
"""What docs/spark.md asks of a worker beside PySpark, which Spark itself brings."""
OF_PANDAS = ("python-dateutil", "six", "pytz", "tzdata")


def restricted(folder: Path) -> Path:
    """A Python that has these packages and no others."""
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in (*REQUIRED, *OF_PANDAS):
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            assert name in OF_PANDAS, f"{name} is not installed"
            continue  # later versions of pandas need less
        for top in {Path(file).parts[0] for file in found.files or () if ".." not in Path(file).parts}:
            if top != "__pycache__":
                (packages / top).symlink_to(Path(str(found.locate_file(top))))
    return folder / "bin" / "python"


@pytest.mark.thorough
@pytest.mark.slow
def test_workers_need_no_more_than_the_documents_say(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, context = restricted(tmp_path / "python"), spark.sparkContext
    for package in ("flo", "rich", "typing_extensions", "narwhals"):
        assert subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode, package
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    monkeypatch.setattr(context, "pythonExec", str(python))
    monkeypatch.setattr(context, "_python_includes", list(context._python_includes))
    monkeypatch.setattr(sys, "path", list(sys.path))  # the archive that is shipped is put there
    cloudpickle.register_pickle_by_value(workers)  # as what a script defines
    try:
        said = workers.outcome(spark, work)
    finally:
        cloudpickle.unregister_pickle_by_value(workers)
    assert Path(said["python"]).parent == python.parent
    assert not {"rich", "typing_extensions"} & set(said["packages"])
    assert set(said["equal"]) == {"revenue", "windows", "late", "running"}
    assert all(said["equal"].values()), said


WORKER = """
import socket
from flo.spark.tasks.worker_daemon import run_tasks

here, there = socket.socketpair()
there.close()
print(run_tasks(here, True))
"""


def test_a_worker_ends_quietly_when_its_socket_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE", "1")  # as Spark sets it
    ended = subprocess.run([sys.executable, "-c", WORKER], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("1\n", "")


def fake(module: str, name: str, **members: Any) -> Any:
    return type(name, (), {"__module__": module, **members})()


def test_sessions_of_spark_connect_are_refused() -> None:
    session = fake("pyspark.sql.connect.session", "SparkSession")
    with pytest.raises(
        flo.TypeMismatch, match=r"`on` was given a session of Spark Connect.*classic session"
    ) as refused:
        sums().on(session)
    assert Path(__file__).name in str(refused.value)


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(flo.TypeMismatch, match="needs a Spark session; got SparkContext"):
        sums().on(fake("pyspark.core.context", "SparkContext"))


def test_frames_of_spark_connect_are_refused(spark: Any, tmp_path: Path) -> None:
    given = fake("pyspark.sql.connect.dataframe", "DataFrame", isStreaming=True)
    with pytest.raises(flo.TypeMismatch, match="`sales` was given a DataFrame of Spark Connect"):
        sums().on(spark).start({"sales": given}, checkpoint=tmp_path)
    with pytest.raises(flo.TypeMismatch, match="`sales` was given a DataFrame of Spark Connect"):
        sums().on(spark).run(sales=given)


def test_frames_of_another_session_are_refused(spark: Any) -> None:
    given = spark.newSession().createDataFrame([("a", 1)], "shop string, price long")
    with pytest.raises(flo.TypeMismatch, match="`sales` is a DataFrame of another session"):
        sums().on(spark).run(sales=given)
    mine = spark.createDataFrame([("a", 1)], "shop string, price long")
    stopped = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None)))
    with pytest.raises(flo.TypeMismatch, match="`sales` is a DataFrame of a session that has been stopped"):
        expect_same_session("sales", stopped, spark)  # type: ignore[arg-type]
    assert sums().on(spark).run(sales=mine)["sums"].count() == 1


def test_a_session_that_has_been_stopped_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    on, frame = sums().on(spark), spark.createDataFrame([("a", 1)], "shop string, price long")
    with monkeypatch.context() as patches:
        patches.setattr(spark.sparkContext, "_jsc", None)  # as `stop` leaves it
        with pytest.raises(flo.FloError, match="the Spark session has been stopped"):
            sums().on(spark)
        with pytest.raises(flo.FloError, match="the Spark session has been stopped"):
            on.run(sales=frame)


@pytest.mark.parametrize("how", ["streaming", "at once"])
def test_rows_are_counted_before_filters_that_spark_runs(spark: Any, tmp_path: Path, how: str) -> None:
    flow = flo.Flow("dear")
    dear = flow.input("sales", flo.Bag[Sale]).filter(nw.col("shop") != "b")
    shops = flow.input("shops", flo.Bag[Shop], bounded=True).filter(nw.col("city") == "Oslo")
    flow.output("dear", dear)
    flow.output("shops", shops)
    turns = [pa.table({"shop": ["a", "b", "c"], "price": [1, 2, 3]}), pa.table({"shop": ["b"], "price": [5]})]
    frames = {
        "sales": files(spark, turns, tmp_path / "sales"),
        "shops": spark.createDataFrame([("a", "Oslo"), ("b", "Rome")], "shop string, city string"),
    }
    on = flow.on(spark)
    assert all(native.operators for native in on._natives), "Spark runs the filters"
    if how == "streaming":
        query = on.start(frames, checkpoint=tmp_path / "c", trigger={"availableNow": True})
        query.wait()
        assert [each.taken for each in query.progress] == [{"sales": 3, "shops": 2}, {"sales": 1, "shops": 0}]
        assert query.view("dear").value() == {Sale("a", 1): 1, Sale("c", 3): 1}
    else:
        frames["sales"] = spark.read.parquet(str(tmp_path / "sales"))
        assert {row.shop for row in on.run(**frames)["dear"].collect()} == {"a", "c"}


def test_a_stage_has_as_many_tasks_as_there_are_cores() -> None:
    def session(master: str, cores: int) -> Any:
        return SimpleNamespace(sparkContext=SimpleNamespace(master=master, defaultParallelism=cores))

    assert most_tasks(session("local[4]", 4)) == 4
    assert most_tasks(session("spark://there:7077", 2)) == ON_CLUSTER, "more may come"
    assert most_tasks(session("yarn", 500)) == 500


def written(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_shards_that_are_sent_nothing_write_nothing(tmp_path: Path) -> None:
    query = Simulated(sums(), tmp_path, shards=1000)
    query.turn({"sales": sales(0, 3)})
    versions = query.batches.state_versions(0)[1]
    assert len(versions.shards) <= 4, "three shops, and shard 0"
    assert versions.blank == 0
    stores = {each.name for each in (tmp_path / "state" / "01000" / "01").iterdir()}
    assert stores == {"blank", *(f"{shard:05}" for shard in versions.shards)}
    before = written(tmp_path / "state")
    query.turn({})
    fresh = {name for name in written(tmp_path / "state") - before if not name.startswith("01000/01/00000/")}
    assert not fresh
    query.turn({"sales": sales(0, 40)})
    assert query.values() == dict(sums().run(sales={**sales(3, 37), **sales(0, 3, 2)}))
    assert query.outcome.rows["sums"] == 13 + 3


@pytest.mark.parametrize("shards", [1, 7, 60])
def test_ends_reach_shards_that_were_sent_nothing(tmp_path: Path, shards: int) -> None:
    """A shard gets its first rows after the end of the other side has come, and again after a restart."""

    def program() -> flo.Flow:
        flow = flo.Flow("ends")
        left, right = flow.input("left", flo.Set[Sale]), flow.input("right", flo.Set[Sale], bounded=True)
        rest = left.difference(right)
        flow.output("rest", rest)
        flow.output("count", right.count())
        flow.output("shops", rest.to_zset().group_by("shop").agg(n=flo.count()))
        return flow

    def taken(count: int) -> dict[str, Any]:
        return dict(program().run(left=set(sales(0, count)), right=set(sales(0, 10))))

    query = Simulated(program(), tmp_path, shards=shards)
    query.turn({"left": set(sales(0, 4)), "right": set(sales(0, 5))}, ends=False)
    assert query.values()["rest"] == set()
    query.turn({"right": set(sales(5, 5))})
    query.turn({"left": set(sales(4, 26))})
    assert query.values() == taken(30)
    again = Simulated(program(), tmp_path)
    again.turn({"left": set(sales(30, 30))})
    assert again.values() == taken(60)
    assert again.outcome.ended == {"rest": False, "count": True, "shops": False}


def test_what_a_turn_that_was_broken_off_has_left_in_a_shard_is_not_its_state(tmp_path: Path) -> None:
    """The micro-batch comes again with another function, which sends the shard nothing."""

    def program(named: bool) -> flo.Flow:
        flow = flo.Flow("dear")

        if named:

            def kept(sale: Sale) -> bool:
                return True
        else:

            def kept(sale: Sale) -> bool:
                return sale.price < 20

        flow.output("sums", flow.input("sales", flo.ZSet[Sale]).filter(kept).group_by("shop").agg(sum=flo.sum("price")))
        return flow

    query = Simulated(program(True), tmp_path, shards=5)
    query.turn({"sales": sales(0, 13)})
    query.take({"sales": sales(20, 13)})  # and is not committed
    again = Simulated(program(False), tmp_path)
    again.turn({"sales": sales(20, 13)})
    assert again.values() == dict(program(False).run(sales=sales(0, 13)))
    again.turn({"sales": sales(13, 7)})
    again.turn({"sales": sales(0, 2, -1)})
    expected = dict(program(False).run(sales=sales(2, 18)))
    assert again.values() == expected
    assert Simulated(program(False), tmp_path).values() == expected


def test_where_states_are_is_kept_as_json() -> None:
    versions = StateVersions({0: 4, 7: 2}, 1, frozenset({"orders"}))
    assert StateVersions.from_json(json.loads(json.dumps(versions.as_json()))) == versions
    assert list(versions.states()) == [(0, 4), (7, 2), (BLANK, 1)]
    assert (versions.version(7), versions.version(8)) == (2, 1)
    assert versions.with_changes(5, [7, BLANK], None) == StateVersions({0: 4, 7: 5}, 5, frozenset({"orders"}))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({}, "`state_versions`"),
        ({"state_versions": {}}, "no states for 2 shards"),
        ({"state_versions": {"2": {"1": {"shards": {"0": "one"}, "blank": 0, "ended": []}}}}, "malformed"),
        ({"state_versions": {"2": {"1": {"shards": {}, "ended": []}}}}, "malformed"),
        ({"state_versions": {"2": []}}, "malformed"),
    ],
)
def test_a_commit_that_does_not_say_where_its_states_are(tmp_path: Path, broken: Any, message: str) -> None:
    query = Simulated(sums(), tmp_path)
    query.turn({"sales": sales(0, 3)})
    content = {"version": 0, "epoch": 0, **broken}
    write_sealed(open_folder(tmp_path), "commits/00000000.json", content)
    with pytest.raises(flo.CheckpointError, match=message):
        Simulated(sums(), tmp_path).values()


def test_tasks_import_nothing_of_the_driver() -> None:
    """On a cluster the package is a zip file at a relative path, and there is no driver."""
    code = "import sys, flo.shards.tasks.stage_task, flo.shards.tasks.input_task; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "flo.shards.tasks.stage_task" in loaded
    assert [name for name in loaded if name.startswith(("flo.spark.driver", "flo.spark.session"))] == []


def test_workers_keep_freed_memory(spark: Any) -> None:
    """A worker on this machine has chosen the allocator whose freed memory it keeps."""

    def name_pool(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"pool": [pa.default_memory_pool().backend_name]})

    (row,) = spark.range(1, numPartitions=1).mapInArrow(name_pool, "pool string").collect()
    assert row.pool == pa.system_memory_pool().backend_name

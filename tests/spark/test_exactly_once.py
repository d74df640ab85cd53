"""What a micro-batch that was broken off has left, and checkpoints that do not belong to what is started on them."""

from __future__ import annotations

import shutil
from contextlib import closing
from types import SimpleNamespace
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

import flo
from flo.core.stream_type import StreamType
from flo.shards.checkpoint.commits import commit_version, expect_next_version
from flo.shards.checkpoint.program_changes import read_description
from flo.shards.checkpoint.spark_logs import ResumedBatches
from flo.shards.micro_batches import Outcome
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.output_changes import OutputChanges
from flo.shards.tasks import output_files
from flo.shards.tasks.context import MicroBatch
from flo.shards.tasks.output_files import PARTS, Output, remove_stale_files, write_parquet, write_part
from flo.spark import Changes
from flo.spark.driver.query import Query
from flo.spark.on_spark import OnSpark
from flo.tables.checkpoint.folders import Writes, folder
from flo.tables.checkpoint.store import Store
from flo.tables.io.diverted import Diverted
from flo.tables.io.fitting import table_of
from flo.tables.values import Columns, rows_of
from tests.spark.harness import streamed
from tests.spark.shops import sales, sums
from tests.spark.simulated import NO_SPARK, Simulated

OF = flo.ZSet[int]


def changes(*numbers):
    of = flo.Flow("numbers").input("numbers", OF).type.collection
    return rows_of(of, of.value(dict.fromkeys(numbers, 1)))


def test_a_file_that_a_broken_off_turn_has_staged_is_not_published(tmp_path):
    """A named function may have changed meanwhile: the shard that had rows has none."""
    sink, turn = Changes(str(tmp_path)), MicroBatch(3, "", "", 3, 2, frozenset(), begun=3)
    output = Output("numbers", 0, None, PARTS, sink.staging_path())
    for attempt in ([1, 2], [3], [4, 5]), ([1], [], [4]):
        with closing(Writes()) as writes:
            staged = [
                write_parquet(output.to, turn, shard, table_of(changes(*rows)), writes)
                for shard, rows in enumerate(attempt)
            ]
            writes.finish()
        for task in range(turn.tasks):
            remove_stale_files(output.to, turn, task, staged[task :: turn.tasks])
    sink.take(OutputChanges("", "numbers", 3, 3, changes().table.schema, (), staged=True))
    assert sorted(pq.read_table(tmp_path)["value"].to_pylist()) == [1, 4]
    assert len(list(tmp_path.rglob("*.parquet"))) == 2, "no file for a shard without changes"


def test_parts_of_a_turn_that_was_broken_off_on_more_shards_are_not_taken(tmp_path):
    """As after a start with other shards: nobody writes the files of the other shards anew."""
    where, output = str(tmp_path), Output("numbers", 0, StreamType(Columns(changes().of), False), PARTS)
    for shards in (3, 2):
        with closing(Writes()) as writes:
            files = [
                write_part(where, "numbers", 5, shard, table_of(changes(shard + shards)), writes)
                for shard in range(shards)
            ]
            writes.finish()
    given = OutputChanges.of(where, output, Outcome(5, {}, {}, 0, {}, 0.0, changed_files={"numbers": files}), 2)
    assert sorted(given.table()["value"].to_pylist()) == [2, 3]
    assert len(list((tmp_path / "outputs" / "numbers" / "00000005").iterdir())) == 5, "a sink may have taken the others"


def test_rows_that_only_a_broken_off_turn_has_put_aside_are_forgotten(tmp_path):
    """They fit now; neither the checkpoint nor a sink has them."""
    where, sink = str(tmp_path), Changes(str(tmp_path / "aside"))
    file = output_files.write_diverted(where, "sales", [Diverted({"shop": 1}, "does not fit")])
    for sinks in ({}, {"sales diverted": sink}):
        giving = Giving(SimpleNamespace(folder=where, shards=2, checkpoint=""), sinks)
        for files, count in ([(file, 1)], 1), ([], 0):
            giving._give_diverted(Outcome(0, {}, {}, 0, {}, 0.0, {"sales": files}))
            assert output_files.read_diverted(where, "sales", 0).num_rows == count
            assert not output_files.read_diverted(where, "sales", -1).num_rows, "the micro-batch is not committed"
            if sinks:
                assert pq.read_table(tmp_path / "aside").num_rows == count


@pytest.mark.parametrize(("newest", "version"), [(None, 1), (1, 0), (4, 0), (4, 3), (4, 6)])
def test_offsets_of_another_query_are_refused(tmp_path, newest, version):
    """Spark's part was removed, or another one was given: going on would leave out rows, or take them twice."""
    for each in range(0 if newest is None else newest + 1):
        commit_version(str(tmp_path), each, 1, {})
    query = Query.__new__(Query)
    query._batches = SimpleNamespace(
        folder=str(tmp_path), run_micro_batch=lambda *_: pytest.fail("the micro-batch was taken")
    )
    query._static, query._has_first, query._lease = [], False, SimpleNamespace(expect_held=lambda: None)
    query._resumed = ResumedBatches()
    with pytest.raises(flo.CheckpointError, match=f"continues with version {version}") as caught:
        query._run_micro_batch(None, version)
    assert "expected" in str(caught.value)
    assert "spark_checkpoint" in str(caught.value)


def test_the_newest_version_may_come_again(tmp_path):
    """After a crash between the commit of a micro-batch and Spark's own."""
    expect_next_version(str(tmp_path), 0)
    for version in range(4):
        commit_version(str(tmp_path), version, 1, {})
        expect_next_version(str(tmp_path), version)
        expect_next_version(str(tmp_path), version + 1)


def test_a_query_whose_offsets_were_removed_is_refused(spark, tmp_path):
    """And goes on as before once they are back."""
    query = streamed(spark, sums(), {"sales": sales(0, 40)}, tmp_path, parts=2)
    before, offsets, source = query.view("sums").value(), tmp_path / "checkpoint" / "spark", tmp_path / "in" / "sales"
    reader = spark.readStream.schema(spark.read.parquet(str(source)).schema).parquet(str(source))

    def again():
        started = (
            sums()
            .on(spark)
            .start({"sales": reader}, checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True})
        )
        started.wait()
        return started.view("sums").value()

    offsets.rename(tmp_path / "elsewhere")
    with pytest.raises(flo.CheckpointError, match="continues with version 0"):
        again()
    shutil.rmtree(offsets)
    (tmp_path / "elsewhere").rename(offsets)
    assert again() == before


class Sale(NamedTuple):
    shop: str
    price: int


class FloatSale(NamedTuple):
    shop: str
    price: float


class PerhapsSale(NamedTuple):
    shop: str
    price: int | None


def copied(row, bounded=False):
    flow = flo.Flow("copied")
    flow.output("copied", flow.input("sales", flo.ZSet[row], bounded=bounded))
    return flow


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (copied(FloatSale), "double not null"),
        (copied(PerhapsSale), "now int64 "),
        (copied(Sale, bounded=True), "ZSet, bounded"),
    ],
)
def test_inputs_of_other_types_are_refused(tmp_path, changed, said):
    """Rows of both types would meet in one state."""
    Simulated(copied(Sale), tmp_path).turn({"sales": {Sale("a", 1): 1}})
    Simulated(copied(Sale), tmp_path)
    with pytest.raises(flo.CheckpointError, match="another program") as caught:
        Simulated(changed, tmp_path)
    assert said in " ".join(str(caught.value).split())
    assert read_description(str(tmp_path))["inputs"] == [
        "sales: ZSet, unbounded",
        "sales.shop: string not null",
        "sales.price: int64 not null",
    ]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_start_that_fails_writes_nothing(tmp_path, monkeypatch, streaming):
    """No streaming DataFrame, or one that does not fit."""

    def does_not_fit(*_):
        raise flo.TypeMismatch("does not fit")

    monkeypatch.setattr(
        OnSpark, "_check_frames", lambda *_: {"sales": SimpleNamespace(isStreaming=streaming, columns=[])}
    )
    monkeypatch.setattr(OnSpark, "_bind_inputs", does_not_fit)
    with pytest.raises(flo.FloError, match="does not fit" if streaming else "needs a streaming DataFrame"):
        OnSpark(sums(), NO_SPARK).start({}, checkpoint=tmp_path)
    assert read_description(str(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_has_committed_nothing_may_be_replaced(tmp_path):
    """Its first micro-batch was broken off; what that has left is not taken for a part of the other program's state."""
    Simulated(sums(), tmp_path, shards=2).take({"sales": sales(0, 10)})
    flow = flo.Flow("copied")
    flow.output("copied", flow.input("sales", flo.ZSet[Sale]))
    query = Simulated(flow, tmp_path, shards=3)
    assert query.batches.shards == 3
    assert not folder(tmp_path).folders("state")
    query.turn({"sales": {Sale("a", 1): 1}})
    assert query.values() == {"copied": {Sale("a", 1): 1}}


def kept_by(where):
    """The store of a shard, and its query after some micro-batches."""
    query = Simulated(sums(), where, shards=1)
    for version in range(5):
        query.turn({"sales": sales(version * 10, 10)})
    return Store(where / "state" / "00001" / "01" / "00000"), query


def test_manifests_that_another_attempt_removes_meanwhile_are_passed_by(tmp_path, monkeypatch):
    """Between listing them and reading them."""
    store, query = kept_by(tmp_path)
    numbers = store.numbers()
    monkeypatch.setattr(store, "numbers", lambda: [0, *numbers, 9])
    store.tidy(age=-1)
    store.sweep(2)
    store.sweep(3)
    assert folder(tmp_path).names("state/00001/01/00000/manifests") == ["00000003.json", "00000004.json"]
    assert query.values() == dict(sums().run(sales=sales(0, 50)))


def test_a_damaged_manifest_is_not_passed_by(tmp_path):
    """What it names must not be taken for something left behind."""
    store, _ = kept_by(tmp_path)
    store.folder.write("manifests/00000003.json", b"{")
    with pytest.raises(flo.CheckpointError, match="truncated or altered"):
        store.tidy(age=-1)


def test_readers_remove_nothing(tmp_path, monkeypatch):
    """The query that they look at may be writing."""
    _, query = kept_by(tmp_path)
    monkeypatch.setattr(Store, "tidy", lambda *_: pytest.fail("a reader tidies"))
    assert [shard for shard, _ in query.batches.read_records(query.batches.outputs[0], 4)] == [0]

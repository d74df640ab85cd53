"""State on S3, with what a process keeps of it on its own disk; and the addresses of checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem

import flo
from flo.shards.checkpoint.commits import commit_version, committed_versions
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.tags import add_tag
from flo.tables.checkpoint import folders
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import create_sealed, write_sealed
from tests.spark.shops import DATA, everything, expected, sales, sales_table, snapshot, sums
from tests.spark.simulated import Simulated


def test_files_and_folders_are_removed(tmp_path: Path) -> None:
    remote = folders.Remote(LocalFileSystem(), str(tmp_path), "memory")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"1")
    remote.remove("one")
    remote.remove("two/file")
    remote.remove("three")
    assert remote.folders() == ["two"]
    assert not list((tmp_path / "two").iterdir())


@pytest.fixture(scope="module")
def s3_server() -> Any:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty bucket, and an empty cache."""
    settings = {"AWS_ENDPOINT_URL": s3_server, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    for name, value in {**settings, "FLO_CACHE": str(tmp_path / "cache"), "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    folders._filesystem.cache_clear()
    bucket = f"b{abs(hash(str(tmp_path)))}"
    filesystem, _ = folders._filesystem("s3a", bucket)
    filesystem = type(filesystem)(
        endpoint_override=s3_server.partition("//")[2], scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    filesystem.create_dir(bucket)
    yield f"s3a://{bucket}/flows/one"
    folders._filesystem.cache_clear()


@pytest.mark.thorough
@pytest.mark.slow
def test_on_s3(s3: str) -> None:
    for data in DATA[:2]:
        query = Simulated(everything(), s3, shards=2)  # so every micro-batch reads what the one before has written
        query.turn(data)
    assert query.values() == expected(2)
    assert committed_versions(s3) == [0, 1]
    assert not list(Checkpoint(s3).problems())


def test_what_is_on_s3_is_cached_by_name_and_fetched_if_the_cache_is_damaged(s3: str, tmp_path: Path) -> None:
    query = Simulated(sums(), s3, shards=1)
    query.turn({"sales": sales(0, 50)})
    cached = list((tmp_path / "cache").glob("*.arrow"))
    assert cached
    for file in cached:
        file.write_bytes(b"nonsense")
    assert query.values() == dict(sums().run(sales=sales(0, 50)))
    for file in cached:
        file.unlink()
    assert query.values() == dict(sums().run(sales=sales(0, 50)))


def test_a_damaged_file_on_s3_is_refused_by_name(s3: str, tmp_path: Path) -> None:
    query = Simulated(sums(), s3, shards=1)
    query.turn({"sales": sales(0, 50)})
    name = next(name for name in snapshot(s3) if name.endswith(".arrow"))
    folder(s3).write(name, folder(s3).read(name)[:-5])
    for file in (tmp_path / "cache").glob("*.arrow"):
        file.unlink()
    (problem,) = Checkpoint(s3).problems()
    assert Path(name).name in problem
    assert "truncated or altered" in problem


def test_the_cache_is_bounded(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "CACHE_BYTES", 3000)
    for number in range(5):
        folder(s3).write_with(f"runs/{number}", lambda sink: sink.write(b"x" * 1000))
    assert len(list((tmp_path / "cache").iterdir())) == 3
    assert folder(s3).map_file("runs/0").to_pybytes() == b"x" * 1000


def test_the_lease_on_s3(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused while the holder is seen, taken over from another machine; of two at one moment one finds out later."""
    first = Lease.take(s3, "sales")
    with pytest.raises(flo.CheckpointError, match="is in use by another query"):
        Lease.take(s3, "sales")
    first.expect_held()
    first.holder["host"] = "elsewhere"
    write_sealed(folder(s3), "leases/00000001.json", first._content())
    second = Lease.take(s3, "sales")
    with pytest.raises(flo.CheckpointError, match="must not commit"):
        first.expect_held()
    commit_version(s3, 0, 1, {}, second.epoch)
    with pytest.raises(flo.CheckpointError, match="version 0 was committed by another query"):
        commit_version(s3, 0, 1, {}, first.epoch)
    second.release()
    with monkeypatch.context() as patches:
        patches.setattr(folders.Remote, "exists", lambda self, name: False)  # as it was a moment ago
        third = Lease(s3, 3, {**first.holder, "run": "3"})
        create_sealed(folder(s3), "leases/00000003.json", third._content())
        third.expect_held()
        fourth = Lease(s3, 3, {**first.holder, "run": "4"})
        create_sealed(folder(s3), "leases/00000003.json", fourth._content())
    fourth.expect_held()
    with pytest.raises(flo.CheckpointError, match="must not commit"):
        third.expect_held()
    with pytest.raises(FileExistsError):
        create_sealed(folder(s3), "leases/00000003.json", third._content())


def test_addresses(tmp_path: Path) -> None:
    for where in (tmp_path, str(tmp_path), f"file://{tmp_path}", f"file:{tmp_path}"):
        folder(where).write("a/b", b"1")
        assert (tmp_path / "a" / "b").read_bytes() == b"1"
        assert folder(where).names("a") == ["b"]
        folder(where).remove("a")
        assert folder(where).names("a") == []
    with pytest.raises(flo.CheckpointError, match="cannot open `nowhere://"):
        folder("nowhere://bucket/path")


@pytest.mark.slow
def test_a_query_with_its_state_on_s3(spark: Any, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's own part is on the local disk: its way to S3 is not in the package."""
    monkeypatch.setattr(spark.sparkContext, "environment", dict(spark.sparkContext.environment))
    source = tmp_path / "in"
    source.mkdir()
    pq.write_table(sales_table(sales(0, 30)), source / "0.parquet")
    schema = spark.read.parquet(str(source)).schema
    for version in range(2):
        query = (
            sums()
            .on(spark)
            .start(
                {"sales": spark.readStream.schema(schema).parquet(str(source))},
                checkpoint=s3,
                spark_checkpoint=tmp_path / "offsets",
                shards=2,
                trigger={"availableNow": True},
            )
        )
        query.wait()
        assert query.view("sums").value() == dict(sums().run(sales=sales(0, 30 + 10 * version)))["sums"]
        pq.write_table(sales_table(sales(30, 10)), source / "1.parquet")
    assert list((tmp_path / "cache").iterdir()), "tasks keep what they write"
    assert not list(Checkpoint(s3).problems())


@pytest.mark.thorough
def test_tags_copies_and_going_back_on_s3(s3: str, tmp_path: Path) -> None:
    def start(where: Any, **options: Any) -> Any:
        return sums().on(flo.here).start(checkpoint=where, **options)

    with start(s3) as query:
        for turn in range(4):
            query.push(sales=sales(turn * 10, 10))
            if turn == 0:
                add_tag(s3, "first")
        assert committed_versions(s3) == [0, 2, 3]
    for to in (f"{s3}-copy", str(tmp_path / "copy")):
        assert copy_checkpoint(s3, to, "first") == 0
        assert not list(Checkpoint(to).problems())
    for where in (s3, f"{s3}-copy", tmp_path / "copy"):
        with start(where, version=0) as query:
            query.push(sales=sales(10, 10))
            expected_rows = sums().run(sales=sales(0, 20))
            assert {name: query.view(name).value() for name in expected_rows} == expected_rows
    assert committed_versions(s3) == [0, 1]
    assert not list(Checkpoint(s3).problems())

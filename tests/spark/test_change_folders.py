"""Folders of changes: old versions are folded into a base, and readers neither lose nor repeat a change."""

from __future__ import annotations

from collections import Counter
from itertools import count
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
from flo.shards.checkpoint import change_folders
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.sinks.sinks import STAGED
from flo.spark import Changes
from flo.spark.view_source import ChangesReader, Request, ViewReader, read_part
from flo.tables.checkpoint import folders
from flo.tables.checkpoint.folders import Local

WEIGHTED = pa.schema([("key", pa.int64()), pa.field("_weight", pa.int64(), nullable=False)])
PLAIN = pa.schema([("key", pa.int64())])


@pytest.fixture(autouse=True)
def unflushed(monkeypatch):
    """To wait for the disk takes most of the time."""
    monkeypatch.setattr(folders.os, "fsync", lambda file: None)


def put(sink, version, rows, schema=WEIGHTED, checkpoint="one"):
    """A micro-batch, as tasks and the query give it to the sink."""
    staged = sink.folder.path / STAGED / f"{version:08}"
    staged.mkdir(parents=True, exist_ok=True)
    for shard in range(2):
        table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows[shard::2]], schema)
        pq.write_table(table, staged / f"{shard:05}-of-00002.parquet")
    given = SimpleNamespace(version=version, shards=2, staged=True, schema=schema, checkpoint=checkpoint, output="out")
    given.reconciles = given.alone = given.mends = False
    sink.take(given)
    sink.commit(given)


def changes_at(version):
    """Every key is there for three versions."""
    return [(version % 50, 1), (version + 1000, 1)] + ([(version + 1000 - 3, -1)] if version >= 3 else [])


def read(sink, after=-1, upto=None):
    parts, _ = StoredChanges(str(sink.folder)).parts(None, after, upto)
    found: Counter[int] = Counter()
    for part in parts:
        for row in part.changes().to_pylist():
            found[row["key"]] += row["_weight"]
    return {key: weight for key, weight in found.items() if weight}


def expected(after, upto):
    found: Counter[int] = Counter()
    for version in range(after + 1, upto + 1):
        for key, weight in changes_at(version):
            found[key] += weight
    return {key: weight for key, weight in found.items() if weight}


def versions_of(sink):
    return [int(name.removeprefix("version=")) for name in sink.folder.folders() if name.startswith("version=")]


def test_every_version_that_is_kept_can_be_read(tmp_path):
    sink, files = Changes(str(tmp_path), keep=4), []
    for version in range(36):
        put(sink, version, changes_at(version))
        stored = StoredChanges(str(tmp_path))
        assert len(stored.versions()) >= min(4, version + 1)
        files.append(sum(1 for file in tmp_path.rglob("*.parquet")))
        if version % 11 == 0:
            for upto in stored.versions():
                assert read(sink, upto=upto) == expected(-1, upto)
            for after in stored.versions():
                assert read(sink, after=after) == expected(after, version)
    assert max(files[24:]) <= max(files[:20]), "files do not pile up"
    assert min(versions_of(sink)) > 10
    base = [row for file in stored.log.files for row in pq.read_table(tmp_path / file).to_pylist()]
    assert len(base) == len({row["key"] for row in base}), "what cancels out is gone"


def test_a_base_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(change_folders, "PART_BYTES", 1000)
    sink = Changes(str(tmp_path), keep=3)
    for version in range(10):
        put(sink, version, changes_at(version))
    assert len(StoredChanges(str(tmp_path)).log.files) > 1
    assert read(sink) == expected(-1, 9)


def test_without_keep_all_versions_stay(tmp_path):
    sink = Changes(str(tmp_path))
    for version in range(12):
        put(sink, version, changes_at(version))
    assert versions_of(sink) == list(range(12))
    assert read(sink, 3, 8) == expected(3, 8)


def test_rows_without_weights_stay_in_order(tmp_path):
    sink = Changes(str(tmp_path), keep=2)
    for version in range(12):
        put(sink, version, [(2 * version,), (2 * version + 1,)], PLAIN)
    parts, _ = StoredChanges(str(tmp_path)).parts(None, -1, None)
    assert [row["key"] for part in parts for row in part.rows().to_pylist()] == list(range(24))


def test_a_reader_that_has_begun_can_finish(tmp_path):
    """What it found is there until another base is."""
    sink = Changes(str(tmp_path), keep=2)
    for version in range(6):
        put(sink, version, changes_at(version))
    stored = StoredChanges(str(tmp_path))
    base = stored.log.base
    parts, _ = stored.parts(None, -1, 5)
    for version in range(6, 30):
        put(sink, version, changes_at(version))
        if StoredChanges(str(tmp_path)).log.base > base:
            break
    rows = [row for part in parts for row in part.changes().to_pylist()]
    assert {row["key"]: row["_weight"] for row in rows} == expected(-1, 5)


@pytest.mark.parametrize("after", [0, 1, 2, 4, 7, 11])
def test_an_interrupted_fold_loses_and_repeats_nothing(tmp_path, monkeypatch, after):
    sink, done = Changes(str(tmp_path), keep=2), count()
    for version in range(5):
        put(sink, version, changes_at(version))

    def interrupted(method):
        def call(self, *given):
            if next(done) >= after:
                raise OSError("killed")
            return method(self, *given)

        return call

    committed = 4
    with monkeypatch.context() as patch:
        patch.setattr(Local, "write", interrupted(Local.write))
        patch.setattr(Local, "remove", interrupted(Local.remove))
        for version in range(5, 15):
            try:
                put(sink, version, changes_at(version))
            except OSError:
                break
            committed = version
    newest = StoredChanges(str(tmp_path)).log.newest
    assert newest in (committed, committed + 1)
    assert read(sink) == expected(-1, newest)
    for version in range(committed + 1, committed + 6):  # the micro-batch comes again
        put(sink, version, changes_at(version))
        assert read(sink) == expected(-1, version)


def test_another_checkpoint_begins_anew(tmp_path):
    sink = Changes(str(tmp_path), keep=2)
    for version in range(8):
        put(sink, version, changes_at(version))
    put(sink, 0, changes_at(0), checkpoint="two")
    stored = StoredChanges(str(tmp_path))
    assert (stored.id, stored.log.base, stored.log.newest) == ("two", -1, 0)
    assert read(sink) == expected(-1, 0)


def of_partitions(request, schema, partitions):
    tables = [batch for part in partitions for batch in read_part(request, schema, part)]
    return Counter(tuple(row.values()) for table in tables for row in table.to_pylist())


def test_the_data_source_reads_the_base_and_then_changes(tmp_path):
    sink = Changes(str(tmp_path), keep=3)
    for version in range(9):
        put(sink, version, changes_at(version))
    request = Request.of({"path": str(tmp_path), "changes": "true"})
    reader = ChangesReader(request, request.schema())
    first, middle = reader.initialOffset(), reader.latestOffset()
    found = of_partitions(request, reader.schema, reader.partitions(first, middle))
    assert found == dict.fromkeys(expected(-1, 8).items(), 1)
    put(sink, 9, changes_at(9))
    last = reader.latestOffset()
    found = of_partitions(request, reader.schema, reader.partitions(middle, last))
    assert found == dict.fromkeys(expected(8, 9).items(), 1)
    rows = Request.of({"path": str(tmp_path)})
    whole = ViewReader(rows, rows.schema())
    found = of_partitions(rows, whole.schema, whole.partitions())
    assert found == {(key,): weight for key, weight in expected(-1, 9).items()}
    for version in range(10, 30):
        put(sink, version, changes_at(version))
    with pytest.raises(flo.CheckpointError, match=r"version 8 of the changes is part of the base(.|\n)*keep="):
        reader.partitions(middle, reader.latestOffset())
    put(sink, 0, changes_at(0), checkpoint="two")
    with pytest.raises(flo.CheckpointError, match="replaced by another one"):
        reader.partitions(last, reader.latestOffset())


def test_by_age(tmp_path, monkeypatch):
    sink, files = Changes(str(tmp_path), keep="1 minute"), Local.files

    def aged(self, under):  # one version every 25 seconds
        found = files(self, under)
        if not under.startswith("version="):
            return found
        age = 25.0 * (newest - int(under[-8:]))
        return {name: (size, age) for name, (size, _) in found.items()}

    monkeypatch.setattr(Local, "files", aged)
    for newest in range(12):
        put(sink, newest, changes_at(newest))
    kept = StoredChanges(str(tmp_path)).versions()
    assert kept[-1] == 11
    assert 4 <= len(kept) <= 8
    assert read(sink) == expected(-1, 11)

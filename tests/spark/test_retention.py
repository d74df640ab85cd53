"""Retention: every version that is kept can be read, others and what only they need are removed."""

from __future__ import annotations

from itertools import count

import pytest

import flo
from benchmarks.soak import Event, Offer, Price, soak_flow
from flo.shards.checkpoint import retention
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.retention import Retention
from flo.shards.tasks.output_files import COUNT
from flo.shards.views import View
from flo.tables.checkpoint import folders
from flo.tables.checkpoint.folders import Local
from flo.tables.state import merging
from tests.spark.shops import sales, sums
from tests.spark.simulated import Simulated


@pytest.fixture(autouse=True)
def unflushed(monkeypatch):
    """To wait for the disk takes most of the time."""
    monkeypatch.setattr(folders.os, "fsync", lambda file: None)


def turn(query, version, keys=3):
    """A micro-batch that few of the shards take part in."""
    query.turn({"sales": sales(version * keys, keys)})


def turns(query, versions):
    for version in versions:
        turn(query, version)


def started(where, keep, shards=4):
    query = Simulated(sums(), where, shards=shards)
    query.batches.retention = Retention.of(keep)
    return query


def expect_readable(query, where, keys=3):
    """Every committed version has its rows, and no file is missing or superfluous."""
    for version in committed_versions(str(where)):
        expected = sums().run(sales=sales(0, (version + 1) * keys))
        for name, value in expected.items():
            assert View.of(str(where), name, version, query.batches).value() == value, f"{name} at {version}"
    assert not list(Checkpoint(str(where)).problems())


def test_every_version_that_is_kept_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "SMALLEST_PART", 1)
    query = started(tmp_path, 5)
    for version in range(14):
        turn(query, version)
    assert committed_versions(str(tmp_path)) == [9, 10, 11, 12, 13]
    expect_readable(query, tmp_path)
    checkpoint = Checkpoint(str(tmp_path))
    for _, _, store, _ in checkpoint.states(13):
        needed = {store.manifest(number)["state"] for number in store.numbers()}
        assert set(store.folder.names("states")) == needed
        assert len([number for number in store.numbers() if number < 9]) <= 2


def test_files_do_not_grow_with_the_number_of_micro_batches(tmp_path):
    query, sizes = started(tmp_path, 2), []
    for version in range(30):
        query.turn({"sales": sales(version % 3, 6)})
        sizes.append(sum(1 for file in tmp_path.rglob("*") if file.is_file()))
    assert max(sizes[20:]) <= max(sizes[5:15])


@pytest.mark.thorough
def test_a_soak_stays_as_large_as_it_is(tmp_path, monkeypatch):
    """Windows, a table that changes and a join, as in `benchmarks.soak`: whatever the time."""
    monkeypatch.setattr(merging, "SMALLEST_PART", 1)
    query, files, sizes = Simulated(soak_flow(), tmp_path, shards=2, how=COUNT), [], []
    for version in range(36):
        rows = range(version * 20, version * 20 + 20)
        events = [Event(place // 4, place % 30, 1) for place in rows]
        offers = [Offer(place % 30, place // 4) for place in rows]
        query.turn({"events": events, "offers": offers, "prices": [Price(place % 15, place, place) for place in rows]})
        state = [file.stat().st_size for file in (tmp_path / "state").rglob("*.arrow")]
        files.append(len(state))
        sizes.append(sum(state))
    assert max(files[24:]) <= 1.2 * max(files[12:24])
    assert max(sizes[24:]) <= 1.2 * max(sizes[12:24])
    assert len(list((tmp_path / "commits").iterdir())) == 2


def test_by_age_a_version_is_kept_that_was_the_newest_within_it(tmp_path, monkeypatch):
    query, now = started(tmp_path, "1 minute"), count()
    born = {}

    def ages(where):
        return {version: (len(born) - born[version]) * 25.0 for version in committed_versions(where)}

    monkeypatch.setattr(retention, "commit_ages", ages)
    for version in range(8):  # one every 25 seconds
        born[version] = next(now) + 1
        turn(query, version)
    assert committed_versions(str(tmp_path)) == [4, 5, 6, 7], "the oldest was replaced 50 seconds ago"
    expect_readable(query, tmp_path)
    monkeypatch.setattr(retention, "commit_ages", lambda where: dict.fromkeys(committed_versions(where), 1e9))
    turn(query, 8)
    assert committed_versions(str(tmp_path)) == [7, 8], "two are kept however old they are"


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_a_removal_that_is_interrupted_breaks_no_version(tmp_path, monkeypatch, after):
    query = started(tmp_path, 3)
    turns(query, range(6))
    removed, remove = count(), Local.remove

    def failing(self, name):
        if next(removed) >= after:
            raise OSError("killed")
        remove(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(Local, "remove", failing)
        with pytest.raises(OSError, match="killed"):
            turns(query, range(6, 9))
    query = started(tmp_path, 3)
    expect_readable(query, tmp_path)
    turns(query, range(query.version, 12))
    assert committed_versions(str(tmp_path)) == [9, 10, 11]
    expect_readable(query, tmp_path)


def test_many_versions_are_removed_some_at_once(tmp_path, monkeypatch):
    looked = []
    ages = retention.commit_ages
    monkeypatch.setattr(retention, "commit_ages", lambda where: looked.append(where) or ages(where))
    query = started(tmp_path, 32, shards=1)
    for version in range(60):
        turn(query, version)
        kept = committed_versions(str(tmp_path))
        assert kept[-1] == version
        assert min(version + 1, 32) <= len(kept) <= 36
    assert len(looked) < 40
    expect_readable(query, tmp_path)


@pytest.mark.parametrize("keep", [1, 0, True, "1", "day", "1 fortnight", "-1 days", 2.5, None])
def test_what_cannot_be_kept_is_rejected(keep):
    with pytest.raises(flo.ElementError, match="`keep` must be an integer ≥ 2 or an age"):
        Retention.of(keep)


@pytest.mark.parametrize(("keep", "seconds"), [("1 day", 86400), ("90 minutes", 5400), ("1.5 hours", 5400)])
def test_ages(keep, seconds):
    assert Retention.of(keep) == Retention(2, seconds)

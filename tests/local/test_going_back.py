"""A start goes back to a version: state, views, folders of changes and diverted rows."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.core.errors import CheckpointError, FloError, UnknownNameError
from flo.shards.checkpoint import going_back
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.checkpoint.commits import Commits, committed_versions, read_given, record_given
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.checkpoint.stored_views import StoredViews
from flo.shards.checkpoint.tags import add_tag
from flo.shards.sinks.sinks import Changes
from flo.shards.sinks.upserts import Upsert
from flo.shards.views import View
from flo.tables.checkpoint import folders
from tests.local.shop_totals import (
    Sale,
    changes_in,
    expect_sound,
    expected,
    push,
    rows,
    sales,
    start,
    views,
    with_a_column,
)


def test_a_version_without_a_tag(tmp_path: Path) -> None:
    with start(tmp_path, keep=10) as query:
        push(query, range(6))
    with start(tmp_path, version=2) as query:
        push(query, range(10, 12))
        assert views(query) == expected([0, 1, 2, 10, 11])
    with start(tmp_path, version=4) as query:  # the newest: nothing to abandon
        assert views(query) == expected([0, 1, 2, 10, 11])
    with start(tmp_path, version="3") as query:
        assert views(query) == expected([0, 1, 2, 10])


def test_an_unknown_version_says_what_there_is(tmp_path: Path) -> None:
    with start(tmp_path) as query:
        push(query, range(2))
        add_tag(str(tmp_path), "before-friday", 0)
        push(query, range(2, 6))
    for wanted in ("before-fridai", 3, 99, -1, "nothing", 1.5, True):
        with pytest.raises(FloError) as error:
            start(tmp_path, version=wanted)
        text = str(error.value)
        assert "before-friday (version 0)" in text, wanted
        assert "0, 4 to 5" in text, wanted
        assert "shop_totals.py" in text
    with pytest.raises(UnknownNameError, match="did you mean this tag") as error:
        start(tmp_path, version="before-fridai")
    with pytest.raises(CheckpointError, match="version 3 is no longer kept"):
        start(tmp_path, version=3)
    with pytest.raises(CheckpointError, match="version 99 is not committed"):
        start(tmp_path, version=99)
    with start(tmp_path) as query:
        assert views(query) == expected(list(range(6)))
    with pytest.raises(CheckpointError, match="version 0 is not committed"):
        start(tmp_path / "new", version=0)


@pytest.mark.parametrize("moment", [0, 5, 30])
@pytest.mark.every(test=2)
def test_a_crash_while_going_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
    with start(tmp_path, keep=20, shards=3) as query:
        push(query, range(2))
        add_tag(str(tmp_path), "early")
        push(query, range(30, 34))
    removed = 0
    announce, remove = going_back.announce_going_back, folders.Local.remove

    def announce_and_crash(*given: Any) -> None:
        announce(*given)
        patched.setattr(folders.Local, "remove", remove_or_crash)

    def remove_or_crash(file: Any, name: str) -> None:
        nonlocal removed
        if removed == moment:
            raise KeyboardInterrupt
        removed += 1
        remove(file, name)

    with monkeypatch.context() as patched:
        patched.setattr(going_back, "announce_going_back", announce_and_crash)
        with pytest.raises(KeyboardInterrupt):
            start(tmp_path, version="early")
    assert committed_versions(str(tmp_path)) == [0, 1]
    assert rows(View.of(str(tmp_path), "totals")) == expected([0, 1])["totals"]
    with start(tmp_path) as query:
        assert Commits.read(str(tmp_path)).back is None
        assert views(query) == expected([0, 1])
        push(query, range(2, 6))
        assert views(query) == expected(list(range(6)))
    expect_sound(tmp_path)


def test_a_crash_before_going_back_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with start(tmp_path, keep=20) as query:
        push(query, range(4))

    def fail(*given: Any) -> None:
        raise OSError("no disk")

    with monkeypatch.context() as patched:
        patched.setattr(going_back, "announce_going_back", fail)
        with pytest.raises(OSError, match="no disk"):
            start(tmp_path, version=1)
    with start(tmp_path) as query:
        assert views(query) == expected(list(range(4)))


def test_folders_of_changes_go_back_too(tmp_path: Path) -> None:
    outputs = {"large": Changes(str(tmp_path / "large"))}
    where = tmp_path / "checkpoint"
    with start(where, outputs, keep=10) as query:
        push(query, range(2))
        add_tag(str(where), "early")
        push(query, range(30, 35))
        before = StoredChanges(str(tmp_path / "large")).id_at(6), StoredViews(str(where)).id_at(6)
    with start(where, outputs, version="early") as query:
        assert changes_in(tmp_path / "large") == expected([0, 1])["large"]
        push(query, range(2, 7))
        assert changes_in(tmp_path / "large") == expected(list(range(7)))["large"]
        assert views(query)["totals"] == expected(list(range(7)))["totals"]
    after = StoredChanges(str(tmp_path / "large")).id_at(6), StoredViews(str(where)).id_at(6)
    assert before[0] != after[0]
    assert before[1] != after[1]  # so that readers recognize that version 6 is another
    assert StoredViews(str(where)).id_at(1) == before[1].partition(",")[0]


def test_a_folder_whose_password_an_earlier_release_has_noted_goes_back(tmp_path: Path) -> None:
    """It is not another one."""
    outputs = {"large": Changes(f"file://ann:s3cret@localhost{tmp_path}/large")}
    where = tmp_path / "checkpoint"
    with start(where, outputs, keep=10) as query:
        push(query, range(3))
    for version in (1, 2):
        given = read_given(str(where), version) or {}
        assert given["large"].sink.count("•••") == 1
        noted = given["large"]._replace(sink=given["large"].sink.replace("•••", "s3cret"))
        record_given(str(where), version, {"large": noted})
    with start(where, outputs, version=1) as query:
        push(query, range(2, 3))
    assert changes_in(tmp_path / "large") == expected([0, 1, 2])["large"]


def test_a_crash_before_a_folder_of_changes_went_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"large": Changes(str(tmp_path / "large"))}
    where = tmp_path / "checkpoint"
    with start(where, outputs, keep=10) as query:
        push(query, range(6))

    def fail(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Changes, "go_back", fail)
        with pytest.raises(KeyboardInterrupt):
            start(where, outputs, version=1)
    with start(where, outputs) as query:
        push(query, range(2, 3))
    assert changes_in(tmp_path / "large") == expected([0, 1, 2])["large"]


def test_a_folder_does_not_go_back_to_before_it_was_reconciled(tmp_path: Path) -> None:
    """Its sum is the output from then on; before it was that of a copy, which lacks version 1."""
    large, where = Changes(str(tmp_path / "large")), tmp_path / "checkpoint"
    with start(where, {"large": large}, keep=10) as query:
        push(query, range(30, 31))
        shutil.copytree(tmp_path / "large", tmp_path / "copy")
        push(query, range(31, 33))
    shutil.rmtree(tmp_path / "large")
    (tmp_path / "copy").rename(tmp_path / "large")
    fill = {"sales": sales(30) + sales(31) + sales(32)}
    with start(where, {"large": large.reconcile()}, fill=fill, keep=10) as query:
        push(query, range(33, 34))
    with pytest.raises(flo.CheckpointError, match="is ahead of the checkpoint: it holds version 4"):
        start(where, {"large": large}, version=1)
    assert changes_in(tmp_path / "large") == expected([30, 31, 32, 33])["large"]
    start(where, {"large": large}, version=3).stop()
    assert changes_in(tmp_path / "large") == expected([30, 31, 32])["large"]


def test_a_start_that_is_rejected_leaves_a_folder_as_it_is(tmp_path: Path) -> None:
    """The checkpoint is a copy of when it had just gone back; the folder was dropped since, and has later versions."""
    large = Changes(str(tmp_path / "large"))
    where = tmp_path / "checkpoint"
    with start(where, {"large": large}, keep=10) as query:
        push(query, range(30, 34))
    start(where, {"large": large}, version=1).stop()
    shutil.copytree(where, tmp_path / "copy")
    shutil.rmtree(tmp_path / "large")
    with start(where, {"large": large.reconcile()}, fill={"sales": sales(30) + sales(31)}) as query:
        push(query, range(40, 42))
    before = changes_in(tmp_path / "large")
    with pytest.raises(flo.CheckpointError, match="is ahead of the checkpoint: it holds version 4"):
        start(tmp_path / "copy", {"large": large})
    assert changes_in(tmp_path / "large") == before


def test_a_sink_that_is_ahead_is_recognized_before_anything_changes(tmp_path: Path) -> None:
    outputs = {"totals": Upsert("sqlite", "totals", {"uri": str(tmp_path / "totals.db")})}
    folded = {"large": Changes(str(tmp_path / "large"), keep=2)}
    where = tmp_path / "checkpoint"
    with start(where, outputs | folded, keep=10) as query:
        push(query, range(6))
    for given in (outputs, folded):
        rest = dict.fromkeys({"totals", "large"} - given.keys(), "noop")
        with pytest.raises(CheckpointError, match="is ahead of the checkpoint: it holds version 5"):
            start(where, given | rest, version=1)
    assert committed_versions(str(where)) == list(range(6))
    with start(where, outputs | folded) as query:
        push(query, range(6, 7))
    with sqlite3.connect(tmp_path / "totals.db") as connection:
        found = sorted(connection.execute("SELECT shop, n, total FROM totals"))
    assert found == [row[:-1] for row in expected(list(range(7)))["totals"]]


def test_back_to_the_program_before_a_change(tmp_path: Path) -> None:
    with start(tmp_path) as query:
        push(query, range(3))
        add_tag(str(tmp_path), "before")
        push(query, range(30, 32))
    rows_so_far = [each for turn in (0, 1, 2, 30, 31) for each in sales(turn)]
    changed = with_a_column().on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"sales": rows_so_far})
    with changed as query:
        push(query, range(32, 36))
        assert query.view("all").arrow().num_rows
    expect_sound(tmp_path)
    with pytest.raises(CheckpointError):
        with_a_column().on(flo.here).start(checkpoint=tmp_path, version="before")
    assert max(committed_versions(str(tmp_path))) == 9
    with start(tmp_path, version="before") as query:
        push(query, range(3, 5))
        assert views(query) == expected(list(range(5)))
    expect_sound(tmp_path)
    first = [each for turn in range(3) for each in sales(turn)]
    again = (
        with_a_column().on(flo.here).start(checkpoint=tmp_path, version="before", changed="fill", fill={"sales": first})
    )
    with again as query:
        push(query, range(3, 5))
        result = with_a_column().on(flo.here).run(sales=[each for turn in range(5) for each in sales(turn)])
        assert rows(query.view("totals")) == sorted(tuple(row.values()) for row in result["totals"].to_pylist())
    expect_sound(tmp_path)


def test_diverted_rows_go_back(tmp_path: Path) -> None:
    flow = flo.Flow("inverse")
    flow.output("inverse", flow.input("sales", flo.Bag[Sale]).map(lambda sale: 1 / sale.price))

    def started(**options: Any) -> Any:
        return flow.on(flo.here).start(checkpoint=tmp_path, on_error="divert", keep=9, **options)

    with started() as query:
        query.push(sales=[Sale("a", 0)])
        query.push(sales=[Sale("b", 0)])
        query.push(sales=[Sale("c", 0)])
        copy_checkpoint(str(tmp_path), str(tmp_path.parent / f"{tmp_path.name}-copy"), 1)
    with started(version=0) as query:
        assert query.diverted("sales").num_rows == 1
        query.push(sales=[Sale("d", 2)])
        query.push(sales=[Sale("e", 0)])
        assert query.diverted("sales").num_rows == 2
    with flow.on(flo.here).start(checkpoint=tmp_path.parent / f"{tmp_path.name}-copy", on_error="divert") as query:
        assert query.diverted("sales").num_rows == 2


def test_a_start_at_the_newest_version_is_a_plain_start(tmp_path: Path) -> None:
    """A sink may have taken the next version, which was not committed."""
    outputs: dict[str, Any] = {"totals": Upsert("sqlite", "totals", {"uri": str(tmp_path / "totals.db")})}
    where = tmp_path / "checkpoint"

    def fail(changes: Any, version: int) -> None:
        if version == 2:
            raise OSError("no network")

    with start(where, outputs | {"large": fail}) as query:
        push(query, range(2))
        with pytest.raises(OSError, match="no network"):
            push(query, range(2, 3))
    with start(where, outputs | {"large": "noop"}, version=1) as query:
        push(query, range(2, 3))
    with sqlite3.connect(tmp_path / "totals.db") as connection:
        stored = sorted(connection.execute("SELECT shop, n, total FROM totals"))
    assert stored == [row[:-1] for row in expected([0, 1, 2])["totals"]]

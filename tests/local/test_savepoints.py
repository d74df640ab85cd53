"""Tags keep versions, copies take one along, and a start goes back to one: in this process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pytest

import flo
from flo.core.errors import CheckpointError, FloError, NameTakenError, UnknownNameError
from flo.shards.checkpoint import going_back, tags
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.checkpoint.commits import Commits, committed_versions, remove_commit
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.program_changes import read_description
from flo.shards.checkpoint.stored_views import StoredViews
from flo.shards.checkpoint.tags import add_tag, list_tags, remove_tag
from flo.shards.sinks.sinks import Changes
from flo.shards.sinks.upserts import Upsert
from flo.shards.views import View
from flo.tables.checkpoint import folders
from flo.tables.checkpoint.store import Store
from tests.rescaling import rescale


@pytest.fixture(autouse=True)
def unflushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """To wait for the disk takes most of the time."""
    monkeypatch.setattr(folders.os, "fsync", lambda file: None)


@dataclass(frozen=True)
class Sale:
    shop: str
    price: int


def sales(turn: int) -> list[Sale]:
    return [Sale("abcdefg"[(turn + number) % 7], (7 * turn + number) % 13) for number in range(5)]


def totals() -> flo.Flow:
    flow = flo.Flow("totals")
    given = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", given.group_by("shop").agg(n=flo.count(), total=flo.sum("price")))
    flow.output("large", given.filter(nw.col("price") > 10))
    return flow


def start(where: Path, outputs: Any = None, workers: int = 1, **options: Any) -> Any:
    return totals().on(flo.here, workers=workers).start(outputs, checkpoint=where, **options)


def push(query: Any, turns: range) -> None:
    for turn in turns:
        query.push(sales=sales(turn))


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values()) for row in view.arrow().to_pylist())


def expected(turns: list[int]) -> dict[str, list[Any]]:
    result = totals().on(flo.here).run(sales=[each for turn in turns for each in sales(turn)])
    return {name: sorted(tuple(row.values()) for row in table.to_pylist()) for name, table in result.items()}


def views(query: Any) -> dict[str, list[Any]]:
    return {name: rows(view) for name, view in query.views().items()}


def expect_sound(where: Path) -> None:
    assert list(Checkpoint(str(where)).problems()) == []


def strays(where: Path) -> Iterator[Path]:
    """Runs and states that no manifest names."""
    for shard in where.glob("state/*/*/*"):
        store = Store(shard)
        manifests = [store.manifest(number) for number in store.numbers()]
        named = {f"{run}.arrow" for each in manifests for run in each["runs"]} | {each["state"] for each in manifests}
        yield from (path for path in [*shard.glob("runs/*"), *shard.glob("states/*")] if path.name not in named)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_tag_keeps_a_version_to_which_a_start_goes_back(tmp_path: Path, workers: int) -> None:
    with start(tmp_path, workers=workers, shards=2) as query:
        push(query, range(3))
        assert add_tag(str(tmp_path), "before-friday") == 2
        push(query, range(50, 58))
        assert committed_versions(str(tmp_path)) == [2, 9, 10]
        assert rows(View.of(str(tmp_path), "totals", 2)) == expected([0, 1, 2])["totals"]
    expect_sound(tmp_path)
    with start(tmp_path, workers=workers, version="before-friday") as query:
        assert views(query) == expected([0, 1, 2])
        assert committed_versions(str(tmp_path)) == [2]
        expect_sound(tmp_path)
        push(query, range(3, 8))
        assert query.progress[0].version == 3
        assert views(query) == expected(list(range(8)))
    expect_sound(tmp_path)
    assert list(strays(tmp_path)) == []
    with start(tmp_path) as query:
        push(query, range(8, 9))
        assert views(query) == expected(list(range(9)))


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


def test_a_removed_tag_frees_its_version(tmp_path: Path) -> None:
    where = str(tmp_path)
    with start(tmp_path) as query:
        push(query, range(2))
        add_tag(where, "first", 0)
        add_tag(where, "again", "first")
        push(query, range(2, 9))
        assert remove_tag(where, "first") == 0
        assert list_tags(where) == {"again": 0}
        push(query, range(9, 10))
        assert committed_versions(where) == [0, 8, 9]
        remove_tag(where, "again")
        assert committed_versions(where) == [8, 9]
        push(query, range(10, 14))
    expect_sound(tmp_path)
    assert not list(strays(tmp_path))
    assert not list(tmp_path.glob("state/*/*/*/manifests/00000000.json"))
    with pytest.raises(UnknownNameError, match="no tag `first`"):
        remove_tag(where, "first")


def test_names_of_tags(tmp_path: Path) -> None:
    where = str(tmp_path)
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        add_tag(where, "friday")
    with start(tmp_path) as query:
        with pytest.raises(CheckpointError, match="no version is committed yet"):
            add_tag(where, "friday")
        push(query, range(3))
        for name in ("", "7", "a/b", "..", ".a", "a b", "ä"):
            with pytest.raises(UnknownNameError, match="a tag must be a name"):
                add_tag(where, name)
        assert add_tag(where, "v1.2_final-", 1) == 1
        assert add_tag(where, "v1.2_final-", 1) == 1
        with pytest.raises(NameTakenError, match="of version 1"):
            add_tag(where, "v1.2_final-", 2)
        assert list_tags(where) == {"v1.2_final-": 1}


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
        assert "test_savepoints.py" in text
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


def test_later_tags_are_not_abandoned(tmp_path: Path) -> None:
    with start(tmp_path) as query:
        push(query, range(2))
        add_tag(str(tmp_path), "early")
        push(query, range(2, 4))
        add_tag(str(tmp_path), "late")
        push(query, range(4, 8))
    with pytest.raises(CheckpointError, match="would remove later versions that have tags"):
        start(tmp_path, version="early")
    copy_checkpoint(str(tmp_path), str(tmp_path.parent / f"{tmp_path.name}-copy"), "late")
    remove_tag(str(tmp_path), "late")
    with start(tmp_path, version="early") as query:
        assert views(query) == expected([0, 1])
    with start(tmp_path.parent / f"{tmp_path.name}-copy") as query:
        assert views(query) == expected([0, 1, 2, 3])


@pytest.mark.parametrize("moment", [0, 5, 30])
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


def test_a_tag_of_a_version_that_is_being_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = str(tmp_path)
    with start(tmp_path) as query:
        push(query, range(4))
        tagging = tags.tag_commit

        def remove_first(*given: Any) -> None:
            push(query, range(4, 6))
            tagging(*given)

        def remove_between(where: str, version: int, tag: str) -> None:
            tagging(where, version, tag)
            remove_commit(where, version)  # retention has not seen the tag

        for act in (remove_first, remove_between):
            version = committed_versions(where)[0]
            with monkeypatch.context() as patched:
                patched.setattr(tags, "tag_commit", act)
                with pytest.raises(CheckpointError, match=f"version {version} was removed while the tag was made"):
                    add_tag(where, "friday", version)
            assert list_tags(where) == {}
            assert not (tmp_path / "tags").exists() or not list((tmp_path / "tags").iterdir())

        def remove_later(*given: Any) -> None:
            tagging(*given)
            push(query, range(6, 9))

        version = committed_versions(where)[0]
        with monkeypatch.context() as patched:
            patched.setattr(tags, "tag_commit", remove_later)
            with pytest.raises(CheckpointError, match="was removed while the tag was made"):
                add_tag(where, "friday", version)
        push(query, range(9, 12))
    expect_sound(tmp_path)


def push_meanwhile(query: Any, act: Callable[[], None]) -> int:
    """Pushes until a function has returned in another thread, and returns how many pushes there were in all."""
    turn, over, errors = 1, threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            act()
        except BaseException as error:
            errors.append(error)
        over.set()

    push(query, range(1))
    thread = threading.Thread(target=run)
    thread.start()
    while not over.is_set():
        push(query, range(turn, turn + 1))
        turn += 1
    thread.join()
    assert errors == []
    push(query, range(turn, turn + 3))
    return turn + 3


def test_tags_made_while_pushes_go_on_hold(tmp_path: Path) -> None:
    where, made, late = str(tmp_path), dict[str, int](), list[str]()

    def keep_tagging() -> None:
        while len(made) < 8:
            tag = f"t{len(made) + len(late)}"
            try:
                made[tag] = add_tag(where, tag, None if len(made) % 2 else committed_versions(where)[0])
            except CheckpointError as error:
                late.append(str(error))

    with start(tmp_path, shards=2) as query:
        push_meanwhile(query, keep_tagging)
    assert all("removed while the tag was made" in text or "no longer kept" in text for text in late)
    assert list_tags(where) == dict(sorted(made.items()))
    for version in set(made.values()):
        assert rows(View.of(where, "totals", version)) == expected(list(range(version + 1)))["totals"]
    expect_sound(tmp_path)


def test_a_copy_while_pushes_go_on(tmp_path: Path) -> None:
    where, copies = tmp_path / "original", dict[Path, int]()

    def keep_copying() -> None:
        while len(copies) < 3:
            to = tmp_path / f"copy-{len(copies)}"
            copies[to] = copy_checkpoint(str(where), str(to))

    with start(where, shards=2) as query:
        turns = push_meanwhile(query, keep_copying)
        assert list_tags(str(where)) == {}
    ids = {read_description(str(where))["id"]}
    for to, version in copies.items():
        ids.add(read_description(str(to))["id"])
        expect_sound(to)
        with start(to) as query:
            assert views(query) == expected(list(range(version + 1)))
            push(query, range(100, 103))
            assert views(query) == expected([*range(version + 1), 100, 101, 102])
    assert len(ids) == len(copies) + 1
    expect_sound(where)
    with start(where) as query:
        assert views(query) == expected(list(range(turns)))


def test_a_copy_of_a_version(tmp_path: Path) -> None:
    where = str(tmp_path / "original")
    with start(tmp_path / "original") as query:
        push(query, range(2))
        add_tag(where, "early")
        push(query, range(2, 8))
    assert copy_checkpoint(where, str(tmp_path / "copy"), "early") == 1
    with start(tmp_path / "copy") as query:
        assert views(query) == expected([0, 1])
        assert query.progress.maxlen
    for to, why in (("copy", "empty or new"), ("original/inside", "in the checkpoint itself")):
        with pytest.raises(NameTakenError, match=why):
            copy_checkpoint(where, str(tmp_path / to))
    with pytest.raises(CheckpointError, match="version 3 is no longer kept"):
        copy_checkpoint(where, str(tmp_path / "another"), 3)
    assert not (tmp_path / "another").exists()
    assert list_tags(where) == {"early": 1}


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    where = str(tmp_path / "original")
    with start(tmp_path / "original") as query:
        push(query, range(2))
    for path in (tmp_path / "original").glob("state/*/*/*/runs/*"):
        path.unlink()
    with pytest.raises(CheckpointError, match="lacks the file `runs/"):
        copy_checkpoint(where, str(tmp_path / "copy"))
    assert not list((tmp_path / "copy").iterdir())
    assert list_tags(where) == {}


def test_the_sinks_of_the_original_are_not_those_of_the_copy(tmp_path: Path) -> None:
    database = str(tmp_path / "totals.db")
    given = {
        "totals": Upsert("sqlite", "totals", {"uri": database}),
        "large": Changes(str(tmp_path / "large")),
    }
    where, copy = tmp_path / "original", tmp_path / "copy"
    with start(where, given) as query:
        push(query, range(3))
        copy_checkpoint(str(where), str(copy))
        for name in given:
            with pytest.raises(
                CheckpointError, match=f"output `{name}` belongs to the checkpoint that this one is a cop"
            ):
                start(copy, {**dict.fromkeys(given, "noop"), name: given[name]})
        push(query, range(3, 5))
    with sqlite3.connect(database) as connection:
        found = sorted(connection.execute("SELECT shop, n, total FROM totals"))
    assert found == [row[:-1] for row in expected(list(range(5)))["totals"]]


def changes_in(path: Path) -> list[Any]:
    stored = StoredChanges(str(path))
    parts, _ = stored.parts(None, -1, None)
    return sorted(tuple(row.values()) for part in parts for row in part.changes().to_pylist())


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


def test_another_number_of_shards_leaves_tags_as_they_are(tmp_path: Path) -> None:
    with start(tmp_path, shards=2) as query:
        push(query, range(3))
        add_tag(str(tmp_path), "early")
        push(query, range(30, 36))
    rescale(str(tmp_path), 3)
    expect_sound(tmp_path)
    with start(tmp_path, version="early") as query:
        push(query, range(3, 6))
        assert views(query) == expected(list(range(6)))
    expect_sound(tmp_path)


def with_a_column() -> flo.Flow:
    flow = flo.Flow("totals")
    given = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", given.group_by("shop").agg(n=flo.count(), total=flo.sum("price"), most=flo.max("price")))
    flow.output("large", given.filter(nw.col("price") > 10))
    flow.output("all", given.distinct())
    return flow


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


def test_a_changed_program_runs_on_a_copy(tmp_path: Path) -> None:
    where, copy = tmp_path / "original", tmp_path / "copy"
    with start(where) as query:
        push(query, range(3))
        copy_checkpoint(str(where), str(copy))
        given = [each for turn in range(3) for each in sales(turn)]
        changed = with_a_column().on(flo.here).start(checkpoint=copy, changed="fill", fill={"sales": given})
        with changed as other:
            for each in (query, other):
                push(each, range(3, 5))
            columns = ["shop", "n", "total"]
            both = [each.view("totals").arrow().select(columns).sort_by("shop") for each in (query, other)]
        assert both[0].equals(both[1])
    copy_checkpoint(str(copy), str(tmp_path / "again"))
    described = read_description(str(tmp_path / "again"))
    assert described["copied"] == [read_description(str(each))["id"] for each in (where, copy)]
    with with_a_column().on(flo.here).start(checkpoint=tmp_path / "again") as query:
        assert query.view("totals").arrow().select(columns).sort_by("shop").equals(both[0])


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

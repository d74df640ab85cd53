"""Sinks of outputs that have changed with their program: each gets the difference to what it holds.

After each start the rows of a sink are those of a view of the same stream."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.local.query import LocalQuery
from flo.shards.checkpoint.change_folders import LOG, StoredChanges
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.micro_batches import MicroBatches
from flo.shards.sinks.output_changes import OutputChanges
from flo.shards.sinks.sinks import Changes, Memory, Sink
from flo.shards.sinks.upserts import Upsert
from tests.local.sink_places import (
    PROGRAMS,
    Build,
    Place,
    Sale,
    compare,
    counts,
    flow_of,
    large_sums,
    plain,
    push,
    start,
    sums_and_counts,
)


@pytest.mark.every(test=2)
def test_changed_programs(place: Place) -> None:
    """Columns are added, removed and get other types; and each sink gets the difference."""
    for number, program in enumerate(PROGRAMS):
        with start(place, program, changed="fill") as query:
            if number:
                compare(place, query)
            push(query, ("a", number), ("b", 3), (f"only {number}", 5))
            compare(place, query)
            query.push(sales={Sale("b", 3): -1})
            compare(place, query)
        with start(place, program) as query:
            compare(place, query)


class Stop(Exception):
    """Raised where the process ends."""


def stop(*given: Any, **more: Any) -> None:
    raise Stop


def commit_and_stop(before: bool) -> Callable[..., None]:
    """Ends the process before a commit of the checkpoint or after it, but not of a fill."""
    commit = MicroBatches.commit_micro_batch

    def replaced(batches: MicroBatches, *given: Any) -> None:
        is_fill = batches.folder.endswith("fill")
        if is_fill or not before:
            commit(batches, *given)
        if not is_fill:
            raise Stop

    return replaced


@pytest.mark.parametrize("before", [True, False], ids=["before the commit", "after it"])
@pytest.mark.every(test=2)
def test_a_crash_while_sinks_get_the_difference(place: Place, before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They get it once: with the same program, another one, or the one before, which has to be reconciled."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2), ("b", 20))

    def crash(build: Build) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(MicroBatches, "commit_micro_batch", commit_and_stop(before))
            with pytest.raises(Stop):
                start(place, build, changed="fill")

    crash(large_sums)
    with start(place, large_sums, changed="fill") as query:
        compare(place, query)
        push(query, ("a", 10))
        compare(place, query)
    crash(counts)
    crash(sums_and_counts)
    with start(place, sums_and_counts, changed="fill") as query:
        compare(place, query)
    crash(counts)
    if not before:
        with start(place, counts) as query:
            compare(place, query)
        return
    with pytest.raises(flo.CheckpointError, match="is ahead of the checkpoint"):
        start(place, sums_and_counts)
    with start(place, sums_and_counts, sink=place.sink().reconcile()) as query:
        compare(place, query)
        push(query, ("c", 10))
        compare(place, query)
    with start(place, sums_and_counts) as query:
        compare(place, query)


@pytest.mark.parametrize("shown", [0, 1], ids=["the first", "a later one"])
def test_a_crash_before_a_folder_shows_a_version(shown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, "changes")
    with start(place) as query:
        for number in range(shown):
            push(query, ("a", number))
        with monkeypatch.context() as patch:
            patch.setattr(Changes, "commit", stop)
            with pytest.raises(Stop):
                push(query, ("b", 2))
    with start(place) as query:
        compare(place, query)
        push(query, ("c", 3))
        compare(place, query)


@pytest.mark.parametrize("shown", [0, 1], ids=["the first", "a later one"])
def test_a_folder_that_could_not_show_a_version_shows_it_with_the_next(
    shown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same process, as when the disk was full for a while. Meanwhile it is given no more."""
    place = Place(tmp_path, "changes")
    with start(place) as query:
        for number in range(shown):
            push(query, ("a", number))
        with monkeypatch.context() as patch:
            patch.setattr(Changes, "commit", stop)
            for shop in ("b", "not taken"):
                with pytest.raises(Stop):
                    push(query, (shop, 2))
        push(query, ("c", 3))
        compare(place, query)


@pytest.mark.parametrize("shown", [0, 1], ids=["the first", "a later one"])
def test_a_crash_before_a_folder_shows_diverted_rows(
    shown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in few versions, and those between two of them have no folder."""
    flow = flo.Flow("diverted")
    flow.output("all", flow.input("sales", flo.Bag[Sale]).filter(lambda sale: 10 // sale.price > 0))

    def restart() -> LocalQuery:
        sinks = {"sales diverted": Changes(str(tmp_path / "diverted"))}
        return flow.on(flo.here).start(sinks, checkpoint=tmp_path / "c", on_error="divert")

    with restart() as query:
        push(query, *[("a", 0)] * shown, ("a", 1))
        push(query, ("a", 1))
        with monkeypatch.context() as patch:
            patch.setattr(Changes, "commit", stop)
            with pytest.raises(Stop):
                push(query, ("b", 0))
    with restart() as query:
        push(query, ("a", 1))
        push(query, ("c", 0))
    parts, _ = StoredChanges(str(tmp_path / "diverted")).parts(None, -1, None)
    shops = Counter(row["row"][11] for part in parts for row in part.changes().to_pylist())
    assert shops == Counter("a" * shown + "bc")


def test_a_folder_whose_log_was_removed_is_not_taken_for_one_that_never_showed_a_version(tmp_path: Path) -> None:
    place = Place(tmp_path, "changes")
    with start(place) as query:
        push(query, ("a", 1))
        push(query, ("b", 2))
    (place.path / LOG).unlink()
    with pytest.raises(flo.CheckpointError, match="holds nothing, but the checkpoint has given it changes"):
        start(place)


@pytest.mark.parametrize("given", ["a copy", "another folder"])
def test_a_first_version_is_shown_by_the_sink_that_it_was_given_to(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a copy of the checkpoint nor another sink takes the files for its own."""
    place = Place(tmp_path, "changes")
    with start(place) as query, monkeypatch.context() as patch:
        patch.setattr(Changes, "commit", stop)
        with pytest.raises(Stop):
            push(query, ("a", 1))
    other = tmp_path / "other"
    if given == "a copy":
        copy_checkpoint(str(tmp_path / "c"), str(other))
    else:
        shutil.copytree(place.path, other)
    with pytest.raises(flo.CheckpointError, match="holds nothing, but the checkpoint has given it changes"):
        start(place, where="other") if given == "a copy" else start(place, sink=Changes(str(other)))
    with start(place) as query:
        compare(place, query)


def test_a_difference_has_no_row_that_is_the_same(tmp_path: Path) -> None:
    place = Place(tmp_path, "changes")
    with start(place) as query:
        push(query, *((f"shop {number}", 5) for number in range(20)), ("small", 1), ("small", 7))
    with start(place, large_sums, changed="fill"):
        parts = StoredChanges(str(place.path)).parts(None, 0, 1)[0]
        rows = sorted(tuple(map(str, row.values())) for part in parts for row in part.changes().to_pylist())
        assert rows == [("small", "7", "1"), ("small", "8", "-1")]


def take_into(taken: list[pa.Table]) -> Callable[[pa.Table, int], None]:
    return lambda changes, version: taken.append(changes)


def test_functions_get_what_is_known(tmp_path: Path) -> None:
    """A function gets all rows of a new output, and the difference if the checkpoint has the rows that it was given."""
    taken: list[pa.Table] = []
    place = Place(tmp_path, "function")

    def total() -> Counter[Any]:
        counter = Counter[Any]()
        for table in taken:
            for row in table.to_pylist():
                counter[plain(row)] += row["_weight"]
        return Counter({row: weight for row, weight in counter.items() if weight})

    with start(place, sink=take_into(taken)) as query:
        push(query, ("a", 1), ("b", 20))
    with start(place, large_sums, sink=take_into(taken), changed="fill") as query:  # the view before has the rows
        assert total() == Counter(map(plain, query.view("view").arrow().to_pylist()))
        push(query, ("a", 10))
        assert total() == Counter(map(plain, query.view("view").arrow().to_pylist()))
    with pytest.raises(flo.CheckpointError) as caught:
        start(place, counts, sink=take_into(taken), changed="fill").stop()
    message = str(caught.value)
    assert "its sink Callback cannot be corrected: the rows that it has taken cannot be read" in message
    assert "sink_places.py" in message
    for way in ('"view"', "flo.Upsert(", "flo.Changes(", "another checkpoint"):
        assert way in message
    with pytest.raises(flo.TypeMismatch, match="Memory cannot be reconciled"):
        Memory().reconcile()


def test_outputs_with_other_sinks(tmp_path: Path) -> None:
    """An output that is added, or whose sink is another one now, gets all rows."""
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    table, folder = Place(tmp_path, "sqlite"), Place(tmp_path, "changes")
    with start(table) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("c", 3))
    with start(folder, changed="fill") as query:
        compare(folder, query)
        push(query, ("a", 2))
        compare(folder, query)
    with start(table, sink=None, changed="fill") as query:
        push(query, ("a", 2))
    with start(table, sink=Upsert("sqlite", "other", {"uri": str(table.path)}), changed="fill") as query:
        push(query, ("e", 2))
        others = table.execute("SELECT shop, total FROM other")
        assert Counter(map(plain, others)) == Counter(map(plain, query.view("view").arrow().to_pylist()))


def test_rows_in_order(tmp_path: Path) -> None:
    """Those of a sequence are never retracted: a folder of changes gets those that it lacks."""

    def begin(least: int, sink: Changes) -> LocalQuery:
        flow = flo.Flow("prices")
        sales = flow.input("sales", flo.Sequence[Sale])
        large = sales.filter(nw.col("price") >= least)
        for name in ("prices", "view"):
            flow.output(name, large)
        rows = {"sales": [Sale("a", number) for number in range(5)]}
        return flow.on(flo.here).start({"prices": sink}, checkpoint=tmp_path / "c", changed="fill", fill=rows)

    def prices() -> list[int]:
        parts = StoredChanges(str(tmp_path / "prices")).parts(None, -1, None)[0]
        return [row["price"] for part in parts for row in part.changes().to_pylist()]

    with begin(0, Changes(str(tmp_path / "prices"))) as query:
        push(query, *(("a", number) for number in range(5)))
    shutil.rmtree(tmp_path / "prices")
    with begin(0, Changes(str(tmp_path / "prices")).reconcile()) as query:
        assert prices() == [0, 1, 2, 3, 4]
        push(query, ("a", 5))
        assert prices() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(flo.CheckpointError, match="the output is a Sequence"):
        begin(2, Changes(str(tmp_path / "prices"))).stop()


def test_another_key(place: Place) -> None:
    """Rows by another key need another table. A folder has no key."""

    def by_price(sales: Any) -> Any:
        return sales.group_by("price").agg(n=flo.count())

    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    if place.kind == "changes":
        with start(place, by_price, changed="fill") as query:
            compare(place, query)
    else:
        with pytest.raises(flo.TypeMismatch, match="holds rows by the key shop; the key is now price"):
            start(place, by_price, changed="fill")


def test_going_back_with_a_changed_program(place: Place) -> None:
    with start(place, keep=10) as query:
        push(query, ("a", 1), ("b", 20))
        push(query, ("b", 5), ("c", 2))
    with start(place, large_sums, version=0, changed="fill") as query:
        compare(place, query)
        push(query, ("d", 5))
        compare(place, query)
    with start(place, large_sums) as query:
        push(query, ("d", 5))
        compare(place, query)


@pytest.mark.parametrize("next_price", [2, 6])
def test_other_rows_after_a_push_that_one_sink_has_taken(place: Place, next_price: int) -> None:
    """In the same process; a price of 2 changes no large sum, so there is nothing to give but what is taken back."""
    flow, failing = flow_of(large_sums), [False]

    def fail(changes: pa.Table, version: int) -> None:
        if failing[0]:
            raise Stop

    flow.output("beside", flow._outputs["kept"])
    with flow.on(flo.here).start({"sums": place.sink(), "beside": fail}, checkpoint=place.folder / "c") as query:
        push(query, ("a", 5))
        failing[0] = True
        with pytest.raises(Stop):
            push(query, ("b", 7))
        failing[0] = False
        push(query, ("a", next_price))
        compare(place, query)
        push(query, ("b", 8))
        compare(place, query)


class Lines(Sink):
    """Keeps rows without weights, and does not know of which version they are."""

    def __init__(self) -> None:
        self.rows = Counter[int]()

    def take(self, changes: OutputChanges) -> None:
        self.rows.update(changes.table()["price"].to_pylist())


def test_more_elements_of_a_set_after_a_push_that_a_sink_has_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come with the next version. What it has taken comes once more, as it may not have taken all."""
    flow, sink = flo.Flow("sets"), Lines()
    sales, known = (flow.input(name, flo.Set[Sale]) for name in ("sales", "known"))
    flow.output("both", sales.join(known, on="price"))
    every = [Sale("a", price) for price in (1, 2, 3, 5, 6)]  # the first is alone in its shard

    def push_some(some: list[Sale]) -> None:
        with flow.on(flo.here).start({"both": sink}, checkpoint=tmp_path / "c", shards=8) as query:
            query.push(sales=some, known=every)

    with monkeypatch.context() as patch:
        patch.setattr(MicroBatches, "commit_micro_batch", stop)
        with pytest.raises(Stop):
            push_some(every[:1])
    push_some(every)
    assert sink.rows == {1: 2}
    push_some([])
    assert sink.rows == {1: 2, 2: 1, 3: 1, 5: 1, 6: 1}

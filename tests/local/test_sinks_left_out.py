"""Sinks that an output leaves and comes back to, or that the checkpoint of another program has: none has stale rows."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import narwhals as nw
import pytest

import flo
from flo.local.query import LocalQuery
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.sinks.databases import Database
from tests.local.sink_places import Sale, counts, means, names, plain, push, sums, sums_and_counts

KINDS = ("changes", "sqlite")


def of(build: Any, shop: str) -> Any:
    return lambda sales: build(sales.filter(nw.col("shop") == shop))


class Pipeline:
    """A program that changes, on a checkpoint, with sinks of one kind in one folder or one database."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind, self.checkpoint = folder, kind, folder / "checkpoint"

    def sink(self, place: str) -> Any:
        if self.kind == "changes":
            return flo.Changes(str(self.folder / place))
        return flo.Upsert(self.kind, place, {"uri": str(self.folder / "database")})

    def start(self, outputs: dict[str, Any], sinks: dict[str, str], **more: Any) -> LocalQuery:
        flow = flo.Flow("shops")
        sales = flow.input("sales", flo.ZSet[Sale])
        flow.output("kept", sales)
        for name, build in outputs.items():
            flow.output(name, build(sales))
            flow.output(f"view of {name}", build(sales))
        to = {name: self.sink(place) for name, place in sinks.items()}
        return flow.on(flo.here).start(to, checkpoint=self.checkpoint, **more)

    def rows(self, place: str) -> Counter[Any]:
        if self.kind == "changes":
            parts = StoredChanges(str(self.folder / place)).parts(None, -1, None)[0]
            rows = [row for part in parts for row in part.changes().to_pylist()]
        else:
            with sqlite3.connect(self.folder / "database") as connection:
                cursor = connection.execute(f"SELECT *, 1 AS _weight FROM {place}")
                columns = [each[0] for each in cursor.description]
                rows = [dict(zip(columns, row, strict=True)) for row in cursor]
        total = Counter[Any]()
        for row in rows:
            weight = row.pop("_weight")
            total[plain(row)] += weight
        return Counter({row: weight for row, weight in total.items() if weight})

    def expect(self, query: LocalQuery, name: str, place: str) -> None:
        rows = query.view(f"view of {name}").arrow().drop_columns(["_weight"]).to_pylist()
        assert self.rows(place) == Counter(map(plain, rows))


@pytest.fixture(params=KINDS)
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path, request.param)


TWO = {"one": sums, "two": counts}


@pytest.mark.parametrize(
    "before",
    [
        {"one": "p", "two": "q"},
        pytest.param({"one": "p"}, marks=pytest.mark.thorough),
        pytest.param({"two": "q"}, marks=pytest.mark.thorough),
        pytest.param({"one": "r", "two": "p"}, marks=pytest.mark.thorough),
    ],
)
def test_back_to_when_the_sinks_were_others(pipeline: Pipeline, before: dict[str, str]) -> None:
    outputs, now = {"one": sums, "two": sums_and_counts}, {"one": "q", "two": "p"}
    with pipeline.start(outputs, before, keep=10) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("a", 3))
    with pipeline.start(outputs, now, changed="fill", keep=10) as query:
        push(query, ("c", 5))
    versions = committed_versions(str(pipeline.checkpoint))
    with pytest.raises(flo.CheckpointError):
        pipeline.start(outputs, now, version=1, keep=10)
    assert committed_versions(str(pipeline.checkpoint)) == versions
    with pipeline.start(outputs, now, version=1, changed="fill", keep=10) as query:
        for _ in range(2):
            pipeline.expect(query, "one", "q")
            pipeline.expect(query, "two", "p")
            query.push(sales={Sale("b", 2): -1, Sale("d", 1): 1})


@pytest.mark.parametrize("meanwhile", [{}, {"one": "q"}])
def test_a_sink_of_versions_that_were_abandoned(pipeline: Pipeline, meanwhile: dict[str, str]) -> None:
    """The checkpoint went back without the sink, and has versions of the same numbers again."""
    with pipeline.start(TWO, {"one": "p"}, keep=10) as query:
        push(query, ("a", 1), ("b", 2))
        for price in (3, 4, 5):
            push(query, ("a", price))
    with pipeline.start(TWO, meanwhile, version=0, changed="fill", keep=10) as query:
        while len(committed_versions(str(pipeline.checkpoint))) < 4:
            push(query, ("c", 7))
    with pytest.raises(flo.CheckpointError):
        pipeline.start(TWO, {"one": "p"})
    with pipeline.start(TWO, {"one": "p"}, changed="fill") as query:
        pipeline.expect(query, "one", "p")


def test_a_copy_with_exchanged_sinks_of_the_original(pipeline: Pipeline) -> None:
    with pipeline.start(TWO, {"one": "p", "two": "q"}) as query:
        push(query, ("a", 1), ("b", 2))
    rows = pipeline.rows("p"), pipeline.rows("q")
    copy_checkpoint(str(pipeline.checkpoint), str(pipeline.folder / "copy"))
    pipeline.checkpoint = pipeline.folder / "copy"
    with pytest.raises(flo.CheckpointError, match="belongs to the checkpoint that this one is a copy of"):
        pipeline.start(TWO, {"one": "q", "two": "p"}, changed="fill")
    assert rows == (pipeline.rows("p"), pipeline.rows("q"))


def test_a_folder_of_another_checkpoint(tmp_path: Path) -> None:
    """It begins anew: its rows are not mixed with those of the other checkpoint."""
    pipeline = Pipeline(tmp_path, "changes")
    with pipeline.start(TWO, {"one": "p"}) as query:
        push(query, ("a", 1), ("z", 2))
    pipeline.checkpoint = tmp_path / "other"
    with pipeline.start(TWO, {"one": "q"}) as query:
        push(query, ("a", 5))
    with pipeline.start(TWO, {"one": "p"}, changed="fill") as query:
        push(query, ("b", 6))
        pipeline.expect(query, "one", "p")


def test_an_output_comes_back_to_a_sink(pipeline: Pipeline) -> None:
    with pipeline.start(TWO, {"one": "p"}) as query:
        push(query, ("a", 1), ("b", 2))
    with pipeline.start(TWO, {"one": "q"}, changed="fill") as query:
        query.push(sales={Sale("b", 2): -1})
    with pytest.raises(flo.CheckpointError):
        pipeline.start(TWO, {"one": "p"})
    with pipeline.start(TWO, {"one": "p"}, changed="fill") as query:
        pipeline.expect(query, "one", "p")
        push(query, ("c", 3))
        pipeline.expect(query, "one", "p")
    with pipeline.start(TWO, {"one": "p", "two": "q"}, changed="fill") as query:
        pipeline.expect(query, "two", "q")


def test_a_kill_between_sinks_that_are_exchanged(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"one": of(sums, "a"), "two": of(sums, "b")}
    with pipeline.start(outputs, {"one": "p", "two": "q"}) as query:
        push(query, ("a", 1), ("b", 2))
    taken: list[str] = []
    kind: Any = type(pipeline.sink("p"))
    take = kind.take

    def take_one(self: Any, changes: Any) -> None:
        if taken:
            raise KeyboardInterrupt
        taken.append(changes.output)
        take(self, changes)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "take", take_one)
        with pytest.raises(KeyboardInterrupt):
            pipeline.start(outputs, {"one": "q", "two": "p"}, changed="fill")
    with pytest.raises(flo.CheckpointError):
        pipeline.start(outputs, {"one": "p", "two": "q"})
    with pipeline.start(outputs, {"one": "q", "two": "p"}, changed="fill") as query:
        pipeline.expect(query, "one", "q")
        pipeline.expect(query, "two", "p")


def test_a_table_after_a_view_counts_its_own_rows(tmp_path: Path) -> None:
    """It does not add those of the table before: an empty table would seem to be another one."""
    pipeline = Pipeline(tmp_path, "sqlite")
    with pipeline.start(TWO, {"one": "p"}) as query:
        push(query, ("a", 1), ("b", 2))
    with pipeline.start(TWO, {}, changed="fill"):
        pass
    with pipeline.start(TWO, {"one": "q"}) as query:
        query.push(sales={Sale("a", 1): -1, Sale("b", 2): -1})
    with pipeline.start(TWO, {"one": "q"}) as query:
        push(query, ("c", 3))
        pipeline.expect(query, "one", "q")


def columns_of(pipeline: Pipeline, table: str) -> dict[str, str]:
    with sqlite3.connect(pipeline.folder / "database") as connection:
        return dict(connection.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall())


@pytest.mark.parametrize(
    "build", [names, *(pytest.param(each, marks=pytest.mark.thorough) for each in (means, counts))]
)
@pytest.mark.parametrize("meanwhile", [pytest.param(None, marks=pytest.mark.thorough), {"three": sums}])
def test_a_table_with_other_columns_is_taken_over(tmp_path: Path, build: Any, meanwhile: Any) -> None:
    """It gets their types, also if the output that had it went long ago."""
    pipeline, fresh = Pipeline(tmp_path, "sqlite"), {"one": "p", "two": "q"}
    with pipeline.start({"one": sums_and_counts}, {"one": "p"}) as query:
        push(query, ("a", 1), ("b", 2), ("b", 5))
    if meanwhile is not None:
        pipeline.start(meanwhile, {}, changed="fill").stop()
    with pipeline.start({"one": build, "two": build}, fresh, changed="fill") as query:
        push(query, ("a", 3))
    with pipeline.start({"two": build}, {"two": "p"}, changed="fill") as query:
        push(query, ("b", 2))
        columns, expected = columns_of(pipeline, "p"), columns_of(pipeline, "q")
        assert {name: columns[name] for name in expected} == expected
        own = list(expected)
        rows = query.view("view of two").arrow().select(own).to_pylist()
        with sqlite3.connect(tmp_path / "database") as connection:
            got = connection.execute(f"SELECT {', '.join(own)} FROM p").fetchall()
        assert Counter(got) == Counter(tuple(row.values()) for row in rows)


def test_a_sink_was_left_out_while_its_columns_changed(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, "sqlite")
    with pipeline.start({"one": sums}, {"one": "p"}) as query:
        push(query, ("a", 1))
    pipeline.start({"one": names}, {}, changed="fill").stop()
    with pipeline.start({"one": names}, {"one": "p"}, changed="fill") as query:
        pipeline.expect(query, "one", "p")
        assert columns_of(pipeline, "p")["total"] == "TEXT"


def by_price(sales: Any) -> Any:
    return sales.group_by("price").agg(n=flo.count())


def by_shop_of_price(sales: Any) -> Any:
    return sales.group_by(shop="price").agg(n=flo.count())


@pytest.mark.parametrize(
    ("build", "message"),
    [(by_price, "holds rows by the key shop; the key is now price"), (by_shop_of_price, "key column `shop`")],
)
def test_a_table_with_another_key_is_not_taken_over(tmp_path: Path, build: Any, message: str) -> None:
    pipeline = Pipeline(tmp_path, "sqlite")
    with pipeline.start({"one": sums}, {"one": "p"}) as query:
        push(query, ("a", 1))
    with pytest.raises(flo.TypeMismatch, match=message):
        pipeline.start({"two": build}, {"two": "p"}, changed="fill")
    with pipeline.start({"one": sums}, {"one": "p"}) as query:
        pipeline.expect(query, "one", "p")


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_kill_while_a_table_gets_other_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The program before does not go on with a table whose columns are gone. With a fill it gets them again."""
    pipeline = Pipeline(tmp_path, "sqlite")
    with pipeline.start({"one": sums}, {"one": "p"}) as query:
        push(query, ("a", 1))

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_write", end)
        with pytest.raises(KeyboardInterrupt):
            pipeline.start({name: names}, {name: "p"}, changed="fill")
    with pytest.raises(flo.CheckpointError):
        pipeline.start({"one": sums}, {"one": "p"})
    with pipeline.start({"one": sums}, {"one": "p"}, changed="fill") as query:
        pipeline.expect(query, "one", "p")


def test_back_to_when_a_table_had_other_columns(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, "sqlite")
    with pipeline.start({"one": sums}, {"one": "p"}) as query:
        push(query, ("a", 1))
    pipeline.start({"one": names}, {"one": "p"}, changed="fill").stop()
    with pipeline.start({"one": sums}, {"one": "p"}, version=0, changed="fill") as query:
        pipeline.expect(query, "one", "p")


@pytest.mark.parametrize("columns", ["shop TEXT PRIMARY KEY", "shop TEXT, total INTEGER"])
def test_a_table_that_does_not_fit(tmp_path: Path, columns: str) -> None:
    """It lacks a column, or an index on the key."""
    pipeline = Pipeline(tmp_path, "sqlite")
    with sqlite3.connect(tmp_path / "database") as connection:
        connection.execute(f"CREATE TABLE p ({columns})")
    with pytest.raises(flo.TypeMismatch, match="the table p of sqlite cannot take the rows of the output `one`"):
        pipeline.start({"one": sums}, {"one": "p"})

"""Sinks that do not hold what the checkpoint has given them, and sinks of outputs that have changed.

After each start the rows of a sink are those of a view of the same stream."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.local.query import LocalQuery
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.micro_batches import MicroBatches
from flo.shards.sinks.sinks import Changes, Memory
from flo.shards.sinks.upserts import Upsert
from tests.local.test_changed_programs import build, edit
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES


class Sale(NamedTuple):
    shop: str
    price: int


Build = Callable[[Any], Any]
"""Makes the output of the sales."""


def flow_of(build: Build) -> flo.Flow:
    """A program with an output `sums`, for a sink, and the same as a view."""
    flow = flo.Flow("shops")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("kept", sales.distinct())
    flow.output("sums", build(sales))
    flow.output("view", build(sales))
    return flow


def sums(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.sum("price"))


def sums_and_counts(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.sum("price"), n=flo.count())


def counts(sales: Any) -> Any:
    return sales.group_by("shop").agg(n=flo.count())


def means(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.avg("price"))


def names(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.sum("price")).with_columns(total=nw.col("shop"))


def large_sums(sales: Any) -> Any:
    return sums(sales.filter(nw.col("price") > 4))


PROGRAMS = [sums, sums_and_counts, counts, means, names, large_sums, sums]


@dataclass
class Place:
    """A kind of sinks: how one is made, what it has, and how it is dropped."""

    folder: Path
    kind: str
    taken: list[pa.Table] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / f"sink of {self.kind}"

    def sink(self) -> Any:
        if self.kind == "changes":
            return Changes(str(self.path))
        return Upsert(self.kind, "sums", {"uri": str(self.path)})

    def execute(self, statement: str) -> list[dict[str, Any]]:
        if self.kind == "sqlite":
            with sqlite3.connect(self.path) as connection:
                cursor = connection.execute(statement)
                names = [each[0] for each in cursor.description or ()]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        import duckdb

        with duckdb.connect(str(self.path)) as connection:
            result: Any = connection.execute(statement)
            return list(result.to_arrow_table().to_pylist()) if statement.startswith("SELECT") else []

    def rows(self) -> Counter[Any]:
        if self.kind == "changes":
            stored = StoredChanges(str(self.path))
            tables = [part.changes() for part in stored.parts(None, -1, None)[0]]
            rows = [row for table in tables for row in table.to_pylist()]
        else:
            rows = [{**row, "_weight": 1} for row in self.execute("SELECT * FROM sums")]
        total = Counter[Any]()
        for row in rows:
            weight = row.pop("_weight")
            total[plain(row)] += weight
        return Counter({row: weight for row, weight in total.items() if weight})

    def drop(self) -> None:
        if self.kind == "changes":
            shutil.rmtree(self.path)
        else:
            self.execute("DROP TABLE sums")


def plain(row: dict[str, Any]) -> Any:
    """The values of a row that are not null, by name: a column that an output does not have any more is null."""
    values = {name: value for name, value in row.items() if value is not None and name != "_weight"}
    return tuple(sorted((name, each if isinstance(each, str) else float(each)) for name, each in values.items()))


@pytest.fixture(params=["sqlite", pytest.param("duckdb", marks=pytest.mark.thorough), "changes"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param != "changes":
        pytest.importorskip(f"adbc_driver_{request.param}.dbapi")
    return Place(tmp_path, request.param)


def start(
    place: Place, build: Callable[[Any], Any] = sums, sink: Any = ..., where: str = "c", **more: Any
) -> LocalQuery:
    outputs = {"sums": place.sink() if sink is ... else sink}
    return flow_of(build).on(flo.here).start(outputs, checkpoint=place.folder / where, **more)


def compare(place: Place, query: LocalQuery) -> None:
    view = Counter(
        plain({k: v for k, v in row.items() if k != "_weight"}) for row in query.view("view").arrow().to_pylist()
    )
    assert place.rows() == view
    assert not list(Checkpoint(query._batches.folder).problems())


def push(query: LocalQuery, *rows: tuple[str, int]) -> None:
    query.push(sales=[Sale(*row) for row in rows])


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


def restored(place: Place) -> None:
    """The checkpoint is that of some versions ago."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    shutil.copytree(place.folder / "c", place.folder / "copy")
    with start(place) as query:
        push(query, ("a", 10), ("d", 4))
        push(query, ("e", 5))
        query.push(sales={Sale("b", 2): -1})
    shutil.rmtree(place.folder / "c")
    (place.folder / "copy").rename(place.folder / "c")


def behind(place: Place) -> None:
    """The sink is that of some versions ago."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    copy = place.folder / "copy"
    (shutil.copytree if place.kind == "changes" else shutil.copy)(place.path, copy)
    with start(place) as query:
        push(query, ("a", 10), ("d", 4))
        query.push(sales={Sale("b", 2): -1})
    place.drop()
    if place.path.exists():
        place.path.unlink()
    copy.rename(place.path)


def dropped(place: Place) -> None:
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("c", 2))
    place.drop()


def another(place: Place) -> None:
    """The sink belongs to another checkpoint."""
    with start(place, where="other") as query:
        for number in range(5):
            push(query, ("a", number), ("x", 2))
    with start(place, sink=None) as query:
        push(query, ("a", 1), ("b", 2))
    with start(place, sink="noop") as query:
        push(query, ("c", 2))


@pytest.mark.parametrize("happens", [restored, behind, dropped, another])
def test_reconciled_sinks(place: Place, happens: Callable[[Place], None]) -> None:
    happens(place)
    for _ in range(2):
        with pytest.raises(flo.CheckpointError) as caught:
            start(place).stop()
        assert '").reconcile()' in str(caught.value)
    with start(place, sink=place.sink().reconcile()) as query:
        compare(place, query)
        push(query, ("f", 7), ("a", 1))
        compare(place, query)
    with start(place) as query:
        compare(place, query)
        query.push(sales={Sale("a", 1): -1})
        compare(place, query)


def test_a_sink_that_has_what_it_was_given(place: Place) -> None:
    """Nothing is committed; and rows that somebody has changed by hand are mended."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    with start(place, sink=place.sink().reconcile()) as query:
        assert query.view("view").version == 0
        compare(place, query)
    if place.kind != "changes":
        place.execute("DELETE FROM sums WHERE shop = 'a'")
        place.execute("INSERT INTO sums VALUES ('x', 7)")
        with start(place, sink=place.sink().reconcile()) as query:
            assert query.view("view").version == 1
            compare(place, query)
            push(query, ("a", 3))
            compare(place, query)


def test_a_new_checkpoint_over_an_old_sink(place: Place) -> None:
    with start(place, where="other") as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("c", 1))
    for _ in range(2):  # nothing is committed at the first start
        with start(place, sink=place.sink().reconcile()) as query:
            pass
    with start(place, sink=place.sink().reconcile()) as query:
        push(query, ("a", 1), ("d", 2))
        compare(place, query)
        push(query, ("b", 1))
        compare(place, query)
    with start(place) as query:
        push(query, ("c", 1))
        compare(place, query)
    if place.kind != "changes":  # the other one must not go on
        with pytest.raises(flo.CheckpointError, match="holds nothing"):
            start(place, where="other").stop()


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


def test_a_crash_before_a_folder_shows_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, "changes")
    with start(place) as query:
        push(query, ("a", 1))
        with monkeypatch.context() as patch:
            patch.setattr(Changes, "commit", stop)
            with pytest.raises(Stop):
                push(query, ("b", 2))
    with start(place) as query:
        compare(place, query)
        push(query, ("c", 3))
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
    assert "test_reconciling.py" in message
    for way in ('"view"', "flo.Upsert(", "flo.Changes(", "another checkpoint"):
        assert way in message
    with pytest.raises(flo.TypeMismatch, match="Memory cannot be reconciled"):
        Memory().reconcile()


def test_rows_that_nothing_holds(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    sink = Upsert("sqlite", "large", {"uri": str(tmp_path / "db?password=secret")}, key="shop")

    def begin(sink: Any, **more: Any) -> LocalQuery:
        flow = flo.Flow("large")
        flow.output("large", flow.input("sales", flo.ZSet[Sale]).filter(nw.col("price") > 4))
        return flow.on(flo.here).start({"large": sink}, checkpoint=tmp_path / "c", **more)

    def rows() -> list[Any]:
        return sorted(sqlite3.connect(tmp_path / "db?password=secret").execute("SELECT * FROM large").fetchall())

    with begin(sink) as query:
        push(query, ("a", 5), ("b", 1))
    with begin(sink.reconcile()) as query:  # nothing says that it is wrong
        push(query, ("c", 6))
    sqlite3.connect(tmp_path / "db?password=secret").execute("DROP TABLE large")
    with pytest.raises(flo.CheckpointError) as caught:
        begin(sink.reconcile()).stop()
    assert "cannot be reconciled: that needs all rows that the input `sales` has had" in str(caught.value)
    assert 'fill={"sales": rows}' in str(caught.value)
    assert "secret" not in f"{caught.value} {sink.reconcile()!r}"
    with begin(sink.reconcile(), fill={"sales": [Sale("a", 5), Sale("b", 1), Sale("c", 6)]}) as query:
        assert rows() == [("a", 5), ("c", 6)]
        push(query, ("d", 7))
    assert rows() == [("a", 5), ("c", 6), ("d", 7)]


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


def test_versions_that_no_checkpoint_has_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder has taken one, and goes on with a later one, because another sink is ahead."""
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    folder, table = Place(tmp_path, "changes"), Place(tmp_path, "sqlite")

    def begin(reconciles: bool = False) -> LocalQuery:
        flow = flow_of(sums)
        flow.output("table", sums(flow._scope.inputs[0]))
        sink = table.sink().reconcile() if reconciles else table.sink()
        return flow.on(flo.here).start({"sums": folder.sink(), "table": sink}, checkpoint=tmp_path / "c")

    with begin() as query:
        push(query, ("a", 1))
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    shutil.copytree(folder.path, tmp_path / "folder")
    with begin() as query:
        for number in range(4):
            push(query, ("a", number))
    for path, copy in ((tmp_path / "c", "copy"), (folder.path, "folder")):
        shutil.rmtree(path)
        (tmp_path / copy).rename(path)
    (folder.path / "version=00000001").mkdir()
    shutil.copy(next((folder.path / "version=00000000").iterdir()), folder.path / "version=00000001")
    with begin(reconciles=True) as query:
        for place in (folder, table):
            compare(place, query)
        push(query, ("b", 1))
        for place in (folder, table):
            compare(place, query)


def test_a_table_that_others_write_to(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    place = Place(tmp_path, "sqlite")
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    place.execute("INSERT INTO sums VALUES ('theirs', 7)")
    with pytest.raises(flo.CheckpointError, match="has 3 rows, and was given 2"):
        start(place, large_sums, changed="fill")
    assert len(place.rows()) == 3
    with start(place, large_sums, sink=place.sink().reconcile(), changed="fill") as query:
        compare(place, query)


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


def total_of(tables: list[pa.Table]) -> Counter[str]:
    """How often each row is there."""
    total = Counter[str]()
    for table in tables:
        for row in table.to_pylist():
            weight = row.pop("_weight", 1)
            total[repr(sorted(row.items()))] += weight
    return Counter({row: weight for row, weight in total.items() if weight})


@pytest.mark.parametrize("seed", range(times(8)))
def test_random_programs_that_change(seed: int, tmp_path: Path) -> None:
    """Folders of changes add up to what the program of the moment gives on all input so far."""
    rng = random.Random(seed)
    parts = {f"out {number}": rng.randrange(10_000) for number in range(rng.randrange(1, 4))}
    deltas = random_deltas(SOURCES, seed, 5, 4)
    total = {name: Counter[Any]() for name in SOURCES}
    for turn, delta in enumerate(deltas):
        fill = {name: {row: n for row, n in each.items() if n} for name, each in total.items()}
        flow = build(parts)
        sinks = {name: Changes(str(tmp_path / name)) for name in parts}
        shards = None if turn else rng.choice([1, 3])
        where = tmp_path / "checkpoint"
        if rng.randrange(3) == 0 and turn:
            name = rng.choice(list(parts))
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            sinks[name] = sinks[name].reconcile()
        with flow.on(flo.here).start(sinks, checkpoint=where, shards=shards, changed="fill", fill=fill) as query:
            query.push(**delta)
        loop = flow.on(flo.here).loop(negative="allow")
        for each in deltas[: turn + 1]:
            loop.push(**each)
        result = loop.result()
        for name in parts:
            stored = StoredChanges(str(tmp_path / name)).parts(None, -1, None)[0]
            assert total_of([part.changes() for part in stored]) == total_of([result[name]])
        for name, changes in delta.items():
            for row, n in changes.items():
                total[name][row] += n
        parts = edit(parts, rng)
    assert not list(Checkpoint(str(tmp_path / "checkpoint")).problems())


class Everything(NamedTuple):
    id: int
    flag: bool | None
    number: float | None
    text: str | None
    data: bytes | None
    day: date | None
    at: datetime | None
    amount: Decimal | None


EVERYTHING = [
    Everything(1, True, 0.1, "a", b"\x00\xff", date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, 3, 4), Decimal("1.5")),
    Everything(2, False, -1e300, "", b"", date(1969, 1, 1), datetime(1969, 1, 1), Decimal("-0.000000000000000001")),
    Everything(3, None, None, None, None, None, None, None),
    Everything(4, True, float("inf"), "'\"\n\\ é 𝄞", b"'", date(9999, 1, 1), datetime(2262, 1, 1), Decimal(10**15)),
]


def types_flow() -> flo.Flow:
    flow = flo.Flow("types")
    rows = flow.input("rows", flo.ZSet[Everything])
    flow.output("rows", rows.distinct(on="id"))
    flow.output("view", rows.distinct(on="id"))
    return flow


def test_all_types_are_read_as_they_were_written(place: Place) -> None:
    """So nothing differs, and nothing is committed."""
    with types_flow().on(flo.here).start({"rows": place.sink()}, checkpoint=place.folder / "c") as query:
        query.push(rows=EVERYTHING)
    with types_flow().on(flo.here).start({"rows": place.sink().reconcile()}, checkpoint=place.folder / "c") as query:
        assert query.view("view").version == 0


def test_going_back(place: Place) -> None:
    """Sinks that have taken later versions get the difference. A folder of changes goes back by itself."""
    with start(place, keep=10) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("b", 5), ("c", 2))
        query.push(sales={Sale("a", 1): -1})
    if place.kind != "changes":
        with pytest.raises(flo.CheckpointError, match="is ahead of the checkpoint") as caught:
            start(place, version=0)
        assert ").reconcile()" in str(caught.value)
    with start(place, sink=place.sink().reconcile(), version=0) as query:
        compare(place, query)
        assert len(place.rows()) == 2
        push(query, ("d", 5))
        compare(place, query)
    with start(place) as query:
        push(query, ("d", 5))
        compare(place, query)


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


def test_a_copy_takes_the_sink_over(place: Place) -> None:
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("c", 1))
    copy_checkpoint(str(place.folder / "c"), str(place.folder / "copy"))
    with start(place) as query:
        push(query, ("a", 1), ("d", 2))
    with pytest.raises(flo.CheckpointError, match="belongs to the checkpoint that this one is a copy of") as caught:
        start(place, where="copy")
    assert ").reconcile()" in str(caught.value)
    with start(place, sink=place.sink().reconcile(), where="copy") as query:
        compare(place, query)
        push(query, ("e", 1))
        compare(place, query)
    with start(place, where="copy") as query:
        push(query, ("e", 1))
        compare(place, query)

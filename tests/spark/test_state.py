"""State: whole or refused, the same however often it is written, and kept for some versions."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.stored_views import StoredViews
from flo.shards.tasks import stage_task
from flo.shards.tasks.output_files import PARTS, remove_parts
from flo.shards.tasks.state import CachedStore, Shard
from flo.shards.views import View
from flo.tables.checkpoint.folders import Local, Writes
from flo.tables.checkpoint.store import Store, Storing, run_file
from flo.tables.io.files import WEIGHTS
from flo.tables.state import merging
from flo.tools.cli import main
from tests.rescaling import rescale
from tests.spark.harness import streamed
from tests.spark.shops import DATA, Sale, Shop, everything, expected, merged, sales, snapshot, sums
from tests.spark.simulated import Simulated

pytestmark = pytest.mark.every(check=5, test=2)


def test_on_a_local_disk(tmp_path: Path) -> None:
    query = Simulated(everything(), tmp_path, shards=3)
    for data in DATA:
        query.turn(data)
    assert query.values() == expected(4)


def test_a_task_that_runs_again_writes_the_same(tmp_path: Path) -> None:
    once, twice = Simulated(everything(), tmp_path / "once"), Simulated(everything(), tmp_path / "twice")
    for data in DATA:
        once.turn(data)
        twice.turn(data, times=2)
    assert snapshot(str(tmp_path / "once")) == snapshot(str(tmp_path / "twice"))


def test_a_task_that_fails_half_way_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same process, which remembers the micro-batch before."""
    once, again = Simulated(everything(), tmp_path / "once"), Simulated(everything(), tmp_path / "again")
    for data in DATA:
        once.turn(data)
        with monkeypatch.context() as patches:
            patches.setattr(Store, "write", lambda *_: (_ for _ in ()).throw(OSError("no space")))
            with pytest.raises(OSError, match="no space"):
                again.take(data)
        again.turn(data)
    assert again.values() == expected(4)
    assert snapshot(str(tmp_path / "once")) == snapshot(str(tmp_path / "again"))


def test_a_turn_that_is_replayed_after_a_restart_writes_the_same(tmp_path: Path) -> None:
    query = Simulated(everything(), tmp_path)
    for data in DATA[:3]:
        query.turn(data)
    before, values = snapshot(str(tmp_path)), query.values()
    again = Simulated(everything(), tmp_path)
    again.version = 2
    again.turn(DATA[2])
    assert snapshot(str(tmp_path)) == before
    assert again.values() == values


@pytest.mark.slow
@pytest.mark.thorough
def test_tasks_at_the_same_time_write_the_same(tmp_path: Path) -> None:
    """As speculation does: two processes, each with a memory of its own, of which one is late."""
    alone, both = Simulated(everything(), tmp_path / "alone"), Simulated(everything(), tmp_path / "both")
    for version, data in enumerate(DATA):
        alone.turn(data)
        queries = [both]
        if version:
            queries.append(Simulated(everything(), tmp_path / "both"))
        faults: list[BaseException] = []

        def taken(query: Simulated, data: Any = data, faults: Any = faults) -> None:
            try:
                query.take(data)
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=taken, args=(query,)) for query in queries]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults, faults
        both.commit()
    assert snapshot(str(tmp_path / "alone")) == snapshot(str(tmp_path / "both"))


def test_what_another_has_written_and_not_yet_named_is_not_removed(tmp_path: Path) -> None:
    """An attempt that is late sweeps while one at the next micro-batch is writing."""
    query = Simulated(sums(), tmp_path, shards=1)
    for version in range(4):
        query.turn({"sales": sales(version * 10, 10)})
    store = Checkpoint(str(tmp_path)).store(3, 1, 0)
    store.folder.write("runs/of-the-next-turn.arrow", b"on its way")
    late = Simulated(sums(), tmp_path)
    late.take({"sales": sales(40, 10)})
    assert store.numbers() == [2, 3, 4]
    assert store.folder.exists("runs/of-the-next-turn.arrow")


def test_files_are_bounded_and_what_was_left_behind_is_removed(tmp_path: Path) -> None:
    query = Simulated(sums(), tmp_path, shards=2, how=PARTS)
    counts = []
    for version in range(40):
        query.turn({"sales": sales(version * 7 % 100, 7)})
        for output in query.batches.outputs:
            remove_parts(str(tmp_path), output.name, version)
        counts.append(sum(1 for file in tmp_path.rglob("*") if file.is_file()))
    assert max(counts[20:]) <= max(counts[:20]) + 6, counts
    assert max(counts) < 60
    store = Store(tmp_path / "state" / "00002" / "01" / "00000")
    store.folder.write("runs/left.arrow", b"")
    store.folder.write("states/.aside", b"")
    store.tidy()
    assert store.folder.exists("runs/left.arrow"), "it may be on its way"
    before = set(store.folder.names("runs")) - {"left.arrow"}
    store.tidy(age=-1)
    assert set(store.folder.names("runs")) == before
    assert ".aside" not in store.folder.files("states")
    assert not list(Checkpoint(str(tmp_path)).problems())


def test_a_state_that_comes_again_keeps_its_files(tmp_path: Path) -> None:
    """The version that had them is removed while the same files are written again."""
    query = Simulated(sums(), tmp_path, shards=1)
    query.turn({"sales": sales(0, 10)})
    for version in range(1, 10):
        last, next_one = (version - 1) % 3 * 10, version % 3 * 10
        query.turn({"sales": sales(last, 10, -1) | sales(next_one, 10)})
        assert not list(Checkpoint(str(tmp_path)).problems())
        assert Simulated(sums(), tmp_path).values() == dict(sums().run(sales=sales(next_one, 10)))


def test_a_failed_attempt_left_another_manifest(tmp_path: Path) -> None:
    """While a version is written, the files of older ones are removed: what it needs is not what its manifest says."""

    def write(store: CachedStore, version: int, *runs: str) -> None:
        for run in runs:
            store.folder.write(run_file(run), run.encode())
        storing = Storing(store)
        storing.held = set(runs)
        store.write(version, b"state", storing, {})

    store = CachedStore(Local(tmp_path))
    write(store, 1, "a", "f")
    write(store, 2, "b", "f")
    write(store, 3, "m")
    again = CachedStore(Local(tmp_path))
    again.read(2)
    writes = Writes()
    again.folder = store.folder.writing_together(writes)
    write(again, 3, "c", "f")
    again.folder = store.folder
    again.sweep(2, writing=3, needed={run_file("c"), run_file("f")})
    writes.finish()
    again.sweep(3, writing=4, needed={run_file("d")})
    write(again, 4, "d")
    assert again.manifest(3)["runs"] == ["c", "f"]
    assert {run for run in "abcdf" if again.folder.exists(run_file(run))} == {"c", "d", "f"}


def test_a_version_that_is_not_kept(tmp_path: Path) -> None:
    query = Simulated(sums(), tmp_path)
    for version in range(5):
        query.turn({"sales": sales(version * 10, 10)})
    with pytest.raises(flo.CheckpointError, match="version 1 of `sums` is no longer kept") as caught:
        View.of(str(tmp_path), "sums", 1)
    assert "3 to 4" in str(caught.value)
    assert View.of(str(tmp_path), "sums", 3, query.batches).value() == dict(sums().run(sales=sales(0, 40)))["sums"]


@pytest.mark.parametrize("kind", [".arrow", "manifests/", "states/", "flo.json", "commits/"])
@pytest.mark.parametrize("damage", ["truncated", "altered", "missing"])
def test_verify_names_what_is_damaged(tmp_path: Path, capsys: Any, kind: str, damage: str) -> None:
    query = Simulated(sums(), tmp_path)
    for version in range(3):
        query.turn({"sales": sales(version * 10, 10)})
    assert main(["state", "verify", str(tmp_path)]) == 0
    file = max(file for file in tmp_path.rglob("*") if file.is_file() and kind in str(file))
    data = file.read_bytes()
    middle = len(data) // 2
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(data[:middle])
    elif file.suffix == ".json":
        digit = next(place for place in range(middle, 0, -1) if chr(data[place]).isdigit())
        file.write_bytes(data[:digit] + str(9 - int(chr(data[digit]))).encode() + data[digit + 1 :])
    else:
        file.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    status = main(["state", "verify", str(tmp_path)])
    said = capsys.readouterr()
    if kind == "commits/" and damage == "missing":
        assert status == 0, "a version that is not committed comes again"
    elif kind == "manifests/" and damage == "missing":
        assert status == 1
        assert "its state is missing" in said.out
    else:
        assert status == (2 if kind == "flo.json" else 1)
        assert file.name in said.out + said.err


def test_show(tmp_path: Path, capsys: Any) -> None:
    query = Simulated(everything(), tmp_path, shards=2)
    for data in DATA[:2]:
        query.turn(data)
    assert main(["state", "show", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "flow everything, 2 shards, versions kept: 0, 1" in shown
    for name in ("group_by", "top_k", "left_join", "semi_join", "scan", "view", "by key", "shard 1", "running"):
        assert f" {name} " in shown, shown
    (held,) = [each for each in Checkpoint(str(tmp_path)).sizes(1) if each.name == "all" and each.shard == 0]
    others = [each for each in Checkpoint(str(tmp_path)).sizes(1) if each.name == "all" and each.shard == 1]
    assert held.rows + sum(each.rows for each in others) >= len(merged(DATA[:2])["sales"]) - 10
    assert main(["state", "show", str(tmp_path / "elsewhere")]) == 2


class Tick(NamedTuple):
    at: int
    key: int


@pytest.mark.parametrize("per_key", [False, True])
def test_rows_of_open_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, per_key: bool) -> None:
    """While runs are being merged: the rows that wait are shown, and restarts and other shards change nothing."""
    monkeypatch.setattr(merging, "SMALLEST_PART", 4)
    flow = flo.Flow("windows")

    def counts(ticks: Any) -> Any:
        windows = ticks.sliding(100, 50, "at", 10, bounds=True)
        return windows.nest(lambda window, bounds: window.count()).flatten(), windows.late

    ticks = flow.input("ticks", flo.Sequence[Tick])
    if per_key:
        found, late = ticks.key_by("key").per_key(counts)
        found, late = found.entries(), late.entries()
    else:
        found, late = counts(ticks)
    flow.output("counts", found)
    flow.output("late", late)
    query, every, shards = Simulated(flow, tmp_path, shards=2), [], itertools.cycle([3, 1, 2])
    for turn in range(40):
        given = [Tick(turn * 10 + 7 * place % 25, place % 3) for place in range(12)]
        every += given
        query.turn({"ticks": given})
        if turn % 5 == 4:
            rescale(str(tmp_path), next(shards))
            query = Simulated(flow, tmp_path)
            continue  # rows that are gone are counted with the next ones
        latest = {key: max(tick.at for tick in every if tick.key == key or not per_key) for key in range(3)}
        waits = [tick for tick in every if tick.at >= (latest[tick.key] - 10) // 50 * 50 - 50]
        rows = sum(each.rows for each in Checkpoint(str(tmp_path)).sizes(query.version - 1) if each.name == "sliding")
        assert len(waits) <= rows <= len(waits) + 12, turn  # with clocks and keys
    last = [Tick(1000, key) for key in range(3)]
    query.turn({"ticks": last})
    assert query.values() == dict(flow.run(ticks=[*every, *last]))


class Priced(NamedTuple):
    shop: int
    price: int
    sold: int


def test_what_comes_again_is_in_a_view_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows in two micro-batches are two runs of the same name, until they are merged."""
    monkeypatch.setattr(merging, "SMALLEST_PART", 4)
    flow = flo.Flow("numbers")
    flow.output("numbers", flow.input("numbers", flo.ZSet[int]))
    query, every = Simulated(flow, tmp_path, shards=1), Counter[int]()
    for version, first in enumerate([0, 1, 2, 3, 3, 4]):
        given = Counter(range(first * 10, first * 10 + 10))
        every += given
        query.turn({"numbers": given})
        assert query.values() == {"numbers": every}
        changes, _ = StoredViews(str(tmp_path)).parts("numbers", version - 1, None)
        assert sum(part.changes()[WEIGHTS].to_numpy().sum() for part in changes) == 10


def test_operators_that_hold_the_same_runs(tmp_path: Path) -> None:
    """After a restart, operators that keep the same rows hold the same runs. Each has its own functions."""
    flow = flo.Flow("shops")
    rows = flow.input("rows", flo.ZSet[Priced])
    aggregates = flo.sum("price"), flo.sum("sold"), flo.max("price"), flo.max("sold")
    for place, each in enumerate(aggregates):
        flow.output(f"output {place}", rows.over("shop", "price").with_columns(found=each))
    query, every, rng = Simulated(flow, tmp_path, shards=1), [], random.Random(1)
    for _ in range(9):
        every.append(Priced(0, rng.randrange(2000), rng.randrange(9)))
        stage_task._shards.clear()
        query.turn({"rows": every[-1:]})
        assert query.values() == dict(flow.run(rows=every))


def test_what_another_process_has_written_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process maps what this start has written as it stands, and reads it through after another start; a file that
    is cut off is refused nevertheless."""
    query, alone = Simulated(sums(), tmp_path / "both", shards=1), Simulated(sums(), tmp_path / "alone", shards=1)
    processes: tuple[Any, Any] = ({}, {})

    def turn(process: int) -> None:
        monkeypatch.setattr(stage_task, "_shards", processes[process])
        query.turn({"sales": sales(query.version * 1000, 1000)})

    turn(0)
    with monkeypatch.context() as patches:
        patches.setattr("flo.tables.checkpoint.store._name", lambda *_: pytest.fail("was read through"))
        for process in (1, 0, 0, 1, 0):
            turn(process)
        query = Simulated(sums(), tmp_path / "both")
        with pytest.raises(pytest.fail.Exception, match="was read through"):
            turn(1)
    monkeypatch.setattr(stage_task, "_shards", {})
    while alone.version < query.version:
        alone.turn({"sales": sales(alone.version * 1000, 1000)})
    assert snapshot(str(tmp_path / "both")) == snapshot(str(tmp_path / "alone"))

    newest = max((tmp_path / "both").rglob("*.arrow"), key=lambda file: file.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-100])
    with pytest.raises(flo.CheckpointError, match=f"{newest.name}` of the checkpoint is truncated"):
        turn(1)


def with_a_table(bounded: str = "shops") -> flo.Flow:
    """Joins of a stream with a bounded table."""
    flow = flo.Flow("table")
    sales = flow.input("sales", flo.ZSet[Sale], bounded=bounded == "sales")
    shops = flow.input("shops", flo.ZSet[Shop], bounded=bounded == "shops")
    flow.output("joined", sales.join(shops, "shop", "shop", into={"city": "city", "price": "price"}))
    flow.output("left", sales.join(shops, "shop", "shop", how="left"))
    flow.output("full", sales.join(shops, "shop", "shop", how="full"))
    flow.output("known", sales.join(shops, "shop", "shop", how="semi"))
    flow.output("unknown", sales.join(shops, "shop", "shop", how="anti"))
    return flow


SHOPS = {Shop(f"shop {n}", f"city {n % 3}"): 1 for n in range(0, 20, 2)}
STREAM = [sales(0, 40), sales(5, 10, -1) | sales(40, 20), {}, sales(60, 50)]


def held_by(where: Path, version: int) -> dict[str, int]:
    """The rows of every operator, in all shards."""
    found: dict[str, int] = {}
    for each in Checkpoint(str(where)).sizes(version):
        if each.where != "view":
            found[each.name] = found.get(each.name, 0) + each.rows
    return found


@pytest.mark.parametrize("late", [0, 1, 3])
def test_a_stream_is_not_kept_beside_a_table_that_has_ended(tmp_path: Path, late: int) -> None:
    """The end comes in the first micro-batch or later. Restarts and another number of shards change nothing."""
    query = Simulated(with_a_table(), tmp_path, shards=3)
    added: dict[Sale, int] = {}
    for number, data in enumerate(STREAM):
        query.turn({"sales": data, "shops": SHOPS if number == 0 else {}}, ends=number >= late)
        query = Simulated(with_a_table(), tmp_path)
        for sale, weight in data.items():
            added[sale] = added.get(sale, 0) + weight
    there = {sale: weight for sale, weight in added.items() if weight}
    assert query.values() == dict(with_a_table().run(sales=there, shops=SHOPS))
    held, keys = held_by(tmp_path, query.version - 1), len(SHOPS)
    assert held["join_zsets"] == keys, "the table alone"
    assert held["semi_join"] == held["anti_join"] == keys
    assert held["left_join"] == 2 * keys, "the table, and its keys"
    known = [sale for sale in there if any(sale.shop == shop.shop for shop in SHOPS)]
    seen = len({sale.shop for sale in known})
    assert 2 * keys + len(known) + seen <= held["full_join"] <= 2 * keys + len(added) + 3 * seen
    rescale(str(tmp_path), 2)
    query = Simulated(with_a_table(), tmp_path)
    query.turn({"sales": sales(200, 30)})
    assert query.values() == dict(with_a_table().run(sales=there | sales(200, 30), shops=SHOPS))
    assert held_by(tmp_path, query.version - 1)["join_zsets"] == keys


def test_a_table_on_the_left(tmp_path: Path) -> None:
    query = Simulated(with_a_table("sales"), tmp_path, shards=2)
    there = sales(0, 20)
    shops = [{Shop(f"shop {n}", f"city {m}"): 1 for n in range(5, 30)} for m in range(3)]
    for number, data in enumerate(shops):
        query.turn({"sales": there if number == 0 else {}, "shops": data})
    merged_shops = {shop: 1 for each in shops for shop in each}
    assert query.values() == dict(with_a_table("sales").run(sales=there, shops=merged_shops))
    held = held_by(tmp_path, 2)
    assert held["join_zsets"] == len(there)
    matching = [shop for shop in merged_shops if any(sale.shop == shop.shop for sale in there)]
    most = len(there) + len(matching) + 3 * len({shop.shop for shop in matching})
    assert held["semi_join"] <= most
    assert held["anti_join"] <= most
    assert held["left_join"] <= most


def test_a_table_without_rows(tmp_path: Path) -> None:
    query = Simulated(with_a_table(), tmp_path, shards=2)
    for data in STREAM:
        query.turn({"sales": data})
    assert sum(held_by(tmp_path, query.version - 1).values()) == 0
    assert query.values()["joined"] == {}


def test_the_state_of_a_stream_beside_a_table_on_spark(spark: Any, tmp_path: Path, capsys: Any) -> None:
    """The table is read in the first micro-batch. Later versions hold it, and the sums, and no row of the stream."""
    flow = flo.Flow("sales")
    arriving = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop], bounded=True)
    sold = arriving.join(shops, "shop", "shop", into={"city": "city", "price": "price"})
    flow.output("revenue", sold.group_by("city").agg(sum=flo.sum("price")))
    query = streamed(spark, flow, {"sales": sales(0, 200), "shops": SHOPS}, tmp_path, parts=4)
    assert query.view("revenue").value() == flow.run(sales=sales(0, 200), shops=SHOPS)["revenue"]
    where = tmp_path / "checkpoint"
    versions = committed_versions(str(where))
    assert versions[-1] == 3
    assert [held_by(where, version)["join_zsets"] for version in versions] == [len(SHOPS)] * len(versions)
    assert main(["state", "show", str(where)]) == 0
    (shown,) = (line.split("│") for line in capsys.readouterr().out.splitlines() if "join_zsets" in line)
    assert shown[5].strip() == str(len(SHOPS))


def test_shards_share_what_is_known_of_the_program(tmp_path: Path) -> None:
    stage = Simulated(sums(), tmp_path).batches.plan.stages[0]
    one, other = (Shard(str(tmp_path), 2, stage.level, number, stage.dag) for number in range(2))
    assert one.program is other.program

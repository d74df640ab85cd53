"""State: on any filesystem, whole or refused, the same however often it is written, and cut into other shards."""

from __future__ import annotations

import threading
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
from flo.columnar import folders
from flo.columnar.folders import folder
from flo.columnar.store import Store
from flo.spark import tasks
from flo.spark.agreed import agreed, content_of, write_agreed
from flo.spark.blobs import NOTE, blobs, noted
from flo.spark.files import commit, committed
from flo.spark.inspect import Checkpoint
from flo.spark.kept import PARTS, VIEW, remove_parts
from flo.spark.on_spark import OnSpark
from flo.spark.rescale import rescale
from flo.spark.tasks import Code, Enter, Turn, Work
from flo.spark.turns import Turns
from flo.spark.views import View
from flo.tools.cli import main
from tests.spark.harness import streamed, table
from tests.spark.programs import add, thirds


class Sale(NamedTuple):
    shop: str
    price: int


class Shop(NamedTuple):
    shop: str
    city: str


def shop_of(sale: Sale) -> str:
    return sale.shop


def last_of(sale: Sale) -> str:
    return sale.shop[-1]


def sums(key: Any = shop_of) -> flo.Flow:
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("sales", flo.ZSet[Sale]).sum_by(key, "price"))
    return flow


def itself(number: int) -> int:
    return number


def everything() -> flo.Flow:
    """State of every keyed operator, in one place, in views and in buffers."""
    flow = flo.Flow("everything")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    numbers = flow.input("numbers", flo.Sequence[int])
    some, others = flow.input("some", flo.Set[Sale]), flow.input("others", flo.Set[Sale])
    flow.output("sums", sales.sum_by("shop", "price"))
    flow.output("best", sales.top(1, "price", "shop"))
    flow.output("joined", sales.join(shops, "shop", "shop"))
    flow.output("distinct", sales.map(shop_of).distinct())
    flow.output("left", sales.left_join(shops, "shop", "shop"))
    flow.output("known", sales.semi_join(shops, "shop", "shop"))
    flow.output("both", some.intersection(others))
    flow.output("meeting", some.join(others, "shop", "shop"))
    flow.output("running", numbers.scan(0, lambda total, n: total + n))
    flow.output("numbers", numbers)
    windows = numbers.tumbling(2, itself, 3)
    flow.output("windows", windows.nest(lambda window: window.map(itself)).flatten())
    flow.output("late", windows.late)
    flow.output("all", sales)
    return flow


def sales(start: int, count: int, weight: int = 1) -> dict[Sale, int]:
    return {Sale(f"shop {n % 13}", n): weight for n in range(start, start + count)}


DATA: list[dict[str, Any]] = [
    {
        "sales": sales(0, 40),
        "shops": {Shop(f"shop {n}", f"city {n % 3}"): 1 for n in range(0, 13, 2)},
        "numbers": [1, 2, 3],
        "some": set(sales(0, 20)),
        "others": set(sales(10, 20)),
    },
    {"sales": sales(5, 10, -1) | sales(40, 20), "numbers": [4], "some": set(sales(0, 25)), "others": set(sales(0, 5))},
    {
        "sales": sales(20, 15, -1) | sales(60, 5),
        "shops": {Shop("shop 2", "city 2"): -1, Shop("shop 3", "x"): 1},
        "numbers": [5, 6],
        "some": set(sales(20, 10)),
    },
    {"sales": sales(40, 20, -1), "shops": {Shop("shop 3", "x"): -1}, "numbers": [7], "others": set(sales(25, 5))},
]


def sales_table(data: dict[Sale, int]) -> pa.Table:
    return table(sums()._scope.inputs[0].type.collection, data)


def merged(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """All that the pieces hold together."""
    whole: dict[str, Any] = {"sales": {}, "shops": {}, "numbers": [], "some": set(), "others": set()}
    for piece in pieces:
        for name, data in piece.items():
            if isinstance(data, dict):
                for row, weight in data.items():
                    whole[name][row] = whole[name].get(row, 0) + weight
            elif isinstance(data, list):
                whole[name] += data
            else:
                whole[name] |= data
    return whole


class Bench:
    """The tasks of a query without Spark: shuffles by hand, in this process."""

    def __init__(self, flow: flo.Flow, where: str, how: str = VIEW, shards: int | None = None) -> None:
        context = SimpleNamespace(master="local", defaultParallelism=2, environment={})
        on = OnSpark(flow, SimpleNamespace(sparkContext=context))  # type: ignore[arg-type]
        self.on, self.flow, self.where = on, flow, where
        outputs = on._planned_outputs(dict.fromkeys(on._output_types, how))
        ours = content_of(flow.name, on._graph, on._plan, list(on._inputs), outputs, shards or 2)
        self.turns = Turns(None, on._plan, outputs, where, agreed(where, ours, shards))  # type: ignore[arg-type]
        write_agreed(where, ours)
        self.shards, self.place = self.turns.shards, 0

    def _run(self, number: int, task: Any, batches: Any) -> list[Any]:
        _task.number = number
        return list(blobs(task(batches)))

    def enter(self, data: dict[str, Any]) -> list[Any]:
        found = []
        for number, (name, stream) in enumerate(self.on._inputs.items()):
            of: Any = stream.type.collection
            ordered = isinstance(data.get(name), list)
            rows = table(of, data.get(name, []), self.place if ordered else 0)
            entry = self.turns.plan.entries[number]
            code = Code.of((entry, self.turns._sent(entry.outputs), name))
            enter = Enter(code, self.shards, "_position" if "_position" in rows.column_names else None)
            found += self._run(number, enter, rows.to_batches())
        self.place += 100
        return found

    def take(self, data: dict[str, Any], version: int, *, run: str = "", times: int = 1, end: Any = ()) -> None:
        """One turn; every task so many times, one after the other. `end` has the numbers of inputs that have ended."""
        moving = self.enter(data)
        ended = frozenset(stream for stream, inputs in self.turns.plan.sources.items() if inputs <= set(end))
        turn = Turn(version, run or self.turns.run, self.where, self.shards, ended)
        for code in self.turns.stages:
            sent: list[Any] = []
            for shard in range(self.shards):
                mine = [blob.batch() for blob in moving if blob.shard == shard]
                for _ in range(times):
                    given = self._run(shard, Work(code, turn), mine)
                sent += given
            moving = sent
        for each in (noted(blob.data) for blob in moving if blob.delivery == NOTE):
            if isinstance(each, flo.FloError):
                raise each

    def turn(self, data: dict[str, Any], version: int, **more: Any) -> None:
        self.take(data, version, **more)
        commit(self.where, version, {})

    def values(self) -> dict[str, Any]:
        return {each.name: View.of(self.where, each.name, None, self.turns).value() for each in self.turns.outputs}


_task = threading.local()


@pytest.fixture(autouse=True)
def tasks_by_hand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "spark" not in request.fixturenames:
        monkeypatch.setattr(tasks, "task", lambda: _task.number)


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


def snapshot(where: str) -> dict[str, bytes]:
    """Every file of the state, and what it holds."""
    root, found, waiting = folder(where), {}, ["state"]
    while waiting:
        under = waiting.pop()
        waiting += [f"{under}/{name}" for name in root.folders(under)]
        found |= {f"{under}/{name}": root.read(f"{under}/{name}") for name in root.files(under)}
    return found


def expected(count: int) -> dict[str, Any]:
    return dict(everything().run(**merged(DATA[:count])))


def test_on_a_local_disk(tmp_path: Path) -> None:
    bench = Bench(everything(), str(tmp_path), shards=3)
    for version, data in enumerate(DATA):
        bench.turn(data, version)
    assert bench.values() == expected(4)


@pytest.mark.slow
def test_on_s3(s3: str) -> None:
    bench = Bench(everything(), s3, shards=2)
    for version, data in enumerate(DATA[:2]):
        bench.turn(data, version, run=f"process {version}")  # every turn reads what the one before has written
    assert bench.values() == expected(2)
    assert committed(s3) == [0, 1]
    assert not list(Checkpoint(s3).problems())


def test_what_is_on_s3_is_cached_by_name_and_fetched_if_the_cache_is_damaged(s3: str, tmp_path: Path) -> None:
    bench = Bench(sums(), s3, shards=1)
    bench.turn({"sales": sales(0, 50)}, 0)
    cached = list((tmp_path / "cache").glob("*.arrow"))
    assert cached
    for file in cached:
        file.write_bytes(b"nonsense")
    assert bench.values() == dict(sums().run(sales=sales(0, 50)))
    for file in cached:
        file.unlink()
    assert bench.values() == dict(sums().run(sales=sales(0, 50)))


def test_a_damaged_file_on_s3_is_refused_by_name(s3: str, tmp_path: Path) -> None:
    bench = Bench(sums(), s3, shards=1)
    bench.turn({"sales": sales(0, 50)}, 0)
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
        folder(s3).keep(f"runs/{number}", lambda sink: sink.write(b"x" * 1000))
    assert len(list((tmp_path / "cache").iterdir())) == 3
    assert folder(s3).kept("runs/0").to_pybytes() == b"x" * 1000


def test_addresses(tmp_path: Path) -> None:
    for where in (tmp_path, str(tmp_path), f"file://{tmp_path}", f"file:{tmp_path}"):
        folder(where).write("a/b", b"1")
        assert (tmp_path / "a" / "b").read_bytes() == b"1"
        assert folder(where).names("a") == ["b"]
        folder(where).remove("a")
        assert folder(where).names("a") == []
    with pytest.raises(flo.CheckpointError, match="no way to files at `nowhere://"):
        folder("nowhere://bucket/path")


def test_a_task_that_runs_again_writes_the_same(tmp_path: Path) -> None:
    once, twice = Bench(everything(), str(tmp_path / "once")), Bench(everything(), str(tmp_path / "twice"))
    for version, data in enumerate(DATA):
        once.turn(data, version)
        twice.turn(data, version, times=2)
    assert snapshot(str(tmp_path / "once")) == snapshot(str(tmp_path / "twice"))


def test_a_task_that_fails_half_way_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same process, which remembers the turn before."""
    once, again = Bench(everything(), str(tmp_path / "once")), Bench(everything(), str(tmp_path / "again"))
    for version, data in enumerate(DATA):
        once.turn(data, version)
        with monkeypatch.context() as patches:
            patches.setattr(Store, "write", lambda *_: (_ for _ in ()).throw(OSError("no space")))
            with pytest.raises(OSError, match="no space"):
                again.take(data, version)
        again.place = once.place - 100
        again.turn(data, version)
    assert again.values() == expected(4)
    assert snapshot(str(tmp_path / "once")) == snapshot(str(tmp_path / "again"))


def test_a_turn_that_is_replayed_after_a_restart_writes_the_same(tmp_path: Path) -> None:
    bench = Bench(everything(), str(tmp_path))
    for version, data in enumerate(DATA[:3]):
        bench.turn(data, version)
    before, values = snapshot(str(tmp_path)), bench.values()
    again = Bench(everything(), str(tmp_path))
    again.place = 200
    again.turn(DATA[2], 2)
    assert snapshot(str(tmp_path)) == before
    assert again.values() == values


def test_tasks_at_the_same_time_write_the_same(tmp_path: Path) -> None:
    """As speculation does: two processes, each with a memory of its own, of which one is late."""
    alone, both = Bench(everything(), str(tmp_path / "alone")), Bench(everything(), str(tmp_path / "both"))
    for version, data in enumerate(DATA):
        alone.turn(data, version)
        benches = [both]
        if version:
            other = Bench(everything(), str(tmp_path / "both"))
            other.place = both.place
            benches.append(other)
        faults: list[BaseException] = []

        def work(bench: Bench, data: Any = data, version: int = version, faults: Any = faults) -> None:
            try:
                bench.take(data, version)
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(bench,)) for bench in benches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults, faults
        commit(both.where, version, {})
    assert snapshot(str(tmp_path / "alone")) == snapshot(str(tmp_path / "both"))


def test_what_another_has_written_and_not_yet_named_is_not_removed(tmp_path: Path) -> None:
    """An attempt that is late sweeps while one at the next turn is writing."""
    bench = Bench(sums(), str(tmp_path), shards=1)
    for version in range(4):
        bench.turn({"sales": sales(version * 10, 10)}, version)
    store = Checkpoint(str(tmp_path)).store(1, 0)
    store.folder.write("runs/of-the-next-turn.arrow", b"on its way")
    late = Bench(sums(), str(tmp_path))
    late.take({"sales": sales(40, 10)}, 4)
    assert store.numbers() == [2, 3, 4]
    assert store.folder.exists("runs/of-the-next-turn.arrow")


def test_files_are_bounded_and_what_was_left_behind_is_removed(tmp_path: Path) -> None:
    bench = Bench(sums(), str(tmp_path), PARTS, shards=2)
    counts = []
    for version in range(40):
        bench.turn({"sales": sales(version * 7 % 100, 7)}, version)
        for output in bench.turns.outputs:
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


@pytest.mark.parametrize("kind", [".arrow", "manifests/", "states/", "flo.json", "commits/"])
@pytest.mark.parametrize("damage", ["truncated", "altered", "missing"])
def test_verify_names_what_is_damaged(tmp_path: Path, capsys: Any, kind: str, damage: str) -> None:
    bench = Bench(sums(), str(tmp_path))
    for version in range(3):
        bench.turn({"sales": sales(version * 10, 10)}, version)
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
        assert "does not have it" in said.out
    else:
        assert status == (2 if kind == "flo.json" else 1)
        assert file.name in said.out + said.err


def test_show(tmp_path: Path, capsys: Any) -> None:
    bench = Bench(everything(), str(tmp_path), shards=2)
    for version, data in enumerate(DATA[:2]):
        bench.turn(data, version)
    assert main(["state", "show", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "flow everything, 2 shards, versions kept: 0, 1" in shown
    for name in ("aggregate", "top_k", "left_join", "semi_join", "scan", "view", "by key", "shard 1", "running"):
        assert f" {name} " in shown, shown
    (held,) = [each for each in Checkpoint(str(tmp_path)).held(1) if each.name == "all" and each.shard == 0]
    others = [each for each in Checkpoint(str(tmp_path)).held(1) if each.name == "all" and each.shard == 1]
    assert held.rows + sum(each.rows for each in others) >= len(merged(DATA[:2])["sales"]) - 10
    assert main(["state", "show", str(tmp_path / "elsewhere")]) == 2


MORE = [pytest.param(*pair, marks=pytest.mark.slow) for pair in [(1, 3), (2, 7), (7, 2), (3, 4)]]


@pytest.mark.parametrize(("before", "after"), [(3, 1), *MORE])
def test_another_number_of_shards(tmp_path: Path, capsys: Any, before: int, after: int) -> None:
    where = str(tmp_path)
    bench = Bench(everything(), where, shards=before)
    for version, data in enumerate(DATA[:2]):
        bench.turn(data, version)
    assert main(["state", "rescale", where, str(after)]) == 0
    assert "versions: 0, 1" in capsys.readouterr().out
    assert main(["state", "verify", where]) == 0
    assert not (tmp_path / "state" / f"{before:05}").exists()
    bench = Bench(everything(), where)
    assert bench.shards == after
    assert bench.values() == expected(2)
    place = 200
    for version in (1, 2, 3):  # the last turn may come again
        bench.place = place if version > 1 else 100
        bench.turn(DATA[version], version)
        place = bench.place
        assert bench.values() == expected(version + 1), version
    held = {each.name: 0 for each in Checkpoint(where).held(3)}
    for each in Checkpoint(where).held(3):
        held[each.name] += each.rows
    assert held["join_sets"] == 2 * (len(merged(DATA)["some"]) + len(merged(DATA)["others"])), "every row is known"
    rescale(where, before)
    assert Bench(everything(), where).values() == expected(4)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2)])
def test_rows_that_wait_and_ends_are_cut_too(tmp_path: Path, before: int, after: int) -> None:
    def program() -> flo.Flow:
        flow = flo.Flow("waiting")
        left, right = flow.input("left", flo.Set[Sale]), flow.input("right", flo.Set[Sale], bounded=True)
        flow.output("rest", left.difference(right))
        flow.output("count", right.count())
        return flow

    where = str(tmp_path)
    Bench(program(), where, shards=before).turn({"left": set(sales(0, 30)), "right": set(sales(0, 10))}, 0)
    rescale(where, after)
    bench = Bench(program(), where)
    assert bench.values()["rest"] == set()
    bench.turn({"left": set(sales(20, 30))}, 1, end={1})
    found = dict(program().run(left=set(sales(0, 50)), right=set(sales(0, 10))))
    assert bench.values() == found
    rescale(where, before)
    bench = Bench(program(), where)
    bench.turn({"left": set(sales(5, 50))}, 2, end={1})
    assert bench.values() == dict(program().run(left=set(sales(0, 55)), right=set(sales(0, 10))))


def test_a_rescaling_that_is_broken_off_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = str(tmp_path)
    bench = Bench(sums(), where, shards=2)
    bench.turn({"sales": sales(0, 30)}, 0)
    before, values = snapshot(where), bench.values()
    monkeypatch.setattr("flo.spark.rescale.write_about", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        rescale(where, 5)
    monkeypatch.undo()
    monkeypatch.setattr(tasks, "task", lambda: _task.number)
    assert {name: data for name, data in snapshot(where).items() if name.startswith("state/00002/")} == before
    assert Bench(sums(), where).values() == values
    folder(where).write("state/00005/01/00001/runs/left", b"")
    rescale(where, 5)
    assert not folder(where).exists("state/00005/01/00001/runs/left")
    assert Bench(sums(), where).values() == values


def test_what_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    flow = flo.Flow("partners")
    left, right = flow.input("left", flo.ZSet[Sale]), flow.input("right", flo.ZSet[Sale])
    flow.output("known", left.semi_join(right, last_of, last_of))
    bench = Bench(flow, str(tmp_path))
    bench.turn({"left": sales(0, 10), "right": sales(5, 10)}, 0)
    before = snapshot(str(tmp_path))
    with pytest.raises(flo.CheckpointError, match=r"`semi_join` cannot be cut .* its key is computed"):
        rescale(str(tmp_path), 3)
    after = snapshot(str(tmp_path))
    assert {name: after[name] for name in before} == before
    assert Checkpoint(str(tmp_path)).shards == 2


def test_what_runs_by_key_on_values_is_not_taken_for_one_place(tmp_path: Path) -> None:
    """One shard has all keys, and three would each have some."""
    flow = flo.Flow("running sums")
    keyed = flow.input("numbers", flo.Sequence[int]).key_by(thirds)
    flow.output("sums", keyed.per_key(lambda some: some.scan(0, add)).entries())
    bench = Bench(flow, str(tmp_path), shards=1)
    bench.turn({"numbers": [1, 2, 3, 4, 5, 6]}, 0)
    with pytest.raises(flo.CheckpointError, match="cannot be cut into other shards"):
        rescale(str(tmp_path), 3)


def test_changes_of_the_program_that_go_on(tmp_path: Path) -> None:
    bench = Bench(sums(), str(tmp_path))
    bench.turn({"sales": sales(0, 10)}, 0)
    key = FunctionType((lambda sale: str(sale.shop)).__code__, globals(), "shop_of")
    key.__qualname__, key.__annotations__ = "shop_of", {"sale": Sale, "return": str}
    again = Bench(sums(key), str(tmp_path))
    again.turn({"sales": sales(10, 10)}, 1)
    assert again.values() == dict(sums().run(sales=sales(0, 20)))
    counted = Bench(sums(key), str(tmp_path), "count")  # the view is let go of
    counted.turn({"sales": sales(20, 10)}, 2)
    assert not [each for each in Checkpoint(str(tmp_path)).held(2) if each.where == "view"]


def test_changes_of_the_program_that_are_refused(tmp_path: Path) -> None:
    where = str(tmp_path)
    Bench(sums(), where, "count").turn({"sales": sales(0, 10)}, 0)
    with pytest.raises(flo.CheckpointError, match="was no view until now"):
        Bench(sums(), where)
    with pytest.raises(flo.CheckpointError, match="another program") as caught:
        Bench(sums(last_of), where, "count")
    assert "last_of" in str(caught.value)
    assert "shop_of" in str(caught.value)
    flow = flo.Flow("sums")
    flow.output(
        "sums", flow.input("sales", flo.ZSet[Sale]).filter(lambda sale: sale.price > 1).sum_by(shop_of, "price")
    )
    with pytest.raises(flo.CheckpointError, match="another program") as caught:
        Bench(flow, where, "count")
    assert "filter" in str(caught.value)
    with pytest.raises(flo.CheckpointError, match="has 2 shards, and 3 were asked for"):
        Bench(sums(), where, "count", shards=3)


def test_a_lambda_is_its_text(tmp_path: Path) -> None:
    Bench(sums(lambda sale: sale.shop), str(tmp_path)).turn({"sales": sales(0, 10)}, 0)
    Bench(sums(lambda sale: sale.shop), str(tmp_path))
    with pytest.raises(flo.CheckpointError, match="another program"):
        Bench(sums(lambda sale: sale.shop + "!"), str(tmp_path))


def test_a_long_expression_is_its_whole_text(tmp_path: Path) -> None:
    def filtered(least: int) -> flo.Flow:
        flow, wanted = flo.Flow("filtered"), nw.col("shop") != "a shop with so long a name that what follows is cut"
        sold = flow.input("sales", flo.ZSet[Sale]).filter(wanted & (nw.col("price") > least))
        flow.output("sums", sold.sum_by("shop", "price"))
        return flow

    Bench(filtered(1), str(tmp_path)).turn({"sales": sales(0, 10)}, 0)
    Bench(filtered(1), str(tmp_path))
    with pytest.raises(flo.CheckpointError, match="another program"):
        Bench(filtered(2), str(tmp_path))


def test_a_version_that_is_not_kept(tmp_path: Path) -> None:
    bench = Bench(sums(), str(tmp_path))
    for version in range(5):
        bench.turn({"sales": sales(version * 10, 10)}, version)
    with pytest.raises(flo.CheckpointError, match="the version 1 of `sums` is not kept") as caught:
        View.of(str(tmp_path), "sums", 1)
    assert "3, 4" in str(caught.value)
    assert View.of(str(tmp_path), "sums", 3, bench.turns).value() == dict(sums().run(sales=sales(0, 40)))["sums"]


@pytest.mark.slow
def test_a_query_goes_on_with_other_shards(spark: Any, tmp_path: Path) -> None:
    query = streamed(spark, sums(), {"sales": sales(0, 40)}, tmp_path, parts=2, shards=2)
    assert query.view("sums").value() == dict(sums().run(sales=sales(0, 40)))["sums"]
    checkpoint = tmp_path / "checkpoint"
    rescale(str(checkpoint), 3)
    source = tmp_path / "in" / "sales"
    pq.write_table(sales_table(sales(10, 20, -1)), source / "900.parquet")
    reader = spark.readStream.schema(spark.read.parquet(str(source)).schema).parquet(str(source))
    again = sums().on(spark).start({"sales": reader}, checkpoint=checkpoint, trigger={"availableNow": True})
    again.wait()
    left = merged([{"sales": sales(0, 40)}, {"sales": sales(10, 20, -1)}])["sales"]
    assert again.view("sums").value() == dict(sums().run(sales=left))["sums"]


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


def test_what_a_program_begins_with_is_named_and_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body with rows of its own: saying what the checkpoint is of puts none of them into the working folder."""
    monkeypatch.chdir(tmp_path)

    def hop(edges: Any, loop: flo.Loop) -> Any:
        known = loop.read_defer("known", flo.Set[int], initial={0})
        reached = known.union(known.join(edges))
        loop.write_defer("known", reached)
        return reached

    flow = flo.Flow("reached")
    edges = flow.input("edges", flo.Set[tuple[int, int]], bounded=True)
    flow.output("reached", edges.repeat_nested(2).nest(hop))
    on = OnSpark(flow, SimpleNamespace(sparkContext=SimpleNamespace(master="local", defaultParallelism=2)))  # type: ignore[arg-type]
    assert content_of(flow.name, on._graph, on._plan, list(on._inputs), [], 2)["stages"]
    assert list(tmp_path.iterdir()) == []

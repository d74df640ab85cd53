"""Fills on Spark: tasks read the rows, in order where there is one, and rows that fail are diverted."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import flo
import flo.spark
from flo.local.fill_run import FillRun, Push
from flo.spark.driver.fills import group_files
from tests.local.killed_fill import Sale, Shop

pytestmark = pytest.mark.slow
SCHEMAS = {"sales": "shop string not null, price long", "shops": "shop string not null, city string not null"}


class Folders:
    """Inputs that are folders of JSON, and runs of programs over them."""

    def __init__(self, spark: SparkSession, where: Path) -> None:
        self.spark, self.where = spark, where

    def add(self, name: str, *rows: dict[str, Any]) -> None:
        (self.where / name).mkdir(exist_ok=True)
        file = self.where / name / f"{len(list((self.where / name).iterdir()))}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def read(self, name: str, schema: str = "") -> Any:
        return self.spark.readStream.schema(schema or SCHEMAS[name]).json(str(self.where / name))

    def run(self, flow: flo.Flow, inputs: dict[str, Any], *given: Any, **options: Any) -> Any:
        where = {"checkpoint": self.where / "checkpoint", "trigger": {"availableNow": True}}
        query = flow.on(self.spark).start(inputs, *given, **(where | options))
        query.wait()
        return query


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values())[:-1] for row in view.arrow().to_pylist())


def by_city(*more: str) -> flo.Flow:
    flow = flo.Flow("cities")
    sales, shops = flow.input("sales", flo.Bag[Sale]).to_zset(), flow.input("shops", flo.Bag[Shop]).to_zset()
    joined = sales.join(shops, on="shop")
    flow.output("cities", joined.group_by("city").agg(n=flo.count()))
    if "dearest" in more:
        flow.output("dearest", joined.group_by("city").agg(most=flo.max("price")))
    return flow


@pytest.mark.parametrize(
    "shards", [pytest.param(None, marks=pytest.mark.thorough), 3], ids=["the same shards", "other shards"]
)
def test_tasks_read_the_rows_of_a_state(
    spark: SparkSession, shards: int | None, tmp_path: Path, monkeypatch: Any
) -> None:
    folders = Folders(spark, tmp_path)
    folders.add("shops", *({"shop": str(number), "city": "xy"[number % 2]} for number in range(20)))
    folders.add("sales", *({"shop": str(number % 20), "price": number} for number in range(100)))
    inputs = {name: folders.read(name) for name in ("sales", "shops")}
    folders.run(by_city(), inputs, shards=5)

    def in_the_driver(*given: Any) -> Any:
        raise AssertionError("the driver reads rows")

    monkeypatch.setattr("flo.local.fill_run.read_rows", in_the_driver)
    monkeypatch.setattr("flo.shards.evolution.held_rows_task.read_rows", in_the_driver)
    monkeypatch.setattr("flo.shards.tasks.stage_task.StageTask.run", in_the_driver)
    pushed: list[tuple[int, int]] = []
    take, crashes = FillRun._take, [3, 4]

    def noted(self: FillRun, push: Push, number: int) -> int:
        if number in crashes:
            crashes.remove(number)
            raise KeyboardInterrupt
        pushed.append((number, take(self, push, number)))
        return pushed[-1][1]

    monkeypatch.setattr(FillRun, "_take", noted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            folders.run(by_city("dearest"), inputs, changed="fill", shards=shards)
    query = folders.run(by_city("dearest"), inputs, changed="fill", shards=shards)
    assert rows(query.view("dearest")) == [("x", 98), ("y", 99)]
    assert rows(query.view("cities")) == [("x", 50), ("y", 50)]
    numbers, counts = zip(*pushed, strict=True)
    assert numbers == (1, 2, 3, 4), "two for each side of the join, as there are two tasks"
    assert sum(counts) == 120


@pytest.mark.thorough
def test_the_page_and_the_metrics_follow_a_fill(spark: SparkSession, tmp_path: Path, monkeypatch: Any) -> None:
    folders = Folders(spark, tmp_path)
    folders.add("shops", {"shop": "1", "city": "x"})
    folders.add("sales", *({"shop": "1", "price": number} for number in range(5)))
    inputs = {name: folders.read(name) for name in ("sales", "shops")}
    folders.run(by_city(), inputs, shards=2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked: list[tuple[Any, str]] = []
    take = FillRun._take

    def get(path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=600) as answer:
            return str(answer.read().decode())

    def noted(self: FillRun, push: Push, number: int) -> int:
        asked.append((json.loads(get("data")), get("metrics")))
        return take(self, push, number)

    monkeypatch.setattr(FillRun, "_take", noted)
    query = folders.run(by_city("dearest"), inputs, changed="fill", ui=port)
    assert {now["state"] for now, _ in asked} == {"filling"}
    counts = [now["fill"]["rows"] for now, _ in asked]
    assert counts == [0, 5], "before each of two pushes"
    for now, metrics in asked:
        rows_read, left = now["fill"]["rows"], now["fill"]["rows_left"]
        assert rows_read + left == 6
        assert f'flo_fill_rows{{flow="cities"}} {rows_read}\n' in metrics
        assert f'flo_fill_rows_left{{flow="cities"}} {left}\n' in metrics
        assert 'flo_filling{flow="cities"} 1\n' in metrics
    after = json.loads(get("data"))["fill"]
    assert (after["rows"], after["over"]) == (6, True)
    assert query.fill.rows == 6
    assert 'flo_filling{flow="cities"} 0\n' in query.metrics()
    query.stop()


def test_files_that_were_read_again_come_in_groups() -> None:
    sizes = {"b": 30, "a": 60, "c": 20, "e": 500, "d": 50}
    assert list(group_files(sizes, 100)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(group_files({}, 100)) == []


class Step(NamedTuple):
    at: int
    shop: str
    price: int


def add(one: int, other: int) -> int:
    return one + other


@pytest.mark.thorough
def test_a_sequence_is_read_again_in_its_order(spark: SparkSession, tmp_path: Path) -> None:
    def build(*names: str) -> flo.Flow:
        flow = flo.Flow("steps")
        steps = flow.input("steps", flo.Sequence[Step])
        if "sum" in names:
            flow.output("sum", steps.map("price").sum_lattice())
        if "running" in names:
            flow.output("running", steps.key_by("shop").per_key(lambda own: own.map("price").scan(0, add)))
        return flow

    folders, order = Folders(spark, tmp_path), {"order": {"steps": "at"}}
    schema = "at long not null, shop string not null, price long not null"

    def given(*at: int) -> None:
        folders.add("steps", *({"at": each, "shop": "ab"[each % 2], "price": each} for each in at))

    given(7, 1, 4)
    inputs = {"steps": folders.read("steps", schema)}
    folders.run(build("sum"), inputs, **order)
    given(9, 8)
    folders.run(build("sum"), inputs, **order)
    query = folders.run(build("sum", "running"), inputs, changed="fill", **order)
    assert query.view("running").value() == {"a": [4, 12], "b": [1, 8, 17]}
    given(10)
    query = folders.run(build("sum", "running"), inputs, **order)
    assert query.view("running").value() == {"a": [4, 12, 22], "b": [1, 8, 17]}
    given(2)
    with pytest.raises(flo.FloError, match="a row at position 2 arrived after one at 10"):
        folders.run(build("sum", "running"), inputs, **order)


class Click(NamedTuple):
    user: int
    at: int


def clicked_at(click: Click) -> int:
    return click.at


@pytest.mark.thorough
def test_a_partitioned_log_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    def build(*names: str) -> flo.Flow:
        flow = flo.Flow("clicks")
        clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
        windows = {"tumbling": lambda: clicks.tumbling(10, "at", 3), "session": lambda: clicks.session(2, "at", 1)}
        for name in names:
            sums = windows[name]().nest(lambda window: window.map(clicked_at).sum()).flatten()  # type: ignore[no-untyped-call]
            flow.output(name, sums)
        return flow

    folders, schema = Folders(spark, tmp_path), "user long not null, at long not null, partition int, offset long"

    def given(first: int) -> None:
        clicks = [(partition, first + step) for step in (2, 0, 1) for partition in (1, 0)]
        rows_of = [
            {"user": 1, "at": 7 * at + partition, "partition": partition, "offset": at} for partition, at in clicks
        ]
        folders.add("clicks", *rows_of)

    given(0)
    inputs = {"clicks": folders.read("clicks", schema)}
    folders.run(build("tumbling"), inputs, shards=2)
    given(3)
    folders.run(build("tumbling"), inputs)
    changed = folders.run(build("tumbling", "session"), inputs, changed="fill")
    given(6)
    changed = folders.run(build("tumbling", "session"), inputs)
    fresh = folders.run(build("tumbling", "session"), inputs, checkpoint=tmp_path / "fresh", shards=2)
    for name in ("tumbling", "session"):
        expected = sorted(fresh.view(name).value())
        assert sorted(changed.view(name).value()) == expected
        assert expected


def halving(strict: bool) -> Callable[[Sale], Sale]:
    def halved(sale: Sale) -> Sale:
        if strict and sale.price % 2:
            raise ValueError(f"{sale.price} is odd")
        return Sale(sale.shop, sale.price // 2)

    return halved


def half_sales(*more: str, strict: bool = True) -> flo.Flow:
    flow = flo.Flow("halves")
    sales = flow.input("sales", flo.Bag[Sale]).to_zset()
    flow.output("halves", sales.map(halving(strict)).group_by("shop").agg(total=flo.sum("price")))
    if "counts" in more:
        flow.output("counts", sales.group_by("shop").agg(n=flo.count()))
    return flow


def reasons(table: pa.Table) -> list[str]:
    return sorted(row["reason"].rpartition(": ")[2] for row in table.to_pylist())


@pytest.mark.thorough
def test_rows_that_were_diverted_stay_out_of_what_is_filled(spark: SparkSession, tmp_path: Path) -> None:
    folders, options = Folders(spark, tmp_path), {"on_error": "divert", "shards": 3}
    prices = [1, 2, None, 4, 5]
    folders.add("sales", *({"shop": "a", "price": price} for price in prices))
    inputs = {"sales": folders.read("sales")}
    query = folders.run(half_sales(), inputs, **options)
    assert rows(query.view("halves")) == [("a", 3)]
    diverted = reasons(query.diverted("sales"))
    assert len(diverted) == 3
    query = folders.run(half_sales("counts"), inputs, changed="fill", **options)
    assert rows(query.view("counts")) == [("a", 2)], "the new program would have diverted the others"
    assert reasons(query.diverted("sales")) == diverted, "each once"
    query = folders.run(half_sales("counts", strict=False), inputs, changed="fill", **options)
    assert rows(query.view("halves")) == [("a", 5)]
    assert rows(query.view("counts")) == [("a", 2)], "a kept state has the rows that it has"
    assert reasons(query.diverted("sales")) == [each for each in diverted if "null" in each]


@pytest.mark.thorough
def test_lines_that_cannot_be_parsed_are_diverted_once(spark: SparkSession, tmp_path: Path) -> None:
    folders = Folders(spark, tmp_path)
    folders.add("sales", {"shop": "a", "price": 2}, {"shop": "a", "price": 3})
    with (tmp_path / "sales" / "0.json").open("a") as file:
        file.write('{"shop": "a", "price"\n')
    frame = folders.read("sales", "shop string not null, price long, _corrupt_record string")
    inputs: Any = {"sales": flo.spark.rows_of_files(frame)}
    query = folders.run(half_sales(strict=False), inputs, on_error="divert", shards=2)
    diverted = query.diverted("sales").to_pylist()
    assert [row["number"] for row in diverted] == [3]
    query = folders.run(half_sales("counts", strict=False), inputs, on_error="divert", changed="fill")
    assert rows(query.view("counts")) == [("a", 2)]
    assert query.diverted("sales").to_pylist() == diverted
    with pytest.raises(flo.ElementError, match="a row of `sales` does not fit: Spark cannot parse it"):
        folders.run(half_sales("counts"), inputs, changed="fill")


def test_a_sink_of_diverted_rows_gets_those_of_a_fill(spark: SparkSession, tmp_path: Path) -> None:
    folders, options = Folders(spark, tmp_path), {"on_error": "divert", "shards": 3}
    folders.add("sales", *({"shop": "a", "price": price} for price in (1, 2, 5)))
    given: list[pa.Table] = []
    sinks = {"sales diverted": lambda table, version: given.append(table)}
    inputs = {"sales": folders.read("sales")}
    folders.run(half_sales("counts", strict=False), inputs, sinks, **options)
    assert not any(table.num_rows for table in given)
    given.clear()
    query = folders.run(half_sales("counts"), inputs, sinks, changed="fill", **options)
    assert rows(query.view("halves")) == [("a", 1)]
    assert [reasons(table) for table in given if table.num_rows] == [["1 is odd", "5 is odd"]]

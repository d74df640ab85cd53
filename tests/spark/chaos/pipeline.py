"""The pipeline of the trials: sums with retractions, a join, distinct rows, a sequence; views, files, a callback."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

import flo
from flo.spark import Changes
from flo.spark.driver.query import Query
from flo.tables.io.files import WEIGHTS

TURNS, SHARDS = 6, 2
SOURCE, CHECKPOINT, CHANGES, CALLS = "source", "checkpoint", "changes", "calls"
STUMBLES = "stumbles"
"""A file that says how a task fails, and how often."""


class Sale(NamedTuple):
    shop: str
    item: int
    price: int


class Shop(NamedTuple):
    shop: str
    city: str


class Placed(NamedTuple):
    city: str
    price: int


def program(folder: Path) -> flo.Flow:
    flow = flo.Flow("trial")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop], bounded=True)
    clicks = flow.input("clicks", flo.Sequence[int])
    flow.output("totals", sales.group_by("shop").agg(sum=flo.sum("price")).filter(stumbling(str(folder / STUMBLES))))
    flow.output("items", sales.map(item).distinct())
    flow.output("cities", sales.join(shops, "shop", "shop", placed).group_by("city").agg(sum=flo.sum("price")))
    flow.output("running", clicks.scan(0, lambda total, n: total + n))
    flow.output("fours", clicks.batch(4).nest(lambda four: four.sum()))
    return flow


def item(sale: Sale) -> int:
    return sale.item


def placed(sale: Sale, shop: Shop) -> Placed:
    return Placed(shop.city, sale.price)


def stumbling(file: str) -> Callable[[Any], bool]:
    """Keeps every row; while the file is there, the first tries of a shard fail: they raise, or their process ends."""

    def steady(row: Any) -> bool:
        task = TaskContext.get()
        if task is None or not os.path.exists(file):
            return True
        asked = json.loads(Path(file).read_text())
        shard = task.partitionId()
        mine = f"{file}.{shard}.{os.getppid()}.{task.taskAttemptId()}"
        others = [each for each in Path(file).parent.glob(f"{STUMBLES}.{shard}.*") if str(each) != mine]
        if len(others) >= asked["times"]:
            return True
        Path(mine).touch()
        if asked["how"] == "exit":
            os._exit(1)
        raise RuntimeError("stumbled")

    return steady


def write_inputs(folder: Path, seed: int) -> dict[str, Any]:
    """Files for every micro-batch; gives all of the data, as `flow.run` takes it."""
    rng = random.Random(seed)
    shops = {Shop(f"shop {n}", f"city {n % 3}"): 1 for n in range(8)}
    _write(folder / "shops", 0, [(*shop, weight) for shop, weight in shops.items()], [*Shop._fields, WEIGHTS])
    sold: dict[Sale, int] = {}
    clicks: list[int] = []
    for turn in range(TURNS):
        changes: dict[Sale, int] = {}
        for sale in rng.sample(sorted(sold), len(sold) // 3):  # taken back
            changes[sale] = -sold[sale]
        for _ in range(60):
            sale = Sale(f"shop {rng.randrange(8)}", rng.randrange(40), rng.randrange(1, 100))
            changes[sale] = changes.get(sale, 0) + rng.randrange(1, 3)
        for sale, weight in changes.items():
            sold[sale] = sold.get(sale, 0) + weight
        sold = {sale: weight for sale, weight in sold.items() if weight}
        _write(folder / "sales", turn, [(*sale, weight) for sale, weight in changes.items()], [*Sale._fields, WEIGHTS])
        new = [rng.randrange(10) for _ in range(rng.randrange(1, 12))]
        _write(folder / "clicks", turn, [(n, len(clicks) + place) for place, n in enumerate(new)], ["value", "at"])
        clicks += new
    return {"sales": sold, "shops": shops, "clicks": clicks}


def _write(folder: Path, turn: int, rows: list[Any], names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{turn:03}.parquet"
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), file)
    os.utime(file, (turn, turn))  # Spark takes the oldest file first


def start(spark: Any, source: Path, folder: Path, calling: Callable[[int], None]) -> Query:
    """The query in its folder, from where it stopped. `calling` hears of the version before the callback is done."""

    def stream(name: str) -> Any:
        path = str(source / name)
        return spark.readStream.schema(spark.read.parquet(path).schema).option("maxFilesPerTrigger", 1).parquet(path)

    def called(changes: pa.Table, version: int) -> None:
        calling(version)
        with (folder / CALLS).open("a") as file:
            file.write(json.dumps([version, _rows(changes)]) + "\n")

    return (
        program(folder)
        .on(spark)
        .start(
            {"sales": stream("sales"), "shops": spark.read.parquet(str(source / "shops")), "clicks": stream("clicks")},
            {"totals": Changes(str(folder / CHANGES)), "items": called},
            checkpoint=folder / CHECKPOINT,
            order={"clicks": "at"},
            shards=SHARDS,
            trigger={"availableNow": True},
        )
    )


def outcome(query: Query, folder: Path) -> dict[str, list[Any]]:
    """All that the query gave, in lists. Changes are added up: Spark may cut the input elsewhere after a crash, but a
    version that comes again must be the same."""
    files = sorted((folder / CHANGES).glob("version=*"))
    changes = {int(file.name.partition("=")[2]): _rows(pq.read_table(file, partitioning=None)) for file in files}
    calls: dict[int, Any] = {}
    for line in (folder / CALLS).read_text().splitlines():
        version, rows = json.loads(line)
        if calls.setdefault(version, rows) != rows:
            raise AssertionError(f"the callback was given version {version} twice, with other rows")
    if not sorted(changes) == sorted(calls) == list(range(len(calls))):
        raise AssertionError(f"the files are of the versions {sorted(changes)}, the calls of {sorted(calls)}")
    return {
        "totals": _added(changes.values()),
        "items": _added(calls.values()),
        "cities": sorted([*row, weight] for row, weight in query.view("cities").value().items()),
        "running": query.view("running").value(),
        "fours": query.view("fours").value(),
    }


def _rows(changes: pa.Table) -> list[Any]:
    """Each as a list, its weight last."""
    return sorted(map(list, zip(*changes.to_pydict().values(), strict=True)))


def _added(turns: Iterable[list[Any]]) -> list[Any]:
    whole: Counter[tuple[Any, ...]] = Counter()
    for rows in turns:
        for *row, weight in rows:
            whole[tuple(row)] += weight
    return sorted([*row, weight] for row, weight in whole.items() if weight)

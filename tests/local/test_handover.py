"""A checkpoint that was written in process goes on on Spark, and back."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.sinks.upserts import Upsert


@dataclass(frozen=True)
class Sale:
    shop: str
    price: int
    at: int


def sales(start: int, count: int) -> list[Sale]:
    return [Sale("abcdefg"[number % 7], number % 13, number) for number in range(start, start + count)]


def program() -> flo.Flow:
    flow = flo.Flow("handed over")
    rows = flow.input("rows", flo.ZSet[Sale])
    log = flow.input("log", flo.Sequence[Sale])
    shops = flow.constant(flo.ZSet[tuple[str, str]], {("a", "Aachen"): 1, ("b", "Bonn"): 1})
    flow.output("totals", rows.group_by("shop").agg(n=flo.count(), total=flo.sum("price")))
    flow.output("cities", rows.map(lambda sale: (sale.shop, sale.price)).join(shops, on=first, other_on=first))
    flow.output("prices", log.map(lambda sale: sale.price))
    flow.output("windows", log.tumbling(10, time=lambda sale: sale.at).nest(lambda window: window.count()))
    return flow


def first(pair: tuple[str, Any]) -> str:
    return pair[0]


def expected(count: int) -> dict[str, Any]:
    return dict(program().run(rows=dict.fromkeys(sales(0, count), 1), log=sales(0, count), negative="allow"))


def test_in_process_and_on_spark_in_turn(spark: Any, tmp_path: Path) -> None:
    """Each side takes new rows only: Spark has its own files, and goes on where it was."""
    where, database, taken = tmp_path / "checkpoint", tmp_path / "totals.db", 0
    outputs = {"totals": Upsert("sqlite", "totals", {"uri": str(database)})}
    files = {name: tmp_path / name for name in ("rows", "log")}
    for each in files.values():
        each.mkdir()
    names = ["cities", "prices", "windows"]
    for turn in range(4):
        if turn % 2 == 0:
            with program().on(flo.here, workers=1 + turn // 2).start(outputs, checkpoint=where, shards=2) as local:
                for _ in range(2):
                    local.push(rows=sales(taken, 15), log=sales(taken, 15))
                    taken += 15
                views = {name: local.view(name).value() for name in names}
        else:
            table = pa.Table.from_pylist([asdict(sale) for sale in sales(taken, 15)])
            for each in files.values():
                pq.write_table(table, each / f"{turn}.parquet")
            taken += 15
            frames = {
                name: spark.readStream.schema("shop string, price bigint, at bigint").parquet(str(folder))
                for name, folder in files.items()
            }
            query = (
                program()
                .on(spark)
                .start(frames, outputs, checkpoint=where, order={"log": "at"}, trigger={"availableNow": True})
            )
            query.wait()
            views = {name: query.view(name).value() for name in names}
        result = expected(taken)
        assert views == {name: result[name] for name in names}, turn
        with sqlite3.connect(database) as connection:
            stored = set(connection.execute("SELECT shop, n, total FROM totals"))
        assert stored == {(row.shop, row.n, row.total) for row in result["totals"]}
    assert not list(Checkpoint(str(where)).problems())

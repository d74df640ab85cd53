"""A program whose workers have no more packages than the documents ask for, and what they have imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

import flo


class Sale(NamedTuple):
    shop: str
    price: int
    time: int


class Shop(NamedTuple):
    name: str
    city: str


class Priced(NamedTuple):
    city: str
    price: int


def priced(sale: Sale, shop: Shop) -> Priced:
    return Priced(shop.city, sale.price)


def add(total: int, price: int) -> int:
    return total + price


def program() -> flo.Flow:
    flow: Any = flo.Flow("workers")
    sales = flow.input("sales", flo.Sequence[Sale])
    shops = flow.input("shops", flo.ZSet[Shop], bounded=True)
    dear = sales.to_zset().filter(nw.col("price") > 1)
    flow.output("revenue", dear.join(shops, "shop", "name", priced).group_by("city").agg(sum=flo.sum("price")))
    windows = sales.tumbling(10, "time")
    flow.output("windows", windows.nest(lambda window: window.map("price").sum()).flatten())
    flow.output("late", windows.late)
    flow.output("running", sales.key_by("shop").per_key(lambda some: some.map("price").scan(0, add)).entries())
    return flow


SALES = [Sale("a", 5, 1), Sale("b", 7, 4), Sale("a", 1, 12), Sale("c", 3, 30)]
SHOPS = {Shop("a", "Oslo"): 1, Shop("b", "Rome"): 1}


def outcome(spark: Any, folder: Path) -> dict[str, Any]:
    """Whether the outputs are those of values, and the Python of the workers with what it has imported."""
    (folder / "sales").mkdir()
    columns = {name: [getattr(sale, name) for sale in SALES] for name in Sale._fields}
    pq.write_table(pa.table({**columns, "offset": range(len(SALES))}), folder / "sales" / "1.parquet")
    streaming = spark.readStream.schema("shop string, price long, time long, offset long")
    shops = spark.createDataFrame([tuple(shop) for shop in SHOPS], "name string, city string")
    query = (
        program()
        .on(spark)
        .start(
            {"sales": streaming.parquet(str(folder / "sales")), "shops": shops},
            checkpoint=folder / "checkpoint",
            order={"sales": "offset"},
            trigger={"availableNow": True},
        )
    )
    query.wait()
    found = {name: view.value() for name, view in query.views().items()}
    here = program().run(sales=SALES, shops=SHOPS)

    def packages(batches: Any) -> Any:
        import sys

        for _ in batches:
            names = sorted({name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names))
            yield pa.RecordBatch.from_pydict({"python": [sys.executable], "packages": [" ".join(names)]})

    (said,) = spark.range(0, 1, 1, 1).mapInArrow(packages, "python string, packages string").collect()
    equal = {name: found[name] == value for name, value in {**here, **here.late}.items()}
    return {"equal": equal, "python": said.python, "packages": said.packages.split()}

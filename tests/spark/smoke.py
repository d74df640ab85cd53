"""A small pipeline and a view of SQL, for `make versions`: they run on every version of PySpark that Flo supports.

`python -m tests.spark.smoke` prints the version and fails if a result is wrong. It needs no test package.
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyspark

import flo
import flo.spark
from flo.spark.session import embedded

DRIVERS = {"sqlite": "adbc_driver_sqlite.dbapi", "duckdb": "adbc_driver_duckdb.dbapi"}
SCHEMA = "shop string, price long, at timestamp_ntz, _weight long"


class Sale(NamedTuple):
    shop: str
    price: int


def put(spark: Any, folder: Path, *rows: tuple[str, int, int]) -> None:
    values = ", ".join(
        f"('{shop}', {price}L, TIMESTAMP_NTZ'2026-01-01 00:00:00', {weight}L)" for shop, price, weight in rows
    )
    frame = spark.sql(f"SELECT * FROM VALUES {values} AS t(shop, price, at, _weight)")
    frame.coalesce(1).write.mode("append").parquet(str(folder))


def upsert(spark: Any, flow: flo.Flow, folder: Path, kind: Any) -> None:
    """The totals go to a table of a database, which has them all."""
    uri = str(folder / f"totals.{kind}")
    source = spark.readStream.schema(SCHEMA).parquet(str(folder / "sales"))
    sink = flo.spark.Upsert(kind, "totals", {"uri": uri})
    now = {"availableNow": True}
    flow.on(spark).start({"sales": source}, {"totals": sink}, checkpoint=folder / kind, trigger=now).wait()
    connect = import_module(DRIVERS[kind]).connect
    with connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT shop, total FROM totals")
        assert [(shop, int(total)) for shop, total in cursor.fetchall()] == [("a", 11)]
    print(f"{kind}: the totals are in a table")


def main() -> None:
    spark = embedded("smoke", cores=2)
    folder = Path(tempfile.mkdtemp())
    flow = flo.Flow("totals")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", sales.group_by("shop").agg(total=flo.sum("price")))
    put(spark, folder / "sales", ("a", 1, 1), ("b", 2, 1))
    for more, expected in (((), {("a", 1), ("b", 2)}), ((("a", 10, 1), ("b", 2, -1)), {("a", 11)})):
        if more:
            put(spark, folder / "sales", *more)
        source = spark.readStream.schema(SCHEMA).parquet(str(folder / "sales"))
        query = flow.on(spark).start({"sales": source}, checkpoint=folder / "flow", trigger={"availableNow": True})
        query.wait()
        assert {(row.shop, int(row.total)) for row in query.view("totals").frame(spark).collect()} == expected
        text = "SELECT shop, ceil(sum(price) / 3.0) AS third, max(at) AS last FROM sales GROUP BY shop"
        views = flo.spark.views(spark, {"thirds": text}, {"sales": source})
        query = views.start(checkpoint=folder / "views", trigger={"availableNow": True})
        query.wait()
        found = {(row.shop, int(row.third)) for row in query.view("thirds").frame(spark).collect()}
        assert found == {(shop, -(-total // 3)) for shop, total in expected}
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "sales"))
    query = flow.on(spark).start({"sales": source}, checkpoint=folder / "by file", trigger={"availableNow": True})
    query.wait()
    assert len(query.progress) == 2
    assert {(row.shop, int(row.total)) for row in query.view("totals").frame(spark).collect()} == {("a", 11)}
    for kind in DRIVERS:
        if find_spec(DRIVERS[kind].partition(".")[0]) is not None:
            upsert(spark, flow, folder, kind)
    print(f"PySpark {pyspark.__version__}: a pipeline and a view of SQL have run")


if __name__ == "__main__":
    main()

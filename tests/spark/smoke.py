"""A small pipeline and a view of SQL, for `make versions`: they run on every version of PySpark that Flo supports.

`python -m tests.spark.smoke` prints the version and fails if a result is wrong. It needs no test package.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pyspark

import flo
import flo.spark
from flo.spark.session import embedded

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
    print(f"PySpark {pyspark.__version__}: a pipeline and a view of SQL have run")


if __name__ == "__main__":
    main()

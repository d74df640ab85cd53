"""SQL views over change data: orders of a database, as Debezium reports them, and a ranking that follows every change.

    python -m examples.sql_over_changes

The query joins, groups and ranks, which Spark's own streaming rejects. Rows are inserted, updated and deleted. After
each micro-batch the view has what the query would return on the tables as they are now.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import flo
import flo.spark

BEST = """
SELECT city, place, customer, spent
FROM (SELECT city, customer, sum(cents) / 100 AS spent,
             rank() OVER (PARTITION BY city ORDER BY sum(cents) DESC) AS place
      FROM orders JOIN customers USING (customer)
      GROUP BY city, customer)
WHERE place <= 2"""

Row = dict[str, Any]


def order(number: int, customer: str, cents: int) -> Row:
    return {"id": number, "customer": customer, "cents": cents}


def envelope(op: str, before: Row | None = None, after: Row | None = None) -> str:
    """A change as Debezium writes it: create, update or delete."""
    return json.dumps({"op": op, "before": before, "after": after})


CHANGES = (
    (
        "orders are created",
        [
            envelope("c", None, order(1, "ann", 5_000)),
            envelope("c", None, order(2, "bob", 7_500)),
            envelope("c", None, order(3, "cyd", 2_000)),
            envelope("c", None, order(4, "dan", 9_900)),
        ],
    ),
    (
        "one is corrected, one is deleted",
        [
            envelope("u", order(3, "cyd", 2_000), order(3, "cyd", 20_000)),
            envelope("d", order(4, "dan", 9_900), None),
        ],
    ),
)
CUSTOMERS = [("ann", "Oslo"), ("bob", "Oslo"), ("cyd", "Oslo"), ("dan", "Rome")]


def best_customers(spark: Any, folder: Path) -> flo.spark.Views:
    """The view, over a folder that stands for the topic of Debezium."""
    (folder / "topic").mkdir(parents=True, exist_ok=True)
    topic = spark.readStream.format("text").load(str(folder / "topic"))
    orders = flo.spark.changes_of_debezium(topic, "id long, customer string, cents long")
    customers = spark.createDataFrame(CUSTOMERS, "customer string, city string")
    return flo.spark.views(spark, {"best": BEST}, inputs={"orders": orders, "customers": customers})


def run(spark: Any, folder: Path) -> list[list[Row]]:
    """Runs a micro-batch for each group of changes, and returns the view after each."""
    views, found = best_customers(spark, folder), []
    for number, (what, envelopes) in enumerate(CHANGES):
        (folder / "topic" / f"{number}.txt").write_text("\n".join(envelopes), encoding="utf-8")
        query = views.start(checkpoint=folder / "checkpoint", shards=2, trigger={"availableNow": True})
        query.wait()
        found.append(query.view("best").arrow().sort_by([("city", "ascending"), ("place", "ascending")]).to_pylist())
        print(what)
        for row in found[-1]:
            print(f"  {row['city']}  {row['place']}. {row['customer']}  {row['spent']:8.2f}")
    return found


def main() -> None:
    from flo.spark.session import embedded

    spark = embedded("sql over changes", cores=2)
    try:
        with tempfile.TemporaryDirectory(prefix="flo-sql-") as folder:
            run(spark, Path(folder))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()

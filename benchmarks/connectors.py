"""From Kafka to a Delta table that is upserted: Flo, and Structured Streaming written by hand.

`python -m benchmarks.connectors --orders 300000` starts a broker, sends the orders, and sums them by shop in both ways:

- `flo`: `group_by("shop").agg(…)` with the sink `flo.spark.Upsert("delta", …)`
- `by hand`: `foreachBatch` that groups each micro-batch, and a MERGE that adds the sums to the table

Both are exactly once, and must give the same table. The second round is that of a session that is warm.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.connectors import services
from tests.connectors.driver import expected, messages_of, orders_of, produce, program, session


def by_flo(spark: SparkSession, servers: str, each: int, folder: Path) -> str:
    from flo.spark import Upsert

    table = str(folder / "flo")
    query = (
        program(["delta"])
        .on(spark)
        .start(
            {"orders": orders_of(spark, servers, each)},
            {"delta": Upsert("delta", table)},
            checkpoint=folder / "flo-checkpoint",
            shards=2,
            trigger={"availableNow": True},
        )
    )
    query.wait()
    return table


def by_hand(spark: SparkSession, servers: str, each: int, folder: Path) -> str:
    table, of = str(folder / "hand"), "spark.databricks.delta.write."
    spark.sql(f"CREATE TABLE delta.`{table}` (shop int, orders long, total long) USING delta")
    value = sf.from_json(sf.col("value").cast("string"), "shop int, price long, weight long")
    source = messages_of(spark, servers, each).select(value.alias("row")).select("row.*")

    def merge(batch: DataFrame, version: int) -> None:
        own: Any = batch.sparkSession
        sums = [sf.sum("weight").alias("orders"), sf.sum(sf.col("weight") * sf.col("price")).alias("total")]
        batch.groupBy("shop").agg(*sums).createOrReplaceTempView("sums")
        own.conf.set(f"{of}txnAppId", "by hand")
        own.conf.set(f"{of}txnVersion", str(version))
        own.sql(
            f"MERGE INTO delta.`{table}` AS t USING sums AS s ON t.shop = s.shop"
            " WHEN MATCHED AND t.orders + s.orders = 0 THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET orders = t.orders + s.orders, total = t.total + s.total"
            " WHEN NOT MATCHED AND s.orders <> 0 THEN INSERT *"
        )

    query = (
        source.writeStream.foreachBatch(merge)
        .option("checkpointLocation", str(folder / "hand-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=300_000)
    parser.add_argument("--shops", type=int, default=5_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    jars = [str(jar) for each in (services.KAFKA, services.DELTA) for jar in services.fetch_jars(each)]
    with services.kafka(folder / "broker") as servers:
        spark = session(jars, folder)
        produce(spark, servers, given.orders, given.shops)
        sent = given.orders + sum(given.orders // given.shops for shop in range(0, given.shops, 5))
        wanted = sorted((shop, *total) for shop, total in expected(given.orders, given.shops).items())
        for number in range(1, given.rounds + 1):
            for name, way in (("flo", by_flo), ("by hand", by_hand)):
                started = time.monotonic()
                table = way(spark, servers, sent // given.batches, folder / str(number))
                seconds = time.monotonic() - started
                rows = spark.read.format("delta").load(table).select("shop", "orders", "total").collect()
                assert sorted(tuple(map(int, row)) for row in rows) == wanted, name
                rate = sent / seconds
                print(f"round {number} {name:8} {sent:>10,} messages {seconds:8.1f} s {rate:>10,.0f} messages/s")
        spark.stop()


if __name__ == "__main__":
    main()

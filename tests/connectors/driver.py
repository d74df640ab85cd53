"""A driver that tests kill: orders from a topic of Kafka, summed by shop, upserted to every kind of sink.

`python -m tests.connectors.driver FILE` reads its settings from a file of JSON, and writes what all sinks have in
the end to the file `found`. With `kill` it ends at once, with status 9, after that output has taken that version.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import flo
from flo.spark import OutputChanges, Upsert, rows_of_kafka
from flo.spark.driver import spark_changes
from flo.spark.driver.query import Query

STATUS = 9
ORDERS, TOTALS = "orders", "totals"
MALFORMED = 5
"""How many messages are no orders."""


class Order(NamedTuple):
    shop: int
    price: int


class Message(NamedTuple):
    shop: int
    price: int
    weight: int


EXTENSIONS = {
    "delta-spark": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg-spark": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
"""The extensions of Spark that a jar has."""


def session(jars: list[str], folder: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("connectors")
    extensions = [name for jar, name in EXTENSIONS.items() if any(jar in each for each in jars)]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(folder / "iceberg"),
        "spark.sql.extensions": ",".join(extensions),
    }
    if EXTENSIONS["delta-spark"] in extensions:
        settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def create_topic(spark: SparkSession, servers: str, topic: str, partitions: int, **settings: str) -> None:
    admin: Any = spark._jvm.org.apache.kafka.clients.admin  # type: ignore[union-attr]
    client = admin.Admin.create({"bootstrap.servers": servers})
    made = admin.NewTopic(topic, partitions, 1).configs(settings)
    client.createTopics([made]).all().get()
    client.close()


def expected(orders: int, shops: int) -> dict[int, list[int]]:
    """The totals of each shop: the number of orders, and the sum of their prices."""
    found: dict[int, list[int]] = {}
    for number in range(orders):
        if number % shops % 5:
            total = found.setdefault(number % shops, [0, 0])
            total[0], total[1] = total[0] + 1, total[1] + number % 100
    return found


def produce(spark: SparkSession, servers: str, orders: int, shops: int, malformed: int = 0) -> None:
    """Sends the orders, in three partitions. The orders of every fifth shop are cancelled later; some are malformed."""
    number = sf.col("id")
    made = spark.range(orders).select(number, (number % shops).cast("int").alias("shop"), (number % 100).alias("price"))
    for weight, rows in ((1, made), (-1, made.where(sf.col("shop") % 5 == 0))):
        value = sf.to_json(sf.struct("shop", "price", sf.lit(weight).alias("weight")))
        send(rows.select(value.alias("value"), (sf.col("shop") % 3).cast("int").alias("partition")), servers)
    send(spark.range(malformed).select(sf.lit("?").alias("value"), sf.lit(0).alias("partition")), servers)


def send(messages: DataFrame, servers: str) -> None:
    messages.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", ORDERS).save()


def messages_of(spark: SparkSession, servers: str, each: int) -> DataFrame:
    """The messages of the orders, in micro-batches of so many."""
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", ORDERS)
    return stream.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", str(each)).load()


def orders_of(spark: SparkSession, servers: str, each: int) -> DataFrame:
    return rows_of_kafka(messages_of(spark, servers, each), Message).withColumnRenamed("weight", "_weight")


def sinks_of(given: dict[str, Any]) -> dict[str, Upsert]:
    folder = given["folder"]
    every = {
        "delta": Upsert("delta", f"{folder}/delta"),
        "iceberg": Upsert("iceberg", "ice.flo.totals"),
        "sqlite": Upsert("sqlite", TOTALS, {"uri": f"{folder}/totals.sqlite"}),
        "duckdb": Upsert("duckdb", TOTALS, {"uri": f"{folder}/totals.duckdb"}),
        "kafka": Upsert("kafka", TOTALS, {"kafka.bootstrap.servers": given["servers"]}),
    }
    if given["postgresql"]:
        every["postgresql"] = Upsert("postgresql", TOTALS, {"uri": given["postgresql"]})
    return {name: every[name] for name in given["sinks"] if name in every}


def kill_after(output: str, version: int) -> None:
    """Ends this process when the sink of an output has taken a version, before it is committed."""
    take = Upsert.take

    def taken(self: Upsert, changes: OutputChanges) -> None:
        take(self, changes)
        if (changes.output, changes.version) == (output, version):
            os._exit(STATUS)

    Upsert.take = taken  # type: ignore[method-assign]


def program(names: list[str]) -> flo.Flow:
    flow = flo.Flow("totals")
    orders = flow.input("orders", flo.ZSet[Order])
    totals = orders.group_by("shop").agg(orders=flo.count(), total=flo.sum("price"))
    for name in names:
        flow.output(name, totals)
    return flow


def run(spark: SparkSession, given: dict[str, Any]) -> Query:
    sinks = sinks_of(given)
    source = orders_of(spark, given["servers"], given["each"])
    query = (
        program(list(sinks))
        .on(spark)
        .start(
            {"orders": source},
            sinks,
            checkpoint=Path(given["folder"]) / "checkpoint",
            shards=2,
            trigger={"availableNow": True},
            on_error="divert",
        )
    )
    query.wait()
    return query


def read_all(spark: SparkSession, given: dict[str, Any]) -> dict[str, Any]:
    """What each sink has: the totals by shop."""
    found: dict[str, Any] = {}
    for name, sink in sinks_of(given).items():
        if name == "delta":
            rows = spark.read.format("delta").load(sink.target).select("shop", "orders", "total").collect()
        elif name == "iceberg":
            rows = spark.table(sink.target).select("shop", "orders", "total").collect()
        elif name == "kafka":
            rows = compacted(spark, given["servers"])
        else:
            from importlib import import_module

            driver = import_module(f"adbc_driver_{name}.dbapi")
            with driver.connect(sink.options["uri"]) as connection, connection.cursor() as cursor:
                cursor.execute(f"SELECT shop, orders, total FROM {TOTALS}")
                rows = cursor.fetchall()
        found[name] = sorted([int(value) for value in row] for row in rows)
    return found


def compacted(spark: SparkSession, servers: str) -> list[tuple[int, int, int]]:
    """The last message of each key, as a compacted topic keeps it."""
    options = {"kafka.bootstrap.servers": servers, "subscribe": TOTALS, "includeHeaders": "true"}
    messages = spark.read.format("kafka").options(**options).load().orderBy("partition", "offset").collect()
    last = {bytes(each.key): each for each in messages}
    versions: dict[bytes, int] = {}
    for each in messages:  # of a key, none is older than one before it
        version = int(dict(each.headers)["flo-version"])
        assert version >= versions.get(bytes(each.key), 0)
        versions[bytes(each.key)] = version
    rows = [json.loads(each.value) for each in last.values() if each.value is not None]
    return [(row["shop"], row["orders"], row["total"]) for row in rows]


def main() -> None:
    given = json.loads(Path(sys.argv[1]).read_text())
    spark_changes.FEW = given["few"]
    spark = session(given["jars"], Path(given["folder"]))
    if given["produce"]:
        create_topic(spark, given["servers"], TOTALS, partitions=3, **{"cleanup.policy": "compact"})
        produce(spark, given["servers"], given["orders"], given["shops"], MALFORMED)
    for output, version in given["kill"]:
        kill_after(output, version)
    query = run(spark, given)
    diverted = sorted(
        map(list, zip(*query.diverted("orders").select(["row", "file"]).to_pydict().values(), strict=True))
    )
    Path(given["folder"], "found").write_text(json.dumps({**read_all(spark, given), "diverted": diverted}))


if __name__ == "__main__":
    main()

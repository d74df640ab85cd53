"""Fraud alerts from Kafka: cards that pay too often, or in two countries, within a minute.

    python -m examples.fraud_alerts                                          a folder stands for the topic
    python -m examples.fraud_alerts --broker localhost:9092 --topic payments a topic of Kafka, until it is stopped

A topic has partitions, and there is no order between them. Each partition has a watermark, so the alerts do not depend
on how the partitions interleave, and a payment that comes too late is on a side output. Messages are JSON:

    {"card": "4711", "country": "NO", "cents": 1250, "second": 17}

To read a topic, Spark needs its connector for Kafka: docs/connectors.md says which jars, and PYSPARK_SUBMIT_ARGS names
them.
"""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

import flo
import flo.spark

PARTITIONS = 2
COLUMNS = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType integer"
)


class Payment(NamedTuple):
    card: str
    country: str
    cents: int
    second: int


def fraud_alerts() -> flo.Flow:
    flow = flo.Flow("fraud alerts")
    payments = flow.input("payments", flo.Partitioned[Payment], partitions=PARTITIONS)
    minutes = payments.tumbling(60, "second", lateness=10, bounds=True)
    by_card = minutes.group_by("card").agg(
        payments=flo.count(), cents=flo.sum("cents"), countries=flo.count_distinct("country")
    )
    flow.output("alerts", by_card.filter((nw.col("payments") >= 4) | (nw.col("countries") >= 2)))
    flow.output("late", minutes.late)
    return flow


LOG = (
    [Payment("ann", "NO", 900, 3), Payment("bob", "IT", 400, 12), Payment("ann", "NO", 120, 61)]
    + [Payment("eve", "NO", 50_000, 20 + n) for n in range(4)]
    + [Payment("bob", "IT", 700, 140)],
    [Payment("joe", "FR", 2_000, 5), Payment("joe", "BR", 80_000, 41), Payment("cyd", "FR", 350, 90)]
    + [Payment("cyd", "FR", 640, 150), Payment("cyd", "FR", 10, 7)],
)
"""Payments by partition. The last one is late: its partition is at second 150."""


def write_log(folder: Path) -> None:
    """Writes the log as files with the columns of Kafka, one file for each micro-batch."""
    folder.mkdir(parents=True)
    halves = [(partition, rows[:4], rows[4:]) for partition, rows in enumerate(LOG)]
    for number in (1, 2):
        rows = [
            {"value": json.dumps(row._asdict()).encode(), "topic": "payments", "partition": half[0], "offset": offset}
            for half in halves
            for offset, row in enumerate(half[number], start=0 if number == 1 else 4)
        ]
        table = pa.Table.from_pylist(rows)
        table = table.set_column(2, "partition", table["partition"].cast(pa.int32()))
        pq.write_table(table, folder / f"{number}.parquet")


def from_folder(spark: Any, folder: Path) -> Any:
    return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder))


def from_kafka(spark: Any, broker: str, topic: str) -> Any:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()


def start(spark: Any, messages: Any, checkpoint: Path, **options: Any) -> Any:
    rows = flo.spark.rows_of_kafka(messages, Payment)
    return fraud_alerts().on(spark).start(inputs={"payments": rows}, checkpoint=checkpoint, **options)


def show(query: Any) -> None:
    for alert, _ in sorted(query.view("alerts").value().items()):
        amount = f"{alert.cents / 100:,.2f}"
        where = "one country" if alert.countries == 1 else f"{alert.countries} countries"
        print(
            f"ALERT from second {alert.window_start}: card {alert.card} paid {alert.payments} times,"
            f" {amount}, in {where}"
        )
    for payment in sorted(query.view("late").value()):
        print(f"late, looked at by nobody yet: {payment}")


def main() -> None:
    parser = argparse.ArgumentParser(description="fraud alerts from a topic of Kafka, or from a folder instead")
    parser.add_argument("--broker", help="the address of a broker, such as localhost:9092")
    parser.add_argument("--topic", default="payments")
    given = parser.parse_args()
    from flo.spark.session import embedded

    fraud_alerts().draw().save("fraud_alerts.svg")
    with tempfile.TemporaryDirectory(prefix="flo-fraud-") as folder:
        spark = embedded("fraud alerts", cores=2)
        try:
            if given.broker:
                messages = from_kafka(spark, given.broker, given.topic)
                query = start(spark, messages, Path(folder) / "checkpoint", trigger={"processingTime": "2 seconds"})
                stopped = threading.Event()  # Spark's own handler of Ctrl-C may disturb a call that is under way
                signal.signal(signal.SIGINT, lambda *_: stopped.set())
                while query.active and not stopped.wait(5):
                    if query.progress:  # the first micro-batch is committed
                        show(query)
                query.stop()
            else:
                write_log(Path(folder) / "log")
                messages = from_folder(spark, Path(folder) / "log")
                query = start(spark, messages, Path(folder) / "checkpoint", trigger={"availableNow": True})
                query.wait()
                show(query)
        finally:
            spark.stop()
    print("the program as a picture: fraud_alerts.svg")


if __name__ == "__main__":
    main()

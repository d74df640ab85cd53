"""Upserts to a topic of Kafka: for each key a message with its row, or without a value if the row is deleted.

The topic should be compacted: then it has the latest row of each key. Each key has one message in a micro-batch, so
nothing within it can be reordered. A micro-batch that runs again sends its messages again; the header says of which
version they are.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf

from flo.core.errors import FloError
from flo.spark.driver.keyed_output import KeyedOutput, Upserting, expect_format, identity_of
from flo.spark.driver.sinks import OutputChanges
from flo.spark.tasks.latest_rows import CHANGE, DELETE
from flo.sql.catalyst import quoted

SERVERS = "kafka.bootstrap.servers"
KEY, VALUE = "key", "value"
ID, VERSION = "flo-id", "flo-version"
"""The headers of a message: the id of the checkpoint with the output, and the version."""


class KafkaTopic(Upserting):
    """A topic of Kafka. Rows of the columns `key` and `value` are messages as they are; others become JSON."""

    kind = "kafka"
    checks_declared = False

    def prepare(self, spark: SparkSession, rows: KeyedOutput) -> None:
        if SERVERS not in self.options:
            raise FloError(
                f'the options of Upsert("kafka", …) for the output `{rows.name}` have no `{SERVERS}`',
                instead=((f'Upsert("kafka", "{self.target}", {{"{SERVERS}": "host:9092"}})', "names the brokers"),),
            )
        expect_format(spark, self.kind)

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        if not changes.files:
            return
        given = sf.col(CHANGE)
        if is_message(rows):
            key, value = sf.col(KEY), sf.col(VALUE)
        else:
            key, value = _json(rows.key), _json(rows.schema.names)
        messages = rows.frame(changes).select(
            key.cast("binary").alias(KEY),
            sf.when(given != DELETE, value.cast("binary")).alias(VALUE),
            sf.array(_header(ID, identity_of(changes)), _header(VERSION, str(changes.version))).alias("headers"),
        )
        messages.write.format(self.kind).options(**self.options).option("topic", self.target).save()


def is_message(rows: KeyedOutput) -> bool:
    """Whether the rows are messages already: a key and a value, as texts or bytes."""
    kinds = [field.type for field in rows.schema]
    plain = all(pa.types.is_string(kind) or pa.types.is_binary(kind) for kind in kinds)
    return plain and rows.key == (KEY,) and set(rows.schema.names) == {KEY, VALUE}


def _json(columns: Iterable[str]) -> Column:
    return sf.to_json(sf.struct(*(sf.col(quoted(name)) for name in columns)), {"ignoreNullFields": "false"})


def _header(name: str, value: str) -> Column:
    return sf.struct(sf.lit(name).alias("key"), sf.lit(value).cast("binary").alias("value"))

"""Upserts to a topic of Kafka: for each key a message with its row, or without a value if the row is deleted.

The topic should be compacted: then it has the latest row of each key. Each key has one message in a micro-batch, so
nothing within it can be reordered. A micro-batch that runs again sends its messages again; the header says of which
version they are. To compare it with the output, the topic is read to its end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from flo.core.errors import ElementError, FloError, brief
from flo.shards.sinks.keyed_output import KeyedOutput, Upserting, identity_of, is_of_other_output
from flo.shards.sinks.output_changes import Held, OutputChanges
from flo.shards.tasks.latest_rows import CHANGE, DELETE
from flo.spark.driver.spark_changes import SparkChanges, expect_format, frame_of_latest, spark_schema_of
from flo.spark.driver.table_columns import arrow_rows
from flo.sql.catalyst import quoted
from flo.sql.java import Java
from flo.tables.io.diverted import INSTEAD, Diverted

SERVERS = "kafka.bootstrap.servers"
KEY, VALUE = "key", "value"
ID, VERSION, DIGEST = "flo-id", "flo-version", "flo-digest"
"""The headers of a message: the id of the checkpoint with the output, the version, and the digest of its changes."""
TOO_LARGE = "RecordTooLargeException"
LIMIT, OVERHEAD = "kafka.max.request.size", 512
"""The option that limits the size of a request, and how many bytes a message has besides its key and value, at most."""
LAST = 50
"""How many of the last messages of each partition are read to see which version a topic holds."""


class Message(NamedTuple):
    """What the headers of a message say."""

    identity: str
    version: int
    digest: str | None
    order: tuple[datetime, int]
    """Its time and its offset."""


class KafkaTopic(Upserting):
    """A topic of Kafka. Rows of the columns `key` and `value` are messages as they are; others become JSON."""

    kind = "kafka"
    checks_declared = False

    def expect_fit(self, spark: SparkSession, rows: KeyedOutput) -> None:
        if SERVERS not in self.options:
            raise FloError(
                f'the options of Upsert("kafka", …) for the output `{rows.name}` have no `{SERVERS}`',
                instead=((f'Upsert("kafka", "{self.target}", {{"{SERVERS}": "host:9092"}})', "names the brokers"),),
            )
        expect_format(spark, self.kind)

    def held(self, identity: str, rows: KeyedOutput) -> Held | None:
        """What the last messages say. A topic that never had a message holds nothing; older ones may have expired."""
        last = self._last_messages()
        if last is None or self._newest_other(last, identity) is not None:
            return None
        own = [each for each in last if each.identity == identity]
        newest = max(own, key=lambda each: (each.version, each.order), default=None)
        return Held(None) if newest is None else Held(newest.version, newest.digest)

    def find_other_output(self, identity: str, rows: KeyedOutput) -> str | None:
        return self._newest_other(self._last_messages() or [], identity)

    @staticmethod
    def _newest_other(last: list[Message], identity: str) -> str | None:
        """The output that has written the newest message, if it is another one of the checkpoint."""
        newest = max(last, key=lambda each: each.order).identity if last else identity
        return newest if is_of_other_output(identity, newest) else None

    def _last_messages(self) -> list[Message] | None:
        """The last messages of each partition that have an identity; None if there is no message."""
        ends = self._end_offsets()
        if not any(ends.values()):
            return None
        start = {str(partition): max(0, end - LAST) for partition, end in ends.items()}
        options = {**self.options, "includeHeaders": "true", "failOnDataLoss": "false"}
        options |= {"subscribe": self.target, "startingOffsets": json.dumps({self.target: start})}
        frame = self.spark.read.format(self.kind).options(**options).load()
        every = list[Message]()
        for row in frame.select("headers", "timestamp", "offset").collect():
            headers = {each.key: bytes(each.value or b"").decode(errors="replace") for each in row.headers or ()}
            if ID in headers:
                order = row.timestamp, row.offset
                every.append(Message(headers[ID], int(headers[VERSION]), headers.get(DIGEST), order))
        return every

    def _end_offsets(self) -> dict[int, int]:
        """The offset after the last message of each partition; nothing if the topic does not exist."""
        jvm: Java = self.spark._jvm
        own = {name.removeprefix("kafka."): str(value) for name, value in self.options.items() if "kafka." in name}
        client = jvm.org.apache.kafka.clients.admin.Admin.create(own)
        try:
            return self._read_end_offsets(jvm, client)
        except Py4JJavaError as error:
            why = str(error.java_exception.toString())
            raise FloError(f"the topic {self.target} of Kafka cannot be read: {why}") from error
        finally:
            client.close()

    def _read_end_offsets(self, jvm: Java, client: Java) -> dict[int, int]:
        if not client.listTopics().names().get().contains(self.target):
            return {}
        topic = client.describeTopics([self.target]).allTopicNames().get().get(self.target)
        of = jvm.org.apache.kafka.common.TopicPartition
        wanted = [of(self.target, each.partition()) for each in topic.partitions()]
        asked = jvm.java.util.HashMap()
        for partition in wanted:
            asked.put(partition, jvm.org.apache.kafka.clients.admin.OffsetSpec.latest())
        offsets = client.listOffsets(asked).all().get()
        return {partition.partition(): offsets.get(partition).offset() for partition in wanted}

    def prepare(self, spark: SparkSession, rows: KeyedOutput, identity: str = "") -> None:
        """The broker makes the topic with the first message, if it is set up to."""

    def read(self, rows: KeyedOutput) -> pa.Table | None:
        """The latest row of each key. One whose message is written in another way has null besides its key."""
        if not any(self._end_offsets().values()):
            return None
        options = {**self.options, "subscribe": self.target, "startingOffsets": "earliest", "failOnDataLoss": "false"}
        messages = self.spark.read.format(self.kind).options(**options).load()
        latest = sf.max_by(VALUE, sf.struct("timestamp", "offset"))
        messages = messages.groupBy(KEY).agg(latest.alias(VALUE)).where(sf.col(VALUE).isNotNull())
        schema = spark_schema_of(rows)
        if is_message(rows):
            return arrow_rows(messages.select(*(sf.col(each.name).cast(each.dataType) for each in schema)), rows.schema)
        every = StructType([StructField(each.name, each.dataType) for each in schema])
        key = StructType([each for each in every if each.name in rows.key])
        read = messages.select(
            sf.from_json(sf.col(KEY).cast("string"), key, JSON).alias(KEY),
            sf.from_json(sf.col(VALUE).cast("string"), every, JSON).alias("row"),
            sf.col(KEY).cast("string").alias("own"),
            sf.col(VALUE).cast("string").alias(VALUE),
        )
        names = {each: sf.col(f"row.{quoted(each)}") for each in rows.schema.names}
        same = sf.to_json(sf.struct(*(column.alias(name) for name, column in names.items())), JSON) == sf.col(VALUE)
        columns = [
            sf.col(f"{KEY}.{quoted(name)}").alias(name) if name in rows.key else sf.when(same, column).alias(name)
            for name, column in names.items()
        ]
        return arrow_rows(read.where(sf.to_json(KEY, JSON) == sf.col("own")).select(*columns), rows.schema)

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        """Sends the messages of a micro-batch, after those that undo an earlier attempt with other changes."""
        for attempt in changes.earlier:
            self._send(changes.reverting(attempt), changes, rows)
        self._send(changes, changes, rows)

    def _send(self, sent: OutputChanges, changes: OutputChanges, rows: KeyedOutput) -> None:
        if not sent.digest:
            return
        assert isinstance(sent, SparkChanges)
        given = sf.col(CHANGE)
        if is_message(rows):
            key, value = sf.col(KEY), sf.col(VALUE)
        else:
            key, value = _json(rows.key), _json(rows.schema.names)
        headers = {ID: identity_of(changes.checkpoint, changes.output), VERSION: str(changes.version)}
        headers[DIGEST] = changes.digest
        messages = frame_of_latest(rows, sent).select(
            key.cast("binary").alias(KEY),
            sf.when(given != DELETE, value.cast("binary")).alias(VALUE),
            sf.array(*(_header(name, value) for name, value in headers.items())).alias("headers"),
        )
        try:
            self._save(messages)
        except (PySparkException, Py4JJavaError) as error:
            if TOO_LARGE not in str(error):
                raise
            self._save(self._without_unfit(messages, changes, error))

    def _save(self, messages: DataFrame) -> None:
        messages.write.format(self.kind).options(**self.options).option("topic", self.target).save()

    def _without_unfit(self, messages: DataFrame, changes: OutputChanges, error: Exception) -> DataFrame:
        """The messages, with a deletion instead of each that is too large, which is diverted."""
        limit = int(self.options.get(LIMIT, 1 << 20)) - OVERHEAD
        size = sf.length(KEY) + sf.coalesce(sf.length(VALUE), sf.lit(0))
        keys = [bytes(row.key) for row in messages.where(size > limit).select(KEY).collect()]
        if not keys or changes.unfit is None:
            row = keys[0].decode(errors="replace") if keys else "not known: the broker has a smaller limit"
            raise ElementError(
                f"a row of `{changes.output}` cannot go to the topic {self.target}: its message is too large",
                facts=(("key", brief(row, 500)),),
                instead=((f'{{"{LIMIT}": "…"}}', "for larger messages, as far as the broker takes them"), *INSTEAD),
            ) from error
        known = {each.row for each in changes.unfit}
        rows = [row for row in (key.decode(errors="replace") for key in keys) if row not in known]
        changes.unfit.extend(Diverted(row, f"its message is larger than {LIMIT} allows") for row in rows)
        return messages.withColumn(VALUE, sf.when(size <= limit, sf.col(VALUE)))


def is_message(rows: KeyedOutput) -> bool:
    """Whether the rows are messages already: a key and a value, as texts or bytes."""
    kinds = [field.type for field in rows.schema]
    plain = all(pa.types.is_string(kind) or pa.types.is_binary(kind) for kind in kinds)
    return plain and rows.key == (KEY,) and set(rows.schema.names) == {KEY, VALUE}


JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""How rows are written: with all digits of a time. Spark's default has milliseconds, which makes keys equal."""


def _json(columns: Iterable[str]) -> Column:
    return sf.to_json(sf.struct(*(sf.col(quoted(name)) for name in columns)), JSON)


def _header(name: str, value: str) -> Column:
    return sf.struct(sf.lit(name).alias("key"), sf.lit(value).cast("binary").alias("value"))

"""The sink that replaces and deletes rows by their keys, wherever they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from flo.core.errors import FloError, Origin, TypeMismatch, UnknownNameError, brief
from flo.shards.tasks.output_files import Output
from flo.spark.driver.keyed_output import KeyedOutput, Upserting, identity_of
from flo.spark.driver.output_changes import Held, OutputChanges
from flo.spark.driver.sink_versions import expect_key
from flo.spark.driver.sinks import Sink
from flo.spark.driver.upsert_databases import DuckDB, PostgreSQL, SQLite
from flo.spark.driver.upsert_tables import DeltaTable, IcebergTable
from flo.spark.driver.upsert_topics import KafkaTopic

KINDS: dict[str, type[Upserting]] = {
    each.kind: each for each in (DeltaTable, IcebergTable, PostgreSQL, SQLite, DuckDB, KafkaTopic)
}


@dataclass
class Upsert(Sink):
    """Keeps the rows of an output in a table or a topic: for each key that changed its row is replaced or deleted.

    - `kind`: `"delta"`, `"iceberg"`, `"postgresql"`, `"sqlite"`, `"duckdb"` or `"kafka"`.
    - `target`: the table, or the topic. For Delta a path is a table, too.
    - `options`: `{"uri": …}` for a database, Spark's options for Kafka.
    - `key`: the columns of the key, if it does not follow from the program. Then it is checked: two rows with the same
      key end the query. Kafka cannot check that.

    Exactly once, except for Kafka: there the messages of a micro-batch may come twice, which changes nothing for a key.
    """

    kind: str
    target: str
    options: dict[str, Any] = field(default_factory=dict, repr=False)  # an address may have a password
    key: str | Sequence[str] | None = None
    rows: KeyedOutput | None = field(default=None, init=False, repr=False)
    """The output that it was bound to."""

    about = ("flo.spark.Upsert(kind, target)", "rows replaced and deleted by their keys, in a table or a topic")
    keeps_weight = True
    corrects = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError(
                f"`kind` of Upsert must be one of {', '.join(KINDS)}; got {brief(self.kind)}", where=Origin.here()
            )
        if not isinstance(self.target, str):
            raise TypeMismatch(
                f"`target` of Upsert must be the name of a table or a topic; got {brief(self.target)}",
                where=Origin.here(),
            )
        self._to = KINDS[self.kind](self.target, dict(self.options))

    @property
    def label(self) -> str:
        return f'Upsert("{self.kind}", "{self.target}")'

    def bound(self, spark: SparkSession, output: Output, key: tuple[str, ...] | None) -> Upsert:
        rows = KeyedOutput.of(output, key, self.key)
        if rows.declared and not self._to.checks_declared:
            raise TypeMismatch(
                f"{self.label} cannot check the declared key of the output `{output.name}`: it does not read the topic",
                facts=(("declared", ", ".join(rows.key)), ("known", ", ".join(key or ()) or "no key")),
                instead=((".distinct(on=…)", "one row for each key"), (".group_by(…).agg(…)", "one for each group")),
            )
        self._to.expect_fit(spark, rows)
        found = replace(self)
        found.rows, found._to.spark = rows, spark
        return found

    def held(self, checkpoint: str, output: str) -> Held | None:
        rows = self._bound_rows()
        held = self._to.held(identity_of(checkpoint, output), rows)
        expect_key(output, self, held, rows.key)
        return held

    def prepare(self, checkpoint: str, output: str) -> None:
        self._to.prepare(self._to.spark, self._bound_rows(), identity_of(checkpoint, output))

    def take(self, changes: OutputChanges) -> None:
        self._to.write(changes, self._bound_rows())

    def _bound_rows(self) -> KeyedOutput:
        if self.rows is None:
            raise FloError(f"{self.label} takes rows of an output that it was bound to, by `start`")
        return self.rows

"""Sinks of Spark: any format that its DataFrameWriter knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as sf

from flo.core.errors import FloError, TypeMismatch
from flo.shards.sinks.output_changes import DIVERTED, Held, OutputChanges, rows_of
from flo.shards.sinks.sink_choice import SINKS
from flo.shards.sinks.sinks import Sink
from flo.shards.tasks.output_files import Output
from flo.spark.driver.delta_history import USER_METADATA, held_by_delta, last_restore, metadata_of
from flo.spark.driver.spark_changes import SparkChanges
from flo.spark.session import hold_settings
from flo.sql.catalyst import quoted
from flo.tables.io.files import WEIGHTS
from flo.tables.values import layout_of

WITH_COLUMNS = frozenset(
    {"avro", "console", "csv", "delta", "hudi", "iceberg", "jdbc", "json", "noop", "orc", "parquet", "xml"}
)
"""Formats of Spark that write every column."""
OF_COLUMNS = {"kafka": ("key", "value", "headers", "topic", "partition")}
"""Formats of Spark that write some columns only, and leave the others out. `text` fails if there is more than one."""


def _frame(name: str, result: object) -> DataFrame:
    """Returns a result that has columns."""
    if not hasattr(result, "write"):
        raise FloError(f"the output `{name}` has no columns, so it can only be printed")
    return result  # type: ignore[return-value]  # of classic Spark or of Spark Connect


@dataclass
class SparkSink(Sink):
    """Writes to any sink of Spark. At least once; exactly once where the sink knows `txnVersion`, as Delta does.

    A format without a column for the weight gets each row as often as its weight says. `keeps_weight` says whether the
    format has one; Flo knows it for common formats.
    """

    format: str
    options: dict[str, Any] = field(default_factory=dict, repr=False)  # it may have secrets
    keeps_weight: bool = None  # type: ignore[assignment]  # known from the format

    about = ("flo.spark.SparkSink(format, options)", "any sink of Spark")

    def __post_init__(self) -> None:
        self._held: Held | None = None
        self._restored: int | None = None
        """The last version of a Delta table that restored an earlier one."""
        known = self.format.lower()
        if self.keeps_weight is None:
            self.keeps_weight = known in WITH_COLUMNS
        if self.keeps_weight and known in OF_COLUMNS:
            raise TypeMismatch(
                f"{self.label} cannot keep weights: it writes no columns but {', '.join(OF_COLUMNS[known])}",
                instead=(('flo.spark.Upsert("kafka", topic)', "rows by their keys, with deletions"),),
            ).at_users_line()

    @property
    def label(self) -> str:
        return f'SparkSink("{self.format}")'

    def bound(self, session: object, output: Output, key: tuple[str, ...] | None) -> Sink:
        self.expect_columns(output.name, layout_of(rows_of(output)).names)
        return self

    def expect_columns(self, output: str, columns: Sequence[str]) -> None:
        """Rejects columns that the format would leave out, or fail on."""
        known = OF_COLUMNS.get(self.format.lower())
        lost = [name for name in columns if known is not None and name not in known]
        if known is not None and lost:
            instead: tuple[tuple[str, str], ...] = (
                ("select(…)", "the columns that it writes"),
                ('flo.spark.Upsert("kafka", topic)', "all columns as JSON, by their key"),
            )
            if output.endswith(DIVERTED):
                instead = (
                    ('flo.spark.Upsert("kafka", topic, options)', "each diverted row as JSON"),
                    ('SparkSink("json" | "parquet" | "delta", …)', "a format that writes all columns"),
                )
            raise TypeMismatch(
                f"the output `{output}` has the column `{lost[0]}`, which {self.label} does not write",
                facts=(("it writes", ", ".join(known)),),
                instead=instead,
            )
        if self.format.lower() == "text" and len(columns) > 1:
            raise TypeMismatch(
                f"the output `{output}` has {len(columns)} columns, but {self.label} writes one",
                facts=(("columns", ", ".join(columns)),),
                instead=(('SparkSink("json" | "csv", …)', "text files with all columns"),),
            )

    def held(self, checkpoint: str, output: str) -> Held | None:
        """Delta keeps the version in its log; other formats do not."""
        if not self._is_delta:
            return Held(None)
        table = f"delta.{quoted(str(self.options['path']))}"
        spark = SparkSession.active()
        self._held, self._restored = (
            held_by_delta(spark, table, f"{checkpoint} {output}"),
            last_restore(spark, table),
        )
        return self._held

    @property
    def _is_delta(self) -> bool:
        return self.format.lower() == "delta" and "path" in self.options

    def take(self, changes: OutputChanges) -> None:
        identity = f"{changes.checkpoint} {changes.output}"
        # a table that was restored still remembers later transactions
        application = identity if self._restored is None else f"{identity} {self._restored}"
        known = {"txnAppId": application, "txnVersion": changes.version}
        assert isinstance(changes, SparkChanges)
        if not self._is_delta:
            self._append(changes, known)
        elif self._held is None or self._held.version != changes.version:
            held = Held(changes.version, changes.digest)
            with hold_settings(changes.spark, {USER_METADATA: metadata_of(identity, held)}):
                self._append(changes, known)
            self._held = held

    def _append(self, changes: SparkChanges, known: dict[str, object]) -> None:
        self.writer(changes.frame(), changes.weighted, **known).mode("append").save()

    def writer(self, frame: DataFrame, weighted: bool, **known: object) -> DataFrameWriter:
        """Returns the writer of the rows; `known` are options that the user's options override."""
        rows = frame if self.keeps_weight or not weighted else repeat_by_weight(frame)
        return rows.write.format(self.format).options(**{**known, **self.options})

    def write_result(self, name: str, result: object) -> bool:
        frame = _frame(name, result)
        self.writer(frame, WEIGHTS in frame.columns).save()
        return True

    def suggest_weights(self) -> tuple[tuple[str, str], ...]:
        if self.format.lower() in (*OF_COLUMNS, "text"):
            return ()
        return ((f'SparkSink("{self.format}", …, keeps_weight=True)', "if it writes all columns, `_weight` too"),)


SINKS.append(SparkSink)


def repeat_by_weight(frame: DataFrame) -> DataFrame:
    """Returns a frame with each row as often as its weight says, and without weights."""
    weight = sf.col(WEIGHTS)
    below = sf.raise_error(sf.lit("a row is retracted, but the sink does not keep weights"))
    times = sf.when(weight > 0, weight).otherwise(below).cast("int")
    return frame.withColumn(WEIGHTS, sf.explode(sf.array_repeat(sf.lit(1), times))).drop(WEIGHTS)

"""Views: outputs at a committed version, read from the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.functions import sum as total

from flo.core.collection import Form, FormedValue
from flo.core.errors import CheckpointError, UnknownNameError
from flo.spark.checkpoint.commits import committed_versions, read_commit, read_state_versions
from flo.spark.checkpoint.program_changes import DESCRIPTION, read_description
from flo.spark.driver.micro_batches import MicroBatches
from flo.spark.session import hold_on_executors, read_frame
from flo.spark.tasks.output_files import VIEW, Output
from flo.spark.tasks.shard_record import PLACE
from flo.spark.tasks.state import shard_path, state_folder
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import Store, missing_file_error
from flo.tables.io.files import WEIGHTS
from flo.tables.keyed import has_key_columns, keyed_rows_of
from flo.tables.state.trace import Trace, consolidate_table
from flo.tables.streams import STREAM, has_columns, streams_of
from flo.tables.values import WEIGHT, Columns, Rows, is_ordered, layout_of
from flo.values.element_value import ElementCollection


@dataclass(frozen=True)
class View:
    """An output at a version."""

    folder: str
    name: str
    version: int
    batches: MicroBatches | None = None
    """The running program, if there is one. A view without columns cannot be read without it."""

    @classmethod
    def of(cls, folder: str, name: str, version: int | None = None, batches: MicroBatches | None = None) -> View:
        """The view at the newest version, or at one that is still kept."""
        newest = cls.newest(folder)
        if version is not None and version not in (versions := committed_versions(folder)):
            kept = ", ".join(map(str, versions))
            raise CheckpointError(f"version {version} of `{name}` is no longer kept", facts=(("kept", kept),))
        version = newest if version is None else version
        read_commit(folder, version)
        return cls(folder, name, version, batches)

    @staticmethod
    def newest(folder: str) -> int:
        """The newest committed version."""
        versions = committed_versions(folder)
        if not versions:
            raise CheckpointError(f"no micro-batch is committed yet in {folder!r}")
        return versions[-1]

    def value(self) -> Any:
        """The value as plain Python, as `flow.run` returns it."""
        output = self._output
        of = output.type.collection
        if isinstance(of, Columns):
            table = self.arrow()
            if not is_ordered(of.base):
                weights = table[WEIGHTS] if WEIGHTS in table.column_names else pa.array([1] * table.num_rows)
                table = table.select(layout_of(of.base).names).append_column(WEIGHT, weights)
            return of.base.plain(Rows(of.base, table).value())
        return of.plain(self._sum_of_shards())

    def _sum_of_shards(self) -> Any:
        """The value of an output without columns."""
        total = self._output.type.collection.bottom()
        assert self.batches is not None
        for _, record in self.batches.read_records(self._output, self.version):
            if self.name in record.views:
                total = total.concat(record.views[self.name])
        return total

    def _shard_views(self) -> list[ShardView]:
        """The part of each shard. Empty if the output has no columns, or is not a view."""
        found = []
        shards = self._shards()
        state = state_folder(self.folder, shards)
        for level, versions in read_state_versions(self.folder, self.version, shards).items():
            for shard, changed in versions.states():
                store = state.within(shard_path(level, shard))
                view = Store(store).manifest(changed)["more"]["views"].get(self.name)
                if view is not None:
                    schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(view["schema"])))
                    columns, runs = tuple(view["columns"]), tuple(view["runs"])
                    found.append(ShardView(str(store), columns, runs, schema, view["kind"]))
        return found

    def _shards(self) -> int:
        if self.batches is not None:
            return self.batches.shards
        description = read_description(self.folder)
        if description is None:
            raise missing_file_error(folder(self.folder), DESCRIPTION)
        return int(description["shards"])

    def arrow(self) -> pa.Table:
        """The rows, each once: with `_weight` if the output has weights, in order if it is ordered.

        A keyed stream has the key beside its elements, a stream of streams the number of the inner stream. Any other
        value without columns is one row.
        """
        parts = self._shard_views()
        if parts:
            return _consolidate(pa.concat_tables([each.table() for each in parts]), parts[0].kind)
        outputs = self.batches.outputs if self.batches is not None else []
        if self.name not in {output.name for output in outputs if output.how == VIEW}:
            raise UnknownNameError(f"this query has no view `{self.name}`", facts=(("checkpoint", self.folder),))
        return make_rows(self._output.type.collection, self._sum_of_shards())

    def table_or_value(self) -> Any:
        """A table, or plain Python if the output has no columns."""
        has_table = self.batches is None or isinstance(self._output.type.collection, Columns)
        return self.arrow() if has_table else self.value()

    @property
    def _output(self) -> Output:
        assert self.batches is not None, "needs the query that runs the program"
        return next(output for output in self.batches.outputs if output.name == self.name)

    def polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        import polars

        return polars.from_arrow(self.arrow())

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of this version as a DataFrame, read by executors. It does not change when the query continues."""
        parts = self._shard_views()
        if not parts:
            return spark.createDataFrame(self.arrow())
        schema = _consolidate(parts[0].schema.empty_table(), parts[0].kind).schema
        full = [each for each in parts if each.runs]
        if len(full) <= 1:  # with more, equal rows may be in several shards
            return hold_on_executors(read_frame(spark, schema, ShardView.rows, full))
        names = [name for name in schema.names if name != WEIGHTS]
        rows = (
            read_frame(spark, parts[0].schema, ShardView.table, full).groupBy(*names).agg(total(WEIGHT).alias(WEIGHTS))
        )
        rows = rows.where(col(WEIGHTS) > 0 if parts[0].kind in ("Set", "Bag") else col(WEIGHTS) != 0)
        return hold_on_executors(rows.select(*schema.names))


@dataclass(frozen=True)
class ShardView:
    """The part of a view with columns that one shard keeps."""

    folder: str
    columns: tuple[str, ...]
    runs: tuple[str, ...]
    schema: pa.Schema
    kind: str

    def table(self) -> pa.Table:
        """All changes, as the trace holds them."""
        store = Store(folder(self.folder))
        table = Trace(self.columns, tuple(store.get(self.columns, name) for name in self.runs)).table()
        return self.schema.empty_table() if table is None else table

    def rows(self) -> pa.Table:
        """The rows as users see them."""
        return _consolidate(self.table(), self.kind)


def make_rows(of: Any, value: Any) -> pa.Table:
    """A value without columns of its own, as a table."""
    of = of.base if isinstance(of, Form) else of
    value = value.value() if isinstance(value, FormedValue) else value
    if has_key_columns(of):
        return _with_weights(keyed_rows_of(of, value).table)
    if has_columns(of) and len(of.inner) == 1:
        table = streams_of(of, value).tables[0]
        return _with_weights(
            table.rename_columns(["stream" if name == STREAM else name for name in table.column_names])
        )
    plain = of.plain(value)
    if not isinstance(of, ElementCollection):
        return pa.table({"value": _make_column([plain])})
    if isinstance(plain, dict):
        return pa.table({"value": _make_column(list(plain)), WEIGHTS: list(plain.values())})
    return pa.table({"value": _make_column(list(plain))})


def _make_column(items: list[Any]) -> pa.Array:
    """The items as Arrow values, or as text if Arrow has no type for them."""
    try:
        return pa.array(items)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array(list(map(repr, items)))


def _with_weights(table: pa.Table) -> pa.Table:
    """Renames the weight column to the one that users see."""
    return table.rename_columns([WEIGHTS if name == WEIGHT else name for name in table.column_names])


def _consolidate(table: pa.Table, kind: str) -> pa.Table:
    """Adds up the weights of equal rows; sorts a sequence; drops columns that users do not see."""
    if kind == "Sequence":
        return table.sort_by(PLACE).drop_columns([PLACE, WEIGHT])
    if table.num_rows:
        names = [name for name in table.column_names if name != WEIGHT]
        table = consolidate_table(table.select([*names, WEIGHT]))
    if kind in ("Set", "Bag"):
        table = table.filter(pc.greater(table[WEIGHT], 0))
    if kind == "Set":
        return table.drop_columns([WEIGHT])
    return _with_weights(table)

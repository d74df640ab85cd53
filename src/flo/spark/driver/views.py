"""Views: outputs as they stood after a turn, read from the state, all at one version."""

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
from flo.spark.checkpoint.files import ABOUT, about, committed, read_commit, standing_at
from flo.spark.driver.turns import Turns
from flo.spark.session import frame_of, snapshot
from flo.spark.tasks.kept import PLACE, VIEW, Output
from flo.spark.tasks.state import place_of, state_of
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import Store, missing
from flo.tables.io.files import WEIGHTS
from flo.tables.keyed import has_key_columns, keyed_rows_of
from flo.tables.state.trace import Trace, added_up
from flo.tables.streams import STREAM, has_columns, streams_of
from flo.tables.values import WEIGHT, Columns, Rows, layout_of, ordered
from flo.values.element_value import ElementCollection


@dataclass(frozen=True)
class View:
    """An output at a version."""

    folder: str
    name: str
    version: int
    turns: Turns | None = None
    """The program, if it is at hand: what has no columns is read with it."""

    @classmethod
    def of(cls, folder: str, name: str, version: int | None = None, turns: Turns | None = None) -> View:
        """The newest, or one that is still kept."""
        newest = cls.newest(folder)
        if version is not None and version not in (versions := committed(folder)):
            kept = ", ".join(map(str, versions))
            raise CheckpointError(f"the version {version} of `{name}` is not kept", facts=(("kept", kept),))
        version = newest if version is None else version
        read_commit(folder, version)
        return cls(folder, name, version, turns)

    @staticmethod
    def newest(folder: str) -> int:
        """The last version that was committed."""
        versions = committed(folder)
        if not versions:
            raise CheckpointError(f"no turn was committed yet in {folder!r}")
        return versions[-1]

    def value(self) -> Any:
        """As plain Python, as `flow.run` gives it."""
        output = self._output
        of = output.type.collection
        if isinstance(of, Columns):
            table = self.arrow()
            if not ordered(of.base):
                weights = table[WEIGHTS] if WEIGHTS in table.column_names else pa.array([1] * table.num_rows)
                table = table.select(layout_of(of.base).names).append_column(WEIGHT, weights)
            return of.base.plain(Rows(of.base, table).value())
        return of.plain(self._whole())

    def _whole(self) -> Any:
        """The value of an output without columns."""
        whole = self._output.type.collection.bottom()
        assert self.turns is not None
        for _, kept in self.turns.kept(self._output, self.version):
            if self.name in kept.views:
                whole = whole.concat(kept.views[self.name])
        return whole

    def _held(self) -> list[Held]:
        """What every shard keeps of it. Empty if it has no columns, or is none."""
        found = []
        shards = self._shards()
        state = state_of(self.folder, shards)
        for level, standing in standing_at(self.folder, self.version, shards).items():
            for shard, changed in standing.states():
                store = state.within(place_of(level, shard))
                view = Store(store).manifest(changed)["more"]["views"].get(self.name)
                if view is not None:
                    schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(view["schema"])))
                    columns, runs = tuple(view["columns"]), tuple(view["runs"])
                    found.append(Held(str(store), columns, runs, schema, view["kind"]))
        return found

    def _shards(self) -> int:
        if self.turns is not None:
            return self.turns.shards
        content = about(self.folder)
        if content is None:
            raise missing(folder(self.folder), ABOUT)
        return int(content["shards"])

    def arrow(self) -> pa.Table:
        """The rows, each once: with `_weight` where the output has weights, in order where it has one.

        What has no columns of its own: the key beside the elements, the number of the inner stream beside its elements,
        or one row.
        """
        held = self._held()
        if held:
            return _shown(pa.concat_tables([each.table() for each in held]), held[0].kind)
        if self.turns is None or self.name not in {output.name for output in self.turns.outputs if output.how == VIEW}:
            raise UnknownNameError(f"`{self.name}` is no view of this query", facts=(("checkpoint", self.folder),))
        return as_rows(self._output.type.collection, self._whole())

    def shown(self) -> Any:
        """As a table, or as plain Python where there are no columns."""
        return self.arrow() if self.turns is None or isinstance(self._output.type.collection, Columns) else self.value()

    @property
    def _output(self) -> Output:
        assert self.turns is not None, "only the query that runs the program can tell"
        return next(output for output in self.turns.outputs if output.name == self.name)

    def polars(self) -> Any:
        import polars

        return polars.from_arrow(self.arrow())

    def frame(self, spark: SparkSession) -> DataFrame:
        """As a DataFrame, read by executors: the rows of this version, also when the query has gone on."""
        held = self._held()
        if not held:
            return spark.createDataFrame(self.arrow())
        schema = _shown(held[0].schema.empty_table(), held[0].kind).schema
        full = [each for each in held if each.runs]
        if len(full) <= 1:  # else equal rows may be in several shards
            return snapshot(frame_of(spark, schema, Held.shown, full))
        names = [name for name in schema.names if name != WEIGHTS]
        rows = frame_of(spark, held[0].schema, Held.table, full).groupBy(*names).agg(total(WEIGHT).alias(WEIGHTS))
        rows = rows.where(col(WEIGHTS) > 0 if held[0].kind in ("Set", "Bag") else col(WEIGHTS) != 0)
        return snapshot(rows.select(*schema.names))


@dataclass(frozen=True)
class Held:
    """What one shard keeps of a view with columns."""

    folder: str
    columns: tuple[str, ...]
    runs: tuple[str, ...]
    schema: pa.Schema
    kind: str

    def table(self) -> pa.Table:
        store = Store(folder(self.folder))
        table = Trace(self.columns, tuple(store.get(self.columns, name) for name in self.runs)).table()
        return self.schema.empty_table() if table is None else table

    def shown(self) -> pa.Table:
        return _shown(self.table(), self.kind)


def as_rows(of: Any, value: Any) -> pa.Table:
    """A value without columns of its own, as well as a table can have it."""
    of = of.base if isinstance(of, Form) else of
    value = value.value() if isinstance(value, FormedValue) else value
    if has_key_columns(of):
        return _weighted(keyed_rows_of(of, value).table)
    if has_columns(of) and len(of.inner) == 1:
        table = streams_of(of, value).tables[0]
        return _weighted(table.rename_columns(["stream" if name == STREAM else name for name in table.column_names]))
    plain = of.plain(value)
    if not isinstance(of, ElementCollection):
        return pa.table({"value": _column([plain])})
    if isinstance(plain, dict):
        return pa.table({"value": _column(list(plain)), WEIGHTS: list(plain.values())})
    return pa.table({"value": _column(list(plain))})


def _column(items: list[Any]) -> pa.Array:
    """As Arrow has them, or as people write them."""
    try:
        return pa.array(items)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array(list(map(repr, items)))


def _weighted(table: pa.Table) -> pa.Table:
    return table.rename_columns([WEIGHTS if name == WEIGHT else name for name in table.column_names])


def _shown(table: pa.Table, kind: str) -> pa.Table:
    if kind == "Sequence":
        return table.sort_by(PLACE).drop_columns([PLACE, WEIGHT])
    if table.num_rows:
        names = [name for name in table.column_names if name != WEIGHT]
        table = added_up(table.select([*names, WEIGHT]))
    if kind in ("Set", "Bag"):
        table = table.filter(pc.greater(table[WEIGHT], 0))
    if kind == "Set":
        return table.drop_columns([WEIGHT])
    return _weighted(table)

"""The data source `flo` of Spark: reads views of a checkpoint, or a folder of changes, while a query runs or later.

A version never changes, so a stream of changes has versions as its offsets: what lies between two of them is
the same whenever it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from flo.core.errors import CheckpointError, ElementError, FloError, UnknownNameError
from flo.core.untyped import Json
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.tasks.view_filters import Condition, condition_of, filter_rows
from flo.shards.tasks.view_parts import ROWS, repeat_rows
from flo.spark.arrow_rows import arrow_schema
from flo.tables.checkpoint.folders import folder
from flo.tables.io.files import WEIGHTS

if find_spec("pyspark.sql.streaming.datasource") is None or TYPE_CHECKING:

    class SupportsTriggerAvailableNow:
        """Spark 4.1 does not have it, and reads what is there now in one micro-batch."""

else:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow


NOTHING = -1
"""The version before the first: a view without rows."""
VERSION, CHECKPOINT = "version", "checkpoint"
"""The parts of an offset: a version, and the id of its checkpoint."""
Offset = dict[str, Json]
PROVIDER, OPTIONS = "provider", "flo"
"""A property that tables of the catalog have, and the metadata of their first column that keeps the options."""


@dataclass(frozen=True)
class Request:
    """What the options of a reader ask for."""

    path: str
    """A checkpoint, or a folder of changes."""
    view: str
    """The view of a checkpoint; empty for a folder of changes."""
    version: int | None
    """The version to read; None is the newest."""
    changes: bool
    """Whether rows come once, with `_weight`."""
    starting_version: int | None
    """The version whose changes come first; None starts with all rows."""

    in_catalog: bool = False
    """Whether a table is made, which Spark reads without its options."""

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType | None = None) -> Request:
        """The request of a user. Names of options are in any case. A table of the catalog has them in its schema."""
        kept = schema.fields[0].metadata.get(OPTIONS, {}) if schema is not None and schema.fields else {}
        given = {**kept, **{name.lower(): value for name, value in options.items()}}
        for name, example in (("path", 'load("checkpoint")'), ("view", 'option("view", "revenue")')):
            if name not in given and not (name == "view" and has_changes(given["path"])):
                raise UnknownNameError(f"the data source `flo` needs the option `{name}`", instead=((example, ""),))
        changes = given.get("changes", "false").lower()
        if changes not in ("true", "false"):
            raise ElementError(f"the option `changes` must be true or false; got {changes!r}")
        version, start = (_version(name, given.get(name.lower())) for name in ("version", "startingVersion"))
        if start is not None and changes != "true":
            raise ElementError("the option `startingVersion` is for changes", instead=(_CHANGES,))
        where = str(folder(given["path"]))  # tasks may have another working directory
        return cls(where, given.get("view", ""), version, changes == "true", start, PROVIDER in given)

    def schema(self) -> StructType:
        """The columns, and `_weight` if changes are read."""
        columns = self.stored().schema(self.view, self.version)
        if not self.changes:
            columns = columns.remove(len(columns) - 1)
        schema = from_arrow_schema(columns, prefer_timestamp_ntz=True)
        if self.in_catalog and schema.fields:
            schema.fields[0].metadata = {OPTIONS: self._options()}
        return schema

    def _options(self) -> dict[str, str]:
        given = {"path": self.path, "view": self.view, "changes": str(self.changes).lower()}
        versions = {"version": self.version, "startingversion": self.starting_version}
        return given | {name: str(version) for name, version in versions.items() if version is not None}

    def stored(self) -> Any:
        """What is stored at the path: views or changes."""
        from flo.shards.checkpoint.change_folders import StoredChanges
        from flo.shards.checkpoint.stored_views import StoredViews

        return StoredViews(self.path) if self.view else StoredChanges(self.path)

    def versions(self) -> list[int]:
        """The versions that can be read now, in order."""
        return committed_versions(self.path) if self.view else self.stored().versions()

    def first_offset(self) -> int:
        """The version that changes are read after."""
        return NOTHING if self.starting_version is None else self.starting_version - 1

    def partitions(self, start: int, end: int | None) -> list[InputPartition]:
        """The changes after one version up to another, by default the newest, as parts with the versions they need."""
        last = max(self.versions(), default=start) if end is None else end
        if start > last:
            raise ElementError(f"the changes after version {start} are later than version {last}")
        parts, versions = self.stored().parts(self.view, start, end)
        return [InputPartition((part, versions)) for part in parts]


_CHANGES = ('option("changes", "true")', f"reads every row once, with its `{WEIGHTS}`")


def has_changes(path: str) -> bool:
    from flo.shards.checkpoint.change_folders import has_changes

    return has_changes(path)


def _version(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise ElementError(f"the option `{name}` must be an integer ≥ 0; got {text!r}")
    return int(text)


def read_part(
    request: Request, schema: StructType, partition: InputPartition, conditions: tuple[Condition, ...] = ()
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a part, in the types that Spark expects. Runs in a task."""
    if partition.value is None:  # of a view without rows
        return
    part, versions = partition.value
    wanted = arrow_schema(schema)
    try:
        table = part.changes() if request.changes else part.rows()
    except CheckpointError:
        gone = set(versions) - set(request.versions())
        if gone:
            raise _removed(request, min(gone)) from None
        raise
    table = filter_rows(table, conditions)
    for batch in table.to_batches(ROWS) if request.changes else repeat_rows(table):
        yield from pa.Table.from_batches([batch]).select(wanted.names).cast(wanted).combine_chunks().to_batches()


def _removed(request: Request, version: int) -> CheckpointError:
    return CheckpointError(
        f"version {version} of `{request.view or request.path}` was removed while it was read",
        facts=(("path", request.path),),
        instead=(
            ("start(…, keep=100)", "keeps more versions"),
            ('start(…, keep="1 day")', "keeps them longer"),
        ),
    )


class ViewReader(DataSourceReader):
    """Reads rows at a version."""

    def __init__(self, request: Request, schema: StructType) -> None:
        self.request, self.schema = request, schema
        self.conditions: tuple[Condition, ...] = ()

    @property
    def pushFilters(self) -> Any:
        return _PushFilters(self)

    def partitions(self) -> Sequence[InputPartition]:
        return self.request.partitions(self.request.first_offset(), self.request.version)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_part(self.request, self.schema, partition, self.conditions)


class _PushFilters:
    """The method `pushFilters` of a reader.

    Spark rejects a reader that has one unless `spark.sql.python.filterPushdown.enabled` is true, which it is not by
    default. A filter that is not pushed is evaluated by Spark, so this reader works either way: it passes for one that
    inherits the method.
    """

    def __init__(self, reader: ViewReader) -> None:
        self.reader = reader
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        kinds = arrow_schema(self.reader.schema)
        translated = [(each, condition_of(each, kinds)) for each in filters]
        self.reader.conditions = tuple(condition for _, condition in translated if condition is not None)
        return [each for each, condition in translated if condition is None]


class ChangesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads changes as a stream. An offset is the version up to which changes were read."""

    def __init__(self, request: Request, schema: StructType) -> None:
        if not request.changes:
            raise FloError("a stream reads the changes of a view", instead=(_CHANGES,))
        if request.version is not None:
            raise FloError(
                "a stream reads all versions of a view",
                instead=(('option("startingVersion", …)', "the version whose changes come first"),),
            )
        self.request, self.schema = request, schema
        self.last: int | None = None
        """The version to stop at, of a query that reads what is there now."""

    def prepareForTriggerAvailableNow(self) -> None:
        self.last = max(self.request.versions(), default=NOTHING)

    def initialOffset(self) -> Offset:
        """The version before the first changes. Raises if they cannot be read."""
        start = self.request.first_offset()
        if start != NOTHING:
            self.request.partitions(start, start)
        return self._offset(start)

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:
        """The newest version. Spark before 4.2 calls it without arguments."""
        newest = self.last
        if newest is None:
            newest = max(self.request.versions(), default=NOTHING)
        return self._offset(newest)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if any(each != self._offset(int(each[VERSION])) for each in (start, end)):
            raise CheckpointError(
                "the checkpoint was replaced by another one since its changes were read, or went back to a version"
                " before them",
                facts=(("path", self.request.path),),
                instead=(("another checkpointLocation", "reads all rows as they are now"),),
            )
        return self.request.partitions(int(start[VERSION]), int(end[VERSION])) if start != end else []

    def _offset(self, version: int) -> Offset:
        """A version, and the checkpoint that it is of. Versions of different checkpoints have equal numbers."""
        return {VERSION: version, CHECKPOINT: self.request.stored().id_at(version)}

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_part(self.request, self.schema, partition)

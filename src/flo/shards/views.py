"""Views: outputs at a committed version, read from the state.

    commits    7, 8                 View(folder, "sums", 8).arrow()
    view sums  shard 0: runs        key  sum  _weight
               shard 1: runs        a    7    1
                                    b    3    1

Invariant: a view is what the changes of an output up to its version add up to, from all shards. Only committed versions
that are still kept can be read.

An output with columns is read from the files (checkpoint/stored_views.py), also without the program. A value without
columns is the sum of what the shards have; only the running program can read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from flo.columns.narrowing import marked_schema, to_users
from flo.core.collection import Form, FormedValue
from flo.core.errors import CheckpointError, UnknownNameError
from flo.pictures.notebook import MOST_ROWS, html_block, html_table
from flo.shards.checkpoint.commits import committed_versions, read_commit
from flo.shards.checkpoint.program_changes import read_shards
from flo.shards.checkpoint.stored_views import StoredView, version_error
from flo.shards.micro_batches import MicroBatches
from flo.shards.tasks.output_files import VIEW, Output
from flo.shards.tasks.view_parts import empty_rows
from flo.tables.io.changes import add_weights, with_own_weights, with_users_weights
from flo.tables.io.files import WEIGHTS
from flo.tables.keyed import has_key_columns, keyed_rows_of
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
    def of(cls, folder: str, name: str, version: int | None = None, batches: MicroBatches | None = None) -> Self:
        """The view at the newest version, or at one that is still kept."""
        newest = cls.newest(folder)
        if version is not None and version not in (versions := committed_versions(folder)):
            raise version_error(folder, name, version, versions)
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
            table = self._rows(in_state=True)
            if not is_ordered(of.base):
                table = with_own_weights(add_weights(table)).select([*layout_of(of.base).names, WEIGHT])
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

    def _stored(self) -> StoredView | None:
        """The view as it is stored. None if the output has no columns, or is not a view."""
        batches = self.batches
        shards = read_shards(self.folder, self.version) if batches is None else batches.shards_at(self.version)
        return StoredView.read(self.folder, self.name, self.version, shards)

    def arrow(self) -> pa.Table:
        """The rows, each once: with `_weight` if the output has weights, in order if it is ordered.

        A keyed stream has the key beside its elements, a stream of streams the number of the inner stream. Any other
        value without columns is one row.
        """
        return self._rows()

    def _rows(self, in_state: bool = False) -> pa.Table:
        """The rows as users get them, or with the columns that the state has."""
        stored = self._stored()
        if stored is not None:
            stored = stored.in_state() if in_state else stored
            empty = empty_rows(stored.kind, stored.schema)
            return pa.concat_tables([empty, *(part.rows() for part in stored.parts())])
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

    def _repr_html_(self) -> str:
        rows = self.first_rows(MOST_ROWS + 1)
        title = f"{self.name}, version {self.version}"
        return html_block(html_table(rows.column_names, (list(row.values()) for row in rows.to_pylist()), title))

    def first_rows(self, count: int) -> pa.Table:
        """Some of the rows. Of a large view, not all parts are read."""
        stored = self._stored()
        if stored is None:
            return self.arrow().slice(0, count)
        rows = empty_rows(stored.kind, stored.schema)
        for part in stored.parts():
            rows = pa.concat_tables([rows, part.rows()])
            if rows.num_rows >= count:
                break
        return rows.slice(0, count)

    def polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        import polars

        return polars.from_arrow(self.arrow())


def make_rows(of: Any, value: Any) -> pa.Table:
    """A value without columns of its own, as a table."""
    of = of.base if isinstance(of, Form) else of
    value = value.value() if isinstance(value, FormedValue) else value
    if has_key_columns(of):
        return _with_weights(of.inner, keyed_rows_of(of, value).table)
    if has_columns(of) and len(of.inner) == 1:
        table = streams_of(of, value).tables[0]
        named = table.rename_columns(["stream" if name == STREAM else name for name in table.column_names])
        return _with_weights(of.inner[0].collection, named)
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


def _with_weights(of: Any, table: pa.Table) -> pa.Table:
    """The rows of a collection as users get them, with the weight column that they see."""
    return with_users_weights(to_users(table, marked_schema(layout_of(of))))

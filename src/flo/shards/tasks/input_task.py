"""The task at the inputs: checks rows, diverts those that do not fit, and sends the rest to their shards.

The rows of all scans come in the same columns, so that one task can read several. The first column has the number of
the scan; each other one holds a column of every scan that has another one of that type:

    scan  text    number          orders(shop: str, price: int)      shops(name: str)
    0     a       3               (a, 3)
    0     b       null            does not fit: diverted
    1     a       null                                               (a)

A scan may be that of several inputs. Each has its columns, and one that says which of the rows it keeps.

    out: blobs for the shards of these rows, and a report: rows taken, and files of diverted rows

Invariant: every row of an input is either sent or diverted, and counted once. Without `on_error="divert"`, the first
row that does not fit is an error. If a function of the user raises, the rows are halved until the row at fault is
alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import flo.tables.operators  # noqa: F401  # registers the operators that a pickled program names
from flo.columns.indices import with_all_buffers
from flo.core.collection import Value
from flo.core.errors import ElementError, FloError, OrderError, brief
from flo.core.nested import Nested
from flo.shards.plan.stages import POSITION, Entry
from flo.shards.tasks import context
from flo.shards.tasks.blobs import Blob, report_blob
from flo.shards.tasks.context import Code
from flo.shards.tasks.figures import add_work
from flo.shards.tasks.hot_keys import Hot
from flo.shards.tasks.output_files import write_diverted
from flo.shards.tasks.sending import Parcel, Sender, without_end
from flo.shards.tasks.short_decimals import with_points
from flo.tables.dataflow import Work
from flo.tables.io.diverted import INSTEAD, Diverted
from flo.tables.io.files import Piece
from flo.tables.io.fitting import Unfit, fit_rows
from flo.tables.keyed import KeyedColumns
from flo.tables.streams import Streams, add_stream_numbers, has_columns, inner_of
from flo.tables.values import WEIGHT, Columns, Rows, is_ordered, layout_of
from flo.values.partitioned import Partitioned

AT_ONCE = 1 << 18
"""How many rows of an input are processed together, at least."""
PARTITION, OFFSET = "partition", "offset"
"""Columns of sources such as Kafka."""
MALFORMED = "_malformed"
"""The column of a source that has the diverted row of a message that it could not decode, or null."""
T = TypeVar("T")


@dataclass(frozen=True)
class InputColumns:
    """An input as tasks know it: its operators, and where its columns are in the rows of all scans."""

    code: Code
    """The entry, its deliveries, and the name of the input."""
    columns: tuple[tuple[str, int], ...]
    """The names of its columns, and their indices after the number of the scan."""
    position: str | None = None
    partition: str | None = None
    """The column with the partition of a row, if the input is partitioned."""
    checks: Code | None = None
    """Another entry that rows must pass, too: one on which it raises is diverted. The rest of a program, in a fill."""
    kept: int | None = None
    """The index of the column that says which rows of its scan the input keeps; None if it keeps all."""
    decimals: tuple[tuple[int, pa.DataType], ...] = ()
    """The places of decimals that are sent as integers, among its columns, and their types."""

    def own(self, rows: pa.Table) -> pa.Table:
        """The rows of the input, with its columns alone."""
        own = pa.table([rows.column(1 + index) for _, index in self.columns], [name for name, _ in self.columns])
        own = own if self.kept is None else own.filter(rows.column(1 + self.kept))
        for place, kind in self.decimals:
            own = own.set_column(place, own.column_names[place], with_points(own.column(place), kind))
        return own


@dataclass(frozen=True)
class InputTask:
    """Reads the rows of inputs, runs the operators that need no shuffle, and sends the results to shards."""

    scans: tuple[tuple[InputColumns, ...], ...]
    """The inputs of each scan."""
    shards: int
    divert_to: str | None = None
    """The checkpoint that diverted rows are written to; None if a row that does not fit is an error."""
    hot: Hot = field(default_factory=dict)
    """The hot keys of joins."""
    blobs: str | None = None
    """The folder for large blobs, if there is one."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (blob.batch(self.blobs) for blob in self.run(context.task_number(), batches))

    def run(self, origin: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Blob]:
        """Yields what it sends, and the report. `origin` is the number of the task."""
        loaded = [[(each, *each.code.load()) for each in scan] for scan in self.scans]
        every = tuple(delivery for scan in loaded for _, _, deliveries, _ in scan for delivery in deliveries)
        sender = Sender(every, self.shards, origin, self.hot)
        started, work = time.monotonic(), dict[str, Work]()
        scans: list[list[tuple[InputColumns, RowReader[list[Parcel]]]]] = [[] for _ in loaded]
        for scan, inputs in zip(scans, loaded, strict=True):
            for each, entry, _, name in inputs:
                run = partial(_run_checked, sender, each.checks, work)
                scan.append((each, RowReader(name, entry, run, each.position, each.partition, self.divert_to)))
        received = 0
        try:
            for number, slices in groupby(_slices_of_scans(batches), itemgetter(0)):
                for table in combine_batches(rows for _, rows in slices):
                    received += table.nbytes
                    for each, reader in scans[number]:
                        if (own := each.own(table)).num_rows:
                            for parcels in reader.read(own):
                                sender.add(parcels)
            yield from sender.blobs()
            readers = [reader for scan in scans for _, reader in scan]
            taken = {reader.name: reader.taken for reader in readers}
            files = {reader.name: reader.files for reader in readers if self.divert_to is not None}
            figures = {"work": work, "input_seconds": time.monotonic() - started, "hot": sender.newly_hot}
            yield report_blob(0, origin, {"taken": taken, "diverted": files, "received": received, **figures})
        except FloError as error:
            yield report_blob(0, origin, error)


def _slices_of_scans(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Slices with the rows of one scan each, and its number."""
    for batch in batches:
        numbers = batch.column(0).to_numpy()
        starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]).tolist()
        for low, high in pairwise([*starts, len(numbers)]):
            yield int(numbers[low]), batch.slice(low, high - low)


def _run_checked(sender: Sender, checks: Code | None, work: dict[str, Work], entry: Entry, value: Any) -> list[Parcel]:
    """Runs an entry, after another one whose results nobody needs."""
    if checks is not None and not isinstance(value, InnerRows):
        _run_operators(checks.load(), value)
    return run_entry(sender, entry, value, work)


def run_entry(sender: Sender, entry: Entry, value: Any, work: dict[str, Work] | None = None) -> list[Parcel]:
    """Runs the operators of an entry on some rows, and addresses the results. Adds what they did to `work`."""
    inner = isinstance(value, InnerRows)
    results = (value,) * len(entry.outputs) if inner else _run_operators(entry, value, work)
    streams = zip(entry.outputs, results, strict=True)
    return [parcel for stream, each in streams for parcel in sender.address(stream, each)]


def _run_operators(entry: Entry, value: Value, work: dict[str, Work] | None = None) -> tuple[Value, ...]:
    """The outputs of an entry for some rows."""
    loop = entry.dataflow.metered()
    loop.push((value,))
    loop.run()
    if work is not None:
        add_work(work, loop.work())
    return tuple(without_end(loop.pull(index)) for index in range(len(entry.outputs)))


def combine_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combines small batches into tables of at least `AT_ONCE` rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(with_all_buffers(batch))
        rows += batch.num_rows
        if rows >= AT_ONCE:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting).combine_chunks()


@dataclass(frozen=True)
class InnerRows:
    """Rows of an input that is a stream of streams: each micro-batch is one inner stream."""

    table: pa.Table

    def size(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)


def make_inner_stream(of: Nested[Any], pieces: list[InnerRows], sort: Callable[[pa.Table], pa.Table]) -> Value:
    """All rows of a micro-batch as one inner stream, which has ended."""
    table = pa.concat_tables([piece.table for piece in pieces])
    if POSITION in table.column_names:
        table = sort(table).drop_columns([POSITION])
    return Streams(of, 1, (add_stream_numbers(table, np.zeros(table.num_rows, np.int64)),)).value()


def row_collection(of: Any) -> Any:
    """The collection whose elements are the rows of an input; None if the input has no rows."""
    if isinstance(of, Nested):
        return inner_of(of)[0] if len(of.inner) == 1 and has_columns(of) else None
    if isinstance(of, KeyedColumns):
        return of.base.inner if is_partitioned(of) else None
    return of.base if isinstance(of, Columns) else None


def is_partitioned(of: Any) -> bool:
    """Whether the rows of an input are in partitions, each with an order of its own."""
    return isinstance(of, KeyedColumns) and isinstance(of.base, Partitioned)


@dataclass
class RowReader(Generic[T]):
    """Converts the rows of an input to its row type, and runs the entry on them.

    With `divert_to`, rows that do not fit or that a function raises on are written there. Without, they raise.
    """

    name: str
    entry: Entry
    run: Callable[[Entry, Any], T]
    """Called with rows that fit. Ordered rows have their positions."""
    position: str | None = None
    partition: str | None = None
    divert_to: str | None = None
    taken: int = 0
    """The number of rows read, diverted ones included."""
    files: list[tuple[str, int]] = field(default_factory=list)
    """The files of diverted rows, and the number of rows in each."""
    _diverted: list[Diverted] = field(default_factory=list)

    @property
    def of(self) -> Any:
        """The collection whose elements are the rows; for a stream of streams, that of its inner streams."""
        return row_collection(self.entry.type.collection)

    def read(self, table: pa.Table) -> Iterator[T]:
        """Yields the results for all rows: one, or several if rows had to be left out."""
        self.taken += table.num_rows
        table = self._drop_malformed(table)
        if self.partition is None:
            self._expect_one_partition(table)
        for column in (self.position, self.partition):
            if column and is_ordered(self.of):
                table = self._drop_without_position(table, column)
        try:
            rows, places, misfits = fit_rows(Piece(table), self.of)
        except Unfit as error:
            raise Diverted(None, f"does not fit: {error}").to_error(self.name, self.of) from None
        for misfit in misfits:
            self._divert(Diverted(table.slice(misfit.index, 1).to_pylist()[0], misfit.reason))
        if misfits:
            table = table.take(pa.array(places))
        yield from self._run_fitting(rows, table)

    def read_fitting(self, rows: Rows) -> Iterator[T]:
        """The same for rows that fit, such as those of a state."""
        self.taken += rows.table.num_rows
        yield from self._run_fitting(rows, rows.table)

    def _run_fitting(self, rows: Rows, table: pa.Table) -> Iterator[T]:
        yield from self._run_halving(rows, table)
        if self._diverted:
            self.files.append((write_diverted(str(self.divert_to), self.name, self._diverted), len(self._diverted)))
            self._diverted = []

    def _expect_one_partition(self, table: pa.Table) -> None:
        """Offsets order the rows of one partition only. The column is present if `order` names no other column."""
        if PARTITION in table.column_names and PARTITION not in layout_of(self.of).names:
            number = pc.max(table[PARTITION]).as_py()
            if number:
                raise OrderError(
                    f"the input `{self.name}` is a Sequence, but its source has several partitions, each with its own "
                    "order",
                    facts=((PARTITION, str(number)),),
                    instead=(
                        ("flo.Partitioned[…]", "a log that has an order within each partition"),
                        ("flo.Bag[…]", "a collection without order"),
                        (f'order={{"{self.name}": "timestamp"}}', "a column that orders the rows of all partitions"),
                    ),
                )

    def _drop_malformed(self, table: pa.Table) -> pa.Table:
        """Diverts the rows that the source could not decode; returns the others."""
        if MALFORMED not in table.column_names:
            return table
        malformed, rest = table[MALFORMED], table.drop_columns([MALFORMED])
        if malformed.null_count == table.num_rows:
            return rest
        for row in malformed.drop_null().to_pylist():
            self._divert(Diverted(**row))
        return rest.filter(malformed.is_null())

    def _drop_without_position(self, table: pa.Table, column: str) -> pa.Table:
        """Diverts the rows whose position, or partition, is null or nan; returns the others."""
        invalid = pc.is_null(table[column], nan_is_null=True)
        for row in table.filter(invalid).to_pylist():
            value = "null" if row[column] is None else row[column]
            what = "position" if column == self.position else "partition"
            self._divert(Diverted(row, f"`{column}` is {value}, but must give the row's {what}"))
        return table.filter(pc.invert(invalid))

    def _run_halving(self, rows: Rows, table: pa.Table) -> Iterator[T]:
        """Runs the entry on rows; if a function raises, halves them until the row at fault is alone, and diverts it."""
        placed = rows.table
        if self.position and is_ordered(self.of):
            placed = placed.append_column(POSITION, table[self.position])
        of = self.entry.type.collection
        value: Any = replace(rows, table=placed)
        if isinstance(of, Nested):
            value = InnerRows(placed)
        elif isinstance(of, KeyedColumns):
            partitions = table[self.partition].cast(pa.int64())
            value = replace(of.bottom(), table=placed.add_column(0, of.schema.field(0), partitions))
        try:
            yield self.run(self.entry, value)
        except FloError as error:
            count = table.num_rows
            if self.divert_to is None:
                raise
            if count == 1:
                reason = error.summary.replace("{input}", f"`{self.name}`")
                row = {name: value for name, value in table.to_pylist()[0].items() if name != WEIGHT}
                self._divert(Diverted(row, reason))
                return
            half = count // 2
            for start, size in ((0, half), (half, count - half)):
                part = replace(rows, table=rows.table.slice(start, size))
                yield from self._run_halving(part, table.slice(start, size))

    def _divert(self, row: Diverted) -> None:
        """Keeps a row for `divert_to`; raises if rows are not diverted."""
        if self.divert_to is None:
            text = [("row", brief(row.row, 120))] if row.row is not None else []
            where = [(row.file, f"offset {row.number}")] if row.file is not None else []
            error = ElementError(
                f"a row of {{input}} does not fit: {row.reason}", facts=(*text, *where), instead=INSTEAD
            )
            error.input_name = f"`{self.name}`"
            raise error
        self._diverted.append(row)

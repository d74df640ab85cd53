"""Clocks: the largest event time so far and the watermark, for all rows, for each key or for each partition.

With a lateness of 2 and a clock for each key:

    key  time   largest time of its key   watermark
    a    10     10                        8
    a    14     14                        12
    a    11     14                        12          behind the watermark: a window of it may have closed
    b    3      3                         1           b has a clock of its own

Invariant: the watermark at a row is the largest time up to this row, itself included, less the lateness; it never goes
back. So a running maximum tells, for every row of a delta, what element by element would have told.

In a partitioned stream every partition has its largest time. That of its own partition decides whether a row is late,
and the smallest of all decides which windows close, once every known partition has had a row.

A window operator asks its `Axis` for the times of rows (event times, or row numbers), and its `ClockState` for what was
reached before. To add a clock, add a class beside `ClockOfAll`, and return it from `new_clock`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, NamedTuple, Self, TypeVar, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Indices, Mask, one_chunk, take_rows
from flo.columns.layout import VALUE, Layout
from flo.core.elements import returned_type
from flo.core.errors import ElementError
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.core.untyped import TimeValue
from flo.tables.functions import Collections, apply_function, beside, elements_of, row_by_row
from flo.tables.groups import Groups
from flo.tables.keyed import KEY
from flo.tables.operator import OnTables, Op
from flo.tables.operators.weights import select_rows
from flo.tables.state.expiring import Times as Times
from flo.tables.state.run import Run
from flo.tables.state.trace import Latest, with_weights
from flo.values.event_time import EPOCH, MICROSECOND, UTC_EPOCH, offset_of, origin_of, span_of
from flo.values.operators.clocks import ClockOf
from flo.values.operators.dedupe import Dedupe
from flo.values.operators.shapes import expect_declared
from flo.values.operators.windows import TimeWindows
from flo.values.partitioned import Partitioned
from flo.values.sequence import SequenceValue

EXACT = 1 << 53
"""Up to here every whole number is a float."""
LARGE = 1 << 60
"""Sums of a few numbers up to here fit 64 bits."""
LATEST, ZONED, CLOSED, OVER = "latest/", "zoned/", "closed/", "over/"
"""The columns of a clock for each key. No field of a Python class can have these names."""
PARTITION = f"{KEY}{VALUE}"
"""The key column of a partitioned stream."""


class ReadsPartitions(OnTables[Op]):
    """The base of forms whose first input may be a partitioned stream."""

    @property
    @abstractmethod
    def partitions(self) -> int | None:
        """How many partitions are known, if rows have partitions."""

    @property
    def row_inputs(self) -> Collections:
        """The first input: of a partitioned stream, that of a partition."""
        of = self.inputs[0]
        return (of.inner,) if isinstance(of, Partitioned) else self.inputs[:1]


def as_bag(rows: pa.Table) -> pa.Table:
    """Rows of a partitioned stream, without their partitions."""
    return with_weights(rows.drop_columns([PARTITION]), np.ones(rows.num_rows, np.int64))


def ids_of(groups: Groups) -> Indices:
    return np.repeat(np.arange(len(groups.counts)), groups.counts)


def running_max(values: Times, ids: Indices | None) -> Times:
    """The largest value up to each row, among the rows of its group; groups stand one after the other."""
    largest: Times
    if ids is None or not len(values):
        largest = np.maximum.accumulate(values)
        return largest
    low, high = values.min().item(), values.max().item()
    if values.dtype == np.int64 and (high - low + 1) * (int(ids[-1]) + 1) < 1 << 62:
        steps = ids * (high - low + 1) - low
        largest = np.maximum.accumulate(steps + values) - steps
    else:
        different, ranks = np.unique(values, return_inverse=True)
        steps = ids * len(different)
        largest = different[np.maximum.accumulate(steps + ranks) - steps]
    return largest


@dataclass(frozen=True)
class ClockReading:
    """A clock as some groups see it: each field has an item for each group."""

    known: Any
    """Whether it has had a row."""
    latest: Times
    """Its largest time, if it is known."""
    zoned: Mask
    """Whether its times have a zone."""
    closed: Any
    """The last time of its last session that has closed; masked if none has."""
    over: Mask
    """Whether it has ended. Then it is not known."""
    seen: bool = False
    """Whether rows have come, though the time may not be known."""

    def reached(self, groups: Groups, times: Times) -> Times:
        """Returns for each row the largest time of its group up to it, earlier deltas included."""
        largest = running_max(times, None if len(groups.counts) == 1 else ids_of(groups))
        if not self.known.any() or (len(self.known) == 1 and self.latest[0] <= times[0]):
            return largest
        latest: Times = np.maximum(largest, groups.beside(self.latest))
        return latest if self.known.all() else np.where(groups.beside(self.known), latest, largest)

    def moved(self, latest: Times, zoned: bool, closed: Any) -> ClockReading:
        """Returns the clock after a row of each group."""
        count = len(latest)
        return ClockReading(np.ones(count, bool), latest, np.full(count, zoned), closed, np.zeros(count, bool))


C = TypeVar("C", bound="ClockState")


class Reached(NamedTuple, Generic[C]):
    """How far the rows of a delta move a clock."""

    at_rows: Times
    """The largest time at each row, which tells whether the row is late."""
    latest: Times | None
    """The largest time of each group after these rows, which closes windows; None if it is not known yet."""
    clock: C
    """The clock with these times."""


class ClockState(ABC):
    """The state of a clock."""

    @abstractmethod
    def read(self, keys: Run, kind: type) -> ClockReading:
        """The clock of these keys. `kind` is the type that times are counted in."""

    def reach(self, groups: Groups, times: Times, before: ClockReading) -> Reached[Self]:
        """Returns how far rows with these times move the clock. `before` is what it said before them."""
        reached = before.reached(groups, times)
        return Reached(reached, reached[np.cumsum(groups.counts) - 1], self)

    @abstractmethod
    def moved(self, keys: Run, reading: ClockReading) -> Self:
        """The clock after the rows of these keys."""

    def ended(self, keys: Run) -> Self:
        """The clock after the streams of these keys have ended."""
        return self

    def table(self) -> pa.Table | None:
        """The keys that have had a row; None if there are none, or no key columns."""
        return None


def new_clock(keys: tuple[str, ...], partitions: int | None = None) -> ClockState:
    """The clock of an operator with these key columns, on rows of so many partitions."""
    if partitions is not None:
        return ClockOfPartitions(partitions)
    return ClockPerKey(keys) if keys else ClockOfAll()


def _dtype(kind: type) -> Any:
    return np.float64 if kind is float else np.int64


@final
@dataclass(frozen=True)
class ClockOfAll(ClockState, Lowerable):
    """One clock for all rows."""

    latest: TimeValue = None
    """The largest time; None before the first row."""
    zoned: bool = False
    closed: TimeValue = None
    """The last time of the last session that has closed; None if none has."""

    def read(self, keys: Run, kind: type) -> ClockReading:
        known, closed = self.latest is not None, self.closed is not None
        times = np.array([self.latest if known else 0], _dtype(kind))
        last = np.ma.array([self.closed if closed else 0], dtype=_dtype(kind), mask=[not closed])
        return ClockReading(np.array([known]), times, np.array([self.zoned]), last, np.zeros(1, bool))

    def moved(self, keys: Run, reading: ClockReading) -> ClockOfAll:
        closed = None if reading.closed.mask.all() else reading.closed[0].item()
        return ClockOfAll(reading.latest[0].item(), bool(reading.zoned[0]), closed)

    def lower(self, lower: Lowering) -> Term:
        return Call("clock", (self.latest, self.zoned, self.closed))


register("clock", ClockOfAll)


@final
@dataclass(frozen=True)
class ClockOfPartitions(ClockState, Lowerable):
    """A clock for each partition; that of the whole is the minimum, once every known partition has had a row.

    A partition beyond the known ones counts from its first row on, and begins at the clock of the whole before the rows
    that come with it, if that is known."""

    partitions: int
    each: tuple[tuple[int, TimeValue], ...] = ()
    """The largest time of each partition that has had a row."""
    zoned: bool = False
    closed: TimeValue = None

    term = "partition_clocks"

    @property
    def whole(self) -> TimeValue:
        """The minimum over the partitions; None if it is not known."""
        known = {partition for partition, _ in self.each}
        return min(time for _, time in self.each) if known and known.issuperset(range(self.partitions)) else None

    def read(self, keys: Run, kind: type) -> ClockReading:
        whole = ClockOfAll(self.whole, self.zoned, self.closed).read(keys, kind)
        return replace(whole, seen=bool(self.each))

    def reach(self, groups: Groups, times: Times, before: ClockReading) -> Reached[ClockOfPartitions]:
        partitions = groups.rows[PARTITION].to_numpy()
        order = np.argsort(partitions, kind="stable")
        present, ids = np.unique(partitions[order], return_inverse=True)
        known, whole = dict(self.each), self.whole
        begins = [known.get(each, whole if each >= self.partitions else None) for each in present.tolist()]
        largest = running_max(times[order], ids)
        started = np.array([begin is not None for begin in begins])
        floor = np.array([0 if begin is None else begin for begin in begins], times.dtype)
        largest = np.where(started[ids], np.maximum(largest, floor[ids]), largest)
        reached = np.empty_like(largest)
        reached[order] = largest
        lasts = np.flatnonzero(np.diff(ids, append=-1))
        known |= zip(present.tolist(), largest[lasts].tolist(), strict=True)
        after = replace(self, each=tuple(sorted(known.items())))
        latest = None if after.whole is None else np.array([after.whole], times.dtype)
        return Reached(reached, latest, after)

    def moved(self, keys: Run, reading: ClockReading) -> ClockOfPartitions:
        closed = None if reading.closed.mask.all() else reading.closed[0].item()
        return replace(self, zoned=bool(reading.zoned[0]), closed=closed)

    def lower(self, lower: Lowering) -> Term:
        return Call(self.term, (self.partitions, self.each, self.zoned, self.closed))


register(ClockOfPartitions.term, ClockOfPartitions)


@final
@dataclass(frozen=True, eq=False)
class ClockPerKey(Latest, ClockState):
    """A clock for each key, as if the key were alone: one row for each, with the columns LATEST, ZONED and so on."""

    term = "clocks"

    def read(self, keys: Run, kind: type) -> ClockReading:
        indices, rows = self.look_up(keys)
        known, zoned, over = np.zeros((3, keys.rows), bool)
        latest = np.zeros(keys.rows, _dtype(kind))
        closed: Any = np.ma.array(latest.copy(), mask=np.ones(keys.rows, bool))
        if rows is not None:
            known[indices], latest[indices] = True, rows[LATEST].to_numpy()
            zoned[indices], over[indices] = rows[ZONED].to_numpy(), rows[OVER].to_numpy()
            there = np.flatnonzero(rows[CLOSED].is_valid().to_numpy())
            closed[indices[there]] = rows[CLOSED].drop_null().to_numpy()
        return ClockReading(known & ~over, latest, zoned, closed, over)

    def moved(self, keys: Run, reading: ClockReading) -> ClockPerKey:
        closed = pa.array(reading.closed.filled(0), mask=np.ma.getmaskarray(reading.closed))
        columns = {LATEST: reading.latest, ZONED: reading.zoned, CLOSED: closed, OVER: reading.over}
        return self.extend(Run(keys.columns, keys.keys, beside(keys.table, pa.table(columns))))

    def ended(self, keys: Run) -> ClockPerKey:
        indices, rows = self.look_up(keys)
        if rows is None:
            return self
        rows = rows.set_column(rows.schema.get_field_index(OVER), OVER, pa.array(np.ones(len(indices), bool)))
        order = np.argsort(indices)
        return self.extend(Run(keys.columns, select_rows(keys, np.sort(indices)).keys, take_rows(rows, order)))


class Axis(ABC):
    """A time axis: computes the times of rows, and the watermark from the largest time."""

    kind: type
    """The type in which times are counted: int, float, or timedelta for microseconds."""
    durations: tuple[TimeValue, ...]
    """The durations that are added to times or taken from them, as numbers."""

    @abstractmethod
    def times(self, groups: Groups, before: ClockReading) -> tuple[bool, Times]:
        """Returns whether the times have a zone, and the times of the rows."""

    @abstractmethod
    def watermark(self, latest: Times) -> Times:
        """Returns the watermark for these largest times. Windows that end at it or before it close."""

    def marks(self, groups: Groups, reached: Times) -> Times | None:
        """The watermark at each row, where rows can be late; `reached` is the largest time so far."""
        return self.watermark(reached)

    def exact(self, times: Times) -> Times:
        """Converts times to Python's own numbers, if sums with durations would overflow or be rounded otherwise."""
        if not len(times):
            return times
        largest = max(abs(times.min().item()), abs(times.max().item()), *self.durations)
        if times.dtype == np.int64:
            return times if largest < LARGE else times.astype(object)
        smallest = min([1, *(duration for duration in self.durations if duration)])
        return times if largest / smallest < EXACT / 4 else times.astype(object)  # also sums of a few of them

    def bounds(self, moments: Times) -> Times:
        """Converts moments to times; moments outside of the range of times become the first or the last time."""
        if self.kind is float:
            return moments.astype(np.float64)
        if moments.dtype == object:
            return np.array([min(max(moment, -(1 << 63)), (1 << 63) - 1) for moment in moments], np.int64)
        return moments


@dataclass(frozen=True)
class EventTime(Axis):
    """The time that a function of the user gives each row."""

    like: TimeWindows | ClockOf | Dedupe
    inputs: Collections

    @property
    def kind(self) -> type:  # type: ignore[override]
        kind = kind_of(self.like.time, durations_of(self.like))
        assert kind is not None
        return kind

    @property
    def durations(self) -> tuple[TimeValue, ...]:  # type: ignore[override]
        return (*map(span_of, self.like.durations().values()), self.lateness)

    @property
    def lateness(self) -> TimeValue:
        return span_of(self.like.lateness) if self.like.lateness else 0

    def times(self, groups: Groups, before: ClockReading) -> tuple[bool, Times]:
        origin = self._origin(before) if len(before.known) == 1 and (before.known[0] or before.seen) else None
        try:
            origin, moments = times_of(self.like.time, self.inputs, groups.rows, origin)
            zoned = origin == UTC_EPOCH
            if ((before.known | before.seen) & (before.zoned != zoned)).any():
                raise NoTime("a time cannot be compared with earlier ones")
        except NoTime:
            if groups.rows.num_rows == 1:  # else the row at fault is searched for
                latest = before.latest[0].item()
                latest = timedelta(microseconds=latest) if self.kind is timedelta else latest
                none = {"partitions": None} if hasattr(self.like, "partitions") else {}
                like: Any = replace(self.like, origin=origin, latest=latest if before.known[0] else None, **none)
                like.consume(elements_of(self.inputs[0], groups.rows), SequenceValue)
            raise
        return zoned, moments

    def _origin(self, before: ClockReading) -> Any:
        return UTC_EPOCH if before.zoned[0] else EPOCH if self.kind is timedelta else 0

    def watermark(self, latest: Times) -> Times:
        marks: Times = self.exact(latest) - self.lateness
        return marks


@dataclass(frozen=True)
class RowNumbers(Axis):
    """The number of each row among those of its group. No row is late; the clock says how many rows have come."""

    size: int

    kind = int

    @property
    def durations(self) -> tuple[TimeValue, ...]:  # type: ignore[override]
        return (self.size,)

    def times(self, groups: Groups, before: ClockReading) -> tuple[bool, Times]:
        return False, groups.positions() + groups.beside(np.where(before.known, before.latest + 1, 0))

    def watermark(self, latest: Times) -> Times:
        marks: Times = self.exact(latest) + 1
        return marks

    def marks(self, groups: Groups, reached: Times) -> None:
        return None


class NoTime(ElementError):
    """A row has no valid time. The operator on values raises the error that users see.

    Fix: give every row a time, or filter out those without.
    """


def kind_of(time: Any, durations: list[TimeValue]) -> type | None:
    """int, float or timedelta: what the times are counted in; None if times or durations are neither of these alone, or
    if a duration is too large for the type of the times."""
    layout = time.layout if isinstance(time, Expression) else Layout.of(returned_type(time))
    arrow = layout.cells[0].arrow if layout is not None and layout.form == "value" else pa.null()
    kinds, fits = set(map(type, durations)), all(span_of(duration) < 1 << 63 for duration in durations)
    if pa.types.is_integer(arrow) and arrow != pa.uint64():
        return int if kinds <= {int} and fits else None
    if pa.types.is_floating(arrow):
        exact = kinds <= {int, float} and all(duration < EXACT for duration in durations)
        return float if exact else None
    if pa.types.is_date32(arrow) or (pa.types.is_timestamp(arrow) and arrow.unit != "ns"):
        return timedelta if kinds <= {timedelta} and fits else None
    return None


def durations_of(like: TimeWindows | ClockOf | Dedupe) -> list[TimeValue]:
    """The durations that are added to times, or taken from them."""
    return [*like.durations().values(), *([like.lateness] if like.lateness else [])]


def has_numbers(like: TimeWindows) -> bool:
    """Whether the times are numbers of one kind. Bounds of datetimes have a column if it is known whether there is a
    zone, which a Python function does not say."""
    kind = kind_of(like.time, durations_of(like))
    return kind is not None and not (like.bounds and kind is timedelta and not isinstance(like.time, Expression))


def moment_of(number: TimeValue, axis: Axis, zoned: bool) -> TimeValue:
    """A time as Python has it: a number, or a datetime."""
    if axis.kind is timedelta:
        return (UTC_EPOCH if zoned else EPOCH) + timedelta(microseconds=number)
    return number


def times_of(time: Any, collections: Collections, table: pa.Table, origin: Any) -> tuple[Any, Times]:
    """Returns the origin of time, and the times of the rows from there."""
    by_row = not isinstance(time, Expression)
    if by_row and pa.types.is_temporal(Layout.of(returned_type(time)).cells[0].arrow):  # type: ignore[union-attr]
        return _convert_moments(time, row_by_row(time, collections, table), origin)
    column = one_chunk(apply_function(time, collections, table)[VALUE])
    if column.null_count:
        raise NoTime("a time is null or not a number")
    kind = column.type
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if not np.isfinite(numbers).all():
            raise NoTime("a time is null or not a number")
        return 0, numbers
    if pa.types.is_integer(kind):
        return 0, column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    numbers = column.cast(pa.timestamp("us", zone)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return (EPOCH if zone is None else UTC_EPOCH), numbers


def _convert_moments(time: Any, moments: list[Any], origin: Any) -> tuple[Any, Times]:
    """Converts datetimes, with or without a zone: the type of a Python function does not say which."""
    expect_declared(time, moments)
    if None in moments:
        raise NoTime("a time is null or not a number")
    origin = origin_of(moments[0]) if origin is None else origin
    return origin, np.array([offset_of(moment, origin) // MICROSECOND for moment in moments], np.int64)

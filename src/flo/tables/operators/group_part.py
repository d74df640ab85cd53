"""The parts of `group_by` on tables: what all aggregates have in common.

An aggregate is a *part* of the operator. It reads sums of numbers over the rows of a group, its *summands*, or traces
that a *keeper* maintains. Parts with equal summands or keepers share them, so each is computed and stored once:

    aggregate            reads
    sum(x)               the sum of x
    avg(x)               the sum of x, the same one, and the weight of the group
    count_distinct(y)    how many values of y are present: a sum that the keeper of these values gives
    min(z), max(z)       the first and the last z, in the order that one keeper has

For a delta, results are computed for each of its groups twice: before it, and after it. Both are in one column, so that
a part computes them at once:

    index     0          1          2          3
    result    a before   b before   a after    b after
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell
from flo.columns.indices import Indices, Mask, has_all, one_chunk, take_rows
from flo.tables.state.keys import Keys
from flo.tables.state.limbs import has_digits
from flo.tables.state.products import Addends, ColumnProduct
from flo.tables.state.run import Run
from flo.tables.state.totals import Summed, Sums, digits_of
from flo.tables.state.trace import Trace, with_weights
from flo.tables.values import WEIGHT
from flo.values.operators.group_by import Aggregated

T = TypeVar("T")
Traces: TypeAlias = tuple[Trace, ...]
Namer: TypeAlias = Callable[[int], str]
"""Names a group for an error message, given the index of the result."""


class Chosen(NamedTuple):
    """Which rows count: those in which a condition holds, some columns are not null, and some numbers are finite."""

    where: str | None = None
    """The column of the condition."""
    filled: tuple[str, ...] = ()
    """The columns that must not be null."""
    finite: tuple[str, ...] = ()
    """The columns that must not be infinite or NaN."""

    def mask(self, table: pa.Table) -> Mask | None:
        """Which rows count; None if all do."""
        mask: Mask | None = None
        if self.where is not None:
            mask = np.asarray(pc.fill_null(one_chunk(table[self.where]), False))
        for name in self.filled:
            if table[name].null_count:
                there = np.asarray(table[name].is_valid())
                mask = there if mask is None else mask & there
        for name in self.finite:
            finite = np.asarray(pc.fill_null(pc.is_finite(one_chunk(table[name])), False))
            mask = finite if mask is None else mask & finite
        return None if mask is None or mask.all() else mask


EVERY = Chosen()


@dataclass(frozen=True)
class Delta:
    """The rows of a delta with the columns of their groups, and each group once."""

    table: pa.Table
    keys: pa.Table
    """The columns of the group of each row."""
    numbers: Keys
    """The key number of the group of each row."""
    weights: Indices
    groups: Run | None = None
    """Each group once; None if no aggregate needs them."""
    owners: Indices | None = None
    """For each row the number of its group."""
    known: dict[Any, Any] = field(default_factory=dict, compare=False)
    """Results of `once`."""
    read: dict[Any, Any] = field(default_factory=dict, compare=False)
    """Rows of its groups that keepers have read already, so that parts need not read them again: see `Reading.once`."""

    @cached_property
    def numbers_differ(self) -> bool:
        """Whether every group has a key number of its own."""
        assert self.groups is not None
        return len(self.groups.starts) == self.groups.rows + 1

    def take_groups(self, rows: Indices) -> Run:
        """The groups of these rows: one row of each group, by ascending key numbers."""
        numbers = Keys(self.numbers.at(rows), self.numbers.exact)
        return Run(tuple(self.keys.column_names), numbers, take_rows(self.keys, rows))

    def once(self, what: Any, make: Callable[[], T]) -> T:
        """Computes something the first time that a part asks for it."""
        try:
            return self.known[what]  # type: ignore[no-any-return]
        except KeyError:
            return self.known.setdefault(what, make())  # type: ignore[no-any-return]

    def mask(self, which: Chosen) -> Mask | None:
        """Which rows count; None if all do."""
        if which == EVERY:
            return None
        return self.once(which, lambda: which.mask(self.table))

    def rows_in(self, which: Chosen) -> Indices:
        """The indices of the rows that count."""
        mask = self.mask(which)
        return np.arange(self.table.num_rows) if mask is None else np.flatnonzero(mask)

    def choose(self, which: Chosen, names: tuple[str, ...]) -> Delta:
        """The rows that count, with these columns."""
        return self.once(("rows", which, names), lambda: self._choose(self.mask(which), list(names)))

    def _choose(self, which: Mask | None, names: list[str]) -> Delta:
        if which is None:
            return self
        mask = pa.array(which)
        table, keys = self.table.select(names).filter(mask), self.keys.filter(mask)
        owners = None if self.owners is None else self.owners[which]
        numbers = Keys(self.numbers.numbers[which], self.numbers.exact)
        return Delta(table, keys, numbers, self.weights[which], owners=owners)

    def rows(self, names: tuple[str, ...]) -> pa.Table:
        """Groups, arguments and weights."""
        table = self.keys
        for name in names:
            table = table.append_column(self.table.schema.field(name), self.table[name])
        return with_weights(table, self.weights)


class Summand(ABC):
    """A number of each row; the sums over the rows of each group are kept. Subclasses are frozen dataclasses."""

    @abstractmethod
    def column(self, delta: Delta) -> Summed | None:
        """The number of each row; None if a keeper gives the sums."""


@final
@dataclass(frozen=True)
class Ones(Summand):
    """1 for each row that counts. The sum is how many do."""

    which: Chosen

    def column(self, delta: Delta) -> Summed:
        mask = delta.mask(self.which)
        ones = np.ones(delta.table.num_rows, np.int8) if mask is None else mask.astype(np.int8)
        return Addends(pa.array(ones))


@final
@dataclass(frozen=True)
class NotFinite(Summand):
    """1 for each row that counts and has an infinity or NaN in one of the columns."""

    which: Chosen
    names: tuple[str, ...]

    def column(self, delta: Delta) -> Summed:
        mask, finite = (delta.mask(Chosen(self.which.where, self.which.filled, names)) for names in ((), self.names))
        every = np.ones(delta.table.num_rows, bool)
        counted, rest = (every if which is None else which for which in (mask, finite))
        return Addends(pa.array((counted & ~rest).astype(np.int8)))


@final
@dataclass(frozen=True)
class Number(Summand):
    """The number in a column, or in a field of it, in each row that counts."""

    which: Chosen
    name: str
    field: int | None = None

    def column(self, delta: Delta) -> Addends:
        return delta.once(self, lambda: Addends(fill_zeros(self._array(delta.table), delta.mask(self.which))))

    def _array(self, table: pa.Table) -> pa.Array:
        array = one_chunk(table[self.name])
        return array if self.field is None else array.flatten()[self.field]


@final
@dataclass(frozen=True)
class Bit(Summand):
    """A bit of an integer, in each row that counts."""

    of: Number
    place: int

    def column(self, delta: Delta) -> Summed:
        numbers = np.asarray(self.of.column(delta).array)
        return Addends(pa.array((numbers >> self.place & 1).astype(np.int8)))


@final
@dataclass(frozen=True)
class Multiplied(Summand):
    """The product of two numbers in each row that counts."""

    one: Number
    other: Number

    def column(self, delta: Delta) -> Summed:
        return ColumnProduct(self.one.column(delta), self.other.column(delta))


@final
@dataclass(frozen=True)
class Own(Summand):
    """A sum that a keeper gives."""

    keeper: Keeper
    sum: str | Summand
    """Its name, or the numbers that are summed over what the keeper has."""

    def column(self, delta: Delta) -> None:
        return None


def fill_zeros(column: pa.ChunkedArray | pa.Array, counted: Mask | None) -> pa.Array:
    """Fills a column with zeros in the rows that do not count."""
    array = one_chunk(column)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if counted is None:
        return array
    zero = pa.scalar(Decimal(0) if pa.types.is_decimal(array.type) else 0).cast(array.type)
    return pc.if_else(pa.array(counted), array, zero)


class Keeper(ABC):
    """Maintains traces for the parts that need them. Subclasses are frozen dataclasses."""

    traces: int
    """How many traces it keeps."""

    @abstractmethod
    def initial(self) -> Traces:
        """The traces before any row."""

    @abstractmethod
    def advance(self, delta: Delta, traces: Traces, places: Mapping[Summand, int]) -> tuple[Traces, Sums]:
        """Adds a delta to the traces. Returns them, and the sums that it gives for each group of the delta."""

    @property
    def needs(self) -> tuple[str, ...] | None:
        """Which rows its results depend on while no row is retracted: a few of each group and of each value of these
        columns; None if on all."""
        return None

    def choose_rows(self, delta: Delta) -> Indices:
        """The indices of rows that give the results of all rows of a delta, whose weights are positive."""
        raise NotImplementedError


@dataclass(frozen=True)
class ValuesKeeper(Keeper):
    """The base of keepers with one trace, which has the values of some columns, in the rows that count."""

    names: tuple[str, ...]
    which: Chosen

    traces = 1

    def initial(self) -> Traces:
        return (Trace(()),)


@dataclass(frozen=True)
class Reading:
    """The groups of a delta, each in two *states*, before the delta and after it: results are computed from these.

    The results of all groups before the delta come first, and then those after it. Where the results before the delta
    are known, there are only those after it.
    """

    groups: Run
    """Each group once."""
    sums: Sums
    """Of all groups before the delta, and then of all after it."""
    places: Mapping[Summand, int]
    """The number of the sum of each summand."""
    traces: Mapping[int, Mapping[Keeper, Traces]]
    """By state: 0 is before the delta, and 1 after it."""
    name: Namer
    known: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def states(self) -> int:
        """The number of results."""
        return len(self.traces) * self.groups.rows

    def once(self, what: Any, make: Callable[[], T]) -> T:
        """Computes something the first time that a part asks for it."""
        try:
            return self.known[what]  # type: ignore[no-any-return]
        except KeyError:
            return self.known.setdefault(what, make())  # type: ignore[no-any-return]

    def integers(self, summand: Summand) -> Indices:
        """A sum of small integers."""
        return self.once(summand, lambda: digits_of(self.sums, self.places[summand]).carry().to_ints()[0])


@dataclass(frozen=True)
class AggregatePart(ABC):
    """One aggregate."""

    of: Aggregated
    names: tuple[str, ...]
    """The columns of the arguments."""
    cells: tuple[Cell, ...]
    where: str | None
    """The column that says which rows count."""
    cell: Cell
    """The column of the results."""

    @cached_property
    def which(self) -> Chosen:
        required = self.of.aggregator.required(len(self.names))
        columns = zip(self.names[:required], self.cells[:required], strict=True)
        return Chosen(self.where, tuple(name for name, cell in columns if cell.nullable))

    @cached_property
    def selective(self) -> bool:
        """Whether some rows may not count."""
        return self.which != EVERY

    def fits(self) -> bool:
        """Whether it computes what the aggregator does, for columns of these types."""
        return True

    def summands(self) -> tuple[Summand, ...]:
        """The numbers of which it reads sums."""
        return ()

    def keeper(self) -> Keeper | None:
        """The keeper of the traces that it reads, if it reads any."""
        return None

    @abstractmethod
    def results(self, reading: Reading) -> pa.Array:
        """The results of these groups before and after a delta."""

    def counts(self) -> tuple[Summand, ...]:
        """The summand whose sum is how many values there are; none if that is the weight of the group."""
        return (Ones(self.which),) if self.selective else ()

    def count(self, reading: Reading) -> Indices:
        return reading.integers(Ones(self.which)) if self.selective else reading.sums[WEIGHT]


def or_null(array: pa.Array, there: Mask) -> pa.Array:
    """The array with nulls where there is no result."""
    return array if has_all(there) else pc.if_else(pa.array(there), array, pa.scalar(None, array.type))


def has_sums(kind: pa.DataType) -> bool:
    """Whether the numbers of such a column can be summed."""
    summed = pa.types.is_boolean(kind) or has_digits(kind)
    return summed and not (pa.types.is_decimal(kind) and kind.scale < 0)


def scatter(array: pa.Array, places: Indices, count: int) -> pa.Array:
    """Puts values at these indices of an array of so many, with nulls elsewhere."""
    indices = np.full(count, -1)
    indices[places] = np.arange(len(array))
    return array.take(pa.array(indices, mask=indices < 0))

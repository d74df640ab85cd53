"""Operators in rounds: how the body of a `fixpoint` runs on changes, with the round as one more coordinate.

A stream of the body is a z-set for every round. It is kept as differences: a row has the round in which it comes, or
goes. The rows of round 2 are the sum of the differences of rounds 0 to 2.

    row   #round  ±
    a→d   2       +1          there from round 2 on
    a→d   5       +1          derived once more in round 5
    a→c   1       +1
    a→c   3       -1          there in rounds 1 and 2

A push changes differences, round by round, ascending (fixpoint.py). An operator takes those of one round, and gives
those of this round and of later ones:

- `LinearInRounds`: an operator without state passes the round on.
- `JoinRounds`: a row of round i and one of round j are both there from round max(i, j) on. So a change meets the whole
  trace of the other side, and each pair belongs to the later round of the two.
- `WeighRounds`: whether a row is there depends on its weight. All rounds of the rows that change are looked at at once.
- `GroupRounds`: any other operator, key by key. Of the keys that change, it adds up what their rows are in this round,
  computes the results anew, and gives the difference from what it gave before. A key is looked at again in the later
  rounds in which its rows differ.

Invariant: when a round is done, what an operator gave up to this round adds up to what it gives for the sum of what it
got. Nothing depends on rounds in which nothing changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import is_row_fault
from flo.columns.indices import (
    Indices,
    Mask,
    Numbers,
    has_any,
    is_sorted,
    one_chunk,
    sort_indices,
    take_rows,
    to_arrow,
)
from flo.core.collection import Collection
from flo.core.errors import EngineError
from flo.core.graph import Node
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.program.dag import Vertex
from flo.tables.faults import consume_rows
from flo.tables.operator import OnTables, Placement, to_table_type
from flo.tables.operators.joins import JoinTables
from flo.tables.operators.meetings import Meeting, pair_rows
from flo.tables.operators.sets import DistinctTables
from flo.tables.operators.weights import in_64_bits, summable, totals, weights_of
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.keys import Keys
from flo.tables.state.matching import match_keys
from flo.tables.state.merging import first_due
from flo.tables.state.run import Run, merge_runs, run_of
from flo.tables.state.trace import Trace, with_weights
from flo.tables.streams import NUMBER, STREAM
from flo.tables.translate import FORMS
from flo.tables.values import WEIGHT, Rows, of_elements, plain_zeros, schema_of
from flo.tables.whole import Whole, form_on_groups, one_by_one

ROUND = "#round"
ROUND_FIELD = pa.field(ROUND, pa.int64(), nullable=False)
KEY_NUMBER = "#key"
KEY_FIELD = pa.field(KEY_NUMBER, pa.uint64(), nullable=False)


class RoundChanges(NamedTuple):
    """Changes of a stream in one round."""

    round: int
    table: pa.Table


FEW = 16
"""Groups with so many rows together are computed on values."""
MOST_RUNS = 4
"""So many runs of a push are searched one by one; more are merged."""


class Growing:
    """A trace during a push: its runs, and those of the changes since."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.changes = trace, list[Run]()

    def __iter__(self) -> Iterator[Run]:
        if (count := len(self.changes)) > MOST_RUNS:
            if (first := first_due([run.rows for run in self.changes])) < count:
                self.changes[first:] = [merge_runs(self.changes[first:])]
        return iter((*self.trace.runs, *self.changes))

    def extend(self, delta: Run) -> None:
        if delta.rows:
            self.changes.append(delta)

    def settle(self) -> Trace:
        """Return the trace with all changes."""
        return self.trace.extend(*self.changes)


Given: TypeAlias = list[pa.Table | None]
"""The changes at each input in one round; None if there are none."""


class PushNotes:
    """What an operator notes during a push."""

    def __init__(self) -> None:
        self.again: dict[int, list[Numbers]] = {}
        """By round, the keys that it looks at again."""
        self.last = Looked(run_of(pa.schema([KEY_FIELD]).empty_table(), (KEY_NUMBER,)), 0, [])
        """What it looked at last."""


class Looked(NamedTuple):
    """The groups that an operator has looked at in a round, and what it has of them, by trace."""

    groups: Run
    number: int
    looked_up: list[InRound]

    def knows(self, groups: Run) -> Mask:
        """Return which of these groups are among them."""
        known = np.zeros(groups.rows, bool)
        known[self.groups.find(groups.keys.numbers).present] = True
        return known

    def hold(self, place: int) -> list[Run]:
        """Return the rows of a trace by key: most of the groups are looked at again in the next round."""
        groups = self.looked_up[place]
        held = (with_round(groups.table, self.number), sort_groups(groups.ahead))
        return [_keyed(each, self.groups) for each in held if each.num_rows]


@dataclass(frozen=True)
class InRounds(ABC):
    """An operator of a body."""

    node: Node
    inputs: tuple[Collection, ...]
    outputs: tuple[Collection, ...]
    from_outside: tuple[bool, ...]
    """Which inputs come from outside: these change in round 0 only."""

    consolidates: ClassVar[bool] = False
    """Whether each of the tables that it gives has a row only once."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of its traces."""

    @abstractmethod
    def consume(
        self, number: int, given: Given, traces: list[Growing], work: PushNotes
    ) -> Iterator[list[RoundChanges]]:
        """Take the changes of a round, and add them to the traces; yield the changes of each output."""

    def take(self, number: int, given: Given, traces: list[Growing], work: PushNotes) -> Iterator[list[RoundChanges]]:
        """Do what `consume` does. An error that no row is to blame for is one of the engine."""
        try:
            yield from self.consume(number, given, traces, work)
        except Exception as error:
            if not is_row_fault(error):
                name = self.node.operator.name
                raise EngineError(f"`{name}` in rounds raised {type(error).__name__}: {error}") from error
            raise


def with_round(table: pa.Table, number: int) -> pa.Table:
    """Return changes with their round beside them."""
    return table.append_column(ROUND_FIELD, pa.array(np.full(table.num_rows, number, np.int64)))


def rounds_of(table: pa.Table) -> Indices:
    rounds: Indices = one_chunk(table[ROUND]).to_numpy()
    return rounds


def split_rounds(table: pa.Table, rounds: Indices) -> Iterator[RoundChanges]:
    """Yield rows by round, which ascend."""
    if not len(rounds):
        return
    edges = [0, *(np.flatnonzero(rounds[1:] != rounds[:-1]) + 1).tolist(), len(rounds)]
    for start, end in pairwise(edges):
        yield RoundChanges(int(rounds[start]), table.slice(start, end - start))


@final
@dataclass(frozen=True)
class LinearInRounds(InRounds):
    """An operator without state: what it gives for a sum of changes is the sum of what it gives for each."""

    form: OnTables[Any]

    names = ()

    @cached_property
    def _nothing(self) -> list[pa.Table]:
        """Tables without rows, one for each input."""
        return [schema_of(of).empty_table() for of in self.inputs]

    def consume(
        self, number: int, given: Given, traces: list[Growing], work: PushNotes
    ) -> Iterator[list[RoundChanges]]:
        values = tuple(
            Rows(of_elements(of), self._nothing[place] if table is None else table)
            for place, (of, table) in enumerate(zip(self.inputs, given, strict=True))
        )
        _, deltas = consume_rows(self.form, values)
        for delta in deltas:
            yield [RoundChanges(number, delta.table)] if isinstance(delta, Rows) else []


@final
@dataclass(frozen=True)
class JoinRounds(InRounds):
    """An inner join."""

    form: JoinTables

    names = ("left", "right")

    def consume(
        self, number: int, given: Given, traces: list[Growing], work: PushNotes
    ) -> Iterator[list[RoundChanges]]:
        left, right = (self._sort(place, table) for place, table in enumerate(given))
        meetings: list[Meeting] = []
        rounds: list[Indices] = []
        both = [(left, run, 1) for run in traces[1]] + [(run, right, 0) for run in traces[0]] + [(left, right, None)]
        for one, other, kept in both:
            if one is None or other is None:
                continue
            ours, theirs = match_keys(one, other)
            if len(ours):
                meetings.append(Meeting(one, other, ours, theirs))
                if kept is None or self.from_outside[kept]:
                    rounds.append(np.full(len(ours), number))
                else:
                    stored, rows = (other, theirs) if kept else (one, ours)
                    rounds.append(np.maximum(rounds_of(stored.table)[rows], number))
        for place, delta in enumerate((left, right)):
            if delta is not None:
                outside = self.from_outside[place]
                kept_run = delta if outside else replace(delta, table=with_round(delta.table, number))
                traces[place].extend(kept_run)
        yield list(self._pair(meetings, rounds))

    def _sort(self, place: int, table: pa.Table | None) -> Run | None:
        """The changes of a side by key; None if there are none."""
        if table is None:
            return None
        return self.form.sort_side(place, table)

    def _pair(self, meetings: list[Meeting], rounds: list[Indices]) -> Iterator[RoundChanges]:
        pairs = pair_rows(self.form.joined, meetings)
        if pairs is not None:
            pairs = plain_zeros(self.outputs[0], pairs) if self.form.computes else pairs
            when = np.concatenate(rounds)
            if not is_sorted(when):
                order = sort_indices(when)
                pairs, when = take_rows(pairs, order), when[order]
            yield from split_rounds(pairs, when)


@final
@dataclass(frozen=True)
class WeighRounds(InRounds):
    """`distinct`, and the positive part of a z-set.

    A row has the weights w₀, w₁, … in the rounds in which it changes, and so it is there or not. A change of wᵢ moves
    that in round i, and in later ones.
    """

    form: DistinctTables

    names = ("rows",)
    consolidates = True

    def consume(
        self, number: int, given: Given, traces: list[Growing], work: PushNotes
    ) -> Iterator[list[RoundChanges]]:
        (table,) = given
        assert table is not None
        delta = totals(table, self.form.names())
        if not delta.rows:
            yield []
            return
        owners, rounds, weights = [np.arange(delta.rows)], [np.full(delta.rows, number)], [np.zeros(delta.rows, int)]
        for run in traces[0]:
            ours, theirs = match_keys(delta, run)
            if len(ours):
                owners.append(ours)
                rounds.append(run.sums[ROUND][theirs])
                weights.append(run.sums[WEIGHT][theirs])
        traces[0].extend(replace(delta, table=with_round(delta.table, number)))
        owner, when, weight = (np.concatenate(each) for each in (owners, rounds, weights))
        order = sort_indices(owner * (int(when.max()) + 1) + when)
        owner, when, weight = owner[order], when[order], summable(weight[order])
        next_owner = owner[1:] != owner[:-1]
        total = np.cumsum(weight)
        total -= (total - weight)[np.concatenate([[0], np.flatnonzero(next_owner) + 1])][owner]  # of the row alone
        last = np.flatnonzero(np.concatenate([next_owner | (when[1:] != when[:-1]), [True]]))
        owner, when, total = owner[last], when[last], total[last]  # one for each row and round
        moved = np.where(when >= number, weights_of(delta)[owner], 0)
        change = self.form.like.weight_of(total + moved) - self.form.like.weight_of(total)
        change[1:] -= np.where(owner[1:] == owner[:-1], change[:-1], 0)
        changed = np.flatnonzero(change)
        changed = changed[sort_indices(when[changed])]
        rows = with_weights(take_rows(delta.table, owner[changed]), in_64_bits(change[changed]))
        yield list(split_rounds(rows, when[changed]))


@final
@dataclass(frozen=True)
class GroupRounds(InRounds):
    """An operator that works key by key, or on all rows as on one key: its results are computed anew."""

    form: OnTables[Any] | None
    """Computes all keys at once; None if the operator runs on values, for one key after the other."""
    keyed: OnTables[Any] | None
    """Numbers the keys of rows; None if all rows belong to one."""

    consolidates = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        inputs = [f"input {place}" for place in range(len(self.inputs))]
        return (*inputs, *(f"output {place}" for place in range(len(self.outputs))))

    @cached_property
    def _schemas(self) -> list[pa.Schema]:
        """The columns of each trace that are read."""
        return [pa.schema([*schema_of(of), ROUND_FIELD]) for of in (*self.inputs, *self.outputs)]

    def consume(
        self, number: int, given: Given, traces: list[Growing], work: PushNotes
    ) -> Iterator[list[RoundChanges]]:
        touched = work.again.pop(number, [])
        deltas: list[Run | None] = [None] * len(traces)
        for place, table in enumerate(given):
            if table is not None:
                numbers = self._numbers(place, table)
                deltas[place] = delta = _by_key(with_round(table, number), numbers)
                traces[place].extend(delta)
                touched.append(numbers)
        every = pa.table([pa.array(np.unique(np.concatenate(touched)))], schema=pa.schema([KEY_FIELD]))
        groups = run_of(every, (KEY_NUMBER,))
        keys = groups.table[KEY_NUMBER].to_numpy()
        known = work.last.knows(groups)
        looked_up: list[InRound] = []
        for place, trace in enumerate(traces):
            sources: list[tuple[Mask, Iterable[Run]]] = [(~known, trace)]
            if has_any(known):
                sources.append((known, [*work.last.hold(place), *filter(None, deltas[place : place + 1])]))
            looked_up.append(read_groups(self._schemas[place], groups, number, sources))
        pairs = zip(self.inputs, looked_up, strict=False)
        results = self._results([Whole(of, groups.rows, each.table) for of, each in pairs])
        for place, (new, old) in enumerate(zip(results, looked_up[len(self.inputs) :], strict=True), len(self.inputs)):
            new = new.select(old.table.column_names)
            gone = with_weights(old.table, -old.table[WEIGHT].to_numpy())
            change = consolidate_table(pa.concat_tables([new, gone]))
            looked_up[place] = old._replace(table=sort_groups(new))
            if not change.num_rows:
                yield []
                continue
            rows = change.drop_columns([STREAM])
            traces[place].extend(_by_key(with_round(rows, number), keys[change[STREAM].to_numpy()]))
            yield [RoundChanges(number, rows)]
        work.last = Looked(groups, number, looked_up)
        for each in looked_up[: len(self.inputs)]:
            for later, numbers in each.rounds_ahead(keys):
                work.again.setdefault(later, []).append(numbers)

    def _numbers(self, place: int, table: pa.Table) -> Numbers:
        """The numbers of the keys of rows."""
        if self.keyed is None:
            return np.zeros(table.num_rows, np.uint64)
        return np.asarray(self.keyed.key_numbers(place, table))

    def _results(self, wholes: list[Whole]) -> list[pa.Table]:
        """The results for the rows of each group. Of few rows they are computed on values, which takes fewer calls."""
        rows = sum(each.table.num_rows for each in wholes)
        if self.form is None or 0 < rows <= FEW:
            return [each.table for each in one_by_one(self.node.operator, tuple(wholes), self.outputs)]
        schemas = [pa.schema([NUMBER, *schema_of(of)]) for of in self.outputs]
        parts = [[schema.empty_table()] for schema in schemas]
        if rows:
            _, deltas = self.form.consume_all(*(each.table for each in wholes))
            for place, delta in enumerate(deltas):
                if isinstance(delta, Rows):
                    parts[place].append(_with_schema(delta.table, schemas[place]))
        return [pa.concat_tables(some) for some in parts]


def _with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema, which a table has, perhaps with more nulls. Arrow casts no row that is null if a
    part of it must not be."""
    return pa.Table.from_arrays(table.select(schema.names).columns, schema=schema)


def _by_key(table: pa.Table, numbers: Numbers) -> Run:
    """Changes by the numbers of their keys."""
    table = table.append_column(KEY_FIELD, pa.array(numbers)).combine_chunks()
    return run_of(table, (KEY_NUMBER,))


class InRound(NamedTuple):
    """The rows of some groups in a round, and how they differ in later ones."""

    table: pa.Table
    """With the number of the group; each row once, by group."""
    ahead: pa.Table
    """The differences of later rounds, with the number of the group."""

    def rounds_ahead(self, keys: Numbers) -> Iterator[tuple[int, Numbers]]:
        """Yield the later rounds in which groups differ, with their keys."""
        rounds, keys = rounds_of(self.ahead), keys[self.ahead[STREAM].to_numpy()]
        for each in np.unique(rounds):
            yield int(each), keys[rounds == each]


def read_groups(schema: pa.Schema, groups: Run, number: int, sources: list[tuple[Mask, Iterable[Run]]]) -> InRound:
    """Return the rows of groups in a round, each with its round, from these runs. Groups that were looked at in the
    round before have what they had then, and the differences since; others all differences of the trace."""
    parts: list[pa.Table] = []
    for which, runs in sources:
        places = which.nonzero()[0]
        some = groups.take(places)
        for run in runs if len(places) else ():
            ours, theirs = match_keys(some, run)
            if len(ours):
                rows = _with_schema(take_rows(run.table.select(schema.names), theirs), schema)
                parts.append(rows.add_column(0, NUMBER, to_arrow(places[ours])))
    if not parts:
        nothing = pa.schema([NUMBER, *schema]).empty_table()
        return InRound(nothing.drop_columns([ROUND]), nothing)
    table = parts[0] if len(parts) == 1 else pa.concat_tables(parts).combine_chunks()
    later = rounds_of(table) > number
    now, ahead = table, table.slice(0, 0)
    if has_any(later):
        now, ahead = table.filter(pa.array(~later)), table.filter(pa.array(later))
    return InRound(sort_groups(consolidate_table(now.drop_columns([ROUND]))), ahead)


def sort_groups(table: pa.Table) -> pa.Table:
    """Return rows by group."""
    streams = table[STREAM].to_numpy()
    if (streams[1:] >= streams[:-1]).all():
        return table
    return take_rows(table, np.argsort(streams, kind="stable"))


def _keyed(table: pa.Table, groups: Run) -> Run:
    """Rows by group, as a run by the keys of these, which are in the order of the numbers of groups."""
    streams = table[STREAM].to_numpy()
    rows = table.drop_columns([STREAM]).append_column(KEY_FIELD, take_rows(groups.table, streams)[KEY_NUMBER])
    return Run((KEY_NUMBER,), Keys(groups.keys.at(streams), exact=True), rows)


def in_rounds(vertex: Vertex, from_outside: tuple[bool, ...]) -> InRounds:
    """How an operator of a body runs in rounds."""
    operator: Operator = vertex.operator
    types: StreamTypes = tuple(StreamType(stream.type.collection, bounded=True) for stream in vertex.inputs)
    tables = tuple(each for each in map(to_table_type, types) if each is not None)
    parts = (
        Node(None, operator, vertex.origin),
        tuple(each.collection for each in types),
        tuple(stream.type.collection for stream in vertex.outputs),
        from_outside,
    )
    make = FORMS.get(type(operator))
    form: Any = make and make(operator, types)
    if not isinstance(form, OnTables):
        return GroupRounds(*parts, form=None, keyed=None)
    form = form.typed(tables)
    if form.placement is Placement.ANYWHERE and not form.parts():
        return LinearInRounds(*parts, form)
    if isinstance(form, JoinTables):
        return JoinRounds(*parts, form)
    if isinstance(form, DistinctTables):
        return WeighRounds(*parts, form)
    grouped = form_on_groups(operator, types)
    if grouped is not None and type(grouped).close is not OnTables.close:
        grouped = None
    keyed = form if form.placement is Placement.BY_KEY else None
    return GroupRounds(*parts, form=grouped and replace(grouped.typed(tables), keys=(STREAM,)), keyed=keyed)

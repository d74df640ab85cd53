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

- `Linear`: an operator without state passes the round on.
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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import is_row_fault
from flo.columns.indices import Indices, Numbers, one_chunk, take_rows
from flo.core.collection import Collection
from flo.core.errors import EngineError
from flo.core.graph import Node
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.program.dag import Vertex
from flo.tables.faults import consume_rows
from flo.tables.operator import OnTables, Placement, to_table_type
from flo.tables.operators.joins import JoinTables, Meeting, pair_rows
from flo.tables.operators.sets import DistinctTables
from flo.tables.operators.weights import totals, weights_of
from flo.tables.state.run import Run, match_keys, run_of
from flo.tables.state.trace import Trace, consolidate_runs, consolidate_table, with_weights
from flo.tables.streams import NUMBER, STREAM
from flo.tables.translate import FORMS
from flo.tables.values import WEIGHT, Rows, of_elements, schema_of
from flo.tables.whole import Whole, form_on_groups, one_by_one

ROUND = "#round"
ROUND_FIELD = pa.field(ROUND, pa.int64(), nullable=False)
KEY_NUMBER = "#key"
KEY_FIELD = pa.field(KEY_NUMBER, pa.uint64(), nullable=False)


class Changes(NamedTuple):
    """Changes of a stream in one round."""

    round: int
    table: pa.Table


Given: TypeAlias = list[pa.Table | None]
"""The changes at each input in one round; None if there are none."""
Again: TypeAlias = dict[int, list[Numbers]]
"""By round, the keys that an operator looks at again."""


@dataclass(frozen=True)
class InRounds(ABC):
    """An operator of a body."""

    node: Node
    inputs: tuple[Collection, ...]
    outputs: tuple[Collection, ...]
    from_outside: tuple[bool, ...]
    """Which inputs come from outside: these change in round 0 only."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of its traces."""

    @abstractmethod
    def consume(self, number: int, given: Given, traces: list[Trace], again: Again) -> Iterator[list[Changes]]:
        """Take the changes of a round; yield the changes of each output. Replaces the traces by those after them."""

    def take(self, number: int, given: Given, traces: list[Trace], again: Again) -> Iterator[list[Changes]]:
        """Do what `consume` does. An error that no row is to blame for is one of the engine."""
        try:
            yield from self.consume(number, given, traces, again)
        except Exception as error:
            if not is_row_fault(error):
                name = self.node.operator.name
                raise EngineError(f"`{name}` in rounds raised {type(error).__name__}: {error}") from error
            raise

    def nothing(self, place: int) -> pa.Table:
        return schema_of(self.inputs[place]).empty_table()


def with_round(table: pa.Table, number: int) -> pa.Table:
    """Return changes with their round beside them."""
    return table.append_column(ROUND_FIELD, pa.array(np.full(table.num_rows, number, np.int64)))


def rounds_of(table: pa.Table) -> Indices:
    rounds: Indices = one_chunk(table[ROUND]).to_numpy()
    return rounds


def split_rounds(table: pa.Table, rounds: Indices) -> Iterator[Changes]:
    """Yield rows by round."""
    if not len(rounds):
        return
    first = int(rounds[0])
    if (rounds == first).all():
        yield Changes(first, table)
        return
    order = np.argsort(rounds, kind="stable")
    rounds, table = rounds[order], take_rows(table, order)
    edges = [0, *(np.flatnonzero(np.diff(rounds)) + 1).tolist(), len(rounds)]
    for start, end in pairwise(edges):
        yield Changes(int(rounds[start]), table.slice(start, end - start))


@final
@dataclass(frozen=True)
class Linear(InRounds):
    """An operator without state: what it gives for a sum of changes is the sum of what it gives for each."""

    form: OnTables[Any]

    names = ()

    def consume(self, number: int, given: Given, traces: list[Trace], again: Again) -> Iterator[list[Changes]]:
        values = tuple(
            Rows(of_elements(of), self.nothing(place) if table is None else table)
            for place, (of, table) in enumerate(zip(self.inputs, given, strict=True))
        )
        _, deltas = consume_rows(self.form, values)
        for delta in deltas:
            yield [Changes(number, delta.table)] if isinstance(delta, Rows) else []


@final
@dataclass(frozen=True)
class JoinRounds(InRounds):
    """An inner join."""

    form: JoinTables

    names = ("left", "right")

    def consume(self, number: int, given: Given, traces: list[Trace], again: Again) -> Iterator[list[Changes]]:
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
                traces[place] = traces[place].extend(kept_run)
        yield list(self._pair(meetings, rounds))

    def _sort(self, place: int, table: pa.Table | None) -> Run | None:
        """The changes of a side by key; None if there are none."""
        if table is None:
            return None
        run = consolidate_runs(self.form.sort_side(place, table))
        return run if run.rows else None

    def _pair(self, meetings: list[Meeting], rounds: list[Indices]) -> Iterator[Changes]:
        pairs = pair_rows(self.form.joined, meetings)
        if pairs is None:
            return
        for each in split_rounds(pairs, np.concatenate(rounds)):
            delta: Any = self.form.emitted(each.table)
            if delta is not None:
                yield Changes(each.round, delta.table)


@final
@dataclass(frozen=True)
class WeighRounds(InRounds):
    """`distinct`, and the positive part of a z-set.

    A row has the weights w₀, w₁, … in the rounds in which it changes, and so it is there or not. A change of wᵢ moves
    that in round i, and in later ones.
    """

    form: DistinctTables

    names = ("rows",)

    def consume(self, number: int, given: Given, traces: list[Trace], again: Again) -> Iterator[list[Changes]]:
        (table,) = given
        assert table is not None
        delta = totals(table, self.form.names())
        if not delta.rows:
            yield []
            return
        owners, rounds, weights = [np.arange(delta.rows)], [np.full(delta.rows, number)], [np.zeros(delta.rows, int)]
        for run in traces[0]:
            ours, theirs = match_keys(delta, run)
            owners.append(ours)
            rounds.append(rounds_of(run.table)[theirs])
            weights.append(weights_of(run)[theirs])
        traces[0] = traces[0].extend(replace(delta, table=with_round(delta.table, number)))
        owner, when, weight = (np.concatenate(each) for each in (owners, rounds, weights))
        order = np.lexsort((when, owner))
        owner, when, weight = owner[order], when[order], weight[order]
        first = np.concatenate([[True], owner[1:] != owner[:-1]])
        last = np.concatenate([(owner[1:] != owner[:-1]) | (when[1:] != when[:-1]), [True]])
        total = np.cumsum(weight)
        starts = np.flatnonzero(first)
        total -= np.repeat((total - weight)[starts], np.diff(starts, append=len(order)))
        owner, when, total = owner[last], when[last], total[last]  # one for each row and round
        moved = np.where(when >= number, weights_of(delta)[owner], 0)
        change = self.form.like.weight_of(total + moved) - self.form.like.weight_of(total)
        same = np.concatenate([[False], owner[1:] == owner[:-1]])
        change[1:] -= np.where(same[1:], change[:-1], 0)
        changed = np.flatnonzero(change)
        rows = with_weights(take_rows(delta.table, owner[changed]), change[changed])
        yield list(split_rounds(rows, when[changed]))


@final
@dataclass(frozen=True)
class GroupRounds(InRounds):
    """An operator that works key by key, or on all rows as on one key: its results are computed anew."""

    form: OnTables[Any] | None
    """Computes all keys at once; None if the operator runs on values, for one key after the other."""
    keyed: OnTables[Any] | None
    """Numbers the keys of rows; None if all rows belong to one."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        inputs = [f"input {place}" for place in range(len(self.inputs))]
        return (*inputs, *(f"output {place}" for place in range(len(self.outputs))))

    def consume(self, number: int, given: Given, traces: list[Trace], again: Again) -> Iterator[list[Changes]]:
        touched = again.pop(number, [])
        for place, table in enumerate(given):
            if table is not None:
                numbers = self._numbers(place, table)
                traces[place] = traces[place].extend(_by_key(with_round(table, number), numbers))
                touched.append(numbers)
        keys = np.unique(np.concatenate(touched))
        groups = run_of(pa.table([pa.array(keys)], schema=pa.schema([KEY_FIELD])), (KEY_NUMBER,))
        wholes = []
        for place, of in enumerate(self.inputs):
            table, later = self._content(of, traces[place], groups, number)
            wholes.append(Whole(of, groups.rows, table))
            for round_, numbers in later:
                again.setdefault(round_, []).append(numbers)
        for place, (of, new) in enumerate(zip(self.outputs, self._results(wholes), strict=True)):
            trace = len(self.inputs) + place
            old, _ = self._content(of, traces[trace], groups, number)
            old = with_weights(old, -old[WEIGHT].to_numpy())
            change = consolidate_table(pa.concat_tables([new.select(old.column_names), old]))
            if not change.num_rows:
                yield []
                continue
            rows = change.drop_columns([STREAM])
            numbers = groups.table[KEY_NUMBER].to_numpy()[change[STREAM].to_numpy()]
            traces[trace] = traces[trace].extend(_by_key(with_round(rows, number), numbers))
            yield [Changes(number, rows)]

    def _numbers(self, place: int, table: pa.Table) -> Numbers:
        """The numbers of the keys of rows."""
        if self.keyed is None:
            return np.zeros(table.num_rows, np.uint64)
        return np.asarray(self.keyed.key_numbers(place, table))

    def _content(
        self, of: Collection, trace: Trace, groups: Run, number: int
    ) -> tuple[pa.Table, list[tuple[int, Numbers]]]:
        """The rows of these groups in a round, with the number of the group, and by later round the keys of those that
        change then."""
        schema = pa.schema([NUMBER, *schema_of(of)])
        parts, late = [schema.empty_table()], []
        for run in trace:
            ours, theirs = match_keys(groups, run)
            if not len(ours):
                continue
            rounds = rounds_of(run.table)[theirs]
            now = np.flatnonzero(rounds <= number)
            if len(now) < len(rounds):
                after = np.flatnonzero(rounds > number)
                late.append((rounds[after], ours[after]))
            rows = take_rows(run.table.select(schema.names[1:]), theirs[now])
            parts.append(rows.add_column(0, NUMBER, pa.array(ours[now])))
        table = pa.concat_tables([part.select(schema.names).cast(schema) for part in parts])
        table = consolidate_table(table.combine_chunks())
        streams = table[STREAM].to_numpy()
        if len(streams) > 1 and not (streams[1:] >= streams[:-1]).all():
            table = take_rows(table, np.argsort(streams, kind="stable"))
        return table, _by_round(late, groups)

    def _results(self, wholes: list[Whole]) -> list[pa.Table]:
        """The results for the rows of each group."""
        if self.form is None:
            return [each.table for each in one_by_one(self.node.operator, tuple(wholes), self.outputs)]
        schemas = [pa.schema([NUMBER, *schema_of(of)]) for of in self.outputs]
        parts = [[schema.empty_table()] for schema in schemas]
        if any(each.table.num_rows for each in wholes):
            _, deltas = self.form.consume_all(*(each.table for each in wholes))
            for place, delta in enumerate(deltas):
                if isinstance(delta, Rows):
                    parts[place].append(delta.table.select(schemas[place].names).cast(schemas[place]))
        return [pa.concat_tables(some) for some in parts]


def _by_key(table: pa.Table, numbers: Numbers) -> Run:
    """Changes by the numbers of their keys."""
    table = table.append_column(KEY_FIELD, pa.array(numbers)).combine_chunks()
    return run_of(table, (KEY_NUMBER,))


def _by_round(late: list[tuple[Indices, Indices]], groups: Run) -> list[tuple[int, Numbers]]:
    """By later round, the keys of groups that change then."""
    if not late:
        return []
    rounds, owners = (np.concatenate(each) for each in zip(*late, strict=True))
    keys = groups.table[KEY_NUMBER].to_numpy()[owners]
    return [(int(each), keys[rounds == each]) for each in np.unique(rounds)]


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
        return Linear(*parts, form)
    if isinstance(form, JoinTables):
        return JoinRounds(*parts, form)
    if isinstance(form, DistinctTables):
        return WeighRounds(*parts, form)
    grouped = form_on_groups(operator, types)
    if grouped is not None and type(grouped).close is not OnTables.close:
        grouped = None
    keyed = form if form.placement is Placement.BY_KEY else None
    return GroupRounds(*parts, form=grouped and replace(grouped.typed(tables), keys=(STREAM,)), keyed=keyed)

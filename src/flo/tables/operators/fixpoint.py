"""`fixpoint` on tables: a push changes the rounds that it must change, one after the other.

    round   0              1              2              3
            Δedges ─> body ─> Δreach ─> body ─> Δreach ─> body ─> nothing: done

Inputs from outside change in round 0. What the body gives in round i, the relations have in round i + 1. A change may
also concern later rounds, as a row that was derived in round 2 and is now derived in round 5: it waits until then. The
rounds that have changes are taken in ascending order, so each is complete when it is taken, and is taken once.

A push ends: a round has no changes behind the last one in which the relations differ, before the push or after it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, final

import pyarrow as pa
import pyarrow.compute as pc

from flo.core.operator import Delta, Deltas, Operator, Step
from flo.core.semantics import guarded
from flo.core.stream_type import StreamType, StreamTypes
from flo.program.dag import Dag
from flo.tables.functions import runs_on_columns
from flo.tables.operator import Grouping, OnTables, Placement, functions_in
from flo.tables.operators.elementwise import can_hold
from flo.tables.operators.rounds import Growing, InRounds, PushNotes, RoundChanges, in_rounds
from flo.tables.operators.weights import NOTHING
from flo.tables.state.consolidation import net_changes
from flo.tables.state.trace import Trace
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of, schema_of
from flo.values.operators.fixpoint import SHOWN, Fixpoint


class CompiledBody(NamedTuple):
    """A body: its operators, and by number the streams that they read and emit. The first are those of its inputs."""

    operators: tuple[InRounds, ...]
    reads: tuple[tuple[int, ...], ...]
    emits: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    firsts: tuple[int, ...]
    """The first trace of each operator, and at the end the number of traces."""
    consolidated: frozenset[int]
    """The streams whose tables have a row only once."""

    @classmethod
    def of(cls, dag: Dag, relations: int) -> CompiledBody:
        streams = [*dag.inputs, *(stream for vertex in dag.vertices for stream in vertex.outputs)]
        numbers = {stream: number for number, stream in enumerate(streams)}
        outside = set(dag.inputs[relations:])

        def each(some: Any) -> tuple[int, ...]:
            return tuple(numbers[stream] for stream in some)

        operators = tuple(in_rounds(v, tuple(stream in outside for stream in v.inputs)) for v in dag.vertices)
        return cls(
            operators,
            tuple(each(vertex.inputs) for vertex in dag.vertices),
            tuple(each(vertex.outputs) for vertex in dag.vertices),
            each(dag.outputs),
            tuple(accumulate((len(each.names) for each in operators), initial=0)),
            frozenset(
                n for o, v in zip(operators, dag.vertices, strict=True) if o.consolidates for n in each(v.outputs)
            ),
        )


class Rounds:
    """The rounds of one push."""

    def __init__(self, body: CompiledBody, traces: tuple[Trace, ...], like: Fixpoint) -> None:
        self.body, self.like = body, like
        self._traces = [Growing(trace) for trace in traces or (NOTHING,) * body.firsts[-1]]
        self._waiting: dict[int, dict[int, list[pa.Table]]] = {}
        """By round and stream, the changes that its readers have not taken."""
        self._work = [PushNotes() for _ in body.operators]
        self._ahead: list[int] = []
        """The rounds to take, as a heap."""
        self.rows: dict[int, int] = {}
        """By round, from 1 on, the rows of the relations that change in it."""

    def add(self, stream: int, changes: RoundChanges) -> None:
        """Let the readers of a stream take these changes in their round."""
        self._open(changes.round).setdefault(stream, []).append(changes.table)

    def _open(self, number: int) -> dict[int, list[pa.Table]]:
        """Return what waits for a round, which will be taken."""
        if number not in self._waiting:
            self._waiting[number] = {}
            heapq.heappush(self._ahead, number)
        return self._waiting[number]

    def run(self) -> list[list[pa.Table]]:
        """Take all rounds that have changes; return the changes of each relation."""
        results: list[list[pa.Table]] = [[] for _ in self.body.outputs]
        added = 0
        while self._ahead:
            number = heapq.heappop(self._ahead)
            self._take(number)
            waiting = self._waiting.pop(number)
            for place, stream in enumerate(self.body.outputs):
                tables = waiting.get(stream, [])
                change = _joined(tables)
                if change is not None and (len(tables) > 1 or stream not in self.body.consolidated):
                    change = net_changes(change)
                if change is not None and change.num_rows:
                    results[place].append(change)
                    self.rows[number + 1] = self.rows.get(number + 1, 0) + change.num_rows
                    if self.like.row_limit is not None:
                        added += pc.sum(change[WEIGHT]).as_py()
                        self.like.row_limit.expect(added)
                    self._expect_end(number, place, change)
                    self.add(place, RoundChanges(number + 1, change))
        return results

    def settle(self) -> tuple[Trace, ...]:
        """Return the traces after the push."""
        return tuple(trace.settle() for trace in self._traces)

    def _take(self, number: int) -> None:
        """Let every operator with changes in a round take them, and give its own."""
        waiting, body = self._waiting[number], self.body
        for place, operator in enumerate(body.operators):
            given = [_joined(waiting.get(stream)) for stream in body.reads[place]]
            work = self._work[place]
            if number not in work.again and all(table is None for table in given):
                continue
            traces = self._traces[body.firsts[place] : body.firsts[place + 1]]
            changes = guarded(operator.take(number, given, traces, work), operator.node)
            for stream, some in zip(body.emits[place], changes, strict=True):
                for each in some:
                    self.add(stream, each)
            for later in work.again:
                self._open(later)

    def _expect_end(self, number: int, place: int, change: pa.Table) -> None:
        """Raise if a relation would change in a round that it must not reach."""
        if number >= self.like.most_rounds:
            some = change.slice(0, SHOWN)
            rows = layout_of(self.like.relations[place]).to_elements(some)
            changing = list(zip(rows, some[WEIGHT].to_pylist(), strict=True))
            raise self.like.no_fixpoint(changing, change.num_rows - len(changing))


def _joined(tables: list[pa.Table] | None) -> pa.Table | None:
    """Return tables as one; None if there are no rows."""
    if not tables:
        return None
    names = tables[0].column_names
    table = tables[0] if len(tables) == 1 else pa.concat_tables([each.select(names) for each in tables])
    return table if table.num_rows else None


@form_of(Fixpoint)
@final
@dataclass(frozen=True)
class FixpointTables(OnTables[Fixpoint]):
    """fixpoint(relations, g, n)."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE

    traces: tuple[Trace, ...] = ()
    """The traces of the operators of the body, with the round of each row."""
    rounds: Mapping[int, int] = field(default_factory=dict, compare=False)
    """What the last push did: by round, from 1 on, the rows of the relations that changed in it."""

    name = "fixpoint_tables"

    @classmethod
    def fits(cls, like: Fixpoint, inputs: StreamTypes) -> bool:
        """All rows of the body must have columns that can be compared."""
        body = Dag.of(like.graph, like.inner_types(inputs))
        streams = [*body.inputs, *(stream for vertex in body.vertices for stream in vertex.outputs)]
        return all(can_hold(stream.type) for stream in streams)

    @cached_property
    def _body(self) -> CompiledBody:
        types = tuple(StreamType(of, bounded=True) for of in self.inputs)
        return CompiledBody.of(Dag.of(self.like.graph, self.like.inner_types(types)), len(self.like.relations))

    def in_rounds(self) -> Iterator[tuple[InRounds, tuple[Trace, ...]]]:
        """The operators of the body, and the traces of each."""
        body = self._body
        traces = self.traces or (NOTHING,) * body.firsts[-1]
        for operator, (first, end) in zip(body.operators, pairwise(body.firsts), strict=True):
            yield operator, traces[first:end]

    @property
    def by_row(self) -> bool:
        return not all(runs_on_columns(f) for each in self._body.operators for f in functions_in(each.node.operator))

    def consume_step(self, values: tuple[Any, ...]) -> Step:
        """The step that consumes everything. A row at fault is one of the body, and its operator names it."""
        operator, outputs = self.take_in(*values)
        return Step(self.rule, tuple(value.drained() for value in values), operator, outputs)

    def consume(self, *tables: pa.Table) -> tuple[Operator, Deltas]:
        rounds = Rounds(self._body, self.traces, self.like)
        for place, table in enumerate(tables, len(self.like.relations)):
            if table.num_rows:
                rounds.add(place, RoundChanges(0, table))
        deltas = tuple(self._emit(place, some) for place, some in enumerate(rounds.run()))
        return self.with_state(traces=rounds.settle(), rounds=rounds.rows), deltas

    def _emit(self, place: int, changes: list[pa.Table]) -> Delta:
        """The changes of a relation in all rounds: those of its result."""
        names = schema_of(self.outputs[place]).names
        table = _joined([each.select(names) for each in changes])
        return self.emitted(table and net_changes(table), place)

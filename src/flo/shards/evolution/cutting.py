"""Cuts the state of a version into another number of shards, without its program.

Shards are ranges of key numbers, and runs are sorted by key number: a shard's part of a run is a slice of it. From 2
shards to 3, if key numbers are below 12:

    old shard 0: 0 … 5              old shard 1: 6 … 11
    run  0 1 3 5                    run  7 8 11

    new shard 0: 0 … 3              new shard 1: 4 … 7              new shard 2: 8 … 11
    run  0 1 3                      run  5 7                        run  8 11

Invariant: every row of a state is in the new shard of its key, and nowhere else. State in one place stays in shard 0.
Each class of operators declares how its state is cut: see `flo.tables.operator.Cut`.

The new states are written beside the old ones, which stay. A commit that names the new ones is the switch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, Numbers
from flo.core.checkpoint import encode
from flo.core.errors import CheckpointError
from flo.core.operator import Operator
from flo.core.term import Call, Term
from flo.core.untyped import Json, StateTerm
from flo.shards.checkpoint.inspect import Checkpoint, read_state, runs_in, without_merges
from flo.shards.plan.spread import PANE
from flo.shards.plan.stages import shard_of
from flo.shards.tasks.shard_record import PLACE
from flo.shards.tasks.state import CachedStore, StateVersions, store_of
from flo.tables.checkpoint.states import VertexState
from flo.tables.checkpoint.store import Storing
from flo.tables.functions import KEY as COMPUTED
from flo.tables.keyed import KEY
from flo.tables.operator import Cut, OnTables, Placement, StatePart, operators_on_tables
from flo.tables.operators.clocks import ClockOfPartitions
from flo.tables.operators.weights import select_rows
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.run import Run, merge_runs, run_of
from flo.tables.state.totals import Totals
from flo.tables.state.trace import Trace
from flo.tables.values import WEIGHT

VALUES = f"{COMPUTED}{COMPUTED}"
"""The prefix of the names of value columns, where rows are sorted by group and value."""
WHOLE = ("stored_rows", "stored_keyed_rows", "waiting")
"""The names of states that hold rows without a key."""


def cut_states(
    checkpoint: Checkpoint,
    version: int,
    shards: int,
    kept: Container[str],
    views: Container[str],
    moved: Callable[[int, tuple[int, int]], object] = lambda rows, state: None,
) -> dict[int, StateVersions]:
    """Cuts the state that a version has of some operators and views, and returns where it is, by level.

    It has the number of the version that it was cut from, which no commit names for these shards. `moved` is told how
    many rows were cut, and how many rows and bytes the new states have so far."""
    cut: dict[int, StateVersions] = {}
    rows = size = 0
    for stage in checkpoint.described(version)["stages"]:
        cutting = _Cutting(checkpoint, stage, shards, version, kept, views)
        cutting.cut()
        rows, size = rows + cutting.rows, size + sum(each.bytes for each in cutting.new)
        moved(cutting.rows, (rows, size))
        ended = checkpoint.state_versions(version)[stage["level"]].ended
        cut[stage["level"]] = StateVersions(dict.fromkeys(range(shards), version), ended=ended)
    return cut


@dataclass
class _Cutting:
    """Cuts the state of one stage at one version."""

    checkpoint: Checkpoint
    stage: Json
    shards: int
    version: int
    kept: Container[str]
    """The ids of the operators whose states are cut."""
    views: Container[str]
    old: list[CachedStore] = field(default_factory=list)
    """The stores of the old states. The last may be the state that all shards share which have received nothing yet."""
    new: list[Storing] = field(default_factory=list)
    rows: int = 0
    """How many rows were cut."""

    def cut(self) -> None:
        level = self.stage["level"]
        standing = list(self.checkpoint.state_versions(self.version)[level].states())
        self.old = [CachedStore(self.checkpoint.store(self.version, level, shard).folder) for shard, _ in standing]
        stores = [store_of(self.checkpoint.where, self.shards, level, shard) for shard in range(self.shards)]
        self.new = [Storing(store) for store in stores]
        read = [read_state(store, changed, self.stage) for store, (_, changed) in zip(self.old, standing, strict=True)]
        cut = [
            self._vertex(described, [each.states[vertex_id] for each in read])
            for vertex_id, described in self.stage["operators"].items()
            if vertex_id in self.kept
        ]
        kept = [self._views(shard, [each.views for each in read]) for shard in range(self.shards)]
        more = [each.more for each in read]
        for shard, (store, storing) in enumerate(zip(stores, self.new, strict=True)):
            states_of_shard = tuple(each[shard].term() for each in cut)
            noted = self._record(shard, more, dict(kept[shard]))
            store.write(self.version, encode((states_of_shard, kept[shard])), storing, noted)

    def _vertex(self, described: Json, old: list[VertexState]) -> list[VertexState]:
        """Returns the state of an operator in every new shard."""
        first, where = old[0], described["where"]
        if where == Placement.ONE_PLACE.value:
            if not all(each.is_initial for each in old[1:]):
                raise _uncut(described, "it runs in shard 0, but other shards have state of it")
            self._move((*first.parts.values(), *first.waiting.values()))
            return [first, *[replace(first, parts={}, waiting={})] * (self.shards - 1)]
        kind = operators_on_tables().get(first.name)
        if kind is not None and where != Placement.ANYWHERE.value:
            if kind.cut is Cut.BY_WINDOW:
                return self._by_window(old)
            if kind.cut is Cut.BY_STREAM:
                return self._by_stream(described, old)
            if kind.placement is Placement.BY_KEY:
                return self._by_key(described, kind, old)
        only = where == Placement.BY_KEY.value and len(old) == 1 and not first.is_initial
        if only or any(each != first for each in old) or any(runs_in(first.term())):
            raise _uncut(described, "it holds rows, and does not declare by which key")
        return [first] * self.shards

    def _by_window(self, old: list[VertexState]) -> list[VertexState]:
        """Cuts spread windows: every shard gets the latest clock, and the rows of its windows.

        The rows of a window come from one old shard, which knows their order. Rows of different windows need none.
        """
        started = [each.parts for each in old if each.parts]
        if not started:
            return [old[0]] * self.shards
        parts: dict[str, StateTerm] = {}
        if any("clock" in each for each in started):
            parts["clock"] = _latest_clock([each["clock"] for each in started if "clock" in each])
        if any("count" in each for each in started):
            parts["count"] = max(each.get("count", 0) for each in started)  # type: ignore[type-var]
        panes = [each.parts.get("opened") for each in old]
        return [replace(old[0], parts={**parts, "opened": self._panes(shard, panes)}) for shard in range(self.shards)]

    def _panes(self, shard: int, given: list[StateTerm]) -> Term:
        """Returns the waiting rows of a new shard. Runs are sorted by time, and only their last rows still wait."""
        parts: list[Run] = []
        for old, each in enumerate(given):
            for term, left in zip(*each.args[1:3], strict=True) if each is not None else ():
                run = self._run(old, term)
                live = select_rows(run, np.arange(run.rows - left, run.rows))
                part = self._slice(shard, live, (PANE,))
                parts += [part] if part.rows else []
        return Call("panes", ((), tuple(map(self.new[shard], parts)), tuple(part.rows for part in parts)))

    def _by_key(self, described: Json, kind: type[OnTables[Operator]], old: list[VertexState]) -> list[VertexState]:
        """Returns the state of every new shard. The class of the operator declares how each part is cut."""
        places = sorted({place for each in old for place in each.waiting})
        waiting = {place: self._buffers(described, kind, [each.waiting.get(place) for each in old]) for place in places}
        parts: dict[str, list[Term]] = {}
        for part in kind.parts():
            given = [each.parts.get(part.name) for each in old]
            if any(each is not None for each in given):
                parts[part.name] = self._part(described, part, given, parts)
        return [
            replace(
                old[0],
                parts={name: each[shard] for name, each in parts.items() if each[shard] is not None},
                waiting={place: each[shard] for place, each in waiting.items() if each[shard] is not None},
            )
            for shard in range(self.shards)
        ]

    def _by_stream(self, described: Json, old: list[VertexState]) -> list[VertexState]:
        """Cuts an operator on keyed streams, and what waits at its inputs."""
        names = dict.fromkeys(name for each in old for name in each.parts)
        places = dict.fromkeys(place for each in old for place in each.waiting)
        parts = {name: self._of_streams(described, [each.parts.get(name) for each in old]) for name in names}
        waiting = {place: self._of_streams(described, [each.waiting.get(place) for each in old]) for place in places}
        return [
            replace(
                old[0],
                parts={name: each[shard] for name, each in parts.items()},
                waiting={place: each[shard] for place, each in waiting.items()},
            )
            for shard in range(self.shards)
        ]

    def _part(
        self, described: Json, part: StatePart, given: list[StateTerm], parts: dict[str, list[Term]]
    ) -> list[Term]:
        if part.cut is None:
            raise _uncut(described, f"it does not declare how `{part.name}` is cut")
        if part.cut is Cut.BY_ROW:
            return [self._by_row(shard, given, parts[part.rows_of][shard]) for shard in range(self.shards)]
        if part.cut is Cut.NONE:
            return [None] * self.shards
        if part.cut is Cut.LATEST:
            return [max((each for each in given if each is not None), default=None)] * self.shards
        if any(isinstance(each, tuple) and each for each in given):  # several traces, each cut by itself
            count = max(len(each) for each in given if each is not None)
            every = [
                self._part(described, part, [each[place] if each else None for each in given], parts)
                for place in range(count)
            ]
            return [tuple(each[shard] for each in every) for shard in range(self.shards)]
        some = next((each for each in given if each is not None), None)
        if not isinstance(some, Call):
            if any(each != given[0] for each in given):
                raise _uncut(described, f"shards have different values: {given}")
            return [some] * self.shards  # not rows: the same everywhere
        if part.cut is Cut.BY_GROUP:
            columns = next((columns for columns, _ in runs_in(tuple(given))), ())
            group = tuple(each for each in columns if not each.startswith(VALUES))
            return [self._trace(shard, given, group) for shard in range(self.shards)]
        if some.name in Trace.terms:
            return [self._trace(shard, given) for shard in range(self.shards)]
        if some.name != "partners":
            raise _uncut(described, f"its state `{some.name}` has no key")
        rows, keys = (
            [each and (each.args[place] if place < len(each.args) else None) for each in given] for place in (0, 1)
        )
        key = next((columns for columns, _ in runs_in(tuple(keys))), ())
        row = next((columns for columns, _ in runs_in(tuple(rows))), ())
        if row and not set(key) <= set(row):  # if the other side has ended, only keys are kept
            if part.rows_of not in parts:
                raise _uncut(described, "its key is computed, and the rows kept to find partners do not contain it")
            cut = [self._by_row(shard, rows, parts[part.rows_of][shard]) for shard in range(self.shards)]
        else:
            cut = [self._trace(shard, rows, key) for shard in range(self.shards)]
        return [Call("partners", (each, self._trace(shard, keys))) for shard, each in enumerate(cut)]

    def _of_streams(self, described: Json, given: list[StateTerm]) -> list[StateTerm]:
        """Cuts the state of an operator on keyed streams: runs by the key of the streams. The rest must be equal in all
        shards, and stays."""
        some = next((each for each in given if each is not None), None)
        if all(each is None or each == some for each in given) and not any(runs_in(tuple(given))):
            return [some] * self.shards
        if all(each is None or type(each) is int for each in given):
            return [max(each or 0 for each in given)] * self.shards  # the number of the next row of any key
        parts = [() if each is None else each.args if isinstance(each, Call) else each for each in given]
        if isinstance(some, Call) and some.name in Trace.terms:
            names = next((columns for old, each in enumerate(given) if (columns := self._columns(old, each))), [])
            key = tuple(name for name in names if name.startswith(KEY))
            if names and not key:
                raise _uncut(described, "its rows do not contain the key of its stream")
            return [self._trace(shard, given, key) for shard in range(self.shards)]
        kinds = {(type(each), getattr(each, "name", None)) for each in given if each is not None}
        if len(kinds) > 1 or not isinstance(some, (Call, tuple)) or getattr(some, "name", None) in WHOLE:
            raise _uncut(described, "shards have different state that has no key")
        count = max(map(len, parts))
        cut = [
            self._of_streams(described, [each[place] if place < len(each) else None for each in parts])
            for place in range(count)
        ]
        by_shard = [tuple(each[shard] for each in cut) for shard in range(self.shards)]
        return [Call(some.name, each) for each in by_shard] if isinstance(some, Call) else list(by_shard)

    def _columns(self, old: int, trace: StateTerm) -> list[str]:
        """The names of the columns of a trace of an old shard."""
        runs = trace.args[1] if trace is not None and len(trace.args) > 1 else ()
        return list(self._run(old, runs[0]).table.column_names) if runs else []

    def _trace(self, shard: int, given: list[StateTerm], key: tuple[str, ...] = ()) -> Term:
        """Returns a trace of a new shard. Old shards have different keys, so their runs are merged level by level."""
        some = next((each for each in given if each is not None and each.args[0]), None)
        some = some or next((each for each in given if each is not None), Call("trace", ((), ())))
        columns: list[list[Run]] = []
        for old, each in enumerate(given):
            runs = [self._run(old, run) for run in (each.args[1] if each is not None else ())]
            columns.append([part for run in runs if (part := self._slice(shard, run, key)).rows])
            self.rows += sum(part.rows for part in columns[-1])
        beside = [[run for run in runs if run is not None] for runs in itertools.zip_longest(*columns)]
        whole = [Totals(runs[0].columns).join(runs) if some.name == "totals" else merge_runs(runs) for runs in beside]
        return Call(some.name, (some.args[0], tuple(self.new[shard](run) for run in whole)))

    def _run(self, shard: int, term: StateTerm) -> Run:
        """Reads a run of an old shard."""
        if term.name == "parts":
            return self.old[shard].get_parts(_stored(term.args[0])[0], tuple(_stored(part)[1] for part in term.args))
        return self.old[shard].get(*_stored(term))

    def _slice(self, shard: int, run: Run, key: tuple[str, ...]) -> Run:
        if key and key != run.columns:  # sorted by row, but sharded by key
            return _chosen(run, self._of(keys_of([run.table[name] for name in key]).numbers) == shard)
        low, high = np.searchsorted(self._of(run.keys.numbers), [shard, shard + 1])
        numbers = run.keys.numbers[low:high]
        return Run(run.columns, Keys(numbers, run.keys.exact), run.table.slice(int(low), int(high - low)))

    def _of(self, numbers: Numbers) -> Indices:
        return shard_of(numbers, self.shards)

    def _by_row(self, shard: int, given: list[StateTerm], by_key: StateTerm) -> Term:
        """Returns the rows of the trace `by_key`, sorted by row."""
        columns = next((columns for columns, _ in runs_in(tuple(given))), ())
        if not columns:
            return Call("trace", ((), ()))
        runs = [self.new[shard].store.get(*_stored(run)) for run in by_key.args[1]]
        taken = [run_of(run.table.select([*columns, WEIGHT]), columns) for run in runs]
        return Call("trace", ((), tuple(self.new[shard](run) for run in taken)))

    def _buffers(self, described: Json, kind: type[OnTables[Operator]], old: list[StateTerm]) -> list[StateTerm]:
        """Cuts the rows that wait at an input, by the whole row: see `OnTables.rows_wait`."""
        waiting = [store.get((), each.args[1]).table for store, each in zip(self.old, old, strict=True) if _waits(each)]
        if not waiting:
            return [old[0]] * self.shards
        some = next(each for each in old if each is not None)
        if not kind.rows_wait:
            raise _uncut(described, "rows are waiting at its input")
        table = pa.concat_tables(waiting).combine_chunks()
        numbers = self._of(keys_of([table[name] for name in table.column_names if name != WEIGHT]).numbers)
        terms: list[Term] = []
        for shard in range(self.shards):
            part = table.filter(pa.array(numbers == shard))
            run = Run((), Keys(np.zeros(part.num_rows, np.uint64), False), part)
            name = self.new[shard].put(run) if part.num_rows else None
            terms.append(Call("stored_rows", (some.args[0], name, some.args[2])))
        return terms

    def _move(self, term: StateTerm) -> StateTerm:
        """Copies a state to the new shard 0."""
        for columns, name in runs_in(term):
            self.new[0](self.old[0].get(columns, name))
        return term

    def _views(self, shard: int, old: list[dict[str, StateTerm]]) -> tuple[tuple[str, Term], ...]:
        """Cuts the views. A view is the sum of its parts in all shards; a sequence is in shard 0."""
        parts: list[tuple[str, Term]] = []
        for name in sorted({name for each in old for name in each if name in self.views}):
            given = [each.get(name) for each in old]
            some: StateTerm = next(each for each in given if each is not None)
            in_order = isinstance(some, Call) and some.name in Trace.terms and tuple(some.args[0]) == (PLACE,)
            if isinstance(some, Call) and some.name in Trace.terms and not in_order:
                parts.append((name, self._trace(shard, given)))
            elif name in self.stage["spread"]:
                raise _uncut({"name": name, "line": ""}, "it is a view without columns, in several shards")
            elif shard == 0 and given[0] is not None:
                parts.append((name, self._move(given[0])))
        return tuple(parts)

    def _record(self, shard: int, old: list[Json], kept: dict[str, StateTerm]) -> Json:
        """Returns the shard record: ends and positions are equal in all shards; counts of sequences are in shard 0."""
        reached: dict[str, Json] = {}
        for delivery, last in ((number, last) for each in old for number, last in each["reached"].items()):
            known = reached.get(delivery, last)
            if isinstance(last, dict):  # of each partition
                reached[delivery] = known | {each: max(at, known.get(each, at)) for each, at in last.items()}
            else:
                reached[delivery] = max(last, known)
        views = {
            name: {**view, "runs": [run for _, run in runs_in(without_merges(kept.get(name)))]}
            for name, view in old[0]["views"].items()
            if name in self.views
        }
        return {**old[0], "reached": reached, "views": views, "counts": old[0]["counts"] if shard == 0 else {}}


def _latest_clock(clocks: list[StateTerm]) -> StateTerm:
    """The clock that is furthest; of partitions, the one of each that is."""
    if clocks[0].name != ClockOfPartitions.term:
        return max(clocks, key=lambda clock: clock.args[0])
    each: dict[int, Json] = {}
    for partition, time in (pair for clock in clocks for pair in clock.args[1]):
        each[partition] = max(time, each.get(partition, time))
    return Call(clocks[0].name, (clocks[0].args[0], tuple(sorted(each.items())), *clocks[0].args[2:]))


def _stored(term: StateTerm) -> tuple[tuple[str, ...], str]:
    columns, name = term.args
    return tuple(columns), name


def _waits(term: StateTerm) -> bool:
    return isinstance(term, Call) and term.name == "stored_rows" and term.args[1] is not None


def _chosen(run: Run, which: Mask) -> Run:
    return Run(run.columns, Keys(run.keys.numbers[which], run.keys.exact), run.table.filter(pa.array(which)))


def _uncut(described: Json, why: str) -> CheckpointError:
    line = (("line", described["line"]),) if described["line"] else ()
    return CheckpointError(
        f"the state of `{described['name']}` cannot be cut into other shards: {why}",
        facts=line,
        instead=(("without `shards=…`", "goes on with as many shards as the checkpoint has"),),
    )

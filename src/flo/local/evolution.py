"""A start of a changed program on a checkpoint: what is not kept is filled, and the checkpoint switches to it at once.

    checkpoint at version 6, of the program before
        │   fill: micro-batches of the fill program, in the folder `fill`, restartable
        ▼
    states of version 7 ──> the difference of each output to its sink ──> commit of version 7, of our program

A sink that is to be reconciled gets the difference in the same way, also if the program is the one before.

Invariant: until version 7 is committed, the checkpoint is that of the program before, and readers see version 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from flo.api.running import expect_known, expect_one_of
from flo.api.scope import NOW
from flo.core.collection import Value
from flo.core.errors import CheckpointError, TypeMismatch, UnknownNameError
from flo.core.program_outline import expect_same_functions, find_replaced, from_plain
from flo.local.durable import ENDED, DurableLoop
from flo.local.run_progress import RunProgress
from flo.program.identity import digest
from flo.shards.checkpoint.commits import PROGRAM, committed_versions, read_commit
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.program_changes import (
    FILL,
    PAST_INPUTS,
    Description,
    add_description,
    complete_description,
    expect_unchanged,
    input_names,
    read_description,
    update_description,
)
from flo.shards.checkpoint.spark_logs import BATCH, PUSHED, ResumedBatches
from flo.shards.checkpoint.stored_views import StoredView
from flo.shards.evolution.comparison import Comparison, Holder, compare_programs
from flo.shards.evolution.cutting import cut_states
from flo.shards.evolution.filling import FillBuilder, FillProgram, Refilled
from flo.shards.evolution.plan_text import changed_program_error, missing_content_error, missing_rows_error
from flo.shards.evolution.snapshots import count_rows, is_whole, read_rows
from flo.shards.evolution.switch import StoredStates, Switch
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.plan.planning import plan_stages
from flo.shards.program import ShardedProgram
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.output_changes import loose_schema, schema_of
from flo.shards.sinks.reconciling import ChangedOutput, columns_between
from flo.shards.sinks.sinks import ViewSink
from flo.shards.tasks.output_files import COUNT, PARTS, VIEW, Output, write_part
from flo.tables.checkpoint.folders import Writes, folder
from flo.tables.checkpoint.store import read_sealed, write_sealed
from flo.tables.io.diverted import OnError
from flo.tables.io.feeding import Feeder
from flo.tables.io.files import WEIGHTS, DataPart, DataSource, Piece, PlainData
from flo.tables.values import Rows, layout_of

PURPOSE = "purpose.json"
PUSHES = "pushes"
"""In a commit of the fill: how many pushes it has taken."""


OnChange: TypeAlias = Literal["reject", "fill"]
ReadAgain: TypeAlias = Callable[[str, str], object]
"""Gives the rows that an input, by its name, has had so far. It may keep files in a folder."""


@dataclass(frozen=True)
class Change:
    """What the user allows of a changed program."""

    changed: OnChange
    fill: Mapping[str, object]
    """The user's own rows of inputs."""
    refill: Sequence[str]
    """The names of functions whose code has changed."""
    on_error: OnError
    misfits: Mapping[str, bool] = field(default_factory=dict)
    """The outputs whose sinks are compared with them, and whether they must be: see `Giving.find_misfits`."""


@dataclass(frozen=True)
class Filled:
    """What a fill has computed."""

    version: int = -1
    """Its last version; -1 if there was nothing to fill."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """The stage of the fill program that has the state of an operator."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of rows that it has read of ordered inputs, by name."""


@dataclass
class Evolution:
    """A changed program, on the checkpoint of the one before."""

    program: ShardedProgram
    batches: MicroBatches
    ours: Description
    compared: Comparison
    fill: FillProgram
    version: int
    """The newest version of the checkpoint."""
    change: Change
    ended: frozenset[str]
    """The inputs that have ended."""
    read_again: ReadAgain | None = None
    is_same: bool = False
    """Whether the program is the one before: then only sinks are compared with their outputs."""
    move_logs: Callable[[], None] | None = None
    """Moves what an engine has beside the state, before the version is committed."""

    @property
    def where(self) -> str:
        return f"{self.batches.folder}/{FILL}"

    @property
    def changed_outputs(self) -> dict[str, ChangedOutput]:
        """The outputs whose sinks get a difference."""
        parts = [each for each in self.batches.outputs if each.how == PARTS]
        return {each.name: self._changed_output(each) for each in parts if each.name in self.fill.outputs}

    def _changed_output(self, output: Output) -> ChangedOutput:
        before, now = (each.get("streams", {}).get(output.name, {}) for each in (self.compared.before, self.ours))
        stream = self.program.dag.outputs[list(self.program.output_types).index(output.name)]
        maker = next((each for each in self.program.dag.vertices if stream in each.outputs), None)
        holders = self.compared.holders.get(before.get("stream", ""), ())
        holder = next((each for each in holders if each.columns == now["columns"]), None)
        return ChangedOutput(
            str(maker.origin or "") if maker is not None else "",
            columns_between(before.get("columns"), now["columns"]),
            None if holder is None else partial(self._rows_before, output, holder),
        )

    def _rows_before(self, output: Output, holder: Holder) -> pa.Table:
        """The rows that an output had in the program before."""
        schema = loose_schema(schema_of(output))
        rows = pa.schema([each for each in schema if each.name != WEIGHTS])
        parts = read_rows(Checkpoint(self.batches.folder), self.version, holder, rows)
        return pa.concat_tables(
            [
                schema.empty_table(),
                *(part.rename_columns([*rows.names, WEIGHTS]).select(schema.names) for part in parts),
            ]
        )

    def run(self, giving: Giving, lease: Lease) -> None:
        """Fills what is not kept, gives sinks the differences, and commits the version that our program begins with.

        Nothing is committed if only sinks are compared, and all of them have what their outputs have."""
        before, filled = self._states_before(), self._fill_states(lease)
        outcome = self._differences(giving, giving.next_version(), filled.version)
        has_news = any(self.change.misfits.values()) or any(outcome.rows.values())
        if self.is_same and not has_news and self.shards_before == self.batches.shards:
            update_description(self.batches.folder, self.ours)
            giving.commit([], self.version)
            folder(self.batches.folder).remove(FILL)
            return
        states = StoredStates.at(self.where, self.batches.shards, filled.version)
        plan, outputs, levels = self.program.plan, self.batches.outputs, filled.levels
        switch = Switch(self.compared, plan, outputs, before, states, levels, outcome.version)
        self.batches.set_state_versions(switch.version, switch.write())
        lease.expect_held()
        given = giving.give(outcome, staged=False)
        if self.move_logs is not None:
            self.move_logs()
        add_description(self.batches.folder, self.ours, switch.version)
        self.batches.program = switch.version
        lease.expect_held()
        self.batches.commit_micro_batch(outcome, lease.epoch, giving.given, self._notes(filled.counts))
        giving.commit(given, switch.version)
        folder(self.batches.folder).remove(FILL)

    @property
    def shards_before(self) -> int:
        """The number of shards that the checkpoint has."""
        return int(self.compared.before["shards"])

    def _states_before(self) -> StoredStates:
        """The states of the program before, in as many shards as ours has."""
        where, shards = self.batches.folder, self.batches.shards
        if shards == self.shards_before:
            return StoredStates.at(where, shards, self.version)
        kept, views = self.compared.kept, self.compared.same_outputs
        with RunProgress(f"{self.ours['flow']}: {self.shards_before} shards to {shards}", None) as bar:
            cut = cut_states(Checkpoint(where), self.version, shards, kept, views, bar.moved)
        return StoredStates(where, shards, cut)

    def _fill_states(self, lease: Lease) -> Filled:
        """Runs the fill program, or what an interrupted start has left of it."""
        dag = self.fill.dag
        if not dag.vertices and not dag.outputs:
            return Filled()
        done = self._find_done()
        plan = plan_stages(dag)
        outputs = [
            Output(name, stream, kind.type, VIEW)
            for name, stream, kind in zip(self.fill.outputs, plan.outputs, dag.outputs, strict=False)
        ]
        workers = 1 if self.read_again is not None else self.batches.tasks  # a process with Java in it does not fork
        batches = MicroBatches(plan, outputs, self.where, self.batches.shards, workers)
        loop = DurableLoop(dag, batches, Giving(batches, {each.name: ViewSink() for each in outputs}), lease)
        try:
            with RunProgress(f"{self.ours['flow']}: filling", self._count_rows()) as bar:
                for number, (rows, push) in enumerate(self._pushes(loop)):
                    if number >= done:
                        push()
                        loop.run()
                        loop.commit({}, {PUSHES: number + 1})
                    bar.moved(rows, loop.state_size())
        finally:
            loop.executor.stop()
        levels = {v.id: stage.level for stage in plan.stages for v in stage.dag.vertices if v.id in self.fill.ids}
        counts = {self.fill.inputs[place].stream.name: count for place, count in loop.counts.items()}
        return Filled(loop.version - 1, levels, counts)

    def _count_rows(self) -> int | None:
        """How many rows are read; None if it is not known."""
        checkpoint = Checkpoint(self.batches.folder)
        if self._read_inputs:
            return None
        return sum(count_rows(checkpoint, self.version, each.holder) for each in self.fill.inputs if each.holder)

    def _find_done(self) -> int:
        """How many pushes an interrupted fill has committed. One of another program is removed, and one that has read
        rows of the user: they may be others now."""
        described = (self.ours[name] for name in ("outline", "stages", "inputs", "sources"))
        wanted = self.fill.outputs, sorted(self.change.refill), self.batches.shards
        purpose = {"after": self.version, "program": digest(*map(repr, (*described, *wanted)))}
        files, newest = folder(self.where), max(committed_versions(self.where), default=-1)
        if files.exists(PURPOSE) and not any(each.stream.name in self.change.fill for each in self._read_inputs):
            known = read_sealed(files, PURPOSE)
            done = read_commit(self.where, newest).get(PUSHES) if newest >= 0 else 0
            if {**known, **purpose} == known and done is not None:
                return int(done)
        folder(self.batches.folder).remove(FILL)
        write_sealed(files, PURPOSE, purpose)
        return 0

    @property
    def _read_inputs(self) -> list[Refilled]:
        """The inputs whose rows the checkpoint does not hold."""
        return [each for each in self.fill.inputs if each.holder is None]

    def _pushes(self, loop: DurableLoop) -> Iterator[tuple[int, Callable[[], object]]]:
        """The pushes of the fill, each with its number of rows: those of one input after the other, in parts, and then
        the ends. There is at least one."""
        checkpoint = Checkpoint(self.batches.folder)
        names = {each.stream.name: self.fill.inputs.index(each) for each in self._read_inputs}
        feeder, is_pushed = Feeder(loop, names, self.change.on_error), False
        for place, each in enumerate(self.fill.inputs):
            if each.holder is None:
                name = each.stream.name
                for part in feeder.read_parts(name, feeder.open(name, self._rows_of_input(name))):
                    if _size_of(part):
                        is_pushed = True
                        yield _size_of(part), partial(feeder.feed_in_turn, [(name, DataSource(iter([part]), None))])
                continue
            of: Any = each.stream.type.collection
            for table in read_rows(checkpoint, self.version, each.holder, layout_of(of.base).schema):
                is_pushed = True
                yield table.num_rows, partial(self._push, loop, place, Rows(of.base, table))
        if self._ended_places or not is_pushed:
            yield 0, partial(self._push_ends, loop)

    def _rows_of_input(self, name: str) -> object:
        """The rows that an input has had so far: the user's own, or those that its source still has."""
        if name in self.change.fill:
            return self.change.fill[name]
        if name == NOW:
            return datetime.now(UTC)
        if self.read_again is None:
            return []  # it is new: no row has come
        return self.read_again(name, f"{self.where}/rows/{name}")

    def expect_rows(self) -> None:
        """Raises if nothing has the rows that a fill needs."""
        if self.read_again is not None:
            return
        error = missing_content_error if self.is_same else missing_rows_error
        for name in (each.stream.name for each in self._read_inputs):
            if name in self.ours[PAST_INPUTS] and name != NOW and name not in self.change.fill:
                raise error(self.compared, self.fill, name)

    def _push(self, loop: DurableLoop, place: int, value: Value) -> None:
        loop.push(tuple(value if each == place else None for each in range(len(self.fill.inputs))))

    @property
    def _ended_places(self) -> list[int]:
        """The places of the inputs whose streams have ended."""
        sources = [self.fill.sources[each.stream] for each in self.fill.inputs]
        return [place for place, each in enumerate(sources) if each and each <= self.ended]

    def _push_ends(self, loop: DurableLoop) -> None:
        for place in self._ended_places:
            self._push(loop, place, self.fill.inputs[place].stream.type.collection.bottom().fix())

    def _differences(self, giving: Giving, version: int, filled: int) -> Outcome:
        """What sinks get: the difference between what an output is now and what its sink has."""
        every: dict[str, tuple[int, list[str]]] = {}
        for output in self.batches.outputs:
            if output.how == PARTS and output.name in self.fill.outputs:
                every[output.name] = self._difference(giving, output, version, filled)
        rows = {each.name: every.get(each.name, (0, []))[0] for each in self.batches.outputs}
        changed = {name: paths for name, (_, paths) in every.items()}
        return Outcome(version, rows, dict.fromkeys(rows, False), 0, {}, 0.0, changed_files=changed)

    def _difference(self, giving: Giving, output: Output, version: int, filled: int) -> tuple[int, list[str]]:
        """The number of rows of a difference, and the files that have them."""
        view = StoredView.read(self.where, output.name, filled, self.batches.shards)
        schema = schema_of(output)
        parts = [part.changes() for part in view.parts()] if view is not None else []
        now = pa.concat_tables([schema.empty_table(), *(each.select(schema.names).cast(schema) for each in parts)])
        table = giving.difference(output, now)
        writes = Writes()
        try:
            file = write_part(self.batches.folder, output.name, version, 0, table, writes)
            writes.finish()
        finally:
            writes.close()
        return table.num_rows, [file] if file is not None else []

    def _notes(self, filled: Mapping[str, int]) -> dict[str, Any]:
        """What the commit says of inputs, by their places in our program. The next row of a sequence comes after those
        that were pushed, and after those that the fill has read."""
        names = [stream.name for stream in self.program.dag.inputs]
        last = read_commit(self.batches.folder, self.version)
        before = input_names(self.compared.before)
        counts = {before[int(place)]: count for place, count in last.get(PUSHED, {}).items()}
        for name, count in filled.items():
            counts[name] = max(counts.get(name, 0), count)
        return {
            PUSHED: {str(place): counts[name] for place, name in enumerate(names) if name in counts},
            ENDED: [place for place, name in enumerate(names) if name in self.ended],
            BATCH: ResumedBatches.after(self.batches.folder, self.version).last,
        }


def find_evolution(
    program: ShardedProgram,
    batches: MicroBatches,
    ours: Description,
    change: Change,
    read_again: ReadAgain | None = None,
    ended: Iterable[str] = (),
    version: int | None = None,
) -> Evolution | None:
    """What to do to start our program on a checkpoint, at a version, by default the newest; None if the state can be
    used as it is.

    `read_again` gives the rows that an input has had so far, if its source still has them. `ended` are inputs that are
    read at once."""
    _expect_valid(change)
    version = max(committed_versions(batches.folder), default=-1) if version is None else version
    before = read_description(batches.folder, version)
    if before is None or version < 0:
        return None
    before = complete_description(before, ours)
    ours[PAST_INPUTS] = sorted({*before.get(PAST_INPUTS, ()), *input_names(before)})
    batches.program = read_commit(batches.folder, version).get(PROGRAM)
    for name in change.fill:
        expect_known(name, {stream.name: stream for stream in program.dag.inputs}, "input")
    ids_with_functions(ours, change.refill)  # raises if a name is unknown
    if change.changed == "fill":
        expect_same_functions(from_plain(before["outline"]), from_plain(ours["outline"]), change.refill)
    compared, fill = plan_change(program, batches.folder, version, before, ours, change.refill)
    is_same, same_outputs = compared.is_same, compared.same_outputs
    if change.changed == "reject":
        try:
            expect_unchanged(before, ours)
        except CheckpointError as error:
            if compared.is_same:
                raise
            raise changed_program_error(error, compared, fill) from None
    is_rescaled = before["shards"] != batches.shards
    if is_same and not change.misfits and not is_rescaled:
        return None
    over = ended_inputs(batches.folder, version, before)
    must = {name for name, needed in change.misfits.items() if needed}
    if change.misfits:
        compared = replace(compared, same_outputs=same_outputs - change.misfits.keys())
        fill = plan_fill(program, batches.folder, version, compared)
    if must != change.misfits.keys() and any(each.holder is None for each in fill.inputs):
        # no input is read again only to see that a sink has what it was given
        if is_same and not must and not is_rescaled:
            return None
        compared = replace(compared, same_outputs=same_outputs - must)
        change, fill = (
            replace(change, misfits=dict.fromkeys(must, True)),
            plan_fill(program, batches.folder, version, compared),
        )
    over = over.union(ended)
    evolution = Evolution(program, batches, ours, compared, fill, version, change, over, read_again, is_same)
    evolution.expect_rows()
    return evolution


def _expect_valid(change: Change) -> None:
    """Raises if the arguments of a start do not fit together."""
    expect_one_of("changed", change.changed, OnChange)
    if change.refill and change.changed != "fill":
        raise TypeMismatch(
            f"`refill` computes states anew, which `changed` must allow; it is {change.changed!r}",
            instead=((f'changed="fill", refill={list(change.refill)}', "computes what depends on them anew"),),
        )


def plan_change(
    program: ShardedProgram,
    where: str,
    version: int,
    before: Description,
    ours: Description,
    refill: Sequence[str] = (),
) -> tuple[Comparison, FillProgram]:
    """Compares our program with that of a version, and plans how to fill what is not kept."""
    outlines = from_plain(before["outline"]), from_plain(ours["outline"])
    stale = ids_with_functions(ours, refill) | changed_sources(before, ours) | find_replaced(*outlines)
    compared = compare_programs(before, ours, program.dag, stale)
    return compared, plan_fill(program, where, version, compared)


def plan_fill(program: ShardedProgram, where: str, version: int, compared: Comparison) -> FillProgram:
    """How to fill what is not kept."""
    ended = ended_inputs(where, version, compared.before)
    names = list(program.output_types)
    wanted = frozenset(name for name in names if compared.ours["outputs"][name] != COUNT)
    whole = partial(is_whole, Checkpoint(where), version)
    return FillBuilder(compared, names, wanted, ended, whole).fill


def changed_sources(before: Description, ours: Description) -> frozenset[str]:
    """The names of inputs whose rows are not those of before: Catalyst computes them in another way, or they could be
    retracted, and the new program does not take retractions."""
    theirs, own = (_by_input(each["sources"]) for each in (before, ours))
    computed = {name for name in own if name in theirs and theirs[name] != own[name]}
    return frozenset(computed | (_retractable_inputs(before) & {*input_names(ours)} - _retractable_inputs(ours)))


def _retractable_inputs(description: Description) -> set[str]:
    """The names of inputs that are z-sets."""
    return {
        name for name, _, kind in (line.partition(": ") for line in description["inputs"]) if kind.startswith("ZSet")
    }


def _by_input(lines: list[str]) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for line in lines:
        name, _, how = line.partition(": ")
        named.setdefault(name, []).append(how)
    return named


def ids_with_functions(ours: Description, names: Sequence[str]) -> frozenset[str]:
    """The ids of operators that call functions of these names. Raises if none does."""
    functions = [(each.id, called.identity) for each in from_plain(ours["outline"]) for called in each.functions]
    for name in names:
        if not any(function.is_called([name]) for _, function in functions):
            known = dict.fromkeys(function.name for _, function in functions if _is_plain(function.name))
            raise UnknownNameError(
                f"`refill` names `{name}`, which no operator calls", facts=(("functions", ", ".join(known) or "none"),)
            )
    return frozenset(own for own, function in functions if function.is_called(names))


def _is_plain(name: str) -> bool:
    """Whether it is the name of a function, and not the text of an expression."""
    return bool(name) and all(part.isidentifier() for part in name.replace("<locals>", "locals").split("."))


def _size_of(part: DataPart) -> int:
    """The number of rows of a part of an input, as far as it is known."""
    match part:
        case Piece():
            return int(part.table.num_rows)
        case PlainData(data):
            return len(data) if hasattr(data, "__len__") else 0
    return 1


def ended_inputs(where: str, version: int, description: Description) -> frozenset[str]:
    """The names of the inputs that have ended."""
    names = input_names(description)
    return frozenset(names[place] for place in read_commit(where, version).get(ENDED, ()))

"""A start of a changed program on a checkpoint: what is not kept is filled, and the checkpoint switches to it at once.

    checkpoint at version 6, of the program before
        │   fill: micro-batches of the fill program, in the folder `fill`, restartable
        ▼
    states of version 7 ──> the difference of each output to its sink ──> commit of version 7, of our program

A sink that is to be reconciled gets the difference in the same way, also if the program is the one before.

Invariant: until version 7 is committed, the checkpoint is that of the program before, and readers see version 6.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from flo.api.running import expect_known, expect_one_of
from flo.api.scope import NOW
from flo.core.errors import CheckpointError, TypeMismatch, brief
from flo.core.program_outline import expect_same_functions, from_plain, without_number
from flo.local.fill_run import Change, Filled, FillJob, FillRun, OnChange, StartFill
from flo.local.run_progress import RunProgress
from flo.pictures.run_history import FillFigures
from flo.program.identity import digest
from flo.shards.checkpoint.commits import PROGRAM, committed_versions, read_commit, read_given
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
    with_views,
)
from flo.shards.checkpoint.spark_logs import BATCH, ENDED, PUSHED, ResumedBatches
from flo.shards.checkpoint.stored_views import StoredView
from flo.shards.evolution.change_planning import ended_inputs, ids_with_functions, plan_change, plan_fill
from flo.shards.evolution.comparison import Holder, ProgramComparison
from flo.shards.evolution.cutting import cut_states
from flo.shards.evolution.filling import FillProgram
from flo.shards.evolution.plan_text import ChangePlan
from flo.shards.evolution.snapshots import read_rows
from flo.shards.evolution.switch import StoredStates, Switch
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.program import ShardedProgram
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.output_changes import ColumnChanges, loose_schema, schema_of
from flo.shards.sinks.reconciling import ChangedOutput, columns_between
from flo.shards.tasks.output_files import PARTS, Output, write_part
from flo.tables.checkpoint.folders import Writes, folder
from flo.tables.io.files import WEIGHTS


@dataclass
class Evolution:
    """A changed program, on the checkpoint of the one before."""

    program: ShardedProgram
    batches: MicroBatches
    ours: Description
    compared: ProgramComparison
    fill: FillProgram
    version: int
    """The newest version of the checkpoint."""
    change: Change
    ended: frozenset[str]
    """The inputs that have ended."""
    start_fill: StartFill = FillRun
    is_same: bool = False
    """Whether the program is the one before: then only sinks are compared with their outputs."""
    move_logs: Callable[[], None] | None = None
    """Moves what an engine has beside the state, before the version is committed."""
    figures: FillFigures = field(default_factory=FillFigures)

    @property
    def job(self) -> FillJob:
        """The fill of what is not kept."""
        described = (self.ours[name] for name in ("outline", "stages", "inputs", "sources"))
        wanted = self.fill.outputs, sorted(self.change.refill), self.change.on_error, self.batches.shards
        inputs = tuple(stream.name for stream in self.program.dag.inputs)
        return FillJob(
            self.ours["flow"],
            self.fill,
            self.batches.folder,
            self.version,
            self.batches.shards,
            self.batches.tasks,
            self.batches.memory,
            self.change,
            self.ended,
            inputs,
            dict(zip(inputs, self.program.plan.entries, strict=False)),
            digest(*map(repr, (*described, *wanted))),
            self.figures,
        )

    @property
    def plan(self) -> ChangePlan:
        """What it does, in the user's words."""
        return _plan(self.compared, self.fill, self.batches, self.version, self.change, self.start_fill)

    def changed_outputs(self, giving: Giving) -> dict[str, ChangedOutput]:
        """The outputs whose sinks get a difference."""
        parts = [each for each in self.batches.outputs if each.how == PARTS]
        return {each.name: self._changed_output(each, giving) for each in parts if each.name in self.fill.outputs}

    def _changed_output(self, output: Output, giving: Giving) -> ChangedOutput:
        before, now = (each.get("streams", {}).get(output.name, {}) for each in (self.compared.before, self.ours))
        stream = self.program.dag.outputs[list(self.program.output_types).index(output.name)]
        maker = next((each for each in self.program.dag.vertices if stream in each.outputs), None)
        holders = self.compared.holders.get(without_number(before.get("stream", "")), ())
        holder = next((each for each in holders if each.columns == now["columns"]), None)
        return ChangedOutput(
            str(maker.origin or "") if maker is not None else "",
            self._column_changes(output.name, giving),
            None if holder is None else partial(self._rows_before, output, holder),
        )

    def _column_changes(self, name: str, giving: Giving) -> ColumnChanges:
        """What has become of the columns that the sink of an output has. It may have those of another output; or of
        another program, if it does not hold what it was given."""
        before, now = (each.get("streams", {}) for each in (self.compared.before, self.ours))
        owner = giving.find_other_output(name)
        if owner is None:
            is_known = not giving.has_rows(name) or (giving.was_given(name) and not self.change.misfits.get(name))
        else:
            is_known = owner != name and owner in before
        if not is_known:
            return ColumnChanges(added=frozenset(now[name]["columns"] or ()))
        return columns_between(before.get(owner or name, {}).get("columns"), now[name]["columns"])

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
        """Fills what is not kept, gives sinks the differences, and commits the version that our program begins with."""
        try:
            self._run(giving, lease)
        finally:
            self.figures.ended = time.monotonic()

    def _run(self, giving: Giving, lease: Lease) -> None:
        """Nothing is committed if only sinks are compared, and all of them have what their outputs have."""
        before, filled = self._states_before(), self._fill_states(lease)
        outcome = self._differences(giving, giving.next_version(), filled.version)
        for name, rows in filled.diverted.items():
            giving.add_diverted(outcome, name, rows, is_whole=name in filled.read_whole)
        has_news = any(self.change.misfits.values()) or any(outcome.rows.values())
        if self.is_same and not has_news and self.shards_before == self.batches.shards:
            update_description(self.batches.folder, self.ours)
            giving.commit([], self.version)
            folder(self.batches.folder).remove(FILL)
            return
        states = StoredStates.at(self.job.where, self.batches.shards, filled.version)
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
        return self.start_fill(self.job, lease).run() if dag.vertices or dag.outputs else Filled()

    def expect_rows(self) -> None:
        """Raises if nothing has the rows that a fill needs."""
        for name in self.plan.missing_inputs:
            raise self.plan.missing_content_error(name) if self.is_same else self.plan.missing_rows_error(name)

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
        view = StoredView.read(self.job.where, output.name, filled, self.batches.shards)
        schema = schema_of(output)
        parts = [part.changes() for part in view.parts()] if view is not None else []
        now = pa.concat_tables([schema.empty_table(), *(each.select(schema.names).cast(schema) for each in parts)])
        table = giving.difference(output, now)
        self._note_changes(output.name, table)
        writes = Writes()
        try:
            file = write_part(self.batches.folder, output.name, version, 0, table, writes)
            writes.finish()
        finally:
            writes.close()
        return table.num_rows, [file] if file is not None else []

    def _note_changes(self, name: str, table: pa.Table) -> None:
        """Notes what a sink will get, and says it before it does."""
        weights = table[WEIGHTS].to_numpy() if WEIGHTS in table.column_names else np.ones(table.num_rows, np.int64)
        added, retracted = int(weights[weights > 0].sum()), -int(weights[weights < 0].sum())
        self.figures.changes[name] = added, retracted
        RunProgress(self.ours["flow"], None).said(
            f"{self.ours['flow']}: the sink of `{name}` gets {added:,} rows, and {retracted:,} are retracted from it"
        )

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
    start_fill: StartFill = FillRun,
    ended: Iterable[str] = (),
    version: int | None = None,
) -> Evolution | None:
    """What to do to start our program on a checkpoint, at a version, by default the newest; None if the state can be
    used as it is.

    `start_fill` says who runs a fill. `ended` are inputs that are read at once."""
    _expect_valid(change)
    version = max(committed_versions(batches.folder), default=-1) if version is None else version
    before = read_description(batches.folder, version)
    if before is None or version < 0:
        return None
    before = with_views(complete_description(before, ours), read_given(batches.folder, version) or {})
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
            plan = _plan(compared, fill, batches, version, change, start_fill)
            raise plan.changed_program_error(error) from None
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
    evolution = Evolution(program, batches, ours, compared, fill, version, change, over, start_fill, is_same)
    evolution.expect_rows()
    return evolution


def _plan(
    compared: ProgramComparison,
    fill: FillProgram,
    batches: MicroBatches,
    version: int,
    change: Change,
    start_fill: StartFill,
) -> ChangePlan:
    given = {*change.fill, NOW}
    return ChangePlan(compared, fill, batches.folder, version, given, start_fill.reads_again, change.refill)


def _expect_valid(change: Change) -> None:
    """Raises if the arguments of a start do not fit together."""
    expect_one_of("changed", change.changed, OnChange)
    if isinstance(change.refill, str):
        raise TypeMismatch(
            f"`refill` must be a list of names of functions; got {brief(change.refill)}",
            instead=((f'refill=["{change.refill}"]', "a list"),),
        )
    if not isinstance(change.fill, Mapping):
        raise TypeMismatch(
            f"`fill` must have the rows by the name of their input; got {brief(change.fill)}",
            instead=(('fill={"orders": rows}', "a dict"),),
        )
    if change.refill and change.changed != "fill":
        raise TypeMismatch(
            f"`refill` computes states anew, which `changed` must allow; it is {change.changed!r}",
            instead=((f'changed="fill", refill={list(change.refill)}', "computes what depends on them anew"),),
        )

"""Giving changes to sinks: what each of them gets in a micro-batch, so that it ends up with what the output has.

Version 7 runs again with a corrected function. The first attempt had the row (a, 5), the second has (a, 6):

    sink                                                   gets in version 7         gets in version 8
    replaces what it has of a version (`replaces`)         (a, 6)                    its changes
    knows what it has (`corrects`)                         -(a, 5), (a, 6)           its changes
    knows nothing                                          (a, 5), once more         -(a, 5), (a, 6), its changes

Invariant: the changes that a sink has taken add up to the output, at the latest with the next version.

A sink that is new to an output that was a view gets the rows of the view first. A row that a sink cannot hold is
diverted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from flo.shards.checkpoint.commits import BACK, committed_versions, read_commit, read_given, record_given
from flo.shards.checkpoint.given_changes import Attempt, Attempts, remove_attempts
from flo.shards.checkpoint.stored_views import StoredView
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.sinks.output_changes import OutputChanges, schema_of
from flo.shards.sinks.sink_versions import (
    Given,
    expect_empty,
    expect_no_replaced,
    expect_not_of_original,
    expect_version,
)
from flo.shards.sinks.sinks import Sink, ViewSink
from flo.shards.tasks.output_files import (
    COUNT,
    PARTS,
    VIEW,
    Output,
    record_diverted,
    remove_diverted,
    remove_parts,
    write_diverted,
    write_part,
)
from flo.tables.checkpoint.folders import Writes
from flo.tables.io.files import WEIGHTS
from flo.tables.state.trace import consolidate_table
from flo.tables.values import WEIGHT


class Giving:
    """Gives the changes of micro-batches to the sinks."""

    def __init__(self, batches: MicroBatches, sinks: Mapping[str, Sink], divert: bool = False) -> None:
        self._batches, self._sinks, self._divert = batches, sinks, divert
        self.within: Callable[[OutputChanges], OutputChanges] = lambda changes: changes
        """What an engine adds to changes for its own sinks."""
        self.given: dict[str, Given] = {}
        """By output, the last version whose changes its sink was given, and their digest."""
        self._attempts: Attempts | None = None
        """Those at the last micro-batch."""

    def expect_can_go_back(self, version: int, new: Iterable[str]) -> None:
        """Raises if a sink holds later versions than one to go back to, and keeps them. `new` is as for `resume`."""
        where, checkpoint = self._batches.folder, self._batches.checkpoint
        given = read_given(where, version) or {}
        for name, sink in self._sinks.items():
            held = sink.held_at(checkpoint, name, version)
            if name in new and name not in given:
                expect_empty(name, sink, held, version)
            else:
                expect_version(name, sink, held, given.get(name), version)

    def resume(self, new: Iterable[str], replaced: Iterable[str], runs_again: bool, copied: Iterable[str] = ()) -> None:
        """Compares what sinks hold with the checkpoint, prepares them, and writes the rows of views to new sinks.

        `new` are the outputs that were views, `replaced` the ids of programs that ours has replaced, and `copied` those
        of the checkpoints that ours is a copy of. If the newest micro-batch `runs_again`, new sinks get the rows of the
        version before it.
        """
        where, checkpoint = self._batches.folder, self._batches.checkpoint
        newest = max(committed_versions(where), default=-1)
        if newest >= 0 and read_commit(where, newest).get(BACK):
            for name, sink in self._sinks.items():
                sink.go_back(checkpoint, name, newest)
        known = read_given(where, newest) if newest >= 0 else {}
        self.given = dict(known or {})
        fill = [output for output in self._outputs if output.name in new and output.name not in self.given]
        counted = [each.name for each in self._batches.outputs if each.how == COUNT and each.name in new]
        self.given |= dict.fromkeys(counted, (newest, ""))  # their rows are not kept any more
        remove_attempts(where, newest - 1)
        again = [Attempts.read(where, each) for each in (newest, newest + 1)]
        for name, sink in self._sinks.items():
            expect_no_replaced(name, sink, [sink.held(each, name) for each in replaced])
            expect_not_of_original(name, sink, [sink.held(each, name) for each in copied])
            held = sink.held(checkpoint, name)
            if any(output.name == name for output in fill):
                expect_empty(name, sink, held, newest)
            else:
                taken = {digest for each in again for digest in each.digests(name)}
                expect_version(name, sink, held, self.given.get(name), newest, taken, runs_again)
        for name, sink in self._sinks.items():
            sink.prepare(checkpoint, name)
        version = newest - 1 if runs_again else newest
        for output in fill if version >= 0 else ():
            self._fill(output, version)
            record_given(where, newest, self.given)

    @property
    def _outputs(self) -> list[Output]:
        """The outputs whose changes are in files, for a sink."""
        return [output for output in self._batches.outputs if output.how == PARTS]

    def _fill(self, output: Output, version: int) -> None:
        """Gives the rows that a view has at a version to its new sink, as changes of that version."""
        batches = self._batches
        rows = self._rows_of_view(output, version)
        outcome = Outcome(version, {}, {}, 0, {}, 0.0)
        plain = replace(output, to=None)
        given = self.within(OutputChanges.of(batches.folder, plain, outcome, batches.shards, batches.checkpoint))
        changes = self._with_place_for_unfit(given.with_attempt(rows))
        give_to_sink(self._sinks[output.name], changes)
        self._sinks[output.name].commit(changes)
        self._divert_unfit(outcome, [changes])
        self._give_diverted(outcome)
        if changes.digest:
            self.given[output.name] = (version, changes.digest)

    def _rows_of_view(self, output: Output, version: int) -> Attempt:
        """Writes the rows of a view at a version to files."""
        where, schema = self._batches.folder, schema_of(output)
        view = StoredView.read(where, output.name, version, self._batches.shards)
        files, rows = [], 0
        with closing(Writes()) as writes:
            for number, part in enumerate(view.parts() if view is not None else ()):
                table = part.rows().select(schema.names).cast(schema)
                file = write_part(where, output.name, version, number, table, writes)
                rows += table.num_rows
                files += [file] if file is not None else []
            writes.finish()
        return Attempt(tuple(files), (), rows)

    def give(self, outcome: Outcome, *, staged: bool = True) -> list[OutputChanges]:
        """Gives the changes of a micro-batch to all sinks, and returns them.

        If they are not `staged`, they are in Flo's own files, and not where tasks write those of some sinks."""
        version = outcome.version
        attempts, before = self._attempts_at(version), self._attempts_at(version - 1)
        every, new = [], set()
        for output in self._batches.outputs:
            changes = self._changes(output if staged else replace(output, to=None), outcome, before)
            if output.how == PARTS and not self._sinks[output.name].replaces:
                changes, is_new = self._expect_others(changes, attempts)
                new |= {output.name} if is_new else set()
            every.append(changes)
        if new:
            attempts.write()
        for number, changes in enumerate(every):
            try:
                give_to_sink(self._sinks[changes.output], changes)
            except Exception:
                self._forget(attempts, new & {each.output for each in every[number:]})
                raise
        self._attempts = attempts
        self._divert_unfit(outcome, every)
        changed = {output.name for output in self._batches.outputs if output.how != VIEW and outcome.rows[output.name]}
        self.given |= {each.output: (version, each.digest) for each in every if each.output in changed or each.digest}
        return every + self._give_diverted(outcome)

    def _changes(self, output: Output, outcome: Outcome, before: Attempts) -> OutputChanges:
        """The changes of an output, with what the version before has left for this one."""
        batches = self._batches
        changes = self.within(OutputChanges.of(batches.folder, output, outcome, batches.shards, batches.checkpoint))
        if output.name in before.carried:
            changes = changes.with_attempt(changes.attempt.plus(before.carried[output.name]))
        return self._with_place_for_unfit(changes)

    def _with_place_for_unfit(self, changes: OutputChanges) -> OutputChanges:
        """The changes with a list for rows that the sink cannot hold, if these are diverted."""
        return replace(changes, unfit=[] if self._divert else None)

    def _expect_others(self, changes: OutputChanges, attempts: Attempts) -> tuple[OutputChanges, bool]:
        """The changes for a sink that may have taken others of this version, and whether they are recorded as new."""
        name, sink = changes.output, self._sinks[changes.output]
        recorded = attempts.by_output.get(name, [])
        if sink.corrects:
            earlier = tuple(each for each in recorded if each != changes.attempt)
            return replace(changes, earlier=earlier), attempts.add(name, changes.attempt)
        if not recorded or recorded[0] == changes.attempt:
            is_new = attempts.carried.pop(name, None) is not None
            return changes, attempts.add(name, changes.attempt) or is_new
        attempts.carried[name] = carried = changes.attempt.minus(recorded[0])
        difference = changes.with_attempt(carried)
        if not sink.keeps_weight and _retracts(difference.table()):
            replace(difference, weighted=False).with_attempt(carried)  # raises
        return changes.with_attempt(recorded[0]), True

    def _forget(self, attempts: Attempts, untaken: set[str]) -> None:
        """Removes changes that sinks have not taken. One that knows what it has may have taken them and then raised."""
        gone = {name for name in untaken if not self._sinks[name].corrects and name not in attempts.carried}
        for name in gone:
            attempts.by_output.pop(name)
        if gone:
            attempts.write()

    def _attempts_at(self, version: int) -> Attempts:
        """The attempts at a version: those in memory, or as they are recorded."""
        last = self._attempts
        if last is not None and last.version in (version, version - 1):
            return last if last.version == version else Attempts(self._batches.folder, version)
        return Attempts.read(self._batches.folder, version)

    def _divert_unfit(self, outcome: Outcome, every: list[OutputChanges]) -> None:
        """Adds the rows that sinks cannot hold to those that were diverted."""
        for changes in every:
            if changes.unfit:
                file = write_diverted(changes.folder, changes.output, changes.unfit)
                outcome.diverted_files.setdefault(changes.output, []).append((file, len(changes.unfit)))

    def _give_diverted(self, outcome: Outcome) -> list[OutputChanges]:
        """Gives diverted rows to their sinks, and returns them. Without a sink they stay in the checkpoint."""
        batches, every = self._batches, []
        for name in outcome.diverted_files:
            given = self.within(
                OutputChanges.of_diverted(batches.folder, name, outcome, batches.shards, batches.checkpoint)
            )
            sink = self._sinks.get(given.output, ViewSink())
            record_diverted(batches.folder, name, outcome.version, list(given.files))
            give_to_sink(sink, given)
            if sink.how != VIEW:
                remove_diverted(batches.folder, name, outcome.version)
                every.append(given)
        return every

    def commit(self, every: list[OutputChanges], version: int) -> None:
        """Tells the sinks that the micro-batch is committed, and removes the files of earlier ones."""
        for each in every:
            self._sinks[each.output].commit(each)
        for output in self._outputs:  # if this micro-batch runs again, it may need what the one before has left for it
            remove_parts(self._batches.folder, output.name, version - 1)
        if self._outputs:
            Attempts(self._batches.folder, version - 2).remove()


def _retracts(table: pa.Table) -> bool:
    """Whether the weight of any row comes to less than zero."""
    names = [WEIGHT if name == WEIGHTS else name for name in table.column_names]
    weights = consolidate_table(table.rename_columns(names).combine_chunks())[WEIGHT].to_numpy()
    return bool(len(weights) and weights.min() < 0)


def give_to_sink(sink: Sink, given: OutputChanges) -> None:
    """Gives changes to a sink. An error that it raises gets a note that names the output."""
    try:
        sink.take(given)
    except Exception as error:
        error.add_note(f"raised by the sink of the output `{given.output}`, at version {given.version}")
        raise

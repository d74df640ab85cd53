"""Giving changes to sinks: what each of them gets in a micro-batch, so that it ends up with what the output has.

Version 7 runs again with a corrected function. The first attempt had the row (a, 5), the second has (a, 6):

    sink                                                   gets in version 7         gets in version 8
    replaces what it has of a version (`replaces`)         (a, 6)                    its changes
    knows what it has (`corrects`)                         -(a, 5), (a, 6)           its changes
    knows nothing                                          (a, 5), once more         -(a, 5), (a, 6), its changes

Invariant: the changes that a sink has taken add up to the output, at the latest with the next version.

A sink that is new to an output that was a view gets the rows of the view first. One whose output has changed, or that
is to be reconciled, gets the difference between the output and the rows that it has (`reconciling.py`). A row that a
sink cannot hold is diverted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cached_property

import pyarrow as pa

from flo.core.errors import CheckpointError
from flo.core.secrets import hide_passwords
from flo.shards.checkpoint.commits import BACK, LastGiven, committed_versions, read_commit, read_given, record_given
from flo.shards.checkpoint.given_changes import Attempt, Attempts, remove_attempts
from flo.shards.checkpoint.program_changes import BACKS, read_description, read_shards
from flo.shards.checkpoint.stored_views import StoredView
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.sinks.late_commits import tell_sinks
from flo.shards.sinks.output_changes import DIVERTED, Held, OutputChanges, loose_schema, schema_of
from flo.shards.sinks.reconciling import ChangedOutput, difference_of, incorrigible_error
from flo.shards.sinks.retrying import Retrying
from flo.shards.sinks.sink_versions import (
    expect_empty,
    expect_no_other_output,
    expect_no_replaced,
    expect_not_of_original,
    expect_own_rows,
    expect_version,
    other_sink_error,
)
from flo.shards.sinks.sinks import Sink, ViewSink
from flo.shards.tasks.output_files import (
    COUNT,
    PARTS,
    VIEW,
    Output,
    read_diverted,
    record_diverted,
    remove_diverted,
    remove_parts,
    write_diverted,
    write_part,
)
from flo.tables.checkpoint.folders import Writes
from flo.tables.io.changes import consolidate_changes
from flo.tables.io.diverted import Diverted, leave_out_known
from flo.tables.io.files import WEIGHTS


class Giving:
    """Gives the changes of micro-batches to the sinks."""

    def __init__(
        self,
        batches: MicroBatches,
        sinks: Mapping[str, Sink],
        divert: bool = False,
        version: int | None = None,
        retrying: Retrying | None = None,
    ) -> None:
        """`version` is the one to go on from, by default the newest."""
        self._batches, self._sinks, self._divert = batches, sinks, divert
        self.retrying = retrying or Retrying()
        self.within: Callable[[OutputChanges], OutputChanges] = lambda changes: changes
        """What an engine adds to changes for its own sinks."""
        self.given: dict[str, LastGiven] = {}
        self._untold: list[OutputChanges] = []
        """Committed changes of which their sinks were not told yet: one has raised."""
        self._attempts: Attempts | None = None
        """Those at the last micro-batch."""
        self._changed: Mapping[str, ChangedOutput] = {}
        """The outputs whose content is computed anew at this start."""
        self._last_held: dict[str, Held | None] = {}
        self._alone: set[str] = set()
        """The outputs whose sinks were read."""
        self._misfits: set[str] = set()
        """The outputs whose sinks did not hold what they were given, at this start."""
        self._first: set[str] = set()
        """The outputs whose sinks are compared with the first version of the checkpoint."""
        versions = committed_versions(batches.folder)
        self._newest = max(versions, default=-1) if version is None else version
        self._goes_back = self._newest >= 0 and (
            self._newest < versions[-1] or bool(read_commit(batches.folder, self._newest).get(BACK))
        )
        known = read_given(batches.folder, self._newest) if self._newest >= 0 else {}
        self._known = dict(known or {})
        """What sinks were given up to the newest version."""

    @cached_property
    def _went_back(self) -> bool:
        """Whether numbers of versions are used again: a sink that was left out may hold others of the same numbers."""
        return self._goes_back or bool((read_description(self._batches.folder) or {}).get(BACKS))

    def find_misfits(self, new: Iterable[str], is_filled: bool, runs_again: bool = False) -> dict[str, bool]:
        """The outputs whose sinks are to be compared with them, and whether they must be: they do not hold what they
        were given. Those are the ones that the user reconciles, and if changes are filled, all that do not fit."""
        for name in tell_sinks(self._batches, self._sinks, self._known, self._newest, self._held):
            self._last_held.pop(name)
        misfits: dict[str, bool] = {}
        for name in (output.name for output in self._outputs if self._newest >= 0):
            sink, is_new = self._sinks[name], name in new and name not in self._known
            if sink.reconciles or (is_filled and (sink.readable or self._is_other_sink(name))):
                fits = self._fits(name, is_new, runs_again)
                misfits |= {name: not fits} if sink.reconciles or not fits else {}
        self._misfits = {name for name, must in misfits.items() if must}
        return misfits

    def _fits(self, name: str, is_new: bool, runs_again: bool) -> bool:
        sink, given, held = self._sinks[name], self._known.get(name), self._held(name)
        if held is None and sink.reconciles:  # it may have rows of others
            return False
        if self._is_other_sink(name) or self.find_other_output(name) is not None:
            return False
        try:
            if is_new:
                expect_empty(name, sink, held, self._interrupted(runs_again))
            else:
                expect_version(name, sink, held, given, self._newest, self._half_taken(name), runs_again)
        except CheckpointError:
            return False
        return True

    def _held(self, name: str) -> Held | None:
        """What a sink holds, as far as it was read: to ask for it may take a second."""
        if name not in self._last_held:
            sink, checkpoint = self._sinks[name], self._batches.checkpoint
            held = sink.held_at(checkpoint, name, self._newest) if self._goes_back else sink.held(checkpoint, name)
            self._last_held[name] = held
        return self._last_held[name]

    def _is_other_sink(self, name: str) -> bool:
        """Whether an output has another sink than before, which does not have its rows."""
        given, sink = self._known.get(name), self._sinks[name]
        if given is None or hide_passwords(given.sink) in ("", sink.label):  # an earlier release noted passwords
            return False
        return sink.is_other(given.sink) or (sink.readable and self._went_back)

    def _interrupted(self, runs_again: bool = False) -> tuple[int, ...]:
        """The versions that a new sink of a view may hold, from a start that was interrupted."""
        if self._went_back:
            return ()
        return (self._newest, self._newest - 1) if runs_again else (self._newest,)

    def was_given(self, name: str) -> bool:
        """Whether the sink of an output was given changes, up to the newest version."""
        return name in self._known

    def has_rows(self, name: str) -> bool:
        """Whether a sink says that it holds a version of its output."""
        held = self._held(name)
        return held is not None and held.version is not None

    def find_other_output(self, name: str) -> str | None:
        """The output of the checkpoint whose rows a sink holds, if these are not those that it was given last."""
        if self.has_rows(name):
            return None
        return self._sinks[name].find_other_output(self._batches.checkpoint, name)

    def _half_taken(self, name: str) -> set[str]:
        """The digests of changes that a sink may have taken although they are not committed."""
        again = [Attempts.read(self._batches.folder, each) for each in (self._newest, self._newest + 1)]
        return {digest for each in again for digest in each.digests(name)}

    def expect_can_go_back(self, new: Iterable[str], changed: Mapping[str, ChangedOutput]) -> None:
        """Raises if a sink holds later versions than the one to go back to, and keeps them. Its arguments are those of
        `resume`."""
        for name, sink in self._sinks.items():
            if name in changed:
                self._expect_corrigible(name, sink, changed[name])
                continue
            self._expect_same_sink(name, sink)
            if name in new and name not in self._known:
                expect_empty(name, sink, self._held(name), self._interrupted())
            else:
                expect_version(name, sink, self._held(name), self._known.get(name), self._newest)

    def resume(
        self,
        new: Iterable[str],
        replaced: Iterable[str],
        runs_again: bool,
        copied: Iterable[str] = (),
        changed: Mapping[str, ChangedOutput] | None = None,
    ) -> None:
        """Compares what sinks hold with the checkpoint, prepares them, and writes the rows of views to new sinks.

        `new` are the outputs that were views, `replaced` the ids of programs that ours has replaced, and `copied` those
        of the checkpoints that ours is a copy of. If the newest micro-batch `runs_again`, new sinks get the rows of the
        version before it. `changed` are the outputs whose content is computed anew: their sinks get the difference
        later.
        """
        where, checkpoint, newest = self._batches.folder, self._batches.checkpoint, self._newest
        ours = {output.name for output in self._outputs}
        self.given = {name: given for name, given in self._known.items() if name in ours}  # others fall behind
        self._changed = changed or {}
        for name in [each for each in self._changed if each in self.given and self._is_other_sink(each)]:
            self.given.pop(name)
        fill = [output for output in self._outputs if output.name in new and output.name not in self.given]
        fill = [output for output in fill if output.name not in self._changed]
        counted = [each.name for each in self._batches.outputs if each.how == COUNT and each.name in new]
        for name in counted:  # their rows are not kept any more
            self._note(name, newest, "")
        remove_attempts(where, newest - 1)
        skips = self.next_version() > newest + 1  # then no sink can be given what it has half taken once more
        for name, sink in self._sinks.items():
            held = self._held(name)
            if sink.reconciles and newest < 0:
                continue
            expect_no_replaced(name, sink, [sink.held(each, name) for each in replaced])
            if not sink.reconciles:
                expect_not_of_original(name, sink, copied)
            if name in self._changed:
                self._expect_corrigible(name, sink, self._changed[name])
                continue
            if not sink.reconciles:
                expect_no_other_output(name, sink, self.find_other_output(name))
            self._expect_same_sink(name, sink)
            if any(output.name == name for output in fill):
                expect_empty(name, sink, held, self._interrupted(runs_again))
            else:
                half_taken = set[str]() if skips else self._half_taken(name)
                expect_version(name, sink, held, self.given.get(name), newest, half_taken, runs_again)
        for name, sink in self._sinks.items():  # only now: a start that is rejected changes no sink
            if sink.reconciles and newest < 0:
                self._first |= set() if sink.start_over() else {name}
            elif self._goes_back:
                sink.go_back(checkpoint, name, newest)
                self._last_held.pop(name, None)
        self._goes_back = False
        for name, sink in self._sinks.items():
            if name in self._changed or name in self._first:
                sink.evolve(self._changed.get(name, ChangedOutput()).columns)
            sink.prepare(checkpoint, name)
        version = newest - 1 if runs_again else newest
        for output in fill if version >= 0 else ():
            self._fill(output, version)
            record_given(where, newest, self.given)

    def _expect_same_sink(self, name: str, sink: Sink) -> None:
        """Raises if an output has another sink than before, which does not have its rows. A view may be one."""
        if sink.how == PARTS and self._is_other_sink(name):
            raise other_sink_error(name, sink, self._known[name])

    def _expect_corrigible(self, name: str, sink: Sink, changed: ChangedOutput) -> None:
        """Raises if a sink has taken changes of an output that has changed, and nobody can say which."""
        has_taken = name in self._known and not self._is_other_sink(name)
        if not sink.readable and has_taken and changed.given is None:
            raise incorrigible_error(name, sink, changed.line, "the rows that it has taken cannot be read")

    def next_version(self) -> int:
        """The version of the differences: later than all that the sinks know."""
        names = [name for name in self._changed if self._sinks[name].readable]
        held = [self._sinks[name].newest(self._batches.checkpoint, name) for name in names]
        return max(self._newest, *held, -1) + 1

    def difference(self, output: Output, now: pa.Table) -> pa.Table:
        """The changes that lead from the rows that the sink of an output has to its content now."""
        name, sink = output.name, self._sinks[output.name]
        held: pa.Table | None = None
        takes_over = self.find_other_output(name) is not None
        if sink.reconciles or (sink.readable and (takes_over or self._holds_own_rows(name))):
            held = sink.read_rows(output)
            self._alone.add(name)
            if held is not None and not sink.reconciles and not takes_over and not self._divert:
                expect_own_rows(name, sink, self._held(name), held.num_rows)
        elif not sink.readable and name in self.given:
            given = self._changed[name].given
            held = None if given is None else given()
        if held is not None:
            table = difference_of(output, now, held)
        else:
            table = consolidate_changes(now) if WEIGHTS in now.column_names else now
        if not sink.keeps_weight and WEIGHTS in table.column_names and _retracts(table):
            why = "it cannot take rows that are retracted"
            raise incorrigible_error(name, sink, self._changed[name].line, why)
        return table.cast(loose_schema(schema_of(output)) if self._is_compared(name) else schema_of(output))

    def _holds_own_rows(self, name: str) -> bool:
        """Whether a sink holds rows of its output."""
        return self.has_rows(name) or (self._held(name) is not None and name in self.given)

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
        self.retrying.give(self._sinks[output.name], changes)
        self._sinks[output.name].commit(changes)
        self._divert_unfit(outcome, [changes])
        self._give_diverted(outcome)
        if changes.digest:
            self._note(output.name, version, changes.digest)

    def _rows_of_view(self, output: Output, version: int) -> Attempt:
        """Writes the rows of a view at a version to files."""
        where, schema = self._batches.folder, schema_of(output)
        view = StoredView.read(where, output.name, version, read_shards(where, version))
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
        self._tell()
        version = outcome.version
        last = self._newest if self._changed else version - 1
        attempts, before = self._attempts_at(version), self._attempts_at(last)
        self._attempts = None  # if a sink raises, those of this version are as they are recorded
        every, new = [], set()
        for output in self._batches.outputs:
            changes = self._changes(output if staged else replace(output, to=None), outcome, before)
            if self._is_compared(output.name):
                attempts.by_output.pop(output.name, None)  # what it has taken of them is in its rows
                changes = self._reconciling(output, changes)
            elif output.how == PARTS and not self._sinks[output.name].replaces:
                changes, is_new = self._expect_others(changes, attempts)
                new |= {output.name} if is_new else set()
            every.append(changes)
        if new or self._changed or self._first:
            attempts.write()
        for number, changes in enumerate(every):
            try:
                self.retrying.give(self._sinks[changes.output], changes)
            except Exception:
                self._forget(attempts, new & {each.output for each in every[number:]})
                raise
        self._attempts = attempts
        self._divert_unfit(outcome, every)
        changed = {output.name for output in self._batches.outputs if output.how != VIEW and outcome.rows[output.name]}
        for each in every:
            if each.output in changed or each.digest:
                self._note(each.output, version, each.digest)
            if each.reconciles:
                self._note_given(each)
        return every + self._give_diverted(outcome)

    def _is_compared(self, name: str) -> bool:
        """Whether the changes of an output are the difference to the rows of its sink."""
        return self._sinks[name].readable and (name in self._changed or name in self._first)

    def _reconciling(self, output: Output, changes: OutputChanges) -> OutputChanges:
        """The changes as a difference to the rows of the sink. Those of a first version are all rows."""
        if output.name in self._first:
            table = self.difference(output, changes.table())
            with closing(Writes()) as writes:
                file = write_part(changes.folder, output.name, changes.version, 0, table, writes)
                writes.finish()
            changes = changes.with_attempt(Attempt((file,) if file else (), (), table.num_rows))
        alone, mends = output.name in self._alone, output.name in self._misfits
        return replace(changes, schema=loose_schema(changes.schema), reconciles=True, alone=alone, mends=mends)

    def _note_given(self, changes: OutputChanges) -> None:
        """Notes what a sink says that it holds after a difference, which may be empty."""
        name, sink = changes.output, self._sinks[changes.output]
        if sink.replaces:
            self._note(name, changes.version, "")
            return
        held = sink.held(changes.checkpoint, name)
        if held is None:
            self.given.pop(name, None)
        else:
            self._note(name, changes.version if held.version is None else held.version, held.digest or "")

    def _note(self, name: str, version: int, digest: str) -> None:
        self.given[name] = LastGiven(version, digest, self._sinks[name].label)

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
        if not sink.keeps_weight and difference.weighted and _retracts(difference.table()):
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

    def add_diverted(self, outcome: Outcome, name: str, rows: pa.Table, is_whole: bool) -> None:
        """Adds rows that a fill has diverted to an outcome: those that were not diverted before.

        If they are the whole of what an input diverts, they take the place of those before. A sink cannot retract
        those that it has."""
        batches, sink = self._batches, self._sinks.get(f"{name}{DIVERTED}", ViewSink())
        if not is_whole or sink.how != VIEW:
            before = [read_diverted(batches.folder, name, self._newest), sink.read_diverted()]
            rows = leave_out_known(rows, [each for each in before if each is not None])
        else:
            outcome.diverted_whole.add(name)
        if rows.num_rows or name in outcome.diverted_whole:
            listed = [Diverted(**row) for row in rows.to_pylist()]
            files = [(write_diverted(batches.folder, name, listed), len(listed))] if listed else []
            outcome.diverted_files.setdefault(name, []).extend(files)

    def _give_diverted(self, outcome: Outcome) -> list[OutputChanges]:
        """Gives diverted rows to their sinks, and returns them. Without a sink they stay in the checkpoint."""
        batches, every = self._batches, []
        for name in outcome.diverted_files:
            given = self.within(
                OutputChanges.of_diverted(batches.folder, name, outcome, batches.shards, batches.checkpoint)
            )
            sink = self._sinks.get(given.output, ViewSink())
            whole = name in outcome.diverted_whole
            record_diverted(batches.folder, name, outcome.version, list(given.files), whole)
            self.retrying.give(sink, given)
            if sink.how != VIEW:
                remove_diverted(batches.folder, name, outcome.version)
                every.append(given)
        return every

    def commit(self, every: list[OutputChanges], version: int) -> None:
        """Tells the sinks that the micro-batch is committed, and removes the files of earlier ones."""
        self._changed, self._first = {}, set()
        self._untold += every
        self._tell()
        for output in self._outputs:  # if this micro-batch runs again, it may need what the one before has left for it
            remove_parts(self._batches.folder, output.name, version - 1)
        if self._outputs:
            Attempts(self._batches.folder, version - 2).remove()

    def _tell(self) -> None:
        """Tells sinks of what is committed, before they get more."""
        while self._untold:
            self.retrying.commit(self._sinks[self._untold[0].output], self._untold[0])
            self._untold.pop(0)


def _retracts(table: pa.Table) -> bool:
    """Whether the weight of any row comes to less than zero."""
    weights = consolidate_changes(table)[WEIGHTS].to_numpy()
    return bool(len(weights) and weights.min() < 0)

"""Which version of an output a sink holds, compared with the one that the checkpoint has given it.

The checkpoint has committed version 7, and has given the sink the changes of version 7 with the digest d:

    the sink holds           at a start
    7, d                     resumes
    8                        resumes if it is the next version, which was not committed before the crash
    6, or nothing            is rejected: rows would be missing for good
    7, another digest        is rejected: rows would be stale for good, as if it holds 7 and was last given 5
    9                        is rejected: the checkpoint was restored from a copy

`sink.reconcile()` is the way forward from all of these: the sink is compared with the output, and gets the difference.

They differ if a checkpoint or a table was restored from a copy, if a table was dropped, or if an output got another
sink.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from flo.core.errors import CheckpointError, TypeMismatch
from flo.shards.checkpoint.commits import LastGiven
from flo.shards.sinks.output_changes import ANEW, RECONCILE, Held
from flo.shards.sinks.sinks import Sink

SAME = ("the sink as it was", "restored from a copy that has the version of the checkpoint")
RESTORED = "the checkpoint was restored from a copy or went back to a version, and the sink was not"
AHEAD = f"{RESTORED}; or a start of a changed program was interrupted"


def ways_of(sink: Sink) -> tuple[tuple[str, str], ...]:
    """The ways forward for a sink that does not hold what the checkpoint has given it."""
    return (*_reconciling(sink), SAME, ANEW)


def _reconciling(sink: Sink) -> tuple[tuple[str, str], ...]:
    return ((f"{sink.label}{RECONCILE[0]}", "compares it with the output, and writes the difference"),) * sink.readable


def expect_version(
    output: str,
    sink: Sink,
    held: Held | None,
    given: LastGiven | None,
    newest: int,
    half_taken: Iterable[str] = (),
    runs_again: bool = False,
) -> None:
    """Raises unless a sink holds what it was given last.

    `newest` is the newest committed version, and `half_taken` are the digests of the changes of the next one that the
    sink may have: the query ended before all sinks had taken it. `runs_again` says whether Spark runs the newest one
    again.
    """
    where = f"the sink {sink.label} of the output `{output}`"
    if held is None:
        if given is None:
            return
        raise CheckpointError(
            f"{where} holds nothing, but the checkpoint has given it changes up to version {given.version}",
            facts=(("why", "it was dropped or emptied, another checkpoint has it, or the output had another sink"),),
            instead=ways_of(sink),
        )
    if held.version is None:
        return
    is_next = held.version == newest + 1 and held.digest in set(half_taken)
    if held.version > newest and not is_next:
        committed = f"version {newest}" if newest >= 0 else "no version"
        raise CheckpointError(
            f"{where} is ahead of the checkpoint: it holds version {held.version}, the checkpoint has {committed}",
            facts=(("why", AHEAD),),
            instead=ways_of(sink),
        )
    if given is None:
        return
    # a folder of changes shows a version after its commit
    late = held.digest is None and held.version == newest - 1 and runs_again
    if held.version < given.version and not late:
        raise CheckpointError(
            f"{where} is behind the checkpoint: it holds version {held.version}, and was given version {given.version}",
            facts=(("why", "the sink was restored from a copy, and the checkpoint was not"),),
            instead=ways_of(sink),
        )
    known = given.digest if held.version == given.version else None
    if held.digest and known != "" and held.digest not in {known, *half_taken}:
        raise CheckpointError(
            f"{where} holds version {held.version} with other rows than the checkpoint has given it",
            facts=(("why", RESTORED),),
            instead=ways_of(sink),
        )


def expect_empty(output: str, sink: Sink, held: Held | None, interrupted: Container[int]) -> None:
    """Raises if a sink that is to get all rows of a view holds some already, and not from a start that was
    interrupted: then it holds one of these versions."""
    if held is not None and held.version is not None and held.version not in interrupted:
        raise CheckpointError(
            f"the sink {sink.label} of the output `{output}`, which was a view, holds version {held.version} of it",
            instead=(("an empty table, topic or folder", "gets all rows of the view"), *_reconciling(sink)),
        )


def other_sink_error(output: str, sink: Sink, given: LastGiven) -> CheckpointError:
    """The error for an output that has another sink than before, whose rows it may not have."""
    filled = "compares it with the output, and writes the difference" if sink.readable else "gives it all rows first"
    return CheckpointError(
        f"the output `{output}` had another sink, {given.sink}: {sink.label} does not have the rows before version"
        f" {given.version + 1}",
        instead=(('changed="fill"', filled), (given.sink, "goes on"), ANEW),
    )


def expect_no_other_output(output: str, sink: Sink, other: str | None) -> None:
    """Raises if a sink holds the rows of another output of the checkpoint, or earlier ones of this output."""
    if other is not None:
        which = f"`{other}`, an output of this checkpoint" if other != output else "an earlier version"
        renamed = "the output was renamed, or outputs have exchanged their sinks"
        raise CheckpointError(
            f"the sink {sink.label} of the output `{output}` holds the rows of {which}",
            facts=(("why", renamed if other != output else "the output has had another sink since"),),
            instead=(
                ('changed="fill"', "compares it with the output, and writes the difference"),
                ("another table, topic or folder", "gets all rows of the output"),
            ),
        )


def expect_no_replaced(output: str, sink: Sink, every: Iterable[Held | None]) -> None:
    """Raises if a sink holds rows of another program that was started on the checkpoint before it had a commit."""
    if any(held is not None and held.version is not None for held in every):
        raise CheckpointError(
            f"the sink {sink.label} of the output `{output}` has taken rows of another program, which was started on"
            " this checkpoint before",
            instead=(*_reconciling(sink), ("an empty table, topic or folder", "gets the rows of this one"), ANEW),
        )


def expect_own_rows(output: str, sink: Sink, held: Held | None, rows: int) -> None:
    """Raises if a sink has more rows than its output has given it: the difference would remove the others."""
    if held is not None and held.rows is not None and rows > held.rows:
        raise CheckpointError(
            f"the sink {sink.label} of the output `{output}` has {rows:,} rows, and was given {held.rows:,}",
            facts=(("why", "others write to it, too; the output has changed, and would remove their rows"),),
            instead=(("another table", "gets all rows of the output"), *_reconciling(sink)),
        )


def expect_key(output: str, sink: Sink, held: Held | None, key: tuple[str, ...]) -> None:
    """Raises if the rows of a sink were written by another key."""
    if held is not None and held.key is not None and held.key != key:
        raise TypeMismatch(
            f"the sink {sink.label} of the output `{output}` holds rows by the key {', '.join(held.key)};"
            f" the key is now {', '.join(key)}",
            instead=(
                (f"key={list(held.key)}", "the key that it has"),
                ("another table or topic", 'gets all rows, with changed="fill"'),
                ANEW,
            ),
        )


def expect_not_of_original(output: str, sink: Sink, originals: Iterable[str]) -> None:
    """Raises if a sink holds rows of a checkpoint that this one is a copy of, by their ids."""
    for each in originals:
        held = sink.held(each, output)
        if (held is None or held.version is None) and sink.find_other_output(each, output) is None:
            continue
        raise CheckpointError(
            f"the sink {sink.label} of the output `{output}` belongs to the checkpoint that this one is a copy of",
            facts=(("why", "two checkpoints that write to one sink would mix their rows"),),
            instead=(("another table, topic or folder", "for the copy"), *_reconciling(sink)),
        )

"""Sinks that were not told of a commit, because the query ended before it told them: the next start does.

    the checkpoint has committed 7, and a folder of changes has     at a start
    the versions up to 7, and shows those up to 6                   it shows 7
    version 7 alone, and shows none                                 it shows 7, if it is the folder that was given it

A folder that shows nothing does not say whose it is: it must have the name that was noted, and a checkpoint that is a
copy has not given it anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flo.shards.checkpoint.commits import LastGiven
from flo.shards.checkpoint.program_changes import COPIED, read_description
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.sinks.output_changes import DIVERTED, Held, OutputChanges
from flo.shards.sinks.sinks import Sink
from flo.shards.tasks.output_files import PARTS, last_diverted


def tell_sinks(
    batches: MicroBatches,
    sinks: Mapping[str, Sink],
    given: Mapping[str, LastGiven],
    newest: int,
    held: Callable[[str], Held | None],
) -> Iterator[str]:
    """Tells them, and yields the names of their outputs. `given` is what sinks were given up to the newest version, and
    `held` says what a sink holds."""
    is_copy = COPIED in (read_description(batches.folder) or {})
    outputs = {each.name: each for each in batches.outputs}
    for name, sink in sinks.items():
        if sink.how != PARTS:
            continue
        last, of_input = given.get(name), name.removesuffix(DIVERTED)
        if name not in outputs:
            version = last_diverted(batches.folder, of_input, newest)
        else:
            version = -1 if last is None else last.version
        holds = held(name) if version >= 0 else Held(None)
        if holds is None:
            is_behind = not is_copy and (last is None or last.sink == sink.label)
        else:
            is_behind = holds.version is not None and holds.version < version
        if is_behind:
            which = Outcome(version, {}, {}, 0, {}, 0.0), batches.shards, batches.checkpoint
            if name in outputs:
                sink.recover(OutputChanges.of(batches.folder, outputs[name], *which))
            else:
                sink.recover(OutputChanges.of_diverted(batches.folder, of_input, *which))
            yield name

"""Removes what programs before have left in a checkpoint, once no version that is kept needs it.

    state/00003/02            a stage that the program no longer has
    programs/00000004.json    a program that no version is of

Spark's logs of other inputs stay: they are small.

Invariant: whatever a version that is kept names stays, tagged versions included.
"""

from __future__ import annotations

from flo.shards.checkpoint.commits import PROGRAM, committed_versions, read_commit, read_state_versions
from flo.shards.checkpoint.program_changes import PROGRAMS
from flo.shards.tasks.state import state_folder
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import numbered_files


def remove_leftovers(where: str, shards: int) -> None:
    """Removes them. The caller holds the lease."""
    versions, files, states = committed_versions(where), folder(where), state_folder(where, shards)
    levels = {level for version in versions for level in read_state_versions(where, version, shards)}
    for name in states.folders():
        if name.isdecimal() and int(name) not in levels:
            states.remove(name)
    begun = {read_commit(where, version).get(PROGRAM) for version in versions}
    for number in numbered_files(files, PROGRAMS):
        if number not in begun:
            files.remove(f"{PROGRAMS}/{number:08}.json")

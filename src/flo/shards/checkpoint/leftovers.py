"""Removes what programs before have left in a checkpoint, once no version that is kept needs it.

    state/00002               states for another number of shards
    state/00003/02            a stage that the program no longer has
    programs/00000004.json    a program that no version is of
    spark, spark_00000004     Spark's logs, as they were for other inputs

Invariant: whatever a version that is kept names stays, tagged versions included.
"""

from __future__ import annotations

from flo.shards.checkpoint.commits import PROGRAM, committed_versions, read_commit, read_state_versions
from flo.shards.checkpoint.program_changes import PROGRAMS, read_description
from flo.shards.checkpoint.spark_logs import SPARK
from flo.shards.checkpoint.spark_offsets import LOGS
from flo.shards.tasks.state import STATE
from flo.tables.checkpoint.folders import Folder, folder
from flo.tables.checkpoint.store import numbered_files


def remove_leftovers(where: str) -> None:
    """Removes them. The caller holds the lease."""
    files, versions = folder(where), committed_versions(where)
    described = {version: read_description(where, version) for version in versions}
    _remove_states(where, files, {version: int(each["shards"]) for version, each in described.items()})
    begun = {read_commit(where, version).get(PROGRAM) for version in versions}
    for number in numbered_files(files, PROGRAMS):
        if number not in begun:
            files.remove(f"{PROGRAMS}/{number:08}.json")
    logs = {each.get(LOGS, SPARK) for each in described.values()}
    for name in files.folders():
        if name not in logs and (name == SPARK or name.startswith(f"{SPARK}_")):
            files.remove(name)


def _remove_states(where: str, files: Folder, shards: dict[int, int]) -> None:
    """Removes the states of stages and numbers of shards that no version has."""
    used: dict[str, set[int]] = {}
    for version, count in shards.items():
        used.setdefault(f"{count:05}", set()).update(read_state_versions(where, version, count))
    for name in files.folders(STATE):
        if name not in used:
            files.remove(f"{STATE}/{name}")
            continue
        for level in files.folders(f"{STATE}/{name}"):
            if level.isdecimal() and int(level) not in used[name]:
                files.remove(f"{STATE}/{name}/{level}")

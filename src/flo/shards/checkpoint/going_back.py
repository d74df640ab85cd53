"""Going back to a version: later ones are abandoned in one step, and the checkpoint goes on from there.

    versions      3  4  5  6  7  8         tag `friday`: 5
    go back to 5                 one file says so: from now on readers see 5 as the newest
    3  4  5                      then what 6, 7 and 8 have written is removed, also from Spark's logs
    3  4  5  6                   the next micro-batch is version 6 again, with other content

Invariant: the file is there until all is removed. Whoever takes the lease next finishes that first, so a crash in the
middle changes nothing in the result.

Versions have numbers, so the numbers after 5 are used again. The description of the program therefore lists the
versions that the checkpoint went back to, by which readers recognize that they have read abandoned ones.
"""

from __future__ import annotations

from flo.core.errors import CheckpointError
from flo.core.untyped import Json
from flo.shards.checkpoint.commits import (
    Commits,
    announce_going_back,
    end_announcement,
    finish_commits,
    read_announcement,
)
from flo.shards.checkpoint.given_changes import GIVEN
from flo.shards.checkpoint.moments import MOMENTS
from flo.shards.checkpoint.program_changes import BACKS, FILL, PROGRAMS, read_description, write_description
from flo.shards.checkpoint.spark_logs import SPARK, ResumedBatches
from flo.shards.checkpoint.spark_offsets import cut_logs, expect_offsets, has_logs
from flo.shards.checkpoint.tags import saved_logs
from flo.shards.tasks.output_files import DIVERTED, OUTPUTS
from flo.shards.tasks.state import STATE
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import Store


def expect_can_go_back(where: str, version: int, spark: str) -> None:
    """Raises if a checkpoint cannot go back to a version. `spark` is where Spark's logs are."""
    later = {tag: of for tag, of in Commits.read(where).tags.items() if of > version}
    if later:
        listed = ", ".join(f"{tag} (version {of})" for tag, of in sorted(later.items()))
        first = min(later)
        raise CheckpointError(
            f"going back to version {version} would remove later versions that have tags",
            facts=(("tags", listed), ("checkpoint", where)),
            instead=(
                (f"flo state copy {where} TO --version {first}", "keeps it as a checkpoint of its own"),
                (f"flo state tag {where} {first} --remove", "gives it up"),
            ),
        )
    expect_offsets(spark, version, ResumedBatches.after(where, version).last, saved_logs(where, version))


def go_back(where: str, version: int, spark: str) -> list[int]:
    """Makes an earlier version the newest one; returns the versions that the checkpoint went back to so far.

    Needs the lease."""
    expect_can_go_back(where, version, spark)
    backs = [*read_description(where).get(BACKS, ()), version]
    announce_going_back(where, version, {"spark": spark, "saved": saved_logs(where, version), BACKS: backs})
    finish_going_back(where)
    return backs


def finish_going_back(where: str) -> None:
    """Removes what abandoned versions have left, if the checkpoint is going back."""
    version = Commits.read(where).back
    if version is None:
        return
    content: Json = read_announcement(where, version)
    files = folder(where)
    batch = ResumedBatches.after(where, version).last
    if content["saved"] or has_logs(content["spark"]):
        cut_logs(content["spark"], batch, content["saved"])
    for under in _state_folders(where):
        Store(files.within(under)).abandon(version)
    for under in (GIVEN, MOMENTS, PROGRAMS, *(f"{DIVERTED}/{name}" for name in files.folders(DIVERTED))):
        for name in files.names(under):
            if _number(name.removesuffix(".json")) > version:
                files.remove(f"{under}/{name}")
    for output in files.folders(OUTPUTS):
        for name in files.folders(f"{OUTPUTS}/{output}"):
            if _number(name) > version:
                files.remove(f"{OUTPUTS}/{output}/{name}")
    for name in files.folders():
        if name.startswith(f"{SPARK}_") and _number(name.removeprefix(f"{SPARK}_")) > version:
            files.remove(name)  # logs of a changed program
    files.remove(FILL)
    write_description(where, {**read_description(where, version), BACKS: content[BACKS]}, version)
    finish_commits(where, version)
    end_announcement(where, version)


def _state_folders(where: str) -> list[str]:
    """The folders of all shards, of all stages."""
    files, every = folder(where), [STATE]
    for _ in ("number of shards", "stage", "shard"):
        every = [f"{under}/{name}" for under in every for name in files.folders(under)]
    return every


def _number(name: str) -> int:
    """The version of a file or a folder; -1 if it has none."""
    return int(name) if name.isdecimal() else -1

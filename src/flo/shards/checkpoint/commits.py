"""The commit log of a checkpoint: which versions readers may see, and where the states of each are.

    commits/00000007.json     {"version": 7, "epoch": 3,
                               "state_versions": {"8": {"1": {"shards": {"0": 7, "3": 5}, "blank": 0, "ended": []}}},
                               "given": {"large": [7, "5e1f…"]}}

Version 7, committed under the lease of epoch 3: of 8 shards, in stage 1, the state of shard 0 is at version 7 and that
of shard 3 at version 5, and all others share the blank one. The sink of `large` was given the changes of version 7.

Invariant: a version is the id of a micro-batch, and is committed once all shards and sinks have it. Only the query with
the newest epoch commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flo.core.errors import CheckpointError
from flo.shards.tasks.state import StateVersions
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import (
    MENDING,
    create_sealed,
    damaged_file_error,
    numbered_files,
    read_sealed,
    write_sealed,
)

COMMITS, STATE_VERSIONS, GIVEN = "commits", "state_versions", "given"

PROGRAM = "program"
"""In a commit: the version that its program has begun with; not there for the first one, which `flo.json` describes."""


def committed_versions(where: str) -> list[int]:
    """The versions that readers may see, in order."""
    return numbered_files(folder(where), COMMITS)


def commit_version(
    where: str,
    version: int,
    shards: int,
    versions: Mapping[int, StateVersions],
    epoch: int = 0,
    given: Mapping[str, tuple[int, str]] | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Makes a version visible to readers. Raises if a query with a later epoch has committed it.

    `given` has, for each output, the last version whose changes its sink was given, and their digest; `more` is what an
    engine notes with the commit.
    """
    files, content = folder(where), {"version": version, "epoch": epoch, STATE_VERSIONS: _as_json(shards, versions)}
    content |= more or {}
    if given is not None:
        content[GIVEN] = given
    try:
        create_sealed(files, _name(version), content)
    except FileExistsError:  # the micro-batch is replayed, or another query has run it
        newer = commit_epoch(where, version)
        if newer > epoch:
            raise CheckpointError(
                f"version {version} was committed by another query, which has taken over the checkpoint",
                facts=(("checkpoint", where), ("epoch", f"{newer}; this query has {epoch}")),
            ) from None
        write_sealed(files, _name(version), content)


def commit_ages(where: str) -> dict[int, float]:
    """The committed versions, and the age of each commit in seconds."""
    ages = {name: age for name, (_, age) in folder(where).files(COMMITS).items()}
    return {version: ages.get(f"{version:08}.json", 0.0) for version in committed_versions(where)}


def remove_commit(where: str, version: int) -> None:
    """Hides a version from readers."""
    folder(where).remove(_name(version))


def expect_next_version(where: str, version: int) -> None:
    """Raises unless a micro-batch is the next one, or a replay of the newest committed one after a crash."""
    newest = max(committed_versions(where), default=-1)
    if version in (newest, newest + 1):
        return
    expected = f"version {newest} again, or {newest + 1}" if newest >= 0 else "version 0: nothing is committed"
    raise CheckpointError(
        f"Spark's offsets do not match the state: Spark continues with version {version}",
        facts=(("expected", expected), ("committed", f"{where}/{COMMITS}")),
        instead=(
            ("spark_checkpoint=…", "where the query kept its offsets until now; by default the folder `spark`"),
            ("another checkpoint", "starts from scratch"),
        ),
    )


def read_commit(where: str, version: int) -> Any:
    """The content of a commit. Raises if it is missing or damaged."""
    return read_sealed(folder(where), _name(version), version=version, epoch=int, **{STATE_VERSIONS: dict})


def read_given(where: str, version: int) -> dict[str, tuple[int, str]] | None:
    """What sinks were given up to a version; None if the commit does not say."""
    given = read_commit(where, version).get(GIVEN)
    return given if given is None else {name: (each[0], each[1]) for name, each in given.items()}


def record_given(where: str, version: int, given: Mapping[str, tuple[int, str]]) -> None:
    """Changes what sinks were given up to a version."""
    write_sealed(folder(where), _name(version), {**read_commit(where, version), GIVEN: given})


def commit_epoch(where: str, version: int) -> int:
    """The epoch of the lease under which a version was committed."""
    return int(read_commit(where, version)["epoch"])


def verified_versions(where: str) -> list[int]:
    """The committed versions. Raises if a commit is damaged."""
    versions = committed_versions(where)
    for version in versions:
        read_commit(where, version)
    return versions


def read_state_versions(where: str, version: int, shards: int) -> dict[int, StateVersions]:
    """The state versions of a committed version, by level of the stage."""
    content = read_commit(where, version)[STATE_VERSIONS]
    if str(shards) not in content:
        raise CheckpointError(
            f"the commit of version {version} has no states for {shards} shards",
            facts=(("checkpoint", where), ("it has states for", ", ".join(f"{each} shards" for each in content))),
            instead=MENDING,
        )
    try:
        return {int(level): StateVersions.from_json(each) for level, each in content[str(shards)].items()}
    except (TypeError, ValueError, KeyError, AttributeError):
        how = f"is malformed: its `{STATE_VERSIONS}` must give a version for each shard of each stage"
        raise damaged_file_error(folder(where), _name(version), how) from None


def add_state_versions(where: str, version: int, shards: int, versions: Mapping[int, StateVersions]) -> None:
    """Adds to a commit the state versions for another number of shards, while the state is rescaled."""
    content = read_commit(where, version)
    both = {**content[STATE_VERSIONS], **_as_json(shards, versions)}
    write_sealed(folder(where), _name(version), {**content, STATE_VERSIONS: both})


def _as_json(shards: int, versions: Mapping[int, StateVersions]) -> dict[str, Any]:
    return {str(shards): {str(level): each.as_json() for level, each in versions.items()}}


def _name(version: int) -> str:
    return f"{COMMITS}/{version:08}.json"

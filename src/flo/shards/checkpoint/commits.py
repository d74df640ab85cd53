"""The commit log of a checkpoint: which versions readers may see, and where the states of each are.

    commits/00000007.json     {"version": 7, "epoch": 3,
                               "state_versions": {"8": {"1": {"shards": {"0": 7, "3": 5}, "blank": 0, "ended": []}}},
                               "given": {"large": [7, "5e1f…", "Callback"]}}

Version 7, committed under the lease of epoch 3: of 8 shards, in stage 1, the state of shard 0 is at version 7 and that
of shard 3 at version 5, and all others share the blank one. The sink of `large` was given the changes of version 7.

    commits/00000005.friday.json      the commit of version 5, which the tag `friday` keeps (tags.py)
    commits/back-to-00000005.json     the checkpoint is going back to version 5: see going_back.py

Invariant: a version is the id of a micro-batch, and is committed once all shards and sinks have it. Only the query with
the newest epoch commits. One look at the folder says which versions and tags there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from flo.core.errors import CheckpointError
from flo.core.untyped import Json
from flo.shards.tasks.state import StateVersions
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import (
    MENDING,
    create_sealed,
    damaged_file_error,
    read_sealed,
    write_sealed,
)

COMMITS, STATE_VERSIONS, GIVEN = "commits", "state_versions", "given"

PROGRAM = "program"
"""In a commit: the version that its program has begun with; not there for the first one, which `flo.json` describes."""


BACK = "back"
"""In a commit: later versions were abandoned, so sinks may be ahead of it."""
_BACK_TO = "back-to-"


class LastGiven(NamedTuple):
    """What the sink of an output was given last."""

    version: int
    digest: str
    """Of the changes of that version; empty if it is not known."""
    sink: str = ""
    """Its label; empty in a commit of an earlier release."""


@dataclass(frozen=True)
class Commits:
    """The commits of a checkpoint, at one look."""

    own: frozenset[int]
    """The versions whose commits are not removed."""
    tags: Mapping[str, int]
    """The versions that tags keep, by name."""
    back: int | None = None
    """The version that the checkpoint is going back to."""

    @classmethod
    def read(cls, where: str) -> Commits:
        own, tags, back = set[int](), dict[str, int](), None
        for name in folder(where).names(COMMITS):
            number, dot, tag = name.removesuffix(".json").partition(".")
            if number.isdecimal() and dot:
                tags[tag] = int(number)
            elif number.isdecimal():
                own.add(int(number))
            elif number.startswith(_BACK_TO):
                back = int(number.removeprefix(_BACK_TO))
        newest = max(own, default=-1)
        # a later tag is of a version that was abandoned while the tag was made
        tags = {tag: version for tag, version in tags.items() if version <= newest}
        return cls(frozenset(own), tags, back)

    @property
    def versions(self) -> list[int]:
        """The versions that readers may see, in order."""
        every = self.own.union(self.tags.values())
        return sorted(each for each in every if self.back is None or each <= self.back)

    def tags_of(self, version: int) -> list[str]:
        """The names of the tags of a version."""
        return sorted(tag for tag, of in self.tags.items() if of == version)


def name_line(checkpoint: str, backs: Sequence[int], version: int) -> str:
    """Identifies what a version of a checkpoint is, which went back to some: later numbers were then used again."""
    line = sum(1 for each in backs if each < version)
    return f"{checkpoint}, line {line}" if line else checkpoint


def committed_versions(where: str) -> list[int]:
    """The versions that readers may see, in order."""
    return Commits.read(where).versions


def format_versions(versions: list[int]) -> str:
    """Versions in order, as text: "5, 97 to 99"."""
    if not versions:
        return "none"
    ends = [place for place, (one, other) in enumerate(pairwise(versions), start=1) if other != one + 1]
    parts = [versions[low:high] for low, high in pairwise([0, *ends, len(versions)])]
    return ", ".join(f"{each[0]} to {each[-1]}" if len(each) > 1 else str(each[0]) for each in parts)


def commit_version(
    where: str,
    version: int,
    shards: int,
    versions: Mapping[int, StateVersions],
    epoch: int = 0,
    given: Mapping[str, LastGiven] | None = None,
    more: Mapping[str, Json] | None = None,
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
        _replace(where, version, content)


def commit_ages(where: str) -> dict[int, float]:
    """The committed versions, and the age of each commit in seconds."""
    ages = {name.partition(".")[0]: age for name, (_, age) in folder(where).files(COMMITS).items()}
    return {version: ages.get(f"{version:08}", 0.0) for version in committed_versions(where)}


def remove_commit(where: str, version: int) -> None:
    """Hides a version from readers, unless a tag keeps it."""
    folder(where).remove(_name(version))


def tag_commit(where: str, version: int, tag: str) -> None:
    """Keeps the commit of a version under the name of a tag."""
    write_sealed(folder(where), _name(version, tag), read_commit(where, version))


def versions_with_tag(where: str, tag: str) -> list[int]:
    """The versions that a tag names: one, unless two processes make the tag at the same time."""
    names = folder(where).names(COMMITS)
    numbers = (name.removesuffix(f".{tag}.json") for name in names if name.endswith(f".{tag}.json"))
    return [int(number) for number in numbers if number.isdecimal()]


def untag_commit(where: str, version: int, tag: str) -> None:
    """Removes a tag. The version goes with it if retention has removed its own commit."""
    folder(where).remove(_name(version, tag))


def copy_commit(where: str, version: int, to: str) -> None:
    """Writes the commit of a version to a copy of the checkpoint. In the copy, its program is the first one."""
    content = read_commit(where, version)
    write_sealed(folder(to), _name(version), {name: content[name] for name in content if name not in (PROGRAM, BACK)})


def announce_going_back(where: str, version: int, content: Mapping[str, Json]) -> None:
    """Abandons the versions after one: from now on readers see it as the newest."""
    write_sealed(folder(where), _back_file(version), {"version": version, **content})


def read_announcement(where: str, version: int) -> Json:
    return read_sealed(folder(where), _back_file(version), version=version)


def finish_commits(where: str, version: int) -> None:
    """Removes the commits after a version, and records in its own that there were some."""
    write_sealed(folder(where), _name(version), {**read_commit(where, version), BACK: True})
    for name in folder(where).names(COMMITS):
        number = name.partition(".")[0]
        if number.isdecimal() and int(number) > version:
            folder(where).remove(f"{COMMITS}/{name}")


def end_announcement(where: str, version: int) -> None:
    """Going back is done: versions after this one are new ones."""
    folder(where).remove(_back_file(version))


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


def read_commit(where: str, version: int) -> Json:
    """The content of a commit. Raises if it is missing or damaged."""
    files, name = folder(where), _name(version)
    try:
        return read_sealed(files, name, **_fields(version))
    except CheckpointError:
        if not files.exists(name):
            for tag in Commits.read(where).tags_of(version):
                return read_sealed(files, _name(version, tag), **_fields(version))
        raise


def _fields(version: int) -> dict[str, Json]:
    return {"version": version, "epoch": int, STATE_VERSIONS: dict}


def read_given(where: str, version: int) -> dict[str, LastGiven] | None:
    """What sinks were given up to a version; None if the commit does not say."""
    given = read_commit(where, version).get(GIVEN)
    return given if given is None else {name: LastGiven(*each) for name, each in given.items()}


def record_given(where: str, version: int, given: Mapping[str, LastGiven]) -> None:
    """Changes what sinks were given up to a version."""
    _replace(where, version, {**read_commit(where, version), GIVEN: given})


def commit_epoch(where: str, version: int) -> int:
    """The epoch of the lease under which a version was committed."""
    return int(read_commit(where, version)["epoch"])


def verified_versions(where: str) -> list[int]:
    """The committed versions. Raises if a commit is damaged."""
    commits = Commits.read(where)
    for version in commits.versions:
        read_commit(where, version)
    for tag, version in commits.tags.items():
        read_sealed(folder(where), _name(version, tag), **_fields(version))
    return commits.versions


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


def _replace(where: str, version: int, content: dict[str, Json]) -> None:
    """Replaces a commit, and what tags have of it."""
    files = folder(where)
    names = [_name(version, tag) for tag in Commits.read(where).tags_of(version)]
    for name in [_name(version), *names] if not names or files.exists(_name(version)) else names:
        write_sealed(files, name, content)


def _as_json(shards: int, versions: Mapping[int, StateVersions]) -> dict[str, Json]:
    return {str(shards): {str(level): each.as_json() for level, each in versions.items()}}


def _name(version: int, tag: str = "") -> str:
    return f"{COMMITS}/{version:08}.{tag}.json" if tag else f"{COMMITS}/{version:08}.json"


def _back_file(version: int) -> str:
    return f"{COMMITS}/{_BACK_TO}{version:08}.json"

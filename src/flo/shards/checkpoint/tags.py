"""Tags: names under which versions of a checkpoint are kept, for as long as the tag is there.

    commits/00000005.friday.json     the commit of version 5 once more, which retention does not remove
    tags/friday/spark/…              the entries of Spark's logs that version 5 needs, if Spark has run it

A tag can be made and removed while a query runs. Retention removes the commit of a version, and then looks for tags:
what these name is not removed. A tag is there once its commit is written, and it holds if the version then still has
another commit:

    retention       removes the commit of 5 ── looks for tags ── a micro-batch removes what 5 needs
    the tag                                                  └── written here: it finds no commit of 5, and is undone

Invariant: whatever the commit of a tag names exists.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from flo.core.errors import CheckpointError, NameTakenError, UnknownNameError, brief
from flo.shards.checkpoint.commits import Commits, format_versions, tag_commit, untag_commit, versions_with_tag
from flo.shards.checkpoint.program_changes import expect_description, read_description
from flo.shards.checkpoint.spark_logs import SPARK, ResumedBatches
from flo.shards.checkpoint.spark_offsets import (
    copy_logs,
    expect_no_spark_state,
    expect_offsets,
    has_logs,
    spark_folder,
)
from flo.tables.checkpoint.folders import folder

TAGS = "tags"
"""The folder of a checkpoint that has what tags keep of Spark's logs."""


def list_tags(where: str) -> dict[str, int]:
    """The versions that have tags, by the names of the tags."""
    expect_description(where)
    return dict(sorted(Commits.read(where).tags.items()))


def add_tag(where: str, tag: str, version: int | str | None = None) -> int:
    """Keeps a version, by default the newest, under a name. Returns the version."""
    _expect_name(tag)
    expect_description(where)
    number = find_version(where, version)
    known = Commits.read(where).tags.get(tag)
    if known == number:
        return number
    if known is not None:
        raise _taken(where, tag, known)
    try:
        _keep_logs(where, tag, number)
        tag_commit(where, number, tag)
        if len(versions_with_tag(where, tag)) > 1:
            raise _taken(where, tag, min(set(versions_with_tag(where, tag)) - {number}))
        commits = Commits.read(where)
        if number not in commits.own and commits.tags_of(number) in ([], [tag]):
            raise _removed(where, number)
    except BaseException as error:
        _remove(where, tag, number)
        if isinstance(error, CheckpointError) and number not in Commits.read(where).versions:
            raise _removed(where, number) from None
        raise
    return number


def remove_tag(where: str, tag: str) -> int:
    """Removes a tag, and returns its version. Unless it is kept for another reason, the version is removed, too."""
    expect_description(where)
    versions = versions_with_tag(where, tag)
    if not versions:
        raise _unknown(where, tag)
    for version in versions:
        _remove(where, tag, version)
    return versions[-1]


def _remove(where: str, tag: str, version: int) -> None:
    untag_commit(where, version, tag)
    if not versions_with_tag(where, tag):
        folder(where).remove(f"{TAGS}/{tag}")


def find_version(where: str, wanted: int | str | None) -> int:
    """The version of a number or a tag, by default the newest. Raises if it is not there."""
    commits = Commits.read(where)
    versions = commits.versions
    if wanted is None and versions:
        return versions[-1]
    if isinstance(wanted, str) and wanted in commits.tags and commits.tags[wanted] in versions:
        return commits.tags[wanted]
    number = int(wanted) if isinstance(wanted, str) and wanted.isdecimal() else wanted
    if type(number) is int and number in versions:
        return number
    if wanted is not None and not isinstance(wanted, str) and type(wanted) is not int:
        raise UnknownNameError(
            f"`version` must be the name of a tag or the number of a version; got {brief(wanted)}",
            facts=describe_versions(where),
        )
    raise _unknown(where, wanted)


def find_start(where: str, version: int | str | None) -> int:
    """The version that a start goes on from: the one to go back to, or the newest; -1 if nothing is committed."""
    versions = Commits.read(where).versions
    return find_version(where, version) if version is not None else max(versions, default=-1)


def describe_versions(where: str) -> tuple[tuple[str, str], ...]:
    """The tags and versions of a checkpoint, for an error."""
    commits = Commits.read(where)
    tags = ", ".join(f"{tag} (version {version})" for tag, version in sorted(commits.tags.items()))
    return ("tags", tags or "none"), ("versions", format_versions(commits.versions)), ("checkpoint", where)


def saved_logs(where: str, version: int) -> str | None:
    """The copies of Spark's logs that a tag of this version has, if there is one."""
    for tag in Commits.read(where).tags_of(version):
        if has_logs(f"{where}/{TAGS}/{tag}/{SPARK}"):
            return f"{where}/{TAGS}/{tag}/{SPARK}"
    return None


def copy_logs_of(where: str, version: int, to: str) -> None:
    """Copies what Spark needs to go on after a version, if Spark has run it."""
    batch, source = ResumedBatches.after(where, version).last, spark_folder(where, read_description(where, version))
    saved = saved_logs(where, version)
    if batch is None or not (saved or has_logs(source)):
        return
    if saved is None:
        expect_no_spark_state(source)
        expect_offsets(source, version, batch)
    copy_logs(saved or source, to, batch)


def _keep_logs(where: str, tag: str, version: int) -> None:
    folder(where).remove(f"{TAGS}/{tag}")  # left by an interrupted run
    copy_logs_of(where, version, f"{where}/{TAGS}/{tag}/{SPARK}")


def _expect_name(tag: str) -> None:
    if not re.fullmatch(r"[\w-][\w.-]*", tag, re.ASCII) or tag.isdecimal() or len(tag) > 100:
        raise UnknownNameError(
            f"a tag must be a name of letters, digits, `-`, `_` and `.`, and not a number; got {brief(tag)}",
            instead=(("flo state tag CHECKPOINT before-friday", "keeps the newest version under this name"),),
        )


def _taken(where: str, tag: str, version: int) -> NameTakenError:
    return NameTakenError(
        f"the checkpoint has a tag `{tag}` already, of version {version}",
        facts=(("checkpoint", where),),
        instead=((f"flo state tag {where} {tag} --remove", "removes it"), ("another name", "keeps both")),
    )


def _removed(where: str, version: int) -> CheckpointError:
    return CheckpointError(
        f"version {version} was removed while the tag was made, so nothing is kept",
        facts=describe_versions(where),
        instead=(("a newer version", "without `--version`, the newest"), ("start(…, keep=100)", "keeps more versions")),
    )


def _unknown(where: str, wanted: object) -> CheckpointError | UnknownNameError:
    facts = describe_versions(where)
    tagging = ("flo state tag CHECKPOINT NAME", "keeps a version under a name")
    if isinstance(wanted, str) and not wanted.isdecimal():
        close = get_close_matches(wanted, Commits.read(where).tags, n=1)
        meant = tuple((repr(each), "did you mean this tag?") for each in close)
        return UnknownNameError(f"the checkpoint has no tag `{wanted}`", facts=facts, instead=(*meant, tagging))
    if wanted is None:
        return CheckpointError("no version is committed yet", facts=facts)
    newest = max(Commits.read(where).versions, default=-1)
    why = "is no longer kept" if 0 <= int(str(wanted)) <= newest else "is not committed"
    more = (("start(…, keep=100)", "keeps more versions"), tagging)
    return CheckpointError(f"version {wanted} {why}", facts=facts, instead=more)

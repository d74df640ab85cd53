"""Copies of checkpoints: one version, with its states and offsets, under a new id, also while a query runs.

    checkpoint, id a, versions 97 … 99    ──copy──>    copy, id b, version 99, copied from a

Files never change once they are named, so a local copy is made of hard links. A tag keeps the version meanwhile.

Invariant: the description comes last, and without it the copy is not a checkpoint. Sinks know a checkpoint by its id.
So those of the original are not touched, and a start of the copy on them is rejected.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from flo.core.errors import CheckpointError, NameTakenError
from flo.shards.checkpoint.commits import copy_commit, read_commit
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.program_changes import BACKS, COPIED, write_description
from flo.shards.checkpoint.spark_logs import SPARK
from flo.shards.checkpoint.spark_offsets import LOGS, SPARK_CHECKPOINT
from flo.shards.checkpoint.tags import add_tag, copy_logs_of, remove_tag
from flo.shards.tasks.output_files import copy_diverted
from flo.shards.tasks.state import store_of
from flo.tables.checkpoint.folders import Local, folder


def copy_checkpoint(where: str, to: str, version: int | str | None = None) -> int:
    """Copies a version of a checkpoint, by default the newest, to a folder that is empty or new; returns it."""
    _expect_empty(where, to)
    tag = f"copying-{uuid.uuid4().hex[:8]}"
    number = add_tag(where, tag, version)
    try:
        _copy(where, to, number)
    except BaseException:
        files = folder(to)
        for name in (*files.names(""), *files.folders("")):
            files.remove(name)
        raise
    finally:
        remove_tag(where, tag)
    return number


def _copy(where: str, to: str, version: int) -> None:
    checkpoint, commit = Checkpoint(where), read_commit(where, version)
    for stage, shard, store, changed in checkpoint.states(version):
        store_of(to, checkpoint.shards(version), stage["level"], shard).add_from(store, changed)
    copy_diverted(where, to, version)
    if read_commit(where, version) != commit:
        raise CheckpointError(
            f"version {version} was run again while it was copied",
            facts=(("checkpoint", where),),
            instead=(("flo state copy", "again"), ("--version", "an earlier version, which does not run again")),
        )
    copy_commit(where, version, to)
    copy_logs_of(where, version, f"{to}/{SPARK}")
    described = checkpoint.described(version)
    copied = [*described.get(COPIED, ()), described.get("id", where)]
    kept = {name: each for name, each in described.items() if name not in (BACKS, LOGS, SPARK_CHECKPOINT)}
    write_description(to, {**kept, "id": uuid.uuid4().hex, "replaced": [], COPIED: copied})


def _expect_empty(where: str, to: str) -> None:
    """Raises unless there is place for a copy."""
    target = folder(to)
    if Path(to).is_file() or target.names("") or target.folders(""):
        raise NameTakenError(
            f"a copy needs a folder that is empty or new; {to!r} is not",
            instead=(("another folder", "for the copy"),),
        )
    source = folder(where)
    paths = [each.path.resolve() if isinstance(each, Local) else each for each in (target, source)]
    if f"{paths[0]}/".startswith(f"{paths[1]}/"):
        raise NameTakenError(
            f"a copy cannot be in the checkpoint itself; got {to!r}", instead=(("another folder", "for the copy"),)
        )

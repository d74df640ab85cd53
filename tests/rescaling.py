"""Another number of shards without a start: for trials of what is cut, without a program or with one that is simulated.

A start with `shards=…` does the same, and is tried in tests/local/test_other_shards.py."""

from __future__ import annotations

from flo.shards.checkpoint.commits import PROGRAM, commit_version, read_commit, read_given
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.program_changes import add_description
from flo.shards.checkpoint.spark_logs import BATCH, PUSHED, ResumedBatches
from flo.shards.evolution.cutting import cut_states


class _Everything:
    def __contains__(self, name: object) -> bool:
        return True


def rescale(where: str, shards: int) -> None:
    """Cuts the newest version, and commits what it is then as the next one."""
    checkpoint = Checkpoint(where)
    version = checkpoint.versions()[-1]
    if shards == checkpoint.shards(version):
        return
    cut = cut_states(checkpoint, version, shards, _Everything(), _Everything())
    add_description(where, {**checkpoint.described(version), "shards": shards}, version + 1)
    before = read_commit(where, version)
    notes = {PUSHED: before.get(PUSHED, {}), "ended": before.get("ended", [])}
    notes |= {BATCH: ResumedBatches.after(where, version).last, PROGRAM: version + 1}
    commit_version(where, version + 1, shards, cut, before["epoch"], read_given(where, version), notes)

"""The small files of a checkpoint: what it is of, and which turns are committed. And the way there for tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from flo.core.errors import CheckpointError
from flo.spark.tasks.state import VERSIONS, Standing
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import create_sealed, missing, numbers_in, read_sealed, write_sealed

ABOUT, COMMITS, STANDING = "flo.json", "commits", "standing"
READABLE = VERSIONS - 1
"""How many committed versions are kept: while a turn is running, some shards have its version already."""
CONTENT = {
    "flow": str,
    "program": str,
    "functions": list,
    "inputs": list,
    "outputs": dict,
    "shards": int,
    "stages": list,
}
"""What is said of the program, and of which types it is."""
S3A = {
    "fs.s3a.endpoint": "AWS_ENDPOINT_URL",
    "fs.s3a.endpoint.region": "AWS_REGION",
    "fs.s3a.access.key": "AWS_ACCESS_KEY_ID",
    "fs.s3a.secret.key": "AWS_SECRET_ACCESS_KEY",
    "fs.s3a.session.token": "AWS_SESSION_TOKEN",
}
"""What Spark is told of S3, and where Arrow looks for it."""


def about(where: str) -> Any:
    """The program that a checkpoint is of, its stages and its number of shards; None if there is no checkpoint."""
    files = folder(where)
    if files.exists(ABOUT):
        return read_sealed(files, ABOUT, **CONTENT)
    if committed(where):
        raise missing(files, ABOUT)
    return None


def write_about(where: str, content: dict[str, Any]) -> None:
    write_sealed(folder(where), ABOUT, content)


def committed(where: str) -> list[int]:
    """The versions that readers may see."""
    return numbers_in(folder(where), COMMITS)


def commit(where: str, version: int, content: dict[str, Any], epoch: int = 0) -> None:
    """From now on readers see this version. Refused if one of a later epoch has committed it."""
    files, content = folder(where), {**content, "version": version, "epoch": epoch}
    try:
        create_sealed(files, _name(version), content)
    except FileExistsError:  # the turn has come again, or another has taken it
        newer = epoch_of(where, version)
        if newer > epoch:
            raise CheckpointError(
                f"version {version} was committed by another query, which has taken over the checkpoint",
                facts=(("checkpoint", where), ("epoch", f"{newer}, and this query has {epoch}")),
            ) from None
        write_sealed(files, _name(version), content)
    for old in committed(where)[:-READABLE]:
        folder(where).remove(_name(old))


def expect_next(where: str, version: int) -> None:
    """Refuses a turn that is neither the newest committed one, which comes again after a crash, nor the next."""
    newest = max(committed(where), default=-1)
    if version in (newest, newest + 1):
        return
    expected = f"version {newest} again, or {newest + 1}" if newest >= 0 else "version 0: nothing is committed"
    raise CheckpointError(
        f"Spark's checkpoint is not that of the state: it goes on with version {version}",
        facts=(("expected", expected), ("committed", f"{where}/{COMMITS}")),
        instead=(
            ("spark_checkpoint=…", "the one that the query has had until now; without it, the folder `spark`"),
            ("another checkpoint", "begins anew"),
        ),
    )


def read_commit(where: str, version: int) -> Any:
    return read_sealed(folder(where), _name(version), version=version)


def epoch_of(where: str, version: int) -> int:
    """Of the lease that a version was committed under; 0 if it was written before there were leases."""
    return int(read_commit(where, version).get("epoch", 0))


def read_commits(where: str) -> list[int]:
    """The versions that readers may see, once it is known that what was committed is as it was written."""
    versions = committed(where)
    for version in versions:
        read_commit(where, version)
    return versions


def standing_at(where: str, version: int, shards: int) -> dict[int, Standing]:
    """Where the states of a committed version are, by the level of their stage."""
    found = read_commit(where, version).get(STANDING, {}).get(str(shards))
    if found is None:
        raise CheckpointError(
            f"the commit of version {version} does not say where the states of its {shards} shards are",
            facts=(("checkpoint", where), ("likely", "another version of Flo has written it")),
            instead=(("another checkpoint", "begins anew"),),
        )
    return {int(level): Standing.of_json(each) for level, each in found.items()}


def standing_as_json(shards: int, standing: Mapping[int, Standing]) -> dict[str, Any]:
    """The same for the commit. It may have it for two numbers of shards, while the state is cut anew."""
    return {STANDING: {str(shards): {str(level): each.as_json() for level, each in standing.items()}}}


def add_standing(where: str, version: int, shards: int, standing: Mapping[int, Standing]) -> None:
    """Says in a commit where its states are on another number of shards."""
    content = read_commit(where, version)
    more = standing_as_json(shards, standing)[STANDING]
    write_sealed(folder(where), _name(version), {**content, STANDING: {**content[STANDING], **more}})


def _name(version: int) -> str:
    return f"{COMMITS}/{version:08}.json"


def reachable(spark: Any, where: str) -> None:
    """Lets this process and the tasks go where Spark itself would go: they find S3 by the environment."""
    if not where.startswith(("s3:", "s3a:", "s3n:")):
        return
    context = spark.sparkContext
    hadoop = context._jsc.hadoopConfiguration()
    for setting, variable in S3A.items():
        value = hadoop.get(setting)
        if value:
            os.environ.setdefault(variable, value)
    ours = {name: value for name, value in os.environ.items() if name.startswith("AWS_") or name == "FLO_CACHE"}
    context.environment.update(ours)

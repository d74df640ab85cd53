"""The small files of a checkpoint: what it is of, and which turns are committed. And the way there for tasks."""

from __future__ import annotations

import os
from typing import Any

from flo.columnar.folders import folder
from flo.columnar.sealed import read_sealed, write_sealed
from flo.core.errors import CheckpointError
from flo.spark.tasks.state import VERSIONS

ABOUT, COMMITS = "flo.json", "commits"
READABLE = VERSIONS - 1
"""How many committed versions are kept: while a turn is running, some shards have its version already."""
S3A = {
    "fs.s3a.endpoint": "AWS_ENDPOINT_URL",
    "fs.s3a.endpoint.region": "AWS_REGION",
    "fs.s3a.access.key": "AWS_ACCESS_KEY_ID",
    "fs.s3a.secret.key": "AWS_SECRET_ACCESS_KEY",
    "fs.s3a.session.token": "AWS_SESSION_TOKEN",
}
"""What Spark is told of S3, and where Arrow looks for it."""


def about(where: str) -> Any:
    """The program that a checkpoint is of, its stages and its number of shards; None if there is none."""
    return read_sealed(folder(where), ABOUT) if folder(where).exists(ABOUT) else None


def write_about(where: str, content: dict[str, Any]) -> None:
    write_sealed(folder(where), ABOUT, content)


def committed(where: str) -> list[int]:
    """The versions that readers may see."""
    return [int(name.removesuffix(".json")) for name in folder(where).names(COMMITS)]


def commit(where: str, version: int, content: dict[str, Any]) -> None:
    """From now on readers see this version."""
    write_sealed(folder(where), _name(version), content)
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
        facts=(("expected", expected), ("checkpoint", where)),
        instead=(
            ("spark_checkpoint=…", "the one that the query has had until now; without it, the folder `spark`"),
            ("another checkpoint", "begins anew"),
        ),
    )


def read_commit(where: str, version: int) -> Any:
    return read_sealed(folder(where), _name(version))


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

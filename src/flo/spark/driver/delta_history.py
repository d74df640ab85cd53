"""What a Delta table holds of an output: the metadata of a commit says it, beside the rows."""

from __future__ import annotations

import json
from collections.abc import Container

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from flo.shards.sinks.output_changes import Held

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""The setting that gives a commit its metadata."""
RECENT = 100
"""How many commits are looked at first."""


def metadata_of(identity: str, held: Held) -> str:
    """The metadata of a commit that makes a table hold this."""
    return json.dumps({"flo": identity, "version": held.version, "digest": held.digest, "key": held.key})


def held_by_delta(spark: SparkSession, table: str, identity: str, others: Container[str] = ()) -> Held | None:
    """What a Delta table holds of an output; None if it does not exist, or if one of the `others` has written since: it
    has taken the table over. A table without such a commit does not know."""
    for most in (f" LIMIT {RECENT}", ""):
        try:
            history = spark.sql(f"DESCRIBE HISTORY {table}{most}").collect()
        except PySparkException:
            return None
        wanted: int | None = None
        """The version that the table was restored to: what came after it does not count."""
        for row in sorted(history, key=lambda row: -int(row.version)):
            if wanted is not None and row.version > wanted:
                continue
            if row.operation == "RESTORE" and "version" in (row.operationParameters or {}):
                wanted = int(row.operationParameters["version"])
                continue
            writer, held = _read(row.userMetadata)
            if writer == identity:
                return held
            if writer in others:
                return None
        if len(history) < RECENT:
            break
    return Held(None)


def last_restore(spark: SparkSession, table: str) -> int | None:
    """The last version of a table that restored an earlier one."""
    try:
        history = spark.sql(f"DESCRIBE HISTORY {table}").where("operation = 'RESTORE'").select("version").collect()
    except PySparkException:
        return None
    return max((int(row.version) for row in history), default=None)


def _read(metadata: str | None) -> tuple[str, Held]:
    """The output that a commit is of, and what the table holds since; no output if it is a commit of others."""
    try:
        content = json.loads(metadata or "")
        key = content["key"]
        return content["flo"], Held(content["version"], content["digest"], None if key is None else tuple(key))
    except (ValueError, KeyError, TypeError):
        return "", Held(None)

"""The time of the outside world at each micro-batch. It is recorded before work is done, for when that runs again.

    moments/00000007.json     {"now": "2026-03-01T12:00:00+00:00"}

Invariant: a micro-batch that runs again has the time that it had before.
"""

from __future__ import annotations

from datetime import UTC, datetime

from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import create_sealed, read_sealed

MOMENTS = "moments"


def read_time() -> datetime:
    """The time of the outside world."""
    return datetime.now(UTC)


def record_moment(where: str, version: int) -> datetime:
    """The time of a micro-batch: the one that was recorded, or now."""
    files, name, now = folder(where), _name(version), read_time()
    try:
        create_sealed(files, name, {"now": now.isoformat()})
    except FileExistsError:  # the micro-batch runs again
        return datetime.fromisoformat(read_sealed(files, name)["now"])
    return now


def forget_moment(where: str, version: int) -> None:
    """Removes the time of a micro-batch that cannot run again."""
    if version >= 0:
        folder(where).remove(_name(version))


def _name(version: int) -> str:
    return f"{MOMENTS}/{version:08}.json"

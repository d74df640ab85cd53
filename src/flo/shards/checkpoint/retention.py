"""Retention: which committed versions readers can still read, by number or by age.

    keep=3, after version 7:              versions 5, 6 and 7 can be read; the commits up to 4 are removed
    keep="1 hour", version 7 came now:    every version that was the newest one within the last hour

The driver removes the commit of a version that is no longer kept. From then on readers reject it. With the next
micro-batch, each shard that changes removes what only such versions need. A version with a tag keeps the commit of the
tag, and what it needs.

Invariant: whatever a commit names exists. A removal that is interrupted leaves files that nothing names. Tags are read
after commits are removed: one that was made before a removal counts, and one that comes after it finds no commit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from flo.core.errors import ElementError, brief
from flo.shards.checkpoint.commits import Commits, commit_ages, remove_commit
from flo.shards.tasks.state import READABLE, removal_step

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}


class KeptVersions(NamedTuple):
    """The versions that readers may read."""

    oldest: int = 0
    """All from this one on."""
    tagged: tuple[int, ...] = ()
    """And these, which have tags."""

    @classmethod
    def of(cls, commits: Commits, oldest: int) -> KeptVersions:
        return cls(oldest, tuple(sorted({each for each in commits.tags.values() if each < oldest})))


@dataclass
class Retention:
    """How many versions are kept at least, and for how many seconds after they were replaced by the next one."""

    versions: int = READABLE
    seconds: float = 0.0
    _next: int = field(default=0, repr=False)
    """The version at whose commit to look next: to look at all commits takes time."""

    @classmethod
    def of(cls, keep: object) -> Retention:
        """Reads the user's `keep`: a number of versions, or an age such as "1 day"."""
        if isinstance(keep, int) and not isinstance(keep, bool) and keep >= READABLE:
            return cls(keep)
        age = re.fullmatch(r"(\d+(?:\.\d+)?) +([a-z]+?)s?", keep) if isinstance(keep, str) else None
        if age is None or age[2] not in SECONDS:
            raise ElementError(
                f"`keep` must be an integer ≥ {READABLE} or an age; got {brief(keep)}",
                instead=(("keep=100", "the last 100 versions"), ('keep="1 day"', f"ages in {', '.join(SECONDS)}s")),
            )
        return cls(READABLE, float(age[1]) * SECONDS[age[2]])

    def apply(self, where: str, version: int) -> KeptVersions | None:
        """Removes the commits of versions that are no longer kept. Returns those that are; None if it did not look.

        A version is kept as long as it was the newest one at some time within the age.
        """
        if version < self._next:
            return None
        ages = sorted(commit_ages(where).items())
        replaced = takewhile(lambda age: age > self.seconds, (age for _, age in ages[1:]))
        count = max(0, min(sum(1 for _ in replaced), len(ages) - self.versions))
        for number, _ in ages[:count]:
            remove_commit(where, number)
        oldest = ages[count][0]
        self._next = version + removal_step(version - oldest)
        return KeptVersions.of(Commits.read(where), oldest)

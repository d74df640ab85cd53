"""The changes that sinks were given in a micro-batch that may run again: the files of every attempt.

Version 7 has run twice, the second time with a corrected function. A sink that has taken the first changes needs the
difference:

    attempt 1    files [x, y]
    attempt 2    files [x, z]
    attempt 2 less attempt 1    files [z], retracted [y]          x cancels out

Invariant: files are named by their content, so equal names are equal rows. The files of all attempts are kept until the
next version is committed: until then the micro-batch may run again.

`given/00000007.json` has the attempts at version 7, by output.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from flo.core.untyped import Json
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import numbered_files, read_sealed, write_sealed

GIVEN = "given"


@dataclass(frozen=True)
class Attempt:
    """The changes of an output in one attempt at a micro-batch."""

    files: tuple[str, ...] = ()
    retracted: tuple[str, ...] = ()
    """Files whose rows have the opposite weights."""
    rows: int = 0

    @property
    def digest(self) -> str:
        """Identifies the changes, since the files are named by their content; empty if there are none."""
        if not self.files and not self.retracted:
            return ""
        names = "\n".join((*sorted(self.files), "-", *sorted(self.retracted)))
        return hashlib.sha256(names.encode()).hexdigest()[:32]

    def plus(self, other: Attempt) -> Attempt:
        """The changes of both."""
        return Attempt((*self.files, *other.files), (*self.retracted, *other.retracted), self.rows + other.rows)

    def minus(self, other: Attempt) -> Attempt:
        """The difference to another attempt. Files that both have cancel out."""
        added = Counter((*self.files, *other.retracted))
        removed = Counter((*self.retracted, *other.files))
        more, fewer = added - removed, removed - added
        return Attempt(tuple(sorted(more.elements())), tuple(sorted(fewer.elements())), self.rows + other.rows)

    @classmethod
    def of_json(cls, content: Json) -> Attempt:
        return cls(tuple(content[0]), tuple(content[1]), content[2])

    def as_json(self) -> Json:
        return [list(self.files), list(self.retracted), self.rows]


@dataclass
class Attempts:
    """The attempts at one version, by output, the oldest first."""

    where: str
    version: int
    by_output: dict[str, list[Attempt]] = field(default_factory=dict)
    carried: dict[str, Attempt] = field(default_factory=dict)
    """Changes that the next version carries, because the sink has taken other changes of this one."""

    @classmethod
    def read(cls, where: str, version: int) -> Attempts:
        """The attempts that were recorded; none if there is no record."""
        attempts = cls(where, version)
        if version >= 0 and folder(where).exists(_name(version)):
            content = read_sealed(folder(where), _name(version), version=version, made=dict, carried=dict)
            lists = content["made"].items()
            attempts.by_output = {name: [Attempt.of_json(each) for each in every] for name, every in lists}
            attempts.carried = {name: Attempt.of_json(each) for name, each in content["carried"].items()}
        return attempts

    def add(self, output: str, attempt: Attempt) -> bool:
        """Adds an attempt as the newest; returns whether it was not there."""
        every = self.by_output.setdefault(output, [])
        if every and every[-1] == attempt:
            return False
        self.by_output[output] = [*(each for each in every if each != attempt), attempt]
        return True

    def digests(self, output: str) -> set[str]:
        """The digests of all attempts of an output."""
        return {each.digest for each in self.by_output.get(output, ())}

    def write(self) -> None:
        lists = {name: [each.as_json() for each in every] for name, every in self.by_output.items()}
        carried = {name: each.as_json() for name, each in self.carried.items()}
        content = {"version": self.version, "made": lists, "carried": carried}
        write_sealed(folder(self.where), _name(self.version), content)

    def remove(self) -> None:
        folder(self.where).remove(_name(self.version))


def remove_attempts(where: str, before: int) -> None:
    """Removes the records of earlier versions, which cannot run again."""
    for version in numbered_files(folder(where), GIVEN):
        if version < before:
            Attempts(where, version).remove()


def _name(version: int) -> str:
    return f"{GIVEN}/{version:08}.json"

"""What a check found: a value, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from flo.verify.laws import Law


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A law that is broken, and the smallest run that was found to break it: one column, or two that should agree."""

    law: Law
    about: str
    columns: tuple[tuple[str, ...], ...]
    outcomes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.law.name} ({self.law.paper}): {self.law.statement}", f"  {self.about}"]
        width = max(len(cell) for cell in (*self.columns[0], self.outcomes[0]))
        rows = [(str(number), row) for number, row in enumerate(zip_longest(*self.columns, fillvalue=""), start=1)]
        for label, row in [*rows, ("=", self.outcomes)]:
            lines.append(f"  {label:>3}  " + "  |  ".join(cell.ljust(width) for cell in row).rstrip())
        if self.law.instead:
            lines.append(f"  instead  {self.law.instead}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Report:
    """Which laws were tried on what, how hard, and what broke."""

    subject: str
    laws: tuple[Law, ...]
    strength: str
    counterexample: Counterexample | None = None
    fired: frozenset[str] = frozenset()

    @property
    def ok(self) -> bool:
        return self.counterexample is None

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"{self.subject} breaks a law\n{self.counterexample}"
        return f"{self.subject} passes {listed([law.name for law in self.laws])}\n  {self.strength}"


def listed(names: Sequence[str]) -> str:
    return ", ".join(names)

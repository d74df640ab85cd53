"""What a check found: a value, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from flo.verify.laws import Law


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A law that is broken, and the smallest run that was found to break it: one column, or two that should agree."""

    law: Law
    about: str
    """What it was tried on."""
    columns: tuple[tuple[str, ...], ...]
    outcomes: tuple[str, ...]
    reproduce: str = ""
    """A line to paste that shows it again."""

    def __str__(self) -> str:
        lines = [f"{self.law.name} ({self.law.paper}): {self.law.statement}", f"  {self.about}"]
        width = max(len(cell) for cell in (*self.columns[0], self.outcomes[0]))
        rows = [(str(number), row) for number, row in enumerate(zip_longest(*self.columns, fillvalue=""), start=1)]
        for label, row in [*rows, ("=", self.outcomes)]:
            lines.append(f"  {label:>3}  " + "  |  ".join(cell.ljust(width) for cell in row).rstrip())
        if self.law.instead:
            lines.append(f"  instead  {self.law.instead}")
        if self.reproduce:
            lines.append(f"  again    {self.reproduce}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Strength:
    """How hard the laws were tried; `attempts` are the inputs, values or pairs of them that were looked at."""

    proved: bool = False
    """For all values there are, by the solver."""
    exhaustive: int = 0
    """Small inputs, every one of them."""
    up_to: int = 0
    """How many elements the largest of those has."""
    random: int = 0
    """Larger inputs, generated."""
    limits: tuple[str, ...] = ()
    """What was not done, and why: time ran out, a library is missing, a function could not be traced."""

    @property
    def attempts(self) -> int:
        return self.exhaustive + self.random

    @property
    def _size(self) -> str:
        return f" (up to {self.up_to} element{'s' if self.up_to > 1 else ''})" if self.up_to else ""

    def __str__(self) -> str:
        proved = ["proved for all values"] if self.proved else []
        parts = []
        if self.exhaustive:
            parts.append(f"all {self.exhaustive:,} small ones{self._size}")
        if self.random:
            parts.append(f"{self.random:,} at random")
        tried = ", then ".join(parts) or "not tried"
        return "; ".join([*proved, tried, *self.limits])


@dataclass(frozen=True, slots=True)
class Report:
    """Which laws were tried on what, how hard, and what broke."""

    subject: str
    laws: tuple[Law, ...]
    strength: Strength
    counterexample: Counterexample | None = None
    fired: frozenset[str] = frozenset()
    """The rules of the operators that were taken."""
    never_fired: frozenset[str] = frozenset()
    """Rules that the operators name, and that no input enabled."""
    parts: tuple[Report, ...] = ()
    """Of a flow: what was found of the functions in it whose algebra matters."""

    def __post_init__(self) -> None:
        """Without a counterexample of its own, that of the first part that has one."""
        if self.counterexample is None:
            found = (part.counterexample for part in self.parts if part.counterexample is not None)
            object.__setattr__(self, "counterexample", next(found, None))

    @property
    def of_a_part(self) -> bool:
        """Whether the counterexample is one of a part, and not of the whole."""
        return any(part.counterexample is self.counterexample for part in self.parts if not part.ok)

    @property
    def ok(self) -> bool:
        return self.counterexample is None

    def __str__(self) -> str:
        if self.of_a_part:
            lines = [f"{self.subject} holds what breaks a law", f"  {self.strength}"]
        elif self.counterexample is not None:
            lines = [f"{self.subject} breaks a law", str(self.counterexample)]
        else:
            lines = [f"{self.subject} passes {', '.join(law.name for law in self.laws)}", f"  {self.strength}"]
        if self.never_fired:
            lines.append(f"  never fired: {', '.join(sorted(self.never_fired))}")
        return "\n".join([*lines, *map(str, self.parts)])

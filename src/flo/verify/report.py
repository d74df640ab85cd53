"""The result of a check: a verdict, how hard the laws were tried, and a counterexample if one broke."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from os import PathLike

from flo.core.display import Displayed, pictures
from flo.verify.exploration.arrivals import Scenario
from flo.verify.laws import Law

LEAST_OF_SEVERAL = 5
"""So many inputs of two or more elements must be tried for a verdict, unless all small ones were."""


@dataclass(frozen=True, slots=True)
class Counterexample(Displayed):
    """A law that is broken, and the smallest run that was found to break it: one column, or two that should agree."""

    law: Law
    about: str
    """The input on which it broke."""
    columns: tuple[tuple[str, ...], ...]
    outcomes: tuple[str, ...]
    reproduce: str = ""
    """A line to paste that reproduces it."""
    advice: str = ""
    """A fix for this case, where the general advice of the law does not fit."""
    traces: tuple[str, ...] = field(default=(), compare=False, repr=False)
    scenario: Scenario | None = field(default=None, compare=False, repr=False)
    """What the traces are runs of; None if no program has run."""

    @property
    def instead(self) -> str:
        """How to fix it."""
        return self.advice or self.law.instead

    def __str__(self) -> str:
        lines = [f"{self.law.name} ({self.law.paper}): {self.law.statement}", f"  {self.about}"]
        width = max(len(cell) for cell in (*self.columns[0], self.outcomes[0]))
        rows = [(str(number), row) for number, row in enumerate(zip_longest(*self.columns, fillvalue=""), start=1)]
        for label, row in [*rows, ("=", self.outcomes)]:
            lines.append(f"  {label:>3}  " + "  |  ".join(cell.ljust(width) for cell in row).rstrip())
        if self.instead:
            lines.append(f"  instead  {self.instead}")
        if self.reproduce:
            lines.append(f"  again    {self.reproduce}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Strength:
    """How hard the laws were tried; `attempts` counts the inputs, values or pairs of values."""

    proved: bool = False
    """By the solver, for all values."""
    exhaustive: int = 0
    """Small inputs, every one of them."""
    up_to: int = 0
    """How many elements the largest of those has."""
    sized: int = 0
    """Inputs of given sizes and weights: those in the code, and a few large ones."""
    random: int = 0
    """Larger inputs, generated."""
    longest: int = 0
    """How many elements the largest input had."""
    heaviest: int = 0
    """The largest weight of an element."""
    takes_data: bool = False
    """Whether there are inputs, so that those without elements say little."""
    of_several: int = 0
    """How many inputs had two or more elements, in one schedule or in all."""
    cut_at: int | None = None
    """The size of small inputs at which the budget ended; None if it sufficed."""
    limits: tuple[str, ...] = ()
    """Why something was skipped: the budget is used up, a library is missing, a function cannot be traced."""

    @property
    def attempts(self) -> int:
        return self.exhaustive + self.sized + self.random

    @property
    def missing(self) -> str:
        """Why so little was tried that nothing is known; empty if something is."""
        if not self.proved and not self.attempts:
            return "nothing was tried"
        if self.takes_data and not self.longest:
            return "only empty inputs were tried"
        if self.cut_at is not None and self.cut_at <= 2 and self.of_several < LEAST_OF_SEVERAL:
            larger = f" and {self.of_several} larger one{'s' * (self.of_several > 1)}" if self.of_several else ""
            return f"the budget ended after inputs of one element{larger}"
        return ""

    @property
    def _size(self) -> str:
        return f" (up to {self.up_to} element{'s' if self.up_to > 1 else ''})" if self.up_to else ""

    def __str__(self) -> str:
        proved = ["proved for all values"] if self.proved else []
        parts = []
        if self.exhaustive:
            parts.append(f"all {self.exhaustive:,} small ones{self._size}")
        if self.sized:
            parts.append(f"{self.sized:,} of sizes in the code")
        if self.random:
            parts.append(f"{self.random:,} at random")
        if parts and (self.sized or self.random) and self.longest:
            weights = f", weights up to {self.heaviest}" if self.heaviest > 1 else ""
            parts[-1] += f" (up to {self.longest} element{'s' * (self.longest > 1)}{weights})"
        tried = ", then ".join(parts) or "not tried"
        return "; ".join([*proved, tried, *self.limits])


@dataclass(frozen=True, slots=True)
class Report(Displayed):
    """Which laws were tried on what, how hard, and what broke."""

    subject: str
    laws: tuple[Law, ...]
    strength: Strength
    counterexample: Counterexample | None = None
    fired: frozenset[str] = frozenset()
    """The rules of the operators that were taken."""
    never_fired: frozenset[str] = frozenset()
    """Rules in the code that no input enabled."""
    parts: tuple[Report, ...] = ()
    """For a flow: the reports on the functions whose laws its operators require."""
    caveats: tuple[str, ...] = ()
    """Gaps that no input can close: a call of a clock, a size that is never reached."""

    def __post_init__(self) -> None:
        """Take the counterexample of the first part that has one, if there is no own."""
        if self.counterexample is None:
            counterexamples = (part.counterexample for part in self.parts if part.counterexample is not None)
            object.__setattr__(self, "counterexample", next(counterexamples, None))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a page with the verdict; if a law is broken, with the runs step by step: HTML, in one file."""
        pictures().save_report(self, path)

    @property
    def of_a_part(self) -> bool:
        """Whether the counterexample is one of a part, and not of the whole."""
        return any(part.counterexample is self.counterexample for part in self.parts if not part.ok)

    @property
    def ok(self) -> bool:
        """Whether no law is broken, as far as was tried, and enough was tried to say so."""
        return self.counterexample is None and not self.strength.missing and all(part.ok for part in self.parts)

    @property
    def gaps(self) -> tuple[str, ...]:
        """The cases that the verdict does not cover."""
        never = (f"rule {rule} never fired" for rule in sorted(self.never_fired))
        return tuple(dict.fromkeys([*never, *self.caveats, *(gap for part in self.parts for gap in part.gaps)]))

    @property
    def verdict(self) -> str:
        """A short text: `passes`, `passes, with gaps: …`, `breaks a law` or `is undecided: …`."""
        if self.of_a_part:
            return "has a part that breaks a law"
        if self.counterexample is not None:
            return "breaks a law"
        if self.strength.missing:
            return f"is undecided: {self.strength.missing}"
        undecided = next((part for part in self.parts if not part.ok), None)
        if undecided is not None:
            return f"is undecided: {undecided.subject} {undecided.verdict}"
        return f"passes, with gaps: {', '.join(self.gaps)}" if self.gaps else "passes"

    def __repr__(self) -> str:
        return f"<Report: {self.subject} {self.verdict}>"

    def __str__(self) -> str:
        lines = [f"{self.subject} {self.verdict}"]
        if self.counterexample is not None and not self.of_a_part:
            lines.append(str(self.counterexample))
        else:
            lines += [f"  {self.strength}", f"  laws: {', '.join(law.name for law in self.laws)}"]
        return "\n".join([*lines, *map(str, self.parts)])

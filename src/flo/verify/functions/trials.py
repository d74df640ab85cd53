"""How hard an equation is tried: on all small values, then by the solver, and where it does not know, at random."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from flo.core.elements import belongs, type_name
from flo.core.errors import FloError, FunctionError, Origin, brief
from flo.verify.data.kinds import common_kind, holds_floats
from flo.verify.effort import Effort
from flo.verify.functions.broken import Broken, Raised, broken
from flo.verify.functions.equations import Equation
from flo.verify.laws import Law
from flo.verify.report import Report, Strength
from flo.verify.smallest import NO_HYPOTHESIS, smallest
from flo.verify.within import TimeUp, within

if TYPE_CHECKING:
    from flo.verify.solver.prove import Verdict

TRY_SECONDS = 2.0
"""A function that has used so much processor time on one small value is given up."""
MOST_SIMPLER = 2_000
"""So many small values are tried for one that is simpler than the first that breaks a law."""

FLOATS = "of floats: all but nan, and no ints in their place"


@dataclass(frozen=True)
class Domain:
    """What a variable ranges over."""

    few: list[Any]
    kind: Any
    """The Python type that holds all of it, for the solver; None if there is none."""
    generated: Callable[[], Any]
    """Makes the Hypothesis strategy."""
    stays: Callable[[int], Verdict] | None = None
    """Of accumulators: whether a fold that is in the type stays there, shown with so much work."""


@dataclass(frozen=True)
class Problem:
    """An equation and what its variables range over."""

    equation: Equation
    domains: tuple[Domain, ...]
    for_solver: Callable[..., tuple[Any, Any]] | None = None
    """The two sides as the solver gets them, where that is not the equation itself."""

    def small(self) -> Iterator[tuple[Any, ...]]:
        return product(*(domain.few for domain in self.domains))


@dataclass
class Trials:
    """Tries problems, and counts. A `subject` that raises or never returns is an error that names the arguments."""

    subject: str
    problems: list[Problem]
    effort: Effort
    limits: list[str]
    admissible: Callable[[tuple[Any, ...]], Iterable[tuple[Any, ...]]]
    """The values that count, of those that the solver found: it knows only their types."""
    where: Origin | None
    """The user's line."""
    function: str = ""
    """What is called, where that is not the subject."""
    exhaustive: int = 0
    random: int = 0
    proved: bool = False

    def report(self, laws: tuple[Law, ...]) -> Report:
        try:
            found = self._small() or self._by_the_solver_and_at_random()
        except TimeUp as up:
            raise endless(self.function or self.subject, up, self.where) from None
        except Raised as raised:
            raise self._failing(raised) from raised.error
        limits = tuple(dict.fromkeys(self.limits))
        strength = Strength(self.proved, self.exhaustive, random=self.random, limits=limits)
        return Report(f"`{self.subject}`", laws, strength, found.counterexample() if found else None)

    def attempt(self, equation: Equation, values: tuple[Any, ...]) -> Broken | None:
        self.effort.meter.done += 1
        with within(TRY_SECONDS):
            return broken(equation, values)

    def _small(self) -> Broken | None:
        for problem in self.problems:
            waiting = problem.small()
            for values in waiting:
                if self._late():
                    return None
                self.exhaustive += 1
                found = self.attempt(problem.equation, values)
                if found is not None:
                    return self._simpler(found, waiting)
        return None

    def _simpler(self, found: Broken, others: Iterator[tuple[Any, ...]]) -> Broken:
        """The simplest of all small values that break the same law, of the next few."""
        for values in islice(others, MOST_SIMPLER):
            if self.effort.over():
                break
            self.exhaustive += 1
            try:
                other = self.attempt(found.equation, values)
            except (FloError, Raised, TimeUp):  # one is enough, and this one raises nothing
                break
            found = other if other is not None and other.size < found.size else found
        return found

    def _late(self) -> bool:
        late = self.effort.over()
        if late:
            self.limits.append(f"stopped after {self.effort.work:,} units of work")
        return late

    def _by_the_solver_and_at_random(self) -> Broken | None:
        from flo.verify.solver.prove import Proved, Refuted

        unproved = []
        for problem in self.problems:
            verdict = self._solved(problem)
            if isinstance(verdict, Proved):
                if any(holds_floats(domain.kind) for domain in problem.domains):
                    self.limits.append(FLOATS)
                continue
            unproved.append(problem)
            found = self._confirmed(problem, verdict.arguments) if isinstance(verdict, Refuted) else None
            if found is not None:
                return found
            reason = "the solver's counterexample does not count" if isinstance(verdict, Refuted) else verdict.reason
            self.limits.append(f"{problem.equation.law}: not proved, {reason}")
        self.proved = not unproved and bool(self.problems)
        return self._at_random(unproved)

    def _solved(self, problem: Problem) -> Verdict:
        from flo.verify.solver.prove import SOLVER_WORK, Proved, Unknown, prove

        kinds = [domain.kind for domain in problem.domains]
        if None in kinds:
            return Unknown("as the types of its values are not known")
        if self.effort.over():
            return Unknown("as all the work was done before")
        verdict = prove(problem.for_solver or problem.equation.sides, kinds)
        if verdict == Proved():  # for all values of the types: they must be all that there are
            staying = (domain.stays(SOLVER_WORK) for domain in problem.domains if domain.stays is not None)
            verdict = next((each for each in staying if each != Proved()), verdict)
        return verdict

    def _confirmed(self, problem: Problem, suspect: tuple[Any, ...]) -> Broken | None:
        """A counterexample of the solver counts if the function itself shows it, on admissible values."""
        tried = (self.attempt(problem.equation, values) for values in self.admissible(suspect))
        return next(filter(None, tried), None)

    def _at_random(self, problems: list[Problem]) -> Broken | None:
        try:
            import hypothesis  # noqa: F401
        except ImportError:
            if problems:
                self.limits.append(NO_HYPOTHESIS)
            return None
        for group in together(problems):
            if self.effort.tries and not self._late():
                found = self._searched(group)
                if found is not None:
                    return found
        return None

    def _searched(self, group: list[Problem]) -> Broken | None:
        """Random values, and smaller ones once some break a law."""
        from hypothesis import strategies as st

        found: list[Broken] = []

        def breaks(values: tuple[Any, ...]) -> Broken | None:
            self.random += not found
            tried = (self.attempt(each.equation, values[: len(each.domains)]) for each in group)
            one = next(filter(None, tried), None)
            found.extend([one] if one is not None else [])
            return one

        strategy = st.tuples(*(domain.generated() for domain in group[0].domains))
        smallest(strategy, breaks, tries=self.effort.tries, seed=self.effort.seed, over=self.effort.over)
        self._late()
        return min(found, key=lambda each: each.size, default=None)

    def _failing(self, raised: Raised) -> FloError:
        kinds = [domain.kind for problem in self.problems for domain in problem.domains]
        return FunctionError(
            f"`{self.function or self.subject}` raised {raised}",
            facts=(("given", ", ".join(map(brief, raised.values))),),
            instead=meant_values(raised.values, kinds),
            where=self.where,
        )


def together(problems: list[Problem]) -> list[list[Problem]]:
    """Those that the same values can be tried on: with the variables of the longest, or the first of them."""
    groups: list[list[Problem]] = []
    for problem in sorted(problems, key=lambda problem: -len(problem.domains)):
        for group in groups:
            if all(one is other for one, other in zip(problem.domains, group[0].domains, strict=False)):
                group.append(problem)
                break
        else:
            groups.append([problem])
    return groups


def endless(subject: str, up: TimeUp, where: Origin | None) -> FloError:
    place = (("stopped at", f"{up.where}   {up.where.text}".rstrip()),) if up.where else ()
    return FunctionError(
        f"`{subject}` was given up {up.spent}: it had not returned",
        facts=(("given", ", ".join(map(brief, up.given))), *place),
        instead=meant_values(up.given),
        where=where,
    )


def meant_values(given: tuple[Any, ...], kinds: Iterable[Any] = ()) -> tuple[tuple[str, str], ...]:
    """How to try others, of the type of the last: a fold makes its accumulators of them. Of known types the name."""
    if not given:
        return (("examples={…: […]}", "values of each type that it is meant for"),)
    kind = next((kind for kind in kinds if kind is not None and belongs(given[-1], kind)), common_kind([given[-1]]))
    return ((f"examples={{{type_name(kind or type(given[-1]))}: […]}}", "only values that it is meant for"),)

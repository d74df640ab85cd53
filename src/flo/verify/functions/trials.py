"""Tries equations on values: exhaustively on small ones, by the solver, and at random; with counterexamples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from flo.core.elements import belongs, type_name
from flo.core.errors import FloError, FunctionError, Origin, brief
from flo.values.operators.shapes import is_immutable
from flo.verify import laws
from flo.verify.data.given import common_kind, holds_floats
from flo.verify.data.strategies import NO_HYPOTHESIS, smallest
from flo.verify.effort import Effort
from flo.verify.functions.equations import Equation, Function, outcome, same
from flo.verify.laws import Law
from flo.verify.report import Counterexample, Report, Strength
from flo.verify.within import TimeUp, within

if TYPE_CHECKING:
    from flo.verify.solver.prove import Verdict
from flo.verify.within import TRY_SECONDS, copied

LEAVE_ARGUMENTS = "give a new value, and leave the arguments as they are"
LONG = 400
"""How much of a value is shown in a line to paste."""


@dataclass(frozen=True)
class Broken:
    """Values for which the two sides differ, or of which one is no longer what it was."""

    equation: Equation
    values: tuple[Any, ...]
    results: tuple[Any, Any]
    changed: str = ""
    """The variable whose value a function has changed."""

    @property
    def size(self) -> tuple[int, int]:
        """How hard it is to read: its length, and how many of its numbers are not whole."""
        text = brief(self.values, LONG)
        return len(text), len(re.findall(r"\.\d*[1-9]", text))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The sides and what they give, for an error."""
        if self.changed:
            return (("before", brief(self.results[0])), ("after", brief(self.results[1])))
        texts = self.equation.shown or (self.equation.left, self.equation.right)
        one, other = (self.equation.filled(text, self.values) for text in texts)
        first, second = map(brief, self.results)
        return ((one, f"= {first}"), (other if other != one else "again", f"= {second}"))

    def counterexample(self) -> Counterexample:
        equation = self.equation
        results = (brief(self.results[0]), brief(self.results[1]))
        of = ", ".join(f"{name} = {brief(value)}" for name, value in zip(equation.variables, self.values, strict=True))
        if self.changed:
            columns: tuple[tuple[str, ...], ...] = ((f"{self.changed} before",), (f"{self.changed} after",))
            about = f"it changes its argument, on {of}"
            return Counterexample(equation.law, about, columns, results, self._pasted(), LEAVE_ARGUMENTS)
        return Counterexample(equation.law, f"on {of}", self._columns(), results, self._pasted())

    def _columns(self) -> tuple[tuple[str, ...], ...]:
        """Each side as the calls that it makes, one after the other."""
        shown = self.equation.shown
        if self.equation.law == laws.A_FUNCTION:  # the same call again would give another result again
            shown = (self.equation.left, self.equation.right)
        if shown is not None:
            return tuple((self.equation.filled(text, self.values),) for text in shown)
        columns = []
        for expression in (self.equation.left, self.equation.right):
            calls: list[str] = []
            names = {name: _recorded(name, function, calls) for name, function in self.equation.names.items()}
            evaluate = eval(f"lambda {', '.join(self.equation.variables)}: {expression}", names)
            try:
                evaluate(*map(copied, self.values))
            except Exception:  # it did not raise before: not a function of its arguments
                calls.append("raises now")
            columns.append(tuple(calls) or (self.equation.filled(expression, self.values),))
        return tuple(columns)

    def _pasted(self) -> str:
        equation = self.equation
        before = [equation.setting] if equation.setting else []
        if self.changed:
            place = equation.variables.index(self.changed)
            given = brief(self.values[place], LONG)
            call = equation.filled(equation.left, _with(self.values, place, _Name(self.changed)), LONG)
            steps = [f"{self.changed} = {given}", call, f"assert {self.changed} == {given}"]
            return "; ".join(before + steps)
        one, other = (equation.filled(text, self.values, LONG) for text in (equation.left, equation.right))
        return "; ".join([*before, f"assert {one} == {other}"])


class _Name(str):
    """Shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _recorded(name: str, function: Function, calls: list[str]) -> Function:
    def recording(*arguments: Any) -> Any:
        shown = ", ".join(map(brief, arguments))
        result = function(*arguments)
        calls.append(f"{name}({shown}) = {brief(result)}")
        return result

    return recording


def broken(equation: Equation, values: tuple[Any, ...]) -> Broken | None:
    """What the values break. A function that raises is an error that names them."""
    firm = all(map(is_immutable, values))
    results = []
    try:
        for side in equation.both:
            given = values if firm else tuple(map(copied, values))
            results.append(outcome(side, given))
            for name, now, before in () if firm else zip(equation.variables, given, values, strict=True):
                if name not in equation.owned and not same(now, before):
                    return Broken(equation, values, (before, now), changed=name)
    except TimeUp as up:
        up.given = up.given or values
        raise
    except FloError:
        raise
    except (Exception, SystemExit) as error:
        raise Raised(error, values) from error
    return None if same(*results) else Broken(equation, values, (results[0], results[1]))


class Raised(Exception):
    """A function raised on these values."""

    def __init__(self, error: BaseException, values: tuple[Any, ...]) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error
        self.values = values


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

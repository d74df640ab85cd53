"""Tries equations on values: exhaustively on small ones, by the solver, and at random; with counterexamples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from flo.core.elements import belongs
from flo.core.errors import FloError, FunctionError, Origin, Pickled, brief
from flo.core.operator import replaced
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, TypeForm
from flo.values.operators.shapes import copy_if_mutable, is_immutable
from flo.verify import laws
from flo.verify.data.given import common_kind, holds_floats
from flo.verify.data.strategies import find_smallest
from flo.verify.effort import Effort
from flo.verify.equality import are_equal
from flo.verify.functions.equations import Equation, evaluate
from flo.verify.laws import Law
from flo.verify.optional import NO_HYPOTHESIS, st
from flo.verify.report import Counterexample, Report, Strength
from flo.verify.time_limit import TimeLimit, TimeUp

if TYPE_CHECKING:
    from flo.verify.solver.prove import Verdict

LEAVE_ARGUMENTS = "give a new value, and leave the arguments as they are"
LONG = 400
"""How many characters of a value a line to paste contains."""


@dataclass(frozen=True)
class Violation:
    """Values for which the two sides of an equation differ, or one of which a function has changed."""

    equation: Equation
    values: tuple[Any, ...]
    results: tuple[Any, Any]
    changed: str = ""
    """The variable whose value a function has changed."""

    @property
    def size(self) -> tuple[int, int]:
        """How hard it is to read: the length, and the number of fractions."""
        text = brief(self.values, LONG)
        return len(text), len(re.findall(r"\.\d*[1-9]", text))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The two sides and their results, for an error."""
        if self.changed:
            return (("before", brief(self.results[0])), ("after", brief(self.results[1])))
        texts = self.equation.display or (self.equation.left, self.equation.right)
        one, other = (self.equation.fill(text, self.values) for text in texts)
        first, second = map(brief, self.results)
        return ((one, f"= {first}"), (other if other != one else "again", f"= {second}"))

    def counterexample(self) -> Counterexample:
        equation = self.equation
        results = (brief(self.results[0]), brief(self.results[1]))
        of = ", ".join(f"{name} = {brief(value)}" for name, value in zip(equation.variables, self.values, strict=True))
        if self.changed:
            columns: tuple[tuple[str, ...], ...] = ((f"{self.changed} before",), (f"{self.changed} after",))
            about = f"it changes its argument, on {of}"
            return Counterexample(equation.law, about, columns, results, self._paste_line(), LEAVE_ARGUMENTS)
        return Counterexample(equation.law, f"on {of}", self._columns(), results, self._paste_line())

    def _columns(self) -> tuple[tuple[str, ...], ...]:
        """Each side as the list of its calls."""
        texts = self.equation.display
        if self.equation.law == laws.A_FUNCTION:  # another call would return yet another result
            texts = (self.equation.left, self.equation.right)
        if texts is not None:
            return tuple((self.equation.fill(text, self.values),) for text in texts)
        columns = []
        for expression in (self.equation.left, self.equation.right):
            calls: list[str] = []
            names = {name: _record_calls(name, function, calls) for name, function in self.equation.names.items()}
            evaluate = eval(f"lambda {', '.join(self.equation.variables)}: {expression}", names)
            try:
                evaluate(*map(copy_if_mutable, self.values))
            except Exception:  # it did not raise before: not a function of its arguments
                calls.append("raises now")
            columns.append(tuple(calls) or (self.equation.fill(expression, self.values),))
        return tuple(columns)

    def _paste_line(self) -> str:
        equation = self.equation
        before = [equation.definitions] if equation.definitions else []
        if self.changed:
            place = equation.variables.index(self.changed)
            given = brief(self.values[place], LONG)
            call = equation.fill(equation.left, replaced(self.values, place, _Name(self.changed)), LONG)
            steps = [f"{self.changed} = {given}", call, f"assert {self.changed} == {given}"]
            return "; ".join(before + steps)
        one, other = (equation.fill(text, self.values, LONG) for text in (equation.left, equation.right))
        return "; ".join([*before, f"assert {one} == {other}"])


class _Name(str):
    """A name, whose `repr` has no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _record_calls(name: str, function: AnyFunction, calls: list[str]) -> AnyFunction:
    def recording(*arguments: object) -> Any:
        text = ", ".join(map(brief, arguments))
        result = function(*arguments)
        calls.append(f"{name}({text}) = {brief(result)}")
        return result

    return recording


def find_violation(equation: Equation, values: tuple[object, ...]) -> Violation | None:
    """Try an equation on values; return the violation, if any. An error of a function becomes a `Raised`."""
    firm = all(map(is_immutable, values))
    results = []
    try:
        for side in equation.functions:
            given = values if firm else tuple(map(copy_if_mutable, values))
            results.append(evaluate(side, given))
            for name, now, before in () if firm else zip(equation.variables, given, values, strict=True):
                if name not in equation.changeable and not are_equal(now, before):
                    return Violation(equation, values, (before, now), changed=name)
    except TimeUp as up:
        up.given = up.given or values
        raise
    except FloError:
        raise
    except (Exception, SystemExit) as error:
        raise Raised(error, values) from error
    return None if are_equal(*results) else Violation(equation, values, (results[0], results[1]))


class Raised(Pickled, Exception):
    """A function raised on these values."""

    def __init__(self, error: BaseException, values: tuple[object, ...]) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error
        self.values = values


MOST_SIMPLER = 2_000
"""How many more small values are tried, to find a simpler violation."""

FLOATS = "of floats: all but nan, and no ints in their place"


@dataclass(frozen=True)
class Domain:
    """The values that a variable ranges over: a few to try, their type, and a strategy."""

    few: list[Any]
    kind: TypeForm
    """The Python type of all values, for the solver; None if there is none."""
    make_strategy: Callable[[], Any]
    """Makes the Hypothesis strategy."""
    prove_closed: Callable[[int], Verdict] | None = None
    """For accumulators: proves, within a budget, that a fold stays in the type."""


@dataclass(frozen=True)
class Problem:
    """An equation, and the domains of its variables."""

    equation: Equation
    domains: tuple[Domain, ...]
    for_solver: Callable[..., tuple[Any, Any]] | None = None
    """The two sides as the solver gets them, where that is not the equation itself."""

    def small(self) -> Iterator[tuple[Any, ...]]:
        return product(*(domain.few for domain in self.domains))


@dataclass
class EquationTrials:
    """Tries problems, and counts the attempts. If the subject raises or does not return, that is an error."""

    subject: str
    problems: list[Problem]
    effort: Effort
    limits: list[str]
    admissible: Callable[[tuple[Any, ...]], Iterable[tuple[Any, ...]]]
    """Filters the values that the solver found: it knows only their types."""
    where: Origin | None
    """The user's line."""
    function: str = ""
    """The name of the function, if it is not the subject."""
    exhaustive: int = 0
    random: int = 0
    proved: bool = False

    def report(self, laws: tuple[Law, ...]) -> Report:
        try:
            violation = self._try_small() or self._prove_or_sample()
        except TimeUp as up:
            raise timeout_error(self.function or self.subject, up, self.where) from None
        except Raised as raised:
            raise self._raised_error(raised) from raised.error
        limits = tuple(dict.fromkeys(self.limits))
        strength = Strength(self.proved, self.exhaustive, random=self.random, limits=limits)
        return Report(f"`{self.subject}`", laws, strength, violation.counterexample() if violation else None)

    def attempt(self, equation: Equation, values: tuple[object, ...]) -> Violation | None:
        self.effort.meter.done += 1
        with TimeLimit(self.effort.seconds):
            return find_violation(equation, values)

    def _try_small(self) -> Violation | None:
        for problem in self.problems:
            waiting = problem.small()
            for values in waiting:
                if self._is_out_of_work():
                    return None
                self.exhaustive += 1
                violation = self.attempt(problem.equation, values)
                if violation is not None:
                    return self._find_simplest(violation, waiting)
        return None

    def _find_simplest(self, simplest: Violation, others: Iterator[tuple[object, ...]]) -> Violation:
        """Find the simplest violation of the same law among the next small values."""
        for values in islice(others, MOST_SIMPLER):
            if self.effort.is_used_up():
                break
            self.exhaustive += 1
            try:
                other = self.attempt(simplest.equation, values)
            except (FloError, Raised, TimeUp):  # keep the violation that was found
                break
            simplest = other if other is not None and other.size < simplest.size else simplest
        return simplest

    def _is_out_of_work(self) -> bool:
        used_up = self.effort.is_used_up()
        if used_up:
            self.limits.append(f"stopped after {self.effort.work:,} units of work")
        return used_up

    def _prove_or_sample(self) -> Violation | None:
        from flo.verify.solver.prove import Proved, Refuted

        unproved = []
        for problem in self.problems:
            verdict = self._solve(problem)
            if isinstance(verdict, Proved):
                if any(holds_floats(domain.kind) for domain in problem.domains):
                    self.limits.append(FLOATS)
                continue
            unproved.append(problem)
            violation = self._confirm(problem, verdict.arguments) if isinstance(verdict, Refuted) else None
            if violation is not None:
                return violation
            reason = "the solver's counterexample is not allowed" if isinstance(verdict, Refuted) else verdict.reason
            self.limits.append(f"{problem.equation.law}: not proved, {reason}")
        self.proved = not unproved and bool(self.problems)
        return self._try_random(unproved)

    def _solve(self, problem: Problem) -> Verdict:
        from flo.verify.solver.prove import SOLVER_WORK, Proved, Unknown, prove

        kinds = [domain.kind for domain in problem.domains]
        if None in kinds:
            return Unknown("because the types of its values are unknown")
        if self.effort.is_used_up():
            return Unknown("because the budget was used up before")
        verdict = prove(problem.for_solver or problem.equation.sides, kinds)
        if verdict == Proved():  # for all values of the types: the accumulators must stay in theirs
            staying = (
                domain.prove_closed(SOLVER_WORK) for domain in problem.domains if domain.prove_closed is not None
            )
            verdict = next((each for each in staying if each != Proved()), verdict)
        return verdict

    def _confirm(self, problem: Problem, suspect: tuple[object, ...]) -> Violation | None:
        """Confirm a counterexample of the solver by calling the function on admissible values."""
        tried = (self.attempt(problem.equation, values) for values in self.admissible(suspect))
        return next(filter(None, tried), None)

    def _try_random(self, problems: list[Problem]) -> Violation | None:
        if not st.is_installed():
            if problems:
                self.limits.append(NO_HYPOTHESIS)
            return None
        for group in group_by_domains(problems):
            if self.effort.tries and not self._is_out_of_work():
                violation = self._search(group)
                if violation is not None:
                    return violation
        return None

    def _search(self, group: list[Problem]) -> Violation | None:
        """Try random values; once some break a law, try smaller ones."""
        violations: list[Violation] = []

        def breaks(values: tuple[object, ...]) -> Violation | None:
            self.random += not violations
            tried = (self.attempt(each.equation, values[: len(each.domains)]) for each in group)
            one = next(filter(None, tried), None)
            violations.extend([one] if one is not None else [])
            return one

        strategy = st.tuples(*(domain.make_strategy() for domain in group[0].domains))
        find_smallest(strategy, breaks, tries=self.effort.tries, seed=self.effort.seed, over=self.effort.is_used_up)
        self._is_out_of_work()
        return min(violations, key=lambda each: each.size, default=None)

    def _raised_error(self, raised: Raised) -> FloError:
        kinds = [domain.kind for problem in self.problems for domain in problem.domains]
        return FunctionError(
            f"`{self.function or self.subject}` raised {raised}",
            facts=(("given", ", ".join(map(brief, raised.values))),),
            instead=suggest_examples(raised.values, kinds),
            where=self.where,
        )


def group_by_domains(problems: list[Problem]) -> list[list[Problem]]:
    """Group the problems that can be tried on the same values: their variables are the first of the longest."""
    groups: list[list[Problem]] = []
    for problem in sorted(problems, key=lambda problem: -len(problem.domains)):
        for group in groups:
            if all(one is other for one, other in zip(problem.domains, group[0].domains, strict=False)):
                group.append(problem)
                break
        else:
            groups.append([problem])
    return groups


def timeout_error(subject: str, up: TimeUp, where: Origin | None) -> FloError:
    return FunctionError(
        f"`{subject}` was aborted {up.spent}: it had not returned",
        facts=(("given", ", ".join(map(brief, up.given))), *up.stopped_at),
        instead=((f"check(…, seconds={12 * up.seconds:g})", "if it is only slow"), *suggest_examples(up.given)),
        where=where,
    )


def suggest_examples(
    given: tuple[object, ...], kinds: Iterable[object] = (), inputs: Sequence[object] = ()
) -> tuple[tuple[str, str], ...]:
    """Suggest how to give other values of the type of the last argument; a fold makes its accumulators from those.

    A program makes the arguments of most functions from its inputs, so only the types of `inputs` can be given.
    """
    if not given and not inputs:
        return (("examples={…: […]}", "values of each type that it is meant for"),)
    known = [kind for kind in (*kinds, *inputs) if kind is not None]
    fitting = (kind for kind in known if given and belongs(given[-1], kind))
    kind = next(fitting, None) or (inputs[0] if inputs else common_kind([given[-1]]) or type(given[-1]))
    return ((f"examples={{{type_name(kind)}: […]}}", "only values that it is meant for"),)

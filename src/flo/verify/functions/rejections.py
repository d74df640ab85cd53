"""Obligations: the laws that operators require of the functions and lattices that they hold.

When a program is built, each is tried on a few values, with bounded work, and a function or lattice that breaks a law
is rejected; the result is remembered. `check_obligation` tries them within a given budget, also where the user claims
that they hold.
"""

from __future__ import annotations

import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Number
from typing import Any, TypeAlias

from flo.core.errors import FloError, LawError, brief
from flo.core.labels import label
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.values.lattice import Custom, Lattice
from flo.values.lvar import LVar
from flo.values.operators.group_aggregates import LinearOf
from flo.verify import laws
from flo.verify.data.constants import inner_values
from flo.verify.data.given import Given
from flo.verify.effort import Effort
from flo.verify.equality import are_equal
from flo.verify.functions.domains import NO_START, accepts, candidate_types, function_domains
from flo.verify.functions.equations import lattice_equations
from flo.verify.functions.function import (
    check_function,
    check_lattice,
    function_problems,
    join_name,
    lattice_domain,
    monotone_problems,
)
from flo.verify.functions.trials import MOST_SIMPLER, Problem, Raised, Violation, find_violation
from flo.verify.laws import Law
from flo.verify.report import Report
from flo.verify.time_limit import TimeLimit, TimeUp

LAWS = {law.name: law for law in laws.FUNCTION_LAWS}


@dataclass(frozen=True)
class Obligation:
    """Laws that a function must satisfy where an operator uses it, or that a lattice must."""

    operator: str
    subject: Any
    """The function, or the lattice."""
    laws: tuple[Law, ...]
    kinds: tuple[TypeForm, ...] = ()
    start: Any = NO_START
    lattices: tuple[Lattice[Any], Lattice[Any]] | None = None
    claim: str | None = None
    """The user's reason why the laws hold: accepted when a program is built, but not by a check."""
    over: str = ""
    """The name of the collection that it is used on."""

    def __hash__(self) -> int:
        return hash((self.operator, self.laws, self.over))  # other fields may not be hashable


def obligations(operator: Operator, inputs: StreamTypes) -> Iterator[Obligation]:
    """Yield the obligations of an operator on inputs of these types."""
    for given in inputs:
        if isinstance(given.collection, LVar):
            yield from _of_lattice(operator, given.collection.lattice)
    for demand in operator.demands(inputs):
        subject = demand.subject
        if isinstance(subject, Lattice):
            yield from _of_lattice(operator, subject)
            continue
        yield Obligation(
            operator.name,
            FinishFunction(subject) if isinstance(subject, LinearOf) else subject,
            (laws.A_FUNCTION, LAWS[demand.law]) if demand.law else (laws.A_FUNCTION,),
            demand.kinds,
            demand.start[0] if demand.start else NO_START,
            demand.lattices,
            demand.claim,
            inputs[0].collection.name,
        )


def _of_lattice(operator: Operator, lattice: Lattice[Any]) -> Iterator[Obligation]:
    if not is_shipped(lattice):
        yield Obligation(operator.name, lattice, laws.LATTICE_LAWS)


def is_shipped(lattice: Lattice[Any]) -> bool:
    """Whether the lattice, and those inside, come with Flo."""
    if isinstance(lattice, Custom) or not type(lattice).__module__.startswith("flo."):
        return False
    parts = [part for value in vars(lattice).values() for part in (value if isinstance(value, tuple) else (value,))]
    return all(is_shipped(part) for part in parts if isinstance(part, Lattice))


class FinishFunction:
    """The `finish` of a linear aggregate, on groups of one row."""

    def __init__(self, linear: LinearOf) -> None:
        self.linear = linear
        self.__name__ = label(linear.finish)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FinishFunction) and other.linear == self.linear

    def __hash__(self) -> int:
        return hash(self.linear)

    def __call__(self, *arguments: object) -> Any:
        counted = [] if None in arguments else [(arguments, 1)]
        return self.linear.result(self.linear.added(self.linear.empty, counted))


def check_obligation(obligation: Obligation, effort: Effort) -> Report:
    """Check an obligation thoroughly: on all small values, by the solver, and at random."""
    if isinstance(obligation.subject, Lattice):
        return check_lattice(obligation.subject, effort)
    return check_function(
        obligation.subject,
        obligation.kinds,
        effort,
        laws=obligation.laws,
        start=obligation.start,
        lattices=obligation.lattices,
    )


QUICK_SECONDS = 1.0
"""The processor time for which one function is tried when a program is built."""
REMEMBERED = 1024


@dataclass(frozen=True)
class Untried:
    """The verdict that no value was found to try the function on."""

    reason: str


@dataclass(frozen=True)
class Endless:
    """The verdict that the function did not return."""

    spent: str
    values: tuple[Any, ...]
    stopped_at: tuple[tuple[str, str], ...]


Rejection: TypeAlias = Violation | Untried | Endless | None


@dataclass(frozen=True)
class _CacheKey:
    identity: Any
    obligation: Obligation = field(compare=False)


def try_quickly(obligation: Obligation) -> Rejection:
    """Try an obligation on a few values, with bounded work. The verdict is cached."""
    try:
        return _remembered(_CacheKey(identity(obligation), obligation))
    except TypeError:  # something in it cannot be hashed
        return _try_values(obligation)


def identity(obligation: Obligation) -> Any:
    """A cache key: equal for obligations with the same verdict. Raises TypeError if it cannot be hashed."""
    start = (type(obligation.start), repr(obligation.start))
    function, lattices = fingerprint(obligation.subject), obligation.lattices
    facts = (obligation.operator, function, obligation.laws, obligation.kinds, start, lattices, obligation.over)
    hash(facts)
    return facts


@lru_cache(maxsize=REMEMBERED)
def _remembered(asked: _CacheKey) -> Rejection:
    return _try_values(asked.obligation)


def fingerprint(function: AnyFunction, depth: int = 2) -> Any:
    """Identifies a function by its code and the values that the code refers to, so that a redefinition is equal."""
    if isinstance(function, FinishFunction):
        return (FinishFunction, function.linear.make, fingerprint(function.linear.finish))
    if not isinstance(function, types.FunctionType) or depth == 0:
        return function
    return (function.__code__, *((type(value), fingerprint(value, depth - 1)) for value in inner_values(function)))


def _try_values(obligation: Obligation) -> Rejection:
    begun, passed, fault = time.thread_time(), 0, Untried("")
    simplest: Violation | None = None
    more = MOST_SIMPLER
    try:
        with TimeLimit(QUICK_SECONDS):
            for problem in _problems(obligation):
                for values in problem.small():
                    if not more:
                        break
                    more -= simplest is not None
                    begun = time.thread_time()
                    try:
                        violation = find_violation(problem.equation, values)
                    except Raised as raised:  # the function is not meant for this value
                        text = ", ".join(repr(value)[:40] for value in raised.values)
                        fault = fault if fault.reason else Untried(f"f({text}) raised {raised}")
                        continue
                    except FloError:  # such as a result outside of the lattice: found when it runs
                        continue
                    passed += 1
                    if violation is not None and (simplest is None or violation.size < simplest.size):
                        simplest = violation
                if simplest is not None:
                    return simplest
    except TimeUp as up:
        if simplest is not None:
            return simplest
        if up.waited or time.thread_time() - begun > QUICK_SECONDS / 2:
            return Endless(up.spent, up.given, up.stopped_at)
        return None  # slow, but no violation was found
    except LawError as error:
        return Untried(error.summary)
    return None if passed else fault


def _problems(obligation: Obligation) -> Iterator[Problem]:
    given = Given().with_constants_of(obligation.subject)
    if isinstance(obligation.subject, Lattice):
        domain = lattice_domain(obligation.subject, given)
        for equation in lattice_equations(obligation.subject):
            yield Problem(equation, (domain,) * len(equation.variables))
    elif obligation.lattices is not None:
        yield from monotone_problems(obligation.subject, obligation.lattices, given, obligation.laws)
    else:
        f, start = obligation.subject, obligation.start
        kinds = obligation.kinds if start is NO_START else (type(start), *obligation.kinds)
        if Any in obligation.kinds:
            fitting = (tried for tried in candidate_types(kinds) if accepts(f, tried, start, given))
            fit = next(fitting, None)
            if fit is None:
                raise LawError("no examples can be made")
            kinds = fit
        yield from function_problems(f, obligation.laws, function_domains(f, kinds, start, given))


OFTEN = 16
"""How often a function is called to find a second result."""


def expect(obligation: Obligation) -> None:
    """Reject a function or lattice that breaks a law on a few values, unless the user claims that the laws hold."""
    verdict = try_quickly(obligation) if obligation.claim is None else None
    if verdict is not None:
        error = _ERRORS[type(verdict)](obligation, verdict)
        if error is not None:
            raise error


def _untried_error(obligation: Obligation, verdict: Untried) -> LawError | None:
    if laws.COMMUTATIVE not in obligation.laws:
        return None  # checked when it runs
    return LawError(
        f"`{obligation.operator}` over a {obligation.over} needs a commutative function, "
        f"and `{label(obligation.subject)}` could not be tried",
        facts=(("elements", f"{', '.join(map(type_name, obligation.kinds))}: {verdict.reason}"),),
        instead=((f'{obligation.operator}(…, commutative="why")', "records your reason"),),
    )


def _endless_error(obligation: Obligation, verdict: Endless) -> LawError:
    subject = obligation.subject
    name, what = (join_name(subject), "join") if isinstance(subject, Lattice) else (label(subject), "function")
    return LawError(
        f"the {what} of `{obligation.operator}` was aborted {verdict.spent}: it had not returned",
        facts=((what, name), ("given", ", ".join(map(repr, verdict.values))[:80]), *verdict.stopped_at),
    )


def _violation_error(obligation: Obligation, verdict: Violation) -> LawError:
    law, name = verdict.equation.law, label(obligation.subject)
    operator, instead = f"`{obligation.operator}`", ((law.instead, ""),) if law.instead else ()
    if verdict.changed:
        return LawError(f"the function of {operator} changes its arguments: `{name}`", facts=verdict.facts)
    if isinstance(obligation.subject, Lattice):
        lattice = obligation.subject
        return LawError(
            f"`{lattice}` is not a lattice: it breaks the law that {law.name}", facts=verdict.facts, instead=instead
        )
    if law == laws.A_FUNCTION:
        return _random_error(operator, name, verdict.facts)
    return _LAW_ERRORS[law](obligation, verdict, operator, name)


def _random_error(operator: str, name: str, facts: tuple[tuple[str, str], ...]) -> LawError:
    gives = f"`{name}` returns two results for the same arguments"
    summary = f"{operator} needs a function that always returns the same result, but {gives}"
    return LawError(summary, facts=facts, instead=((laws.A_FUNCTION.instead, ""),))


def _not_commutative(obligation: Obligation, verdict: Violation, operator: str, name: str) -> LawError:
    equation = verdict.equation
    left, right = (equation.fill(side, verdict.values) for side in (equation.left, equation.right))
    _, x, y = verdict.values
    return LawError(
        f"{operator} over a {obligation.over} needs a commutative function; `{name}` is not",
        facts=(
            (f"{x!r} first", f"{left} = {verdict.results[0]!r}"),
            (f"{y!r} first", f"{right} = {verdict.results[1]!r}"),
        ),
        instead=(
            ("{input}.sort(key).fold(…)", "with an order, any function will do"),
            ("{input}.sum()", "adds exactly")
            if _is_addition(equation.names["f"], *map(type, verdict.values[:2]))
            else ("{input}.fold(…, max)", "or another function that ignores the order"),
        ),
    )


def _is_addition(f: AnyFunction, acc: Any, element: Element) -> bool:
    """Whether the function adds numbers, as far as one call shows."""
    try:
        return issubclass(acc, Number) and issubclass(element, Number) and bool(f(acc(2), element(3)) == 5)
    except Exception:  # not these numbers
        return False


def _not_monotone(obligation: Obligation, verdict: Violation, operator: str, name: str) -> LawError:
    f, join = verdict.equation.names["f"], verdict.equation.names["join"]
    a, b = verdict.values
    above = join(a, b)
    for value in (a, above):
        first, *others = (f(value) for _ in range(OFTEN))
        other = next((result for result in others if not are_equal(result, first)), first)
        if other is not first:
            return _random_error(operator, name, ((f"f({brief(value)})", brief(first)), ("again", brief(other))))
    return LawError(
        f"{operator} needs a monotone function; `{name}` is not: its argument grows, but its result falls",
        facts=((f"f({a!r})"[:80], repr(f(a))[:80]), (f"f({above!r})"[:80], repr(f(above))[:80])),
        instead=(
            (laws.MONOTONE.instead, ""),
            (f'{obligation.operator}(…, monotone="why")', "records your reason"),
        ),
    )


def _not_additive(obligation: Obligation, verdict: Violation, operator: str, name: str) -> LawError:
    return LawError(
        f"{operator} needs a function that is additive in the weight; `{name}` is not",
        facts=verdict.facts,
        instead=(
            ("lambda element, weight: weight * n", "n may depend on the element"),
            ("{input}.distinct()", "weight 1 for every element with a positive weight"),
        ),
    )


_LAW_ERRORS: dict[Law, Callable[[Obligation, Violation, str, str], LawError]] = {
    laws.COMMUTATIVE: _not_commutative,
    laws.MONOTONE: _not_monotone,
    laws.ADDITIVE: _not_additive,
}
_ERRORS: dict[type, Callable[[Obligation, Any], LawError | None]] = {
    Violation: _violation_error,
    Untried: _untried_error,
    Endless: _endless_error,
}

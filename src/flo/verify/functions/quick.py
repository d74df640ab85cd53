"""What a few values show of an obligation, with bounded work: for the moment when a program is built."""

from __future__ import annotations

import time
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from flo.core.errors import FloError, LawError
from flo.values.lattice import Lattice
from flo.verify.data.examples import inner_values
from flo.verify.data.given import Given
from flo.verify.functions.broken import Broken, Raised, broken
from flo.verify.functions.domains import NO_START, function_domains
from flo.verify.functions.equations import lattice_equations
from flo.verify.functions.function import function_problems, monotone_problems
from flo.verify.functions.lattices import lattice_domain
from flo.verify.functions.obligations import Finished, NotNumbers, Numbers, Obligation
from flo.verify.functions.parameters import candidates, takes
from flo.verify.functions.trials import MOST_SIMPLER, Problem
from flo.verify.within import TimeUp, within

QUICK_SECONDS = 1.0
"""The processor time for which one function is tried when a program is built."""
REMEMBERED = 1024


@dataclass(frozen=True)
class Untried:
    """No value was found on which it could be tried."""

    reason: str


@dataclass(frozen=True)
class Endless:
    """It did not return."""

    spent: str
    values: tuple[Any, ...]
    where: str


Verdict: TypeAlias = Broken | NotNumbers | Untried | Endless | None


@dataclass(frozen=True)
class _Asked:
    identity: Any
    obligation: Obligation = field(compare=False)


def quick(obligation: Obligation) -> Verdict:
    """What a few values show, with bounded work; remembered, so that building a program again costs nothing."""
    try:
        return _remembered(_Asked(identity(obligation), obligation))
    except TypeError:  # something in it cannot be hashed
        return _tried(obligation)


def identity(obligation: Obligation) -> Any:
    """Equal for what would be tried in the same way; a TypeError if it cannot be told."""
    start = (type(obligation.start), repr(obligation.start))
    function, lattices = fingerprint(obligation.subject), obligation.lattices
    found = (obligation.operator, function, obligation.laws, obligation.kinds, start, lattices, obligation.over)
    hash(found)
    return found


@lru_cache(maxsize=REMEMBERED)
def _remembered(asked: _Asked) -> Verdict:
    return _tried(asked.obligation)


def fingerprint(function: Any, depth: int = 2) -> Any:
    """What tells a function from others, and not from the same one defined again: its code and what that refers to."""
    if isinstance(function, Numbers):
        return (Numbers, fingerprint(function.of))
    if isinstance(function, Finished):
        return (Finished, fingerprint(function.linear.of), fingerprint(function.linear.finish))
    if not isinstance(function, types.FunctionType) or depth == 0:
        return function
    return (function.__code__, *((type(value), fingerprint(value, depth - 1)) for value in inner_values(function)))


def _tried(obligation: Obligation) -> Verdict:
    begun, passed, fault = time.thread_time(), 0, Untried("")
    simplest: Broken | None = None
    more = MOST_SIMPLER
    try:
        with within(QUICK_SECONDS):
            for problem in _problems(obligation):
                for values in problem.small():
                    if not more:
                        break
                    more -= simplest is not None
                    begun = time.thread_time()
                    try:
                        found = broken(problem.equation, values)
                    except Raised as raised:  # not a value that it is meant for
                        shown = ", ".join(repr(value)[:40] for value in raised.values)
                        fault = fault if fault.reason else Untried(f"f({shown}) raised {raised}")
                        continue
                    except NotNumbers as error:
                        return error
                    except FloError:  # as when f gives no value of the lattice: seen when it runs
                        continue
                    passed += 1
                    if found is not None and (simplest is None or found.size < simplest.size):
                        simplest = found
                if simplest is not None:
                    return simplest
    except TimeUp as up:
        if simplest is not None:
            return simplest
        if up.waited or time.thread_time() - begun > QUICK_SECONDS / 2:
            return Endless(up.spent, up.given, f"{up.where}   {up.where.text}".rstrip() if up.where else "")
        return None  # slow, and right as far as it was tried
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
            fitting = (tried for tried in candidates(kinds) if takes(f, tried, start, given))
            found = next(fitting, None)
            if found is None:
                raise LawError("no examples can be made")
            kinds = found
        yield from function_problems(f, obligation.laws, function_domains(f, kinds, start, given))

"""What is refused when a program is built: functions and lattices that break a law on a few values."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from flo.core.elements import type_name
from flo.core.errors import LawError, brief
from flo.core.labels import label
from flo.values.lattice import Lattice
from flo.verify import laws
from flo.verify.functions.broken import Broken
from flo.verify.functions.equations import Function, same
from flo.verify.functions.lattices import join_name
from flo.verify.functions.obligations import NotNumbers, Obligation
from flo.verify.functions.quick import Endless, Untried, quick
from flo.verify.laws import Law

OFTEN = 16
"""So often a function is called that may give something else each time."""


def expect(obligation: Obligation) -> None:
    """Refuses what a few values break, unless there is a claim that they do not matter."""
    verdict = quick(obligation) if obligation.claim is None else None
    if verdict is not None:
        refused = _REFUSALS[type(verdict)](obligation, verdict)
        if refused is not None:
            raise refused


def _untried(obligation: Obligation, verdict: Untried) -> LawError | None:
    if laws.COMMUTATIVE not in obligation.laws:
        return None  # watched when it runs
    return LawError(
        f"`{obligation.operator}` over a {obligation.over} needs a commutative function, "
        f"and `{label(obligation.subject)}` could not be tried",
        facts=(("elements", f"{', '.join(map(type_name, obligation.kinds))}: {verdict.reason}"),),
        instead=((f'{obligation.operator}(…, commutative="why")', "records your reason"),),
    )


def _endless(obligation: Obligation, verdict: Endless) -> LawError:
    place = (("stopped at", verdict.where),) if verdict.where else ()
    subject = obligation.subject
    name, what = (join_name(subject), "join") if isinstance(subject, Lattice) else (label(subject), "function")
    return LawError(
        f"the {what} of `{obligation.operator}` was given up {verdict.spent}: it had not returned",
        facts=((what, name), ("given", ", ".join(map(repr, verdict.values))[:80]), *place),
    )


def _no_numbers(obligation: Obligation, verdict: NotNumbers) -> LawError | None:
    if Any in obligation.kinds:  # the elements were a guess
        return None
    return LawError(
        f"`{obligation.operator}` adds what `{label(obligation.subject)}` gives: {verdict.summary}",
        facts=verdict.facts,
        instead=(("lambda row: (row.price, 1)", "a number, or a tuple of numbers"),),
    )


def _broken(obligation: Obligation, verdict: Broken) -> LawError:
    law, name = verdict.equation.law, label(obligation.subject)
    operator, instead = f"`{obligation.operator}`", ((law.instead, ""),) if law.instead else ()
    if verdict.changed:
        return LawError(f"the function of {operator} changes what it is given: `{name}`", facts=verdict.facts)
    if isinstance(obligation.subject, Lattice):
        lattice = obligation.subject
        return LawError(f"`{lattice}` is not a lattice: {law.name} does not hold", facts=verdict.facts, instead=instead)
    if law == laws.A_FUNCTION:
        return _random(operator, name, verdict.facts)
    return _WORDS[law](obligation, verdict, operator, name)


def _random(operator: str, name: str, facts: tuple[tuple[str, str], ...]) -> LawError:
    gives = f"`{name}` gives two results for the same arguments"
    summary = f"{operator} needs a function that gives one result, and {gives}"
    return LawError(summary, facts=facts, instead=((laws.A_FUNCTION.instead, ""),))


def _not_commutative(obligation: Obligation, verdict: Broken, operator: str, name: str) -> LawError:
    equation = verdict.equation
    left, right = (equation.filled(side, verdict.values) for side in (equation.left, equation.right))
    _, x, y = verdict.values
    return LawError(
        f"{operator} over a {obligation.over} needs a commutative function, and `{name}` is not",
        facts=(
            (f"{x!r} first", f"{left} = {verdict.results[0]!r}"),
            (f"{y!r} first", f"{right} = {verdict.results[1]!r}"),
        ),
        instead=(
            ("{input}.sort(key).fold(…)", "an order makes any function right"),
            ("{input}.sum()", "adds exactly")
            if _adds(equation.names["f"], *map(type, verdict.values[:2]))
            else ("{input}.fold(…, max)", "or another function that keeps no order"),
        ),
    )


def _adds(f: Function, acc: Any, element: Any) -> bool:
    """Whether the function adds numbers, as far as one call shows."""
    try:
        return issubclass(acc, Number) and issubclass(element, Number) and bool(f(acc(2), element(3)) == 5)
    except Exception:  # not these numbers
        return False


def _not_monotone(obligation: Obligation, verdict: Broken, operator: str, name: str) -> LawError:
    f, join = verdict.equation.names["f"], verdict.equation.names["join"]
    a, b = verdict.values
    above = join(a, b)
    for value in (a, above):
        first, *others = (f(value) for _ in range(OFTEN))
        other = next((result for result in others if not same(result, first)), first)
        if other is not first:
            return _random(operator, name, ((f"f({brief(value)})", brief(first)), ("again", brief(other))))
    return LawError(
        f"{operator} needs a monotone function, and `{name}` is not: its argument grows, its result falls",
        facts=((f"f({a!r})"[:80], repr(f(a))[:80]), (f"f({above!r})"[:80], repr(f(above))[:80])),
        instead=(
            (laws.MONOTONE.instead, ""),
            (f'{obligation.operator}(…, monotone="why")', "records your reason"),
        ),
    )


def _not_additive(obligation: Obligation, verdict: Broken, operator: str, name: str) -> LawError:
    return LawError(
        f"{operator} takes a function that is additive in the weight, and `{name}` is not",
        facts=verdict.facts,
        instead=(
            ("lambda element, weight: weight * n", "n may depend on the element"),
            ("{input}.distinct()", "weight 1 where the weight is above zero"),
        ),
    )


_WORDS: dict[Law, Callable[[Obligation, Broken, str, str], LawError]] = {
    laws.COMMUTATIVE: _not_commutative,
    laws.MONOTONE: _not_monotone,
    laws.ADDITIVE: _not_additive,
}
_REFUSALS: dict[type, Callable[[Obligation, Any], LawError | None]] = {
    Broken: _broken,
    NotNumbers: _no_numbers,
    Untried: _untried,
    Endless: _endless,
}

"""The laws of lattices: tried on all triples of a few values, proved where the solver can, then tried at random."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice, product
from typing import Any

from flo.core.errors import Origin
from flo.core.labels import label
from flo.values.lattice import Custom, Lattice
from flo.verify import laws
from flo.verify.data.given import Given
from flo.verify.effort import Effort
from flo.verify.functions.broken import copied
from flo.verify.functions.equations import Equation, lattice_equations
from flo.verify.functions.trials import TRY_SECONDS, Domain, Problem, Trials, endless
from flo.verify.report import Report
from flo.verify.within import TimeUp, within

MOST_VALUES = 8
_GUESSES: dict[type, list[Any]] = {
    int: [1, 2, 3],
    str: ["a", "b", "ab"],
    float: [0.5, 1.5, 2.5],
    bool: [True],
    frozenset: [frozenset({1}), frozenset({2})],
    tuple: [(1, 2), (2, 1)],
}
"""Values to try where the lattice does not say what it holds: those of the type of ⊥, or the first that it joins."""
_KINDS: dict[type, Any] = {frozenset: frozenset[int], tuple: tuple[int, int]}


def lattice_values(lattice: Lattice[Any], given: Given) -> list[Any]:
    """A few values of the lattice other than ⊥, and joins of them."""
    own = given.own(lattice)
    if own is not None or not isinstance(lattice, Custom):
        known = [lattice.value(value) for value in given.examples(lattice if own is not None else lattice.ordinary)]
        least = lattice.bottom()
        known = [value for value in known if joins(lattice, least, value) and lattice.mismatch(value) is None]
    else:
        known = guesses(lattice, given)
    found = [value for value in known if not lattice.is_bottom(value)]
    joined = [value for a, b in islice(product(found, found), 12) for value in joins(lattice, a, b)]
    return (found + [value for value in joined if value not in found])[: max(MOST_VALUES, len(found))]


def guesses(lattice: Custom[Any], given: Given) -> list[Any]:
    """Values of the type of ⊥, or the first that it joins, and those that the join speaks of: each as ⊥ ⊔ v."""
    bottom, given = lattice.bottom(), given.with_constants_of(lattice.joining)
    if bottom is None:
        plain = next((kind for kind in _GUESSES.values() if all(joins(lattice, bottom, value) for value in kind)), [])
    else:
        plain = _GUESSES.get(type(bottom)) or given.examples(type(bottom))
    beside = [bottom + value for value in plain] if type(bottom) in (int, float) else []
    spoken = given.constants_of(type(plain[0])) if plain else []
    above = _values_above(lattice, [*plain, *beside, *spoken])
    if all(map(lattice.is_bottom, above)):  # ⊥ is above all of them: at the wrong end, as the laws will say
        return [value for value in plain if joins(lattice, bottom, value)]
    return above


def _values_above(lattice: Lattice[Any], values: list[Any]) -> list[Any]:
    """⊥ ⊔ v, each once: not all values of a type must belong to the lattice."""
    found: list[Any] = []
    for value in values:
        found += [above for above in joins(lattice, lattice.bottom(), value) if above not in found]
    return found


def joins(lattice: Lattice[Any], a: Any, b: Any) -> list[Any]:
    """The join, if there is one."""
    try:
        with within(TRY_SECONDS):
            return [lattice.join(copied(a), copied(b))]
    except TimeUp as up:
        up.given = (a, b)
        raise
    except (Exception, SystemExit):  # no join: the values exclude each other, or were a wrong guess
        return []


def join_name(lattice: Lattice[Any]) -> str:
    """The function that joins, for people."""
    return label(lattice.joining) if isinstance(lattice, Custom) else f"{lattice}.join"


def lattice_domain(lattice: Lattice[Any], given: Given) -> Domain:
    """⊥ and a few values; the type of the others; and generated ones."""
    values = lattice_values(lattice, given)
    kind: Any = lattice.ordinary
    if isinstance(lattice, Custom):
        kind = next((_KINDS.get(type(value), type(value)) for value in values), None)

    def generated() -> Any:
        from hypothesis import strategies as st

        from flo.verify.data.strategies import lattice_strategy

        least = st.just(lattice.bottom())
        return st.one_of(least, lattice_strategy(lattice, given)) if values else least

    return Domain([lattice.bottom(), *values], None if kind is Any else kind, generated)


def check_lattice(lattice: Lattice[Any], effort: Effort) -> Report:
    """Tries every law: on ⊥ and a few values, by the solver, and at random."""
    where, name = Origin.here(), join_name(lattice)
    try:
        domain = lattice_domain(lattice, effort.given)
    except TimeUp as up:
        raise endless(name, up, where) from None
    problems = [_problem(equation, domain) for equation in lattice_equations(lattice)]
    limits = []
    if len(domain.few) == 1:
        limits.append("no values but ⊥ were found: give some with examples={lattice: […]}")

    def admissible(values: tuple[Any, ...]) -> Iterable[tuple[Any, ...]]:
        return () if effort.given.values else product(*(_values_above(lattice, [value]) for value in values))

    trials = Trials(str(lattice), problems, effort, limits, admissible, where, name)
    return trials.report(laws.LATTICE_LAWS)


def _problem(equation: Equation, domain: Domain) -> Problem:
    """For the solver every value is ⊥ ⊔ v: not all values of the type must belong to the lattice."""
    left, right = (re.sub(r"\b[abc]\b", r"join(bottom(), \g<0>)", side) for side in (equation.left, equation.right))
    above = replace(equation, left=left, right=right)
    return Problem(equation, (domain,) * len(equation.variables), above.sides)

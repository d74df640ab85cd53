"""The laws of lattices: tried on all triples of a few values, proved where the solver can, then tried at random."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from flo.core.errors import Origin
from flo.core.labels import label
from flo.values.lattice import Custom, Lattice
from flo.verify import laws
from flo.verify.data.given import Given
from flo.verify.data.lattice_values import _KINDS, _values_above, lattice_values
from flo.verify.effort import Effort
from flo.verify.functions.equations import Equation, lattice_equations
from flo.verify.functions.trials import Domain, Problem, Trials, endless
from flo.verify.report import Report
from flo.verify.within import TimeUp


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

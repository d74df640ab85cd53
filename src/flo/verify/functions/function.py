"""Checks a function or a lattice: chooses the laws, turns them into equations, and tries or proves them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

from flo.core.errors import LawError, Origin, brief
from flo.core.labels import label
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.values.lattice import Custom, Lattice
from flo.values.operators.shapes import copy_if_mutable
from flo.verify import laws as law
from flo.verify.captured import Captured
from flo.verify.data.constants import impure_uses, may_depend_on_process
from flo.verify.data.given import LATTICE_KINDS, Given, lattice_values, values_above
from flo.verify.data.strategies import lattice_strategy
from flo.verify.effort import Effort
from flo.verify.functions.domains import NO_START, argument_types, count_parameters, function_domains, guess_types
from flo.verify.functions.equations import Equation, define, function_equations, lattice_equations, monotone_equations
from flo.verify.functions.trials import Domain, EquationTrials, Problem, timeout_error
from flo.verify.laws import Law
from flo.verify.optional import Strategy, st
from flo.verify.processes import MOST_TRIALS, NotSent, Trial, Trials
from flo.verify.report import Report
from flo.verify.time_limit import TimeUp

OF_LATTICES = (law.A_FUNCTION, law.MONOTONE)
"""The laws of a function from one lattice to another."""


def chosen_laws(
    f: AnyFunction,
    types: tuple[object, ...],
    asked: Law | Iterable[Law] | None,
    start: object,
    inverse: AnyFunction | None,
    lattices: object,
) -> tuple[Law, ...]:
    """Validate the laws that are asked for, or choose the default ones; with an `inverse`, add the law about it."""
    chosen = default_laws(f, types, start, lattices) if asked is None else _several(asked)
    if not chosen:
        raise _refused(f"no law to try on `{label(f)}`: `laws` is empty")
    known = law.FUNCTION_LAWS if lattices is None else OF_LATTICES
    for each in chosen:
        if each == law.MONOTONE and lattices is None:
            instead = ("check(f, L, M)", "the lattices that it leads from and to")
            raise _refused(f"whether `{label(f)}` is monotone cannot be tried without lattices", instead)
        if each == law.INVERSE and inverse is None:
            instead = ("inverse=g", "the function that takes back what it adds")
            raise _refused(f"whether `{label(f)}` has an inverse cannot be tried without it", instead)
        if each not in known:
            text = f"`{each}`" if isinstance(each, Law) else brief(each)
            raise _refused(f"unknown law {text}; expected one of {', '.join(one.name for one in known)}")
    return chosen if inverse is None or law.INVERSE in chosen else (*chosen, law.INVERSE)


def default_laws(f: AnyFunction, types: tuple[object, ...], start: object, lattices: object) -> tuple[Law, ...]:
    if lattices is not None:
        return OF_LATTICES
    count = count_parameters(f, types, start)
    return (law.A_FUNCTION, law.COMMUTATIVE) if count == 2 else (law.A_FUNCTION,)


def _several(asked: object) -> tuple[Law, ...]:
    if isinstance(asked, Law):
        return (asked,)
    if isinstance(asked, (str, bytes)) or not isinstance(asked, Iterable):
        raise _refused(f"`laws` must be laws of `flo.verify.laws`; got {brief(asked)}")
    return tuple(asked)


def _refused(summary: str, instead: tuple[str, str] = ("laws=[flo.verify.laws.COMMUTATIVE]", "")) -> LawError:
    return LawError(summary, instead=(instead,), where=Origin.here())


def check_function(
    f: AnyFunction,
    types: tuple[object, ...],
    effort: Effort,
    *,
    laws: Law | Sequence[Law] | None,
    start: object,
    inverse: AnyFunction | None = None,
    lattices: tuple[Lattice[Any], Lattice[Any]] | None = None,
) -> Report:
    """Tries the laws on values of these types, or of the types that the function names, or of some that it takes.

    `start` is where a fold starts: then the first argument is what f makes of it. `inverse` is the function that takes
    back what f adds; `lattices` are those that a monotone function leads from and to.
    """
    where, captured = Origin.here(), Captured([f])
    effort = effort.with_constants_of(f)
    given = effort.given
    chosen = chosen_laws(f, types, laws, start, inverse, lattices)
    limits: list[str] = []
    if lattices is not None:
        try:
            problems = monotone_problems(f, lattices, given, chosen)
        except TimeUp as up:
            raise timeout_error(f"the join of {lattices[0]}", up, where) from None
    else:
        kinds = argument_types(f, types, start)
        try:
            if Any in kinds:
                kinds = guess_types(f, kinds, start, given)
                limits.append(f"types guessed: {', '.join(map(type_name, kinds))}")
            domains = function_domains(f, kinds, start, given)
        except TimeUp as up:
            raise timeout_error(label(f), up, where) from None
        problems = function_problems(f, chosen, domains, inverse)
    admissible = _admissible(problems, start, given)
    report = EquationTrials(label(f), problems, effort, limits, admissible, where).report(chosen)
    if report.counterexample is None:
        report = _with_dependence(report, f, problems, captured)
    uses = [] if report.strength.proved else impure_uses(f)
    return replace(report, caveats=(*report.caveats, *(f"it {use}" for use in uses)))


def _with_dependence(report: Report, f: AnyFunction, problems: list[Problem], captured: Captured) -> Report:
    """Add a call whose result depends on earlier calls, if the function changes what it captures; or on the process."""
    changed, domains = captured.changed(), max((each.domains for each in problems), key=len)[: len(problems[0].domains)]
    in_processes = may_depend_on_process(f) or any("set[" in str(domain.kind) for domain in domains)
    if not changed and not in_processes:
        return report
    calls = []
    for values in islice(product(*(domain.few for domain in domains)), MOST_TRIALS):
        text = f"f({', '.join(map(brief, values))})"
        calls.append(Trial(text, values, f"print({text})"))
    written = define(f=f)
    calls[:1] = [replace(each, paste=f"{written}; {each.paste}" if written else each.paste) for each in calls[:1]]
    trials = Trials(f"on {label(f)}", f, calls, brief, prepare=copy_if_mutable)
    broken = trials.check_history(captured) if changed else None
    caveats = tuple(f"it changes `{name}`, which it captures" for name in changed)
    if broken is None and in_processes:
        try:
            broken = trials.check_processes()
        except NotSent as error:
            caveats += (str(error),)
    caveats = caveats if broken is None else ()
    strength = replace(report.strength, proved=report.strength.proved and not changed)
    return replace(report, counterexample=broken, caveats=caveats, strength=strength)


def _admissible(
    problems: list[Problem], start: object, given: Given
) -> Callable[[tuple[Element, ...]], Iterable[tuple[Element, ...]]]:
    """The solver may start from what a fold never comes to, or from what is not among the user's own values."""
    if given.values:
        return lambda values: []
    if start is NO_START:
        return lambda values: [values]
    return lambda values: [(acc, *values[1:]) for acc in problems[0].domains[0].few]


def function_problems(
    f: AnyFunction, chosen: Sequence[Law], domains: list[Domain], inverse: AnyFunction | None = None
) -> list[Problem]:
    """The equations of the laws, with what each of their variables ranges over: those about one result first."""
    problems = []
    for each in sorted(chosen, key=law.FUNCTION_LAWS.index):
        for equation in function_equations(each, f, len(domains), inverse):
            ranges = domains
            if each == law.COMMUTATIVE or each == law.ADDITIVE:
                ranges = [*domains, domains[-1]]
            elif each == law.ASSOCIATIVE:
                ranges = [domains[-1]] * 3
            problems.append(Problem(equation, tuple(ranges)))
    return problems


def monotone_problems(
    f: AnyFunction, lattices: tuple[Lattice[Any], Lattice[Any]], given: Given, chosen: Sequence[Law]
) -> list[Problem]:
    source, target = lattices
    domain = lattice_domain(source, given)
    equations = [equation for equation in monotone_equations(f, source, target) if equation.law in chosen]
    return [Problem(equation, (domain,) * len(equation.variables)) for equation in equations]


def join_name(lattice: Lattice[Any]) -> str:
    """The name of the joining function, for messages."""
    return label(lattice.joining) if isinstance(lattice, Custom) else f"{lattice}.join"


def lattice_domain(lattice: Lattice[Any], given: Given) -> Domain:
    """⊥ and a few values; the type of the others; and generated ones."""
    values = lattice_values(lattice, given)
    kind: TypeForm = lattice.ordinary
    if isinstance(lattice, Custom):
        kind = next((LATTICE_KINDS.get(type(value), type(value)) for value in values), None)

    def make_strategy() -> Strategy:
        least = st.just(lattice.bottom())
        return st.one_of(least, lattice_strategy(lattice, given)) if values else least

    return Domain([lattice.bottom(), *values], None if kind is Any else kind, make_strategy)


def check_lattice(lattice: Lattice[Any], effort: Effort) -> Report:
    """Tries every law: on ⊥ and a few values, by the solver, and at random."""
    where, name = Origin.here(), join_name(lattice)
    try:
        domain = lattice_domain(lattice, effort.given)
    except TimeUp as up:
        raise timeout_error(name, up, where) from None
    problems = [_lattice_problem(equation, domain) for equation in lattice_equations(lattice)]
    limits = []
    if len(domain.few) == 1:
        limits.append("no values but ⊥ were found: give some with examples={lattice: […]}")

    def admissible(values: tuple[object, ...]) -> Iterable[tuple[Element, ...]]:
        if effort.given.values:
            return ()
        return product(*(values_above(lattice, [value], effort.seconds) for value in values))

    trials = EquationTrials(str(lattice), problems, effort, limits, admissible, where, name)
    return trials.report(law.LATTICE_LAWS)


def _lattice_problem(equation: Equation, domain: Domain) -> Problem:
    """Returns the problem with ⊥ ⊔ v for every v, for the solver: not all values of the type are in the lattice."""
    left, right = (re.sub(r"\b[abc]\b", r"join(bottom(), \g<0>)", side) for side in (equation.left, equation.right))
    above = replace(equation, left=left, right=right)
    return Problem(equation, (domain,) * len(equation.variables), above.sides)

"""The arguments that a function is tried on: their types (given, annotated or guessed) and their values.

The first argument of a fold ranges over the accumulators that the fold can reach.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from flo.core.elements import belongs
from flo.core.errors import LawError
from flo.core.labels import label
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.values.operators.shapes import copy_if_mutable
from flo.verify import laws as law
from flo.verify.data.constants import LARGEST, LEAST, neighbours
from flo.verify.data.given import Given, common_kind
from flo.verify.data.strategies import strategy_for
from flo.verify.equality import are_equal
from flo.verify.functions.equations import function_equations
from flo.verify.functions.trials import Domain, Problem, Raised, find_violation
from flo.verify.optional import Strategy, st
from flo.verify.time_limit import TimeLimit, TimeUp

if TYPE_CHECKING:
    from flo.verify.solver.prove import Verdict


GUESSES: tuple[Any, ...] = (int, str, float, tuple[int, int], tuple[str, int], frozenset[int])


def count_parameters(f: AnyFunction, types: tuple[object, ...], start: object) -> int:
    """Count the arguments of a function; for builtins without a signature, the given types, or two."""
    asked = max(len(types), 2) if start is not NO_START else len(types)
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return asked or 2
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return asked or 2
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = len([each for each in positional if each.default is each.empty])
    return max(needed, min(asked or needed, len(positional)))


def argument_types(f: AnyFunction, types: tuple[object, ...], start: object) -> tuple[TypeForm, ...]:
    """The types of the arguments: the given ones, else the annotations, else Any.

    With a `start` the first may be left out.
    """
    count = count_parameters(f, types, start)
    if types:
        if start is not NO_START and len(types) == count - 1:
            return (type(start), *types)
        if len(types) != count:
            raise LawError(
                f"`{label(f)}` takes {count} argument{'s' * (count != 1)}; got {len(types)} types",
                facts=(("types", ", ".join(map(type_name, types))),),
            ).at_users_line()
        return types
    try:
        hints = typing.get_type_hints(f)
        names = list(inspect.signature(f).parameters)[:count]
    except Exception:  # a builtin, or annotations that cannot be resolved
        hints, names = {}, []
    kinds = [hints.get(name, Any) for name in names] + [Any] * (count - len(names))
    if start is not NO_START:
        kinds[0] = type(start)
    return tuple(kinds)


def guess_types(f: AnyFunction, kinds: tuple[object, ...], start: object, given: Given) -> tuple[TypeForm, ...]:
    """Replace Any by the first guess on which the function does not raise."""
    for tried in candidate_types(kinds):
        if accepts(f, tried, start, given):
            return tried
    raise LawError(
        f"`{label(f)}` fails on every type that was tried",
        facts=(("tried", ", ".join(map(type_name, GUESSES))),),
        instead=(("check(f, int, str)", "name the types of its arguments"),),
    ).at_users_line()


def candidate_types(kinds: tuple[object, ...]) -> Iterator[tuple[TypeForm, ...]]:
    """Yield one guess for all unknown types; then different ones for the first and the rest."""
    for guess in GUESSES:
        yield tuple(guess if kind is Any else kind for kind in kinds)
    if len(kinds) > 1 and kinds[0] is Any:
        for first in GUESSES:
            for guess in GUESSES:
                yield (first, *(guess if kind is Any else kind for kind in kinds[1:]))


def accepts(f: AnyFunction, kinds: tuple[object, ...], start: object, given: Given) -> bool:
    (equation,) = function_equations(law.A_FUNCTION, f, len(kinds))
    domains = function_domains(f, kinds, start, given)
    problem = Problem(equation, tuple(domains))
    try:
        for values in problem.small():
            with TimeLimit(given.seconds):
                find_violation(equation, values)
    except Raised:
        return False
    return True


class _Start(Enum):
    NONE = "none"


NO_START = _Start.NONE
"""Stands for: no start was given, not even None."""


def function_domains(f: AnyFunction, kinds: tuple[object, ...], start: object, given: Given) -> list[Domain]:
    """The domains of the arguments."""
    rest = [domain_of(kind, given) for kind in (kinds if start is NO_START else kinds[1:])]
    return rest if start is NO_START else [accumulator_domain(f, start, rest, given), *rest]


def domain_of(kind: TypeForm, given: Given) -> Domain:
    return Domain(given.expect_examples(kind), kind, lambda: strategy_for(kind, given))


def accumulator_domain(f: AnyFunction, start: object, rest: list[Domain], given: Given) -> Domain:
    """The values that a fold can reach from the start. On others, f need not satisfy the laws."""
    few = reach_accumulators(f, start, rest, given)
    kind = common_kind(few)
    closed = kind is not None and all(belongs(value, kind) for value in few)

    def make_strategy() -> Strategy:
        arguments = st.tuples(*(domain.make_strategy() for domain in rest))
        return st.lists(arguments, max_size=4).map(lambda steps: _fold(f, start, steps, given.seconds))

    @cache  # all equations call it
    def prove_closed(work: int) -> Verdict:
        from flo.verify.solver import prove

        return prove.prove_type(f, [kind, *(domain.kind for domain in rest)], kind, work=work)

    return Domain(few, kind if closed else None, make_strategy, prove_closed)


def _fold(f: AnyFunction, start: object, steps: list[tuple[Element, ...]], seconds: float) -> Element:
    acc = start
    for arguments in steps:
        try:
            acc = call(f, seconds, acc, *arguments)
        except (Exception, SystemExit) as error:
            raise Raised(error, (acc, *arguments)) from error
    return acc


def call(f: AnyFunction, seconds: float, *arguments: object) -> Any:
    """Call f with a time limit, on copies of mutable arguments."""
    try:
        with TimeLimit(seconds):
            return f(*map(copy_if_mutable, arguments))
    except TimeUp as up:
        up.given = arguments
        raise


def reach_accumulators(f: AnyFunction, start: object, rest: list[Domain], given: Given) -> list[Element]:
    """Return a few accumulators: after the first elements, after a constant of f, and after many elements."""
    steps = list(zip(*(domain.few for domain in rest), strict=False))
    reached = [start]
    for acc_at, arguments in [(-1, step) for step in steps[:3]] + [(0, step) for step in steps[5:][-3:]]:
        try:
            acc = call(f, given.seconds, reached[acc_at], *arguments)
        except (Exception, SystemExit):  # reported by the equations
            continue
        if not any(are_equal(acc, known) for known in reached):
            reached.append(acc)
    for acc in _after_many(f, start, rest, given):
        if not any(are_equal(acc, known) for known in reached):
            reached.append(acc)
    return reached


MANY = 6
"""How many accumulators of many elements are tried."""


def _after_many(f: AnyFunction, start: object, rest: list[Domain], given: Given) -> Iterator[Element]:
    """The accumulators after as many different elements as the integers that f mentions."""
    near = {each for number in given.integers for each in neighbours(number)}
    wanted = sorted(each for each in near if LEAST <= each <= LARGEST)[:MANY]
    if not wanted or not hasattr(start, "__len__"):  # numbers are tried around the constants themselves
        return
    acc = start
    try:
        columns = [given.distinct_elements(domain.kind, wanted[-1]) for domain in rest]
        for count, arguments in enumerate(zip(*columns, strict=False), start=1):
            acc = call(f, given.seconds, acc, *arguments)
            if count in wanted:
                yield acc
    except (Exception, SystemExit):  # reported by the equations
        return

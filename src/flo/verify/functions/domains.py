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

from flo.core.elements import belongs, type_name
from flo.core.errors import LawError, Origin
from flo.core.labels import label
from flo.verify import laws as law
from flo.verify.data.constants import LARGEST, LEAST, beside
from flo.verify.data.given import Given, common_kind
from flo.verify.data.strategies import strategy
from flo.verify.functions.equations import Function, function_equations, same
from flo.verify.functions.trials import Domain, Problem, Raised, broken
from flo.verify.within import TRY_SECONDS, TimeUp, copied, within

if TYPE_CHECKING:
    from flo.verify.solver.prove import Verdict


GUESSES: tuple[Any, ...] = (int, str, float, tuple[int, int], tuple[str, int], frozenset[int])


def parameters(f: Function, types: tuple[Any, ...], start: Any) -> int:
    """How many arguments the function takes; of builtins that do not say, as many as there are types, or two."""
    asked = max(len(types), 2) if start is not NO_START else len(types)
    try:
        found = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return asked or 2
    if any(each.kind is each.VAR_POSITIONAL for each in found):
        return asked or 2
    positional = [each for each in found if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = len([each for each in positional if each.default is each.empty])
    return max(needed, min(asked or needed, len(positional)))


def known_types(f: Function, types: tuple[Any, ...], start: Any) -> tuple[Any, ...]:
    """The types of the arguments: those given, else those that the function names; Any where neither does.

    With a `start` the first may be left out.
    """
    count = parameters(f, types, start)
    if types:
        if start is not NO_START and len(types) == count - 1:
            return (type(start), *types)
        if len(types) != count:
            raise LawError(
                f"`{label(f)}` takes {count} argument{'s' * (count != 1)}; got {len(types)} types",
                facts=(("types", ", ".join(map(type_name, types))),),
                where=Origin.here(),
            )
        return types
    try:
        hints = typing.get_type_hints(f)
        names = list(inspect.signature(f).parameters)[:count]
    except Exception:  # a builtin, or annotations that cannot be resolved
        hints, names = {}, []
    found = [hints.get(name, Any) for name in names] + [Any] * (count - len(names))
    if start is not NO_START:
        found[0] = type(start)
    return tuple(found)


def guessed_types(f: Function, kinds: tuple[Any, ...], start: Any, given: Given) -> tuple[Any, ...]:
    """With the first guess for what is not known on which the function does not raise."""
    for tried in candidates(kinds):
        if takes(f, tried, start, given):
            return tried
    raise LawError(
        f"`{label(f)}` fails on every type that was tried",
        facts=(("tried", ", ".join(map(type_name, GUESSES))),),
        instead=(("check(f, int, str)", "name the types of its arguments"),),
        where=Origin.here(),
    )


def candidates(kinds: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """One guess for all that is not known; then different ones for the first and the rest."""
    for guess in GUESSES:
        yield tuple(guess if kind is Any else kind for kind in kinds)
    if len(kinds) > 1 and kinds[0] is Any:
        for first in GUESSES:
            for guess in GUESSES:
                yield (first, *(guess if kind is Any else kind for kind in kinds[1:]))


def takes(f: Function, kinds: tuple[Any, ...], start: Any, given: Given) -> bool:
    (equation,) = function_equations(law.A_FUNCTION, f, len(kinds))
    domains = function_domains(f, kinds, start, given)
    problem = Problem(equation, tuple(domains))
    try:
        for values in problem.small():
            with within(TRY_SECONDS):
                broken(equation, values)
    except Raised:
        return False
    return True


class _Start(Enum):
    NONE = "none"


NO_START = _Start.NONE
"""No start was given, not even None."""


def function_domains(f: Function, kinds: tuple[Any, ...], start: Any, given: Given) -> list[Domain]:
    """What the arguments range over."""
    rest = [domain_of(kind, given) for kind in (kinds if start is NO_START else kinds[1:])]
    return rest if start is NO_START else [accumulators(f, start, rest, given), *rest]


def domain_of(kind: Any, given: Given) -> Domain:
    few = given.examples(kind)
    if not few:
        raise LawError(
            f"no examples of {type_name(kind)} can be made",
            instead=((f"examples={{{type_name(kind)}: […]}}", "values to try, or a Hypothesis strategy"),),
            where=Origin.here(),
        )
    return Domain(few, kind, lambda: strategy(kind, given))


def accumulators(f: Function, start: Any, rest: list[Domain], given: Given) -> Domain:
    """What a fold comes to: the start, and what f makes of it. Other values are none that f must cope with."""
    few = reached(f, start, rest, given)
    kind = common_kind(few)
    closed = kind is not None and all(belongs(value, kind) for value in few)

    def generated() -> Any:
        from hypothesis import strategies as st

        arguments = st.tuples(*(domain.generated() for domain in rest))
        return st.lists(arguments, max_size=4).map(lambda steps: _folded(f, start, steps))

    @cache  # all equations ask
    def stays(work: int) -> Verdict:
        from flo.verify.solver import prove

        return prove.stays(f, [kind, *(domain.kind for domain in rest)], kind, work=work)

    return Domain(few, kind if closed else None, generated, stays)


def _folded(f: Function, start: Any, steps: list[tuple[Any, ...]]) -> Any:
    acc = start
    for arguments in steps:
        try:
            acc = called(f, acc, *arguments)
        except (Exception, SystemExit) as error:
            raise Raised(error, (acc, *arguments)) from error
    return acc


def called(f: Function, *arguments: Any) -> Any:
    """The result, if it comes; f gets copies of what it might change."""
    try:
        with within(TRY_SECONDS):
            return f(*map(copied, arguments))
    except TimeUp as up:
        up.given = arguments
        raise


def reached(f: Function, start: Any, rest: list[Domain], given: Given) -> list[Any]:
    """A few accumulators: after the first elements, after one of the constants of f, and after many elements."""
    steps = list(zip(*(domain.few for domain in rest), strict=False))
    found = [start]
    for acc_at, arguments in [(-1, step) for step in steps[:3]] + [(0, step) for step in steps[5:][-3:]]:
        try:
            acc = called(f, found[acc_at], *arguments)
        except (Exception, SystemExit):  # the equations will say so
            continue
        if not any(same(acc, known) for known in found):
            found.append(acc)
    for acc in _after_many(f, start, rest, given):
        if not any(same(acc, known) for known in found):
            found.append(acc)
    return found


MANY = 6
"""How many accumulators of many elements are tried."""


def _after_many(f: Function, start: Any, rest: list[Domain], given: Given) -> Iterator[Any]:
    """The accumulators after as many different elements as the integers that f mentions."""
    wanted = sorted({each for number in given.integers for each in beside(number) if LEAST <= each <= LARGEST})[:MANY]
    if not wanted or not hasattr(start, "__len__"):  # numbers are tried around the constants themselves
        return
    acc = start
    try:
        columns = [given.different(domain.kind, wanted[-1]) for domain in rest]
        for count, arguments in enumerate(zip(*columns, strict=False), start=1):
            acc = called(f, acc, *arguments)
            if count in wanted:
                yield acc
    except (Exception, SystemExit):  # the equations will say so
        return

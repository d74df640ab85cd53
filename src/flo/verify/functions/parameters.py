"""The types of a function's arguments: those that were given, those that it names, or guesses that it takes."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from typing import Any

from flo.core.elements import type_name
from flo.core.errors import LawError, Origin
from flo.core.labels import label
from flo.verify import laws as law
from flo.verify.data.given import Given
from flo.verify.functions.broken import Raised, broken
from flo.verify.functions.domains import NO_START, function_domains
from flo.verify.functions.equations import Function, function_equations
from flo.verify.functions.trials import TRY_SECONDS, Problem
from flo.verify.within import within

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
                f"`{label(f)}` takes {count} argument{'s' * (count != 1)}, and {len(types)} types were given",
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
        f"`{label(f)}` takes none of the types that are tried",
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

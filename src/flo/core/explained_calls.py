"""Calls with arguments that a function does not take: an error with the user's line and what to write instead, where
Python would raise a TypeError.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, MutableMapping
from difflib import get_close_matches
from typing import Any, TypeVar

from flo.core.errors import Origin, TypeMismatch
from flo.core.untyped import AnyFunction

F = TypeVar("F", bound=AnyFunction)
T = TypeVar("T", bound=type)
MOST_PARAMETERS = 8
"""How many parameters an error lists."""
MEANT = {
    "subset": "on",
    "clock": "time",
    "keys": "on",
    "filter": "where",
    "condition": "where",
    "partition": "partition_by",
}
"""Arguments of other libraries, and what they are called here."""
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def explain_call(**examples: str) -> Callable[[F], F]:
    """Make a call with missing or unknown arguments an error of Flo. `examples` has calls by the names of parameters
    that may be missing."""

    def decorate(function: F) -> F:
        names_keywords = hasattr(function, "__signature__")

        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            try:
                if names_keywords:  # it would pass on others, too
                    inspect.signature(function).bind(*arguments, **named)
                return function(*arguments, **named)
            except TypeError:
                if fits(function, arguments, named):
                    raise  # it was called: a function of the user has raised
            raise _wrong_call(function, arguments, named, examples)

        called.is_explained = True  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return decorate


def fits(function: AnyFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether a function takes these arguments."""
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return False
    return True


def name_keywords(function: AnyFunction, keywords: type) -> None:
    """Let a signature name the keywords of a TypedDict that the function takes as `**keywords: Unpack[…]`."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    if len(own) < len(signature.parameters):
        optional = [inspect.Parameter(name, _BY_NAME[1], default=None) for name in keywords.__annotations__]
        function.__signature__ = signature.replace(parameters=own + optional)  # type: ignore[attr-defined]


def explain_methods(kind: T) -> T:
    """Explain the calls of all public methods that a class defines."""
    _explain(vars(kind), lambda name, function: setattr(kind, name, function), kind.__module__)
    return kind


def explain_functions(names: MutableMapping[str, Any]) -> None:
    """Explain the calls of all public functions that a module defines."""
    _explain(dict(names), names.__setitem__, names["__name__"])


def _explain(names: Any, put: Callable[[str, Any], object], module: str) -> None:
    for name, each in list(names.items()):
        is_own = inspect.isfunction(each) and each.__module__ == module and not hasattr(each, "is_explained")
        if is_own and not name.startswith("_"):
            put(name, explain_call()(each))


def _wrong_call(
    function: AnyFunction, arguments: tuple[Any, ...], named: dict[str, Any], examples: dict[str, str]
) -> TypeMismatch:
    signature = inspect.signature(function)
    parameters = {name: each for name, each in signature.parameters.items() if name != "self"}
    verb, where = function.__name__, Origin.here()
    by_name = [name for name, each in parameters.items() if each.kind in _BY_NAME]
    facts = ((verb, _listed(parameters.values())),)
    for name in named:
        if name not in by_name:
            return unknown_argument(verb, name, by_name, facts, where)
    try:
        bound = signature.bind_partial(*arguments, **named)
    except TypeError:
        given = len(arguments) - ("self" in signature.parameters)
        most = sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters.values())
        takes = "no argument" if not most else f"{most} argument{'s' if most > 1 else ''}"
        summary = f"`{verb}` takes {takes} by position; got {given}"
        return TypeMismatch(summary, facts=facts, where=where)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [name for name, each in parameters.items() if each.default is each.empty and each.kind not in variadic]
    missing = [name for name in required if name not in bound.arguments]
    code = [(examples[name], f"with `{name}`") for name in missing if name in examples]
    names = ", ".join(f"`{name}`" for name in missing)
    return TypeMismatch(f"`{verb}` must get {names}", facts=facts, instead=tuple(dict(code[:1]).items()), where=where)


def unknown_argument(
    verb: str, name: str, known: Iterable[str], facts: tuple[tuple[str, str], ...] = (), where: Origin | None = None
) -> TypeMismatch:
    """Return the error for an argument that a verb does not have, with the one whose name is closest."""
    names = list(known)
    meant, why = [each for each in (MEANT.get(name),) if each in names], "the argument for this"
    if not meant:
        meant, why = get_close_matches(name, names, n=1, cutoff=0.5), "the argument with the closest name"
    return TypeMismatch(
        f"`{verb}` has no argument `{name}`",
        facts=facts,
        instead=tuple((f"{verb}(…, {each}=…)", why) for each in meant),
        where=where,
    )


def _shown(default: object) -> Any:
    """The default of a parameter as users may know it: one that only says that nothing was given is None."""
    return None if type(default) is object else default


def _listed(parameters: Iterable[inspect.Parameter]) -> str:
    texts = [str(each.replace(annotation=each.empty, default=_shown(each.default))) for each in parameters]
    more = [f"… {len(texts) - MOST_PARAMETERS} more"] if len(texts) > MOST_PARAMETERS else []
    return f"takes {', '.join([*texts[:MOST_PARAMETERS], *more]) or 'nothing'}"

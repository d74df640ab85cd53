"""What verbs are given, looked at when the program is built: a function that cannot work is refused on the user's line,
and not when the first element comes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from flo.api.base import StreamBase
from flo.api.columns import bound, is_expression
from flo.api.scope import named
from flo.core.collection import Collection
from flo.core.errors import CollectionError, FloError, Origin, TypeMismatch, brief

R = TypeVar("R")


def function(
    verb: str,
    parameter: str,
    given: Any,
    takes: int | None = 1,
    *,
    rows: tuple[Any, ...] = (),
    gives: type | None = None,
) -> Any:
    """The function, if it can be called with so many arguments; with None, its arguments are looked at elsewhere.

    Where it is one of the `rows` of these streams, columns are a function too; `gives` is the type that they must have.
    """
    if rows and is_expression(given):
        return bound(verb, parameter, given, rows, gives)
    if not callable(given):
        raise TypeMismatch(
            f"`{verb}` takes a function as `{parameter}`, and was given {type(given).__name__}",
            facts=(("given", brief(given)),),
            where=Origin.here(),
        )
    if asynchronous(given):
        raise TypeMismatch(
            f"`{verb}` uses what `{parameter}` returns at once, and was given a coroutine function",
            facts=(("given", shown(given)),),
            instead=(("loop.push(…)", "of what was awaited before"),),
            where=Origin.here(),
        )
    if takes is not None and not accepts(given, takes):
        raise TypeMismatch(
            f"`{verb}` calls `{parameter}` with {takes} argument{'s' if takes != 1 else ''}, which it does not take",
            facts=(("given", shown(given)),),
            where=Origin.here(),
        )
    return given


def optional(verb: str, parameter: str, given: Any, takes: int = 1, *, rows: tuple[Any, ...] = ()) -> Any:
    """The same, of a function that may be left out."""
    return None if given is None else function(verb, parameter, given, takes, rows=rows)


def claim(verb: str, parameter: str, given: Any) -> str | None:
    """The user's reason why a law holds: some text, or None."""
    if given is None or (isinstance(given, str) and given.strip()):
        return given
    raise TypeMismatch(
        f"`{verb}` takes as `{parameter}` your reason why the function is, and {brief(given)} is none",
        instead=((f'{verb}(…, {parameter}="why")', "a text that is not empty"), (f"{verb}(…)", "it is tried")),
        where=Origin.here(),
    )


def asynchronous(given: Any) -> bool:
    called = (given, type(given).__call__)
    return any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in called)


def accepts(given: Callable[..., Any], count: int) -> bool:
    """Whether the function takes so many arguments, as far as Python can tell: not of all builtins."""
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def shown(given: Callable[..., Any]) -> str:
    """The function's name and parameters."""
    name = getattr(given, "__name__", type(given).__name__)
    try:
        return f"{name}{inspect.signature(given)}"
    except (TypeError, ValueError):
        return str(name)


def keys(verb: str, on: Any, other_on: Any, stream: Any, other: Any) -> tuple[Any, Any]:
    """The keys of both sides of a join: both or none."""
    if (on is None) != (other_on is None):
        given, missing = ("on", "other_on") if other_on is None else ("other_on", "on")
        raise TypeMismatch(
            f"`{verb}` was given `{given}` without `{missing}`",
            facts=((verb, "compares a key of this stream, `on`, with a key of the other, `other_on`"),),
            instead=(
                (f"{verb}(other, on=…, other_on=…)", "the keys of both sides"),
                (f"{missing}=lambda x: x", "if its elements are the keys"),
            ),
            where=Origin.here(),
        )
    return optional(verb, "on", on, rows=(stream,)), optional(verb, "other_on", other_on, rows=(other,))


def no_argument(verb: str, parameter: str, given: Any, why: str, instead: tuple[tuple[str, str], ...] = ()) -> None:
    """Refuses an argument that means nothing on this collection."""
    if given is not None:
        raise TypeMismatch(f"`{verb}` takes no `{parameter}` here: {why}", instead=instead, where=Origin.here())


def expect_kind(
    verb: str,
    stream: StreamBase[Any, Any],
    *kinds: type[Collection],
    signature: str = "",
    instead: tuple[tuple[str, str], ...] = (),
) -> None:
    """Refuses a stream of another collection than these."""
    if not isinstance(stream.collection, kinds):
        *most, last = (kind.name for kind in kinds)
        names = f"{', '.join(most)} or {last}" if most else last
        error = CollectionError(
            f"`{verb}` works on {names}, and {{input}} is a {stream.collection.name}",
            facts=(("{input}", stream.type.described()), (verb, signature or f"takes {names}")),
            instead=instead,
            index=0,
        )
        raise named(error, stream).located(Origin.here())  # type: ignore[arg-type]


def located(make: Callable[..., R], *arguments: Any, about: str | None = None) -> R:
    """What it makes of these arguments, or its refusal with the user's line, and what it is about."""
    try:
        return make(*arguments)
    except FloError as error:
        error.input_name = error.input_name or about
        raise error.located(Origin.here()) from None

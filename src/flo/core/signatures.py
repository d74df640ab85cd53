"""The types that functions say their parameters have."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import typing
from typing import Any, NamedTuple, Optional


class Parameter(NamedTuple):
    """A parameter that a function has a type for."""

    name: str
    kind: Any


def signature_of(function: Any) -> inspect.Signature | None:
    """The signature, as far as Python can tell: not of all builtins, nor where a type is not there at run time."""
    for evaluated in (True, False):  # annotations as types, or else as they are written
        with contextlib.suppress(Exception):
            return inspect.signature(function, eval_str=evaluated)
    return None


def positional_parameters(function: Any, count: int) -> list[Parameter | None]:
    """The parameters that so many positional arguments go to; None where the function does not say a type."""
    if hasattr(function, "returns"):
        return [None] * count  # made of columns, and bound to its rows
    owner = getattr(function, "__objclass__", None)
    if isinstance(function, types.MethodDescriptorType) and isinstance(owner, type):
        return [Parameter("self", owner), *[None] * (count - 1)]  # `str.upper`
    signature, hints = signature_of(function), _hints(function)
    if signature is None or not hints:
        return [None] * count
    found: list[Parameter | None] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            found += [_typed(parameter, hints)] * (count - len(found))
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            found.append(_typed(parameter, hints))
    return (found + [None] * count)[:count]


def _typed(parameter: inspect.Parameter, hints: dict[str, Any]) -> Parameter | None:
    if parameter.name not in hints:
        return None
    kind = hints[parameter.name]
    return Parameter(parameter.name, Optional[kind] if parameter.default is None else kind)  # noqa: UP045


def _hints(function: Any) -> dict[str, Any]:
    """The types of the parameters of a function, by name. None of one whose annotations may be those of another."""
    if isinstance(function, functools.partial):
        return _hints(function.func)
    if isinstance(function, functools._lru_cache_wrapper):
        return _hints(function.__wrapped__)
    if isinstance(function, type):
        function = _constructor(function)
    elif not isinstance(function, (types.FunctionType, types.MethodType)):
        function = getattr(function, "__call__", None)  # noqa: B004
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        return {}
    if hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return {}  # `functools.wraps` copies the annotations, whatever the decorator takes
    try:
        return typing.get_type_hints(function)
    except Exception:  # annotations that cannot be resolved say nothing
        return {}


def _constructor(kind: type) -> Any:
    """The function that gets the arguments of a call of the class, if it is but one."""
    if type(kind).__call__ is not type.__call__:
        return None
    made = [f for f in (kind.__new__, kind.__init__) if isinstance(f, types.FunctionType)]  # type: ignore[misc]
    return made[0] if len(made) == 1 else None

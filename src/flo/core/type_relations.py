"""Relations between Python types: whether one accepts all values of another, whether values can be equal.

Where annotations are missing or cannot be resolved, the answer is the permissive one.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import types
import typing
import uuid
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar, Union, get_args, get_origin, is_typeddict

from flo.core.untyped import AnyFunction, TypeForm

WIDENED: dict[Any, tuple[type, ...]] = {float: (int,), complex: (int, float), bytes: (bytearray, memoryview)}
"""Classes that, in annotations, accept more than their instances, as in type checkers."""
_QUALIFIERS = {"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"}
_CONTAINERS = (list, set, frozenset, dict, tuple)
_STANDARD = ("builtins", "typing", "typing_extensions", "abc", "collections", "collections.abc", "enum", "numbers")
_FAMILIES: tuple[tuple[type, ...], ...] = (
    (int, float, complex, decimal.Decimal, fractions.Fraction),
    (str,),
    (bytes, bytearray, memoryview),
    (type(None),),
    (tuple,),
    (list,),
    (set, frozenset),
    (dict,),
    (datetime.datetime, datetime.date),
    (datetime.time,),
    (datetime.timedelta,),
    (uuid.UUID,),
    (enum.Enum,),
)
"""Values of different families are never equal."""


def resolve_type(kind: Any) -> TypeForm:
    """Strip annotations, qualifiers and aliases from a type; None becomes its class."""
    if kind is None:
        return type(None)
    origin = get_origin(kind)
    if origin is Annotated or getattr(origin, "_name", None) in _QUALIFIERS:
        return resolve_type(get_args(kind)[0])
    if type(kind).__name__ == "TypeAliasType":  # `type Name = …`, from Python 3.12
        return resolve_type(kind.__value__)
    return kind


def is_union(kind: TypeForm) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def alternatives(kind: TypeForm) -> Iterator[TypeForm]:
    """Yield the members of a union, or the type itself."""
    kind = resolve_type(kind)
    if is_union(kind):
        for part in get_args(kind):
            yield from alternatives(part)
    else:
        yield kind


def without_none(kind: TypeForm) -> tuple[bool, TypeForm]:
    """Return whether a type may have None, and the type without it. Nothing is known of Any."""
    if is_union(kind):
        rest = tuple(part for part in get_args(kind) if part is not type(None))
        return len(rest) < len(get_args(kind)), Union[rest]  # noqa: UP007
    return kind in (None, type(None), Any), type(None) if kind is None else kind


def accepts(kind: TypeForm, other: object) -> bool:
    """Return whether every value of type `other` belongs to `kind`, as far as is known; Any fits both ways."""
    kinds = list(alternatives(kind))
    return all(any(_accepts(part, each) for part in kinds) for each in _cases(other, kinds))


def overlaps(kind: TypeForm, other: object) -> bool:
    """Return whether some values of type `other` may belong to `kind`."""
    return accepts(kind, other) or any(accepts(kind, each) or accepts(each, kind) for each in alternatives(other))


def _cases(kind: TypeForm, beside: list[TypeForm]) -> Iterator[Any]:
    """Yield the alternatives of a type. If `beside` has literals, bools and enums are expanded to literals too."""
    literals = any(get_origin(each) is Literal for each in beside)
    for each in alternatives(kind):
        if get_origin(each) is Literal:
            yield from (Literal[value] for value in get_args(each))
        elif literals and each is bool:
            yield from (Literal[True], Literal[False])
        elif literals and isinstance(each, enum.EnumMeta):
            members: list[Any] = list(each)
            yield from (Literal[value] for value in members)
        else:
            yield each


def _accepts(kind: TypeForm, other: object) -> bool:
    """`accepts` for types that are not unions."""
    if kind is Any or other is Any or kind is object or kind == other or isinstance(other, TypeVar):
        return True
    if get_origin(other) is Literal:
        (value,) = get_args(other)
        if get_origin(kind) is Literal:
            return any(value == part and type(value) is type(part) for part in get_args(kind))
        return accepts(kind, type(value))
    if get_origin(kind) is Literal:
        return False
    if isinstance(other, NewType):
        return _is_above(kind, other) if isinstance(kind, NewType) else accepts(kind, other.__supertype__)
    if isinstance(kind, NewType):
        return accepts(kind.__supertype__, other)
    if is_typeddict(kind):
        return _accepts_dict(kind, other)
    if is_typeddict(other):
        other = dict
    return _accepts_class(kind, other)


def _is_above(kind: TypeForm, other: object) -> bool:
    """Return whether `kind` is `other` or one of the NewTypes that it was made from."""
    while isinstance(other, NewType):
        if other is kind:
            return True
        other = other.__supertype__
    return False


def _accepts_dict(kind: Any, other: Any) -> bool:
    if not is_typeddict(other):
        plain = get_origin(other) or other
        return not isinstance(plain, type) or issubclass(plain, dict) or issubclass(dict, plain) or _is_made(plain)
    try:
        fields, given = typing.get_type_hints(kind), typing.get_type_hints(other)
    except Exception:  # unresolvable annotations
        return True
    if not kind.__required_keys__ <= other.__required_keys__:
        return False
    return all(accepts(fields[name], given[name]) for name in fields.keys() & given.keys())


def _accepts_class(kind: TypeForm, other: object) -> bool:
    plain, other_plain = get_origin(kind) or kind, get_origin(other) or other
    if not (isinstance(plain, type) and isinstance(other_plain, type)):
        return True
    if getattr(plain, "_is_protocol", False):
        return True
    if _is_made(other_plain) and _family(plain) in (None, _family(tuple), _family(dict)):
        return True  # rows without a class of their own: a function may annotate them with any row class
    try:
        if not issubclass(other_plain, (plain, *WIDENED.get(plain, ()))):
            return False
    except TypeError:
        return True
    if plain is tuple and issubclass(other_plain, tuple):
        return _tuples_match(kind, _as_tuple(other), accepts)
    parts, others = get_args(kind), get_args(other)
    if len(parts) != len(others):
        return True
    if plain.__module__ in _STANDARD and other_plain in _CONTAINERS:
        return all(map(accepts, parts, others))
    return plain is not other_plain or all(map(_fit_somehow, parts, others))


def _fit_somehow(part: object, other: object) -> bool:
    """Return whether parameters of a generic class fit, covariantly or contravariantly."""
    return accepts(part, other) or accepts(other, part)


def _is_made(kind: type) -> bool:
    """Return whether it is a row type that Flo made from columns."""
    return issubclass(kind, tuple) and hasattr(kind, "_columns")


def _as_tuple(kind: Any) -> TypeForm:
    """Return a named tuple type as a plain tuple type, if its fields can be resolved."""
    plain = get_origin(kind) or kind
    if plain is tuple:
        return kind
    try:
        hints = typing.get_type_hints(plain)
        return tuple[tuple(hints[name] for name in plain._fields)]  # type: ignore[misc]
    except Exception:  # another subclass, or unresolvable annotations
        return tuple


def tuple_parts(kind: TypeForm) -> tuple[TypeForm, ...] | None:
    """Return the types of the parts of a tuple type, none for another type; None if it is not known."""
    plain = get_origin(kind) or kind
    if not isinstance(plain, type) or plain is object or plain is Any:
        return None
    if not issubclass(plain, tuple):
        return ()
    as_tuple = _as_tuple(kind)
    return None if get_origin(as_tuple) is None or any(map(_is_packed, get_args(as_tuple))) else get_args(as_tuple)


def _tuples_match(kind: TypeForm, other: object, match: Callable[[Any, Any], bool]) -> bool:
    """Return whether tuple types have equally many parts that match one by one; a bare `tuple` matches any."""
    if get_origin(kind) is None or get_origin(other) is None:
        return True
    parts, others = get_args(kind), get_args(other)
    if any(map(_is_packed, (*parts, *others))):
        return True
    if parts[1:] == (...,):
        return all(match(parts[0], each) for each in others if each is not ...)
    if others[1:] == (...,):
        return all(match(part, others[0]) for part in parts)
    return len(parts) == len(others) and all(map(match, parts, others))


def _is_packed(part: object) -> bool:
    """Return whether it stands for any number of parts: `*Parts`."""
    unpacked = getattr(part, "__unpacked__", False) or get_origin(part) is typing.Unpack
    return bool(unpacked) or isinstance(part, typing.TypeVarTuple)


def may_be_equal(one: object, other: object) -> bool:
    """Return whether a value of one type may be equal to a value of the other."""
    return any(_may_be_equal(a, b) for a in alternatives(one) for b in alternatives(other))


def _may_be_equal(one: object, other: object) -> bool:
    if get_origin(one) is Literal and get_origin(other) is Literal:
        return bool(set(get_args(one)) & set(get_args(other)))
    for literal, kind in ((one, other), (other, one)):
        if get_origin(literal) is Literal:
            return any(may_be_equal(type(value), kind) for value in get_args(literal))
    one, other = (each.__supertype__ if isinstance(each, NewType) else each for each in (one, other))
    plain, other_plain = get_origin(one) or one, get_origin(other) or other
    if not (isinstance(plain, type) and isinstance(other_plain, type)):
        return True
    family, other_family = _family(plain), _family(other_plain)
    if family is None or other_family is None or _has_own_equality(plain) or _has_own_equality(other_plain):
        return True
    if family != other_family:
        return False
    return not issubclass(plain, tuple) or _tuples_match(_as_tuple(one), _as_tuple(other), may_be_equal)


def _family(kind: type) -> int | None:
    return next((place for place, family in enumerate(_FAMILIES) if issubclass(kind, family)), None)


def _has_own_equality(kind: type) -> bool:
    """Return whether a user's class defines its own equality."""
    base = next(each for family in _FAMILIES for each in family if issubclass(kind, each))
    return kind.__eq__ is not base.__eq__


def are_related(one: object, other: object) -> bool:
    """Return whether elements of both types may be in one collection, because the types have something in common."""
    return any(_are_related(a, b) for a in alternatives(one) for b in alternatives(other))


def _are_related(one: Any, other: Any) -> bool:
    if accepts(one, other) or accepts(other, one):
        return True
    if get_origin(one) is Literal or get_origin(other) is Literal:
        kinds = [{type(v) for v in get_args(each)} if get_origin(each) is Literal else {each} for each in (one, other)]
        return any(are_related(a, b) for a in kinds[0] for b in kinds[1])
    one, other = (each.__supertype__ if isinstance(each, NewType) else each for each in (one, other))
    if is_typeddict(one) or is_typeddict(other):
        return is_typeddict(one) and is_typeddict(other)
    plain, other_plain = get_origin(one) or one, get_origin(other) or other
    family = _family(plain)
    if family is not None and family == _family(other_plain):
        if issubclass(plain, tuple):
            return _tuples_match(_as_tuple(one), _as_tuple(other), are_related)
        parts, others = get_args(one), get_args(other)
        return len(parts) != len(others) or all(map(are_related, parts, others))
    return any(base.__module__ not in _STANDARD for base in {*plain.__mro__} & {*other_plain.__mro__})


class TypedParameter(typing.NamedTuple):
    """A parameter of a function with an annotated type."""

    name: str
    kind: TypeForm


def signature_of(function: AnyFunction) -> inspect.Signature | None:
    """Return the signature if Python can tell it: not for all builtins, nor for unresolvable annotations."""
    for evaluated in (True, False):  # annotations as types, else as text
        with contextlib.suppress(Exception):
            return inspect.signature(function, eval_str=evaluated)
    return None


def positional_parameters(function: AnyFunction, count: int) -> list[TypedParameter | None]:
    """Return the parameters that `count` positional arguments bind to; None where there is no annotation."""
    if hasattr(function, "returns"):
        return [None] * count  # made of columns, and bound to its rows
    owner = getattr(function, "__objclass__", None)
    if isinstance(function, types.MethodDescriptorType) and isinstance(owner, type):
        return [TypedParameter("self", owner), *[None] * (count - 1)]  # `str.upper`
    signature, hints = signature_of(function), _hints(function)
    if signature is None or not hints:
        return [None] * count
    parameters: list[TypedParameter | None] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            parameters += [_typed(parameter, hints)] * (count - len(parameters))
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            parameters.append(_typed(parameter, hints))
    return (parameters + [None] * count)[:count]


def _typed(parameter: inspect.Parameter, hints: dict[str, TypeForm]) -> TypedParameter | None:
    if parameter.name not in hints:
        return None
    kind = hints[parameter.name]
    return TypedParameter(parameter.name, Optional[kind] if parameter.default is None else kind)  # noqa: UP045


def _hints(function: Any) -> dict[str, TypeForm]:
    """Return the annotated types of the parameters by name. Empty if the annotations may belong to another function."""
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
        return {}  # `functools.wraps` copies the annotations, even if the decorator takes other arguments
    try:
        return typing.get_type_hints(function)
    except Exception:  # unresolvable annotations
        return {}


def _constructor(kind: type) -> Any:
    """Return the function that gets the arguments when the class is called; None if there is not exactly one."""
    if type(kind).__call__ is not type.__call__:
        return None
    constructors = [f for f in (kind.__new__, kind.__init__) if isinstance(f, types.FunctionType)]  # type: ignore[misc]
    return constructors[0] if len(constructors) == 1 else None

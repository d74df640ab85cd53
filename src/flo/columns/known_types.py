"""Result types of Python's own operators, functions, methods and attributes, by the types of their arguments."""

from __future__ import annotations

import ast
import dataclasses
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import product
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin, is_typeddict
from uuid import UUID

from flo.columns.cell import fields_of
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, TypeForm
from flo.values.exact import IntSum, is_wide_int, plain_type
from flo.values.operators.zset_ranking import is_plain_tuple

OPERATIONS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
}
"""Operations by their syntax: the sign, and the function."""
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Unclear(Exception):
    """The type of a result cannot be derived; the message says why."""


def members(kind: TypeForm) -> list[Any]:
    """Return the members of a union without annotations, except the zone of a datetime and the width of a sum."""
    if kind is None:
        return [NoneType]
    if isinstance(kind, NewType):
        return members(kind.__supertype__)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return [kind] if parts[0] is datetime or is_wide_int(kind) else members(parts[0])
    if origin is Literal:
        return list(dict.fromkeys(map(type, parts)))
    if origin in (Union, UnionType):
        return [each for part in parts for each in members(part)]
    if kind is Any:
        raise Unclear("the type of its argument is unknown")
    return [kind]


def union_of(*kinds: TypeForm) -> TypeForm:
    """Return the union of these types. Tuples of one length are merged component by component; of numbers with two
    widths, the wider one is used."""
    merged: list[Any] = []
    for kind in kinds:
        for part in get_args(kind) if get_origin(kind) in (Union, UnionType) else [NoneType if kind is None else kind]:
            for index, other in enumerate(merged):
                if (both := _merged(other, part)) is not None:
                    merged[index] = both
                    break
            else:
                merged.append(part)
    if not merged:
        raise Unclear("it returns nothing, because it always raises")
    return Union[tuple(merged)]  # noqa: UP007


def _merged(kind: TypeForm, other: object) -> TypeForm:
    """Return one type with the values of both; None if there is none."""
    if kind == other:
        return kind
    if is_fixed_tuple(kind) and is_fixed_tuple(other) and len(get_args(kind)) == len(get_args(other)):
        return tuple[tuple(map(union_of, get_args(kind), get_args(other)))]  # type: ignore[misc]
    if plain_type(kind) is plain_type(other) and plain_type(kind) in (int, float, Decimal):
        return IntSum if is_wide_int(kind) or is_wide_int(other) else plain_type(kind)
    return None


def is_fixed_tuple(kind: TypeForm) -> bool:
    parts = get_args(kind)
    return get_origin(kind) is tuple and bool(parts) and parts[-1] is not ...


_ORDERED = (int, float, bool, str, bytes, date, datetime, time, timedelta, Decimal, UUID, NoneType, None)


def is_orderable(kind: Any) -> bool:
    """Return whether any two values of a type compare in every engine, None included."""
    if isinstance(kind, NewType):
        return is_orderable(kind.__supertype__)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return is_orderable(parts[0])
    if origin in (Union, UnionType):
        rest = [part for part in parts if part is not NoneType]
        return len(rest) == 1 and is_orderable(rest[0])
    if origin is Literal:
        return len({type(part) for part in parts}) == 1
    if origin is tuple:
        return all(is_orderable(part) for part in parts if part is not ...)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return issubclass(kind, (int, str))
    fields = fields_of(kind) if isinstance(kind, type) else None
    if fields and issubclass(kind, tuple):
        return is_plain_tuple(kind) and all(map(is_orderable, fields.values()))
    if fields and getattr(kind, "__dataclass_params__", None) is not None:  # Python compares it, which fails for None
        whole = all(is_orderable(part) and NoneType not in get_args(part) for part in fields.values())
        return whole and bool(kind.__dataclass_params__.order)
    return kind in _ORDERED


def has_own_order(kind: TypeForm) -> bool:
    """Return whether a class says itself how its values compare. Then only Python compares them."""
    if not isinstance(kind, type) or hasattr(kind, "__dataclass_params__"):
        return False
    return getattr(kind, "__lt__", None) not in (getattr(object, "__lt__", None), tuple.__lt__)


_INTS = (bool, int)
_NUMBERS = (bool, int, float)
_SAMPLES: dict[TypeForm, Any] = {
    bool: True,
    int: 3,
    float: 2.5,
    Decimal: Decimal(2),
    str: "a",
    bytes: b"a",
    date: date(2024, 1, 2),
    datetime: datetime(2024, 1, 2),
    timedelta: timedelta(days=1),
}
"""A value of each type for which the type of a result depends on the types of the operands alone."""
_BY_SIGN = dict(OPERATIONS.values())


def binary_type(sign: str, left: object, right: object, exponent: object = None) -> TypeForm:
    """Return the type of `left sign right`. For a power, `exponent` is its value if known."""
    results = []
    for one, other in product(members(left), members(right)):
        if NoneType in (one, other):
            continue  # raises, so it has no result
        wide = is_wide_int(one) or is_wide_int(other)
        kind = _operated(sign, int if is_wide_int(one) else one, int if is_wide_int(other) else other, exponent)
        results.append(IntSum if kind is int and wide else kind)
    return union_of(*results)


def _operated(sign: str, one: object, other: object, exponent: object) -> TypeForm:
    if sign == "**" and one in _NUMBERS and other in _NUMBERS:
        return _power(one, other, exponent)
    if sign == "%" and one is str:
        return str
    if sign == "+" and is_fixed_tuple(one) and is_fixed_tuple(other):
        return tuple[(*get_args(one), *get_args(other))]  # type: ignore[misc]
    if sign == "+" and get_origin(one) is get_origin(other) is list:
        return list[union_of(get_args(one)[0], get_args(other)[0])]  # type: ignore[misc]
    try:
        result = type(_BY_SIGN[sign](_SAMPLES[plain_type(one)], _SAMPLES[plain_type(other)]))
    except (KeyError, TypeError):
        raise Unclear(f"the type of `{sign}` on {type_name(one)} and {type_name(other)} is unknown") from None
    return next((each for each in (one, other) if plain_type(each) is result), result)  # with its annotation


def _power(one: object, other: object, exponent: object) -> TypeForm:
    if type(exponent) is int and one in _INTS:
        return int if exponent >= 0 else float
    if one is float and other in _INTS:
        return float
    raise Unclear(f"a power of {type_name(one)} and {type_name(other)} may be an int, a float or a complex number")


def unary_type(sign: str, kind: TypeForm) -> TypeForm:
    """Return the type of `-x`, `+x` and `~x`."""
    results = []
    for each in members(kind):
        if each in _INTS:
            results.append(int)
        elif is_wide_int(each) or (each in (float, Decimal, timedelta) and sign != "~"):
            results.append(each)
        elif each is not NoneType:
            raise Unclear(f"the type of `{sign}` on {type_name(each)} is unknown")
    return union_of(*results)


def items_of(kind: TypeForm) -> TypeForm:
    """Return the element type of an iterable."""
    items = []
    for each in members(kind):
        parts = get_args(each)
        if each in (str, bytes):
            items.append(str if each is str else int)
        elif is_fixed_tuple(each):
            items += parts
        elif parts and get_origin(each) in _ITERABLES:
            items.append(parts[0])
        elif each is not NoneType:
            raise Unclear(f"the element type of {type_name(each)} is unknown")
    return union_of(*items)


_ITERABLES = (list, tuple, set, frozenset, Iterable, dict)


def item_type_at(kind: TypeForm, index: object) -> TypeForm:
    """Return the type of `x[place]` for a known place."""
    items = []
    for each in members(kind):
        fields = fields_of(each)
        parts = get_args(each)
        if fields is not None and issubclass(get_origin(each) or each, tuple):
            parts = tuple(fields.values())
        by_name = is_typeddict(each) or hasattr(each, "_columns")
        if by_name and type(index) is str and fields and index in fields:
            items.append(fields[index])
        elif (is_fixed_tuple(each) or fields) and type(index) is int and -len(parts) <= index < len(parts):
            items.append(parts[index])
        elif is_fixed_tuple(each) and isinstance(index, slice) and parts[index]:
            items.append(tuple[parts[index]])  # type: ignore[valid-type]
        elif each is not NoneType:
            items.append(indexed_type(each, is_slice=isinstance(index, slice)))
    return union_of(*items)


def indexed_type(kind: TypeForm, *, is_slice: bool) -> TypeForm:
    """Return the type of `x[i]` or `x[i:j]` for unknown i and j."""
    if kind is str or (kind is bytes and is_slice):
        return kind
    if kind is bytes:
        return int
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (list, tuple) and not is_fixed_tuple(kind):
        return kind if is_slice else parts[0]
    if origin is dict and len(parts) == 2 and not is_slice:
        return parts[1]
    if is_fixed_tuple(kind) and not is_slice:
        return union_of(*parts)
    raise Unclear(f"the item type of {type_name(kind)} is unknown")


def _rounded(kind: TypeForm, digits: object = None) -> TypeForm:
    results = []
    for each in members(kind):
        if each in _INTS:
            results.append(int)
        elif is_wide_int(each):
            results.append(each)
        elif each in (float, Decimal):
            results.append(int if digits in (None, NoneType) else each)
        elif each is not NoneType:
            raise Unclear(f"the type of `round` on {type_name(each)} is unknown")
    if digits is not None and int not in members(digits):
        raise Unclear("the digits of `round` must be an int")
    return union_of(*results)


def _extreme(*kinds: TypeForm, **named: object) -> TypeForm:
    if set(named) - {"key", "default"}:
        raise Unclear("`min` or `max` has an unknown argument")
    item = union_of(*kinds) if len(kinds) > 1 else items_of(kinds[0])
    return union_of(item, named["default"]) if "default" in named else item


def _total(kind: TypeForm, start: object = int) -> TypeForm:
    total = start
    parts = get_args(kind) if is_fixed_tuple(kind) else (items_of(kind),)
    for part in parts:
        total = binary_type("+", total, part)
    if is_fixed_tuple(kind) or (start is int and total is float):
        return total  # a sum of no floats is 0, which is a valid float
    return union_of(start, total)  # an empty sum is the start


def _moment(*kinds: TypeForm, **named: object) -> TypeForm:
    if len(kinds) > 7 or "tzinfo" in named:
        raise Unclear("a datetime with a zone has no type of its own")
    return datetime


_FLOATS = (
    *(math.sqrt, math.exp, math.log, math.log2, math.log10, math.log1p, math.expm1, math.pow, math.fabs, math.sin),
    *(math.cos, math.tan, math.atan, math.atan2, math.asin, math.acos, math.hypot, math.degrees, math.radians),
    *(math.fmod, math.copysign, math.fsum, math.dist),
)
_TESTS = (any, all, isinstance, math.isnan, math.isinf, math.isfinite, math.isclose, operator.not_)
GIVES: dict[Any, Any] = {
    **dict.fromkeys((len, ord, hash, math.floor, math.ceil, math.trunc, math.gcd, math.lcm, math.isqrt), int),
    **dict.fromkeys((chr, repr, ascii, format, hex, bin, oct), str),
    **dict.fromkeys(_TESTS, bool),
    **dict.fromkeys(_FLOATS, float),
    **{kind: kind for kind in (str, int, float, bool, bytes, Decimal, timedelta, date)},
    range: Iterable[int],
}
"""Result types that do not depend on the arguments."""
FUNCTIONS: dict[Any, AnyFunction] = {
    abs: partial(unary_type, "-"),
    round: _rounded,
    min: _extreme,
    max: _extreme,
    sum: _total,
    sorted: lambda kind, **named: list[items_of(kind)],  # type: ignore[misc]
    divmod: lambda one, other: tuple[binary_type("//", one, other), binary_type("%", one, other)],  # type: ignore[misc]
    datetime: _moment,
    list: lambda kind: list[items_of(kind)],  # type: ignore[misc]
    tuple: lambda kind: kind if is_fixed_tuple(kind) else tuple[items_of(kind), ...],  # type: ignore[misc]
    reversed: lambda kind: Iterable[items_of(kind)],  # type: ignore[misc]
    enumerate: lambda kind, start=int: Iterable[tuple[int, items_of(kind)]],  # type: ignore[misc]
    zip: lambda *kinds, **named: Iterable[tuple[tuple(map(items_of, kinds))]],  # type: ignore[misc]
    dataclasses.replace: lambda kind, **named: kind,
    operator.neg: partial(unary_type, "-"),
    operator.concat: partial(binary_type, "+"),
    **{function: partial(binary_type, sign) for sign, function in OPERATIONS.values()},
}
"""Functions from argument types, positional and by name, to the result type."""

_TEXTS = "capitalize casefold center expandtabs format join ljust lower lstrip removeprefix removesuffix replace rjust"
_ASKS = "endswith isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isspace istitle isupper"
METHODS: dict[tuple[Any, str], Any] = {
    **{(str, name): str for name in f"{_TEXTS} rstrip strip swapcase title translate upper zfill".split()},
    **{(str, name): bool for name in f"{_ASKS} isprintable startswith".split()},
    **{(str, name): int for name in ("count", "find", "index", "rfind", "rindex")},
    **{(str, name): list[str] for name in ("split", "rsplit", "splitlines")},
    **{(str, name): tuple[str, str, str] for name in ("partition", "rpartition")},
    **{(kind, name): str for kind in (date, datetime) for name in ("isoformat", "strftime")},
    **{(kind, name): int for kind in (date, datetime) for name in ("weekday", "isoweekday", "toordinal")},
    (str, "encode"): bytes,
    (bytes, "decode"): str,
    (bytes, "hex"): str,
    (int, "bit_length"): int,
    (int, "bit_count"): int,
    (float, "is_integer"): bool,
    (float, "hex"): str,
    (timedelta, "total_seconds"): float,
    (time, "isoformat"): str,
    (datetime, "timestamp"): float,
    (datetime, "date"): date,
    (datetime, "time"): time,
}
ATTRIBUTES: Mapping[tuple[Any, str], Any] = {
    **{(kind, name): int for kind in (date, datetime) for name in ("year", "month", "day")},
    **{(kind, name): int for kind in (time, datetime) for name in ("hour", "minute", "second", "microsecond")},
    **{(timedelta, name): int for name in ("days", "seconds", "microseconds")},
}

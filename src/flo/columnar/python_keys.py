"""Keys that are Python values of types nobody declared, as bytes that are equal where Python says that the keys are."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flo.columnar.faults import calling
from flo.core.data import class_name
from flo.core.term import Call, Lowering, Term


@calling
def code_of(key: Any) -> bytes:
    return repr(term_of(key)).encode("utf-8", "surrogatepass")


def term_of(key: Any) -> Term:
    """1, 1.0, True and Decimal("1.00") are one key; so are tuples and named tuples of them."""
    match key:
        case None:
            return None
        case str():
            return str.__str__(key)
        case int():
            return int(key)
        case float() | Decimal() | Fraction():
            return _number(key)
        case complex():
            return _number(key.real) if not key.imag else Call("complex", (_number(key.real), _number(key.imag)))
        case tuple():
            return tuple(map(term_of, key))
        case frozenset():
            return Call("frozenset", tuple(sorted(map(term_of, key), key=repr)))
        case datetime():
            moment = key.replace(fold=0) if key.tzinfo is None else key.astimezone(UTC)
            return Call("datetime", (moment.isoformat(),))
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        compared = [field.name for field in dataclasses.fields(key) if field.compare]
        return Call("data", (class_name(type(key)), *(term_of(getattr(key, name)) for name in compared)))
    return Lowering()(key)


def _number(key: Any) -> Term:
    if key != key or key in (float("inf"), float("-inf")):
        return Call(repr(float(key)))
    above, below = key.as_integer_ratio()
    return above if below == 1 else Call("Fraction", (above, below))

"""What operators may rely on when they call a user's function: results that are what it says, and states of its own."""

from __future__ import annotations

import copy
import dataclasses
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID

from flo.core.elements import first_stranger, returned_type, type_name
from flo.core.errors import brief
from flo.core.term import ATOMS

_LASTING = (*ATOMS, bytes, frozenset, Decimal, Fraction, complex, UUID, date, time, timedelta, Enum)


def lasting(item: Any) -> bool:
    """Whether nobody can change the item."""
    if isinstance(item, tuple):
        return all(map(lasting, item))
    parameters = getattr(type(item), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        return all(lasting(getattr(item, field.name)) for field in dataclasses.fields(item))
    return isinstance(item, _LASTING)


def own(item: Any) -> Any:
    """The item, or a copy if a function could change it: an operator's state is a value, and others may hold it."""
    return item if lasting(item) else copy.deepcopy(item)


def evaluate_ahead(f: Any, *arguments: list[Any]) -> None:
    """Lets a column expression take all of these elements at once: calls that follow find their results."""
    prepare = getattr(f, "prepare", None)
    if prepare is not None and len(arguments[0]) > 1:
        prepare(*arguments)


def evaluate_all_ahead(operator: Any, elements: list[Any]) -> None:
    """The same for every expression about one element that an operator holds, itself or in an aggregator."""
    for field in dataclasses.fields(operator):
        held = getattr(operator, field.name)
        if getattr(held, "takes", None) == 1:
            evaluate_ahead(held, elements)
        elif dataclasses.is_dataclass(held) and hasattr(held, "result_type"):
            evaluate_all_ahead(held, elements)


def as_declared(f: Any, results: list[Any]) -> None:
    """Refuses results that are not of the type that the function says it returns."""
    all_declared(f, results, returned_type(f))


def all_declared(f: Any, results: list[Any], kind: Any) -> None:
    stranger = first_stranger(results, kind)
    if stranger is not None:
        said = type_name(returned_type(f))
        derived = getattr(f, "derived", False)
        how = f"{said} was derived from its source: annotate it" if derived else f"it says that it returns {said}"
        raise TypeError(f"a result is {brief(results[stranger])}, and {how}")

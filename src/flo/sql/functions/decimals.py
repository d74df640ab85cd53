"""Decimals as Spark computes them: exactly, then rounded half up to the scale of the result."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import Data, Node, SqlError

WIDEST = 76


def is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind))


def widen(data: Data) -> Data:
    """Return decimals with 256 bits."""
    return pc.cast(data, pa.decimal256(data.type.precision, data.type.scale))


def fit(data: Data, node: Node, kind: pa.DataType | None = None, *, ansi: bool | None = None) -> Data:
    """Return decimals rounded half up to a type; those that do not fit raise in ANSI mode, and are null otherwise."""
    kind, ansi = kind or node.type, node.ansi if ansi is None else ansi
    if data.type.scale > kind.scale:
        data = pc.round(data, ndigits=kind.scale, round_mode="half_towards_infinity")
    try:
        return pc.cast(data, kind)
    except pa.ArrowInvalid:
        pass
    limit = Decimal(10) ** (kind.precision - kind.scale)
    values = [None if value is None else value for value in _values(data)]
    if ansi:
        bad = next(value for value in values if value is not None and abs(value) >= limit)
        raise out_of_range(bad, kind)
    fitting = [None if value is None or abs(value) >= limit else value for value in values]
    return _like(fitting, data, kind)


def out_of_range(value: Any, kind: pa.DataType) -> SqlError:
    return SqlError(
        "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        f"{value} cannot be represented as Decimal({kind.precision}, {kind.scale})",
    )


def _values(data: Data) -> list[Any]:
    return [data.as_py()] if isinstance(data, pa.Scalar) else list(data.to_pylist())


def _like(values: list[Any], data: Data, kind: pa.DataType) -> Data:
    """Return values as an array, or as one value if the data was one."""
    return pa.scalar(values[0], kind) if isinstance(data, pa.Scalar) else pa.array(values, kind)


def multiply(node: Node, left: Data, right: Data) -> Data:
    one, other = left.type, right.type
    if one.precision + other.precision + 1 <= 38:
        return fit(pc.multiply(left, right), node)
    if one.precision + other.precision + 1 <= WIDEST:
        return fit(pc.multiply(widen(left), widen(right)), node)
    return by_row(node, left, right, lambda a, b: a * b)


def add(node: Node, left: Data, right: Data, *, subtract: bool = False) -> Data:
    function = pc.subtract if subtract else pc.add
    return fit(function(widen(left), widen(right)), node)


def divide(node: Node, left: Data, right: Data) -> Data:
    """Division: with 38 decimal places, rounded half up, and then to the scale of the result."""
    return by_row(node, left, right, _quotient)


def _quotient(left: Decimal, right: Decimal) -> Decimal:
    return divided(left, right, 38)


def divided(left: Decimal, right: Decimal, places: int) -> Decimal:
    """Return left / right rounded half up to some decimal places."""
    one, other = left.as_integer_ratio(), right.as_integer_ratio()
    above, below = one[0] * other[1] * 10**places, one[1] * other[0]
    if below < 0:
        above, below = -above, -below
    whole, rest = divmod(abs(above), below)
    whole += 2 * rest >= below
    return unscaled(whole if above >= 0 else -whole, places)


def unscaled(number: int, places: int) -> Decimal:
    """Return number · 10**-places."""
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -places))


def round_half_up(value: Decimal, places: int) -> Decimal:
    return divided(value, Decimal(1), places) if -value.as_tuple().exponent > places else value  # type: ignore[operator]


def by_row(node: Node, left: Data, right: Data, function: Any) -> Data:
    """Return function(left, right) of each row, rounded half up to the type of the node."""
    one_value = isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar)
    count = 1 if one_value else len(right if isinstance(left, pa.Scalar) else left)
    values = zip(_repeated(left, count), _repeated(right, count), strict=True)
    kind, limit = node.type, Decimal(10) ** (node.type.precision - node.type.scale)
    found: list[Any] = []
    for one, other in values:
        if one is None or other is None:
            found.append(None)
            continue
        value = round_half_up(function(one, other), kind.scale)
        if abs(value) >= limit:
            if node.ansi:
                raise out_of_range(value, kind)
            value = None  # type: ignore[assignment]
        found.append(value)
    return pa.scalar(found[0], kind) if one_value else pa.array(found, kind)


def _repeated(data: Data, count: int) -> list[Any]:
    return [data.as_py()] * count if isinstance(data, pa.Scalar) else list(data.to_pylist())

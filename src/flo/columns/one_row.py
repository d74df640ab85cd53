"""Column expressions of one row, computed by Python where it computes the same as Arrow: a table of one row costs more
than what is computed on it.

An expression is translated if all its functions are listed here for the types of their operands. What is listed gives
the same result, or raises `Unsure`; then the expression is evaluated on Arrow, which gives the result or the error. So
ranges, odd values and divisions by zero need no rules here. Tests compare both on random expressions and rows.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw

from flo.columns.cell import Cell
from flo.columns.evaluation import ColumnFunction, arguments_of, nodes_of
from flo.columns.node_functions import RENAMES
from flo.values.event_time import EPOCH

Compute: TypeAlias = Callable[[list[Any]], Any]
"""A function of the values of the columns that are read."""
Read: TypeAlias = Callable[[tuple[Any, ...]], Any]
"""Reads a column from the elements, one of each input."""
LOW, HIGH = -(2**63), 2**63 - 1
MICROSECOND = timedelta(microseconds=1)
PLAIN = (int, float, bool, str, date, datetime)


class Unsure(Exception):
    """Python might compute something else than Arrow."""


class Known(NamedTuple):
    """A function that computes an expression on elements, and the type of its results, which may be null."""

    compute: Compute
    kind: type


Columns: TypeAlias = dict[str, Known]


def reader(which: int, get: Callable[[Any], Any], cell: Cell) -> Read | None:
    """Return a function that reads a column from one of the elements; None if Python has other values in it."""
    kind = cell.kind
    if kind not in PLAIN:
        return None
    check, nullable = CHECKS.get(kind), cell.nullable

    def read(elements: tuple[Any, ...]) -> Any:
        value = get(elements[which])
        if type(value) is kind:
            if check is None or check(value):
                return value
        elif value is None and nullable:
            return None
        raise Unsure

    return read


def column_at(place: int, cell: Cell) -> Known:
    """Return the column that was read at a place."""
    return Known(operator.itemgetter(place), cell.kind)


def computed_by_python(expression: nw.Expr | ColumnFunction, columns: Columns) -> Known | None:
    """Return what Python computes for an expression of these columns; None if it might compute something else."""
    try:
        return _translated(expression, columns)
    except Unsure:
        return None


def _translated(given: Any, columns: Columns) -> Known:
    if isinstance(given, ColumnFunction):
        raise Unsure
    if not isinstance(given, nw.Expr):
        return _literal(given)
    first, *more = nodes_of(given)
    match first.kind.name:
        case "COL" if len(first.kwargs["names"]) == 1:
            found = columns[first.kwargs["names"][0]]
        case "LITERAL" if first.kwargs["dtype"] is None:
            found = _literal(first.kwargs["value"])
        case "WHEN_THEN" | "ELEMENTWISE":
            found = _called(first, [_translated(each, columns) for each in arguments_of(first)])
        case _:
            raise Unsure
    for node in more:
        if node.name not in RENAMES:
            found = _called(node, [found, *(_translated(each, columns) for each in arguments_of(node))])
    return found


def _called(node: Any, operands: list[Known]) -> Known:
    if node.kind.name not in ("ELEMENTWISE", "WHEN_THEN") or node.name not in FUNCTIONS:
        raise Unsure
    return FUNCTIONS[node.name](node.kwargs, operands)


def _is_text(value: str) -> bool:
    """Return whether it is text that UTF-8 can encode. If not, Python's error leads to Arrow, too."""
    return value.isascii() or bool(value.encode())


CHECKS: dict[type, Callable[[Any], bool]] = {
    int: lambda value: LOW <= value <= HIGH,
    str: _is_text,
    datetime: lambda value: value.tzinfo is None,
}


def _literal(value: Any) -> Known:
    kind = type(value)
    if kind not in PLAIN or (kind in CHECKS and not CHECKS[kind](value)):
        raise Unsure
    return Known(lambda values: value, kind)


def _expect(wanted: bool) -> None:
    if not wanted:
        raise Unsure


def _in_range(value: int) -> int:
    if LOW <= value <= HIGH:
        return value
    raise Unsure


# Functions: they get the options and the operands.

Function: TypeAlias = Callable[[dict[str, Any], list[Known]], Known]


def _null_if_any(kind: type, function: Callable[..., Any], *operands: Known) -> Known:
    if len(operands) == 1:
        (of,) = (each.compute for each in operands)

        def compute_one(values: list[Any]) -> Any:
            value = of(values)
            return None if value is None else function(value)

        return Known(compute_one, kind)
    one, other = (each.compute for each in operands)

    def compute(values: list[Any]) -> Any:
        left, right = one(values), other(values)
        return None if left is None or right is None else function(left, right)

    return Known(compute, kind)


def _arithmetic(function: Callable[[Any, Any], Any]) -> Function:
    def translate(options: dict[str, Any], operands: list[Known]) -> Known:
        kinds = [each.kind for each in operands]
        if kinds == [int, int]:
            return _null_if_any(int, lambda x, y: _in_range(function(x, y)), *operands)
        _expect(float in kinds and {int, float}.issuperset(kinds))
        return _null_if_any(float, lambda x, y: function(float(x), float(y)), *operands)

    return translate


def _reflected(function: Function) -> Function:
    return lambda options, operands: function(options, operands[::-1])


def _quotient(options: dict[str, Any], operands: list[Known]) -> Known:
    _expect({int, float}.issuperset(each.kind for each in operands))
    return _null_if_any(float, _divided, *operands)


def _divided(x: float, y: float) -> float:
    if not y:
        raise Unsure
    return float(x) / float(y)


def _division(function: Callable[[int, int], int]) -> Function:
    def translate(options: dict[str, Any], operands: list[Known]) -> Known:
        _expect([each.kind for each in operands] == [int, int])
        return _null_if_any(int, lambda x, y: _in_range(function(x, y)) if y else None, *operands)

    return translate


def _of_number(function: Callable[[Any], Any]) -> Function:
    def translate(options: dict[str, Any], operands: list[Known]) -> Known:
        (of,) = operands
        _expect(of.kind in (int, float))
        return _null_if_any(of.kind, (lambda x: _in_range(function(x))) if of.kind is int else function, of)

    return translate


def _comparison(function: Callable[[Any, Any], bool], kinds: tuple[type, ...] = (str, date, datetime)) -> Function:
    def translate(options: dict[str, Any], operands: list[Known]) -> Known:
        one, other = (each.kind for each in operands)
        _expect({one, other} <= {int, float} or (one is other and one in kinds))
        return _null_if_any(bool, function, *operands)

    return translate


AT_LEAST, AT_MOST = _comparison(operator.ge), _comparison(operator.le)
ABOVE, BELOW = _comparison(operator.gt), _comparison(operator.lt)


def _between(options: dict[str, Any], operands: list[Known]) -> Known:
    value, low, high = operands
    closed = options["closed"]
    above = (AT_LEAST if closed in ("left", "both") else ABOVE)({}, [value, low])
    return _and({}, [above, (AT_MOST if closed in ("right", "both") else BELOW)({}, [value, high])])


def _and(options: dict[str, Any], operands: list[Known]) -> Known:
    return _kleene(operands, decides=False, ignore_nulls=options.get("ignore_nulls", False))


def _or(options: dict[str, Any], operands: list[Known]) -> Known:
    return _kleene(operands, decides=True, ignore_nulls=options.get("ignore_nulls", False))


def _kleene(operands: list[Known], *, decides: bool, ignore_nulls: bool) -> Known:
    """`and` is decided by false, `or` by true; otherwise null makes the result null."""
    _expect(all(each.kind is bool for each in operands))
    parts = [each.compute for each in operands]

    def compute(values: list[Any]) -> bool | None:
        found: bool | None = not decides
        for part in parts:  # all are computed: each may be unsure
            value = part(values)
            if value is decides:
                found = decides
            elif value is None and not ignore_nulls and found is not decides:
                found = None
        return found

    return Known(compute, bool)


def _not(options: dict[str, Any], operands: list[Known]) -> Known:
    _expect(operands[0].kind is bool)
    return _null_if_any(bool, operator.not_, operands[0])


def _is_null(options: dict[str, Any], operands: list[Known]) -> Known:
    of = operands[0].compute
    return Known(lambda values: of(values) is None, bool)


def _first(options: dict[str, Any], operands: list[Known]) -> Known:
    """`coalesce` and `fill_null`."""
    _expect(len({each.kind for each in operands}) == 1 and options.get("strategy") is None)
    parts = [each.compute for each in operands]

    def compute(values: list[Any]) -> Any:
        found = [part(values) for part in parts]
        return next((value for value in found if value is not None), None)

    return Known(compute, operands[0].kind)


def _chosen(options: dict[str, Any], operands: list[Known]) -> Known:
    condition, *branches = operands
    _expect(condition.kind is bool and len({each.kind for each in branches}) == 1)
    asked, then = condition.compute, branches[0].compute
    otherwise = branches[1].compute if len(branches) > 1 else lambda values: None
    return Known(lambda values: (then if asked(values) else otherwise)(values), branches[0].kind)


def _is_in(options: dict[str, Any], operands: list[Known]) -> Known:
    wanted = [each for each in options["other"] if each is not None]
    _expect(operands[0].kind in (int, str, date) and all(type(each) is operands[0].kind for each in wanted))
    among = frozenset(wanted)
    return _null_if_any(bool, among.__contains__, operands[0])


def _of_text(function: Callable[..., Any], kind: type = str) -> Function:
    """A function of texts, whose arguments are texts, too."""

    def translate(options: dict[str, Any], operands: list[Known]) -> Known:
        _expect(all(each.kind is str for each in operands))
        return _null_if_any(kind, function, *operands)

    return translate


def _contains(options: dict[str, Any], operands: list[Known]) -> Known:
    _expect(options["literal"] is True)
    return _of_text(operator.contains, bool)(options, operands)


def _of_ascii(function: Callable[[str], str]) -> Callable[[str], str]:
    def compute(text: str) -> str:
        if not text.isascii():
            raise Unsure
        return function(text)

    return compute


def _slice(options: dict[str, Any], operands: list[Known]) -> Known:
    start, length = options["offset"], options["length"]
    _expect(start >= 0 and operands[0].kind is str)
    part = slice(start, None if length is None else start + length)
    return _null_if_any(str, lambda text: text[part], operands[0])


def _strip(options: dict[str, Any], operands: list[Known]) -> Known:
    characters = string.whitespace if options["characters"] is None else options["characters"]
    return _of_text(lambda text: text.strip(characters))(options, operands[:1])


def _joined(options: dict[str, Any], operands: list[Known]) -> Known:
    _expect(all(each.kind is str for each in operands) and not options["ignore_nulls"])
    parts, separator = [each.compute for each in operands], options["separator"]

    def compute(values: list[Any]) -> str | None:
        texts = [part(values) for part in parts]
        return None if None in texts else separator.join(texts)

    return Known(compute, str)


def _field(name: str) -> Function:
    def translate(options: dict[str, Any], operands: list[Known]) -> Known:
        _expect(operands[0].kind is datetime or (operands[0].kind is date and name in ("year", "month", "day")))
        return _null_if_any(int, operator.attrgetter(name), operands[0])

    return translate


def _cast(options: dict[str, Any], operands: list[Known]) -> Known:
    made = {nw.Float64: float, nw.String: str, nw.Int64: int}.get(options["dtype"])
    _expect(made is not None and operands[0].kind is int)
    assert made is not None
    return _null_if_any(made, made, operands[0])


def _window_start(options: dict[str, Any], operands: list[Known]) -> Known:
    return _window_bound(operands[0], options.get("every"), lambda number, every: number - number % every)


def _window_end(options: dict[str, Any], operands: list[Known]) -> Known:
    return _window_bound(operands[0], options["size"], operator.add)


def _window_bound(of: Known, duration: Any, bound: Callable[[int, int], int]) -> Known:
    """The bound of a window, computed in integers or in microseconds."""
    _expect(of.kind in (int, datetime, date))
    if of.kind is int:
        _expect(duration is None or type(duration) is int)
        return _null_if_any(int, lambda x: x if duration is None else _in_range(bound(x, duration)), of)
    _expect(duration is None or type(duration) is timedelta)
    span = None if duration is None else duration // MICROSECOND

    def compute(moment: Any) -> datetime:
        start: datetime = moment if of.kind is datetime else datetime(moment.year, moment.month, moment.day)
        if span is None:
            return start
        try:
            return EPOCH + bound((start - EPOCH) // MICROSECOND, span) * MICROSECOND
        except OverflowError:
            raise Unsure from None

    return _null_if_any(datetime, compute, of)


FUNCTIONS: dict[str, Function] = {
    "window_start": _window_start,
    "window_end": _window_end,
    "__add__": _arithmetic(operator.add),
    "__sub__": _arithmetic(operator.sub),
    "__rsub__": _reflected(_arithmetic(operator.sub)),
    "__mul__": _arithmetic(operator.mul),
    "__truediv__": _quotient,
    "__rtruediv__": _reflected(_quotient),
    "__floordiv__": _division(operator.floordiv),
    "__rfloordiv__": _reflected(_division(operator.floordiv)),
    "__mod__": _division(operator.mod),
    "__rmod__": _reflected(_division(operator.mod)),
    "__neg__": _of_number(operator.neg),
    "abs": _of_number(abs),
    "__eq__": _comparison(operator.eq, PLAIN),
    "__ne__": _comparison(operator.ne, PLAIN),
    "__lt__": BELOW,
    "__le__": AT_MOST,
    "__gt__": ABOVE,
    "__ge__": AT_LEAST,
    "is_between": _between,
    "__and__": _and,
    "__or__": _or,
    "__invert__": _not,
    "all_horizontal": _and,
    "any_horizontal": _or,
    "is_null": _is_null,
    "fill_null": _first,
    "coalesce": _first,
    "when_then": _chosen,
    "is_in": _is_in,
    "cast": _cast,
    "concat_str": _joined,
    "str.contains": _contains,
    "str.starts_with": _of_text(str.startswith, bool),
    "str.ends_with": _of_text(str.endswith, bool),
    "str.len_chars": _of_text(len, int),
    "str.slice": _slice,
    "str.strip_chars": _strip,
    "str.to_uppercase": _of_text(_of_ascii(str.upper)),
    "str.to_lowercase": _of_text(_of_ascii(str.lower)),
    **{f"dt.{name}": _field(name) for name in ("year", "month", "day", "hour", "minute", "second")},
}
"""The functions that Python computes as Arrow does, for the types that they expect."""

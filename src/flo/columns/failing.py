"""Which columns of an expression can fail for a row: by the functions that are called and the types of their operands.

Integers and decimals may leave their range, texts may not be readable in a cast, times may lie beyond the calendar.
What is listed here has a result for every row. A function that is missing from the list is only computed needlessly.
"""

from __future__ import annotations

from flo.columns.evaluation import ColumnFunction, FunctionCall
from flo.columns.expression import Expression
from flo.columns.node_functions import COMPARISONS

TOTAL = frozenset(
    {
        *COMPARISONS,
        *("col", "lit", "result", "alias", "when_then", "coalesce", "fill_null", "struct", "struct.field"),
        *("__and__", "__or__", "__invert__", "all_horizontal", "any_horizontal", "is_null", "is_in", "is_between"),
        *("is_nan", "is_finite", "str.len_chars", "str.starts_with", "str.ends_with"),
        *("str.to_lowercase", "str.to_uppercase", "str.strip_chars"),
    }
)
"""Functions with a result for all operands that their types allow."""
TOTAL_OF_FLOATS = frozenset(
    {"__add__", "__sub__", "__rsub__", "__mul__", "__truediv__", "__rtruediv__", "__neg__", "abs"}
)
"""Functions with a result if an operand is a float and the others are numbers: there are infinities."""
FLOATS = ("double", "float")


def can_fail(f: Expression, name: str) -> bool:
    """Return whether a column of the result may raise for a row."""
    given = f.given[name]
    if isinstance(given, str):
        return False
    if isinstance(given, ColumnFunction):
        return given.can_fail
    return not all(map(_is_total, Expression({name: given}, f.inputs, None, f.arguments).calls))


def _is_total(call: FunctionCall) -> bool:
    if call.function in TOTAL:
        return True
    kinds = [kind.removeprefix("literal ") for kind in call.operands]
    return call.function in TOTAL_OF_FLOATS and any(kind in FLOATS for kind in kinds)

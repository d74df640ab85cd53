"""Which column expressions Catalyst may run itself: those that give what they give here, for all values.

An expression is pushed down only if every function that it calls is listed, for the types that it is called on. Tests
compare each entry with Spark on values that tell engines apart, and an entry without such a test fails. Among those
that are not listed are arithmetic (Spark raises errors of its own where integers overflow), comparisons of floats (to
Spark nan is the largest number and equal to itself), regular expressions (the two have other rules for `$`, `.` and
blanks), the case of letters, and times in zones. What is not pushed down runs on Arrow inside the stage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from flo.columns.evaluation import Call
from flo.columns.expression import Expression
from flo.spark.tasks.arriving import OFFSET, PARTITION
from flo.tables.io.files import WEIGHTS

PASSED = ("int64", "double", "bool", "string", "binary", "date32[day]", "timestamp[us]")
"""The types whose columns come out of Spark as they went in."""
COMPARED = ("int64", "string", "bool", "date32[day]")
"""The types that Spark compares as Arrow does: texts by their bytes in UTF-8."""
ORDERED = ("int64", "string", "date32[day]")
LITERALS = ("literal int64", "literal string", "literal bool")
COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__")
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Key = tuple[str, tuple[str, ...]]
Allowed = Callable[[Mapping[str, Any]], bool]


def _always(options: Mapping[str, Any]) -> bool:
    return True


def _is_plain_value(options: Mapping[str, Any]) -> bool:
    return options["value"] is not None and options["dtype"] is None


def _by_kleene(options: Mapping[str, Any]) -> bool:
    return options["ignore_nulls"] is False


def _is_literal_pattern(options: Mapping[str, Any]) -> bool:
    return options["literal"] is True


def _is_list_of(kind: type) -> Allowed:
    """Whether an option is a list of some values of a type, without None."""
    return lambda options: (
        isinstance(options["other"], (list, tuple))
        and bool(options["other"])
        and all(type(each) is kind for each in options["other"])
    )


def _either_side(kind: str) -> list[tuple[str, str]]:
    """Two columns of a type, or a column and a literal; a literal date has no place in an expression on Spark."""
    literal = f"literal {kind}"
    return [(kind, kind), (kind, literal)] if literal in LITERALS else [(kind, kind)]


ALLOWED: dict[Key, Allowed] = {
    **{("col", (kind,)): _always for kind in PASSED},
    **{("result", (kind,)): _always for kind in PASSED},
    **{("lit", (kind,)): _is_plain_value for kind in LITERALS},
    **{(name, both): _always for name in ("__eq__", "__ne__") for kind in COMPARED for both in _either_side(kind)},
    **{(name, both): _always for name in COMPARISONS for kind in ORDERED for both in _either_side(kind)},
    **{(name, both): _always for name in ("__and__", "__or__") for both in _either_side("bool")},
    ("__invert__", ("bool",)): _always,
    **{("all_horizontal", ("bool",) * count): _by_kleene for count in (1, 2, 3)},
    **{("is_null", (kind,)): _always for kind in PASSED},
    **{("fill_null", both): _always for kind in COMPARED for both in _either_side(kind)},
    **{
        ("is_between", (kind, low, high)): _always
        for kind in ("int64", "string")
        for low, high in product((kind, f"literal {kind}"), repeat=2)
    },
    ("is_in", ("int64",)): _is_list_of(int),
    ("is_in", ("string",)): _is_list_of(str),
    **{(f"str.{name}", ("string", "literal string")): _always for name in ("starts_with", "ends_with")},
    ("str.contains", ("string", "literal string")): _is_literal_pattern,
    **{("when_then", ("bool", kind, kind)): _always for kind in COMPARED},
    ("when_then", ("bool", "string", "literal string")): _always,
}
"""By function and types of its operands: whether its options allow it too."""


RESERVED = (WEIGHTS, PARTITION, OFFSET)
"""Columns that may stand beside those of the rows."""


def runs_in_catalyst(expression: Expression) -> bool:
    """Whether Spark gives the same for every row, in the same columns."""
    flat = expression.schema.names == list(expression.layout.names)  # and no rows in one column
    names = (*expression.inputs[0].names, *RESERVED), (*expression.layout.names, *RESERVED)
    return flat and all(map(_is_allowed, expression.calls)) and all(map(are_told_apart, names))


def are_told_apart(names: Iterable[str]) -> bool:
    """Whether each name means one column to Spark, which takes dots for fields and looks at no case."""
    known = list(dict.fromkeys(names))
    return all(map(PLAIN_NAME.fullmatch, known)) and len({name.lower() for name in known}) == len(known)


def _is_allowed(call: Call) -> bool:
    allowed = ALLOWED.get((call.function, call.operands))
    return allowed is not None and allowed(call.options)

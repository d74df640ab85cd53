"""Expressions that Python computes for one row: for random expressions and rows, it gives the same as Arrow."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, NamedTuple

import narwhals as nw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.evaluation import every_node
from flo.columns.expression import MISSING, Expression
from flo.columns.functions import call
from flo.columns.layout import Layout
from flo.columns.one_row import FUNCTIONS
from tests.quick import tried


class Row(NamedTuple):
    a: int
    b: int | None
    x: float
    y: float | None
    s: str
    t: str | None
    p: bool
    q: bool | None
    day: date
    at: datetime | None


LAYOUT = Layout.of(Row)
INTEGERS = st.sampled_from([0, 1, -1, 2, 7, -(2**63), 2**63 - 1, 2**53 + 1, 2**62]) | st.integers(-9, 9)
FLOATS = st.sampled_from([0.0, -0.0, 0.5, math.nan, math.inf, -math.inf, 2.0**53, 1e308, 2.0**63, -3.0])
TEXTS = st.sampled_from(
    ["", "a", "ab", "A b", " a\n", "ß", "İ", "\x85", "\u2028", "e\u0301", "😀a", "-", "\x00", "\ud800"]
)
DAYS = st.sampled_from([date(2024, 2, 29), date(1, 1, 1), date(1969, 12, 31)])
MOMENTS = st.sampled_from(
    [datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1969, 12, 31, 1), datetime(9999, 12, 31)]
)
ROWS = st.builds(
    Row,
    INTEGERS,
    st.none() | INTEGERS,
    FLOATS,
    st.none() | FLOATS,
    TEXTS,
    st.none() | TEXTS,
    st.booleans(),
    st.none() | st.booleans(),
    DAYS,
    st.none() | MOMENTS,
)
COMPARED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
SIGNS = [operator.add, operator.sub, operator.mul]
Made = st.SearchStrategy[nw.Expr]


def applied(functions: list[Callable[..., Any]], *operands: Made) -> Made:
    return st.builds(lambda function, *given: function(*given), st.sampled_from(functions), *operands)


def trees(depth: int) -> dict[str, Made]:
    """Expressions of integers, floats, texts, bools and times, of some depth."""
    plain: dict[str, Made] = {
        "int": st.sampled_from([nw.col("a"), nw.col("b"), nw.lit(3), nw.lit(-1), nw.lit(2**62)]),
        "float": st.sampled_from([nw.col("x"), nw.col("y"), nw.lit(0.5)]),
        "str": st.sampled_from([nw.col("s"), nw.col("t"), nw.lit("a")]),
        "bool": st.sampled_from([nw.col("p"), nw.col("q")]),
    }
    if not depth:
        return plain
    of = trees(depth - 1)
    whole, number, text, truth = (of[name] for name in ("int", "float", "str", "bool"))
    fields = [nw.col("at").dt.year(), nw.col("at").dt.minute(), nw.col("day").dt.month()]
    joined: Made = st.builds(lambda x, y: nw.concat_str(x, nw.lit("-"), y), text, text)

    def chosen(part: Made) -> Made:
        whether = st.builds(lambda c, x, y: nw.when(c).then(x).otherwise(y), truth, part, part)
        return whether | st.builds(lambda c, x: nw.when(c).then(x), truth, part) | st.builds(nw.coalesce, part, part)

    made = {
        "int": applied([*SIGNS, operator.floordiv, operator.mod], whole, whole)
        | applied([operator.neg, abs_of, lambda x: 5 - x, lambda x: x // 2, lambda x: 7 % x], whole)
        | st.builds(lambda x: x.str.len_chars(), text)
        | st.sampled_from(fields)
        | st.builds(lambda x, y: x.fill_null(y), whole, whole),
        "float": applied([*SIGNS, operator.truediv], number, whole | number)
        | applied([operator.truediv], whole, whole)
        | applied([operator.neg, abs_of, lambda x: 1 / x], number)
        | st.builds(lambda x: x.cast(nw.Float64), whole),
        "str": joined
        | applied(
            [
                lambda x: x.str.to_uppercase(),
                lambda x: x.str.to_lowercase(),
                lambda x: x.str.slice(1, 2),
                lambda x: x.str.head(1),
                lambda x: x.str.strip_chars(),
                lambda x: x.str.strip_chars("aß"),
            ],
            text,
        )
        | st.builds(lambda x: x.cast(nw.String), whole),
        "bool": applied(COMPARED, whole | number, whole | number)
        | applied(COMPARED, text, text)
        | applied([operator.and_, operator.or_], truth, truth)
        | applied([operator.eq, operator.ne], truth, truth)
        | applied([operator.invert, lambda x: x.is_null()], truth)
        | st.builds(lambda x, y: nw.any_horizontal(x, y, ignore_nulls=True), truth, truth)
        | st.builds(lambda x, y: nw.all_horizontal(x, y, ignore_nulls=False), truth, truth)
        | st.builds(lambda x, y, z: x.is_between(y, z, closed="left"), whole, whole, number)
        | applied([lambda x: x.is_in([1, -1, None]), lambda x: x.is_in([])], whole)
        | applied([lambda x: x.str.starts_with("a"), lambda x: x.str.contains("-", literal=True)], text)
        | applied([lambda x: x.str.ends_with("b"), lambda x: x.is_in(["a", ""])], text)
        | st.just(nw.col("day") < date(2024, 1, 1))
        | st.just(nw.col("at") >= datetime(1969, 12, 31, 1)),
    }
    return {name: plain[name] | each | chosen(of[name]) for name, each in made.items()}


def abs_of(number: nw.Expr) -> nw.Expr:
    return number.abs()


MADE = trees(3)


@given(st.one_of(*MADE.values()), st.lists(ROWS, min_size=1, max_size=4))
@tried(150)
def test_python_and_arrow_give_the_same(given_expression: nw.Expr, rows: list[Row]) -> None:
    _expect_same(given_expression, rows)


def _expect_same(of: nw.Expr, rows: list[Row]) -> None:
    try:
        expression = Expression({"result": of}, (LAYOUT,))
    except flo.TypeMismatch as error:
        if "integer out of range" in str(error):
            return  # of constants
        raise
    assert expression._direct is not None, of
    for row in rows:
        found = expression._direct((row,))
        if found is not MISSING:
            (expected,) = expression._of_elements([row])
            assert repr(found) == repr(expected), (of, row)


A, X, S, P, AT = (nw.col(name) for name in ("a", "y", "t", "q", "at"))
EACH = {
    **{f"__{function.__name__.strip('_')}__": function(A, nw.col("b")) for function in (*SIGNS, *COMPARED)},
    **{f"__{function.__name__}__": function(A, nw.col("b")) for function in (operator.floordiv, operator.mod)},
    **{f"dt.{name}": getattr(AT.dt, name)() for name in ("year", "month", "day", "hour", "minute", "second")},
    "__truediv__": A / X,
    "__rsub__": 1 - A,
    "__rtruediv__": 1 / X,
    "__rfloordiv__": 7 // A,
    "__rmod__": 7 % A,
    "__neg__": -X,
    "__and__": P & nw.col("p"),
    "__or__": P | nw.col("p"),
    "__invert__": ~P,
    "abs": X.abs(),
    "all_horizontal": nw.all_horizontal("p", "q", ignore_nulls=True),
    "any_horizontal": nw.any_horizontal("p", "q", ignore_nulls=False),
    "cast": A.cast(nw.String),
    "coalesce": nw.coalesce("y", "x"),
    "concat_str": nw.concat_str("s", "t", separator="+"),
    "fill_null": S.fill_null("none"),
    "is_between": X.is_between(-1, nw.col("x"), closed="none"),
    "is_in": S.is_in(["ß", ""]),
    "is_null": AT.is_null(),
    "when_then": nw.when(P).then(X),
    "str.contains": S.str.contains("a", literal=True),
    "str.ends_with": S.str.ends_with("\n"),
    "str.len_chars": S.str.len_chars(),
    "str.slice": S.str.slice(1),
    "str.starts_with": S.str.starts_with(""),
    "str.strip_chars": S.str.strip_chars(),
    "str.to_lowercase": S.str.to_lowercase(),
    "str.to_uppercase": S.str.to_uppercase(),
    "window_end": call("window_end", ("a",), size=5),
    "window_start": call("window_start", ("at",)),
}


def test_there_is_an_example_of_each() -> None:
    assert set(EACH) == set(FUNCTIONS)
    assert all(name in {node.name for node in every_node(each)} for name, each in EACH.items())


@pytest.mark.parametrize("name", EACH)
@given(rows=st.lists(ROWS, min_size=5, max_size=20))
@tried(10)
def test_each_function(name: str, rows: list[Row]) -> None:
    _expect_same(EACH[name], rows)


@pytest.mark.parametrize("wrong", [2**63, True, 1.0, None, "1"])
def test_values_of_another_type_are_left_to_arrow(wrong: Any) -> None:
    expression = Expression(nw.col("a") + 1, (LAYOUT,))
    row = Row(wrong, None, 0.0, None, "", None, True, None, date(2024, 1, 1), None)
    assert expression._direct is not None
    assert expression._direct((row,)) is MISSING


def test_errors_are_those_of_tables() -> None:
    row = Row(2**63 - 1, None, 0.0, None, "", None, True, None, date(2024, 1, 1), None)
    with pytest.raises(flo.ElementError, match="integer out of range"):
        Expression(nw.col("a") + 1, (LAYOUT,))(row)


def test_one_row_costs_microseconds() -> None:
    expression = Expression((nw.col("a") * 2 > 3) & (nw.col("s") == "a"), (LAYOUT,))
    rows = [Row(n, None, 0.0, None, "a", None, True, None, date(2024, 1, 1), None) for n in range(1000)]
    expression(rows[0])
    best = math.inf
    for start in range(0, 1000, 100):
        before = time.thread_time()
        for row in rows[start : start + 100]:
            expression(row)
        best = min(best, (time.thread_time() - before) / 100)
    assert best < 20e-6, "about 2 µs; a table of one row takes 100"

"""Expressions on Arrow give what batch Spark gives, bit for bit, on extreme values; errors included.

The cases follow from the registry: every class, with all types of operands and modes that it declares.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from flo.sql.catalyst import UnsupportedQueryError, unicode_of
from flo.sql.compiler import expect_computable
from flo.sql.functions.texts import lower, upper
from flo.sql.nodes import Expr, column, evaluate, literal
from flo.sql.registry import MODES, functions, is_computed
from tests.sql import expressions_page
from tests.sql.expression_cases import Case, all_cases
from tests.sql.expression_harness import (
    Planned,
    RowByRow,
    condition_of,
    differences,
    in_spark,
    needed,
    on_arrow,
    plan_all,
    session,
)
from tests.sql.extremes import TYPES, extreme_table

SAMPLE = 9
"""`make test` runs each so many cases."""
FEW_ROWS = 7
"""And only each so many rows of expressions with several columns."""


def compare(spark: Any, cases: Sequence[Case], mode: str, table: pa.Table, *, errors: int = 40) -> list[str]:
    """Return how the results of expressions differ between Arrow and Spark.

    Of the rows that fail on Arrow, about so many `errors` of each expression are compared."""
    faults: list[str] = []
    with session(spark, mode) as own:
        planned = plan_all(own, list(dict.fromkeys(case.sql for case in cases)), table)
        asked = [each for each in planned if isinstance(each, Planned) and is_computed(each.node)]
        found = [on_arrow(each, needed(each, table)) for each in asked]
        for each, arrow in zip(asked, found, strict=True):
            faults += _faults_of_parts(each, arrow, table)
        for start in range(0, len(asked), 100):
            some = asked[start : start + 100]
            for each, arrow, wanted in zip(some, found[start:], in_spark(own, some, table), strict=False):
                faults += _faults(each, arrow, wanted)
        rows = RowByRow(own, table)
        for each in asked:
            failing = sorted(each.failing)
            for row, condition in rows.conditions(each, failing[:: max(1, len(failing) // errors)]):
                if condition != each.failing[row]:
                    faults.append(f"{each.sql}: row {row} raises {each.failing[row]}; Spark: {condition}")
    return [f"{mode} {fault}" for fault in faults]


def _faults(given: Planned, arrow: pa.Array, wanted: pa.Array | Exception) -> list[str]:
    if isinstance(wanted, Exception):
        return [f"{given.sql}: Spark raises {condition_of(wanted)} for a row that has a result on Arrow"]
    if arrow.type != given.node.type:
        return [f"{given.sql}: the result has type {arrow.type}; Spark: {given.node.type}"]
    wrong = differences(arrow, wanted.slice(0, len(arrow)))
    return [f"{given.sql}: row {row} is {arrow[row]}; Spark: {wanted[row]}" for row in wrong[:3]]


def _faults_of_parts(given: Planned, arrow: pa.Array, table: pa.Table) -> list[str]:
    """Without rows there are no results, and results do not depend on where rows lie in a column."""
    if given.failing:
        return []
    half = len(arrow) // 2
    for start, count in ((0, 0), (half, len(arrow) - half)):
        part = on_arrow(given, table.slice(start, count))
        if part.type != arrow.type or len(part) != count or differences(part, arrow.slice(start, count)):
            return [f"{given.sql}: {count} rows from row {start} on have other results alone"]
    return []


@pytest.mark.parametrize("mode", MODES)
def test_a_sample_of_expressions(spark, mode):
    table = extreme_table()
    cases = [case for case in all_cases() if case.mode == mode][::SAMPLE]
    some = pa.concat_tables(
        [table.slice(0, 60), table.slice(60).take(pa.array(range(0, table.num_rows - 60, FEW_ROWS)))]
    )
    assert len(cases) > 10
    assert not compare(spark, cases, mode, some, errors=5)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("part", range(4))
def test_all_expressions(spark, mode, part):
    cases = [case for case in all_cases() if case.mode == mode][part::4]
    assert not compare(spark, cases, mode, extreme_table())


@pytest.mark.thorough
def test_the_case_of_every_character(spark):
    """Letters that a new version of Unicode adds are the ones that differ first."""
    unicode = unicode_of(spark)
    signs = [chr(number) for number in range(0x20000) if not 0xD800 <= number < 0xE000]
    spark.createDataFrame(pa.table({"sign": signs})).createOrReplaceTempView("signs")
    wanted = spark.sql("SELECT sign, upper(sign), lower(sign) FROM signs").toArrow().to_pydict().values()
    assert not [
        sign for sign, *cases in zip(*wanted, strict=True) if cases != [upper(sign, unicode), lower(sign, unicode)]
    ]


@pytest.mark.thorough
def test_every_signature_has_a_case(spark):
    """A case counts if the optimiser left the class in the plan, with operands that the signature accepts."""
    reached = defaultdict(set)
    for mode in MODES:
        cases = [case for case in all_cases() if case.mode == mode]
        with session(spark, mode) as own:
            planned = plan_all(own, [case.sql for case in cases], extreme_table())
        for case, each in zip(cases, planned, strict=True):
            if isinstance(each, Planned) and is_computed(each.node):
                signatures = functions()[case.function].signatures
                reached[case.function, mode] |= {
                    place
                    for node in each.node.walk()
                    if node.name == case.function
                    for place, signature in enumerate(signatures)
                    if signature.accepts(node)
                }
    missing = [
        f"{function.name}: {expressions_page._text(signature)}, {mode}"
        for function in functions().values()
        if function.sql is not None
        for place, signature in enumerate(function.signatures)
        for mode in signature.modes or ("ANSI",)
        if place not in reached[function.name, mode]
    ]
    assert not missing


@pytest.mark.parametrize(
    ("position", "length", "found"),
    [
        (2, 2, "bc"),
        (0, 2, "ab"),
        (-2, 1, "c"),
        (-2, 9, "cd"),
        (9, 1, ""),
        (1, -1, ""),
        (None, 1, None),
        (1, None, None),
    ],
)
def test_a_part_of_a_text(position: int | None, length: int | None, found: str | None) -> None:
    from flo.columns.evaluation import InputRows

    numbers = [literal(each, pa.int32()) for each in (position, length)]
    node = Expr("Substring", pa.string(), True, (column("x", pa.string(), True), *numbers))
    assert evaluate(node, InputRows.of(pa.table({"x": ["abcd"]}))).to_pylist() == [found]


def test_every_signature_has_a_text():
    """Without Spark: a case in SQL is made for each signature and mode."""
    made = {(case.function, case.signature, case.mode) for case in all_cases()}
    for function in functions().values():
        for place, signature in enumerate(function.signatures if function.sql is not None else ()):
            for mode in signature.modes or ("ANSI",):
                assert (function.name, place, mode) in made


def test_the_values_are_extreme():
    table = extreme_table()
    for name, (kind, values) in TYPES.items():
        assert None in values
        assert table.schema.field(f"a_{name}").type == kind
        assert table.num_rows > len(values)


def test_what_is_not_listed_is_rejected():
    texts = column("a", pa.string(), True), column("b", pa.string(), True)
    cast = Expr("Cast", pa.string(), True, (column("x", pa.float64(), True),), (("mode", "ANSI"),))
    for node in (Expr("RLike", pa.bool_(), True, texts), cast, Expr("Add", pa.string(), True, texts)):
        assert not is_computed(node)
        with pytest.raises(UnsupportedQueryError, match=node.name) as caught:
            expect_computable(Expr("IsNull", pa.bool_(), False, (node,)))
        assert node.described in str(caught.value)


def test_a_row_with_a_null_does_not_reach_the_next_operand():
    from flo.columns.evaluation import InputRows

    one, zero = column("a", pa.int64(), True), column("b", pa.int64(), True)
    rest = Expr("Remainder", pa.int64(), True, (literal(1, pa.int64()), zero), (("mode", "ANSI"),))
    node = Expr("Add", pa.int64(), True, (one, rest), (("mode", "ANSI"),))
    rows = InputRows.of(pa.table({"a": pa.array([None, 5], pa.int64()), "b": pa.array([0, 1], pa.int64())}))
    assert evaluate(node, rows).to_pylist() == [None, 5]


def test_floats_of_keys_have_one_zero_and_one_nan():
    from flo.columns.evaluation import InputRows

    node = Expr("NormalizeNaNAndZero", pa.float64(), True, (column("x", pa.float64(), True),))
    rows = InputRows.of(pa.table({"x": pa.array([-0.0, 0.0, -float("nan"), -1.5, None], pa.float64())}))
    found = evaluate(node, rows)
    assert [struct.pack("<d", each) for each in found.to_pylist()[:3]] == [
        struct.pack("<d", each) for each in (0.0, 0.0, float("nan"))
    ]
    assert found.to_pylist()[3:] == [-1.5, None]


def test_the_page_of_expressions_is_current():
    assert expressions_page.PAGE.read_text(encoding="utf-8") == expressions_page.page(), (
        "run `python -m tests.sql.expressions_page`"
    )

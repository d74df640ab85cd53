"""Every example of docs/expressions.md, on values, on tables and in DuckDB: with nulls and extreme values."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from tests.engines.engine import Engine, comparable
from tests.relational.expression_examples import EXAMPLES, Example, Maybe, Row, rows, rows_with_nulls
from tests.relational.expressions_table import PAGE, page
from tests.relational.harness import is_close, plain
from tests.relational.refused_expressions import REFUSED
from tests.spark.simulated import as_plain

pytestmark = pytest.mark.every(check=3)

FAILS = "an error"
KINDS = {"without nulls": (Row, rows), "with nulls": (Maybe, rows_with_nulls)}


@pytest.fixture(scope="module")
def database() -> Any:
    with duckdb.connect() as found:
        found.execute("SET TimeZone = 'Europe/Berlin'; SET threads = 1")
        for name, (kind, some) in KINDS.items():
            layout = Layout.of(kind)
            assert layout is not None
            found.register(name.replace(" ", "_"), layout.to_table(some()))
        yield found


def outcome(function: Any, row: Any) -> Any:
    """What a function gives for a row, or that it fails."""
    try:
        return function(row)
    except flo.ElementError:
        return FAILS


def same(found: Any, expected: Any, close: bool) -> bool:
    if close and FAILS not in (found, expected):
        return is_close(found, expected)
    return repr(plain(found)) == repr(plain(expected))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.text)
def test_example(example: Example, name: str, database: Any) -> None:
    kind, some = KINDS[name]
    layout, data = Layout.of(kind), some()
    assert layout is not None
    expression = Expression({"result": example.expression}, (layout,))
    outcomes = [outcome(expression, row) for row in data]
    found = [each if each is FAILS else each.result for each in outcomes]

    fine = [row for row, each in zip(data, outcomes, strict=True) if each is not FAILS]
    table = expression.results(layout.to_table(fine))
    of_tables = [each.result for each in expression.layout.to_elements(table)]
    assert repr(of_tables) == repr([each for each in found if each is not FAILS]), "values and tables differ"
    again = Expression({"result": example.expression}, (layout,))
    again.prepare(data)
    assert repr([outcome(again, row) for row in data]) == repr(outcomes), "rows at once and alone differ"

    if example.expected is not None:
        expected = [outcome(example.expected, row) for row in data]
    else:
        query = f'SELECT TRY({example.duck or example.sql}) FROM "{name.replace(" ", "_")}"'
        expected = [value for (value,) in database.execute(query).fetchall()]
        expected = [
            FAILS if each is FAILS and value is None else value for each, value in zip(found, expected, strict=True)
        ]
    pairs = list(zip(data, found, expected, strict=True))
    wrong = [(row, one, other) for row, one, other in pairs if not same(one, other, example.close)]
    assert not wrong, "\n".join(f"{one!r} instead of {other!r} of {row}" for row, one, other in wrong[:3])
    assert any(each is not FAILS for each in found), "no row is computed"
    if name == "without nulls" and None in found:
        assert expression.schema.field("result").nullable


@pytest.mark.parametrize("text", REFUSED)
def test_refused_when_the_program_is_built(text: str) -> None:
    flow = flo.Flow("test")
    stream = flow.input("rows", flo.ZSet[Row])
    with pytest.raises(flo.FloError) as refused:
        stream.select(result=Example(text, "").expression)
    assert REFUSED[text] in str(refused.value)
    here = "<string>" if text.startswith(("flo.regexp", "flo.split")) else "test_expressions_reference.py"
    assert here in str(refused.value), "the user's line"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.relational.expressions_table"


FAILING = {'c("s").cast(nw.Int64)', 'c("x").cast(nw.Int64)', 'c("a").cast(nw.Int8)'}
CALM = [each for each in EXAMPLES if each.text not in FAILING]
"""Examples that do not fail for calm rows."""


def calm_rows(some: list[Any]) -> list[Any]:
    return [row for row in some if row.a is None or abs(row.a) < 2**62]


@pytest.mark.parametrize("name", KINDS)
def test_all_examples_in_a_flow(name: str) -> None:
    """Through `select` on both engines."""
    kind, some = KINDS[name]
    data = calm_rows(some())
    flow = flo.Flow("examples")
    stream = flow.input("rows", flo.ZSet[kind])
    for number, each in enumerate(CALM):
        flow.output(f"e{number}", stream.select(result=each.expression))
    deltas = {row: n % 3 + 1 for n, row in enumerate(data)}
    on_values, here = flow.run(rows=deltas), flow.on(flo.here)
    on_tables = here.run(rows=deltas)
    for number, (each, kind) in enumerate(zip(CALM, here._dag.output_types, strict=True)):
        found = as_plain(kind, on_tables[f"e{number}"])
        assert comparable(found) == comparable(on_values[f"e{number}"]), each.text


def test_all_examples_on_every_engine(engine: Engine) -> None:
    """All in one `select`, of rows with nulls."""
    flow = flo.Flow("examples")
    stream = flow.input("rows", flo.ZSet[Maybe])
    flow.output("found", stream.select(**{f"e{number}": each.expression for number, each in enumerate(CALM)}))
    data = {row: n % 3 + 1 for n, row in enumerate(calm_rows(rows_with_nulls()))}
    expected = comparable(flow.run(rows=data)["found"])
    assert engine.run(flow, {"rows": data})["found"] == expected

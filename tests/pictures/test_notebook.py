"""What notebooks display: every class has HTML that is small, well-formed and escaped."""

from __future__ import annotations

from html import escape as html_escape
from typing import NamedTuple

import pytest

import flo
from flo.pictures.notebook import MOST_ROWS, html_of, html_table
from tests.pictures.test_pages import Checked, increment, race
from tests.seeded.operators import Hasty


class Sale(NamedTuple):
    item: str
    price: int


def sales() -> flo.Flow:
    flow = flo.Flow("sales")
    sold = flow.input("sold", flo.Sequence[Sale])
    flow.output("sold", sold)
    flow.output("prices", sold.map("price").fold_lattice(flo.Max(int)))
    flow.output("counted", sold.to_zset())
    return flow


def shown(thing: object) -> str:
    html: str = thing._repr_html_()  # type: ignore[attr-defined]
    Checked(html)
    assert "<script" not in html
    return html


def test_a_flow_is_its_picture() -> None:
    assert "<svg" in shown(sales())


def test_a_stream_has_its_type_and_line() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    html = shown(numbers.map(increment))
    assert "the result of map" in html
    assert "unbounded" in html
    assert "test_notebook.py:" in html


def test_a_stream_of_rows_has_a_line_for_each_column() -> None:
    sold = flo.Flow().input("sold", flo.ZSet[Sale])
    html = shown(sold.group_by("item").agg(revenue=flo.sum("price")))
    assert "<td>item</td><td>str</td>" in html
    assert "<td>revenue</td><td>int</td>" in html
    assert "Annotated" not in html


def test_a_result_has_a_table_for_each_output() -> None:
    rows = [{"item": f"<{number}>", "price": number} for number in range(30)]
    html = shown(sales().run(sold=rows))
    assert "<th>item</th><th>price</th>" in html
    assert "&lt;3&gt;" in html
    assert "<3>" not in html
    assert f"… {30 - MOST_ROWS} more" in html
    assert "<td>29</td>" in html
    assert "<th>element</th><th>weight</th>" in html


def test_a_result_of_tables_and_its_plan_are_shown() -> None:
    here = sales().on(flo.here)
    assert "<th>item</th><th>price</th>" in shown(here.run(sold=[{"item": "a", "price": 1}]))
    assert "on tables" in shown(here)


def test_explorations_reports_and_replays_are_shown() -> None:
    flow = race()
    found = flow.explore(largest=[1, 2])
    html = shown(found)
    assert 'class="bad"' in html
    assert "eager execution" in html
    assert found.counterexample is not None
    assert html_escape(found.counterexample.reproduce) in shown(found.counterexample)
    assert "current-value" in shown(flow.replay(found.traces[0], largest=[1, 2]))
    assert "breaks a law" in shown(flo.verify.check(Hasty()))
    assert 'class="good"' in shown(flo.verify.check(increment, int))


def test_an_error_is_shown_with_its_line_and_its_fix() -> None:
    flow = flo.Flow()
    with pytest.raises(flo.FloError) as caught:
        flow.input("a<b", flo.Sequence[int]).last()
    html = shown(caught.value)
    assert "BoundednessError" in html
    assert "a&lt;b" in html
    assert "test_notebook.py:" in html


def test_long_cells_are_cut_and_the_whole_is_a_tooltip() -> None:
    html = html_table(("value",), [("x" * 500,)])
    assert f'title="{"x" * 500}"' in html
    assert html.count("x") < 650
    assert html_of("<plain>").count("&lt;plain&gt;") == 1

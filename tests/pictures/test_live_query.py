"""The page of a query that runs in this process, in a real browser: the program with its figures, phases, clocks,
shards, a search, SQL, errors and settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.local.query import LocalQuery
from tests.pictures.browser import CUT_OFF, IN_BROWSER, LOW_CONTRAST, Reader
from tests.pictures.live_sales import Shop, push, start

pytestmark = IN_BROWSER


@pytest.fixture
def query(tmp_path: Path) -> Iterator[LocalQuery]:
    with start(tmp_path / "state") as found:
        found.push(shops=[Shop(f"shop {each}", f"city {each % 2}") for each in range(7)])
        push(found, 0)
        found.push(shops=[{"name": "shop 9"}])
        with pytest.raises(flo.FloError):
            found.push(nothing=[])
        yield found


def mark(page: Any, name: str) -> str:
    return str(page.locator(f'[data-mark="{name}"]').text_content())


def test_a_page_shows_the_program_as_it_runs(query: LocalQuery, reader: Reader) -> None:
    push(query, 1)
    with query.ui() as server:
        page = reader.open(server.url)
        assert mark(page, "input sales") == "90 rows"
        assert mark(page, "verb 2").startswith("90 → 90 · ")
        assert mark(page, "output revenue") == "4 changes"
        page.get_by_role("button", name="all since the start").click()
        assert mark(page, "input sales") == "180 rows"
        assert mark(page, "verb 2").startswith("187 → 180 · ")
        push(query, 2)
        page.wait_for_function("() => document.querySelector('[data-mark=\"input sales\"]').textContent === '270 rows'")
        widths = [float(each.get_attribute("width")) for each in page.locator("[data-heat^=verb]").all()]
        most = [float(each.get_attribute("data-most")) for each in page.locator("[data-heat^=verb]").all()]
        shares = [width / whole for width, whole in zip(widths, most, strict=True)]
        assert max(shares) == pytest.approx(1, abs=0.01)
        assert min(shares) >= 0
        names = page.locator("#phases .legend .series").all_inner_texts()
        assert {"inputs", "operators", "state", "shuffle", "sinks", "commit"} <= set(names)
        page.locator("#phases .chart").focus()
        page.keyboard.press("Home")
        assert page.locator("#of-plan").inner_text() == "plan, at micro-batch 0"
        assert page.locator("#phases .frame").count() == 1
        rows = page.locator("#clocks tbody tr")
        assert rows.first.locator("td").first.inner_text() == "2"
        assert rows.first.get_attribute("class") == "behind"
        assert page.locator("#shards .card").count() == 3
        assert page.locator("#shards .card").first.locator(".column").count() == 3
        page.close()  # before its server


def test_a_reader_searches_views_and_asks_in_sql(query: LocalQuery, reader: Reader) -> None:
    pytest.importorskip("duckdb")
    with query.ui() as server:
        page = reader.open(server.url)
        page.wait_for_function("() => document.querySelectorAll('.view[open] tbody tr').length === 2")
        page.get_by_label("search revenue").fill("CITY 1")
        page.wait_for_function("() => document.querySelectorAll('.view[open] tbody tr').length === 1")
        assert page.locator(".view[open] td").first.inner_text() == "city 1"
        push(query, 1)  # the rows that were found stay
        page.wait_for_function("() => document.querySelector('.view[open] summary').textContent.includes('version 3')")
        assert page.locator(".view[open] tbody tr").count() == 1
        page.get_by_label("search revenue").fill("")
        page.wait_for_function("() => document.querySelectorAll('.view[open] tbody tr').length === 2")
        editor = page.get_by_label("a SELECT on the views")
        editor.fill('SELECT city AS "where", revenue > 0 AS pays FROM revenue ORDER BY 1 DESC')
        editor.press("Control+Enter")
        page.wait_for_selector("#sql tbody tr")
        assert page.locator("#sql td").all_inner_texts() == ["city 1", "True", "city 0", "True"]
        editor.fill("SELECT * FROM nowhere")
        page.get_by_role("button", name="run").click()
        page.wait_for_selector("#sql .found.bad")
        assert "nowhere does not exist" in page.locator("#sql .found").inner_text()
        assert page.locator("#sql table").count() == 0
        page.close()


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.thorough), 390])
def test_all_parts_fit_and_can_be_read_in_light_and_dark(
    query: LocalQuery, reader: Reader, width: int, tmp_path: Path
) -> None:
    query._watch.note_error(flo.FloError("a <b>price</b> is missing"))
    query.save(tmp_path / "run.html")
    shots = []
    for scheme in ("light", "dark"):
        page = reader.open(tmp_path / "run.html", width=width, scheme=scheme)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT_OFF) == []
        assert page.evaluate(LOW_CONTRAST) == []
        shots.append(page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True))
    assert shots[0] != shots[1]
    assert page.locator("#of-sql").is_hidden(), "nobody answers"
    assert page.locator("#errors pre").inner_text() == "a <b>price</b> is missing"
    assert page.locator("#errors td").all_inner_texts() == ["shops", "1", "the view “shops diverted” has them"]
    assert "in this process" in page.locator("#settings").inner_text()
    page.get_by_label("search revenue").fill("city 1")
    assert page.locator(".view").first.locator("tbody tr").count() == 1

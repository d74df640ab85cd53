"""The page of a run in a real browser: live and saved, by mouse and by keyboard, wide and narrow, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flo.pictures.run_history import History
from flo.pictures.run_page import run_page, save_run, view_data
from flo.pictures.serving import Answer, PageServer
from flo.pictures.svg import to_json
from tests.pictures.browser import IN_BROWSER, Reader
from tests.pictures.test_run_page import entry, page_data

pytestmark = IN_BROWSER
NOW = ("state", "error", "started", "now", "fill", "verbs", "shards", "clocks", "errors")


class Live:
    """A run whose page is served: one micro-batch after the other, as a test says."""

    def __init__(self) -> None:
        self.history = History()
        self.known = page_data(0, state="running")
        self.version = -1
        self.asked: list[dict[str, str]] = []

    def turn(self, **more: Any) -> None:
        self.version += 1
        figures = {"stage_bytes": {1: 1000 * self.version, 2: 10}, "lag": 0.6, "waiting": 3, **more}
        self.history.add(entry(self.version, 1500, **figures))

    def answer(self, asked: Any) -> str:
        self.asked.append(dict(asked))
        history = self.history.to_data(int(asked.get("grain", 0)), int(asked.get("count", 0)))
        view = view_data("out", self.version, ["name", "sum"], [["Ada", self.version]])
        names = [each["name"] for each in self.known["views"]]
        shown = [{**view, "name": names[int(place)]} for place in asked["views"].split(",") if place]
        now = {name: self.known[name] for name in NOW}
        return to_json({**now, "history": history, "views": shown})

    def serve(self) -> PageServer:
        page = Answer("text/html", lambda asked: run_page({**self.known, "history": self.history.to_data()}, live=True))
        return PageServer("run", {"/": page, "/data": Answer("application/json", self.answer)})


def text_of(page: Any, tile: str) -> str:
    return str(page.locator(".tile", has_text=tile).locator(".value").inner_text())


def wait_for(page: Any, tile: str, value: str) -> None:
    """Wait until the page has asked for more, and shows it."""
    found = f"[...document.querySelectorAll('.tile')].find(each => each.textContent.startsWith('{tile}'))"
    page.wait_for_function(f"() => {found}?.querySelector('.value').textContent === '{value}'")


def test_a_live_page_follows_the_run(reader: Reader) -> None:
    run = Live()
    with run.serve() as server:
        page = reader.open(server.url)
        assert text_of(page, "micro-batches") == "none yet"
        assert page.locator("#state").inner_text() == "running"
        run.turn()
        wait_for(page, "micro-batches", "1")
        run.turn(diverted={"in": 2})
        wait_for(page, "micro-batches", "2")
        assert (text_of(page, "rows in"), text_of(page, "lag")) == ("3,000", "600 ms")
        assert (text_of(page, "late rows"), text_of(page, "diverted rows")) == ("2", "2")
        assert "3 rows waiting" in page.locator(".tile", has_text="lag").inner_text()
        assert page.locator(".stage").nth(1).locator(".figure b").all_inner_texts() == ["1,500", "1 kB", "200 ms"]
        assert page.locator("svg polyline").first.get_attribute("points").count(",") == 2
        assert "version 1" in page.locator(".view summary").first.inner_text()
        assert page.locator(".view[open] td").all_inner_texts() == ["Ada", "1"]
        page.locator(".view summary").nth(1).focus()
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('.view[open] td').length === 4")
        assert run.asked[-1]["views"] == "0,1"
        run.known |= {"state": "failed", "error": "a <b>price</b> is missing"}
        page.wait_for_function("() => !document.getElementById('error').hidden")
        assert page.locator("#error").inner_text() == "a <b>price</b> is missing"
        assert page.locator("#state").inner_text() == "failed"


def test_a_live_page_stays_when_the_history_is_thinned_out(reader: Reader) -> None:
    run = Live()
    run.history.most = 6
    for _ in range(5):
        run.turn()
    with run.serve() as server:
        page = reader.open(server.url)
        for _ in range(8):
            run.turn()
        wait_for(page, "micro-batches", "13")
        assert page.evaluate("() => [grain, entries.length]") == [4, 4]
        assert "the mean of 4" in page.locator("#at").inner_text()
        page.close()  # before its server


def test_charts_are_read_by_mouse_and_by_keyboard(reader: Reader, tmp_path: Path) -> None:
    save_run(page_data(30), tmp_path / "run.html")
    page = reader.open(tmp_path / "run.html")
    at = page.locator("#at")
    chart = page.locator("#charts .chart").nth(3)
    chart.focus()
    page.keyboard.press("Home")
    assert at.inner_text().startswith("micro-batch 0,")
    assert page.locator("#of-plan").inner_text() == "plan, at micro-batch 0"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert at.inner_text().startswith("micro-batch 2,")
    assert chart.locator(".legend b").all_inner_texts() == ["2 kB", "10 B"]
    assert "stage 1 2 kB" in chart.get_attribute("aria-label")
    assert page.locator(".cursor").count() == 7, "all charts have the same cursor"
    page.keyboard.press("Escape")
    assert page.locator(".cursor").count() == 0
    lines = page.locator("#charts .chart svg").first
    box = lines.bounding_box()
    lines.hover(position={"x": box["width"] - 15, "y": 40})
    assert at.inner_text().startswith("micro-batch 29,")
    page.mouse.move(1, 1)
    assert page.locator(".cursor").count() == 0
    assert page.locator(".view td").first.inner_text() == "<i>Ada</i>"
    assert page.locator(".view").nth(1).locator("tr").count() == 22, "a head, 20 rows, and that there are more"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.every(test=2)
def test_the_page_fits_wide_and_narrow_windows_in_light_and_dark(reader: Reader, width: int, tmp_path: Path) -> None:
    save_run(page_data(30, error="the input `in` has no column `price`"), tmp_path / "run.html")
    shots = []
    for scheme in ("light", "dark"):
        page = reader.open(tmp_path / "run.html", width=width, scheme=scheme)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        cut = page.evaluate(
            "() => [...document.querySelectorAll('.tile .value, .figure b, .legend b, h1, h3')]"
            ".filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth).map(each => each.textContent)"
        )
        assert cut == []
        shots.append(page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True))
    assert shots[0] != shots[1]


def test_a_live_page_follows_a_fill(reader: Reader) -> None:
    run = Live()
    figures = {"rows": 300, "total": 1200, "seconds": 10.0, "rows_left": 900, "seconds_left": 45.0, "over": False}
    run.known |= {"state": "filling", "fill": figures}
    with run.serve() as server:
        page = reader.open(server.url)
        assert page.locator("#state").inner_text() == "filling"
        assert text_of(page, "rows being filled") == "300"
        assert "of 1,200, in 10 s, about 45 s left" in page.locator(".tile", has_text="filled").inner_text()
        run.known |= {"state": "running", "fill": figures | {"rows": 1200, "seconds": 55.0, "over": True}}
        run.turn()
        wait_for(page, "rows filled", "1,200")
        assert page.locator("#state").inner_text() == "running"
        assert "in 55 s" in page.locator(".tile", has_text="rows filled").inner_text()


def test_a_live_page_shows_the_rounds_of_the_last_micro_batch(reader: Reader) -> None:
    run = Live()
    with run.serve() as server:
        page = reader.open(server.url)
        run.turn(rounds={"reach": 4}, round_rows={"reach": 5})
        page.wait_for_function("() => document.querySelector('#plan').textContent.includes('4 rounds, 5 rows')")
        run.turn(rounds={"reach": 1}, round_rows={"reach": 1200})
        page.wait_for_function("() => document.querySelector('#plan').textContent.includes('1 round, 1,200 rows')")
        shown = page.locator(".stage").nth(1).inner_text()
        assert "fixpoint here.py:7" in shown
        assert "rounds" in page.locator("#charts").inner_text()

"""Pages in a real browser: no errors, no requests, and everything works by mouse and by keyboard."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flo
from examples.auctions import auctions
from flo.pictures.pages import save_stepper
from tests.pictures.browser import IN_BROWSER, Reader
from tests.pictures.test_pages import increment, race

pytestmark = IN_BROWSER


def bag_and_numbers() -> flo.Flow:
    flow = flo.Flow("both")
    flow.output("numbers", flow.input("numbers", flo.Sequence[int]).map(increment))
    flow.output("total", flow.input("bag", flo.Bag[int], bounded=True).map(increment).sum())
    return flow


def ink(page: Any) -> int:
    """How many pixels of the canvas are drawn."""
    return int(
        page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {"
            "const g = document.getElementById('graph');"
            "const c = new OffscreenCanvas(g.width, g.height).getContext('2d', {willReadFrequently: true});"
            "c.drawImage(g, 0, 0); const p = c.getImageData(0, 0, g.width, g.height).data;"
            "let n = 0; for (let i = 3; i < p.length; i += 4) n += p[i] > 0; done(n)})))"
        )
    )


def test_two_runs_side_by_side(reader: Reader, tmp_path: Path) -> None:
    race().explore(largest=[1, 2]).save(tmp_path / "race.html")
    page = reader.open(tmp_path / "race.html", "#step=0")
    count = page.locator("#count")
    assert count.inner_text() == "step 0 of 4"
    assert page.locator("mark").count() == 0
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    assert count.inner_text() == "step 1 of 4"
    page.locator("body").press("End")
    assert page.url.endswith("#step=4")
    assert page.locator("#next").is_disabled()
    page.locator("#previous").click()
    page.locator("#steps0 li").nth(1).click()
    assert count.inner_text() == "step 2 of 4"
    changed = page.locator("#step0 mark").all_inner_texts()
    assert changed == ["1", "2"]
    assert page.locator(".run .ends").all_inner_texts() == ["ends with[2]", "ends with[1, 2]"]
    assert ink(page) > 100


def test_a_click_on_a_state_goes_there(reader: Reader, tmp_path: Path) -> None:
    race().explore(largest=[1, 2]).save(tmp_path / "race.html")
    page = reader.open(tmp_path / "race.html", "#step=0")
    ink(page)
    place = page.evaluate("() => graph.place(graph.dots[graph.dotOf.get(states[0][3])])")
    page.locator("#graph").hover(position={"x": place[0], "y": place[1]})
    assert "stuck" in page.locator("#about").inner_text()
    page.locator("#graph").click(position={"x": place[0], "y": place[1]})
    assert page.locator("#count").inner_text() == "step 3 of 4"
    before = page.evaluate("() => graph.scaleX")
    page.locator("#closer").click()
    assert page.evaluate("() => graph.scaleX") > before
    page.locator("#graph").press("0")
    assert page.evaluate("() => graph.scaleX") == before


def test_the_stepper_goes_forwards_and_backwards_with_a_choice(reader: Reader, tmp_path: Path) -> None:
    save_stepper(bag_and_numbers()._scenario({"numbers": [1, 2], "bag": [3, 4]}), tmp_path / "steps.html")
    page = reader.open(tmp_path / "steps.html")
    choices = page.locator("#choices button")
    assert choices.count() == 3
    choices.nth(0).click()
    page.keyboard.press("1")
    rule = page.locator("#step .rule")
    assert rule.locator("b").inner_text() == "map"
    assert rule.locator(".math .premises").inner_text() == "f(h) ⇓ u"
    premise, conclusion = (rule.locator(f".math .{part}").bounding_box() for part in ("premises", "conclusion"))
    assert premise["y"] + premise["height"] <= conclusion["y"] + 1
    assert "([1], map(increment)) → ([], map(increment), [2])" in rule.locator(".instance").inner_text()
    rule.locator("summary").click()
    assert rule.locator("details .label").all_inner_texts()[0] == "operator"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#count").inner_text() == "step 1"
    page.keyboard.press("ArrowRight")
    assert page.locator("#count").inner_text() == "step 2"
    where = page.url.partition("#")[2]
    again = reader.open(tmp_path / "steps.html", f"#{where}")
    assert again.locator("#count").inner_text() == "step 2"
    page.keyboard.press("End")
    assert "stuck" in page.locator("#choices").inner_text()
    assert page.locator("#forth").is_disabled()
    page.locator("#start").click()
    assert page.locator("#count").inner_text() == "step 0"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.every(test=2)
def test_pages_fit_wide_and_narrow_windows_in_light_and_dark(reader: Reader, width: int, tmp_path: Path) -> None:
    race().explore(largest=[1, 2]).save(tmp_path / "race.html")
    save_stepper(bag_and_numbers()._scenario({"numbers": [1, 2], "bag": [3, 4]}), tmp_path / "steps.html", 60)
    for name in ("race.html", "steps.html"):
        shots = []
        for scheme in ("light", "dark"):
            page = reader.open(tmp_path / name, width=width, scheme=scheme)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width
            style = "getComputedStyle(document.body)"
            colours = page.evaluate(f"() => [{style}.color, {style}.backgroundColor]")
            assert colours[0] != colours[1]
            shots.append(page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True))
        assert shots[0] != shots[1]


@pytest.mark.thorough
def test_a_page_of_ten_thousand_states(reader: Reader, tmp_path: Path) -> None:
    given = {"numbers": list(range(6)), "bag": [4, 5, 6, 7, 7]}
    found = save_stepper(bag_and_numbers()._scenario(given), tmp_path / "large.html", 10_000)
    assert len(found.states) > 9_990
    page = reader.open(tmp_path / "large.html")
    assert ink(page) > 5_000
    page.keyboard.press("End")
    assert page.locator(".stuck.cut").count() == 1
    assert "cut at" in page.locator(".note").inner_text()


def test_no_text_of_a_picture_lies_on_another_one(reader: Reader, tmp_path: Path) -> None:
    auctions().draw().save(tmp_path / "auctions.svg")
    for scheme in ("light", "dark"):
        page = reader.open(tmp_path / "auctions.svg", scheme=scheme)
        overlapping = page.evaluate(
            "() => { const boxes = [...document.querySelectorAll('text')].map(t => t.getBBox());"
            "const bad = [];"
            "boxes.forEach((a, i) => boxes.slice(0, i).forEach(b => {"
            "if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height - 3 && b.y < a.y + a.height - 3)"
            "bad.push([a.x, a.y, b.x, b.y]) }));"
            "document.querySelectorAll('g').forEach(g => { const r = g.querySelector('rect').getBBox();"
            "g.querySelectorAll(':scope > text').forEach(t => { const b = t.getBBox();"
            "if (b.x < r.x || b.x + b.width > r.x + r.width) bad.push(t.textContent) }) });"
            "return bad }"
        )
        assert overlapping == []


SEARCHED = {
    "deduplicate": "cookbook.html",
    "watermark": "event-time.html",
    "exactly once": "connectors.html",
    "backfill": "operations.html",
    "dead letters": "connectors.html",
}
"""The page that a search shows first, by the words that are searched."""


@pytest.mark.thorough
def test_the_documentation_site_is_searched_offline(reader: Reader, tmp_path: Path) -> None:
    """Builds the site, opens its pages as files, and finds a page by a word in it."""
    pytest.importorskip("sphinx", reason="the `docs` extra is not installed: make docs")
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-b", "html", "docs", str(tmp_path)]
    done = subprocess.run(build, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr
    for width, scheme in ((1280, "light"), (390, "dark")):
        for name in ("index", "sql", "errors", "api/flows", "source/examples/first.py"):
            page = reader.open(tmp_path / f"{name}.html", width=width, scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = reader.open(tmp_path / "index.html")
    page.get_by_placeholder("Search").first.fill("event_when_above")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a[href*='operators.html']")  # results come one after the other
    for words, wanted in SEARCHED.items():
        page = reader.open(tmp_path / "search.html", fragment=f"?q={words.replace(' ', '+')}")
        first = page.locator("#search-results li a").first
        first.wait_for()
        assert first.get_attribute("href").startswith(wanted), words


def test_verbs_are_expanded_to_their_operators(reader: Reader, tmp_path: Path) -> None:
    auctions().draw().save(tmp_path / "auctions.html")
    page = reader.open(tmp_path / "auctions.html")
    panels = page.locator(".operators:visible")
    verb = page.locator("[data-verb]", has_text="group_by(")
    verb.click()
    assert panels.count() == 1
    assert "group_by(category: revenue=sum(price))" in panels.first.text_content()
    assert verb.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert panels.count() == 0
    page.locator("[data-verb]").first.focus()
    page.keyboard.press("Enter")
    assert panels.count() == 1
    page.locator("[data-verb]", has_text="fold_lattice(").last.click()
    assert panels.count() == 1
    assert "fold_lattice" in panels.first.text_content()

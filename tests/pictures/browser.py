"""A reader of pages in a real browser."""

from __future__ import annotations

import shutil
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 180_000
"""Milliseconds to wait for the browser, on a machine that has much else to do."""
IN_BROWSER = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium"),
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
]


class Reader:
    """A reader of a page: opens it at a size and in a colour scheme, and collects what must not happen."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.faults: list[str] = []

    def open(self, place: Any, fragment: str = "", width: int = 1280, scheme: str = "light") -> Any:
        """Open a file, or an address of this machine. A page may ask for nothing but itself and its own server."""
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        address = place if isinstance(place, str) else place.as_uri()
        own = urlsplit(address).netloc
        page.on("console", lambda said: self.faults.append(said.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda asked: urlsplit(asked.url).netloc == own or self.faults.append(asked.url))
        page.goto(f"{address}{fragment}")
        return page


LOW_CONTRAST = """() => {
  const colour = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  const opaque = (found) => found.length === 3 || found[3] > 0;
  const behind = (node) => {
    const box = node.closest("svg g")?.querySelector(":scope > rect:not(.heat)");
    if (box && node.closest("svg")) return colour(getComputedStyle(box).fill);
    for (let at = node; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (opaque(found)) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!own || !node.getClientRects().length || node.closest("script,style,title,:disabled,.idle")) continue;
    const style = getComputedStyle(node), ink = colour(node.closest("svg") ? style.fill : style.color);
    const [bright, dark] = [light(ink), light(behind(node))].sort((a, b) => b - a);
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${node.textContent.trim().slice(0, 40)}`);
  }
  return found;
}"""
"""The texts of a page that are hard to read, each with its contrast: less than 4.5 to what is behind it."""
CUT_OFF = """() => [...document.querySelectorAll(
  '.tile .value, .figure b, .legend b, h1, h2, h3, .fact b, .card p, dd, button')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth).map((each) => each.textContent)"""
"""The texts that do not fit into their boxes."""

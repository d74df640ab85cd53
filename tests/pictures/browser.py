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

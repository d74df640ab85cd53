"""A browser for the tests of pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.pictures.browser import CHROMIUM, Reader


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Closed with the last test that needs it: a process that is forked later would keep its pipes open."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    with playwright.sync_playwright() as started:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
        browser = started.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield browser
        browser.close()


@pytest.fixture
def reader(chromium: Any) -> Iterator[Reader]:
    opened = Reader(chromium)
    yield opened
    for context in chromium.contexts:
        context.close()
    assert not opened.faults

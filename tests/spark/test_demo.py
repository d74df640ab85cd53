"""`make demo`, on less data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples import demo
from examples.auctions import CATEGORIES, generate


def test_the_demo_shows_its_views(spark: Any, tmp_path: Path) -> None:
    with demo.console.capture() as shown:
        demo.run(spark, tmp_path, files=2, rows=400)
    text = shown.get()
    assert all(category in text for category in CATEGORIES)
    assert "late, on a side output" in text


@pytest.mark.thorough
def test_the_demo_maintains_what_streaming_rejects(spark: Any, tmp_path: Path) -> None:
    generate(tmp_path, files=2, rows=400)
    with demo.console.capture() as shown:
        demo.run_sql(spark, tmp_path, files=2)
    text = shown.get()
    assert [line[:8] for line in text.splitlines() if " mode: " in line] == ["in appen", "in updat", "in compl"]
    table = text[text.index("turnover", text.index("micro-batch")) :]
    assert all(category in table for category in CATEGORIES)

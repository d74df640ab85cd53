"""`make demo`, on less data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples import demo
from examples.auctions import CATEGORIES


def test_the_demo_shows_its_views(spark: Any, tmp_path: Path) -> None:
    with demo.console.capture() as shown:
        demo.run(spark, tmp_path, files=2, rows=400)
    text = shown.get()
    assert all(category in text for category in CATEGORIES)
    assert "late, on a side output" in text

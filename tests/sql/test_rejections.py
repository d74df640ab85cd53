"""A query that cannot be maintained is rejected with the node, the reason, the user's line and a rewrite.

pytest tests/sql/test_rejections.py --update-golden     writes the texts anew, to be read before they are committed
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import flo
import flo.spark
from tests.sql.rejected_queries import FRAMES, PROGRAMS

GOLDEN = Path(__file__).parent / "golden"


def _rejected(run: Any) -> str:
    with pytest.raises(flo.FloError) as caught:
        run()
    return f"{type(caught.value).__name__}: {caught.value}\n"


@pytest.mark.parametrize("name", [*PROGRAMS, *FRAMES])
@pytest.mark.every(test=2)
def test_rejection(name: str, spark: Any, request: pytest.FixtureRequest) -> None:
    text = _rejected(PROGRAMS[name] if name in PROGRAMS else lambda: FRAMES[name](spark))
    text = re.sub(r"#\d+L?", "", text)  # numbers of columns
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_every_golden_file_has_its_query() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == {*PROGRAMS, *FRAMES}

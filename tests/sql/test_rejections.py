"""A query that cannot be maintained is rejected with the node, the reason, the user's line and a rewrite.

pytest tests/sql/test_rejections.py --update-golden     writes the texts anew, to be read before they are committed
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import flo
import flo.spark
from flo.sql.aggregates import sum_type
from flo.sql.catalyst import UnsupportedQueryError
from tests.sql.rejected_queries import FRAMES, PROGRAMS

GOLDEN = Path(__file__).parent / "golden"


def _rejected(run: Any) -> str:
    with pytest.raises(flo.FloError) as caught:
        run()
    return f"{type(caught.value).__name__}: {caught.value}\n"


@pytest.mark.parametrize("name", [*PROGRAMS, *FRAMES])
def test_rejection(name: str, spark: Any, request: pytest.FixtureRequest) -> None:
    text = _rejected(PROGRAMS[name] if name in PROGRAMS else lambda: FRAMES[name](spark))
    text = re.sub(r"#\d+L?", "", text)  # numbers of columns
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [pa.duration("us"), pa.month_day_nano_interval()], ids=str)
def test_no_sum_of_intervals(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedQueryError, match="Flo adds up numbers, and not intervals"):
        sum_type(kind)


def test_every_golden_file_has_its_query() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == {*PROGRAMS, *FRAMES}

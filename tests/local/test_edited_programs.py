"""Random programs that are edited between pushes, with random sinks, in this process.

`make thorough` runs 480 programs here and 20 on Spark (tests/spark/test_edited_programs.py); `make test` a few of each.
Each lives through four edits or more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.edit_trial import Trial, run_here
from tests.quick import is_thorough


@pytest.mark.parametrize("seed", range(480 if is_thorough() else 4))
@pytest.mark.every(test=2)
def test_random_programs_that_are_edited(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    Trial(tmp_path, seed).run(run_here, turns=5)

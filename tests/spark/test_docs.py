"""The pages about Spark: their code runs, on the session of all tests, and prints what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_docs import ON_SPARK, identity, run_page

OFTEN = ("migrating", "spark")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page if page.stem in OFTEN else pytest.param(page, marks=pytest.mark.thorough) for page in ON_SPARK],
    ids=identity,
)
def test_code_prints_what_is_shown(spark: object, page: Path, tmp_path: Path) -> None:
    for example, output in run_page(page, tmp_path):
        assert output == example.shown, f"after\n{example.code}"

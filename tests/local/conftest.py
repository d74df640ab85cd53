"""Fixtures for tests of programs in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.sink_places import Place


@pytest.fixture(params=["sqlite", pytest.param("duckdb", marks=pytest.mark.thorough), "changes"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param != "changes":
        pytest.importorskip(f"adbc_driver_{request.param}.dbapi")
    return Place(tmp_path, request.param)

"""Every sink of upserts is exactly once, or idempotent by key: whenever the driver is killed, the rows are right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flo.spark.driver.keyed_output import FEW
from tests.connectors.driver import MALFORMED, ORDERS, STATUS, expected

pytestmark = [pytest.mark.connectors, pytest.mark.slow]
SINKS = ("delta", "iceberg", "postgresql", "sqlite", "duckdb", "kafka")
ROOT = Path(__file__).parent.parent.parent
SIZES = [
    pytest.param(3_000, 60, [("delta", 1), ("kafka", 2)], id="small"),
    pytest.param(
        1_000_000,
        5_000,
        [(SINKS[turn % len(SINKS)], turn) for turn in range(1, 11)],
        id="a million",
        marks=pytest.mark.thorough,
    ),
]


@pytest.mark.parametrize(("orders", "shops", "kills"), SIZES)
def test_no_row_is_lost_or_stale(
    orders: int, shops: int, kills: list[tuple[str, int]], servers: str, database: str, jars: list[str], tmp_path: Path
) -> None:
    """Each kill comes after one sink has taken a version, and before it is committed."""
    given = {
        "folder": str(tmp_path),
        "servers": servers,
        "postgresql": database,
        "jars": jars,
        "sinks": SINKS,
        "orders": orders,
        "shops": shops,
        "each": orders // (len(kills) + 1),
    }
    file = tmp_path / "settings.json"
    for turn, kill in enumerate([*kills, None]):
        few = 0 if turn % 2 == 0 else FEW  # by executors, and by the driver
        file.write_text(json.dumps({**given, "produce": turn == 0, "kill": [kill] if kill else [], "few": few}))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            [sys.executable, "-m", "tests.connectors.driver", str(file)],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == (STATUS if kill else 0), done.stderr[-5000:]
    found = json.loads((tmp_path / "found").read_text())
    assert found.pop("diverted") == [["?", f"{ORDERS}, partition 0"]] * MALFORMED
    wanted = sorted([shop, *total] for shop, total in expected(orders, shops).items())
    assert set(found) == set(SINKS)
    for name, rows in found.items():
        assert rows == wanted, name

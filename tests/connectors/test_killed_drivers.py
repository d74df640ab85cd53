"""Every sink of upserts is exactly once, or idempotent by key: whenever the driver is killed, the rows are right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flo.spark.driver.spark_changes import FEW
from tests.connectors import services
from tests.connectors.driver import MALFORMED, ORDERS, STATUS, expected

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.needs("kafka")]
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


@pytest.fixture
def perhaps_database() -> Iterator[tuple[str | None, dict[str, str]]]:
    """The address of a database, or why there is none."""
    try:
        with services.postgresql() as found:
            yield found, {}
    except services.Unavailable as error:
        yield None, {"postgresql": str(error)}


@pytest.mark.parametrize(("orders", "shops", "kills"), SIZES)
def test_no_row_is_lost_or_stale(
    orders: int,
    shops: int,
    kills: list[tuple[str, int]],
    servers: str,
    perhaps_database: tuple[str | None, dict[str, str]],
    packages: tuple[list[str], dict[str, str]],
    tmp_path: Path,
) -> None:
    """Each kill comes after one sink has taken a version, and before it is committed."""
    database, missing = perhaps_database[0], packages[1] | perhaps_database[1]
    sinks = [sink for sink in SINKS if sink not in missing]
    kills = [(sink, version) for sink, version in kills if sink in sinks]
    given = {
        "folder": str(tmp_path),
        "servers": servers,
        "postgresql": database,
        "jars": packages[0],
        "sinks": sinks,
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
        said = "\n".join(line for line in done.stderr.splitlines() if not line.lstrip().startswith("at "))
        assert done.returncode == (STATUS if kill else 0), said[-5000:]
    found = json.loads((tmp_path / "found").read_text())
    assert found.pop("diverted") == [["?", f"{ORDERS}, partition 0"]] * MALFORMED
    wanted = sorted([shop, *total] for shop, total in expected(orders, shops).items())
    assert set(found) == set(sinks)
    for name, rows in found.items():
        assert rows == wanted, name
    if len(sinks) < len(SINKS):
        pytest.skip("; ".join(missing[sink] for sink in SINKS if sink in missing))

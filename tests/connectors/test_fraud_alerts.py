"""The starting point for fraud alerts reads a topic of a real broker, until it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.fraud_alerts import LOG, PARTITIONS
from tests.connectors.driver import create_topic
from tests.connectors.test_topics import send

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.needs("kafka")]
ROOT = Path(__file__).parents[2]


def test_alerts_come_from_a_topic(
    connected: SparkSession, servers: str, packages: tuple[list[str], dict[str, str]], tmp_path: Path
) -> None:
    create_topic(connected, servers, "payments", PARTITIONS)
    messages = [(json.dumps(row._asdict()), number) for number, rows in enumerate(LOG) for row in rows]
    send(connected.createDataFrame(messages, "value string, partition int"), servers, "payments")
    own = {"PYSPARK_SUBMIT_ARGS": f"--jars {','.join(packages[0])} pyspark-shell", "PYTHONUNBUFFERED": "1"}
    own |= {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "examples.fraud_alerts", "--broker", servers]
    running = subprocess.Popen(command, cwd=tmp_path, env=os.environ | own, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        said = []
        for line in running.stdout:
            said.append(line)
            if line.startswith("late"):
                break
        running.send_signal(signal.SIGINT)
        rest, _ = running.communicate(timeout=120)
    finally:
        running.kill()
    assert "".join(said) == (
        "ALERT from second 0: card eve paid 4 times, 2,000.00, in one country\n"
        "ALERT from second 0: card joe paid 2 times, 820.00, in 2 countries\n"
        "late, looked at by nobody yet: Payment(card='cyd', country='FR', cents=10, second=7)\n"
    )
    assert rest.endswith("the program as a picture: fraud_alerts.svg\n")
    assert running.returncode == 0

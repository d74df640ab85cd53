"""The starting points that run on Spark, on the session of all tests."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from examples import fraud_alerts, org_chart, sql_over_changes


@pytest.mark.thorough
def test_fraud_alerts(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fraud_alerts.write_log(tmp_path / "log")
    messages = fraud_alerts.from_folder(spark, tmp_path / "log")
    query = fraud_alerts.start(spark, messages, tmp_path / "checkpoint", shards=2, trigger={"availableNow": True})
    query.wait()
    fraud_alerts.show(query)
    assert capsys.readouterr().out.splitlines() == [
        "ALERT from second 0: card eve paid 4 times, 2,000.00, in one country",
        "ALERT from second 0: card joe paid 2 times, 820.00, in 2 countries",
        "late, looked at by nobody yet: Payment(card='cyd', country='FR', cents=10, second=7)",
    ]


def test_fraud_alerts_are_those_of_the_program_on_values() -> None:
    found = fraud_alerts.fraud_alerts().run(payments=dict(enumerate(fraud_alerts.LOG)))
    assert sorted(alert.card for alert in found["alerts"]) == ["eve", "joe"]
    assert [payment.card for payment in found["late"]] == ["cyd"]


@pytest.mark.thorough
def test_sql_over_changes(spark: Any, tmp_path: Path) -> None:
    first, second = sql_over_changes.run(spark, tmp_path)
    assert [(row["city"], row["customer"], row["spent"]) for row in first] == [
        ("Oslo", "bob", 75.0),
        ("Oslo", "ann", 50.0),
        ("Rome", "dan", 99.0),
    ]
    assert [(row["city"], row["customer"], row["spent"]) for row in second] == [
        ("Oslo", "cyd", 200.0),
        ("Oslo", "bob", 75.0),
    ]


@pytest.mark.usefixtures("spark")
def test_org_chart() -> None:
    hired, moved = org_chart.changes()
    assert ("eve", 3, "ann / bob / dan / eve", 1) in hired["chart"]
    assert hired["below"] == [("ann", 4, 1), ("bob", 2, 1), ("dan", 1, 1)]
    assert moved["chart"] == [
        ("dan", 2, "ann / bob / dan", -1),
        ("dan", 2, "ann / cyd / dan", 1),
        ("eve", 3, "ann / bob / dan / eve", -1),
        ("eve", 3, "ann / cyd / dan / eve", 1),
    ]
    assert moved["below"] == [("bob", 2, -1), ("cyd", 2, 1)]


@pytest.mark.usefixtures("spark")
def test_sql_view(capsys: pytest.CaptureFixture[str]) -> None:
    """What the README says that it prints."""
    runpy.run_module("examples.sql_view")
    shown = (Path(sql_over_changes.__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    assert "".join(f"    {line}\n" for line in capsys.readouterr().out.splitlines()) in shown

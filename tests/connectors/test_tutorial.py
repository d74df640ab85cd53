"""The pages that lead from topics of Kafka to tables are true: their code runs, and prints what is shown.

python -m tests.connectors.test_tutorial                        writes the shown outputs anew
python -m tests.connectors.test_tutorial docs/ten-changes.md    those of one page
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flo.spark.driver.read_again import ReadAgain
from flo.tools import state_plan
from tests.connectors import services
from tests.connectors.driver import create_topic, session
from tests.test_docs import ROOT, WITH_BROKER, rewrite, run_page

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.needs("kafka")]


@contextmanager
def settings(servers: str, database: str, folder: Path) -> Iterator[None]:
    """The variables that the page reads."""
    given = {"KAFKA": servers, "DATABASE": database, "CHECKPOINT": str(folder / "checkpoint")}
    before = dict(os.environ)
    os.environ.update(given)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@dataclass
class Reads:
    """The topics that were read again, and those of them that the last plan had not named."""

    planned: set[str] = field(default_factory=set)
    topics: list[str] = field(default_factory=list)
    unplanned: list[str] = field(default_factory=list)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    seen, read, plan = Reads(), ReadAgain._read_stream, state_plan.print_plan

    def read_stream(self: ReadAgain, name: str, *more: Any) -> bool:
        has_rows = read(self, name, *more)
        if has_rows:
            seen.topics.append(name)
            seen.unplanned += {name} - seen.planned
        return has_rows

    def print_plan(*given: Any, **more: Any) -> None:
        with redirect_stdout(StringIO()) as output:
            plan(*given, **more)
        seen.planned = set(re.findall("the input `([a-z]*)`, read again", output.getvalue()))
        print(output.getvalue(), end="")

    monkeypatch.setattr(ReadAgain, "_read_stream", read_stream)
    monkeypatch.setattr(state_plan, "print_plan", print_plan)
    return seen


@pytest.mark.parametrize("page", WITH_BROKER, ids=lambda page: page.stem)
def test_code_prints_what_is_shown(
    connected: SparkSession, servers: str, database: str, tmp_path: Path, page: Path, reads: Reads
) -> None:
    """And no topic is read again, unless a plan has said so."""
    create_topics(connected, servers)
    with settings(servers, database, tmp_path):
        for example, output in run_page(page, tmp_path):
            assert output == example.shown, f"after\n{example.code}"
    assert reads.unplanned == []
    assert reads.topics == (["orders"] * 3 if page.stem == "ten-changes" else [])


def create_topics(spark: SparkSession, servers: str) -> None:
    for topic in ("orders", "shops"):
        create_topic(spark, servers, topic, partitions=2)


def main() -> None:
    pages = [ROOT / each for each in sys.argv[1:]] or WITH_BROKER
    spark = session(services.fetch_packages()[0], Path(tempfile.mkdtemp()))
    for page in pages:
        folder = Path(tempfile.mkdtemp())
        with (
            services.kafka(folder / "broker") as servers,
            services.postgresql() as database,
            settings(servers, database, folder),
        ):
            create_topics(spark, servers)
            rewrite(page, folder)
    spark.stop()


if __name__ == "__main__":
    main()

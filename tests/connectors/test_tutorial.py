"""The page that leads from a topic of Kafka to a table is true: its code runs, and prints what is shown.

python -m tests.connectors.test_tutorial     writes the shown outputs anew
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.connectors import services
from tests.connectors.driver import create_topic, session
from tests.test_docs import WITH_BROKER, rewrite, run_page

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


@pytest.mark.parametrize("page", WITH_BROKER, ids=lambda page: page.stem)
def test_code_prints_what_is_shown(
    connected: SparkSession, servers: str, database: str, tmp_path: Path, page: Path
) -> None:
    create_topic(connected, servers, "orders", partitions=2)
    with settings(servers, database, tmp_path):
        for example, output in run_page(page, tmp_path):
            assert output == example.shown, f"after\n{example.code}"


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    spark = session(services.fetch_packages()[0], folder)
    with services.kafka(folder / "broker") as servers, services.postgresql() as database:
        for page in WITH_BROKER:
            with settings(servers, database, folder):
                create_topic(spark, servers, "orders", partitions=2)
                rewrite(page, folder)
    spark.stop()


if __name__ == "__main__":
    main()

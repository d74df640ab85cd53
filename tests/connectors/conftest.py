"""Services for the tests of connectors. What this machine cannot have skips those that need it, with the reason."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.connectors import services
from tests.connectors.driver import session
from tests.connectors.places import Place, delta_place, iceberg_place, kafka_place, postgresql_place


@pytest.fixture(scope="session")
def packages() -> tuple[list[str], dict[str, str]]:
    """The jars that there are, and why others are not."""
    return services.fetch_packages()


@pytest.fixture(autouse=True)
def _needs(request: pytest.FixtureRequest, packages: tuple[list[str], dict[str, str]]) -> None:
    """Skips a test that is marked as one that needs packages which are not there."""
    for mark in request.node.iter_markers("needs"):
        for name in mark.args:
            if name in packages[1]:
                pytest.skip(packages[1][name])


@pytest.fixture
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with services.kafka(tmp_path_factory.mktemp("kafka") / "broker") as found:
            yield found
    except services.Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def database() -> Iterator[str]:
    try:
        with services.postgresql() as found:
            yield found
    except services.Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def connected(
    packages: tuple[list[str], dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """A session with all connectors that there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # which has Flo: Spark looks for its data source in a worker
        spark = session(packages[0], tmp_path_factory.mktemp("warehouse"))
    yield spark
    spark.stop()


NEEDING = [pytest.param(kind, marks=pytest.mark.needs(kind)) for kind in ("delta", "iceberg", "kafka")]


@pytest.fixture(params=["postgresql", *NEEDING])
def place(request: pytest.FixtureRequest, connected: SparkSession, tmp_path: Path) -> Place:
    """Each kind of place that rows go to by a key."""
    if request.param == "delta":
        return delta_place(connected, tmp_path)
    if request.param == "iceberg":
        return iceberg_place(connected)
    if request.param == "postgresql":
        return postgresql_place(request.getfixturevalue("database"))
    return kafka_place(connected, request.getfixturevalue("servers"))

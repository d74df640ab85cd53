"""Services for the tests of connectors. What this machine cannot have skips them, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors import services


@pytest.fixture
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with services.kafka(tmp_path_factory.mktemp("kafka") / "broker") as found:
            yield found
    except services.Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with services.postgresql(tmp_path_factory.mktemp("postgresql") / "server") as found:
            yield found
    except services.Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def jars() -> list[str]:
    try:
        found = [services.fetch_jars(each) for each in (services.KAFKA, services.DELTA, services.ICEBERG)]
    except services.Unavailable as error:
        pytest.skip(str(error))
    return [str(Path(jar)) for some in found for jar in some]

"""One Spark session for all tests, in one process: the others of a parallel run have none."""

from __future__ import annotations

import pytest

from flo.spark.session import embedded


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.slow)  # `make check` is for turns that are simulated
        elif "yard" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("chaos"))  # sessions of their own, one after the other
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)  # what is longest begins first


@pytest.fixture(scope="session")
def spark():
    session = embedded("flo tests", cores=2)
    yield session
    session.stop()

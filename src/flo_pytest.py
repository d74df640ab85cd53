"""The pytest plugin of Flo, as pytest loads it; what it does is in `flo.tools.pytest_plugin`.

It stands beside the package, so that a test run that does not use Flo does not import it.

- the fixture `flo`: `flo.check(x)`, `flo.explore(flow, orders=[1, 2])` and `flo.replay(…)` fail the test with a report
- the marker `flo_explore`: explores the flow that the test returns or takes

    @pytest.mark.flo_explore(orders=[1, 2, 3])
    def test_totals():
        return totals()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from flo.tools.pytest_plugin import FloFixture

MARKER = "flo_explore"


def pytest_configure(config: pytest.Config) -> None:
    about = (
        "every schedule and every cut of this data must give one outcome, of the flow that the test returns or takes"
    )
    config.addinivalue_line("markers", f"{MARKER}(*, most_states, seed, **inputs): {about}")


@pytest.fixture
def flo() -> FloFixture:
    """`flo.check`, `flo.explore` and `flo.replay` fail the test with a report; all else is the module `flo`."""
    from flo.tools.pytest_plugin import FloFixture

    return FloFixture()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker(MARKER) is not None:
        from flo.tools.pytest_plugin import expect_function

        expect_function(item)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if pyfuncitem.get_closest_marker(MARKER) is None:
        return None
    from flo.tools.pytest_plugin import run_and_explore

    run_and_explore(pyfuncitem, MARKER)
    return True

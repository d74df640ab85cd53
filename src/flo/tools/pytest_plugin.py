"""The work of the pytest plugin: checks and explorations that fail a test with a readable report.

def test_every(flo):
    flo.check(Every(3))

@pytest.mark.flo_explore(orders=[1, 2, 3])
def test_totals():
    return totals()
"""

from __future__ import annotations

import inspect
import linecache
import re
import unittest
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import pytest

import flo
from flo.core.errors import FloError, Origin
from flo.verify.exploration.explore import Exploration
from flo.verify.exploration.replay import Replay
from flo.verify.report import Report

_DEF = re.compile(r"\s*(async )?def ")


class FloFixture:
    """The fixture `flo`. Other attributes are those of the module, so a test that takes it can still use `flo.Flow`."""

    def check(self, subject: object, *types: object, **options: Any) -> Report:
        """`flo.verify.check`: fails the test if a law is broken, and gives the report."""
        here = Origin.here()
        try:
            report = flo.verify.check(subject, *types, **options)
        except FloError as error:
            _fail_with(error, here)
        if not report.ok:
            _fail(str(report), here)
        return report

    def explore(self, flow: flo.Flow, /, **inputs: object) -> Exploration:
        """`flow.explore`: fails the test if two schedules differ, and gives what was found."""
        return _explored(flow, inputs, Origin.here())

    def replay(self, flow: flo.Flow, trace: str, /, **inputs: object) -> Replay:
        """`flow.replay`: fails the test if the trace does not fit the flow, and gives the run along it."""
        here = Origin.here()
        try:
            return flow.replay(trace, **inputs)
        except FloError as error:
            _fail_with(error, here)

    def __getattr__(self, name: str) -> Any:
        return getattr(flo, name)


def expect_function(item: pytest.Item) -> None:
    """Reject a marker on a `TestCase`: its result is lost, so the marker would do nothing."""
    if issubclass(getattr(item, "cls", None) or object, unittest.TestCase):
        pytest.fail("a flow is explored by test functions, not by the methods of a unittest.TestCase", pytrace=False)


def run_and_explore(item: pytest.Function, marker: str) -> None:
    """Runs the test, and explores its flow on the data of each marker."""
    taken = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    returned = item.obj(**taken)
    flow = _flow_of(returned, taken, item.name)
    where = _definition(item.obj)
    for mark in item.iter_markers(marker):
        if mark.args:
            pytest.fail(f"the data of `{marker}` must be given by input name, not by position", pytrace=False)
        _explored(flow, mark.kwargs, where)


def _definition(test: Callable[..., object]) -> Origin:
    """The line of its `def`, below its markers."""
    function = inspect.unwrap(getattr(test, "__func__", test))
    file, first = function.__code__.co_filename, function.__code__.co_firstlineno
    lines = enumerate(linecache.getlines(file)[first - 1 :], start=first)
    return Origin(file, next((number for number, line in lines if _DEF.match(line)), first))


def _flow_of(returned: object, taken: dict[str, object], test: str) -> flo.Flow:
    """The flow that the test returned; if it returned nothing, the one that it takes."""
    flows = [returned] if returned is not None else [item for item in taken.values() if isinstance(item, flo.Flow)]
    if len(flows) == 1 and isinstance(flows[0], flo.Flow):
        return flows[0]
    if inspect.iscoroutine(returned):
        returned.close()
    given = (
        f"returned {type(returned).__name__}" if returned is not None else f"took {len(flows)} flows and returned none"
    )
    pytest.fail(f"`{test}` must return a flow, or take one as a fixture; it {given}", pytrace=False)


def _explored(flow: flo.Flow, inputs: Mapping[str, Any], where: Origin | None) -> Exploration:
    try:
        exploration = flow.explore(**inputs)
    except FloError as error:
        _fail_with(error, where)
    if not exploration.ok:
        _fail(f"the flow {flow.name!r} has {exploration}", where)
    return exploration


def _fail_with(error: FloError, where: Origin | None) -> NoReturn:
    if error.where in (None, Origin.here()):  # of a marker that is a line of pytest
        error.where = where
    raise pytest.fail.Exception(f"{type(error).__name__}: {error}", pytrace=False) from None


def _fail(message: str, where: Origin | None) -> NoReturn:
    pytest.fail(message if where is None else f"{message}\n  {where}   {where.text}", pytrace=False)

"""The pytest plugin, on test files of users: each is run by a pytest of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tools import programs

pytestmark = pytest.mark.slow

pytest_plugins = "pytester"

FLOWS = f"""\
{programs.RACING_OPERATOR}

def race():
    return flow


def sums():
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("numbers", flo.Sequence[int]).scan(0, lambda total, x: total + x))
    return flow
"""


@pytest.fixture
def run(pytester: pytest.Pytester):
    pytester.makepyfile(flows=FLOWS)
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\npythonpath = .\n")

    def run(source: str, *arguments: str) -> pytest.RunResult:
        heading = "import pytest\n\nimport flo\nimport flows\n\n"
        pytester.makepyfile(test_of_a_user=heading + source)
        return pytester.runpytest_subprocess(*arguments)

    return run


def test_what_passes(run) -> None:
    result = run(
        """
def test_check(flo):
    report = flo.check(flo.Sequence[int])
    assert report.ok and report.laws

def test_explore(flo):
    found = flo.explore(flows.sums(), numbers=[1, 2, 3])
    assert found.complete and found.schedules > 1

def test_replay(flo):
    run = flo.replay(flows.race(), "numbers how-many numbers how-many", numbers=[1, 2])
    assert run.outputs == {"many": [1, 1]}

def test_the_fixture_is_the_module_too(flo):
    assert flo.Flow is type(flows.sums())

@pytest.mark.flo_explore(numbers=[1, 2])
def test_returned():
    return flows.sums()

@pytest.fixture
def flow():
    return flows.sums()

@pytest.mark.flo_explore(numbers=[1, 2])
@pytest.mark.flo_explore(numbers=[])
def test_taken(flow):
    assert flow.run(numbers=[1, 2]) == {"sums": [1, 3]}

class TestMethods:
    @pytest.mark.flo_explore(numbers=[1, 2], most_states=3, seed=1)
    def test_method(self, flow):
        pass

def test_without_flo():
    pass
""",
        "-W",
        "error",
    )
    result.assert_outcomes(passed=8)


def test_what_fails(run) -> None:
    result = run(
        """
def test_check(flo):
    flo.check(flows.HowMany())

def test_explore(flo):
    flo.explore(flows.race(), numbers=[1, 2])

@pytest.mark.flo_explore(numbers=[1, 2])
def test_mark():
    return flows.race()

@pytest.mark.flo_explore(numbers=[])
@pytest.mark.flo_explore(numbers=[1, 2])
def test_one_of_two():
    return flows.race()

@pytest.mark.flo_explore(numbers=[1, 2])
def test_its_own_assertion():
    assert flows.race() is None
"""
    )
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(
        [
            "* test_check *",
            "`how_many_there_are` breaks a law",
            "eager execution (Definition 3.1): *",
            "* | *",
            "  test_of_a_user.py:8   flo.check(flows.HowMany())",
            "* test_explore *",
            "the flow 'race' has 2 outcomes in *",
            "* | *",
            "  test_of_a_user.py:11   flo.explore(flows.race(), numbers=[[]1, 2])",
            "* test_mark *",
            "the flow 'race' has 2 outcomes in *",
            "  test_of_a_user.py:14   def test_mark():",
            "* test_one_of_two *",
            "  test_of_a_user.py:19   def test_one_of_two():",
            "* test_its_own_assertion *",
            ">       assert flows.race() is None",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")
    result.stdout.no_fnmatch_line("*pluggy/*")


def test_bad_use(run) -> None:
    result = run(
        """
import unittest

def test_no_laws(flo):
    flo.check(7)

def test_no_such_input(flo):
    flo.explore(flows.sums(), letters=[1])

def test_another_trace(flo):
    flo.replay(flows.race(), "how-many", numbers=[1, 2])

@pytest.mark.flo_explore(letters=[1])
def test_no_such_input_of_a_mark():
    return flows.sums()

@pytest.mark.flo_explore(numbers=["a"])
def test_wrong_element():
    return flows.sums()

@pytest.mark.flo_explore([1, 2])
def test_without_a_name():
    return flows.sums()

@pytest.mark.flo_explore(numbers=[1])
def test_no_flow():
    pass

@pytest.mark.flo_explore(numbers=[1])
def test_no_flow_returned():
    return 7

@pytest.mark.flo_explore(numbers=[1])
async def test_coroutine():
    return flows.sums()

class TestCase(unittest.TestCase):
    @pytest.mark.flo_explore(numbers=[1])
    def test_method(self):
        pass
""",
        "-W",
        "error",
    )
    result.assert_outcomes(failed=9, errors=1)
    result.stdout.fnmatch_lines(
        [
            "a flow is explored by test functions, not by the methods of a unittest.TestCase",
            "LawError: there are no laws for int",
            "  test_of_a_user.py:10 *",
            "UnknownNameError: the flow has no input called `letters`",
            "  test_of_a_user.py:13 *",
            "UnknownNameError: the trace does not fit the program: move 1, `how-many`, is not enabled there",
            "  test_of_a_user.py:16   flo.replay(*",
            "UnknownNameError: the flow has no input called `letters`",
            "  test_of_a_user.py:19 *",
            "ElementError: *",
            "the data of `flo_explore` must be given by input name, not by position",
            "`test_no_flow` must return a flow, or take one as a fixture; it took 0 flows *",
            "`test_no_flow_returned` must return a flow, *; it returned int",
            "`test_coroutine` must return a flow, *; it returned coroutine",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_markers_and_fixtures_are_listed(run) -> None:
    run("", "--markers").stdout.fnmatch_lines(["@pytest.mark.flo_explore(?, most_states, seed, [*][*]inputs): every *"])
    run("", "--fixtures").stdout.fnmatch_lines(["flo -- *", "*`flo.check`, `flo.explore` *"])


def test_a_run_that_does_not_use_flo_does_not_import_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\n\ndef test_sys():\n    assert not [name for name in sys.modules if name == 'flo']\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    done = subprocess.run([*command, "-v"], cwd=pytester.path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "flo" in done.stdout.split("plugins: ")[1].splitlines()[0]

"""Fixtures that all tests share, and the rule coverage report: how often each rule was used in the session.

A whole run (no selection of paths, names or marks) fails if a rule of the paper was never used.
"""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tests.quick  # noqa: F401  # the profiles
from tests.harness import derived, fired
from tests.paper_rules import SMALL_STEPS, TYPING_RULES

# every session of Spark is a short one here: what Java's second compiler, more threads and the verification of released
# classes take never comes back
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)
# and to compile a plan takes longer than to run it on a few rows
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.codegen.wholeStage=false pyspark-shell")

LONG_TESTS = Path(__file__).with_name("long_tests.json")
"""What tests took on two idle cores, in seconds, if it was 0.2 or more; written with `--write-long-tests`."""
BUDGET, BUDGET_ON_SPARK = 1.6, 2.5
"""How many seconds the long tests of a file may take in `make test`: the shortest of them are run. `make check` runs
none of them."""
LONGEST = 3.0
"""Beyond the budget `make test` runs one case of every test that has one so short: no other test may show what it
shows."""

CHECK = "not slow"
"""What `make check` runs."""

_SELECTING = ("keyword", "markexpr", "deselect", "lf", "stepwise", "collectonly", "ignore", "ignore_glob")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")
    parser.addoption("--thorough", action="store_true", help="also run the tests that take too long for every commit")
    parser.addoption("--write-long-tests", action="store_true", help="write down what tests took, for `make test`")
    parser.addoption(
        "--connectors", action="store_true", help="run the tests of connectors, with brokers and databases"
    )


def pytest_xdist_auto_num_workers() -> int:
    """One process for each core, and one for the session of Spark, which waits much of the time."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.option.dist != "loadgroup":
        return None
    from tests.scheduling import Forgetful

    return Forgetful(config, log)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == CHECK:
        settings.load_profile("quick")
    elif config.option.thorough:
        settings.load_profile("thorough")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is made here stays to the end: the collector of garbage need not look at it again and again. Nor need it
    look as often as it would: tests make much that lives for a moment, in processes that live for minutes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Groups the tests by the sessions of Spark that they share, and leaves out those that are not asked for."""
    for item in items:
        _mark(item)
    _leave_out(items, "test", "thorough")
    _leave_out(items, "check", "slow")
    if not config.option.write_long_tests:
        _leave_out_long(items, in_check=config.option.markexpr == CHECK)
    asked_for: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        connects, is_thorough = map(item.get_closest_marker, ("connectors", "thorough"))
        in_suite = bool(connects) == config.option.connectors
        asked_for[in_suite and (config.option.thorough or not is_thorough)].append(item)
    config.hook.pytest_deselected(items=asked_for[False])
    items[:] = asked_for[True]
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)  # what is longest begins first


def _mark(item: pytest.Item) -> None:
    fixtures, engine = getattr(item, "fixturenames", ()), _engine(item)
    if "spark" in fixtures or engine == "spark":
        item.add_marker("spark")
        item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "xdist_group"]
        item.add_marker(pytest.mark.xdist_group("spark"))
    elif "yard" in fixtures:
        item.add_marker(pytest.mark.xdist_group("chaos"))  # sessions of their own, one after the other
    if "spark" in fixtures or engine in ("tasks", "spark"):
        item.add_marker("slow")
    if engine == "spark":
        item.add_marker("always")  # one query runs the samples of all
    sample = item.get_closest_marker("sampled")
    if sample and engine in sample.kwargs and item.callspec.id.partition("-")[2] not in sample.kwargs[engine]:
        item.add_marker("thorough")


def _leave_out(items: list[pytest.Item], run: str, mark: str) -> None:
    """Marks all but every so many of the tests that `every` is said of, in this kind of run. Of a file in which nothing
    runs on Spark, `make test` runs each test that has no cases: what it shows, no other test may show."""
    seen: Counter[str] = Counter()
    for item in items:
        said = next((each for each in item.iter_markers_with_node("every") if run in each[1].kwargs), None)
        if said is None or any(map(item.get_closest_marker, (mark, "thorough"))):
            continue
        node, every = said
        if run == "test" and isinstance(node, pytest.Module) and not hasattr(item, "callspec") and not _is_slow(item):
            continue
        of = node.nodeid.partition("[")[0]  # the cases of a test, or the tests of a file
        if seen[of] % every.kwargs[run]:
            item.add_marker(mark)
        seen[of] += 1


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _leave_out_long(items: list[pytest.Item], *, in_check: bool) -> None:
    """Marks the long cases of each file that do not fit into its budget. `always` exempts a test."""
    seconds: dict[str, float] = json.loads(LONG_TESTS.read_text(encoding="utf-8"))
    spent: Counter[Path] = Counter()
    left = [item for item in items if not item.get_closest_marker("thorough")]
    run = {_test(item) for item in left if _name(item) not in seconds}
    long = [item for item in left if _name(item) in seconds and not item.get_closest_marker("always")]
    for item in sorted(long, key=lambda item: seconds[_name(item)]):
        takes, on_spark = seconds[_name(item)], item.get_closest_marker("spark") is not None
        is_needed = _test(item) not in run and takes <= (0 if in_check else LONGEST)
        budget = 0 if in_check else BUDGET_ON_SPARK if on_spark else BUDGET
        if spent[item.path] + takes > budget and not is_needed:
            item.add_marker("thorough")
        else:
            run.add(_test(item))
        spent[item.path] += takes


def _test(item: pytest.Item) -> str:
    """The name of a test without its case."""
    return item.nodeid.partition("[")[0]


def _name(item: pytest.Item) -> str:
    """The name of a test, without the group that xdist adds."""
    return item.nodeid.removeprefix("tests/")


def _engine(item: pytest.Item) -> str | None:
    """The name of the engine that the test runs on, if it is one that runs on all."""
    return item.callspec.params.get("engine") if hasattr(item, "callspec") else None


@pytest.fixture(autouse=True, scope="session")
def _no_power_cuts() -> Iterator[None]:
    """Nothing waits for the disk: tests kill processes, which lose nothing that they have written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda file: None)
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests of a process."""
    from flo.spark.session import DAEMON, embedded

    with pytest.MonkeyPatch.context() as patch:
        here = Path(__file__).parent
        own = (here.parent, here.parent / "src", here / "spark" / "startup")  # also where another Flo is installed
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, own)))
        # workers have imported what all tests need before they are forked
        patch.setitem(DAEMON, "spark.python.daemon.module", "tests.spark.daemon")
        session = embedded("flo tests", cores=2)
    yield session
    session.stop()


@pytest.fixture(params=["values", "tables", "tasks", "spark"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each engine in turn, so that a test of a verb is written once.

    The marker `sampled(spark=("int",))` names the cases that `make test` runs on an engine; `make thorough` runs all.
    """
    from tests.engines.engine import Engine

    session = request.getfixturevalue("spark") if request.param == "spark" else None
    return Engine(request.param, tmp_path, session)


def unused() -> list[str]:
    """The rules of the paper that the session did not use."""
    small = [f"{rule.name} (small step)" for rule in SMALL_STEPS if not fired[rule.name]]
    return small + [f"{rule.name} (typing rule)" for rule in TYPING_RULES if not derived[rule.name]]


def is_whole(config: pytest.Config) -> bool:
    """Whether the session runs every test there is."""
    here, start = Path(__file__).parent, config.invocation_params.dir
    everything = all((start / argument).resolve() in (here, here.parent) for argument in config.args)
    return everything and not any(getattr(config.option, name, None) for name in _SELECTING)


_took: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name, _, group = report.nodeid.removeprefix("tests/").rpartition("@")
    _took[name if name and "]" not in group else report.nodeid.removeprefix("tests/")] += report.duration


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    if config.option.write_long_tests and not hasattr(config, "workeroutput"):
        took = json.loads(LONG_TESTS.read_text(encoding="utf-8")) | _took  # of tests that did not run, what they took
        long = {name: round(seconds, 1) for name, seconds in sorted(took.items()) if seconds >= 0.2}
        LONG_TESTS.write_text(json.dumps(long, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    if hasattr(config, "workeroutput"):  # a worker of pytest-xdist: the controller reports
        config.workeroutput["rules"] = (dict(fired), dict(derived))
    elif exitstatus == pytest.ExitCode.OK and is_whole(config) and unused():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """A worker has finished: its counts are added to ours."""
    small, typing = getattr(node, "workeroutput", {}).get("rules", ({}, {}))
    fired.update(small)
    derived.update(typing)


def pytest_terminal_summary(terminalreporter, exitstatus: int, config: pytest.Config) -> None:
    _write_seeded(terminalreporter)
    if not is_whole(config) or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return
    for title, rules, counts in (
        ("small-step rules", SMALL_STEPS, fired),
        ("typing rules", TYPING_RULES, derived),
    ):
        of_paper = [rule.name for rule in rules]
        others = sorted(counts.keys() - set(of_paper))
        terminalreporter.section(f"{title}: how often each was used")
        terminalreporter.write_line(f"the paper's ({len(of_paper)})")
        _write(terminalreporter, counts, of_paper)
        terminalreporter.write_line(f"others ({len(others)})")
        _write(terminalreporter, counts, others)
    missing = unused()
    if missing:
        terminalreporter.section("rules of the paper that were never used")
        for name in missing:
            terminalreporter.write_line(f"  {name}", red=True)


def _write_seeded(reporter) -> None:
    """How many attempts each seeded bug took; the tests that caught them have recorded it."""
    passed = reporter.stats.get("passed", [])
    caught = [value for report in passed for name, value in report.user_properties if name == "seeded"]
    if caught:
        reporter.section("seeded bugs: the law that caught each, and after how many attempts")
        for name, law, attempts in caught:
            reporter.write_line(f"  {name:<58}{law:<50}{attempts:>8}")


def _write(reporter, counts: Counter[str], names: list[str], columns: int = 3) -> None:
    cells = [f"{name:<30}{counts[name]:>8}" for name in names]
    for start in range(0, len(cells), columns):
        reporter.write_line("  " + "   ".join(cells[start : start + columns]))

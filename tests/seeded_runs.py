"""A pytest plugin: runs tests in forks of a process that has collected them all. tests/seeded_defects.py uses it.

The job `probe` runs every test once, and records what it takes and which places it executes, also in processes that it
starts. The job `seed` runs, for each defect, the tests that execute its place: first those of `make test`, then, if
they all pass, the others. The defect is written into the copy of the source, for processes that tests start, and the
functions of loaded modules are replaced.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.internal import charmap

from tests.seeded_defects import Defect, functions, read

OTHERS = ("tests/typing/", "tests/test_quality.py", "tests/test_layers.py", "tests/seeded_")
"""Tests that read the source instead of running it."""
LONGEST = 15
"""Tests that take longer, in seconds, are left out."""
AT_MOST = 90
"""How many seconds of tests a defect is tried on, of those of `make test`, and of the others."""

left_out: list[pytest.Item] = []
failed: list[str] = []
took: defaultdict[str, float] = defaultdict(float)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    # what a defect breaks is not kept for the next one, and nobody reads the smallest example
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("seeded", settings.get_profile("whole"), database=None, phases=phases)
    settings.load_profile("seeded")


def pytest_deselected(items: list[pytest.Item]) -> None:
    left_out.extend(items)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    took[report.nodeid] += report.duration
    if report.failed:
        failed.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    # tests ran in forks, so this process has used no rule of the paper; the suite says that it should have
    session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    job = json.loads(os.environ["SEEDED"])
    charmap.charmap()  # which takes seconds, once
    gc.unfreeze()
    loaded = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
    gc.freeze()
    kept, others = _runnable(session.items), _runnable(left_out)
    work, mine = Path(job["work"]), slice(job["number"], None, job["of"])
    ends = time.monotonic() + 60 * job["minutes"]
    with (work / f"{job['job']}-{job['number']}.jsonl").open("a", buffering=1) as out:
        if job["job"] == "probe":
            for is_kept, items in ((True, kept), (False, others)):
                for is_spark in (False, True):
                    chosen = [item for item in items if bool(item.get_closest_marker("spark")) == is_spark]
                    files = sorted({item.path for item in chosen})[mine]
                    chosen = [item for item in chosen if item.path in files]
                    if not is_kept:
                        turn = turns([item.nodeid for item in chosen])
                        chosen.sort(key=lambda item: turn[item.nodeid])
                    for result in run(chosen, _probed, lambda _: 2 * LONGEST, ends):
                        out.write(json.dumps({**result, "kept": is_kept, "spark": is_spark}) + "\n")
        else:
            known = Known(work)
            named = {item.nodeid: item for item in kept + others}
            done = {each["number"] for each in read(work, "seed")}
            for each in [each for each in known.defects[mine] if each.number not in done]:
                if time.monotonic() < ends:
                    out.write(json.dumps({"number": each.number, **known.outcome(each, named, loaded)}) + "\n")
    return True


def _runnable(items: list[pytest.Item]) -> list[pytest.Item]:
    seconds = json.loads(Path("tests/long_tests.json").read_text())
    names = {item.nodeid: item.nodeid.removeprefix("tests/") for item in items}
    short = [item for item in items if seconds.get(names[item.nodeid], 0) <= LONGEST]
    return [i for i in short if not i.nodeid.startswith(OTHERS) and not i.get_closest_marker("connectors")]


def turns(names: list[str]) -> dict[str, int]:
    """The place of each test among those of its file: if time ends, each file has had its turn."""
    seen: Counter[str] = Counter()
    found = {}
    for name in names:
        file = name.partition("::")[0]
        found[name] = seen[file]
        seen[file] += 1
    return found


def _probed(item: pytest.Item) -> None:
    import seeded_probe  # type: ignore[import-not-found]  # beside the source, in a copy with probes

    seeded_probe.begin(item.nodeid)


class Known:
    """What the job `probe` found."""

    def __init__(self, work: Path) -> None:
        self.defects = [Defect(**each) for each in json.loads((work / "defects.json").read_text())]
        self.tests = {each["test"]: each for each in read(work, "probe") if each["outcome"] == "passed"}
        self.hits: dict[int, set[str]] = defaultdict(set)
        for path in work.glob("probe-*.hits"):
            for line in path.open():
                place, _, test = line.rstrip("\n").partition("\t")
                self.hits[int(place)].add(test)

    def outcome(self, defect: Defect, items: dict[str, Any], loaded: list[FunctionType]) -> dict[str, Any]:
        """Who catches a defect."""
        path = Path.cwd() / "src" / defect.file
        source, when = path.read_bytes(), path.stat().st_mtime
        seeded = defect.seeded(source)
        path.write_bytes(seeded)
        os.utime(path, (when + 2, when + 2))  # so that no byte code of the source before is taken for it

        def seed() -> None:
            new = functions(seeded, str(path))
            for each in loaded:
                code = each.__code__
                if code.co_filename == str(path) and (code.co_qualname, code.co_firstlineno) in new:
                    each.__code__ = new[code.co_qualname, code.co_firstlineno]

        found: dict[str, Any] = {"outcome": "not executed"}
        try:
            for is_kept in (True, False):
                chosen = self.tests_of(defect, is_kept)
                ran, ends = 0, time.monotonic() + AT_MOST
                for result in run([items[each] for each in chosen if each in items], None, self.limit, ends, seed):
                    ran += 1
                    if result["outcome"] != "passed":
                        return {**found, **result, "outcome": "caught" if is_kept else "caught by others only"}
                if chosen and found["outcome"] in ("not executed", "not caught"):
                    found["outcome"] = "not caught" if ran == len(chosen) else "not caught in time"
                found["kept" if is_kept else "others"] = (ran, len(chosen))
        finally:
            path.write_bytes(source)
            os.utime(path, (when, when))
        return found

    def tests_of(self, defect: Defect, is_kept: bool) -> list[str]:
        """The tests that execute a place: of each file the shortest, then of each the next; on Spark at the end."""
        hits = self.hits[defect.number]
        chosen = [name for name in hits if name in self.tests and self.tests[name]["kept"] == is_kept]
        turn = turns(sorted(chosen, key=lambda name: self.tests[name]["seconds"]))
        return sorted(chosen, key=lambda name: (self.tests[name]["spark"], turn[name], self.tests[name]["seconds"]))

    def limit(self, name: str) -> float:
        return float(10 * self.tests[name]["seconds"] + (60 if self.tests[name]["spark"] else 10))


def run(
    items: list[Any],
    before: Callable[[pytest.Item], None] | None,
    limit: Callable[[str], float],
    ends: float,
    at_start: Callable[[], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Runs tests in a fork, and yields what became of each. After one that hangs, a new fork goes on."""
    done = 0
    while done < len(items) and time.monotonic() < ends:
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            _run_here(items[done:], before, writes, at_start)
        os.close(writes)
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(child, child)
        buffer = b""
        try:
            while done < len(items) and time.monotonic() < ends:
                at_most = limit(items[done].nodeid) + (60 if items[done].get_closest_marker("spark") else 0)
                part = os.read(reads, 1 << 16) if select.select([reads], [], [], at_most)[0] else b""
                buffer += part
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    done += 1
                    yield json.loads(line)
                if not part and done < len(items):  # hangs or has died
                    done += 1
                    yield {"test": items[done - 1].nodeid, "outcome": "hangs", "seconds": at_most}
                    break
        finally:
            os.close(reads)
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _run_here(items: list[Any], before: Any, writes: int, at_start: Callable[[], None] | None) -> None:
    try:
        os.setpgid(0, 0)
        if at_start:
            at_start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            if before:
                before(item)
            failed.clear()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            outcome = "failed" if failed else "passed"
            result = {"test": item.nodeid, "outcome": outcome, "seconds": round(took[item.nodeid], 3)}
            os.write(writes, json.dumps(result).encode() + b"\n")
    except BaseException as error:
        print("stopped", type(error), error, file=sys.stderr)
    finally:
        os._exit(0)

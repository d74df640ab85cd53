"""What is done to a running pipeline, by kind. Moments are things that happen, not times."""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.spark.chaos.driver import ABORT, RESTART, STOP
from tests.spark.chaos.pipeline import SHARDS, STUMBLES, TURNS
from tests.spark.chaos.processes import Driver, kill
from tests.spark.chaos.yard import Trial, Yard

LOST_WORKER = ("Python worker", "Connection reset", "Broken pipe", "EOFException")
FULL = ("No space left on device", "File too large")


def driver_killed(trial: Trial) -> None:
    """The driver with SIGKILL: the Python half, the JVM, or both."""
    trial.start()
    for _ in range(trial.rng.randint(1, 3)):
        if not trial.driver.until(trial.moment()):
            break
        time.sleep(trial.rng.random() * 0.2)  # anywhere behind that moment
        halves = trial.rng.choice([{}, {}, {"jvm": False}, {"python": False}])
        if trial.driver.kill(**halves):
            trial.done.append(f"{'half at ' if halves else ''}{trial.moment_name}")
        if "python" in halves:  # of no use without the other half, but it must notice
            trial.driver.answered()
            trial.driver.end()
        trial.start()
    trial.complete()


def worker_killed(trial: Trial) -> None:
    """Python workers with SIGKILL, once or twice."""
    trial.start()
    for _ in range(trial.rng.randint(1, 2)):
        if trial.driver.until(trial.moment()):
            for pid in trial.driver.workers()[: trial.rng.randint(1, 2)]:
                if kill(pid):
                    trial.done.append(trial.moment_name)
    trial.complete(*LOST_WORKER)


def task_fails(trial: Trial) -> None:
    """The user's function fails the first two times in every shard: it raises, or ends its process."""
    how = trial.rng.choice(["exit", "raise"])
    (trial.folder / STUMBLES).write_text(json.dumps({"how": how, "times": 2}))
    trial.start()
    trial.complete("stumbled")
    trial.done += [how] * len(list(trial.folder.glob(f"{STUMBLES}.*")))


def executor_lost(trial: Trial) -> None:
    """The JVM of an executor, of two in a standalone cluster."""
    cluster = trial.yard.cluster()
    trial.master = cluster.master
    trial.start()
    if trial.driver.until(trial.moment(TURNS - 2)) and trial.driver.until(cluster.executors):
        if kill(trial.rng.choice(cluster.executors())):
            trial.done.append(trial.moment_name)
    trial.complete()


def disk_full(trial: Trial) -> None:
    """No space for a file; after a while there is."""
    with full_disk(trial.folder, limited=trial.rng.random() < 0.3) as fill:
        trial.start()
        if not trial.driver.until(trial.moment(TURNS - 2)):
            trial.complete()
            return
        with fill(trial.driver):
            trial.done.append(trial.moment_name)
            failed = trial.refused(*FULL)
        if failed:
            trial.start()
            trial.complete()


def state_truncated(trial: Trial) -> None:
    """Files of a shard are cut: refused with the name of one; whole again, the run goes on."""
    at = trial.rng.randint(1, TURNS - 2)
    trial.start(ABORT, at)
    trial.refused("gave up")
    level = trial.rng.randint(1, 2)
    shard = trial.state(level, trial.rng.randrange(SHARDS))
    if not shard.exists():  # it was sent nothing, and has no state of its own
        shard = trial.state(level, 0)
    kinds = [kind for kind in ("manifests", "states", "runs") if list((shard / kind).glob("[!.]*"))]
    files = {file: file.read_bytes() for file in (shard / trial.rng.choice(kinds)).glob("[!.]*")}
    for file, content in files.items():
        file.write_bytes(content[: trial.rng.randrange(len(content))])
    trial.done.append(str(next(iter(files)).relative_to(trial.folder)))
    trial.start()
    if trial.refused(*(file.name for file in files)):
        for file, content in files.items():
            file.write_bytes(content)
        trial.start()
        trial.complete()


def callback_aborts(trial: Trial) -> None:
    """The function that takes an output raises in the middle of a micro-batch."""
    trial.start(ABORT, trial.rng.randrange(TURNS))
    trial.complete("gave up")


def stopped(trial: Trial) -> None:
    """`stop()` in the middle of a micro-batch, and a start in the same process."""
    trial.start(STOP, trial.rng.randrange(TURNS))
    trial.complete()


def started_twice(trial: Trial) -> None:
    """A second start of the same query while the first runs: it is refused, and the first goes on."""
    trial.start(RESTART, trial.rng.randrange(TURNS))
    trial.complete()


KINDS: dict[str, tuple[Callable[[Trial], None], int]] = {
    "driver killed": (driver_killed, 18),
    "worker killed": (worker_killed, 8),
    "task fails twice": (task_fails, 6),
    "disk full": (disk_full, 4),
    "state truncated": (state_truncated, 4),
    "callback aborts": (callback_aborts, 2),
    "stopped in a micro-batch": (stopped, 2),
    "started twice": (started_twice, 1),
    "executor lost": (executor_lost, 5),
}
"""Each with its share of 50 trials."""
TRIES = 5
"""How often a trial is repeated in which nothing was done to the pipeline: it was over before."""


def disturb(yard: Yard, kind: str, name: object, seed: int) -> Trial:
    """A trial of this kind: the first in which the pipeline was disturbed, or failed. Else the last, with `done` empty:
    it says nothing about the kind."""
    for attempt in range(TRIES):
        trial = Trial(yard, f"{name} {attempt}", seed + 1_000_000 * attempt)
        try:
            KINDS[kind][0](trial)
        except Exception as error:
            trial.differences.append(f"{type(error).__name__}: {error}")
        trial.forget()
        if trial.done or trial.differences:
            break
    return trial


@contextlib.contextmanager
def full_disk(folder: Path, *, limited: bool) -> Iterator[Callable[[Driver], contextlib.AbstractContextManager[None]]]:
    """A disk that can be filled: a small tmpfs; without the right to mount one, tasks that may write no byte."""
    mounted = (
        not limited
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], capture_output=True
        ).returncode
    )
    try:
        yield (lambda driver: _filled(folder, driver)) if mounted else _limited
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def _filled(folder: Path, driver: Driver) -> Iterator[None]:
    """Takes all space, and what becomes free, until the run has failed."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:

        def fill() -> bool:
            for size in (1 << 16, 1 << 12):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass
            return False

        driver.until(fill)
    yield
    ballast.unlink()


@contextlib.contextmanager
def _limited(driver: Driver) -> Iterator[None]:
    def limit(size: int) -> None:
        for pid in driver.daemons():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    limit(0)
    yield
    limit(resource.RLIM_INFINITY)

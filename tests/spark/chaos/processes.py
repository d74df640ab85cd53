"""The processes of a trial: the driver with its JVM and Python workers, and a cluster of a master and two workers."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark

ROOT = Path(__file__).parents[3]
SPARK_HOME = Path(pyspark.__file__).parent
LOCAL = "local[2,4]"
"""Two cores, and a task may fail three times: `local[2]` gives up at once."""
PATIENCE = 600
"""Seconds after which a process hangs."""
WORKER = "pyspark.worker"
"""The argument of Python's daemon, whatever its module is."""
_numbers = itertools.count()


class Hanging(Exception):
    """Nothing came of a run."""


class Driver:
    """A process that runs the pipeline when it is told to."""

    def __init__(self, scratch: Path, master: str = LOCAL) -> None:
        self.scratch = scratch
        self.log = scratch / f"driver-{next(_numbers)}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.chaos.driver", master],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                env=environment(),
                cwd=ROOT,
                start_new_session=True,
            )
        self.answer = Path()

    def order(self, source: Path, folder: Path, ask: str | None = None, at: int = -1) -> None:
        self.answer = self.scratch / f"answer-{next(_numbers)}"
        order = {"source": str(source), "folder": str(folder), "answer": str(self.answer), "ask": ask, "at": at}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def busy(self) -> bool:
        return self.alive and not self.answer.exists()

    def until(self, event: Callable[[], object]) -> bool:
        """Waits for something to happen; whether it did before the run was over."""
        end = time.monotonic() + PATIENCE
        while not event():
            if not self.busy:
                return False
            if time.monotonic() > end:
                raise Hanging(f"no end after {PATIENCE} s; see {self.log}")
            time.sleep(0.002)
        return True

    def answered(self) -> dict[str, Any] | None:
        """What came of the run; nothing if the process ended."""
        self.until(lambda: False)
        if not self.answer.exists():
            return None
        found: dict[str, Any] = json.loads(self.answer.read_text())
        return found

    def jvm(self) -> list[int]:
        return [pid for pid in below(self.process.pid) if "java" in command(pid)]

    def daemons(self) -> list[int]:
        """Python's daemons and the workers that they have forked, which have the same command. Flo has a daemon of its
        own, so the argument tells them, not the module."""
        return [pid for pid in below(self.process.pid) if WORKER in command(pid)]

    def workers(self) -> list[int]:
        """Python workers: forked by a daemon, whose child the JVM is not."""
        daemons = self.daemons()
        return [pid for pid in daemons if parents().get(pid) in daemons]

    def kill(self, *, python: bool = True, jvm: bool = True) -> bool:
        """At once, as a power cut would: both halves of the driver, or one of them. Whether one was alive."""
        pids = (self.jvm() if jvm else []) + ([self.process.pid] if python else [])
        killed = [kill(pid) for pid in pids]
        if python:
            self.process.wait()
        return any(killed)

    def end(self) -> None:
        """What is left of it."""
        pids = below(self.process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pid in pids:
            if "pyspark" in command(pid):
                kill(pid)


class Cluster:
    """A standalone cluster of the pip package, on loopback: a master and two workers of one core."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.master = f"spark://127.0.0.1:{port}"
        self.processes = [self._run("master.Master", "--port", str(port))]
        for _ in range(2):
            self.processes.append(self._run("worker.Worker", "--cores", "1", "--memory", "1g", self.master))

    def _run(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        given = ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        if name.startswith("worker"):
            given = ["--work-dir", str(self.scratch / "work"), *given]
        with (self.scratch / "cluster.log").open("a") as log:
            return subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *given],
                stdout=log,
                stderr=log,
                env=environment() | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(SPARK_HOME)},
                cwd=ROOT,
            )

    def executors(self) -> list[int]:
        found = [pid for process in self.processes for pid in below(process.pid)]
        return [pid for pid in found if "CoarseGrainedExecutorBackend" in command(pid)]

    def end(self) -> None:
        pids = self.executors()
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        for pid in pids:
            kill(pid)


def environment() -> dict[str, str]:
    """Python workers find the package of the trials; a JVM that lives for a minute compiles little."""
    return os.environ | {
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}:{ROOT / 'tests' / 'spark' / 'startup'}",
        "PYSPARK_PYTHON": sys.executable,
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


def kill(pid: int) -> bool:
    """Whether the process was alive."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def parents() -> dict[int, int]:
    """The parent of every process."""
    listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return {int(pid): int(parent) for pid, parent in (line.split() for line in listed.splitlines())}


def command(pid: int) -> str:
    return subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True).stdout


def below(pid: int) -> list[int]:
    """The processes that one has started, and these."""

    def walk(of: int) -> Iterator[int]:
        for child in (each for each, parent in known.items() if parent == of):
            yield child
            yield from walk(child)

    known = parents()
    return list(walk(pid))

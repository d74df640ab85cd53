"""Files that are written together, whose flushes share the threads of a process."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from flo.tables.checkpoint.folders import Local, Writes


def write(folder: Path, name: str) -> None:
    with closing(Writes()) as writes:
        Local(folder).writing_together(writes).write(name, b"content")
        assert not (folder / name).exists()
        writes.finish()
    assert (folder / name).read_bytes() == b"content"


def test_nothing_runs_any_more_when_one_of_the_calls_after_a_write_has_failed(tmp_path: Path) -> None:
    """Another attempt may begin then."""
    running, called = threading.Event(), []

    def fail() -> None:
        running.wait()
        raise OSError("the disk is gone")

    def act() -> None:
        running.set()
        time.sleep(0.1)
        called.append("act")

    with closing(Writes()) as writes:
        writes.afterwards(fail)
        writes.afterwards(act)
        with pytest.raises(OSError, match="the disk is gone"):
            writes.finish()
    assert called == ["act"]


def test_what_runs_meanwhile_is_done_at_the_end(tmp_path: Path) -> None:
    called: list[str] = []

    def act() -> None:
        time.sleep(0.1)
        called.append("act")

    def fail() -> None:
        raise OSError("the disk is gone")

    with closing(Writes()) as writes:
        writes.meanwhile(act)
        writes.finish()
        assert called == ["act"]
    with closing(Writes()) as writes:
        writes.meanwhile(act)
    assert called == ["act"] * 2, "also if the files do not appear"
    with closing(Writes()) as writes:
        writes.meanwhile(fail)
        with pytest.raises(OSError, match="the disk is gone"):
            writes.finish()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_a_fork_flushes_with_threads_of_its_own(tmp_path: Path) -> None:
    """It has none of those that its parent has started, and would wait for them forever."""
    for number in range(10):  # some of its threads have nothing to do by then
        write(tmp_path, f"parent-{number}")
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends the process
        try:
            write(tmp_path, "child")
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / "child").exists()

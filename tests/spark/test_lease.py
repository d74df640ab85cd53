"""One query at a time commits to a checkpoint: who may, who is refused, and who finds out that it has lost it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.shards.checkpoint import lease as leases
from flo.shards.checkpoint.commits import commit_epoch, commit_version, committed_versions
from flo.shards.checkpoint.lease import Lease
from flo.tables.checkpoint.folders import Local, folder
from flo.tables.checkpoint.store import read_sealed, write_sealed
from tests.spark.chaos.pipeline import outcome, program, start, write_inputs
from tests.spark.chaos.processes import ROOT, Driver

HOLDING = """
import sys
from flo.shards.checkpoint.lease import Lease
lease = Lease.take(sys.argv[1], "another")
print("held", flush=True)
sys.stdin.readline()
lease.release()
"""


@contextlib.contextmanager
def holding(where: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lease until it is told to let go."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(where)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        assert process.stdin is not None
        process.stdin.close()


def test_a_file_is_created_once(tmp_path: Path) -> None:
    """By one of many who try at the same moment; whole, and nothing is left aside."""
    for without_links in (False, True):
        name, won, ready = f"one/{without_links}", [], threading.Barrier(8)

        def create(number: int, name: str = name, won: Any = won, ready: Any = ready) -> None:
            ready.wait()
            with contextlib.suppress(FileExistsError):
                folder(tmp_path).create(name, str(number).encode() * 1000)
                won.append(number)

        with pytest.MonkeyPatch.context() as patch:
            if without_links:
                patch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links here")))
            threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(won) == 1
        assert folder(tmp_path).read(name) == str(won[0]).encode() * 1000
    assert len(folder(tmp_path).files("one")) == 2


def test_a_second_start_in_this_process_is_refused(tmp_path: Path) -> None:
    where = str(tmp_path)
    first = Lease.take(where, "sales")
    with pytest.raises(flo.CheckpointError, match="is in use by another query") as caught:
        Lease.take(where, "sales again")
    said = str(caught.value)
    for part in ("`sales` of", f"process {os.getpid()}", first.holder["host"], first.holder["since"], "query.stop()"):
        assert part in said
    first.expect_held()
    first.release()
    second = Lease.take(where, "sales again")
    assert (first.epoch, second.epoch) == (1, 2)
    with pytest.raises(flo.CheckpointError, match="has taken over"):
        first.expect_held()
    second.release()
    second.release()


def test_one_whose_query_has_ended_is_not_in_use(tmp_path: Path) -> None:
    """Also if nobody has stopped it."""
    first = Lease.take(str(tmp_path), "sales")
    first.is_used = lambda: False
    assert Lease.take(str(tmp_path), "sales").epoch == 2


def test_of_another_process_that_lives_and_is_killed(tmp_path: Path) -> None:
    """A crash blocks no restart, and what is alive is not taken over."""
    with holding(tmp_path) as other:
        with pytest.raises(flo.CheckpointError, match=f"`another` of .*, process {other.pid} on"):
            Lease.take(str(tmp_path), "sales")
        other.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # has ended, and nobody has asked how
        lease = Lease.take(str(tmp_path), "sales")
    assert lease.epoch == 2
    lease.release()


def test_of_another_process_that_lets_go(tmp_path: Path) -> None:
    with holding(tmp_path) as other:
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
        other.wait()
        assert read_sealed(folder(tmp_path), "leases/00000001.json")["released"]
        assert Lease.take(str(tmp_path), "sales").epoch == 2


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"started": "another boot 17"}])
def test_one_that_is_not_known_to_be_alive_is_taken_over(tmp_path: Path, change: dict[str, str]) -> None:
    """On another machine, or a process that had the same number before this one began. It finds out when it commits."""
    where = str(tmp_path)
    old = Lease.take(where, "sales")
    old.holder |= change
    write_sealed(folder(where), "leases/00000001.json", old._content())
    new = Lease.take(where, "sales")
    with pytest.raises(flo.CheckpointError, match="must not commit") as caught:
        old.expect_held()
    assert f"process {os.getpid()} on {new.holder['host']}" in str(caught.value)
    assert "epoch 2" in str(caught.value)
    old.release()
    new.expect_held()
    assert folder(where).names("leases") == ["00000002.json"]


def test_a_commit_of_an_earlier_epoch_does_not_count(tmp_path: Path) -> None:
    """Even if it comes between the look at the lease and the commit."""
    where = str(tmp_path)
    commit_version(where, 0, 1, {}, epoch=1)
    commit_version(where, 0, 1, {}, epoch=2)  # comes again after a crash
    assert commit_epoch(where, 0) == 2
    with pytest.raises(flo.CheckpointError, match="version 0 was committed by another query"):
        commit_version(where, 0, 1, {}, epoch=1)
    assert commit_epoch(where, 0) == 2


def test_epochs_go_on_behind_those_of_commits(tmp_path: Path) -> None:
    """If somebody has removed the leases."""
    where = str(tmp_path)
    lease = Lease.take(where, "sales")
    commit_version(where, 0, 1, {}, epoch=7)
    folder(where).remove("leases")
    with pytest.raises(flo.CheckpointError, match=r"lacks the file `leases/00000001.json`"):
        lease.expect_held()
    assert Lease.take(where, "sales").epoch == 8


def test_two_that_take_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not the first to create the file looks again, and is refused."""
    where, create = str(tmp_path), Local.create
    others: list[Lease] = []

    def late(self: Any, name: str, data: bytes) -> None:
        if not others:
            monkeypatch.setattr(Local, "create", create)
            others.append(Lease.take(where, "the other"))
        create(self, name, data)

    monkeypatch.setattr(Local, "create", late)
    with pytest.raises(flo.CheckpointError, match="`the other`"):
        Lease.take(where, "sales")
    others[0].expect_held()
    assert len([lease for lease in leases._here.values() if lease.where == where]) == 1


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    where = str(tmp_path / "file" / "checkpoint")
    with pytest.raises(flo.CheckpointError, match="the checkpoint cannot be written: Not a directory") as caught:
        Lease.take(where, "sums")
    assert ("checkpoint", where) in caught.value.facts
    assert not any(each.where == where for each in leases._here.values())


@pytest.mark.slow
@pytest.mark.thorough
def test_in_one_session(spark: Any, tmp_path: Path) -> None:
    """A second start is refused while the first runs, and the first goes on; after `stop`, or a failure, it is not."""
    write_inputs(tmp_path / "source", 1)
    inside, go_on = threading.Event(), threading.Event()

    def waits(version: int) -> None:
        inside.set()
        assert go_on.wait(600)

    def gives_up(version: int) -> None:
        raise RuntimeError("gave up")

    first = start(spark, tmp_path / "source", tmp_path, waits)
    try:
        assert inside.wait(600)
        with pytest.raises(flo.CheckpointError, match="is in use by another query") as caught:
            start(spark, tmp_path / "source", tmp_path, lambda version: None)
        assert f"`trial` of {first._lease.holder['user']}, process {os.getpid()}" in str(caught.value)
        assert first.active

        def release() -> None:
            while first.active:  # until `stop` has begun, or else it may have taken all input before
                time.sleep(0.01)
            go_on.set()

        threading.Thread(target=release).start()
        first.stop()
    finally:
        go_on.set()
    second = start(spark, tmp_path / "source", tmp_path, gives_up)
    with pytest.raises(RuntimeError, match="gave up"):
        second.wait()
    third = start(spark, tmp_path / "source", tmp_path, lambda version: None)
    third.wait()
    assert third._lease.epoch == 3
    assert outcome(third, tmp_path)["running"]


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    found = Driver(tmp_path)
    yield found
    found.end()


@pytest.mark.thorough
def test_two_drivers(spark: Any, tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused while it can see the first; else it takes over, and what the first does then counts no
    more: it is told who has the checkpoint."""
    source, data = tmp_path / "source", write_inputs(tmp_path / "source", 1)
    inside, go_on = threading.Event(), threading.Event()

    def waits(version: int) -> None:
        if version == 2:
            inside.set()
            assert go_on.wait(600)

    here = tmp_path / "seen"
    here.mkdir()
    first = start(spark, source, here, waits)
    try:
        assert inside.wait(300)
        driver.order(source, here)
        answer = driver.answered()
        assert answer is not None
        assert answer["kind"] == "CheckpointError", answer
        assert f"process {os.getpid()} on" in answer["error"]
        lease = first._lease
        lease.holder["host"] = "elsewhere"  # as the other driver would see a lease of another machine
        write_sealed(folder(lease.where), f"leases/{lease.epoch:08}.json", lease._content())
        driver.order(source, here)
        answer = driver.answered()
        assert answer is not None
        assert "outcome" in answer, answer
        versions = committed_versions(lease.where)
    finally:
        go_on.set()
    with pytest.raises(flo.CheckpointError, match="another query has taken over") as caught:
        first.wait()
    assert f"process {driver.process.pid} on" in str(caught.value)
    assert first.exception is caught.value
    assert committed_versions(lease.where) == versions
    assert {commit_epoch(lease.where, version) for version in versions} == {2}
    assert outcome(first, here) == answer["outcome"]
    expected = dict(program(here).run(**data))
    assert answer["outcome"]["running"] == expected["running"]

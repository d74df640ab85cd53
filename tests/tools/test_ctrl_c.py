"""Ctrl-C ends `flo run`, `flo sql` and scripts in a process of their own; a later run goes on from the checkpoint."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
from flo.tools.ctrl_c import cancel_jobs, catch_ctrl_c
from tests.spark.test_command import cells

FLOW = """
from typing import NamedTuple

import flo

class Sale(NamedTuple):
    shop: str
    price: int

flow = flo.Flow("sums")
sales = flow.input("sales", flo.ZSet[Sale])
flow.output("seen", sales)
flow.output("sums", sales.group_by("shop").agg(sum=flo.sum("price")))
"""
SCRIPT = """
from flow import flow
from flo.spark.session import embedded

spark = embedded("script", cores=1)
sales = spark.readStream.options(header=True).schema("shop string, price int").csv("sales")
started = flow.on(spark).start({"sales": sales}, {"seen": "console"}, checkpoint="checkpoint")
try:
    started.wait()
except KeyboardInterrupt:
    started.stop()
    print("stopped:", sorted(int(row["sum"]) for row in started.view("sums").arrow().to_pylist()))
spark.stop()
"""
VIEWS = """
CREATE VIEW seen AS SELECT shop FROM sales;
CREATE VIEW sums AS SELECT shop, sum(price) AS sum FROM sales GROUP BY shop;
"""
FOREVER = {"run": ["run", "flow.py", "--every", "10 milliseconds"], "sql": ["sql", "views.sql"]}
INFERENCE = "--conf spark.sql.streaming.schemaInference=true pyspark-shell"
ONCE = {"run": ["run", "flow.py"], "sql": ["sql", "views.sql", "--once"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "views.sql").write_text(VIEWS)
    (tmp_path / "sales").mkdir()
    (tmp_path / "sales" / "1.csv").write_text("shop,price\na,1\nb,2\n")
    return tmp_path


@contextlib.contextmanager
def command(folder: Path, arguments: list[str], source: str = "sales") -> Iterator[subprocess.Popen[str]]:
    given = ["--input", f"sales={source}", "--output", "seen=console", "--checkpoint", "checkpoint"]
    with started(folder, ["-m", "flo", *arguments, *given]) as process:
        yield process


@contextlib.contextmanager
def started(folder: Path, arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Runs Python in a group of processes, as a terminal does."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", "PYSPARK_SUBMIT_ARGS": INFERENCE},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_version(process: subprocess.Popen[str], version: int) -> None:
    assert process.stdout is not None
    assert any(line.startswith(f"seen, version {version}:") for line in process.stdout), process.stderr.read()


def interrupted(process: subprocess.Popen[str], folder: Path) -> str:
    """What a process shows that gets Ctrl-C in its second micro-batch, and ends well."""
    await_version(process, 0)
    (folder / "sales" / "2.csv").write_text("shop,price\na,5\n")
    await_version(process, 1)
    os.killpg(process.pid, signal.SIGINT)
    shown, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    return shown


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["run", "sql"])
def test_ends_a_command_that_goes_on_for_ever(folder: Path, name: str) -> None:
    with command(folder, FOREVER[name]) as process:
        shown = interrupted(process, folder)
    assert cells(shown) in ([["a", "1", "1"], ["b", "2", "1"]], [["a", "6", "1"], ["b", "2", "1"]])
    assert shown.splitlines()[-1].startswith("└")
    (folder / "sales" / "3.csv").write_text("shop,price\nb,7\n")
    with command(folder, ONCE[name]) as process:
        shown, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert cells(shown) == [["a", "6", "1"], ["b", "9", "1"]]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["run", "sql"])
def test_a_run_that_would_end_by_itself_fails(folder: Path, name: str) -> None:
    for number in range(500):  # micro-batches
        pq.write_table(pa.table({"shop": ["a"], "price": pa.array([1], pa.int32())}), folder / f"{number}.parquet")
    with command(folder, ONCE[name], f"parquet:path={folder}/*.parquet,maxFilesPerTrigger=1") as process:
        await_version(process, 0)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert said.splitlines()[-1] == f"flo {name}: stopped by Ctrl-C"
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.thorough
def test_ends_a_script_that_waits_for_its_query(folder: Path) -> None:
    (folder / "script.py").write_text(SCRIPT)
    with started(folder, ["script.py"]) as process:
        shown = interrupted(process, folder)
    assert shown.splitlines()[-1] in ("stopped: [1, 2]", "stopped: [2, 6]")


def test_interrupts_a_query_that_is_waited_for(spark: Any, tmp_path: Path) -> None:
    flow = flo.Flow("all")
    flow.output("all", flow.input("numbers", flo.ZSet[int]))
    query = flow.on(spark).start(
        {"numbers": spark.readStream.format("rate").load().selectExpr("value")}, checkpoint=tmp_path
    )

    def press_and_wait() -> None:
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
        query.wait()

    with pytest.raises(KeyboardInterrupt):
        press_and_wait()
    query.stop()
    assert not query.active


def test_only_the_first_is_caught() -> None:
    before = signal.getsignal(signal.SIGINT)
    with catch_ctrl_c() as pressed:
        assert not pressed.is_set()
        signal.raise_signal(signal.SIGINT)
        assert pressed.is_set()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is before


def test_jobs_are_cancelled(spark: Any) -> None:
    def endless(batches: Any) -> Any:
        while True:
            yield from ()

    pressed, rows = threading.Event(), spark.range(1).mapInArrow(endless, "id long")
    status = spark.sparkContext.statusTracker()

    def press() -> None:
        while not status.getActiveJobsIds():
            pass
        pressed.set()

    presses = threading.Thread(target=press)
    presses.start()
    with pytest.raises(KeyboardInterrupt), cancel_jobs(spark, pressed):
        rows.collect()
    presses.join()


def test_another_error_stays(spark: Any) -> None:
    with pytest.raises(ZeroDivisionError), cancel_jobs(spark, threading.Event()):
        raise ZeroDivisionError

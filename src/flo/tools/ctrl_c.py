"""Ctrl-C in commands that run on Spark.

PySpark's own handler calls Java. That fails if the thread it interrupts waits for an answer of Java, and so does every
later call of that thread.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PERIOD = 0.25
"""Seconds between two attempts to cancel jobs."""


@contextmanager
def catch_ctrl_c() -> Iterator[threading.Event]:
    """Within the block, the first Ctrl-C sets the event and does nothing else. A second one ends the process."""
    pressed = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        pressed.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def cancel_jobs(spark: SparkSession, pressed: threading.Event) -> Iterator[None]:
    """Within the block, Ctrl-C cancels the jobs of Spark. The error which that causes becomes KeyboardInterrupt."""
    over = threading.Event()

    def cancel() -> None:
        pressed.wait()
        while not over.is_set():
            spark.sparkContext.cancelAllJobs()
            over.wait(PERIOD)  # for the next job, if there is one

    threading.Thread(target=cancel, daemon=True).start()
    try:
        yield
    except Exception:
        if pressed.is_set():
            raise KeyboardInterrupt from None
        raise
    finally:
        over.set()

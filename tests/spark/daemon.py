"""Spark's daemon, which forks the workers, with the packages that they need: a worker that has failed is replaced."""

from __future__ import annotations

import contextlib
import gc
import os

from pyspark import daemon

with contextlib.suppress(ImportError):  # a Python that has few packages is one that a test asks for
    import tests.spark.harness
    import tests.spark.programs
    import tests.spark.shops  # noqa: F401
    from flo.spark.tasks.worker_daemon import run_tasks

    daemon.worker = run_tasks

if __name__ == "__main__":
    os.fsync = lambda file: None  # as in the process of the tests
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]

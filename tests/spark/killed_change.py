"""A start of a changed program on Spark, in a process that dies at a moment of the fill or of the switch:
`killed_change FOLDER MOMENT`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

from pyspark.sql import SparkSession

from flo.local import evolution
from flo.local.durable import DurableLoop
from flo.local.evolution import Evolution
from flo.shards.micro_batches import MicroBatches
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.sinks import Changes
from flo.spark.session import embedded
from tests.spark.test_living_programs import Pipeline

BEFORE, AFTER = ("counts",), ("counts", "most", "cities")


def die(*given: Any, **more: Any) -> Never:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it is dead")


def after(function: Callable[..., Any]) -> Callable[..., Never]:
    """Runs a function, and dies."""

    def replaced(*given: Any, **more: Any) -> Never:
        function(*given, **more)
        die()

    return replaced


def after_the_switch(function: Callable[..., Any]) -> Callable[..., None]:
    """Runs a function, and dies if it was for the checkpoint rather than for its fill."""

    def replaced(batches: MicroBatches, *given: Any, **more: Any) -> None:
        function(batches, *given, **more)
        if not batches.folder.endswith("fill"):
            die()

    return replaced


MOMENTS: dict[str, Callable[[], None]] = {
    "a part is filled": lambda: setattr(DurableLoop, "commit", after(DurableLoop.commit)),
    "all is filled": lambda: setattr(Evolution, "_differences", die),
    "sinks have the difference": lambda: setattr(Giving, "give", after(Giving.give)),
    "logs are moved": lambda: setattr(evolution, "add_description", after(evolution.add_description)),
    "it is committed": lambda: setattr(
        MicroBatches, "commit_micro_batch", after_the_switch(MicroBatches.commit_micro_batch)
    ),
}


def run(spark: SparkSession, pipeline: Pipeline, *outputs: str) -> dict[str, list[Any]]:
    """Runs a program; `counts` also has a sink."""
    sink = {"counts": Changes(str(pipeline.where / "sink"))}
    return pipeline.run(*outputs, outputs=sink, changed="fill", shards=None if len(outputs) > 1 else 3)


if __name__ == "__main__":
    session = embedded("killed", cores=2)
    MOMENTS[sys.argv[2]]()
    run(session, Pipeline(session, Path(sys.argv[1])), *AFTER)

"""The process under trial: one Spark session, and a run of the pipeline for every order on its standard input."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

from flo.core.errors import CheckpointError, FloError
from flo.spark.session import embedded
from tests.spark.chaos.pipeline import outcome, start

ABORT, STOP, RESTART = "abort", "stop", "restart"
"""What an order may ask of the callback at a version: to raise; or of the query meanwhile: to stop, to start anew."""


def run(spark: Any, source: Path, folder: Path, ask: str | None, at: int, done: list[str]) -> dict[str, Any]:
    """What comes of the pipeline. What was asked for is added to `done` when it is done."""
    reached = threading.Event()

    def calling(version: int) -> None:
        if version == at:
            reached.set()
            if ask == ABORT:
                done.append(ABORT)
                raise RuntimeError("the callback gave up")

    query = start(spark, source, folder, calling)
    if ask in (STOP, RESTART):
        while query.active and not reached.wait(0.01):
            pass
        if ask == STOP:
            if query.active:
                done.append(STOP)
            query.stop()
        try:
            query = start(spark, source, folder, lambda version: None)
        except CheckpointError:  # the first runs, and goes on
            if ask == STOP:
                raise
            done.append(RESTART)
    query.wait()
    return outcome(query, folder)


def main(master: str) -> None:
    spark = embedded("flo trials", master=master, memory="1g")
    for line in sys.stdin:
        order = json.loads(line)
        answer: dict[str, Any]
        done: list[str] = []
        try:
            found = run(spark, Path(order["source"]), Path(order["folder"]), order["ask"], order["at"], done)
            answer = {"outcome": found}
        except FloError as error:
            answer = {"error": str(error), "kind": type(error).__name__}
        except Exception as error:
            answer = {"error": str(error), "kind": "unexpected"}
        file = Path(order["answer"])
        aside = file.with_suffix(".aside")
        aside.write_text(json.dumps(answer | {"done": done}, default=int))  # sums are decimals without places
        aside.replace(file)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])

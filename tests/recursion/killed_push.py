"""A push with many rounds, in a process that is killed in the middle of one.

The body calls a function for every row. For the row that a file names, this kills the process that the file names.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import narwhals as nw

import flo
from tests.recursion.programs import Arc, Given, Label, Node


def program(folder: Path) -> flo.Flow:
    """Shortest paths from the starts."""
    doom = folder / "doom"

    def survives(row: Label) -> bool:
        if doom.exists():
            node, process = map(int, doom.read_text().split())
            if row.node == node:
                doom.unlink()  # once
                os.kill(process or os.getpid(), signal.SIGKILL)
        return True

    flow = flo.Flow("doomed")
    arcs, starts = flow.input("arcs", flo.ZSet[Arc]), flow.input("starts", flo.ZSet[Node])
    begin = starts.select(node="node", label=nw.lit(0))

    def body(best: Any) -> Any:
        more = best.join(arcs, on="node", other_on="src").select(node="dst", label=nw.col("label") + nw.col("cost"))
        return begin.union(more.filter(survives)).group_by("node").agg(label=flo.min("label"))

    best = flow.fixpoint(best=flo.ZSet[Label], body=body)
    flow.output("best", best)
    flow.output("count", best.agg(nodes=flo.count(), most=flo.max("label")))
    return flow


def start(folder: Path, workers: int) -> Any:
    return program(folder).on(flo.here, workers=workers).start(checkpoint=folder / "checkpoint", shards=workers)


def push(folder: Path, workers: int, delta: Given, node: int) -> None:
    """Push a delta, in this process, which ends when the row of a node is derived."""
    with start(folder, workers) as query:
        (folder / "doom").write_text(f"{node} {os.getpid()}")
        query.push(**delta.pushed)

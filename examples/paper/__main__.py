"""`python -m examples.paper`: the programs of the paper, rejected where they must be, and run step by step."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.panel import Panel
from rich.progress import track
from rich.text import Text

import flo
from examples.paper import (
    all_together,
    composition,
    growing_radius,
    incremental_join,
    motivating,
    reachability,
    threshold,
    windowed_aggregation,
)
from flo.tools.views import legend, trace_table

console = Console(width=None if sys.stdout.isatty() else 118)


def traced(flow: flo.Flow, title: str, **data: object) -> None:
    """Runs the flow in small steps, and shows every rule that fired."""
    loop = flow.loop(record=True)
    start = loop.graph
    loop.push(**data)
    loop.run()
    console.print(Text(f"  {flo.show(start, states=False)}", style="dim"))
    for line in legend(start):
        console.print(Text(f"  where {line}", style="dim"))
    console.print(trace_table(start, loop.history, title=title))
    console.print(f"  result  {dict(loop.result())}\n")


def chapter(title: str) -> None:
    console.rule(f"[bold]{title}")


def main() -> None:
    chapter("§2  Flo rejects a fold that would block forever")
    try:
        motivating.hanging_fold()
    except flo.BoundednessError as error:
        console.print(Panel(Text(f"BoundednessError: {error}"), border_style="red"))
    traced(motivating.batched_fold(2), "one sum for every batch", numbers=[1, 2, 3])
    traced(motivating.event_when_above(5), "an event when the growing sum passes 5", numbers=[1, 2, 3])

    chapter("§4  Composition: the figure's graph, parsed and typed")
    composition.main()

    chapter("§5  Nested graphs: reachability")
    reachability.main()
    growing_radius.main()

    chapter("§6  Windows, lattices, retractions, and all of them in one program")
    windowed_aggregation.main()
    threshold.main()
    incremental_join.main()
    all_together.main()

    chapter("One result, whatever runs first and whenever data arrives")
    flow, data = all_together.monitor(), all_together.BIDS
    expected = flow.run(bids=data)
    schedules = 60
    for seed in track(range(schedules), description=f"{schedules} random schedules", console=console):
        loop = flow.loop(seed=seed)
        for cut in range(0, len(data), 1 + seed % 4):
            loop.push(bids=data[cut : cut + 1 + seed % 4])
            loop.step(seed % 7)
        loop.run()
        assert loop.result() == expected, f"schedule {seed} differs"
    console.print(f"  all {schedules} agree: {dict(expected)}")


if __name__ == "__main__":
    main()

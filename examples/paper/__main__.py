"""`python -m examples.paper`: the programs of the paper, rejected where they must be, and run step by step."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.panel import Panel
from rich.progress import track
from rich.table import Table
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
from flo.core.graph import Graph, names, text
from flo.core.labels import label
from flo.core.semantics import GraphStep
from flo.core.term import Lowering
from flo.verify.exploration.moves import node_at

console = Console(width=None if sys.stdout.isatty() else 118)


def trace_table(steps: Iterable[GraphStep], title: str) -> Table:
    """A table with a row for each step: its rule, the operator after it, and what it emitted."""
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("step", justify="right")
    table.add_column("rule", style="cyan", no_wrap=True)
    table.add_column("after it")
    table.add_column("emitted", style="green")
    table.add_row("", "", "", "")
    for number, step in enumerate(steps, start=1):
        operator = text(Lowering()(node_at(step.graph, step.place)))
        emitted = [text(Lowering()(delta)) for delta in step.outputs if delta is not None]
        table.add_row(str(number), step.rule, Text(operator), Text("  ".join(emitted)))
    return table


def legend(graph: Graph) -> list[str]:
    """The lambdas behind the names in the printed program."""
    return [f"{name} = {label(item)}" for name, item in names(graph).items() if name.startswith("λ")]


def traced(flow: flo.Flow, title: str, **data: object) -> None:
    """Runs the flow in small steps, and shows every rule that fired."""
    loop = flow.loop(record=True)
    start = loop.graph
    loop.push(**data)
    loop.run()
    console.print(Text(f"  {flo.show(start, states=False)}", style="dim"))
    for line in legend(start):
        console.print(Text(f"  where {line}", style="dim"))
    console.print(trace_table(loop.history, title))
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

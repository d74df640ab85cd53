"""A run as a table: every small step with its rule, the operator that took it, and the program after it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.labels import label
from flo.core.notation import names, text
from flo.core.semantics import GraphStep
from flo.core.term import Lowering


def stepped_node(graph: Graph, place: tuple[int, ...]) -> Node:
    """The operator at a place of the graph."""
    for side in place:
        assert isinstance(graph, (Sequential, Parallel))
        graph = graph.right if side else graph.left
    assert isinstance(graph, Node)
    return graph


def derivation(step: GraphStep) -> str:
    """The rules from the root to the operator: `sequence-left › operator › map`."""
    return " › ".join(step.path)


def trace_table(start: Graph, steps: Iterable[GraphStep], *, title: str = "", whole: bool = False) -> Table:
    """One row a step. `whole` shows the derivation and all of the program, else only the operator that stepped."""
    table = Table(title=title or None, title_justify="left", header_style="bold", expand=False)
    table.add_column("step", justify="right")
    table.add_column("rule", style="cyan", no_wrap=not whole)
    table.add_column("after it")
    table.add_column("emitted", style="green")
    table.add_row("", "", Text(_text(start)) if whole else "", "")
    for number, step in enumerate(steps, start=1):
        shown = step.graph if whole else stepped_node(step.graph, step.place)
        emitted = [text(Lowering()(delta)) for delta in step.outputs if delta is not None]
        rule = derivation(step) if whole else step.rule
        table.add_row(str(number), rule, Text(_text(shown)), Text("  ".join(emitted)))
    return table


def legend(graph: Graph) -> list[str]:
    """What the names of lambdas in the printed program stand for."""
    return [f"{name} = {label(item)}" for name, item in names(graph).items() if name.startswith("λ")]


def _text(graph: Graph) -> str:
    return text(Lowering()(graph))

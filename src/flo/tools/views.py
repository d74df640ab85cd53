"""Terminal views: the progress of a long run, and tables of traces."""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from flo.core.graph import Graph, names, text
from flo.core.labels import label
from flo.core.semantics import GraphStep
from flo.core.term import Lowering
from flo.verify.exploration.moves import node_at

PATIENCE = 1.0
"""Seconds before the progress is displayed."""


class RunProgress:
    """A line on the terminal while a program runs."""

    def __init__(self, name: str, total: int | None, console: Console | None = None) -> None:
        self.name, self.total = name, total
        self.console = console or Console(stderr=True)
        self.rows = 0
        self.started = time.monotonic()
        self._display: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        return self

    def moved(self, rows: int, state: tuple[int, int]) -> None:
        """Adds processed rows; `state` is the number of rows and bytes that the program keeps."""
        self.rows += rows
        elapsed = time.monotonic() - self.started
        if not self.console.is_terminal or elapsed < PATIENCE:
            return
        if self._display is None:
            self._display = self._bar()
            self._display.start()
            self._task = self._display.add_task(self.name, total=self.total, details="")
        details = f"{self.rows:,} rows   {self.rows / elapsed:,.0f}/s   state {state[0]:,} rows, {size(state[1])}"
        self._display.update(self._task, completed=self.rows, details=details)

    def _bar(self) -> Progress:
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}"),
            TextColumn("{task.fields[details]}"),
            TimeElapsedColumn(),
        ]
        if self.total is not None:
            columns += [BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
        return Progress(*columns, console=self.console)

    def said(self, line: str) -> None:
        """Prints a line above the progress bar."""
        if self.console.is_terminal:
            self.console.print(line, highlight=False, markup=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.stop()


def size(count: float) -> str:
    """A number of bytes with its unit: `1.5 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def derivation(step: GraphStep) -> str:
    """The rules from the root to the operator: `sequence-left › operator › map`."""
    return " › ".join(step.path)


def trace_table(start: Graph, steps: Iterable[GraphStep], *, title: str = "", whole: bool = False) -> Table:
    """A table with a row for each step: the whole program with the derivation, or only the operator that stepped."""
    table = Table(title=title or None, title_justify="left", header_style="bold", expand=False)
    table.add_column("step", justify="right")
    table.add_column("rule", style="cyan", no_wrap=not whole)
    table.add_column("after it")
    table.add_column("emitted", style="green")
    table.add_row("", "", Text(_text(start)) if whole else "", "")
    for number, step in enumerate(steps, start=1):
        part = step.graph if whole else node_at(step.graph, step.place)
        emitted = [text(Lowering()(delta)) for delta in step.outputs if delta is not None]
        rule = derivation(step) if whole else step.rule
        table.add_row(str(number), rule, Text(_text(part)), Text("  ".join(emitted)))
    return table


def legend(graph: Graph) -> list[str]:
    """The lambdas behind the names in the printed program."""
    return [f"{name} = {label(item)}" for name, item in names(graph).items() if name.startswith("λ")]


def _text(graph: Graph) -> str:
    return text(Lowering()(graph))

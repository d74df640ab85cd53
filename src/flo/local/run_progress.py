"""The progress of a long run, on the terminal."""

from __future__ import annotations

import time
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

    def moved(self, rows: int, state: tuple[int, int] | None = None) -> None:
        """Adds processed rows; `state` is the number of rows and bytes that the program keeps, if it is known."""
        self.rows += rows
        elapsed = time.monotonic() - self.started
        if not self.console.is_terminal or elapsed < PATIENCE:
            return
        if self._display is None:
            self._display = self._bar()
            self._display.start()
            self._task = self._display.add_task(self.name, total=self.total, details="")
        details = f"{self.rows:,} rows   {self.rows / elapsed:,.0f}/s"
        details += f"   state {state[0]:,} rows, {size(state[1])}" if state is not None else ""
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

"""Places that a flow can run on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Quiet:
    """Shows nothing of a run."""

    def __init__(self, name: str, total: int | None) -> None: ...

    def __enter__(self) -> Quiet:
        return self

    def moved(self, rows: int, state: tuple[int, int]) -> None: ...

    def said(self, line: str) -> None: ...

    def __exit__(self, *error: object) -> None: ...


PLACES: list[tuple[Callable[[Any], bool], Callable[[Any, Any], Any]]] = []
"""Other places: what tells that something is one, and what makes a program of a flow there."""


class Here:
    """This process, as a place to run on. `progress` shows how far a run has come."""

    def __init__(self, progress: Callable[[str, int | None], Any] = Quiet) -> None:
        self.progress = progress

    def __repr__(self) -> str:
        return "flo.here"

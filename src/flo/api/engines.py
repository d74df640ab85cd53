"""Engines: where a flow can run. Each registers itself; `flow.on(place)` finds the one for a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flo.api.flow import Flow

_engines: list[tuple[Callable[[Any], bool], Callable[[Any, Any], Any]]] = []


def register_engine(is_place: Callable[[Any], bool], run_on: Callable[[Flow, Any], Any]) -> None:
    """Register an engine: `is_place` decides whether it can run on a place, and `run_on` runs a flow there."""
    _engines.append((is_place, run_on))


def find_engine(place: Any) -> Callable[[Flow, Any], Any] | None:
    """Return the engine for this place; None if there is none."""
    return next((run_on for is_place, run_on in _engines if is_place(place)), None)


class Here:
    """This process, as a place to run on. `progress` displays the progress of a run."""

    def __init__(self, progress: Callable[[str, int | None], Any]) -> None:
        self.progress = progress

    def __repr__(self) -> str:
        return "flo.here"

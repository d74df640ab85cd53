"""Optional dependencies: Hypothesis and z3, imported when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from hypothesis import settings

Strategy: TypeAlias = Any
"""A strategy of Hypothesis."""


class OptionalModule:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def is_installed(self) -> bool:
        try:
            importlib.import_module(self._name.partition(".")[0])
        except ImportError:
            return False
        return True

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(importlib.import_module(self._name), name)
        setattr(self, name, attribute)
        return attribute


def search_settings(tries: int, *, shrinks: bool) -> settings:
    """Return settings of Hypothesis for so many tries, which always find the same, and print nothing."""
    from hypothesis import HealthCheck, Phase, Verbosity, settings

    return settings(
        max_examples=tries,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )


z3 = OptionalModule("z3")
st = OptionalModule("hypothesis.strategies")
NO_Z3 = "z3 is not installed: pip install 'flo-streams[verify]'"
NO_HYPOTHESIS = "no random inputs: Hypothesis is not installed (pip install hypothesis)"

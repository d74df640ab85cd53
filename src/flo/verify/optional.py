"""Optional dependencies: Hypothesis and z3, imported when they are first used."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

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


z3 = OptionalModule("z3")
st = OptionalModule("hypothesis.strategies")
NO_Z3 = "z3 is not installed: pip install 'flo-streams[verify]'"
NO_HYPOTHESIS = "no random inputs: Hypothesis is not installed (pip install hypothesis)"

"""How much is tried: `make check` tries a part of what `make test` does, and `make thorough` more than that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings

# no test may fail because the machine is slow
settings.register_profile("whole", deadline=None, max_examples=9, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("whole"), max_examples=5)
settings.register_profile("thorough", settings.get_profile("whole"), max_examples=60)
settings.load_profile("whole")


def is_quick() -> bool:
    """Whether this is a run of `make check`."""
    return settings.get_current_profile_name() == "quick"


def is_thorough() -> bool:
    """Whether this is a run of `make thorough`."""
    return settings.get_current_profile_name() == "thorough"


def times(count: int) -> int:
    """So many where nothing else is asked for: three times as many in `make thorough`, three tenths in `make test`,
    which draws others each time, and a few in `make check`."""
    if is_quick():
        return min(count, max(3, count // 12))
    return 3 * count if is_thorough() else max(min(count, 3), 3 * count // 10)


def sample(cases: Iterable[Any], step: int = 5) -> list[Any]:
    """The cases that are tried one after the other in one test: all in `make thorough`, a third in `make test`, and
    every so many in `make check`."""
    return list(cases)[:: step if is_quick() else 1 if is_thorough() else 3]


def tried(examples: int) -> settings:
    """So many examples, as `times` has it."""
    return settings(max_examples=times(examples))

"""Random cases, and the smallest of those that break a law: Hypothesis generates and shrinks."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

NO_HYPOTHESIS = "no random inputs: Hypothesis is not installed (pip install hypothesis)"


class _Enough(BaseException):
    """No `Exception`: Hypothesis would try to make it smaller."""


def smallest(
    strategy: Any, broken: Callable[[Any], T | None], *, tries: int, seed: int, over: Callable[[], bool]
) -> tuple[int, T | None]:
    """How many cases were tried, and what `broken` says of the smallest of those that it says something of."""
    from hypothesis import HealthCheck, Phase, Verbosity, find, settings
    from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable

    tried, found = 0, None
    fault: Exception | None = None

    def breaks(case: Any) -> bool:
        nonlocal tried, found, fault
        if over():
            raise _Enough
        tried += 1
        try:
            said = broken(case)
        except Exception as error:
            fault = error
            raise
        found = said or found
        return said is not None

    try:
        find(
            strategy,
            breaks,
            random=Random(seed),
            settings=settings(
                max_examples=tries,
                database=None,
                deadline=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
                verbosity=Verbosity.quiet,
            ),
        )
    except (NoSuchExample, Unsatisfiable, _Enough):  # none was found, or none that is smaller
        pass
    except Flaky:  # what was found the first time stays found
        if found is None and fault is not None:
            raise fault from fault.__cause__
    return tried, found

"""How tasks and values travel between processes: as pickles. An engine with processes elsewhere pickles code, too."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

_dumps: Callable[[Any], bytes] = pickle.dumps


def use(dumps: Callable[[Any], bytes]) -> None:
    """Let this process pickle with another function, which can pickle functions by their code."""
    global _dumps
    _dumps = dumps


def dumps(item: Any) -> bytes:
    return _dumps(item)

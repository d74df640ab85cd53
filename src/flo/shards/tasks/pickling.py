"""How tasks and values travel between processes: as pickles. An engine with processes elsewhere pickles code, too.

dumps(lambda row: row.n > 1)     pickle.dumps fails: it pickles functions by their names
use(cloudpickle.dumps)           from now on `dumps` pickles functions by their code
"""

from __future__ import annotations

import pickle
from collections.abc import Callable

_dumps: Callable[[object], bytes] = pickle.dumps


def use(dumps: Callable[[object], bytes]) -> None:
    """Let this process pickle with another function, which can pickle functions by their code."""
    global _dumps
    _dumps = dumps


def dumps(item: object) -> bytes:
    """The bytes of an item, for another process."""
    return _dumps(item)

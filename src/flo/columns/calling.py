"""Whose fault an exception is: a row's, or the engine's.

If a user's function raises, only the faulty rows are held up; all others are consumed. Any other exception is a bug in
the engine: no row is to blame, and the run stops.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import pyarrow as pa

from flo.core.errors import FloError, is_users
from flo.values.operators import shapes

F = TypeVar("F", bound=Callable[..., Any])
ON_VALUES = str(Path(shapes.__file__).parent.parent)
CALLING: set[CodeType] = set()


def calling(function: F) -> F:
    """Mark a function that calls user functions or inspects their results: its exceptions are the rows' fault."""
    CALLING.add(function.__code__)
    return function


def is_row_fault(error: Exception) -> bool:
    """Return whether a user's function raised, or an element was rejected, as it would be on values."""
    if isinstance(error, (FloError, OverflowError)) or (
        isinstance(error, pa.ArrowInvalid) and "overflow" in str(error)
    ):
        return True
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code in CALLING or is_users(code.co_filename) or code.co_filename.startswith(ON_VALUES):
            return True
        trace = trace.tb_next
    return False

"""What is done when a function raises: rows at fault hold up themselves only, all others are consumed.

What is raised elsewhere is a mistake of the engine: no row is to blame, and nothing goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import pyarrow as pa

from flo.core.errors import FloError, is_users
from flo.values.operators import shapes as unary

F = TypeVar("F", bound=Callable[..., Any])
ON_VALUES = str(Path(unary.__file__).parent.parent)
CALLING: set[CodeType] = set()


def calling(function: F) -> F:
    """Marks what calls functions of the user, or looks at their results: what is raised in there is about them."""
    CALLING.add(function.__code__)
    return function


def of_a_row(error: Exception) -> bool:
    """Whether a function of the user has raised, or an element is refused, as it would be on values."""
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

"""What tests change in the engine to see what it would hide, or nearly never meets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from flo.tables import operator
from flo.tables.state import keys


def colliding(patch: pytest.MonkeyPatch) -> None:
    """From here on every value of a column has one of two numbers."""
    numbers_of = keys.numbers_of
    patch.setattr(keys, "numbers_of", lambda array: keys.Keys(numbers_of(array).numbers & np.uint64(1), exact=False))


def whole_deltas() -> Iterator[None]:
    """Until the end, what an operator raises is seen: it does not consolidate and try again, which would hide a
    mistake."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "consume_rows", lambda form, values: form.take_in(*values))
        yield

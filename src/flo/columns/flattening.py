"""Functions from a row to any number of rows that run on whole tables, as `flat_map` takes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pyarrow as pa

from flo.columns.indices import Indices


class Flattening(ABC):
    """A function from a row to rows. `returns` is its type, which `returned_type` reads."""

    takes = 1
    returns: Any

    @abstractmethod
    def __call__(self, element: Any) -> list[Any]:
        """Return the rows for one row."""

    @abstractmethod
    def flattened(self, table: pa.Table) -> tuple[pa.Table, Indices]:
        """Return the rows for every row of a table, and the index of the row that each is from."""

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return these columns as columns of the results; None if they are not there unchanged."""
        return None

"""Numbers of keys that are computed when they are asked for: of columns of fixed width that costs little, and saves the
memory of one more column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columnar.keys import Keys, Numbers, Places, keys_of


class Implied(Keys):
    """The numbers of the keys in these columns."""

    columns: list[pa.Array]

    def __init__(self, columns: list[pa.Array], exact: bool) -> None:
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "exact", exact)

    @property
    def numbers(self) -> Numbers:
        return keys_of(self.columns).numbers

    def at(self, places: Places) -> Numbers:
        return keys_of([column.take(pa.array(places)) for column in self.columns]).numbers

    @property
    def bytes(self) -> int:
        return 0


def implied(keys: Keys, columns: list[pa.Array]) -> Implied | None:
    """The same keys by their columns alone, where that is quick, and they are made of these columns."""
    if not columns or not len(columns[0]) or not all(map(_is_fixed, columns)):
        return None
    found = Implied(columns, keys.exact)
    some = np.linspace(0, len(columns[0]) - 1, 16).astype(np.int64)
    return found if np.array_equal(found.at(some), keys.at(some)) else None


def _is_fixed(column: pa.Array) -> bool:
    return pa.types.is_primitive(column.type) and not pa.types.is_boolean(column.type) and not column.null_count

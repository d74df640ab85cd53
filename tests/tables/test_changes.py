"""Tables of changes: their weights are renamed, added, consolidated and negated, and never wrap around."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flo.core.errors import ElementError
from flo.tables.io.changes import (
    add_weights,
    consolidate_changes,
    negate_weights,
    with_own_weights,
    with_users_weights,
)
from flo.tables.io.files import WEIGHTS
from flo.tables.values import WEIGHT

CHANGES = pa.table({"n": [1, 1, 2], WEIGHTS: [1, 1, -1]})
FIRST = -(2**63)


def test_rows_without_weights_get_them() -> None:
    assert add_weights(pa.table({"n": [1]}), -1).to_pydict() == {"n": [1], WEIGHTS: [-1]}
    assert add_weights(CHANGES) is CHANGES


def test_names_of_weights() -> None:
    own = with_own_weights(CHANGES)
    assert own.column_names == ["n", WEIGHT]
    assert with_users_weights(own).equals(CHANGES)


def test_equal_changes_are_added_up() -> None:
    both = pa.concat_tables([CHANGES, negate_weights(CHANGES.slice(2), WEIGHTS)])
    assert consolidate_changes(both).to_pydict() == {"n": [1], WEIGHTS: [2]}
    assert consolidate_changes(CHANGES.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize("name", [WEIGHT, WEIGHTS])
def test_a_weight_without_an_opposite_is_an_error(name: str) -> None:
    with pytest.raises(ElementError, match="does not fit 64 bits"):
        negate_weights(pa.table({"n": [1], name: pa.array([FIRST], pa.int64())}), name)

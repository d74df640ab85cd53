"""What the tests of lattice variables share."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.collection import Collection
from flo.core.graph import Node
from flo.core.stream_type import StreamType
from flo.core.typing import derive
from flo.values.lattice_orders import Max
from flo.values.lattice_structures import SetUnion
from tests.harness import check_operator
from tests.quick import tried

FEW = tried(24)
MAX = Max(int)
SETS = SetUnion(int)
BOUNDED = pytest.mark.parametrize("bounded", [True, False], ids=["bounded", "unbounded"])


def stream(collection, bounded=True):
    return (StreamType(Collection.of(collection), bounded),)


def chunks_of(collection, parts, end=True):
    """One input in these parts, and its end."""
    collection = Collection.of(collection)
    chunks = [(collection.value(part),) for part in parts]
    return [*chunks, (collection.bottom().fix(),)] if end else chunks or [(collection.bottom(),)]


def check(operator, collection, parts, bounded=True, end=None):
    """The plain output of the operator, after all laws held."""
    (given_type,) = stream(collection, bounded)
    chunks = chunks_of(collection, parts, bounded if end is None else end)
    (output,) = check_operator(operator, (given_type,), chunks)
    (output_type,) = derive(Node(None, operator), (given_type,)).outputs
    return output_type.collection.plain(output), output.fixed()


parts_of_numbers = st.lists(st.lists(st.integers(-3, 9), max_size=4), max_size=4)
parts_of_sets = st.lists(st.frozensets(st.integers(0, 4)), max_size=4)

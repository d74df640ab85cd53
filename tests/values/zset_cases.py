"""Random z-sets that arrive in pieces: negative weights, pieces that cancel, rows taken back that never came."""

from __future__ import annotations

from hypothesis import strategies as st

from flo.core.collection import End
from flo.core.stream_type import StreamType
from flo.values.weighted import ZSet, ZSetValue
from tests.harness import check_operator
from tests.quick import tried

few = tried(24)

weights = st.integers(-2, 2)
rows = st.tuples(st.sampled_from("ab"), st.integers(0, 3))


def zset(units=(), end=False):
    units = units.items() if isinstance(units, dict) else units
    return ZSetValue.of(units, End.ARRIVED if end else End.OPEN)


def pieces(elements=rows, most=4):
    """Deltas of one z-set."""
    return st.lists(st.dictionaries(elements, weights, max_size=3).map(zset), max_size=most)


def integrated(deltas):
    """The z-set that the deltas add up to, in plain Python."""
    total = {}
    for delta in deltas:
        for element, weight in delta.weights.items():
            total[element] = total.get(element, 0) + weight
    return {element: weight for element, weight in total.items() if weight}


def there(total):
    """The part of a z-set whose weights are above zero."""
    return {element: weight for element, weight in total.items() if weight > 0}


def added(*units):
    """What elements with weights add up to."""
    return integrated([zset(units)])


def run(operator, deltas, bounded=False, element=None, seeds=3):
    """The output of the operator on these deltas, which keeps all laws, as plain Python."""
    given = StreamType(ZSet() if element is None else ZSet(element), bounded)
    chunks = [(delta,) for delta in deltas]
    if bounded:
        chunks.append((zset(end=True),))
    (output,) = check_operator(operator, (given,), chunks, seeds)
    assert output.fixed() == bounded
    return output.weights.to_dict()


def run_two(operator, lefts, rights, bounded=False, seeds=3):
    """The same for two inputs, whose deltas come in turn."""
    given = StreamType(ZSet(), bounded)
    chunks = [
        (lefts[place] if place < len(lefts) else None, rights[place] if place < len(rights) else None)
        for place in range(max(len(lefts), len(rights)))
    ]
    if bounded:
        chunks += [(zset(end=True), None), (None, zset(end=True))]
    (output,) = check_operator(operator, (given, given), chunks, seeds)
    assert output.fixed() == bounded
    return output.weights.to_dict()


def group(row):
    return row[0]


def number(row):
    return row[1]


def whole_groups(total, by):
    """The rows of each group, with their weights."""
    groups = {}
    for row, weight in total.items():
        groups.setdefault(None if by is None else by(row), {})[row] = weight
    return groups

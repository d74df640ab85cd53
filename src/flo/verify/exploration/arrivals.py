"""Splits plain data into the smallest deltas, which arrive one by one on channels; and scenarios: a program with what
arrives at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flo.core.collection import Collection, Form, Value
from flo.core.errors import FloError, Origin
from flo.core.graph import Graph
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Values, replaced
from flo.core.stream_type import StreamTypes
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lvar import LVar, LVarValue
from flo.values.weighted import Bag, BagValue, Set, ZSet, ZSetValue


@dataclass(frozen=True, slots=True)
class Channel:
    """Deltas that arrive on an input one after the other. An end arrives after all other channels of its input."""

    input: int
    deltas: Values
    is_end: bool = False


Channels: TypeAlias = tuple[Channel, ...]


def open_channels(channels: Channels, arrived: tuple[int, ...]) -> list[int]:
    """Return the channels that can deliver next, after the given number of deltas of each."""
    more = [count < len(channel.deltas) for count, channel in zip(arrived, channels, strict=True)]
    held = {channel.input for channel, waits in zip(channels, more, strict=True) if waits and not channel.is_end}
    return [place for place, c in enumerate(channels) if more[place] and not (c.is_end and c.input in held)]


def split_into_channels(
    data: Mapping[int, object],
    input_types: StreamTypes,
    ends: tuple[bool, ...] | None = None,
    names: tuple[str, ...] = (),
) -> Channels:
    """Split plain data into the smallest deltas. Bounded inputs end, unless `ends` says which do."""
    channels: list[Channel] = []
    for index, items in data.items():
        try:
            channels += [Channel(index, tuple(part)) for part in pieces(input_types[index].collection, items)]
        except FloError as error:
            error.input_name = f"`{names[index]}`" if names else f"input {index + 1}"
            raise error.located(Origin.here()) from error.__cause__
    for index, kind in enumerate(input_types):
        if kind.bounded if ends is None else ends[index]:
            channels.append(Channel(index, (kind.collection.bottom().fix(),), is_end=True))
    return tuple(channels)


def largest_weight(channels: Channels) -> int:
    """The largest weight of one element, in one delta or in the sum of them; 0 where elements have no weights."""
    most, total = 0, Counter[tuple[int, Any]]()
    for channel in channels:
        for delta in channel.deltas:
            if isinstance(delta, (BagValue, ZSetValue)):
                for element, weight in delta.weights.items():
                    total[channel.input, element] += weight
                    most = max(most, abs(weight), abs(total[channel.input, element]))
    return most


def pieces(collection: Collection, data: Any) -> list[list[Value]]:
    """Split data into lists of deltas; the deltas of a list arrive in order, the lists independently of each other.

    A list for a lattice variable holds values that arrive one after the other. A list of mappings for a z-set holds
    additions and retractions. Inner streams grow delta by delta.
    """
    match collection:
        case Form(base=base) if not isinstance(base, Nested):  # whose inner streams come whole
            return [[collection.formed(delta) for delta in part] for part in pieces(base, data)]
        case LVar(lattice=lattice) if isinstance(data, list):
            own = (LVarValue(lattice, item) if lattice.mismatch(item) is None else None for item in data)
            return [[value or collection.value(item) for value, item in zip(own, data, strict=True)]]
        case ZSet() if isinstance(data, list) and data and all(isinstance(item, Mapping) for item in data):
            return _group_equal(unit for item in data for unit in collection.pieces(item))
        case Set() if isinstance(data, list):
            return _group_equal(unit for item in data for unit in collection.pieces([item]))
        case Bag():
            return _group_equal(
                collection.pieces([element])[0]
                for element, count in collection.value(data).all_units()
                for _ in range(count)
            )
        case Keyed():
            collection.value(data)  # refuses what does not belong
            return [
                [KeyedValue.of({key: delta}) for delta in part or [collection.inner.bottom()]]
                for key, item in data.items()
                for part in pieces(collection.inner, item) or [[]]
            ]
        case Nested():
            collection.value(data)
            return [[delta for item in data for delta in _split_inner_stream(collection, item)]]
    return collection.pieces(data)


def _group_equal(units: Iterable[list[Value]]) -> list[list[Value]]:
    """Group equal deltas in one list each: which of them arrives first makes no difference."""
    rows: dict[Value, list[Value]] = {}
    for (unit,) in units:
        row = rows.setdefault(unit, [])
        row.append(row[0] if row else unit)
    return list(rows.values())


def _split_inner_stream(collection: Nested[Any], item: Any) -> Iterator[Value]:
    """Yield the deltas of a tuple of inner streams: open it, extend it, end the bounded ones."""
    bottoms = tuple(stream.collection.bottom() for stream in collection.inner)
    yield NestedValue.pushing(bottoms)
    parts = (item,) if len(collection.inner) == 1 else item
    for place, (stream, data) in enumerate(zip(collection.inner, parts, strict=True)):
        for deltas in pieces(stream.collection, data):
            for delta in deltas:
                yield NestedValue.extending(replaced(bottoms, place, delta))
    if any(stream.bounded for stream in collection.inner):
        ends = zip(bottoms, collection.inner, strict=True)
        yield NestedValue.extending(tuple(value.fix() if stream.bounded else value for value, stream in ends))


@dataclass(frozen=True, slots=True)
class Scenario:
    """A graph, the types and names of its inputs and outputs, and the deltas that arrive. Runs and searches start from
    one, again and again."""

    name: str
    graph: Graph
    input_types: StreamTypes
    output_types: StreamTypes
    channels: Channels
    names: tuple[str, ...]
    output_names: tuple[str, ...] = ()
    draw: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    """Draws the program, if it is a flow."""

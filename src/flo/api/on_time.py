"""Rows that a clock has seen, and the columns that tell when it has passed them.

Rows of `clock.rows` satisfy: once the clock is at t, no row with a time before t follows. Verbs that treat each row
alone, and pass its time on, keep that. Windows of that time end behind it, so once the clock is at the end of a window,
no row of the window follows. A session has rows up to its end, and a row at the end or behind it does not extend it.
All of this follows from the operators that make a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flo.api.clock_verbs import CLOCKS
from flo.api.columns import kind_of
from flo.api.scope import Vertex
from flo.values.operators.bags import BagUnion
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.sets import ToBag
from flo.values.operators.zsets import Plus, ToZSet

START, END = "window_start", "window_end"


@dataclass(frozen=True)
class Ends:
    """A column that determines the end of a row's window: it is the end, or the start of windows of one size."""

    size: Any = None
    every: Any = None


@dataclass(frozen=True)
class OnTime:
    """Rows that are on time by their clocks."""

    clocks: frozenset[Vertex]
    times: frozenset[str]
    """The columns that have the time by which a row is on time."""
    ends: Mapping[str, Ends]
    """The columns that determine the end of a window of that time."""
    other_windows: tuple[Vertex, ...] = ()
    """What has added windows of another time."""


class NotOnTime(Exception):
    """A stream whose rows may come behind any clock: an input, or made by an operator that does more than treat each
    row alone."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream


def trace_times(stream: Any) -> OnTime:
    """Return what is known of the times of a stream's rows. Raises `NotOnTime` if no clock has seen each of them."""
    vertex = stream.source
    if vertex is None:
        raise NotOnTime(stream)
    if vertex.windows is not None:
        return _with_windows(vertex)
    operator = vertex.operator
    if isinstance(operator, CLOCKS) and stream is vertex.outputs[1]:
        from flo.columns.expression import plain_column

        time = plain_column(getattr(operator.time, "given", None))
        return OnTime(frozenset({vertex}), frozenset() if time is None else frozenset({time}), {})
    if isinstance(operator, (Filter, ToBag, ToZSet)):
        return trace_times(vertex.inputs[0])
    if isinstance(operator, (Map, FlatMap)):
        return _projected(trace_times(vertex.inputs[0]), operator.f, _columns(vertex.inputs[0]), _columns(stream))
    if isinstance(operator, (BagUnion, Plus)):
        return _united(*map(trace_times, vertex.inputs))
    raise NotOnTime(stream)


def _with_windows(vertex: Vertex) -> OnTime:
    """The rows of a verb that adds windows. Those of a session are retracted and inserted again when it grows, with all
    of their columns: so of these only its own end tells when they do not change any more."""
    windows = vertex.windows
    assert windows is not None
    before = trace_times(windows.rows)
    is_session = windows.size is None
    kept = replace(before, times=frozenset(), ends={}) if is_session else before
    if windows.time not in before.times:
        return replace(kept, other_windows=(*kept.other_windows, vertex))
    own = {END: Ends()} if is_session else {START: Ends(windows.size, windows.every), END: Ends()}
    return replace(kept, ends={**kept.ends, **own})


def _projected(before: OnTime, f: Any, given: Mapping[str, Any], made: Mapping[str, Any]) -> OnTime:
    """The rows of a function of each row: the columns that it passes on as they are, perhaps several times."""
    copies: Callable[[str], tuple[str, ...]] = getattr(f, "copies", lambda name: ())

    def copied(name: str) -> list[str]:
        return [after for after in copies(name) if made.get(after) == given[name]]

    times = frozenset(after for name in before.times for after in copied(name))
    ends = {after: each for name, each in before.ends.items() for after in copied(name)}
    return replace(before, times=times, ends=ends)


def _united(one: OnTime, other: OnTime) -> OnTime:
    ends = {name: each for name, each in one.ends.items() if other.ends.get(name) == each}
    return OnTime(one.clocks | other.clocks, one.times & other.times, ends, one.other_windows + other.other_windows)


def _columns(stream: Any) -> dict[str, Any]:
    """The columns of a stream's rows, and their Arrow types."""
    from flo.columns.layout import Layout

    layout = Layout.of(kind_of(stream))
    return {} if layout is None else {field.name: field.type for field in layout.schema}

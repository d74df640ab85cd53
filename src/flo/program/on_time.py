"""Rows that a clock has seen, and the columns that tell when it has passed them.

Rows of `clock.rows` satisfy: once the clock is at t, no row with a time before t follows. Verbs that treat each row
alone, and pass its time on, keep that. Windows of that time end behind it, so once the clock is at the end of a window,
no row of the window follows. A session has rows up to its end, and a row at the end or behind it does not extend it.
All of this follows from the operators that make a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from flo.core.facts import Timing
from flo.program.dag import BuiltStream, BuiltVertex, WindowColumns
from flo.values.element_value import ElementCollection
from flo.values.row_functions import RowFunction

START, END = "window_start", "window_end"


@dataclass(frozen=True)
class Ends:
    """A column that determines the end of a row's window: it is the end, or the start of windows of one size."""

    size: Any = None
    every: Any = None


@dataclass(frozen=True)
class OnTime:
    """Rows that are on time by their clocks."""

    clocks: frozenset[BuiltVertex]
    times: frozenset[str]
    """The columns that have the time by which a row is on time."""
    ends: Mapping[str, Ends]
    """The columns that determine the end of a window of that time."""
    other_windows: tuple[BuiltVertex, ...] = ()
    """What has added windows of another time."""


class NotOnTime(Exception):
    """A stream whose rows may come behind any clock: an input, or made by an operator that does more than treat each
    row alone."""

    def __init__(self, stream: BuiltStream) -> None:
        self.stream = stream


def trace_times(stream: BuiltStream) -> OnTime:
    """Return what is known of the times of a stream's rows. Raises `NotOnTime` if no clock has seen each of them."""
    from flo.columns.expression_text import plain_column  # not at first: a program on values does not wait for Arrow

    vertex = stream.source
    if vertex is None:
        raise NotOnTime(stream)
    if vertex.windows is not None:
        return _with_windows(vertex, vertex.windows)
    operator: Any = vertex.operator
    match operator.timing:
        case Timing.PASSES:
            return reduce(_united, map(trace_times, vertex.inputs))
        case Timing.MAKES:
            (rows,) = vertex.inputs
            return _projected(trace_times(rows), operator.f, _columns(rows), _columns(stream))
        case Timing.SEES if stream is vertex.outputs[1]:
            time = plain_column(getattr(operator.time, "given", None))
            return OnTime(frozenset({vertex}), frozenset() if time is None else frozenset({time}), {})
    raise NotOnTime(stream)


def _with_windows(vertex: BuiltVertex, windows: WindowColumns) -> OnTime:
    """The rows of a verb that adds windows. Those of a session are retracted and inserted again when it grows, with all
    of their columns: so of these only its own end tells when they do not change any more."""
    before = trace_times(windows.rows)
    is_session = windows.size is None
    kept = replace(before, times=frozenset(), ends={}) if is_session else before
    if windows.time not in before.times:
        return replace(kept, other_windows=(*kept.other_windows, vertex))
    own = {END: Ends()} if is_session else {START: Ends(windows.size, windows.every), END: Ends()}
    return replace(kept, ends={**kept.ends, **own})


def _projected(before: OnTime, f: Any, given: Mapping[str, Any], results: Mapping[str, Any]) -> OnTime:
    """The rows of a function of each row: the columns that it passes on as they are, perhaps several times."""

    def copied(name: str) -> list[str]:
        copies = f.copies(name) if isinstance(f, RowFunction) else ()
        return [after for after in copies if results.get(after) == given[name]]

    times = frozenset(after for name in before.times for after in copied(name))
    ends = {after: each for name, each in before.ends.items() for after in copied(name)}
    return replace(before, times=times, ends=ends)


def _united(one: OnTime, other: OnTime) -> OnTime:
    ends = {name: each for name, each in one.ends.items() if other.ends.get(name) == each}
    return OnTime(one.clocks | other.clocks, one.times & other.times, ends, one.other_windows + other.other_windows)


def _columns(stream: BuiltStream) -> dict[str, Any]:
    """The columns of a stream's rows, and their Arrow types."""
    from flo.columns.layout import Layout

    of = stream.type.collection
    layout = Layout.of(of.element) if isinstance(of, ElementCollection) else None
    return {} if layout is None else {field.name: field.type for field in layout.schema}

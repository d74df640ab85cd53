"""Streams of windows, and beside them the elements that came too late for theirs."""

from __future__ import annotations

from typing import Generic, TypeVar

from flo.api.stream import Stream
from flo.core.nested import Nested
from flo.core.stream_type import Unbounded
from flo.values.event_time import TimeWindow
from flo.values.sequence import Sequence

T_co = TypeVar("T_co", covariant=True)
B_co = TypeVar("B_co", bound=Unbounded, covariant=True)


class Windowed(Stream[Nested[Sequence[T_co]], B_co], Generic[T_co, B_co]):
    """The windows as inner streams; `late` is a stream of its own. If nothing reads it, a run keeps it in
    `result.late`."""

    late: Stream[Sequence[T_co], B_co]


class BoundedWindows(Stream[Nested[Sequence[T_co], Sequence[TimeWindow]], B_co], Generic[T_co, B_co]):
    """The same, each window with a second inner stream that says which it is. For type checkers."""

    late: Stream[Sequence[T_co], B_co]

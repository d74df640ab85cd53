"""`Stream[C, B]`: a stream of collection C and boundedness B, with the verbs of every collection.

Type checkers know which verbs a stream has: the type of a verb's `self` says on which collection and boundedness it
works. Flo checks the same again when the program is built.
"""

from __future__ import annotations

from typing import Any, Generic

from flo.api.clock_verbs import ClockVerbs
from flo.api.clocked_verbs import ClockedVerbs
from flo.api.combine_verbs import CombineVerbs
from flo.api.element_verbs import ElementVerbs
from flo.api.fixpoint_verbs import FixpointVerbs
from flo.api.keyed_verbs import KeyedVerbs
from flo.api.lattice_verbs import LatticeVerbs
from flo.api.row_verbs import RowVerbs
from flo.api.scope import B_co, C_co, T_co
from flo.api.sequence_verbs import NestedVerbs, SequenceVerbs
from flo.api.time_join_verbs import TimeJoinVerbs
from flo.api.window_verbs import WindowVerbs
from flo.api.zset_verbs import ZSetVerbs
from flo.core.explained_calls import explain_methods
from flo.core.nested import Nested
from flo.values.event_time import TimeWindow
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, ZSet


class Stream(
    ElementVerbs[C_co, B_co],
    RowVerbs[C_co, B_co],
    CombineVerbs[C_co, B_co],
    SequenceVerbs[C_co, B_co],
    WindowVerbs[C_co, B_co],
    ClockVerbs[C_co, B_co],
    ClockedVerbs[C_co, B_co],
    LatticeVerbs[C_co, B_co],
    ZSetVerbs[C_co, B_co],
    FixpointVerbs[C_co, B_co],
    TimeJoinVerbs[C_co, B_co],
    KeyedVerbs[C_co, B_co],
    NestedVerbs[C_co, B_co],
):
    """(C, B): made by `Flow.input` and by verbs, never directly."""


for _kind in Stream.__mro__:
    if _kind.__module__.startswith("flo.api."):
        explain_methods(_kind)


class Clock(Stream[LVar[Max[Any]], B_co], Generic[C_co, B_co]):
    """How far the event time of a stream has come, as a value that grows."""

    rows: Stream[C_co, B_co]
    """The elements that came on time. The minimum of clocks has none."""
    partitions: Stream[Partitioned[Any], B_co]
    """The same elements by partition, in order, of a partitioned stream."""
    late: Stream[C_co, B_co]
    """The elements that came behind the clock. If nothing reads them, a run puts them in `result.late`."""


class Limited(Stream[C_co, B_co], Generic[C_co, B_co]):
    """Rows whose times do not jump ahead of the rows before them."""

    ahead: Stream[C_co, B_co]
    """The rows that do. If nothing reads them, a run puts them in `result.late`."""


class Windowed(Stream[Nested[C_co], B_co], Generic[C_co, B_co]):
    """Windows as inner streams: bags if the elements have no order, such as those of a partitioned stream. `late` is
    the side output of late elements. If nothing reads it, a run puts them in `result.late`."""

    late: Stream[C_co, B_co]


class BoundedWindows(Stream[Nested[C_co, Sequence[TimeWindow]], B_co], Generic[C_co, B_co]):
    """Windows with a second inner stream that has their bounds. For type checkers."""

    late: Stream[C_co, B_co]


class Retained(Stream[ZSet[T_co], B_co], Generic[T_co, B_co]):
    """Rows that a clock has not passed. `expired` is the side output of those that it has."""

    expired: Stream[ZSet[T_co], B_co]


class CurrentStates(Stream[ZSet[T_co], B_co], Generic[T_co, B_co]):
    """The latest result of each key that has not expired. `expired` is the side output of the others, each once: for
    some time, nothing has happened."""

    expired: Stream[Bag[T_co], B_co]

"""Verbs that cut a sequence into windows of event time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from flo.api.arguments import expect_function, expect_no_argument
from flo.api.columns import Asked
from flo.api.scope import B_co, C_co, StreamBase
from flo.api.window_column_verbs import session_columns
from flo.core.operator import Operator
from flo.core.stream_type import Unbounded
from flo.values.operators.windows import Session, Sliding, Tumbling
from flo.values.sequence import Sequence
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import BoundedWindows, Stream, Windowed
    from flo.columns.expression import Column

T = TypeVar("T")
B = TypeVar("B", bound=Unbounded)


class WindowVerbs(StreamBase[C_co, B_co]):
    """A window closes when an element arrives that is `lateness` or more beyond its end. Later elements of that window
    go to the side output `.late`. A bounded stream also emits its open windows at the end. With `bounds=True` each
    window has a second inner stream with its `TimeWindow(start, end)`."""

    @overload
    def tumbling(
        self: WindowVerbs[Sequence[T], B], size: Any, time: Asked[T], lateness: Any = None, *, bounds: Literal[True]
    ) -> BoundedWindows[T, B]: ...
    @overload
    def tumbling(
        self: WindowVerbs[Sequence[T], B], size: Any, time: Asked[T], lateness: Any = None
    ) -> Windowed[T, B]: ...
    def tumbling(self, size: Any, time: Any, lateness: Any = None, *, bounds: bool = False) -> Any:
        """Cut into adjacent windows of one size."""
        return self._windows(Tumbling(size, expect_function("tumbling", "time", time, self), lateness, bounds=bounds))

    @overload
    def sliding(
        self: WindowVerbs[Sequence[T], B],
        size: Any,
        slide: Any,
        time: Asked[T],
        lateness: Any = None,
        *,
        bounds: Literal[True],
    ) -> BoundedWindows[T, B]: ...
    @overload
    def sliding(
        self: WindowVerbs[Sequence[T], B], size: Any, slide: Any, time: Asked[T], lateness: Any = None
    ) -> Windowed[T, B]: ...
    def sliding(self, size: Any, slide: Any, time: Any, lateness: Any = None, *, bounds: bool = False) -> Any:
        """Cut into windows of one size that start every `slide`: an element may be in several."""
        return self._windows(
            Sliding(size, slide, expect_function("sliding", "time", time, self), lateness, bounds=bounds)
        )

    @overload
    def session(
        self: WindowVerbs[Sequence[T], B], gap: Any, time: Asked[T], lateness: Any = None, *, bounds: Literal[True]
    ) -> BoundedWindows[T, B]: ...
    @overload
    def session(
        self: WindowVerbs[Sequence[T], B], gap: Any, time: Asked[T], lateness: Any = None
    ) -> Windowed[T, B]: ...
    @overload
    def session(
        self: WindowVerbs[ZSet[T], B], gap: Any, time: Column, *, by: Column | list[Column] | None = None
    ) -> Stream[ZSet[Any], B]: ...
    def session(self, gap: Any, time: Any, lateness: Any = None, *, bounds: bool = False, by: Any = None) -> Any:
        """Cut a sequence into windows that end when nothing arrives for `gap`.

        Of a z-set of rows, add the bounds of the session that a row is in, as `window_start` and `window_end`: rows
        with equal `by` that are less than `gap` apart are in one session. A row without a time has null in both.
        """
        if isinstance(self.collection, ZSet) or by is not None:
            why = "the sessions of a z-set are corrected when rows come late"
            expect_no_argument("session", "lateness", lateness, why)
            expect_no_argument(
                "session", "bounds", bounds or None, "the sessions of a z-set have their bounds as columns"
            )
            return session_columns(self, gap, time, by)
        return self._windows(Session(gap, expect_function("session", "time", time, self), lateness, bounds=bounds))

    def _windows(self, operator: Operator) -> Any:
        from flo.api.stream import Windowed  # here, because it is a stream and has the verbs of this module

        windows, late = self.apply(operator)
        vertex = windows.source
        result: Any = Windowed(windows.scope, windows.type, windows.name, windows.origin, vertex)
        result.late = vertex.late = late
        result.assigned = windows.assigned
        vertex.outputs = (result, late)
        return result

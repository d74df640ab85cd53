"""Verbs that cut a sequence into windows of event time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from flo.api.arguments import expect_function
from flo.api.columns import Asked
from flo.api.scope import B_co, C_co, StreamBase
from flo.core.operator import Operator
from flo.core.stream_type import Unbounded
from flo.values.operators.windows import Session, Sliding, Tumbling
from flo.values.sequence import Sequence

if TYPE_CHECKING:
    from flo.api.stream import BoundedWindows, Windowed

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
    def session(self, gap: Any, time: Any, lateness: Any = None, *, bounds: bool = False) -> Any:
        """Cut into windows that end when nothing arrives for `gap`."""
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

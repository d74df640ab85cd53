"""Verbs that cut a sequence into windows of event time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from flo.api.base import B_co, C_co, StreamBase
from flo.core.operator import Operator
from flo.core.stream_type import Unbounded
from flo.values.operators.time_windows import Session, Sliding, Tumbling
from flo.values.sequence import Sequence

if TYPE_CHECKING:
    from flo.api.windowed import Windowed

T = TypeVar("T")
B = TypeVar("B", bound=Unbounded)


class WindowVerbs(StreamBase[C_co, B_co]):
    """A window closes when an element comes that is `lateness` or more beyond its end. What comes later for it is in
    `.late` of the result. A bounded stream also gives its open windows at the end."""

    def tumbling(
        self: WindowVerbs[Sequence[T], B], size: Any, time: Callable[[T], Any], lateness: Any = None
    ) -> Windowed[T, B]:
        """Windows of one size, side by side."""
        return self._windows(Tumbling(size, time, lateness, flush=self.bounded))

    def sliding(
        self: WindowVerbs[Sequence[T], B], size: Any, slide: Any, time: Callable[[T], Any], lateness: Any = None
    ) -> Windowed[T, B]:
        """Windows of one size that begin every `slide`: an element may be in several."""
        return self._windows(Sliding(size, slide, time, lateness, flush=self.bounded))

    def session(
        self: WindowVerbs[Sequence[T], B], gap: Any, time: Callable[[T], Any], lateness: Any = None
    ) -> Windowed[T, B]:
        """Windows that end when nothing comes for `gap`."""
        return self._windows(Session(gap, time, lateness, flush=self.bounded))

    def _windows(self, operator: Operator) -> Any:
        from flo.api.windowed import Windowed

        windows, late = self.apply(operator)
        vertex = windows.source
        result: Windowed[Any, Any] = Windowed(windows.scope, windows.type, windows.name, windows.origin, vertex)
        result.late = vertex.late = late
        vertex.outputs = (result, late)
        return result

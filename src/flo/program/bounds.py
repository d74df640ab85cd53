"""What bounds the state of every operator of a program: its own declaration, and clocks before it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from flo.core.operator import Bound
from flo.core.stream_type import StreamType
from flo.program.dag import V


def find_bounds(
    vertices: Iterable[V],
    identify: Callable[[Any], Hashable] = lambda stream: stream,
    type_of: Callable[[Any], StreamType] = lambda stream: stream.type,
) -> Iterator[tuple[V, Bound]]:
    """Yield every vertex, in the order of the streams, and what bounds its state.

    A stream whose rows are retracted when a clock passes them is *retained*, and so is what an operator makes of such
    streams, and of streams that end: the results of rows that are gone are retracted, too. So the state of an operator
    that reads nothing else is bounded by the clock.
    """
    retained: set[Hashable] = set()
    for vertex in vertices:
        operator = getattr(vertex.operator, "like", vertex.operator)
        types = tuple(map(type_of, vertex.inputs))
        bound = operator.bound_on(types)
        some = [identify(stream) in retained for stream in vertex.inputs]
        passes = any(some) and all(is_in or of.bounded for is_in, of in zip(some, types, strict=True))
        for place, stream in enumerate(vertex.outputs):
            if passes or place in operator.retained_outputs:
                retained.add(identify(stream))
        yield vertex, Bound.CLOCK if passes and bound in (Bound.ROWS, Bound.GROUPS, Bound.KEYS) else bound

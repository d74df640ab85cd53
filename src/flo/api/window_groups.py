"""Aggregates of windows: `windows.group_by("user").agg(n=flo.count())` is a row for each group of each window.

A window is complete when it closes, so its groups are final: each comes once, in a bag, which never retracts. Nothing
is kept of windows that have closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Never

from flo.api.aggregates import AggregateSpec
from flo.api.projections import expect_new_name
from flo.api.scope import AnyBase, AnyStream
from flo.api.type_variables import B
from flo.core.errors import UnknownVerbError
from flo.core.nested import Nested
from flo.program.on_time import END, START
from flo.values.event_time import TimeWindow
from flo.values.sequence import Sequence
from flo.values.weighted import Bag

if TYPE_CHECKING:
    from flo.api.stream import Stream


class GroupedWindows(Generic[B]):
    """The rows of each window in groups, made by `group_by`. `agg` computes a row for each group."""

    def __init__(self, windows: Any, columns: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        self._windows, self._columns, self._named = windows, columns, named

    if not TYPE_CHECKING:  # type checkers know that there is only `agg`

        def __getattr__(self, name: str) -> Any:
            """Raise, with what to write instead."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise UnknownVerbError(
                f"`group_by` of windows has no verb `{name}`", instead=(("agg(n=flo.count())", "aggregates by name"),)
            ).at_users_line()

    def agg(self, *unnamed: Never, **aggregates: AggregateSpec) -> Stream[Bag[Any], B]:
        """Return a row for each group of each window, when the window closes: the bounds of the window, if it has
        them, the columns of the group, and a column for each aggregate."""
        return aggregate_windows(
            self._windows, lambda rows: rows.group_by(*self._columns, **self._named).agg(*unnamed, **aggregates)
        )


def are_windows(stream: AnyBase) -> bool:
    """Return whether the inner streams are windows, with their bounds or without."""
    of = stream.collection
    if not isinstance(of, Nested) or not 1 <= len(of.inner) <= 2:
        return False
    first, *others = (inner.collection for inner in of.inner)
    return isinstance(first, (Sequence, Bag)) and all(map(_has_bounds, others))


def _has_bounds(of: object) -> bool:
    element = getattr(of, "element", None)
    return isinstance(of, Sequence) and getattr(element, "__origin__", element) is TimeWindow


def aggregate_windows(windows: AnyStream, aggregate: Callable[[AnyStream], AnyStream]) -> AnyStream:
    """Return the results of `aggregate`, which gets the rows of a window as a z-set, for every window."""

    def without_bounds(rows: AnyStream) -> AnyStream:
        return aggregate(rows.to_zset()).to_bag()

    def with_bounds(rows: AnyStream, bounds: AnyStream) -> AnyStream:
        results = aggregate(rows.to_zset())
        own = getattr(results.collection.element, "_columns", ())
        for name in (START, END):
            expect_new_name("agg", name, dict.fromkeys(own))
        beside = bounds.to_zset().select(**{START: "start", END: "end"})
        return beside.join(results, how="cross").to_bag()

    both = len(windows.collection.inner) == 2
    return windows.nest(with_bounds if both else without_bounds).flatten()

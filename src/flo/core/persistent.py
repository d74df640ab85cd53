"""Immutable lists and maps whose newest version is as cheap to extend as a mutable one.

Values and operator states are immutable, as in the paper. Yet applying a delta must cost what the delta costs, not what
the state costs. So all versions share one mutable store: extending the newest version changes the store in place;
extending an older version copies it (lists) or first undoes the newer changes (maps).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

from flo.core.term import Call, Lowerable, Lowering, Term, register

T = TypeVar("T")
K = TypeVar("K")
W = TypeVar("W")


class Elements(Lowerable, Sequence[T], Generic[T]):
    """An immutable window on a shared, append-only list. Dropping the oldest elements costs nothing."""

    __slots__ = ("_items", "_start", "_stop")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)
        self._start = 0
        self._stop = len(self._items)

    @classmethod
    def _view(cls, items: list[T], start: int, stop: int) -> Elements[T]:
        view: Elements[T] = cls.__new__(cls)
        view._items, view._start, view._stop = items, start, stop
        return view

    @classmethod
    def owning(cls, items: list[T]) -> Elements[T]:
        """Wrap a list that the caller hands over, without copying it."""
        return cls._view(items, 0, len(items))

    def extended(self, more: Iterable[T]) -> Elements[T]:
        if self._start == self._stop:  # nothing to share, and a shared empty default must not grow
            return more if isinstance(more, Elements) else Elements(more)
        more = more.to_list() if isinstance(more, Elements) else list(more)
        if not more:
            return self
        items, start = self._items, self._start
        if self._stop != len(items) or 2 * start > len(items) + 64:
            # Copy if another version has extended the list, or if most of the list has been dropped.
            items, start = items[start : self._stop], 0
        items.extend(more)
        return Elements._view(items, start, len(items))

    def dropped(self, count: int) -> Elements[T]:
        """Return the elements without the oldest `count`."""
        start = self._start + count
        return Elements() if start >= self._stop else Elements._view(self._items, start, self._stop)

    def to_list(self) -> list[T]:
        return self._items[self._start : self._stop]

    def __len__(self) -> int:
        return self._stop - self._start

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._start, self._stop)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return self.to_list()[index]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._items[(self._start if index >= 0 else self._stop) + index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Elements) and len(self) == len(other) and self.to_list() == other.to_list()

    def __hash__(self) -> int:
        return hash(tuple(self))

    def lower(self, lower: Lowering) -> Term:
        return Call("elements", (lower.many(self.to_list()),))

    def __repr__(self) -> str:
        return f"Elements({self.to_list()!r})"


_ABSENT: Any = object()


def _copied(items: Any) -> Any:
    return items.to_dict() if isinstance(items, PersistentMap) else dict(items)


class PersistentMap(Lowerable, Mapping[K, W], Generic[K, W]):
    """An immutable map. The newest version holds a dict; an older one holds its difference from the next."""

    __slots__ = ("_dict", "_newer", "_undo")

    def __init__(self, items: Mapping[K, W] | Iterable[tuple[K, W]] = ()) -> None:
        self._dict: dict[K, W] | None = _copied(items)
        self._undo: dict[K, W] = {}
        self._newer: PersistentMap[K, W] | None = None

    def _root(self) -> dict[K, W]:
        """Move the dict to this version, and return it."""
        if self._dict is not None:
            return self._dict
        path = [self]
        while path[-1]._dict is None:
            newer = path[-1]._newer
            assert newer is not None
            path.append(newer)
        holder = path.pop()
        items = holder._dict
        assert items is not None
        while path:
            version = path.pop()
            undo, redo = version._undo, {}
            for key, old in undo.items():
                redo[key] = items.get(key, _ABSENT)
                if old is _ABSENT:
                    items.pop(key, None)
                else:
                    items[key] = old
            holder._dict, holder._undo, holder._newer = None, redo, version
            version._dict, version._undo, version._newer = items, {}, None
            holder = version
        return items

    def updated(self, changes: Mapping[K, W | Any], drop: Any = _ABSENT) -> PersistentMap[K, W]:
        """Return the map with these changes; an entry whose new value equals `drop` is removed."""
        if not changes:
            return self
        changes = _copied(changes)  # may be another version of this map, which changes when this one is read
        items = self._root()
        if not items:  # nothing to share; a shared empty map must not hold references to all its successors
            return PersistentMap(
                (key, new) for key, new in changes.items() if new is not _ABSENT and (drop is _ABSENT or new != drop)
            )
        undo: dict[K, W] = {}
        for key, new in changes.items():
            undo[key] = items.get(key, _ABSENT)
            if new is _ABSENT or (drop is not _ABSENT and new == drop):
                items.pop(key, None)
            else:
                items[key] = new
        newer: PersistentMap[K, W] = PersistentMap.__new__(PersistentMap)
        newer._dict, newer._undo, newer._newer = items, {}, None
        self._dict, self._undo, self._newer = None, undo, newer
        return newer

    def added(self, weights: Mapping[K, W | Any]) -> PersistentMap[K, W]:
        """Return the map with the weights added; keys whose weight becomes zero are removed."""
        weights = _copied(weights)  # may be another version of this map
        items: dict[Any, Any] = self._root()
        return self.updated({key: items.get(key, 0) + weight for key, weight in weights.items()}, drop=0)

    def without(self, key: K) -> PersistentMap[K, W]:
        return self.updated({key: _ABSENT})

    def to_dict(self) -> dict[K, W]:
        """Return a copy that the caller may keep and change."""
        return dict(self._root())

    def __getitem__(self, key: K) -> W:
        return self._root()[key]

    def get(self, key: K, default: object = None) -> Any:
        return self._root().get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._root()

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._root()))

    def __len__(self) -> int:
        return len(self._root())

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, PersistentMap):
            return self is other
        return len(self) == len(other) and self.to_dict() == other._root()  # copy: only one version holds the dict

    def __hash__(self) -> int:
        return hash(frozenset(self._root().items()))

    def lower(self, lower: Lowering) -> Term:
        items = self._root()
        return Call("table", (lower.many(list(items)), lower.many(list(items.values()))))

    def __repr__(self) -> str:
        return f"PersistentMap({self._root()!r})"

    def __reduce__(self) -> Any:
        """Copy and pickle without the other versions that share the dict."""
        return PersistentMap, (self.to_dict(),)


register("elements", Elements)
register("table", lambda keys, values: PersistentMap(zip(keys, values, strict=True)))

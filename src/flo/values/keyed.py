"""Keyed collections: one stream per key.

A key exists as soon as it has arrived, even if its stream is still empty: `fold` over nothing has a result. Z-sets are
the exception: their elements can be retracted, and the key disappears with the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from flo.core.collection import Collection, End, Value, call
from flo.core.elements import find_mismatch
from flo.core.errors import CollectionError, ElementError, brief
from flo.core.persistent import PersistentMap
from flo.core.term import Lowering, Term
from flo.core.type_names import type_name
from flo.core.type_relations import accepts
from flo.core.untyped import Element
from flo.values.weighted import ZSet, ZSetValue

K = TypeVar("K")
C_co = TypeVar("C_co", bound=Collection, covariant=True)


@dataclass(frozen=True, slots=True)
class KeyedValue(Value):
    """{k₁: c₁, …}: what has arrived for each key. When it ends, the streams of all keys end.

    `behind` has what must be remembered of streams that were consumed: that a stream has ended on its own, or which of
    its inner streams is open.
    """

    entries: PersistentMap[Element, Value]
    end: End = End.OPEN
    behind: PersistentMap[Element, Value] = PersistentMap()  # noqa: RUF009

    kind = "keyed"

    @classmethod
    def of(cls, entries: Mapping[Element, Value], end: End = End.OPEN) -> KeyedValue:
        kept = ((key, value if end is End.OPEN else value.fix()) for key, value in entries.items())
        return cls(PersistentMap((key, value) for key, value in kept if not is_absent(value, end)), end)

    @classmethod
    def terminator(cls) -> KeyedValue:
        """Return ⊗ as a delta."""
        return cls(PersistentMap(), End.ARRIVED)

    def concat(self, delta: KeyedValue) -> KeyedValue:
        if self.end is not End.OPEN:
            return self
        changes: dict[Element, Value | None] = {}
        moved: dict[Element, Value | None] = {}
        for key, more in delta.entries.to_dict().items():
            value = self.entries.get(key)
            if value is not None:
                value = value.concat(more)
            elif key in self.behind:
                value = self.behind[key].concat(more)
                if not value.size():
                    moved[key] = value
                    continue
                moved[key] = None
            else:
                value = more.empty().concat(more)  # copy: see WeightedValue.concat
            changes[key] = None if is_absent(value, End.OPEN) else value
        entries = self.entries.updated(changes, drop=None)
        if delta.end is not End.OPEN:
            return KeyedValue.of(entries.to_dict(), delta.end)
        return KeyedValue(entries, End.OPEN, self.behind.updated(moved, drop=None))

    def empty(self) -> KeyedValue:
        return KeyedValue(PersistentMap())

    def fix(self) -> KeyedValue:
        return self if self.fixed() else KeyedValue.of(self.entries.to_dict(), End.ARRIVED)

    def passed(self) -> KeyedValue:
        """Return ⊗: the end was passed on."""
        return KeyedValue(PersistentMap(), End.PASSED)

    def ending(self) -> bool:
        """Return whether only the end is left to pass on."""
        return self.end is End.ARRIVED and not self.entries

    def take_keys(self, keys: Iterable[object]) -> tuple[KeyedValue, dict[Element, Value]]:
        """Consume everything that has arrived for these keys; return (the rest, what was consumed)."""
        sent: dict[Element, Value] = {}
        rests: dict[Element, Value] = {}
        for key in keys:
            rest, sent[key] = self.entries[key].take()
            if self.end is End.OPEN and rest != rest.empty():
                rests[key] = rest
        every = len(sent) == len(self.entries)
        left = PersistentMap() if every else self.entries.updated(dict.fromkeys(sent), drop=None)
        return KeyedValue(left, self.end, self.behind.updated(rests)), sent

    def take(self) -> tuple[KeyedValue, KeyedValue]:
        if self.end is not End.OPEN:
            return self.passed(), self
        rest, sent = self.take_keys(self.entries)
        return rest, KeyedValue(PersistentMap(sent))

    def send(self, at_most: int | None = None) -> tuple[KeyedValue, KeyedValue]:
        """Send what the streams of the first `at_most` keys send."""
        keys = list(self.entries)[:at_most]
        parts = {key: self.entries[key].send() for key in keys}
        sent = KeyedValue(PersistentMap((key, part) for key, (_, part) in parts.items()))
        stays = self.entries.updated({k: rest if rest.size() else None for k, (rest, _) in parts.items()}, drop=None)
        if self.end is not End.OPEN:
            return (
                (KeyedValue(stays, self.end), sent) if stays else (self.passed(), KeyedValue.of(sent.entries, self.end))
            )
        behind = {k: rest for k, (rest, _) in parts.items() if not rest.size() and rest != rest.empty()}
        return KeyedValue(stays, End.OPEN, self.behind.updated(behind)), sent

    def size(self) -> int:
        inner = sum(max(1, value.size()) for value in self.entries.to_dict().values())
        return inner + (self.end is End.ARRIVED)

    def lower(self, lower: Lowering) -> Term:
        behind = (self.behind,) if self.behind else ()
        return call(self.kind, self.entries, self.end, *behind, lower=lower)

    @classmethod
    def lift(cls, *parts: Any) -> KeyedValue:
        entries, end, *behind = parts if len(parts) > 1 else (*parts, False)
        return cls(entries, End.lift(end), *behind)


def is_absent(value: Value, end: End) -> bool:
    """Return whether the key of this stream does not exist: an empty z-set that did not end before the others."""
    return isinstance(value, ZSetValue) and not value.weights and (end is not End.OPEN or not value.fixed())


class Keyed(Collection, Generic[K, C_co]):
    """Keyed<K, C>: finitely many keys, each with a value of C."""

    name = "Keyed"

    def __init__(self, key: object, inner: Collection) -> None:
        if isinstance(inner, Keyed) and inner.cancels:
            raise CollectionError(
                f"{inner} cannot be nested under another key: its keys can disappear",
                instead=(("key_by(lambda x: (first(x), second(x)))", "one compound key"),),
            )
        self.key = key
        self.inner = inner

    @classmethod
    def parameterised(cls, *parameters: object) -> Keyed[Element, Element]:
        if len(parameters) != 2:
            raise CollectionError(
                f"Keyed must have two parameters, a key type and a collection; got {len(parameters)}",
                instead=(("flo.Keyed[str, flo.Sequence[int]]", "one sequence per string"),),
            )
        key, inner = parameters
        return cls(key, Collection.of(inner))

    @property
    def cancels(self) -> bool:
        """Whether keys can disappear."""
        return isinstance(self.inner, ZSet)

    def bottom(self) -> KeyedValue:
        return KeyedValue(PersistentMap())

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, KeyedValue):
            return f"a {value.kind} is not a {self}"
        for entries in (value.entries.to_dict(), value.behind.to_dict()):
            keys = list(entries)
            wrong = find_mismatch(keys, self.key)
            if wrong is not None:
                return f"the key {keys[wrong]!r} is not of type {type_name(self.key)}"
            for key, inner in entries.items():
                reason = self.inner.mismatch(inner)
                if reason is None and value.fixed() and not inner.fixed():
                    reason = "the stream of this key has no end"
                if reason is not None:
                    return f"key {key!r}: {reason}"
        return None

    def accepts(self, other: Collection) -> bool:
        return isinstance(other, Keyed) and accepts(self.key, other.key) and self.inner.accepts(other.inner)

    def value(self, data: Any) -> KeyedValue:
        if not isinstance(data, Mapping):
            raise ElementError(
                f"{{input}} must be a mapping from keys to collections; got {type(data).__name__}",
                facts=(("given", brief(data)), ("{input}", str(self))),
            )
        keys = list(data)
        wrong = find_mismatch(keys, self.key)
        if wrong is not None:
            raise ElementError(
                f"the key {keys[wrong]!r} of {{input}} is not of type {type_name(self.key)}",
                facts=(("{input}", str(self)),),
            )
        entries = {}
        for key, item in data.items():
            try:
                entries[key] = self.inner.value(item)
            except ElementError as error:
                raise error.inside(f"the key {brief(key)}") from error.__cause__
        return KeyedValue.of(entries)

    def plain(self, value: KeyedValue) -> dict[Element, Element]:
        return {key: self.inner.plain(inner) for key, inner in value.entries.to_dict().items()}

    def parts(self) -> tuple[Any, ...]:
        return self.key, self.inner

    def __str__(self) -> str:
        return f"{self.name}[{type_name(self.key)}, {self.inner}]"

    def in_full(self) -> str:
        return f"{self.name}[{type_name(self.key)}, {self.inner.in_full()}]"

"""Keyed collections: a stream of its own for every key.

That a key is there is information, even if nothing has arrived on its stream: `fold` over nothing has a result. Z-sets
are the exception: their elements can be taken back, and the key goes with the last one. A key whose z-set is empty is
not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from flo.core.collection import Collection, End, Value, call
from flo.core.elements import first_stranger, type_name
from flo.core.errors import CollectionError, ElementError, brief
from flo.core.persistent import PersistentMap
from flo.core.term import Lowering, Term
from flo.core.type_relations import accepts
from flo.values.weighted import ZSet, ZSetValue

K = TypeVar("K")
C_co = TypeVar("C_co", bound=Collection, covariant=True)


@final
@dataclass(frozen=True, slots=True)
class KeyedValue(Value):
    """{k₁: c₁, …}: what has arrived for each key. When it ends, the stream of every key does.

    `behind` holds what must be remembered of streams that were consumed: that one has ended on its own, or which of its
    inner streams is open.
    """

    entries: PersistentMap[Any, Value]
    end: End = End.OPEN
    behind: PersistentMap[Any, Value] = PersistentMap()  # noqa: RUF009

    kind = "keyed"

    @classmethod
    def of(cls, entries: Mapping[Any, Value], end: End = End.OPEN) -> KeyedValue:
        kept = ((key, value if end is End.OPEN else value.fix()) for key, value in entries.items())
        return cls(PersistentMap((key, value) for key, value in kept if not vanished(value, end)), end)

    @classmethod
    def terminator(cls) -> KeyedValue:
        """⊗ as a delta."""
        return cls(PersistentMap(), End.ARRIVED)

    def concat(self, delta: KeyedValue) -> KeyedValue:
        if self.end is not End.OPEN:
            return self
        changes: dict[Any, Value | None] = {}
        moved: dict[Any, Value | None] = {}
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
                value = more.empty().concat(more)  # of its own: see WeightedValue.concat
            changes[key] = None if vanished(value, End.OPEN) else value
        entries = self.entries.updated(changes, drop=None)
        if delta.end is not End.OPEN:
            return KeyedValue.of(entries.to_dict(), delta.end)
        return KeyedValue(entries, End.OPEN, self.behind.updated(moved, drop=None))

    def empty(self) -> KeyedValue:
        return KeyedValue(PersistentMap())

    def fix(self) -> KeyedValue:
        return self if self.fixed() else KeyedValue.of(self.entries.to_dict(), End.ARRIVED)

    def fixed(self) -> bool:
        return self.end is not End.OPEN

    def passed(self) -> KeyedValue:
        """⊗: the end was passed on."""
        return KeyedValue(PersistentMap(), End.PASSED)

    def ending(self) -> bool:
        """Nothing is left but an end that was not passed on."""
        return self.end is End.ARRIVED and not self.entries

    def taken(self, keys: Iterable[Any]) -> tuple[KeyedValue, dict[Any, Value]]:
        """What stays behind when all that has arrived for these keys is consumed, and that."""
        sent: dict[Any, Value] = {}
        rests: dict[Any, Value] = {}
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
        rest, sent = self.taken(self.entries)
        return rest, KeyedValue(PersistentMap(sent))

    def send(self, at_most: int | None = None) -> tuple[KeyedValue, KeyedValue]:
        """What the streams of so many keys send."""
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


def vanished(value: Value, end: End) -> bool:
    """Whether the key of this stream is not there: an empty z-set that did not end before the others."""
    return isinstance(value, ZSetValue) and not value.weights and (end is not End.OPEN or not value.fixed())


class Keyed(Collection, Generic[K, C_co]):
    """Keyed<K, C>: finitely many keys, and a value of C for each."""

    name = "Keyed"

    def __init__(self, key: Any, inner: Collection) -> None:
        if isinstance(inner, Keyed) and inner.cancels:
            raise CollectionError(
                f"the keys of {inner} come and go, so it cannot stand under another key",
                instead=(("key_by(lambda x: (first(x), second(x)))", "one key made of both"),),
            )
        self.key = key
        self.inner = inner

    @classmethod
    def parameterised(cls, *parameters: Any) -> Keyed[Any, Any]:
        if len(parameters) != 2:
            raise CollectionError(
                f"a Keyed has a type of keys and a collection, and was given {len(parameters)} parameters",
                instead=(("flo.Keyed[str, flo.Sequence[int]]", "a sequence for every string"),),
            )
        key, inner = parameters
        return cls(key, Collection.of(inner))

    @property
    def cancels(self) -> bool:
        """Whether a key can go again."""
        return isinstance(self.inner, ZSet)

    def bottom(self) -> KeyedValue:
        return KeyedValue(PersistentMap())

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, KeyedValue):
            return f"a {value.kind} is no {self}"
        for entries in (value.entries.to_dict(), value.behind.to_dict()):
            keys = list(entries)
            stranger = first_stranger(keys, self.key)
            if stranger is not None:
                return f"the key {keys[stranger]!r} is not of type {type_name(self.key)}"
            for key, inner in entries.items():
                reason = self.inner.mismatch(inner)
                if reason is None and value.fixed() and not inner.fixed():
                    reason = "the stream of this key was left without an end"
                if reason is not None:
                    return f"key {key!r}: {reason}"
        return None

    def accepts(self, other: Collection) -> bool:
        return isinstance(other, Keyed) and accepts(self.key, other.key) and self.inner.accepts(other.inner)

    def value(self, data: Any) -> KeyedValue:
        if not isinstance(data, Mapping):
            raise ElementError(
                f"{{input}} takes a mapping from keys to what each of them holds, and was given {type(data).__name__}",
                facts=(("given", brief(data)), ("{input}", str(self))),
            )
        keys = list(data)
        stranger = first_stranger(keys, self.key)
        if stranger is not None:
            raise ElementError(
                f"the key {keys[stranger]!r} of {{input}} is not of type {type_name(self.key)}",
                facts=(("{input}", str(self)),),
            )
        entries = {}
        for key, item in data.items():
            try:
                entries[key] = self.inner.value(item)
            except ElementError as error:
                raise error.inside(f"the key {brief(key)}") from error.__cause__
        return KeyedValue.of(entries)

    def plain(self, value: KeyedValue) -> dict[Any, Any]:
        return {key: self.inner.plain(inner) for key, inner in value.entries.to_dict().items()}

    def lower(self, lower: Lowering) -> Term:
        return call(self.name, self.key, self.inner, lower=lower)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and (other.key, other.inner) == (self.key, self.inner)

    def __hash__(self) -> int:
        return hash((self.name, str(self.key), self.inner))

    def __str__(self) -> str:
        return f"{self.name}[{type_name(self.key)}, {self.inner}]"

    __repr__ = __str__

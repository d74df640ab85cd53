"""Compound lattices: sets, maps, tuples, versions and counters."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, TypeVarTuple

from flo.core.elements import belongs, find_mismatch
from flo.core.persistent import PersistentMap
from flo.core.type_names import type_name
from flo.core.untyped import Element, TypeForm
from flo.values.lattice import ANYTHING, BOTTOM, L_co, Lattice
from flo.values.lattice_orders import Max, NaturalSum, T_co, WithBottom

K = TypeVar("K")
Ls = TypeVarTuple("Ls")


@dataclass(frozen=True)
class SetUnion(Lattice[Set[T_co]], Generic[T_co]):
    """Growing sets. A value is a frozenset."""

    member: type[T_co] = ANYTHING

    def bottom(self) -> frozenset[T_co]:
        return frozenset()

    def join(self, a: Element, b: Element) -> frozenset[T_co]:
        return a | b if b else a  # type: ignore[no-any-return]

    def join_all(self, values: list[Element]) -> frozenset[T_co]:
        return values[0] if len(values) == 1 else frozenset().union(*values)

    def leq(self, a: Element, b: Element) -> bool:
        return bool(a <= b)

    def mismatch(self, value: object) -> str | None:
        if not isinstance(value, frozenset):
            return f"{value!r} is not a set"
        members = list(value)
        wrong = find_mismatch(members, self.member)
        return None if wrong is None else f"{members[wrong]!r} is not of type {type_name(self.member)}"

    @property
    def element(self) -> TypeForm:
        return frozenset[self.member]  # type: ignore[name-defined]

    def value(self, data: Element) -> Element:
        return frozenset(data) if isinstance(data, Set) else data


@dataclass(frozen=True)
class MapUnion(Lattice[Mapping[K, Element]], Generic[K, L_co]):
    """Maps whose entries grow, each in the same lattice. An absent entry is ⊥; entries that are ⊥ are removed."""

    key: type[K]
    lattice: Lattice[Element]

    @classmethod
    def parameterised(cls, *parameters: Any) -> Lattice[Element]:
        key, lattice = parameters
        return cls(key, Lattice.from_annotation(lattice))

    def bottom(self) -> PersistentMap[K, Element]:
        return PersistentMap()

    def join(self, a: Element, b: Element) -> PersistentMap[K, Element]:
        large, small = (a, b) if len(a) >= len(b) else (b, a)
        changes = {
            key: self.lattice.join(large[key], value) if key in large else value
            for key, value in small.to_dict().items()
        }
        return large.updated(changes)  # type: ignore[no-any-return]

    def leq(self, a: Element, b: Element) -> bool:
        return all(key in b and self.lattice.leq(value, b[key]) for key, value in a.items())

    def conflict(self, value: Element) -> bool:
        return any(map(self.lattice.conflict, value.values()))

    def is_bottom(self, value: object) -> bool:
        return not value

    def mismatch(self, value: object) -> str | None:
        if not isinstance(value, PersistentMap):
            return f"{value!r} is not a map"
        for key, item in value.items():
            if not belongs(key, self.key):
                return f"the key {key!r} is not of type {type_name(self.key)}"
            reason = "it is ⊥" if self.lattice.is_bottom(item) else self.lattice.mismatch(item)
            if reason is not None:
                return f"at the key {key!r}: {reason}"
        return None

    @property
    def element(self) -> TypeForm:
        return dict[self.key, self.lattice.element]  # type: ignore[name-defined]

    def value(self, data: Element) -> Element:
        if not isinstance(data, Mapping):
            return data
        items = {key: self.lattice.value(item) for key, item in data.items()}
        return PersistentMap({key: item for key, item in items.items() if not self.lattice.is_bottom(item)})

    def plain(self, value: Element) -> dict[K, Element]:
        return {key: self.lattice.plain(item) for key, item in value.items()}


@dataclass(frozen=True, init=False)
class Product(Lattice[tuple[Element, ...]], Generic[*Ls]):
    """Tuples, joined component by component."""

    lattices: tuple[Lattice[Element], ...]

    def __init__(self, *lattices: object) -> None:
        object.__setattr__(self, "lattices", tuple(map(Lattice.from_annotation, lattices)))

    def bottom(self) -> tuple[Element, ...]:
        return tuple(lattice.bottom() for lattice in self.lattices)

    def top(self) -> tuple[Element, ...] | None:
        tops = tuple(lattice.top() for lattice in self.lattices)
        return None if None in tops else tops

    def join(self, a: Element, b: Element) -> tuple[Element, ...]:
        return tuple(lattice.join(x, y) for lattice, x, y in zip(self.lattices, a, b, strict=True))

    def leq(self, a: Element, b: Element) -> bool:
        return all(lattice.leq(x, y) for lattice, x, y in zip(self.lattices, a, b, strict=True))

    def conflict(self, value: Element) -> bool:
        return any(lattice.conflict(item) for lattice, item in zip(self.lattices, value, strict=True))

    def mismatch(self, value: object) -> str | None:
        if not isinstance(value, tuple) or len(value) != len(self.lattices):
            return f"{value!r} is not a tuple of length {len(self.lattices)}"
        reasons = (lattice.mismatch(item) for lattice, item in zip(self.lattices, value, strict=True))
        return next((f"component {place}: {reason}" for place, reason in enumerate(reasons) if reason), None)

    @property
    def element(self) -> TypeForm:
        return tuple[*(lattice.whole for lattice in self.lattices)]  # type: ignore[misc]

    def value(self, data: Element) -> Element:
        if not isinstance(data, tuple) or len(data) != len(self.lattices):
            return data
        return tuple(lattice.value(item) for lattice, item in zip(self.lattices, data, strict=True))

    def plain(self, value: Element) -> Element:
        return tuple(lattice.plain(item) for lattice, item in zip(self.lattices, value, strict=True))

    def _parameters(self) -> list[Any]:
        return list(self.lattices)


@dataclass(frozen=True)
class Versioned(WithBottom[tuple[T_co, Element]], Generic[T_co, L_co]):
    """Pairs of a version and a value: the higher version wins; values of the same version are joined."""

    version: type[T_co]
    lattice: Lattice[Element]

    @classmethod
    def parameterised(cls, *parameters: Any) -> Lattice[Element]:
        version, lattice = parameters
        return cls(version, Lattice.from_annotation(lattice))

    def join(self, a: Element, b: Element) -> Element:
        if a is BOTTOM or b is BOTTOM:
            return b if a is BOTTOM else a
        if a[0] == b[0]:
            return (a[0], self.lattice.join(a[1], b[1]))
        if a[0] > b[0]:
            return a
        if b[0] > a[0]:
            return b
        raise ValueError(f"versions must be totally ordered: neither of {a[0]!r} and {b[0]!r} is higher")

    def leq(self, a: Element, b: Element) -> bool:
        if a is BOTTOM or b is BOTTOM:
            return a is BOTTOM
        return bool(a[0] < b[0] or (a[0] == b[0] and self.lattice.leq(a[1], b[1])))

    def mismatch(self, value: object) -> str | None:
        if value is BOTTOM:
            return None
        if not isinstance(value, tuple) or len(value) != 2:
            return f"{value!r} is not a pair of a version and a value"
        versions: Max[Element] = Max(self.version)
        reason = versions.mismatch(value[0]) if value[0] is not BOTTOM else "⊥ is not a version"
        return f"the version: {reason}" if reason else self.lattice.mismatch(value[1])

    @property
    def element(self) -> TypeForm:
        return tuple[self.version, self.lattice.whole]  # type: ignore[name-defined]

    def value(self, data: Element) -> Element:
        pair = isinstance(data, tuple) and len(data) == 2
        return (data[0], self.lattice.value(data[1])) if pair else data

    def plain(self, value: Element) -> Element:
        return value if value is BOTTOM else (value[0], self.lattice.plain(value[1]))


R = TypeVar("R")


@dataclass(frozen=True, init=False)
class GCounter(MapUnion[R, NaturalSum], Generic[R]):
    """A counter that only grows: the count of each replica, joined by max."""

    def __init__(self, replica: type[R] = ANYTHING) -> None:
        super().__init__(replica, NaturalSum(int))

    @classmethod
    def parameterised(cls, *parameters: Any) -> Lattice[Element]:
        return cls(*parameters)

    def _parameters(self) -> list[Any]:
        return [] if self.key is Any else [self.key]

    def total(self, value: Mapping[R, int]) -> int:
        """Return the sum of the counts of all replicas."""
        return sum(value.values())


@dataclass(frozen=True, init=False)
class PNCounter(Product[GCounter[R], GCounter[R]], Generic[R]):
    """A counter that goes up and down: each replica's increments and decrements."""

    def __init__(self, replica: type[R] = ANYTHING) -> None:
        super().__init__(GCounter(replica), GCounter(replica))

    def _parameters(self) -> list[Any]:
        return self.lattices[0]._parameters()

    def total(self, value: tuple[Mapping[R, int], Mapping[R, int]]) -> int:
        """Return increments minus decrements. Not monotone, so read it at the end of the stream, not by a threshold."""
        up, down = value
        return sum(up.values()) - sum(down.values())

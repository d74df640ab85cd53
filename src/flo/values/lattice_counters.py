"""Counters that many replicas count in, each its own part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, final

from flo.values.lattice_base import ANYTHING, Lattice, V_co
from flo.values.lattice_orders import NaturalSum
from flo.values.lattice_structures import MapUnion, Product

R = TypeVar("R")


@dataclass(frozen=True)
class _Like(Lattice[V_co]):
    """A lattice that is another one under a name of its own."""

    name = "_Like"

    @cached_property
    @abstractmethod
    def same(self) -> Lattice[Any]:
        """The other one."""

    def bottom(self) -> V_co:
        return self.same.bottom()  # type: ignore[no-any-return]

    def join(self, a: Any, b: Any) -> V_co:
        return self.same.join(a, b)  # type: ignore[no-any-return]

    def leq(self, a: Any, b: Any) -> bool:
        return self.same.leq(a, b)

    def is_bottom(self, value: Any) -> bool:
        return self.same.is_bottom(value)

    def mismatch(self, value: Any) -> str | None:
        return self.same.mismatch(value)

    @property
    def element(self) -> Any:
        return self.same.element

    def value(self, data: Any) -> Any:
        return self.same.value(data)

    def plain(self, value: Any) -> Any:
        return self.same.plain(value)


@final
@dataclass(frozen=True)
class GCounter(_Like[Mapping[R, int]], Generic[R]):
    """A counter that grows: how far each replica has counted, joined by max."""

    replica: type[R] = ANYTHING

    name = "GCounter"

    @cached_property
    def same(self) -> Lattice[Any]:
        return MapUnion(self.replica, NaturalSum(int))

    def total(self, value: Mapping[R, int]) -> int:
        """What all replicas have counted together."""
        return sum(value.values())


@final
@dataclass(frozen=True)
class PNCounter(_Like[tuple[Mapping[R, int], Mapping[R, int]]], Generic[R]):
    """A counter that goes up and down: how far each replica has counted up, and how far down."""

    replica: type[R] = ANYTHING

    name = "PNCounter"

    @cached_property
    def same(self) -> Lattice[Any]:
        return Product(GCounter(self.replica), GCounter(self.replica))

    def total(self, value: tuple[Mapping[R, int], Mapping[R, int]]) -> int:
        """Ups minus downs. It rises and falls: read it where the stream has ended, as no threshold can."""
        up, down = value
        return sum(up.values()) - sum(down.values())

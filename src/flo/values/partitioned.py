"""Partitioned logs: one sequence per partition, and no order between partitions."""

from __future__ import annotations

from typing import Any

from flo.core.collection import Collection, Value
from flo.core.errors import CollectionError, ElementError
from flo.core.type_names import type_in_full, type_name
from flo.core.untyped import Element
from flo.values.element_value import T_co, Windowable
from flo.values.keyed import Keyed, KeyedValue
from flo.values.sequence import Sequence
from flo.values.weighted import Bag


class Partitioned(Keyed[int, Sequence[T_co]], Windowable[T_co, Bag[T_co]]):
    """Partitioned<T>: Keyed<int, S<T>> with the partition as the key. `count` partitions, numbered from 0, are known.

    A log may get more of them. A partition that was not known counts from the micro-batch of its first row on.
    """

    name = "Partitioned"

    def __init__(self, element: object = Any, count: int = 0) -> None:
        super().__init__(int, Sequence(element))
        self.row = element
        self.count = count

    @classmethod
    def parameterised(cls, *parameters: Any) -> Partitioned[Element]:
        if len(parameters) > 1:
            raise CollectionError(
                f"Partitioned must have one parameter, the type of its rows; got {len(parameters)}",
                instead=(("flo.Partitioned[Click]", "the partition is a number"),),
            )
        return cls(*parameters)

    def mismatch(self, value: Value) -> str | None:
        reason = super().mismatch(value)
        if reason is None and isinstance(value, KeyedValue):
            wrong = next((each for each in (*value.entries, *value.behind) if each < 0), None)
            reason = None if wrong is None else f"there is no partition {wrong}"
        return reason

    def _unknown(self, partitions: list[int]) -> int | None:
        """Return a partition that there is not."""
        return next((each for each in partitions if not 0 <= each < self.count), None)

    def accepts(self, other: Collection) -> bool:
        return isinstance(other, Partitioned) and other.count == self.count and super().accepts(other)

    def value(self, data: Any) -> KeyedValue:
        value = super().value(data)
        unknown = self._unknown(list(value.entries))
        if unknown is not None:
            raise ElementError(
                f"{{input}} has no partition {unknown}; its partitions are 0 to {self.count - 1}",
                facts=(("{input}", str(self)),),
                instead=(
                    (f"partitions={unknown + 1}", "where the input is declared"),
                    ("loop.add_partitions(…)", "if the log got more of them"),
                )
                if unknown >= 0
                else (),
            )
        return value

    def grown(self, more: int) -> Partitioned[T_co]:
        """Return the collection with so many more partitions."""
        return Partitioned(self.row, self.count + more)

    def parts(self) -> tuple[Any, ...]:
        return self.row, self.count

    def __str__(self) -> str:
        parts = f"{type_name(self.row)}, {self.count}" if self.count else type_name(self.row)
        return f"{self.name}[{parts}]"

    def in_full(self) -> str:
        return f"{self.name}[{', '.join([type_in_full(self.row), *([str(self.count)] if self.count else [])])}]"


def partitioned_as(of: Keyed[Element, Element], inner: Collection) -> Keyed[Element, Element]:
    """Return the type of a keyed stream after its inner collection became this one: partitions of sequences stay
    partitions."""
    if isinstance(of, Partitioned) and isinstance(inner, Sequence):
        return Partitioned(inner.element, of.count)
    return Keyed(of.key, inner)

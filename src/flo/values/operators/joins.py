"""The incremental join of collections without order, as the paper's ⋈ on z-sets: both sides are kept, by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flo.core.derivation import StreamTypes
from flo.core.elements import returned_type
from flo.core.operator import Delta, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType
from flo.values.element_value import ElementCollection
from flo.values.operators.sides import Sides
from flo.values.operators.unary import ElementKind
from flo.values.weighted import SetValue

Index: TypeAlias = PersistentMap[Any, PersistentMap[Any, int]]
"""The elements with their weights under each key."""


@dataclass(frozen=True)
class WeightedJoin(Sides):
    """join(on, other_on, into): for all pairs whose keys are equal, `into(left, right)`; weights multiply.

    Without `on` or `other_on` an element is its own key, without `into` the results are pairs.
    """

    on: Callable[[Any], Any] | None = None
    other_on: Callable[[Any], Any] | None = None
    into: Callable[[Any, Any], Any] | None = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    rule = "join"
    shares_flag = True

    def joined(
        self, inputs: StreamTypes, kind: Callable[[Any], ElementCollection[Any]], element: Any = None
    ) -> StreamTypes:
        """The output types, of what `into` returns if it is not another element."""
        left, right = (given.collection.element for given in inputs)  # type: ignore[attr-defined]
        if element is None:
            element = tuple[left, right] if self.into is None else returned_type(self.into)  # type: ignore[valid-type]
        return (StreamType(kind(element), all(given.bounded for given in inputs)),)

    def finished(self) -> Operator:
        return replace(self, left=PersistentMap(), right=PersistentMap())

    def key(self, side: int, element: Any) -> Any:
        on = self.on if side == 0 else self.other_on
        return element if on is None else on(element)

    def combine(self, left: Any, right: Any) -> Any:
        return (left, right) if self.into is None else self.into(left, right)

    def consume(self, side: int, units: list[Any], source: ElementKind) -> tuple[Operator, Delta]:
        mine, others = (self.left, self.right) if side == 0 else (self.right, self.left)
        arrived: dict[Any, dict[Any, int]] = {}
        for element, weight in units:
            key = self.key(side, element)
            if source is not SetValue or element not in mine.get(key, ()):  # a set has an element once
                arrived.setdefault(key, {})[element] = weight
        results = []
        for key, elements in arrived.items():
            matches = others[key].to_dict() if key in others else {}
            for element, weight in elements.items():
                for other, other_weight in matches.items():
                    pair = (element, other) if side == 0 else (other, element)
                    results.append((self.combine(*pair), weight * other_weight))
        empty: PersistentMap[Any, int] = PersistentMap()
        grown = mine.updated({key: mine.get(key, empty).added(elements) for key, elements in arrived.items()})
        return (replace(self, left=grown) if side == 0 else replace(self, right=grown)), source.of(results)

"""The join of two keyed streams, under each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from flo.core.collection import Collection
from flo.core.derivation import StreamTypes
from flo.core.elements import type_name
from flo.core.operator import Delta, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed, KeyedValue
from flo.values.operators.alike import expect_equal_keys
from flo.values.operators.joins import Index, Into, KeptJoin
from flo.values.operators.keyed import expect_inner, expect_keyed, key_note, key_portions
from flo.values.operators.sides import Portions, either
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, ZSet, ZSetValue


@final
@dataclass(frozen=True)
class KeyedJoin(KeptJoin):
    """join_keyed(into): under each key that both sides have, `into(left, right)` for all pairs; weights multiply.

    (Keyed<K, C>, X), (Keyed<K, D>, X) ↪ (Keyed<K, Bag>, X), of sequences and bags; of z-sets it gives z-sets.
    """

    into: Into = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "join_keyed"
    signature = "(Keyed[K, C], X), (Keyed[K, D], X) -> (Keyed[K, Bag], X)"
    rule = "join-keyed"
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = (expect_keyed(self, given, index) for index, given in enumerate(inputs))
        under_another = (("{input}.entries().key_by(…)", f"keys of type {type_name(left.key)}"),)
        expect_equal_keys(self, inputs, left.key, right.key, under_another)
        kinds = (ZSet,) if left.cancels else (Sequence, Bag)
        a, b = (expect_inner(self, given, *kinds, index=index) for index, given in enumerate(inputs))
        assert isinstance(a, ElementCollection)
        assert isinstance(b, ElementCollection)
        element = self.combined_type(a.element, b.element)
        inner: Collection = ZSet(element) if left.cancels else Bag(element)
        key = either(left.key, right.key)
        return (StreamType(Keyed(key, inner), all(given.bounded for given in inputs)),)

    def rules_on(self, source: Any) -> tuple[str, str]:
        return self.rule, f"{self.rule}-terminated"

    def portions(self, value: Any, *, every: bool) -> Portions:
        return key_portions(value, every=every)

    def note(self, units: Any) -> str:
        return key_note(units)

    def consume(self, side: int, units: dict[Any, Any], source: Any) -> tuple[Operator, Delta]:
        arrived: dict[Any, dict[Any, int]] = {}
        kind: type[BagValue | ZSetValue] = BagValue
        for key, value in units.items():
            if isinstance(value, SequenceValue):
                value = BagValue.of((element, 1) for element in value.all_units())
            elif isinstance(value, ZSetValue):
                kind = ZSetValue
            arrived[key] = value.weights.to_dict()
        operator, results = self.joined(side, arrived)
        return operator, KeyedValue.of({key: kind.of(found) for key, found in results.items() if found})

"""upsert: a table with a primary key as a z-set, from the changes of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flo.core.errors import TypeMismatch
from flo.core.facts import PrimaryKey
from flo.core.operator import Bound, Deltas, Operator, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, Unit
from flo.values.canonical import canonical_element
from flo.values.changes import shape_of
from flo.values.operators.shapes import ElementKind, Unary
from flo.values.operators.zsets import make_delta
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, ZSet, ZSetValue

NO_ROW = (None, None)


@dataclass(frozen=True)
class Upsert(Unary):
    """upsert(rows): (S<Change>, X) ↪ (ZSet<Row>, X), and the same from a bag.

    A change replaces the row of its key, or deletes it. In a sequence the last change of a key counts; to delete what
    is not there does nothing. Changes in a bag have an order of their own, and the latest counts, whenever it arrives.
    So a deleted key keeps its place in the order: a change from before the deletion may still come.

    `rows` has the place and the row of each key.
    """

    rows: PersistentMap[Element, tuple[Element, Element]] = PersistentMap()  # noqa: RUF009

    name = "upsert"
    keeps = Bound.GROUPS
    signature = "(Sequence[Change] | Bag[Change], X) -> (ZSet[Row], X)"

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        shape = shape_of(inputs[0].collection.element)  # type: ignore[attr-defined]
        return None if shape is None else shape.key

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, Bag)
        shape = shape_of(inputs[0].collection.element)  # type: ignore[attr-defined]
        if shape is None or (shape.order is None) is not isinstance(inputs[0].collection, Sequence):
            raise TypeMismatch(
                "`upsert` requires changes of a table: a sequence of them, or a bag if they have an order",
                facts=(("{input}", inputs[0].described()),),
                instead=(('flow.table(name, Row, key="id")', "an input of changes"),),
                index=0,
            )
        return (StreamType(ZSet(shape.row), inputs[0].bounded),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        ordered = issubclass(source, SequenceValue)
        latest: dict[Element, tuple[Element, Element]] = {}
        for change in units if ordered else (change for change, _ in units):
            shape = shape_of(change)
            assert shape is not None
            key, order, row = shape.read(change)
            before = latest.get(key) or self.rows.get(key)
            if ordered or before is None or shape.rank(*before) < shape.rank(order, row):
                latest[key] = (order, row)
        latest = {key: (order, canonical_element(row)) for key, (order, row) in latest.items()}
        delta = []
        for key, (_, row) in latest.items():
            old = self.rows.get(key, NO_ROW)[1]
            delta += [(each, weight) for each, weight in ((old, -1), (row, 1)) if each is not None]
        return replace(self, rows=self.rows.updated(latest, drop=NO_ROW)), make_delta(delta)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return Upsert(), (ZSetValue.terminator(),)

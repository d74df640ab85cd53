"""asof_join: each row of a z-set with the nearest row of another, by an order and within equal keys.

A right row counts if its weight is positive; the weight itself does not matter. So the output is linear in the left
z-set: with m(x) the match of a row x, it is Σ w · into(x, m(x)) over the left rows x and their weights w. A left delta
is joined with what the right side has. When right rows come or go, only the left rows between them and the next right
row may have another match.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Any, Optional, Self, TypeAlias

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.facts import PrimaryKey
from flo.core.operator import Step
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamTypes
from flo.core.untyped import Element, PairFunction, TypeForm, Unit
from flo.values.canonical import canonical_element, order_key
from flo.values.operators.joins import (
    Into,
    KeyFunction,
    WeightedElements,
    combine_ahead,
    combine_pairs,
    element_of,
    expect_equal_keys,
    key_type,
    pair,
)
from flo.values.operators.shapes import evaluate_ahead
from flo.values.operators.zset_joins import Side, ZSetJoin
from flo.values.operators.zsets import make_delta
from flo.values.row_functions import passed_by
from flo.values.weighted import ZSetValue

PlacedRow: TypeAlias = tuple[Element, Element, int]
"""The place of a row in the order, the row, and its weight."""
PlacedRows: TypeAlias = tuple[PlacedRow, ...]
"""The rows of one key, sorted by place and then by row."""


@dataclass(frozen=True)
class AsOfJoin(ZSetJoin):
    """asof_join(at, other_at, on, other_on, into, forward, inner, M₁, M₂): ((ZSet<T>, X), (ZSet<U>, X)) ↪ (ZSet<V>, X).

    A left row x is matched with the right row y of an equal key `on` for which other_at(y) is the largest that is not
    above at(x); with `forward`, the smallest that is not below. Of several such rows it is the largest. Rows whose key
    or place is None have no match. Left rows without a match are into(x, None), or dropped if `inner`.

    Without `at` the row is its own place; without `on` all rows have one key.
    """

    at: KeyFunction = None
    other_at: KeyFunction = None
    on: KeyFunction = None
    other_on: KeyFunction = None
    into: Into = None
    forward: bool = False
    inner: bool = False
    left: PersistentMap[Element, PlacedRows] = PersistentMap()  # type: ignore[assignment]  # noqa: RUF009
    right: PersistentMap[Element, PlacedRows] = PersistentMap()  # type: ignore[assignment]  # noqa: RUF009

    name = "asof_join"
    forgets_after = (1,)
    recomputes = ("into",)
    rule = "asof-join-zset"

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return passed_by(self.into, keys[0])  # each left row has one match at most

    def expect_elements(self, inputs: StreamTypes) -> None:
        left, right = map(element_of, inputs)
        expect_equal_keys(self, inputs, key_type(self.at, left), key_type(self.other_at, right))
        if self.on is not None and self.other_on is not None:
            expect_equal_keys(self, inputs, returned_type(self.on), returned_type(self.other_on))

    def element(self, left: Any, right: Any) -> TypeForm:
        if self.into is not None:
            return returned_type(self.into)
        return tuple[left, right] if self.inner else tuple[left, Optional[right]]  # noqa: UP045

    def joined(self, left: Side, right: Side) -> WeightedElements:
        raise NotImplementedError  # `_joined` needs the order, too

    def combined(self, units: list[Unit]) -> list[Element]:
        into: PairFunction = self.into or pair
        combine_ahead(self.into, units)
        return combine_pairs(into, units)

    def side_ended(self, side: int) -> Self:
        if side == 1:
            return replace(self, left=PersistentMap())
        return replace(self, right=PersistentMap((k, rows) for k, rows in self.right.items() if k in self.left))

    def _joined(self, left: ZSetValue, right: ZSetValue) -> Step:
        lefts, rights = self._by_key(left, self.at, self.on), self._by_key(right, self.other_at, self.other_on)
        rights.pop(None, None)
        pairs = [((row, None), weight) for _, row, weight in lefts.pop(None, ())]
        new_left: dict[Element, PlacedRows] = {}
        new_right: dict[Element, PlacedRows] = {}
        for key in lefts | rights:
            stored, before = self.left.get(key, ()), self.right.get(key, ())
            after = merge_entries(before, rights.get(key, ()))
            for at, row, weight in self._touched(stored, rights.get(key, ()), after):
                pairs += [((row, self._match(before, at)), -weight), ((row, self._match(after, at)), weight)]
            pairs += [((row, self._match(after, at)), weight) for at, row, weight in lefts.get(key, ())]
            if right.end is not End.PASSED and key in lefts:
                new_left[key] = merge_entries(stored, lefts[key])
            if key in rights and (left.end is not End.PASSED or key in self.left):
                new_right[key] = after
        units = [(both, weight) for both, weight in pairs if not (self.inner and both[1] is None)]
        kept = self.left.updated(new_left, drop=()), self.right.updated(new_right, drop=())
        joined = replace(self, left=kept[0], right=kept[1])
        return Step(self.rule, (left.drained(), right.drained()), joined, make_delta(self.combined(units)))

    def _by_key(self, value: ZSetValue, at: KeyFunction, on: KeyFunction) -> dict[Element, list[PlacedRow]]:
        """Group a delta by key. Rows without a place or a key are under None."""
        by_key: dict[Element, list[PlacedRow]] = {}
        for f in (at, on):
            evaluate_ahead(f, value.elements_list())
        for row, weight in value.all_units():
            place = row if at is None else canonical_element(at(row))
            key = () if on is None else canonical_element(on(row))
            some_null = key is None or (type(key) is tuple and any(part is None for part in key))
            by_key.setdefault(None if place is None or some_null else key, []).append((place, row, weight))
        return by_key

    def _match(self, rights: PlacedRows, at: Any) -> Element:
        """Return the right row that matches this place; None if there is none."""
        index = bisect_right(rights, order_key(at), key=place_of) - 1
        if self.forward:
            first = present(rights, bisect_left(rights, order_key(at), key=place_of), 1)
            if first is None:
                return None
            index = bisect_right(rights, place_of(first), key=place_of) - 1
        match = present(rights, index, -1)
        return None if match is None else match[1]

    def _touched(self, stored: PlacedRows, delta: Any, after: PlacedRows) -> list[PlacedRow]:
        """Return the stored left rows that may have another match after this delta of the right side."""
        places: set[int] = set()
        for place in {order_key(at): None for at, _, _ in delta}:
            if self.forward:
                below = present(after, bisect_left(after, place, key=place_of) - 1, -1)
                low = 0 if below is None else bisect_right(stored, place_of(below), key=place_of)
                high = bisect_right(stored, place, key=place_of)
            else:
                above = present(after, bisect_right(after, place, key=place_of), 1)
                low = bisect_left(stored, place, key=place_of)
                high = len(stored) if above is None else bisect_left(stored, place_of(above), key=place_of)
            places |= set(range(low, high))
        return [stored[index] for index in sorted(places)]


def place_of(entry: PlacedRow) -> Any:
    return order_key(entry[0])


def present(entries: PlacedRows, index: int, step: int) -> PlacedRow | None:
    """Return the first row with a positive weight from an index on, in steps of 1 or -1."""
    while 0 <= index < len(entries):
        if entries[index][2] > 0:
            return entries[index]
        index += step
    return None


def _rank(entry: PlacedRow) -> Any:
    return order_key(entry[0]), order_key(entry[1])


def merge_entries(entries: PlacedRows, delta: Any) -> PlacedRows:
    """Return sorted rows with those of a delta: weights of equal rows are added, and rows without weight dropped."""
    merged = list(entries)
    for at, row, weight in delta:
        index = bisect_left(merged, _rank((at, row, 0)), key=_rank)
        if index < len(merged) and merged[index][1] == row:
            weight += merged.pop(index)[2]
        if weight:
            merged.insert(index, (at, row, weight))
    return tuple(merged)

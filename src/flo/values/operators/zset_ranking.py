"""Rankings of z-sets: a total order of rows by key, and top_k.

The order is total: None is the least key, NaN the greatest number, and rows with equal keys are ordered by their text.
A group keeps all its rows, and remembers its first k. It is searched again only when one of these is retracted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from heapq import nsmallest
from typing import Any, NamedTuple, TypeAlias

from flo.core.data import canonical_text
from flo.core.errors import CheckpointError, ElementError
from flo.core.facts import PrimaryKey
from flo.core.operator import Bound, Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamTypes
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.core.untyped import Element, ElementFunction, TypeForm, Unit
from flo.values.canonical import instant_element
from flo.values.operators.shapes import ElementKind
from flo.values.operators.zsets import PerGroup, group_units, make_delta
from flo.values.row_functions import selected_columns
from flo.values.weighted import Weights


class Nan:
    """NaN in a total order: equal to itself, and greater than anything that compares with a number."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nan)

    def __hash__(self) -> int:
        return hash(Nan)

    def __lt__(self, other: Any) -> bool:
        if self != other and not isinstance(other, Null):
            _ = float(0) < other  # raises TypeError if no number compares with it
        return False

    def __gt__(self, other: object) -> bool:
        return self != other and not self < other


NAN = Nan()


class Null:
    """None in a total order: equal to itself, and less than anything else."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Null)

    def __hash__(self) -> int:
        return hash(Null)

    def __lt__(self, other: object) -> bool:
        return not isinstance(other, Null)

    def __gt__(self, other: object) -> bool:
        return False


NULL = Null()


def comparable(key: object) -> tuple[Element]:
    """Wrap a key for a total order: None is the least value, NaN the greatest number, and zoned times are instants.

    Parts of tuples and named tuples are wrapped too; those of other rows Python compares itself. The result is a tuple,
    so that equal keys need no order.
    """
    return (_ordered(key),)


def _ordered(key: Element) -> Any:
    if key is None:
        return NULL
    if key != key:
        return NAN
    kind: TypeForm = type(key)
    return tuple(map(_ordered, key)) if is_plain_tuple(kind) else instant_element(key)


@cache
def is_plain_tuple(kind: Any) -> bool:
    """Return whether values of a class compare as tuples do, part by part."""
    return issubclass(kind, tuple) and (kind.__lt__, kind.__eq__) == (tuple.__lt__, tuple.__eq__)


def tie_text(element: object, operator: str) -> str:
    """Return the text that orders elements with equal keys."""
    try:
        return canonical_text(element)
    except CheckpointError:
        raise ElementError(
            f"`{operator}` orders elements with equal keys by their content, "
            f"which is unknown for a {type(element).__name__}",
            facts=(("given", repr(element)[:120]),),
            instead=(
                ("a unique key", "then there are no ties"),
                ("a dataclass, NamedTuple, Enum or built-in type", "its content is known"),
            ),
        ) from None


Directions: TypeAlias = bool | tuple[bool, ...]
"""Whether the order is descending; a tuple has one flag per column of the key."""


class Rank:
    """The position of a row in an order: by key, then by its text. No two different rows have the same position."""

    __slots__ = ("descending", "key", "operator", "row")

    def __init__(self, row: Element, key: Element, descending: Directions, operator: str) -> None:
        self.row, self.key, self.descending, self.operator = row, key, descending, operator

    def __lt__(self, other: Rank) -> bool:
        if self.key == other.key:
            return self.row != other.row and tie_text(self.row, self.operator) < tie_text(other.row, self.operator)
        if isinstance(self.descending, bool):
            return bool(other.key < self.key if self.descending else self.key < other.key)
        parts = zip(self.key, other.key, self.descending, strict=True)
        return next(bool(b < a if down else a < b) for a, b, down in parts if a != b)


class RankOrder(NamedTuple):
    """An order by key(row), or by the row itself; the greatest first if descending."""

    key: ElementFunction | None
    descending: Directions
    operator: str
    ties: int | None = None
    """Rows that are equal in so many parts of the key count as one place; None if every row has a place of its own."""

    def rank(self, row: object) -> Rank:
        key = row if self.key is None else self.key(row)
        if isinstance(self.descending, bool):
            return Rank(row, comparable(key), self.descending, self.operator)
        columns, count = tuple(key) if isinstance(key, tuple) else (key,), len(self.descending)
        if len(columns) != count:
            raise TypeError(f"the key must have {count} columns, one per direction in `descending`; got {key!r}")
        return Rank(row, tuple(map(comparable, columns)), self.descending, self.operator)

    def first(self, count: int, ranks: Iterable[Rank], rows: Weights) -> Iterable[tuple[Element, int]]:
        """Yield the first rows with their multiplicities: `count` in total, and those tied with the last of them."""
        last: Any = None
        for rank in ranks:
            tied = self.ties is not None and last is not None and last == rank.key[: self.ties]
            if count <= 0 and not tied:
                return
            weight = rows[rank.row]
            yield rank.row, weight if self.ties is not None else min(weight, count)
            count, last = count - weight, rank.key[: self.ties]


@dataclass(frozen=True, slots=True)
class Ranking(Lowerable):
    """The rows of a group with their weights, and the first k present ones with their multiplicities."""

    rows: Weights = PersistentMap()  # noqa: RUF009
    top: tuple[tuple[Element, int], ...] = ()

    def changed(self, units: list[tuple[Unit, int]], count: int, order: RankOrder) -> Ranking:
        """Return the ranking with these rows and weights added.

        Rows that are neither at the top nor among the units come after the last row of a full top. They are only
        searched if the rows known to come before them no longer fill the top.
        """
        rows = self.rows.added(dict(units))
        known = dict.fromkeys([row for row, _ in self.top] + [row for row, _ in units])
        ranks = sorted(order.rank(row) for row in known if rows.get(row, 0) > 0)
        if sum(times for _, times in self.top) >= count > 0:
            last = order.rank(self.top[-1][0])
            if sum(rows[rank.row] for rank in ranks if not last < rank) < count:
                every = [order.rank(row) for row, weight in rows.to_dict().items() if weight > 0]
                ranks = nsmallest(count, every) if order.ties is None else sorted(every)
        return Ranking(rows, tuple(order.first(count, ranks, rows)))

    def lower(self, lower: Lowering) -> Term:
        return Call("ranking", (lower(self.rows), lower(self.top)))


register("ranking", Ranking)

NO_RANKING = Ranking()


@dataclass(frozen=True)
class TopK(PerGroup):
    """top_k(k, key, by, descending, ties, groups): (ZSet<T>, X) ↪ (ZSet<T>, X), the first k rows of each group.

    A row with weight n counts n times; rows without a positive weight do not count. Rows with equal keys are ordered by
    their text, in both directions; None is the least key, NaN the greatest number. A tuple `descending` has a direction
    for each column of the key. Without `by` there is one group; without `key` the rows themselves are compared. With
    `ties`, rows that are equal to the k-th in so many columns of the key follow it.
    """

    count: int
    key: ElementFunction | None = None
    by: ElementFunction | None = None
    descending: Directions = False
    ties: int | None = None
    groups: PersistentMap[Element, Ranking] = PersistentMap()  # noqa: RUF009

    name = "top_k"
    keeps = Bound.ROWS

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        chosen = selected_columns(self.by) if self.count == 1 and self.ties is None else None
        return keys[0] if chosen is None else chosen

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        order, rankings, rows = RankOrder(self.key, self.descending, self.name, self.ties), {}, []
        for group, members in group_units(self.by, units).items():
            before = self.groups.get(group, NO_RANKING)
            rankings[group] = after = before.changed(members, self.count, order)
            rows += [(row, -times) for row, times in before.top] + list(after.top)
        groups = self.groups.updated(rankings, drop=NO_RANKING)
        return replace(self, groups=groups), make_delta(rows)

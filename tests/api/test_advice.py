"""What errors advise is tried: a verb that an error names accepts the stream that the error is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import flo


class Row(NamedTuple):
    key: str
    at: int


COLLECTIONS: dict[str, Any] = {
    "sequence": flo.Sequence[Row],
    "bag": flo.Bag[Row],
    "set": flo.Set[Row],
    "z-set": flo.ZSet[Row],
    "keyed": flo.Keyed[str, flo.Sequence[Row]],
    "keyed bags": flo.Keyed[str, flo.Bag[Row]],
    "nested": flo.Nested[flo.Sequence[Row]],
    "lvar": flo.LVar[flo.Max(int)],  # type: ignore[misc]
}
VERBS: dict[str, Callable[[Any], Any]] = {
    "tumbling": lambda s: s.tumbling(10, lambda row: row.at),
    "sliding": lambda s: s.sliding(10, 5, lambda row: row.at),
    "session": lambda s: s.session(10, "at"),
    "clock": lambda s: s.clock("at"),
    "window": lambda s: s.window(10),
    "scan": lambda s: s.scan(0, lambda total, row: total + row.at),
    "fold": lambda s: s.fold(0, lambda total, row: total + row.at),
    "enumerate": lambda s: s.enumerate(),
    "take": lambda s: s.take(3),
    "first": lambda s: s.first(),
    "last": lambda s: s.last(),
    "batch": lambda s: s.batch(3),
    "zip": lambda s: s.zip(s),
    "merge": lambda s: s.merge(s, "at"),
    "sort": lambda s: s.sort("at"),
    "group_by": lambda s: s.group_by("key").agg(n=flo.count()),
    "over": lambda s: s.over(order_by="at").with_columns(n=flo.row_number()),
    "top": lambda s: s.top(3, order_by="at"),
    "limit": lambda s: s.limit(3, order_by="at"),
    "distinct": lambda s: s.distinct(),
    "nest": lambda s: s.nest(lambda inner: inner),
    "per_key": lambda s: s.per_key(lambda rows: rows),
    "tumble": lambda s: s.tumble(10, "at"),
    "hop": lambda s: s.hop(10, 5, "at"),
    "join_asof": lambda s: s.join_asof(s, on="at"),
}
TRIED: dict[str, Callable[[Any], Any]] = {
    **{name: VERBS[name] for name in ("tumbling", "sliding", "scan", "group_by", "over", "tumble", "hop", "top")},
    "sort": VERBS["sort"],
    "batch": VERBS["batch"],
    "to_zset": lambda s: s.to_zset(),
    "to_bag": lambda s: s.to_bag(),
    "to_set": lambda s: s.to_set(),
    "key_by": lambda s: s.key_by("key"),
    "per_key": lambda s: s.per_key(lambda rows: rows),
    "nest": lambda s: s.nest(lambda inner: inner),
    "map": lambda s: s.map(lambda row: (row, row.at)),
    "filter": lambda s: s.filter(lambda row: True),
    "limit": VERBS["limit"],
    "fold_lattice": lambda s: s.fold_lattice(flo.Max(int), lambda row: row.at),
    "clock": VERBS["clock"],
    "agg": lambda s: s.agg(n=flo.count()),
}
"""How the first verb that an error advises is called."""


@pytest.mark.every(check=5)
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize("verb", VERBS)
def test_advice_is_accepted(verb: str, collection: str, bounded: bool) -> None:
    stream = flo.Flow("advice").input("rows", COLLECTIONS[collection], bounded=bounded)
    try:
        VERBS[verb](stream)
    except (flo.CollectionError, flo.BoundednessError) as error:
        for code, _ in error.instead:
            named = re.match(r"\{input\}\.(\w+)\(", code)
            if named is not None and named[1] != verb:
                TRIED[named[1]](stream)
    except flo.FloError:
        pass  # about something else than the collection

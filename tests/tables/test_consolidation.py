"""Deltas between operators have the size of the net change, however many joins they have come through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import flo
from flo.core.operator import Delta
from flo.tables.operator import OnTables
from tests.spark.simulated import Simulated

pytestmark = pytest.mark.every(check=5)

KEYS, TURNS = 20, 5


class Sale(NamedTuple):
    k: int
    v: int


class Total(NamedTuple):
    k: int
    v: int


def key(row: Any) -> int:
    return int(row[0])


def total(one: Any, other: Any) -> Total:
    return Total(one[0], one[1] + (0 if other is None else other[1]))


def as_total(row: tuple[int, int]) -> Total:
    return Total(*row)


def same(row: Total) -> Total:
    return row


def value(row: Any) -> int:
    return int(row[1])


def second(entry: tuple[int, Total]) -> Total:
    return entry[1]


def split(row: Total) -> list[Total]:
    return [row, Total(row.k, 0)]


def sums(sales: Any) -> Any:
    return sales.group_by(key=key).agg(sum=flo.sum(value)).map(as_total)


CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "join": lambda chain, sales: chain.join(sums(sales), key, key, total),
    "left join": lambda chain, sales: chain.join(sums(sales), key, key, total, how="left"),
    "full join": lambda chain, sales: chain.join(sums(sales), key, key, total, how="full"),
    "join, sum": lambda chain, sales: sums(chain.join(sums(sales), key, key, total)),
    "join, map, filter": lambda chain, sales: chain.map(same).filter(bool).join(sums(sales), key, key, total),
    "semi join, distinct": lambda chain, sales: chain.join(sums(sales), key, key, how="semi").distinct(),
    "join with itself": lambda chain, sales: chain.join(chain, key, key, total),
    "plus itself": lambda chain, sales: chain.union(chain),
    "plus and minus": lambda chain, sales: chain.union(chain).minus(chain),
    "flat map, sum": lambda chain, sales: sums(chain.flat_map(split)),
    "join by key": lambda chain, sales: (
        chain.key_by(key).join(sums(sales).key_by(key), into=total).entries().map(second)
    ),
}


def program(chain: str, length: int) -> flo.Flow:
    flow = flo.Flow("chain")
    sales = flow.input("sales", flo.ZSet[Sale])
    stream = sums(sales)
    for _ in range(length):
        stream = CHAINS[chain](stream, sales)
    flow.output("out", stream)
    return flow


def turn(number: int) -> dict[Sale, int]:
    """New sales of every key; from the second turn on each takes one back."""
    new = {Sale(k, number + 1): 1 for k in range(KEYS)}
    return new | ({Sale(k, number - 1): -1 for k in range(KEYS)} if number > 1 else {})


def emitted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects how many rows each delta has."""
    sizes: list[int] = []
    emit = OnTables.emitted

    def noted(self: OnTables, *given: Any) -> Delta:
        delta = emit(self, *given)
        sizes.append(0 if delta is None else delta.table.num_rows)  # type: ignore[attr-defined]
        return delta

    monkeypatch.setattr(OnTables, "emitted", noted)
    return sizes


@pytest.mark.parametrize("chain", CHAINS)
def test_rows_between_operators_are_as_many_as_changed(chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = emitted(monkeypatch)
    rows = []
    for length in (2, 6):
        sizes.clear()
        loop = program(chain, length).on(flo.here).loop(negative="allow")
        for number in range(TURNS):
            loop.push(sales=turn(number))
        rows.append(sum(sizes))
        assert max(sizes) <= 4 * KEYS, "two rows of a key are taken back, and two come"
    assert rows[1] <= 3 * rows[0], "three times the joins"


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("length", [1, 4])
def test_the_results_are_those_of_values(chain: str, length: int) -> None:
    flow = program(chain, length)
    tables, values = flow.on(flo.here).loop(negative="allow"), flow.loop(negative="allow")
    found: dict[Any, int] = {}
    expected: dict[Any, int] = {}
    for number in range(TURNS):
        tables.push(sales=turn(number))
        values.push(sales=turn(number))
        values.run()
        for row in tables.pull("out").to_pylist():
            weight = row.pop("_weight")
            element = tuple(row.values())
            found[element] = found.get(element, 0) + weight
        for element, weight in values.pull("out").items():
            expected[tuple(element)] = expected.get(tuple(element), 0) + weight
        assert {e: w for e, w in found.items() if w} == {e: w for e, w in expected.items() if w}, number


def test_a_join_pairs_net_changes() -> None:
    """Rows that are taken back in the same delta meet nobody."""
    flow = flo.Flow("net")
    left, right = flow.input("left", flo.ZSet[Sale]), flow.input("right", flo.ZSet[Sale])
    met: list[Any] = []

    def noted(one: Sale, other: Sale) -> int:
        met.append((one, other))
        return one.v + other.v

    flow.output("out", left.map(without_value).join(right, key, key, noted))
    loop = flow.on(flo.here).loop()
    loop.push(right={Sale(1, n): 1 for n in range(10)})
    loop.push(left={Sale(1, 1): 1, Sale(1, 2): -1})
    assert loop.pull("out").num_rows == 0
    assert met == []


def without_value(sale: Sale) -> Sale:
    return Sale(sale.k, 0)


def test_what_is_shuffled_is_consolidated(tmp_path: Any) -> None:
    """A stage gives net changes, whatever stands behind its last join."""
    flow = flo.Flow("stages")
    sales = flow.input("sales", flo.ZSet[Sale])
    joined = sums(sales).join(sums(sales), key, key, total)
    flow.output("keys", joined.map(key))
    flow.output("sums", joined.group_by("v").agg(sum=flo.sum("k")))
    query = Simulated(flow, tmp_path, shards=2)
    added: dict[Sale, int] = {}
    for number in range(TURNS):
        query.turn({"sales": turn(number)})
        assert query.outcome.rows["keys"] == (KEYS if number == 0 else 0), "the same keys"
        for sale, weight in turn(number).items():
            added[sale] = added.get(sale, 0) + weight
    assert query.values() == dict(flow.run(sales={sale: w for sale, w in added.items() if w}))

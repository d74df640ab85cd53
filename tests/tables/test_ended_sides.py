"""A join keeps of its open side only what an ended side can still need, and gives the same results."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from flo.core.persistent import PersistentMap
from flo.tables.operators.joins import FilteringTables, JoinTables, OuterTables, SetJoinTables
from flo.tables.operators.keyed import KeyedJoinTables
from flo.tables.operators.sets import IntersectionTables
from flo.tables.operators.weights import Partners
from flo.tables.plan import plan, state_size
from flo.tables.state.trace import Trace
from tests.quick import times


class Order(NamedTuple):
    user: int
    price: int


class User(NamedTuple):
    id: int
    age: int


def buyer(order: Order) -> int:
    return order.user


def identity(user: User) -> int:
    return user.id


def both(order: Order, user: User) -> tuple[int, int, int]:
    return order.user, order.price, user.age


@dataclass(frozen=True)
class Joined:
    """A join of orders with users, and what it keeps when one side has ended: of (orders, users), how many rows."""

    name: str
    of: Any
    build: Callable[[Any, Any], Any]
    users_ended: Callable[[Any, Any], int]
    orders_ended: Callable[[Any, Any], int]
    other: Any = User


def all_users(orders: Any, users: Any) -> int:
    return len(users)


def all_orders(orders: Any, users: Any) -> int:
    return len(orders)


def ids(users: Any) -> set[int]:
    return {user.id for user in users}


def buyers(orders: Any) -> set[int]:
    return {order.user for order in orders}


def known(orders: Any, users: Any) -> list[Any]:
    """The users that have an order."""
    return [user for user in users if user.id in buyers(orders)]


def partners(rows: Any, key: Callable[[Any], int]) -> int:
    """The rows whose weights are kept, and their keys."""
    return len(rows) + len(set(map(key, rows)))


JOINS = [
    Joined("join", flo.ZSet, lambda a, b: a.join(b, buyer, identity, both), all_users, all_orders),
    Joined(
        "semi_join",
        flo.ZSet,
        lambda a, b: a.join(b, buyer, identity, how="semi"),
        lambda orders, users: len(ids(users)),
        lambda orders, users: len(orders) + partners(known(orders, users), identity),
    ),
    Joined(
        "anti_join",
        flo.ZSet,
        lambda a, b: a.join(b, buyer, identity, how="anti"),
        lambda orders, users: len(ids(users)),
        lambda orders, users: len(orders) + partners(known(orders, users), identity),
    ),
    Joined(
        "left_join",
        flo.ZSet,
        lambda a, b: a.join(b, buyer, identity, how="left"),
        lambda orders, users: partners(users, identity),
        lambda orders, users: len(orders) + partners(known(orders, users), identity),
    ),
    Joined(
        "right_join",
        flo.ZSet,
        lambda a, b: a.join(b, buyer, identity, how="right"),
        lambda orders, users: len(users) + partners([o for o in orders if o.user in ids(users)], buyer),
        lambda orders, users: partners(orders, buyer),
    ),
    Joined(
        "full_join",
        flo.ZSet,
        lambda a, b: a.join(b, buyer, identity, how="full"),
        lambda orders, users: partners(users, identity) + partners([o for o in orders if o.user in ids(users)], buyer),
        lambda orders, users: partners(orders, buyer) + partners(known(orders, users), identity),
    ),
    Joined("join of bags", flo.Bag, lambda a, b: a.join(b, buyer, identity, both), all_users, all_orders),
    Joined("join of sets", flo.Set, lambda a, b: a.join(b, buyer, identity, both), all_users, all_orders),
    Joined("intersection", flo.Set, lambda a, b: a.intersection(b), all_users, all_orders, Order),
    Joined(
        "join of keyed streams",
        flo.ZSet,
        lambda a, b: a.key_by(buyer).join(b.key_by(identity), into=both).entries(),
        all_users,
        all_orders,
    ),
]
EACH = pytest.mark.parametrize("join", JOINS, ids=lambda join: join.name)
ON = pytest.mark.parametrize("tables", [False, True], ids=["values", "tables"])


def program(join: Joined) -> flo.Flow:
    flow = flo.Flow("ended")
    orders = flow.input("orders", join.of[Order], bounded=True)
    users = flow.input("users", join.of[join.other], bounded=True)
    flow.output("out", join.build(orders, users))
    return flow


def drawn(join: Joined, kind: Any, rng: random.Random) -> Any:
    rows = [kind(rng.randrange(5), rng.randrange(3)) for _ in range(rng.randrange(5))]
    if join.of is flo.ZSet:
        return {row: rng.choice([1, 1, 2, -1]) for row in rows}
    return set(rows) if join.of is flo.Set else rows


def added(join: Joined, parts: list[Any]) -> Any:
    if join.of is flo.Set:
        return set().union(*parts)
    if join.of is flo.Bag:
        return [row for part in parts for row in part]
    total: dict[Any, int] = {}
    for part in parts:
        for row, weight in part.items():
            total[row] = total.get(row, 0) + weight
    return {row: weight for row, weight in total.items() if weight}


def started(join: Joined, tables: bool) -> Any:
    return program(join).on(flo.here).loop(negative="allow") if tables else program(join).loop(negative="allow")


def taken(loop: Any, name: str, data: Any) -> None:
    """Data, or the end."""
    if data is None:
        loop.end(name)
    else:
        loop.push(**{name: data})
    loop.run()


def plain(item: Any) -> Any:
    if isinstance(item, dict):
        return tuple(plain(value) for value in item.values())
    return tuple(map(plain, item)) if isinstance(item, tuple) else item


def pulled(loop: Any) -> list[tuple[Any, int]]:
    found = loop.pull("out")
    if hasattr(found, "to_pylist"):
        rows = found.to_pylist()
        return [(plain({n: v for n, v in row.items() if n != "_weight"}), row.get("_weight", 1)) for row in rows]
    if isinstance(found, (set, frozenset)):
        return [(plain(row), 1) for row in found]
    return [(plain(row), weight) for row, weight in found.items()]


def summed(join: Joined, units: list[tuple[Any, int]]) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for row, weight in units:
        total[row] = 1 if join.of is flo.Set else total.get(row, 0) + weight
    return {row: weight for row, weight in total.items() if weight}


def expected(join: Joined, orders: Any, users: Any) -> dict[Any, int]:
    loop = started(join, tables=False)
    loop.push(orders=orders, users=users)
    loop.run()
    return summed(join, pulled(loop))


@ON
@EACH
def test_the_same_results_whenever_a_side_ends(join: Joined, tables: bool) -> None:
    """The side that ends first has come after so many deltas of the other; some of these are empty."""
    for seed in range(times(12)):
        rng = random.Random(seed)
        parts = {"orders": [drawn(join, Order, rng) for _ in range(4)]}
        parts["users"] = [drawn(join, join.other, rng) for _ in range(4)]
        early, late = rng.sample(["orders", "users"], 2)
        if rng.random() < 0.2:
            parts[early] = []
        cut = rng.randrange(5)
        arriving = [(late, data) for data in parts[late]]
        first = [(early, data) for data in parts[early]]
        events = [*arriving[:cut], *first, (early, None), *arriving[cut:], (late, None)]
        loop, units = started(join, tables), list[tuple[Any, int]]()
        for name, data in events:
            taken(loop, name, data)
            units += pulled(loop)
        orders, users = (added(join, parts[name]) for name in ("orders", "users"))
        assert summed(join, units) == expected(join, orders, users), (seed, events)
        assert kept(loop) == 0, "both have ended"


def nodes_of(loop: Any) -> Any:
    return getattr(loop, "_loop", loop).nodes


def kept(loop: Any) -> int:
    """The rows that operators hold."""
    return sum(_rows(getattr(node.operator, each.name)) for node in nodes_of(loop) for each in _state(node))


def _state(node: Any) -> Any:
    return [each for each in fields(node.operator) if each.compare]


def _rows(part: Any) -> int:
    match part:
        case Trace():
            return part.consolidate().rows
        case Partners():
            return part.rows.consolidate().rows + part.keys.consolidate().rows
        case PersistentMap():
            return sum(_rows(inner) if isinstance(inner, PersistentMap) else 1 for inner in part.values())
        case _:
            return 0


ORDERS = [Order(user, price) for user in range(30) for price in range(3)]
USERS = [User(number, 20) for number in range(20, 40)]
OTHERS = [Order(user, price) for user in range(25, 40) for price in (0, 1)]


def of(join: Joined, rows: list[Any]) -> Any:
    return dict.fromkeys(rows, 1) if join.of is flo.ZSet else rows


@pytest.mark.parametrize("early", ["orders", "users"])
@pytest.mark.parametrize("when", ["first", "between", "last"])
@EACH
def test_what_is_kept_on_tables(join: Joined, early: str, when: str) -> None:
    users = OTHERS if join.other is Order else USERS
    rows = {"orders": ORDERS, "users": users}
    late = "users" if early == "orders" else "orders"
    before = {"first": 0, "between": len(rows[late]) // 2, "last": len(rows[late])}[when]
    loop = started(join, tables=True)
    taken(loop, late, of(join, rows[late][:before]))
    taken(loop, early, of(join, rows[early]))
    taken(loop, early, None)
    taken(loop, late, of(join, rows[late][before:]))
    size = (join.users_ended if early == "users" else join.orders_ended)(ORDERS, users)
    assert kept(loop) == size
    assert state_size(nodes_of(loop))[0] >= size
    if when == "first":
        assert loop.state[0] == size


@pytest.mark.parametrize("kind", ["join", "left_join", "semi_join", "anti_join"])
def test_a_bounded_table_alone_is_kept_on_values(kind: str) -> None:
    (join,) = [each for each in JOINS if each.name == kind]
    loop = started(join, tables=False)
    taken(loop, "orders", dict.fromkeys(ORDERS[:40], 1))
    taken(loop, "users", dict.fromkeys(USERS, 1))
    taken(loop, "users", None)
    taken(loop, "orders", dict.fromkeys(ORDERS[40:], 1))
    (operator,) = [node.operator for node in nodes_of(loop) if hasattr(node.operator, "right")]
    assert not operator.left
    assert set(operator.right) == ids(USERS)


def test_a_retraction_of_a_row_that_was_not_kept() -> None:
    loop = started(JOINS[0], tables=True)
    taken(loop, "users", {User(1, 30): 1})
    taken(loop, "users", None)
    taken(loop, "orders", {Order(1, 5): 1, Order(2, 6): 1})
    taken(loop, "orders", {Order(1, 5): -1, Order(2, 6): -1})
    assert loop.pull("out").num_rows == 0


@EACH
def test_a_checkpoint_from_before_the_end(join: Joined, tmp_path: Path) -> None:
    users = OTHERS if join.other is Order else USERS
    loop = started(join, tables=True)
    taken(loop, "users", of(join, users))
    taken(loop, "orders", of(join, ORDERS[:40]))
    units = pulled(loop)
    loop.checkpoint(tmp_path)
    for _ in range(2):  # and from behind it
        loop = started(join, tables=True)
        loop.restore(tmp_path)
        taken(loop, "users", None)
        loop.checkpoint(tmp_path)
    taken(loop, "orders", of(join, ORDERS[40:]))
    units += pulled(loop)
    assert kept(loop) == join.users_ended(ORDERS, users)
    assert summed(join, units) == expected(join, of(join, ORDERS), of(join, users))


def test_states_from_before_have_their_fields_in_the_same_places() -> None:
    """A field that is new comes last. It is not written while it has its default value."""
    for kind in (JoinTables, SetJoinTables, FilteringTables, OuterTables, IntersectionTables, KeyedJoinTables):
        names = [each.name for each in fields(kind) if each.compare]
        assert names[:3] == ["like", "left", "right"]
        assert names[-1] == "ended_side"


def test_explain_names_what_is_still_kept() -> None:
    loop = started(JOINS[0], tables=True)
    taken(loop, "users", dict.fromkeys(USERS, 1))
    taken(loop, "orders", dict.fromkeys(ORDERS, 1))
    assert [each.keeps for each in plan(nodes_of(loop))] == [("left: a trace of 90 rows", "right: a trace of 20 rows")]
    taken(loop, "users", None)
    assert [each.keeps for each in plan(nodes_of(loop))] == [("right: a trace of 20 rows",)]

"""Joins of z-sets on every engine, with rows that are retracted on both sides."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("join verbs", sample=("semi_and_anti_join", "full_join"))


class Order(NamedTuple):
    customer: str
    price: int


class Customer(NamedTuple):
    name: str
    city: str | None


TEA, CAKE, NUTS = Order("ann", 2), Order("ann", 4), Order("bob", 3)
ANN, MOVED, BOB, CLEO = Customer("ann", "Oslo"), Customer("ann", None), Customer("bob", "Rome"), Customer("cleo", None)
ORDERS = ({TEA: 1, NUTS: 2}, {CAKE: 1}, {NUTS: -1})
CUSTOMERS = ({ANN: 1}, {MOVED: 1, ANN: -1, CLEO: 1}, {BOB: 1, MOVED: -1})


def describe(order: Order | None, customer: Customer | None) -> str:
    return f"{order.price if order else 'nothing'} {customer.name if customer else 'nobody'}"


def both_sides(p: Program) -> tuple[flo.Stream, flo.Stream]:
    return p.input(flo.ZSet[Order], *ORDERS), p.input(flo.ZSet[Customer], *CUSTOMERS)


@FAMILY.program
def join_of_whole_rows(p: Program) -> None:
    """Weights are multiplied."""
    one, other = p.input(flo.ZSet[int], {1: 2, 2: 1}, {3: 1}, {1: -1}), p.input(flo.ZSet[int], {1: 3}, {2: -1}, {2: 1})
    p.expect(one.join(other), {1: 6}, {1: 6, 2: -1}, {1: 3})


@FAMILY.program
def join_into_columns(p: Program) -> None:
    orders, customers = both_sides(p)
    cities = orders.join(customers, "customer", "name", {"city": "city", "price": nw.col("price") * 10})
    p.expect(cities.map(("city", "price")), {("Oslo", 20): 1}, {(None, 20): 1, (None, 40): 1}, {("Rome", 30): 1})
    p.expect(
        orders.join(orders, "customer", into=("price", "price_right")).filter(lambda pair: pair[0] != pair[1]),
        {},
        {(2, 4): 1, (4, 2): 1},
        {(2, 4): 1, (4, 2): 1},
    )


@FAMILY.program
def join_by_functions(p: Program) -> None:
    orders, customers = both_sides(p)
    cities = orders.join(
        customers,
        lambda order: order.customer,
        lambda customer: customer.name,
        lambda order, customer: (customer.city, order.price),
    )
    p.expect(cities, {("Oslo", 2): 1}, {(None, 2): 1, (None, 4): 1}, {("Rome", 3): 1})


@FAMILY.program
def join_with_itself(p: Program) -> None:
    orders = p.input(flo.ZSet[Order], *ORDERS)
    prices = orders.join(orders, "customer", "customer", lambda one, other: (one.price, other.price))
    each = {(2, 2): 1, (2, 4): 1, (4, 2): 1, (4, 4): 1}
    p.expect(prices, {(2, 2): 1, (3, 3): 4}, each | {(3, 3): 4}, each | {(3, 3): 1})


@FAMILY.program
def semi_and_anti_join(p: Program) -> None:
    """The weight of a row does not depend on how many partners it has."""
    orders, customers = both_sides(p)
    p.expect(orders.join(customers, "customer", "name", how="semi"), {TEA: 1}, {TEA: 1, CAKE: 1}, {NUTS: 1})
    p.expect(orders.join(customers, "customer", "name", how="anti"), {NUTS: 2}, {NUTS: 2}, {TEA: 1, CAKE: 1})
    p.expect(
        customers.join(orders, lambda customer: customer.name, lambda order: order.customer, how="anti"),
        {},
        {CLEO: 1},
        {CLEO: 1},
    )


@FAMILY.program
def left_join(p: Program) -> None:
    orders, customers = both_sides(p)
    p.expect(
        orders.join(customers, lambda order: order.customer, lambda customer: customer.name, how="left"),
        {(TEA, ANN): 1, (NUTS, None): 2},
        {(TEA, MOVED): 1, (CAKE, MOVED): 1, (NUTS, None): 2},
        {(TEA, None): 1, (CAKE, None): 1, (NUTS, BOB): 1},
    )
    cities = orders.join(
        customers,
        lambda order: order.customer,
        lambda customer: customer.name,
        lambda order, customer: (order.price, "nowhere" if customer is None else customer.city),
        how="left",
    )
    p.expect(
        cities,
        {(2, "Oslo"): 1, (3, "nowhere"): 2},
        {(2, None): 1, (4, None): 1, (3, "nowhere"): 2},
        {(2, "nowhere"): 1, (4, "nowhere"): 1, (3, "Rome"): 1},
    )


@FAMILY.program
def right_join(p: Program) -> None:
    orders, customers = both_sides(p)
    pairs = orders.join(customers, lambda order: order.customer, lambda customer: customer.name, how="right")
    p.expect(
        pairs,
        {(TEA, ANN): 1},
        {(TEA, MOVED): 1, (CAKE, MOVED): 1, (None, CLEO): 1},
        {(NUTS, BOB): 1, (None, CLEO): 1},
    )
    p.expect(
        orders.join(customers, ["customer"], ["name"], ("price", "name"), how="right"),
        {(2, "ann"): 1},
        {(2, "ann"): 1, (4, "ann"): 1, (None, "cleo"): 1},
        {(3, "bob"): 1, (None, "cleo"): 1},
    )
    p.expect(
        orders.join(customers, "customer", lambda customer: customer.name, describe, how="right"),
        {"2 ann": 1},
        {"2 ann": 1, "4 ann": 1, "nothing cleo": 1},
        {"3 bob": 1, "nothing cleo": 1},
    )


@FAMILY.program
def full_join(p: Program) -> None:
    orders, customers = both_sides(p)
    p.expect(
        orders.join(customers, lambda order: order.customer, lambda customer: customer.name, how="full"),
        {(TEA, ANN): 1, (NUTS, None): 2},
        {(TEA, MOVED): 1, (CAKE, MOVED): 1, (NUTS, None): 2, (None, CLEO): 1},
        {(TEA, None): 1, (CAKE, None): 1, (NUTS, BOB): 1, (None, CLEO): 1},
    )
    p.expect(
        orders.join(customers, "customer", "name", ("price", "city"), how="full"),
        {(2, "Oslo"): 1, (3, None): 2},
        {(2, None): 1, (4, None): 1, (3, None): 2, (None, None): 1},
        {(2, None): 1, (4, None): 1, (3, "Rome"): 1, (None, None): 1},
    )


@FAMILY.program
def full_join_into_by_a_function(p: Program) -> None:
    orders, customers = both_sides(p)
    p.expect(
        orders.join(customers, "customer", "name", describe, how="full"),
        {"2 ann": 1, "3 nobody": 2},
        {"2 ann": 1, "4 ann": 1, "3 nobody": 2, "nothing cleo": 1},
        {"2 nobody": 1, "4 nobody": 1, "3 bob": 1, "nothing cleo": 1},
    )


@FAMILY.on_every_engine
def test_join_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)

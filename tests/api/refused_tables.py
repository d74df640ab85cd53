"""Wrong programs with tables that have a key, lists in columns, and nearest rows. Texts are in tests/golden."""

from __future__ import annotations

# mypy: ignore-errors
# pyright: basic, reportAttributeAccessIssue=false
from dataclasses import dataclass

import flo
from tests.api.refused_programs import Bid


@dataclass(frozen=True)
class Customer:
    id: int
    name: str
    at: int


def table_with_an_unknown_key():
    flow = flo.Flow("shop")
    flow.table("customers", Customer, key="number")


def table_with_a_key_column_named_twice():
    flow = flo.Flow("shop")
    flow.table("customers", Customer, key=["id", "id"])


def table_without_a_key():
    flow = flo.Flow("shop")
    flow.table("customers", Customer, key=[])


def table_of_numbers():
    flow = flo.Flow("shop")
    flow.table("customers", int, key="id")


def table_ordered_by_its_key():
    flow = flo.Flow("shop")
    flow.table("customers", Customer, key="id", order_by="id")


def table_row_with_a_null_key():
    flow = flo.Flow("shop")
    customers = flow.table("customers", Customer, key="id")
    flow.output("customers", customers)
    flow.run(customers=[Customer(1, "Ann", 1), Customer(None, "Bob", 2)])


def deletion_without_its_order():
    flow = flo.Flow("shop")
    customers = flow.table("customers", Customer, key="id", order_by="at")
    flow.output("customers", customers)
    flow.run(customers=[Customer(1, "Ann", 1), flo.delete(1)])


def deletion_of_another_key():
    flow = flo.Flow("shop")
    customers = flow.table("customers", Customer, key=["id", "name"])
    flow.output("customers", customers)
    flow.run(customers=[Customer(1, "Ann", 1), flo.delete(1)])


def explode_of_an_unknown_column():
    flow = flo.Flow("shop")
    customers = flow.input("customers", flo.ZSet[Customer])
    customers.explode("items")


def explode_of_a_column_without_items():
    flow = flo.Flow("shop")
    customers = flow.input("customers", flo.ZSet[Customer])
    customers.explode("name")


def join_asof_of_two_types():
    flow = flo.Flow("shop")
    customers = flow.input("customers", flo.ZSet[Customer])
    customers.join_asof(customers, on="at", other_on="name")


def join_asof_in_no_direction():
    flow = flo.Flow("shop")
    customers = flow.input("customers", flo.ZSet[Customer])
    customers.join_asof(customers, on="at", by="id", direction="nearest")


def join_asof_with_two_columns_of_one_name():
    flow = flo.Flow("shop")
    customers = flow.input("customers", flo.ZSet[Customer])
    customers.join_asof(customers, on="at", by="id", suffix="")


def join_asof_by_an_unknown_column():
    flow = flo.Flow("shop")
    customers = flow.input("customers", flo.ZSet[Customer])
    bids = flow.input("bids", flo.ZSet[Bid])
    customers.join_asof(bids, on="at", other_on="price", by="id")


def two_changes_of_a_key_without_an_order():
    """As the rows of a micro-batch come."""
    from flo.tables.operators.upserts import expect_once
    from flo.tables.values import rows_of

    flow = flo.Flow("shop")
    flow.table("customers", Customer, key=["id", "name"])
    (customers,) = flow._scope.inputs
    changes = customers.collection.value([Customer(2, "Bob", 1), Customer(1, "Ann", 1), flo.delete(1, "Ann")])
    expect_once(customers.collection, rows_of(customers.collection, changes).table)

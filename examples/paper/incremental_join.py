"""§6.3, DBSP: an incremental join. Rows arrive and are retracted, and so are the pairs made from them."""

from __future__ import annotations

import flo

Order = tuple[str, int]
Customer = tuple[str, str]


def orders_with_cities() -> flo.Flow:
    flow = flo.Flow("orders with cities")
    orders = flow.input("orders", flo.ZSet[Order])
    customers = flow.input("customers", flo.ZSet[Customer])
    joined = orders.join(customers, lambda o: o[0], lambda c: c[0], lambda o, c: (c[1], o[1]))
    flow.output("joined", joined)
    flow.output("revenue", joined.group_by(city=lambda row: row[0]).agg(revenue=flo.sum(lambda row: row[1])))
    return flow


def main() -> None:
    loop = orders_with_cities().loop()
    for change in (
        {"orders": {("ann", 5): 1, ("bob", 7): 1}},
        {"customers": {("ann", "Oslo"): 1, ("bob", "Rome"): 1}},
        {"customers": {("ann", "Oslo"): -1, ("ann", "Rome"): 1}},
        {"orders": {("bob", 7): -1}},
    ):
        loop.push(**change)
        loop.run()
        print(f"  {change}\n    pairs {loop.pull('joined')}\n    sums  {loop.pull('revenue')}")


if __name__ == "__main__":
    main()

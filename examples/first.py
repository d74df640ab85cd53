"""A first result, a first rejection and a first picture.

python -m examples.first
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import flo


class Order(NamedTuple):
    customer: str
    price: int
    second: int


def shop() -> flo.Flow:
    flow = flo.Flow("shop")
    orders = flow.input("orders", flo.Sequence[Order])  # it may never end

    minutes = orders.tumbling(60, time="second", lateness=5)  # an inner stream for each minute
    revenue = minutes.nest(lambda minute: minute.map("price").sum()).flatten()  # one sum for each

    flow.output("revenue", revenue)
    flow.output("record", revenue.fold_lattice(flo.Max(int)).event_when_above(100))
    flow.output("late", minutes.late)
    return flow


ORDERS = [
    Order("ann", 30, 3),
    Order("bob", 80, 20),
    Order("cleo", 10, 62),
    Order("ann", 5, 58),  # out of order, and in time
    Order("bob", 7, 130),
    Order("ann", 9, 50),  # too late: its minute is closed
]


def total(flow: flo.Flow) -> None:
    orders = flow.input("orders", flo.Sequence[Order])
    flow.output("total", orders.map("price").fold(0, lambda sum, price: sum + price))


def main(folder: Path) -> None:
    print("a result:")
    for name, value in shop().run(orders=ORDERS).items():
        print(f"  {name:8} {value}")

    print("\na rejection, of a program that would wait forever:")
    try:
        total(flo.Flow("total"))
    except flo.BoundednessError as error:
        print(error)

    shop().draw().save(folder / "first.svg")
    found = shop().explore(orders=ORDERS[::2])
    found.save(folder / "first.html")
    print(f"\ntwo pictures, to open in a browser:\n  first.svg   the program\n  first.html  {found}")


if __name__ == "__main__":
    main(Path())

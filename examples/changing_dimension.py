"""A slowly changing dimension under a running total: revenue by category, while products move between categories.

    python -m examples.changing_dimension

Two questions, two joins. "What is the revenue of each category as it is today?" corrects the past when a product moves.
"What was it at the time of each sale?" looks up the version that was valid then, and never changes again. Both totals
stay right, row by row, whatever comes first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flo


class Product(NamedTuple):
    product: str
    category: str


class Version(NamedTuple):
    product: str
    since: int
    category: str


class Sale(NamedTuple):
    product: str
    day: int
    price: int


def changing_dimension() -> flo.Flow:
    flow = flo.Flow("changing dimension")
    sales = flow.input("sales", flo.ZSet[Sale])
    products = flow.table("products", Product, key="product")
    versions = flow.input("versions", flo.ZSet[Version])
    as_today = sales.join(products, on="product")
    flow.output("today", as_today.group_by("category").agg(revenue=flo.sum("price")))
    as_then = sales.join_asof(versions, on="day", other_on="since", by="product")
    flow.output("then", as_then.group_by("category").agg(revenue=flo.sum("price")))
    return flow


def totals(result: Any) -> str:
    rows = {name: {row.category: row.revenue for row in result[name]} for name in ("today", "then")}
    categories = sorted(set(rows["today"]) | set(rows["then"]))
    lines = [f"  {'':9}{'as today':>10}{'as then':>10}"]
    lines += [f"  {each:9}{rows['today'].get(each, 0):>10}{rows['then'].get(each, 0):>10}" for each in categories]
    return "\n".join(lines)


CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "day 3: tea and cups are sold",
        {
            "products": [Product("tea", "food"), Product("cup", "kitchen")],
            "versions": [Version("tea", 0, "food"), Version("cup", 0, "kitchen")],
            "sales": [Sale("tea", 1, 5), Sale("cup", 2, 12), Sale("tea", 3, 5)],
        },
    ),
    (
        "day 4: tea becomes a gift",
        {"products": [Product("tea", "gifts")], "versions": [Version("tea", 4, "gifts")]},
    ),
    ("day 5: tea is sold again", {"sales": [Sale("tea", 5, 7)]}),
    ("day 6: the sale of day 2 is cancelled", {"sales": {Sale("cup", 2, 12): -1}}),
)


def main() -> None:
    flow = changing_dimension()
    flow.draw().save("changing_dimension.svg")
    loop = flow.loop()
    for what, changes in CHANGES:
        loop.push(**changes)
        loop.run()
        print(what)
        print(totals(loop.result()))
    print("the program as a picture: changing_dimension.svg")


if __name__ == "__main__":
    main()

"""A bill of materials: how many of each part does a product need, through all levels, and what does it cost?

    python -m examples.bill_of_materials

    bicycle ─┬─ 2 wheel ─┬─ 32 spoke
             │           └─ 1 rim
             └─ 1 frame ─── 4 bolt

A product needs what it uses, and of each part that it uses, as often, what that part needs. Quantities are multiplied
along a path and added up over all paths. When a design or a price changes, the products that have the part change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw

import flo


class Use(NamedTuple):
    product: str
    part: str
    count: int


class Price(NamedTuple):
    part: str
    cents: int


USES = [
    Use("bicycle", "wheel", 2),
    Use("bicycle", "frame", 1),
    Use("bicycle", "bolt", 6),
    Use("tandem", "wheel", 2),
    Use("tandem", "frame", 2),
    Use("wheel", "spoke", 32),
    Use("wheel", "rim", 1),
    Use("frame", "bolt", 4),
]
PRICES = [Price("spoke", 20), Price("rim", 1500), Price("bolt", 10)]
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("as designed", {"uses": USES, "prices": PRICES}),
    ("a wheel with fewer spokes", {"uses": {Use("wheel", "spoke", 32): -1, Use("wheel", "spoke", 24): 1}}),
    ("dearer bolts", {"prices": {Price("bolt", 10): -1, Price("bolt", 15): 1}}),
    ("a tandem with one frame", {"uses": {Use("tandem", "frame", 2): -1, Use("tandem", "frame", 1): 1}}),
)


def bill_of_materials() -> flo.Flow:
    flow = flo.Flow("bill of materials")
    uses = flow.input("uses", flo.ZSet[Use])
    prices = flow.input("prices", flo.ZSet[Price])

    def deeper(needs: Any, uses: Any) -> Any:
        below = needs.join(uses, on="part", other_on="product")
        below = below.select(product="product", part="part_right", count=nw.col("count") * nw.col("count_right"))
        return uses.union(below).group_by("product", "part").agg(count=flo.sum("count"))

    needs = uses.fixpoint(deeper, most_rounds=100)  # a part that contained itself would never end
    flow.output("needs", needs)
    priced = needs.join(prices, on="part").with_columns(cents=nw.col("count") * nw.col("cents"))
    flow.output("costs", priced.group_by("product").agg(cents=flo.sum("cents")))
    return flow


def main() -> None:
    flow = bill_of_materials()
    flow.draw().save("bill_of_materials.svg")
    loop = flow.on(flo.here).loop()
    for what, changes in CHANGES:
        loop.push(**changes)
        print(what)
        for output in ("needs", "costs"):
            rows = [tuple(row.values()) for row in loop.pull(output).to_pylist()]
            for *row, weight in sorted(rows, key=lambda row: (row[:-2], row[-1])):
                print(f"  {weight:+} {output}:", *row)
    print("the program as a picture: bill_of_materials.svg")


if __name__ == "__main__":
    main()

"""A smoke test of what needs no Spark, for `make versions`: it runs on the lowest versions of all dependencies.

`python -m tests.lowest` prints the versions and fails if one is not the lowest, or a result is wrong. It needs no test
package.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import narwhals as nw
import pyarrow as pa
from rich.console import Console

import flo
from flo.tools.diagnostics import Text
from flo.verify import check
from flo.verify.solver.prove import Proved, prove

LOWEST = Path(__file__).parent.parent / "constraints-lowest.txt"


class Sale(NamedTuple):
    shop: str
    price: int


def expect_lowest() -> dict[str, str]:
    """The versions, which must be the lowest."""
    pins = dict(line.split("==") for line in LOWEST.read_text().splitlines() if "==" in line)
    installed = {name: version(name) for name in pins}
    assert installed == pins, f"not the lowest versions: {installed}"
    return installed


def run_expressions() -> None:
    """Narwhals, Arrow and NumPy: expressions and aggregates on values and on tables."""
    flow = flo.Flow("totals")
    sales = flow.input("sales", flo.ZSet[Sale], bounded=True)
    dear = sales.filter(nw.col("price") > 1).with_columns(twice=nw.col("price") * 2)
    flow.output("totals", dear.group_by("shop").agg(total=flo.sum("twice"), most=flo.max("price")))
    rows = [Sale("a", 1), Sale("a", 2), Sale("b", 3)]
    assert {tuple(row) for row in flow.run(sales=dict.fromkeys(rows, 1))["totals"]} == {("a", 4, 2), ("b", 6, 3)}
    table = pa.table({"shop": ["a", "a", "b"], "price": [1, 2, 3]})
    assert flow.on(flo.here).run(sales=table)["totals"].num_rows == 2


def run_checks() -> None:
    """Hypothesis and Z3: a check of a program, and a proof."""
    flow = flo.Flow("evens")
    numbers = flow.input("numbers", flo.Bag[int], bounded=True)
    flow.output("sum", numbers.filter(lambda x: x % 2 == 0).fold(0, lambda total, x: total + x))
    Console(stderr=True).print(Text(str(check(flow))))

    def commutes(total: int, x: int, y: int) -> tuple[int, int]:
        return total + x + y, total + y + x

    assert isinstance(prove(commutes, (int, int, int)), Proved)


def main() -> None:
    versions = expect_lowest()
    run_expressions()
    run_checks()
    print("the lowest versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()))


if __name__ == "__main__":
    main()

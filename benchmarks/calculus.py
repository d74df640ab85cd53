"""`make bench`: `flow.run` against hand-written loops, columns as functions, and checkpoints of a large state.

Every pair is measured side by side: both variants in turn, the best of several rounds, and the ratio of the two.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import narwhals as nw
from rich.console import Console
from rich.table import Table

import flo

ROUNDS = 5


def triple(x: int) -> int:
    return 3 * x + 1


def even(x: int) -> bool:
    return x % 2 == 0


def add(total: int, x: int) -> int:
    return total + x


def loop_map(numbers: list[int]) -> list[int]:
    out = []
    for x in numbers:
        out.append(triple(x))
    return out


def loop_filter(numbers: list[int]) -> list[int]:
    out = []
    for x in numbers:
        if even(x):
            out.append(x)
    return out


def loop_scan(numbers: list[int]) -> list[int]:
    total, out = 0, []
    for x in numbers:
        total = add(total, x)
        out.append(total)
    return out


def loop_fold(numbers: list[int]) -> list[int]:
    total = 0
    for x in numbers:
        total = add(total, x)
    return [total]


def loop_all(numbers: list[int]) -> list[int]:
    running = total = 0
    for x in numbers:
        y = triple(x)
        if even(y):
            running = add(running, y)
            total = add(total, running)
    return [total]


def flow_of(build: Callable[[Any], Any]) -> flo.Flow:
    flow = flo.Flow("bench")
    numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
    flow.output("out", build(numbers))
    return flow


PAIRS: list[tuple[str, Callable[[list[int]], list[int]], flo.Flow]] = [
    ("map", loop_map, flow_of(lambda s: s.map(triple))),
    ("filter", loop_filter, flow_of(lambda s: s.filter(even))),
    ("scan", loop_scan, flow_of(lambda s: s.scan(0, add))),
    ("fold", loop_fold, flow_of(lambda s: s.fold(0, add))),
    ("all four", loop_all, flow_of(lambda s: s.map(triple).filter(even).scan(0, add).fold(0, add))),
]


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def side_by_side(numbers: list[int]) -> Table:
    table = Table(title=f"{len(numbers):,} elements, best of {ROUNDS} rounds, seconds", title_justify="left")
    for column in ("operators", "loop by hand", "flow.run", "ratio"):
        table.add_column(column, justify="left" if column == "operators" else "right")
    for name, by_hand, flow in PAIRS:
        loops, flows = [], []
        for _ in range(ROUNDS):
            took, expected = seconds(lambda by_hand=by_hand: by_hand(numbers))
            loops.append(took)
            took, result = seconds(lambda flow=flow: flow.run(numbers=numbers)["out"])
            flows.append(took)
            assert result == expected, name
        table.add_row(name, f"{min(loops):.3f}", f"{min(flows):.3f}", f"{min(flows) / min(loops):.2f}x")
    return table


class Row(NamedTuple):
    user: str
    price: int
    count: int


def total(row: Row) -> int:
    return row.price * row.count


COLUMNS: dict[str, Any] = {
    "a function": total,
    "a column's name": "price",
    "an expression": nw.col("price") * nw.col("count"),
    "a row": {"user": "user", "total": nw.col("price") * nw.col("count")},
}


def columns_on_values(count: int) -> Table:
    """What it costs to build a `map`, and to run it on values."""
    rows = [Row("ann", number, 3) for number in range(count)]
    table = Table(title=f"map on {count:,} rows as values, best of {ROUNDS} rounds", title_justify="left")
    for column in ("by", "building it", "a row"):
        table.add_column(column, justify="left" if column == "by" else "right")
    for name, given in COLUMNS.items():
        built, ran = [], []
        for _ in range(ROUNDS):
            flow = flo.Flow("columns")
            stream = flow.input("rows", flo.Sequence[Row], bounded=True)
            took, mapped = seconds(lambda stream=stream, given=given: stream.map(given))
            built.append(took)
            flow.output("out", mapped)
            took, result = seconds(lambda flow=flow: flow.run(rows=rows)["out"])
            ran.append(took)
            assert len(result) == count
        table.add_row(name, f"{min(built) * 1e3:.1f} ms", f"{min(ran) / count * 1e6:.1f} µs")
    return table


def large_state(numbers: list[int]) -> Table:
    """A program that remembers every element, saved and resumed in the middle."""

    def build() -> flo.Flow:
        flow = flo.Flow("state")
        rows = flow.input("rows", flo.ZSet[int])
        flow.output("distinct", rows.distinct())
        return flow

    loop = build().loop()
    loop.push(rows=dict.fromkeys(numbers, 1))
    loop.run()
    loop.pull("distinct")
    saving, saved = seconds(loop.checkpoint)
    resumed = build().loop()
    restoring, _ = seconds(lambda: resumed.restore(saved))
    deltas = []
    for number in range(5):
        delta = {numbers[number]: 1, -1 - number: 1}
        for one in (loop, resumed):
            one.push(rows=delta)
        took, _ = seconds(resumed.run)
        loop.run()
        deltas.append(took)
        assert loop.pull("distinct") == resumed.pull("distinct") == {-1 - number: 1}
    table = Table(title=f"a state of {len(numbers):,} elements", title_justify="left")
    for column in ("checkpoint", "restore", "size", "a delta of 2 afterwards"):
        table.add_column(column, justify="right")
    table.add_row(f"{saving:.2f} s", f"{restoring:.2f} s", f"{len(saved) / 1e6:.1f} MB", f"{min(deltas) * 1e6:.0f} µs")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calculus", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1_000_000, help="how many elements")
    numbers = list(range(parser.parse_args().count))
    console = Console()
    console.print(side_by_side(numbers))
    console.print(columns_on_values(min(len(numbers), 100_000)))
    console.print(large_state(numbers))


if __name__ == "__main__":
    main()

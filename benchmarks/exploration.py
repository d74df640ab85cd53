"""Part of `make bench`: how many states a second `flow.explore` sees, and how much memory it keeps for each.

Side by side with a plain search, which keeps every state as a graph and takes its steps again with `small_steps`. Both
must find the same number of states.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

import flo
from flo.core.graph import inputs, setinput
from flo.core.operator import concat_all
from flo.core.semantics import small_steps
from flo.core.typing import program
from flo.verify.exploration.arrivals import split_into_channels


def increment(x: int) -> int:
    return x + 1


def odd(x: int) -> bool:
    return x % 2 == 1


def add(total: int, x: int) -> int:
    return total + x


def chain() -> tuple[flo.Flow, dict[str, Any]]:
    flow = flo.Flow("chain")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("out", numbers.map(increment).filter(odd).scan(0, add))
    return flow, {"numbers": list(range(20))}


def branches() -> tuple[flo.Flow, dict[str, Any]]:
    flow = flo.Flow("branches")
    bag = flow.input("bag", flo.Bag[int], bounded=True)
    flow.output("sum", bag.map(increment).sum())
    flow.output("count", bag.count())
    return flow, {"bag": [1, 2, 3, 4]}


def join() -> tuple[flo.Flow, dict[str, Any]]:
    flow = flo.Flow("join")
    left, right = flow.input("left", flo.ZSet[int]), flow.input("right", flo.ZSet[int])
    flow.output("both", left.join(right).distinct())
    return flow, {"left": [1, 2, 3], "right": [1, 2, 3]}


PROGRAMS: list[tuple[str, Callable[[], tuple[flo.Flow, dict[str, Any]]]]] = [
    ("map, filter, scan", chain),
    ("map, sum beside count", branches),
    ("join, distinct", join),
]


def plainly(flow: flo.Flow, data: dict[str, Any]) -> int:
    """How many states there are."""
    handed = flow._checkable()
    types, places = tuple(handed.inputs.values()), {name: place for place, name in enumerate(handed.inputs)}
    channels = split_into_channels({places[name]: items for name, items in data.items()}, types)
    outputs = tuple(output.collection.bottom() for output in program(handed.graph, types).outputs)
    seen = {start := (handed.graph, outputs, (0,) * len(channels))}
    waiting = [start]
    while waiting:
        graph, outputs, arrived = waiting.pop()
        following = [(step.graph, concat_all(outputs, step.outputs), arrived) for step in small_steps(graph)]
        held = {c.input for c, n in zip(channels, arrived, strict=True) if n < len(c.deltas) and not c.is_end}
        for place, (channel, count) in enumerate(zip(channels, arrived, strict=True)):
            if count < len(channel.deltas) and not (channel.is_end and channel.input in held):
                values = list(inputs(graph))
                values[channel.input] = values[channel.input].concat(channel.deltas[count])
                after = (*arrived[:place], count + 1, *arrived[place + 1 :])
                following.append((setinput(graph, tuple(values)), outputs, after))
        waiting += set(following) - seen
        seen.update(following)
    return len(seen)


def speed() -> Table:
    table = Table(title="exploration, every schedule and every cut", title_justify="left")
    for column in ("program", "states", "plain search", "flow.explore", "ratio", "memory a state"):
        table.add_column(column, justify="left" if column == "program" else "right")
    for name, build in PROGRAMS:
        flow, data = build()
        started = time.perf_counter()
        states = plainly(flow, data)
        plain = time.perf_counter() - started
        started = time.perf_counter()
        found = flow.explore(**data)
        fast = time.perf_counter() - started
        assert found.complete
        assert found.states == states, name
        tracemalloc.start()
        flow.explore(**data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rates = (f"{states / plain:,.0f}/s", f"{states / fast:,.0f}/s", f"{plain / fast:.1f}x")
        table.add_row(name, f"{states:,}", *rates, f"{peak / states:,.0f} B")
    return table


def main() -> None:
    Console().print(speed())


if __name__ == "__main__":
    main()

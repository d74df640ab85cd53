"""§4: the graph of the composition figure, as text, parsed, typed, run; and the same built with the fluent API.

The figure's `join` has two outputs. No shipped join has two, so it is defined here, as any user can do it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import flo
from flo.authoring import Filter, Map, Scan, SequenceValue, Values, initial, program

FIGURE = """
(
  (
    (({_} map); ({_} scan)) |
    ({_} filter));
  ({_} join));
(({_} map) | ({_} map))
"""


@final
@dataclass(frozen=True)
class Join(flo.Operator):
    """Pairs the elements of two sequences: the smaller of each pair goes to one output, the larger to the other.

    When either side ends, so do the outputs. Then `done` is true, and the rest of the other side is dropped.
    """

    done: bool = False

    name = "join"
    arity = (2, 2)
    shares_flag = True

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        kind = flo.StreamType(flo.Sequence(int), bounded=all(given.bounded for given in inputs))
        return (kind, kind)

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        left, right = inputs
        assert isinstance(left, SequenceValue)
        assert isinstance(right, SequenceValue)
        if self.done:
            if left.size() or right.size():
                yield flo.Step("join-drain", (left.take()[0], right.take()[0]), self, (None, None))
            return
        for a, left_rest in left.units():
            for b, right_rest in right.units():
                pair = sorted((a, b))
                yield flo.Step("join", (left_rest, right_rest), self, tuple(SequenceValue.of([x]) for x in pair))
        if left.ending() or right.ending():
            after = tuple(side.passed() if side.ending() else side for side in (left, right))
            end = SequenceValue.terminator()
            yield flo.Step("join-terminator", after, Join(done=True), (end, end))


def double(x: int) -> int:
    return 2 * x


def add(total: int, x: int) -> int:
    return total + x


def odd(x: int) -> bool:
    return x % 2 == 1


SUPPLIED: dict[str, Any] = {"map": Map(double), "scan": Scan(0, add), "filter": Filter(odd), "join": Join()}
TYPES = (flo.StreamType(flo.Sequence(int), bounded=False),) * 2


def figure() -> flo.Graph:
    """The figure's text, parsed and typed: every elided state `{_}` is now empty."""
    graph, _ = initial(flo.parse(FIGURE, SUPPLIED), TYPES)
    return graph


def fluent() -> flo.Flow:
    """The same graph in ordinary Python. Flo builds the expression."""
    flow = flo.Flow("composition")
    left = flow.input("left", flo.Sequence[int])
    right = flow.input("right", flo.Sequence[int])
    totals = left.map(double).scan(0, add)
    smaller, larger = totals.apply(Join(), right.filter(odd))
    flow.output("smaller", smaller.map(double))
    flow.output("larger", larger.map(double))
    return flow


def main() -> None:
    graph, flow = figure(), fluent()
    print(f"  read     {flo.show(graph, states=False)}")
    print(f"  fluent   {flo.show(flow.graph(), states=False)}")
    print(f"  equal    {graph == flow.graph()}")
    print(program(graph, TYPES))
    print(f"  {flow.run(left=[1, 2, 3], right=[5, 6, 7, 9])}")


if __name__ == "__main__":
    main()

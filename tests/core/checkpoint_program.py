"""A program with every kind of state, run half way in one process and to its end in another:

python -m tests.core.checkpoint_program save FILE
python -m tests.core.checkpoint_program resume FILE
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from flo.core.event_loop import EventLoop
from flo.core.graph import Node, Parallel, Sequential, parallel, sequence
from flo.core.nest import Nest
from flo.core.typing import initial
from flo.values.operators.elementwise import Map
from flo.values.operators.pairs import Zip
from flo.values.operators.sequences import Batch, Fold, Scan
from flo.values.operators.sets import ToBag
from flo.values.operators.zset_joins import Join
from flo.values.sequence import Sequence
from flo.values.weighted import ZSet
from tests.core.graphs import INTS, RUNNING_TOTAL, bounded, tee, unbounded


@dataclass(frozen=True)
class Order:
    """An element, and part of an accumulator. Made again without `__post_init__`."""

    price: int
    made: int = 0

    def __post_init__(self):
        object.__setattr__(self, "made", self.made + 1)


def later(one: Order, other: Order) -> Order:
    return Order(one.price + other.price)


def program():
    graph = sequence(
        parallel(
            Sequential(Node(None, tee), Parallel(Node(None, Batch(2)), Node(None, Scan(0, lambda a, x: a + x)))),
            Node(None, Fold(Order(0), later)),
            Node(None, Join(lambda row: row % 2, lambda row: row % 2)),
        ),
        parallel(
            Node(None, Nest(RUNNING_TOTAL)),
            Sequential(Node(None, tee), Sequential(Node(None, Zip()), Node(None, ToBag()))),
            Node(None, Map(lambda order: order)),
            Node(None, tee),
        ),
    )
    types = (unbounded(INTS), bounded(Sequence(Order)), unbounded(ZSet(int)), unbounded(ZSet(int)))
    return EventLoop(initial(graph, types)[0], types)


def first_half(loop):
    orders = Sequence(Order).value([Order(1), Order(2)])
    loop.push((INTS.value([1, 2, 3]), orders, ZSet(int).value({1: 1, 2: 2}), ZSet(int).value({3: 1})))
    loop.step(9)
    loop.pull(1)
    loop.push((INTS.value([4, 5]), None, None, ZSet(int).value({4: -1})))


def second_half(loop):
    loop.push((INTS.value([6]), Sequence(Order).value([Order(3)]).fix(), ZSet(int).value({5: 1}), None))
    loop.run()
    return [t.collection.plain(loop.pull(place)) for place, t in enumerate(loop.output_types)]


def main(action, file):
    loop = program()
    if action == "save":
        first_half(loop)
        Path(file).write_bytes(loop.checkpoint())
    else:
        loop.restore(Path(file).read_bytes())
        print(second_half(loop))


if __name__ == "__main__":
    main(*sys.argv[1:])

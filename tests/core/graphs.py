"""Random well-typed graphs and random inputs for them: for what must hold on every graph."""

from __future__ import annotations

import operator
from random import Random
from typing import Any

from hypothesis import strategies as st

from flo.core.collection import Collection
from flo.core.graph import Graph, Node, Parallel, Sequential, sequence
from flo.core.nest import Nest, ReadDefer, WriteDefer
from flo.core.nested import Nested
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Source, Wire, identity
from flo.core.typing import derive
from flo.values.operators.bags import BagUnion
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.pairs import UnionSequences, Zip
from flo.values.operators.sequences import Batch, Fold, Last, Scan, Take
from flo.values.operators.sets import ToBag, ToSet
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set


def increment(x: int) -> int:
    return x + 1


def even(x: int) -> bool:
    return x % 2 == 0


def twice(x: int) -> list[int]:
    return [x, x]


def add(x: int, y: int) -> int:
    return operator.add(x, y)


def total(pair: tuple[int, int]) -> int:
    return sum(pair)


def unbounded(collection: Collection) -> StreamType:
    return StreamType(collection, bounded=False)


def bounded(collection: Collection) -> StreamType:
    return StreamType(collection, bounded=True)


INTS = Sequence(int)
tee, drop, swap = Wire(1, (0, 0)), Wire(1, ()), Wire(2, (1, 0))

RUNNING_TOTAL = sequence(
    Parallel(Node(None, ReadDefer("total", INTS, INTS.value([0]).fix())), Node(None, identity())),
    Node(None, UnionSequences()),
    Node(None, Fold(0, add)),
    Node(None, tee),
    Parallel(Node(None, WriteDefer("total")), Node(None, identity())),
)
"""The sum of this inner stream and of all before it: what `fold` gives is deferred to the next round."""


def one_input(stream: StreamType, depth: int, rng: Random) -> Node:
    """{_}[op] for an operator that takes this stream."""
    collection = stream.collection
    choices: list[Any] = [tee]
    if isinstance(collection, Nested):
        if collection == Nested(INTS):
            choices += [Nest(RUNNING_TOTAL), Nest(graph_on(collection.inner, depth - 1, rng, drops=False))]
    elif getattr(collection, "element", None) == tuple[int, int]:
        choices += [Map(total)]
    else:
        choices += [Map(increment), Filter(even), FlatMap(twice)]
        if isinstance(collection, Sequence):
            choices += [Scan(0, add), Take(2), ToBag(), ToSet(), Batch(2), Batch(2)]
            if stream.bounded:
                choices += [Fold(0, add), Last()]
    return Node(None, rng.choice(choices))


def two_inputs(left: StreamType, right: StreamType, rng: Random) -> Node:
    choices: list[Any] = []
    kinds = {type(left.collection), type(right.collection)}
    elements = {getattr(left.collection, "element", None), getattr(right.collection, "element", None)}
    if kinds == {Sequence} and elements == {int}:
        choices += [Zip(), UnionSequences() if left.bounded else Zip()]
    if kinds == {Bag}:
        choices += [BagUnion()]
    return Node(None, rng.choice(choices or [swap]))


def graph_on(types: StreamTypes, depth: int, rng: Random, drops: bool = True) -> Graph:
    """A graph on these inputs, its states elided."""
    if depth > 0 and rng.random() < 0.6:
        left = graph_on(types, depth - 1, rng, drops)
        return Sequential(left, graph_on(derive(left, types).outputs, depth - 1, rng, drops))
    if len(types) > 2 or (len(types) == 2 and rng.random() < 0.3) or (depth > 0 and rng.random() < 0.1):
        split = rng.randint(1, len(types) - 1) if len(types) > 1 else 0
        parts = types[:split], types[split:]
        left, right = (graph_on(part, depth - 1, rng, drops) for part in parts)
        return Parallel(left, right)
    if not types:
        return Node(None, Source(INTS, INTS.value([rng.randint(0, 3)]).fix()))
    if len(types) == 2:
        return two_inputs(*types, rng)
    if drops and rng.random() < 0.05:
        return Node(None, drop)
    return one_input(types[0], depth, rng)


INPUT_TYPES = [unbounded(INTS), bounded(INTS), unbounded(INTS), bounded(INTS), unbounded(Bag(int)), bounded(Set(int))]


def program(rng: Random, depth: int) -> tuple[Graph, StreamTypes, list[tuple[Any, ...]]]:
    """A graph, the types of its inputs, and the deltas that arrive, the last of which end the bounded inputs."""
    types = tuple(rng.choice(INPUT_TYPES) for _ in range(rng.randint(1, 3)))
    graph = graph_on(types, depth, rng)

    def delta(stream: StreamType) -> Any:
        return stream.collection.value([rng.randint(0, 4) for _ in range(rng.randint(0, 3))])

    chunks: list[tuple[Any, ...]] = [tuple(map(delta, types)) for _ in range(rng.randint(1, 2))]
    ends = [t.collection.bottom().fix() if t.bounded or rng.random() < 0.3 else delta(t) for t in types]
    return graph, types, [*chunks, tuple(ends)]


def programs(depth: int = 3) -> Any:
    """As a Hypothesis strategy. Seeds give more varied graphs than Hypothesis's own choices."""
    return st.integers(0, 2**32 - 1).map(lambda seed: program(Random(seed), depth))


def graphs(*types: StreamType, depth: int = 3) -> Any:
    return st.integers(0, 2**32 - 1).map(lambda seed: graph_on(types, depth, Random(seed)))

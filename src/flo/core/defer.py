"""State carried from one inner stream to the next (§5.2): read_defer, write_defer, collect_defer, set_defer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from flo.core.collection import Collection, Value
from flo.core.errors import DeferError
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, nodes
from flo.core.operator import Bound, Measure, Operator, Step, Values, expect_arity, expect_bounded
from flo.core.stream_type import Derivation, StreamTypes
from flo.core.structural import EmitOnce


@final
@dataclass(frozen=True)
class ReadDefer(EmitOnce):
    """read_defer(k, v): emits v once. Afterwards `value` is None: read_defer(k)."""

    key: str
    collection: Collection
    value: Value | None = None

    name = "read_defer"
    rule = "read-defer-emit"
    error = DeferError

    def judge(self, inputs: StreamTypes) -> Derivation:
        expect_arity(self, inputs)
        rule = "read-defer-no-value-type" if self.value is None else "read-defer-value-type"
        outputs = self.type(inputs)
        return Derivation(rule, (), outputs, reads=((self.key, self.collection),), subject=self.name)


@dataclass(frozen=True)
class WriteDefer(Operator):
    """write_defer(k): takes no step. `nest` reads its buffered input and passes it to the next inner stream."""

    key: str

    name = "write_defer"
    keeps = Bound.VALUE
    arity = (1, 0)
    waits = "passes its whole input to the next round"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_bounded(self, inputs[0])
        return ()

    def judge(self, inputs: StreamTypes) -> Derivation:
        expect_arity(self, inputs)
        self.type(inputs)
        return Derivation("write-defer-type", inputs, (), writes=((self.key, inputs[0].collection),), subject=self.name)

    def steps(self, inputs: Values) -> Iterator[Step]:
        yield from ()

    def measure(self, inputs: Values) -> Measure:
        return (0,)


def collect_defer(graph: Graph) -> dict[str, Value]:
    """Return the inputs of every write_defer; ∅ (the empty map) for any other operator (docs/deviations.md, 6)."""
    match graph:
        case Sequential(left, right) | Parallel(left, right):
            return collect_defer(left) | collect_defer(right)
        case Node(operator=WriteDefer(key=key)):
            return {key: inputs(graph)[0]}
        case _:
            return {}


def set_defer(graph: Graph, deferred: Mapping[str, Value]) -> Graph:
    """Return the graph with every read_defer(k, v) reading deferred[k] instead."""
    match graph:
        case Sequential(left, right) | Parallel(left, right):
            return type(graph)(set_defer(left, deferred), set_defer(right, deferred))
        case Node(state, ReadDefer() as read, origin):
            return Node(state, replace(read, value=deferred[read.key]), origin)
        case _:
            return graph


def check_defers(body: Derivation) -> None:
    """D; D ⊢ g: raise unless every key that is read is written, with the same type. Unknown element types fit any."""
    writes = dict(body.writes)
    for key, collection in body.reads:
        if key not in writes:
            raise DeferError(
                f"`read_defer({key!r})` reads a key that is never written",
                facts=(("read", str(collection)), ("written", ", ".join(map(repr, writes)) or "nothing")),
                instead=((f"loop.write_defer({key!r}, stream)", "what the next round reads"),),
            ).about(key)
        if not (collection.accepts(writes[key]) and writes[key].accepts(collection)):
            raise DeferError(
                f"the key {key!r} is read and written with different types",
                facts=(("read_defer", str(collection)), ("write_defer", str(writes[key]))),
            ).about(key)


def check_initial(graph: Graph) -> None:
    """Raise unless every read_defer has a value for the first inner stream: without one the body waits forever.

    The printed `nest-type` accepts read_defer(k) there, by `read-defer-no-value-type`.
    """
    for each in nodes(graph):
        if isinstance(each.operator, ReadDefer) and each.operator.value is None:
            key = each.operator.key
            raise DeferError(
                f"`read_defer({key!r})` has nothing to read for the first inner stream",
                instead=((f"loop.read_defer({key!r}, initial=…)", "what the first round reads"),),
                where=each.origin,
            ).about(key)

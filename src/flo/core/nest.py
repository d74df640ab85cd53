"""Nested graphs (§5): `nest` and its five rules; and state carried from one inner stream to the next (§5.2):
read_defer, write_defer, collect_defer, set_defer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from flo.core.collection import Collection, End, Value
from flo.core.errors import BoundednessError, DeferError, TypeMismatch
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, nodes, setinput, with_origins
from flo.core.nested import Nested, NestedValue
from flo.core.operator import (
    Bound,
    Measure,
    Operator,
    Step,
    Values,
    concat_all,
    expect_arity,
    expect_bounded,
    expect_collection,
)
from flo.core.semantics import attempt, measure, small_steps
from flo.core.stream_type import Derivation, StreamType, StreamTypes
from flo.core.structural import EmitOnce
from flo.core.typing import derive, initial


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


@dataclass(frozen=True)
class Nest(Operator):
    """nest(g), and after its first step nest(g, g_o): runs g on one inner stream after the other.

    It also stores the outputs of the current inner stream, because `nest-run-step` asks whether they are fixed. A step
    that only sees deltas cannot know that (docs/deviations.md, 5).
    """

    graph: Graph
    bottoms: Values | None = None
    original: Graph | None = None
    outputs: Values = ()

    name = "nest"
    keeps = Bound.VALUE
    signature = "(Nested[C], X) -> (Nested[D], X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return self.judge(inputs).outputs

    def judge(self, inputs: StreamTypes) -> Derivation:
        expect_arity(self, inputs)
        instead = (("{input}.batch(n).nest(…)", "one inner stream per n elements"),)
        inner = expect_collection(self, inputs[0], Nested, instead=instead)
        body = derive(self.original or self.graph, inner.inner)
        for index, output in enumerate(body.outputs):
            if not output.bounded:
                raise BoundednessError(
                    f"`nest` waits for its body to end, and output {index + 1} of the body may never end",
                    facts=((f"output {index + 1}", output.described()),),
                )
        check_defers(body)
        if self.original is None:
            check_initial(self.graph)
        outputs = (StreamType(Nested(*body.outputs), inputs[0].bounded),)
        premises: tuple[Derivation, ...] = (body,)
        rule = "nest-type" if self.original is None else "nest-with-copy-type"
        if self.original is not None:
            running = derive(self.graph, inner.inner)
            if (running.outputs, running.reads, running.writes) != (body.outputs, body.reads, body.writes):
                raise TypeMismatch("the running graph of `nest` has a different type than the graph it started with")
            premises = (body, running)
        return Derivation(rule, inputs, outputs, premises, subject=self.name)

    def typed(self, inputs: StreamTypes) -> Nest:
        inner = inputs[0].collection
        assert isinstance(inner, Nested)
        graph, outputs = initial(self.graph, inner.inner)
        return replace(self, graph=graph, bottoms=tuple(output.collection.bottom() for output in outputs))

    def steps(self, values: Values) -> Iterator[Step]:
        value = values[0]
        assert isinstance(value, NestedValue)
        current = value.oldest()
        if self.original is None:
            if current is not None:
                yield Step("nest-first", values, self._begun(), (self._fresh(),))
            elif value.end is End.ARRIVED:
                yield Step("nest-first-fixed", (value.passed(),), self._begun(), (self._end(),))
            return
        if current is None:
            return
        graph = setinput(self.graph, current)
        is_stuck = True
        for step in small_steps(graph):
            is_stuck = False
            outputs = concat_all(self.outputs, step.outputs)
            emitted = NestedValue.extending(
                tuple(
                    bottom if delta is None else delta
                    for bottom, delta in zip(self._bottoms(), step.outputs, strict=True)
                )
            )
            yield Step(
                "nest-run-graph",
                (value.with_oldest(inputs(step.graph)),),
                replace(self, graph=self._blank(step.graph), outputs=outputs),
                (emitted,),
                step.path,
            )
        if is_stuck:
            yield from self._finish(value, graph)

    def _finish(self, value: NestedValue, graph: Graph) -> Iterator[Step]:
        """nest-run-step and nest-run-fixed: for a body that is stuck."""
        if not all(output.fixed() for output in self.outputs):
            return
        assert self.original is not None
        deferred = collect_defer(graph)
        if value.has_next():
            if all(written.fixed() for written in deferred.values()):
                following = replace(self, graph=set_defer(self.original, deferred), outputs=self._bottoms())
                yield Step("nest-run-step", (value.without_oldest(),), following, (self._fresh(),))
        elif value.end is End.ARRIVED:
            following = replace(self, graph=self.original, outputs=self._bottoms())
            yield Step("nest-run-fixed", (value.passed(),), following, (self._end(),))

    def advance(self, values: Values) -> Iterator[Step]:
        """Like `steps`, but run the body with `advance`."""
        nest = self
        while (step := nest._leap(values)) is not None:
            yield step
            assert isinstance(step.operator, Nest)
            nest, values = step.operator, step.inputs

    def _leap(self, values: Values) -> Step | None:
        """Run the body to its stuck state, and move on to the next inner stream if possible, in one step."""
        value = values[0]
        assert isinstance(value, NestedValue)
        current = value.oldest()
        if self.original is None or current is None:
            return next(self.steps(values), None)
        before = setinput(self.graph, current)
        graph, deltas, fault = attempt(before)
        if graph is before:
            if fault is not None:
                raise fault
            return next(self._finish(value, graph), None)
        emitted, outputs = self._bottoms(), self.outputs
        for delta in deltas:
            emitted, outputs = concat_all(emitted, delta), concat_all(outputs, delta)
        extending = NestedValue.extending(emitted)
        nest = replace(self, graph=self._blank(graph), outputs=outputs)
        step = next(nest._finish(value, graph), None) if fault is None else None
        if step is None:
            return Step("nest-run-graph", (value.with_oldest(inputs(graph)),), nest, (extending,))
        (following,) = step.outputs
        assert isinstance(following, NestedValue)
        return replace(step, outputs=(extending.concat(following),))

    def measure(self, values: Values) -> Measure:
        value = values[0]
        assert isinstance(value, NestedValue)
        current = value.oldest()
        waiting = len(value) + (value.end is End.ARRIVED)
        if self.original is None or current is None:
            return (self.original is None, waiting, ())
        return (False, waiting, measure(setinput(self.graph, current)))

    def with_origins(self, like: Nest) -> Nest:
        original = None if self.original is None else with_origins(self.original, like.graph)
        return replace(self, graph=with_origins(self.graph, like.graph), original=original)

    def _bottoms(self) -> Values:
        if self.bottoms is None:
            raise TypeMismatch("`nest` is not typed; call `initial` on the graph before running it")
        return self.bottoms

    def _begun(self) -> Nest:
        return replace(self, original=self.graph, outputs=self._bottoms())

    def _blank(self, graph: Graph) -> Graph:
        """Return the body without inputs. They are in the inner stream: a copy would not get what arrives later."""
        assert self.original is not None
        return setinput(graph, inputs(self.original))

    def _fresh(self) -> NestedValue:
        """((⊥, …, ⊥), true)."""
        return NestedValue.pushing(self._bottoms())

    def _end(self) -> NestedValue:
        return NestedValue.pushing().fix()

"""Nested graphs (§5): `nest` and its five rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from flo.core.collection import End
from flo.core.defer import check_defers, check_initial, collect_defer, set_defer
from flo.core.errors import BoundednessError, TypeMismatch
from flo.core.graph import Graph, inputs, setinput, with_origins
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Bound, Measure, Operator, Step, Values, concat_all, expect_arity, expect_collection
from flo.core.semantics import attempt, measure, small_steps
from flo.core.stream_type import Derivation, StreamType, StreamTypes
from flo.core.typing import derive, initial


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
        expect_collection(
            self, inputs[0], Nested, instead=(("{input}.batch(n).nest(…)", "one inner stream per n elements"),)
        )
        inner = inputs[0].collection
        assert isinstance(inner, Nested)
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
                replace(self, graph=step.graph, outputs=outputs),
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
        nest = replace(self, graph=graph, outputs=outputs)
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

    def _fresh(self) -> NestedValue:
        """((⊥, …, ⊥), true)."""
        return NestedValue.pushing(self._bottoms())

    def _end(self) -> NestedValue:
        return NestedValue.pushing().fix()

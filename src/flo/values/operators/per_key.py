"""per_key: runs a copy of a graph for every key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from flo.core.collection import End, Value
from flo.core.errors import CollectionError, DeferError, ElementError, FloError, FunctionError, TypeMismatch
from flo.core.graph import Graph, inputs, setinput, with_origins
from flo.core.operator import Bound, Deltas, Measure, Operator, Step, Values, concat_all, expect_arity
from flo.core.persistent import PersistentMap
from flo.core.semantics import advance, measure, small_steps, stuck
from flo.core.stream_type import Derivation, StreamType, StreamTypes
from flo.core.typing import derive, initial
from flo.core.untyped import Element
from flo.values.element_value import ElementValue
from flo.values.keyed import KeyedValue
from flo.values.lvar import LVarValue
from flo.values.operators.keyed_streams import expect_keyed, inner_types
from flo.values.partitioned import partitioned_as
from flo.values.weighted import ZSet

Graphs: TypeAlias = dict[Element, Graph]
"""The graphs of some keys."""
Emitted: TypeAlias = dict[Element, Value]
"""The delta of one output for some keys."""


@dataclass(frozen=True)
class PerKey(Operator):
    """per_key(g): if g : (C₁, X₁), … ↪ (D, Y), … then (Keyed<K, C₁>, X₁), … ↪ (Keyed<K, D>, Z), …

    where Z is B if Y and all of X₁, … are: as long as one input may bring a new key, no output can end.

    `running` has the graph of every key seen, and `graph` the one for the next key: if an input of `per_key` has ended,
    that input of `graph` has too. A key that was seen exists in every output.

    Keys of z-sets (`weighted`) can disappear: when all elements of a key were retracted, its graph is back in its
    initial state and is dropped; and an output has the key only if it has a value for it. To know which keys are left,
    the graphs are told about the end only after everything else.

    An input that is a clock, (LVar<Max>, X), is shared: every graph gets it, once all that came before it is done.
    """

    graph: Graph | None
    bottoms: Values = ()
    weighted: bool = False
    running: PersistentMap[Element, Graph] = PersistentMap()  # noqa: RUF009
    active: tuple[Element, ...] | None = field(default=None, compare=False, repr=False)
    """The keys whose graph may be able to step, if known. Not part of the expression."""

    name = "per_key"
    keeps = Bound.KEYS
    clock_rules = ("per-key-clock",)
    signature = "(Keyed[K, C], X) -> (Keyed[K, D], Y)"

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return (1, 1) if self.graph is None else self.graph.arity

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return self.judge(inputs).outputs

    def bound_on(self, inputs: StreamTypes) -> Bound:
        if all(given.bounded for given in inputs):
            return Bound.END
        return Bound.GROUPS if isinstance(inner_types(self, inputs)[0].collection, ZSet) else Bound.KEYS

    def judge(self, inputs: StreamTypes) -> Derivation:
        if self.graph is not None:
            expect_arity(self, inputs)
        inner = inner_types(self, inputs)
        body = derive(self._graph(), inner)
        for key, _ in body.reads + body.writes:
            raise DeferError(
                f"the body of `per_key` has no rounds, so it cannot defer the key {key!r}",
                instead=(("stream.nest(…)", "in the body, with its own `read_defer` and `write_defer`"),),
            ).about(key)
        graphs = [derive(graph, inner) for graph in self.running.to_dict().values()]
        if any(graph.outputs != body.outputs for graph in graphs):
            raise TypeMismatch("the graphs of `per_key` have different types")
        if isinstance(inner[0].collection, ZSet):
            self._expect_rest(inner)
        keyed = expect_keyed(self, inputs[0])
        bounded = all(given.bounded for given in inner)
        outputs = tuple(
            StreamType(partitioned_as(keyed, output.collection), bounded and output.bounded) for output in body.outputs
        )
        expected = tuple(StreamType(g.collection, i.bounded) for g, i in zip(inputs, inner, strict=True))
        return Derivation("per-key-type", expected, outputs, (body, *graphs), subject=self.name)

    def _expect_rest(self, inner: StreamTypes) -> None:
        """Raise if the graph emits without input, because it would do so for keys that do not exist."""
        graph, _ = initial(self._graph(), inner)
        if not any(value.fixed() for value in inputs(graph)) and not stuck(graph):
            raise CollectionError(
                "the body of `per_key` emits without input, which keys of z-sets do not allow",
                instead=(("group_by(…).agg(…)", "aggregates by key; `agg` alone has a row of no rows too"),),
            )

    def typed(self, inputs: StreamTypes) -> PerKey:
        inner = inner_types(self, inputs)
        graph, outputs = initial(self._graph(), inner)
        bottoms = tuple(output.collection.bottom() for output in outputs)
        active = None if self.running else ()
        return replace(
            self, graph=graph, bottoms=bottoms, weighted=isinstance(inner[0].collection, ZSet), active=active
        )

    def steps(self, values: Values) -> Iterator[Step]:
        pending, is_stuck = arrived_keys(values), True
        for key in pending:
            is_stuck = False
            rests, graphs = self._received(values, [key])
            rule = "per-key-receive" if key in self.running else "per-key-first"
            active = None if self.active is None else (*self._awake(), key)
            yield Step(rule, rests, self._with(graphs, active), pack_outputs(self._announced([key])))
        fault: FloError | None = None
        for key in self._awake():
            try:
                for step in small_steps(self.running[key]):
                    is_stuck = False
                    operator = self._with({key: step.graph}, self.active)
                    outputs = self._announced(())
                    self._emit(outputs, key, step.outputs)
                    yield Step("per-key-run-graph", values, operator, pack_outputs(outputs), step.path)
            except (FunctionError, ElementError) as error:  # the other keys can still step
                fault = fault or error
        if fault is not None:
            raise fault
        if is_stuck:
            yield from self._share_clocks(values)

    def _share_clocks(self, values: Values) -> Iterator[Step]:
        """per-key-clock: gives the clocks that have moved to the graphs of all keys; if none has, `_finish`."""
        deltas = tuple(_clock_in(value) for value in values)
        if not any(deltas):
            yield from self._finish(values)
            return
        rests = tuple(
            value.drained() if delta is not None and isinstance(value, LVarValue) else value
            for value, delta in zip(values, deltas, strict=True)
        )
        graphs = {
            key: setinput(graph, concat_all(inputs(graph), deltas)) for key, graph in self.running.to_dict().items()
        }
        after = replace(self, running=PersistentMap(graphs), active=tuple(graphs))
        yield Step("per-key-clock", rests, after, (None,) * len(self.bottoms), settled=True)

    def advance(self, values: Values) -> Iterator[Step]:
        operator = self
        while (step := operator._leap(values)) is not None:
            yield step
            assert isinstance(step.operator, PerKey)
            operator, values = step.operator, step.inputs

    def _leap(self, values: Values) -> Step | None:
        """Receive everything that has arrived, and run the affected graphs to their stuck states."""
        pending = arrived_keys(values)
        rests, graphs = self._received(values, pending)
        outputs = self._announced(pending)
        moved, failed = bool(pending), []
        fault: FloError | None = None
        for key in dict.fromkeys([*pending, *self._awake()]):
            graph = graphs.get(key) or self.running[key]
            try:
                while (after := advance(graph))[0] is not graph:
                    graph, deltas = after
                    graphs[key], moved = graph, True
                    for row in deltas:
                        self._emit(outputs, key, row)
            except (FunctionError, ElementError) as error:  # raised when the other keys are done
                fault = fault or error
                failed.append(key)
        if moved:
            return Step("per-key-run-graph", rests, self._with(graphs, tuple(failed)), pack_outputs(outputs))
        if fault is not None:
            raise fault
        return next(self._share_clocks(values), None)

    def _received(self, values: Values, keys: Iterable[object]) -> tuple[Values, Graphs]:
        """Return the rest of the inputs, and the graphs with everything that has arrived for these keys."""
        rests: list[Value] = []
        deltas: dict[Element, list[Value | None]] = {key: [] for key in keys}
        for value in values:
            if not isinstance(value, KeyedValue):  # a clock
                rests.append(value)
                for row in deltas.values():
                    row.append(None)
                continue
            rest, taken = value.take_keys([key for key in deltas if key in value.entries])
            rests.append(rest)
            for key, row in deltas.items():
                row.append(self._content(taken[key]) if key in taken else None)
        graphs = {}
        for key, row in deltas.items():
            graph = self.running.get(key, self.graph)
            graphs[key] = setinput(graph, concat_all(inputs(graph), tuple(row)))
        return tuple(rests), graphs

    def _content(self, value: Value) -> Value:
        return value.ended(End.OPEN) if self.weighted and isinstance(value, ElementValue) else value

    def _with(self, graphs: Graphs, active: tuple[object, ...] | None) -> PerKey:
        """Return the operator with these graphs running, without those of keys that no longer exist."""
        gone = self.weighted and not self._ended()
        changes = {key: None if gone and graph == self.graph else graph for key, graph in graphs.items()}
        return replace(self, running=self.running.updated(changes, drop=None), active=active)

    def _awake(self) -> list[Element]:
        """Return the running keys whose graph may be able to step."""
        keys = self.running if self.active is None else dict.fromkeys(self.active)
        return [key for key in keys if key in self.running]

    def _ended(self) -> bool:
        return all(value.fixed() for value in inputs(self._graph()))

    def _announced(self, keys: Iterable[object]) -> list[Emitted]:
        """Return the initial content of each output: ⊥ for keys seen for the first time."""
        new = () if self.weighted else [key for key in keys if key not in self.running]
        return [dict.fromkeys(new, bottom) for bottom in self.bottoms]

    def _emit(self, outputs: list[Emitted], key: object, deltas: Deltas) -> None:
        for entries, delta, bottom in zip(outputs, deltas, self.bottoms, strict=True):
            if delta is not None and not (self.weighted and delta.fix() == bottom.fix()):
                entries[key] = entries[key].concat(delta) if key in entries else delta

    def _finish(self, values: Values) -> Iterator[Step]:
        """per-key-end and per-key-terminated: when only ends are left."""
        given = [value.fixed() for value in inputs(self._graph())]
        ended = [value.fixed() for value in values]
        if all(given):
            if any(value.size() for value in values):
                rests = tuple(value.take()[0] for value in values)
                ends = tuple(KeyedValue.terminator() for _ in self.bottoms)
                yield Step("per-key-terminated", rests, replace(self, running=PersistentMap(), active=None), ends)
        elif ended != given and (all(ended) or not self.weighted):
            graphs = {key: with_ends(graph, ended) for key, graph in self.running.to_dict().items()}
            operator = replace(self, graph=with_ends(self._graph(), ended), running=PersistentMap(graphs), active=None)
            yield Step("per-key-end", values, operator, (None,) * len(self.bottoms))

    def measure(self, values: Values) -> Measure:
        """The amount that has not reached the graphs; then their measures, largest first, one of which decreases."""
        given = [value.fixed() for value in inputs(self._graph())]
        ends = sum(value.fixed() and not known for value, known in zip(values, given, strict=True))
        graphs = sorted((measure(graph) for graph in self.running.to_dict().values()), reverse=True)
        return (sum(value.size() for value in values) + ends, tuple(graphs))

    def _graph(self) -> Graph:
        if self.graph is None:
            raise TypeMismatch("`per_key` has no graph")
        return self.graph

    def with_origins(self, like: PerKey) -> PerKey:
        assert self.graph is not None
        assert like.graph is not None
        program = like.graph
        running = PersistentMap((key, with_origins(graph, program)) for key, graph in self.running.items())
        return replace(self, graph=with_origins(self.graph, program), running=running)


def arrived_keys(values: Values) -> list[Element]:
    """Return the keys for which something has arrived."""
    keys: dict[Element, None] = {}
    for value in values:
        if isinstance(value, KeyedValue):
            keys |= dict.fromkeys(value.entries)
    return list(keys)


def _clock_in(value: Value) -> Value | None:
    """Return the time of a clock that has moved."""
    return replace(value, end=End.OPEN) if isinstance(value, LVarValue) and not value.is_bottom() else None


def with_ends(graph: Graph, ended: list[bool]) -> Graph:
    """Return the graph with these inputs ended."""
    values = inputs(graph)
    return setinput(graph, tuple(value.fix() if end else value for value, end in zip(values, ended, strict=True)))


def pack_outputs(outputs: list[Emitted]) -> Deltas:
    return tuple(KeyedValue.of(entries) if entries else None for entries in outputs)

"""Cuts a program into stages, with a shuffle wherever the placement of rows changes.

    orders ─> filter ─> group_by(shop) ─┐
    shops  ─────────────────────────────┴> join(shop) ─> sort

    level 0    orders, filter; shops       anywhere: on the rows as they come, before any shuffle
    stage 1    group_by(shop)              by key: filter is delivered to the shards of shop
               join(shop)                  by key: the sums are in the shards of their shop already, shops is delivered
    stage 2    sort                        in one place: shard 0

Invariant: when an operator runs, the rows that it must see together are in one shard: all rows with equal keys for one
that is placed by key, the rows of a window for one by window, all rows for one in one place.

Operators are put one after the other, in the order of the program (`_Planner._put`). The level of an operator is that
of its inputs, or the next one if one of them is at this level and not placed as the operator needs it. A segment of
Catalyst runs between the level of its rows and the next one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flo.core.collection import Form
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.core.structural import EmitOnce
from flo.program.dag import Dag, Stream, Vertex
from flo.shards.plan.rewrites import rewrites
from flo.shards.plan.shared_shuffles import share_shuffles
from flo.shards.plan.spread import spread_of
from flo.shards.plan.stages import (
    ALL,
    KEY,
    KEYS,
    NATIVE,
    ONE,
    POSITION,
    STAY,
    WINDOW,
    Delivery,
    Entry,
    Native,
    Plan,
    Stage,
    must_be_in_one_place,
)
from flo.sql.native import Segment
from flo.tables.keyed import KeyedColumns
from flo.tables.operator import OnTables, Placement
from flo.tables.operators.elementwise import FlatMapTables
from flo.tables.operators.per_key import OfEveryKey
from flo.tables.values import Columns, layout_of
from flo.tables.whole import operators_in
from flo.values.keyed import Keyed
from flo.values.lvar import LVar


def placement(operator: Operator) -> Placement:
    """Where the rows of an operator must be. One on values needs all in one place, unless it works row by row."""
    if isinstance(operator, OnTables):
        return operator.placement
    return Placement.ANYWHERE if operator.row_by_row else Placement.ONE_PLACE


def takes_streams_apart(vertex: Vertex) -> bool:
    """Whether it processes inner streams one by one, and its output has no order across them."""
    one_by_one = isinstance(vertex.operator, OnTables) and vertex.operator.stream_by_stream
    of = vertex.outputs[0].type.collection
    nested = isinstance(of.base if isinstance(of, Form) else of, Nested)
    return one_by_one and (nested or not must_be_in_one_place(vertex.outputs[0]))


def needs_all_keys(operator: Operator) -> bool:
    """Whether it needs the rows of all keys of a keyed stream in one place, as windows over partitions do."""
    if isinstance(operator, OfEveryKey):
        return False
    return (operator.like if isinstance(operator, OnTables) else operator).across_keys


def is_keyed(stream: Stream) -> bool:
    """Whether it is a keyed stream, in which each key has its own order."""
    of = stream.type.collection
    return isinstance(of.base if isinstance(of, Form) else of, Keyed)


def is_clock(stream: Stream) -> bool:
    """Whether it is one value that grows, which all shards can have."""
    return isinstance(stream.type.collection, LVar)


def segment_of(operator: Operator) -> Segment | None:
    """The segment of Catalyst that an operator is, if it is one."""
    f = operator.like.f if isinstance(operator, FlatMapTables) else None
    return f if isinstance(f, Segment) else None


def holds_segment(dag: Dag) -> bool:
    """Whether a body in a program has a segment, as that of a `nest` may: Catalyst cannot run it between stages."""
    inside = (getattr(vertex.operator, "graph", None) for vertex in dag.vertices)
    every = [*(v.operator for v in dag.vertices), *(op for g in inside if g is not None for op in operators_in(g))]
    return any(isinstance(getattr(getattr(each, "like", each), "f", None), Segment) for each in every)


def _kinds(stream: Stream, columns: tuple[str, ...]) -> list[Any]:
    """The types of columns. Equal values have equal key numbers only if their types are equal."""
    of = stream.type.collection
    return [layout_of(of.base).schema.field(name).type for name in columns] if isinstance(of, Columns) else []


class _Planner:
    """Assigns each operator to a level, and delivers streams between levels."""

    def __init__(self, dag: Dag) -> None:
        self.dag, self.behind = share_shuffles(dag)
        self.level: dict[Stream, int] = {}
        """The level of each stream that was put."""
        self.alone: dict[Stream, bool] = {}
        """Whether it is in shard 0 only."""
        self.origin: dict[Stream, frozenset[int]] = {}
        """For streams of level 0, the inputs that their rows come from."""
        self.by_keys: set[Stream] = set()
        """Keyed streams whose keys are each in one shard."""
        self.columns: dict[Stream, tuple[str, ...]] = {}
        """Streams whose rows are in the shards of their key, with the columns of that key."""
        self.scattered: set[Stream] = set()
        """Ordered streams that are spread over shards. A reader of the whole stream gets it in one place."""
        self.deliveries: dict[tuple[int, int, str, Any], Delivery] = {}
        """By stream, level, how it is delivered, and its key: a second reader with the same shares it."""
        self.streams: dict[tuple[int, int], Stream] = {}
        """By level and number of a delivery: the stream as that level reads it."""
        self.natives: dict[Stream, Native] = {}
        """Streams that Catalyst makes of rows of their level. They are there from the next level on."""
        self.names = {stream: stream.name for stream in self.dag.inputs}
        """What states call streams: inputs by their names, others by the id of the operator that emits them."""
        for each in self.dag.vertices:
            self.names |= ((stream, f"{each.id}:{place}") for place, stream in enumerate(each.outputs))
        self.vertices: list[tuple[int, Vertex]] = []
        """Levels and operators. The inputs of an operator are streams of its level, or deliveries to it."""

    def plan(self) -> Plan:
        """Puts all operators, and cuts the program by their levels."""
        literals = {}
        inputs = list(self.dag.inputs)
        for vertex in self.dag.vertices:
            if isinstance(vertex.operator, EmitOnce):
                literals[len(inputs)] = vertex.operator
                inputs.append(vertex.outputs[0])
        for number, stream in enumerate(inputs):
            self.level[stream], self.alone[stream], self.origin[stream] = 0, False, frozenset({number})
        for vertex in self.dag.vertices:
            if not isinstance(vertex.operator, EmitOnce):
                self._put(vertex)
        outputs = []
        for stream in self.dag.outputs:
            if self.level[stream] == 0 or stream in self.scattered or stream in self.natives:  # no stage outputs it yet
                stream = self._deliver_output(stream)
            outputs.append(stream)
        return self._cut(inputs, outputs, literals)

    def _put(self, vertex: Vertex) -> None:
        """Puts an operator at a level, and delivers its inputs there."""
        spread = replace(vertex, operator=spread_of(vertex.operator))
        if self._makes_windows(spread):
            delivered = self._deliver(spread.inputs[0], 1, WINDOW, spread)
            self._put_in_all(spread, delivered, 1)
        elif self._reads_windows(vertex):
            self._put_in_all(vertex, vertex.inputs[0], self.level[vertex.inputs[0]])
        elif (segment := segment_of(vertex.operator)) is not None:
            self._put_between(vertex, segment)
        else:
            self._put_by_rows(vertex)

    def _put_between(self, vertex: Vertex, segment: Segment) -> None:
        """Runs the operator in Catalyst, after the level of its rows."""
        given, output = vertex.inputs[0], vertex.outputs[0]
        if given in self.natives:
            level = self.level[given] + 1
            given = self._deliver(given, level, STAY)
            self.level[given], self.alone[given] = level, False
        level = self.level[given]
        self._deliver(given, -1, NATIVE)
        sent = next(each for each in self.deliveries.values() if (each.stream, each.how) == (given.number, NATIVE))
        self.natives[output] = Native(level, segment, sent, output.number, output.type)
        self.level[output], self.alone[output] = level, self.alone[given]
        if level == 0:
            self.origin[output] = self.origin[given]
        self.vertices.append((level, replace(vertex, inputs=(given,))))

    def _from_source(self, vertex: Vertex) -> bool:
        """Whether it reads the rows of an input before any shuffle, with their positions."""
        return len(vertex.inputs) == 1 and self.level[vertex.inputs[0]] == 0

    def _makes_windows(self, vertex: Vertex) -> bool:
        """Whether it makes windows that all readers process one by one."""
        if placement(vertex.operator) is not Placement.BY_WINDOW or not self._from_source(vertex):
            return False
        windows = vertex.outputs[0]
        readers = [each for each in self.dag.vertices if windows in each.inputs]
        return windows not in self.dag.outputs and all(map(takes_streams_apart, readers))

    def _reads_windows(self, vertex: Vertex) -> bool:
        """Whether it reads spread windows, and processes them one by one."""
        return bool(vertex.inputs) and vertex.inputs[0] in self.scattered and takes_streams_apart(vertex)

    def _put_in_all(self, vertex: Vertex, given: Stream, level: int) -> None:
        """Runs the operator in all shards, each on its own windows."""
        for stream in vertex.outputs:
            self.level[stream], self.alone[stream] = level, False
        self.scattered.update(filter(must_be_in_one_place, vertex.outputs))
        self.vertices.append((level, replace(vertex, inputs=(given,))))

    def _put_by_rows(self, vertex: Vertex) -> None:
        """Puts an operator that is placed by the rows it reads, not by windows: anywhere, by key, or in one place."""
        wanted = placement(vertex.operator)
        if any(stream in self.scattered for stream in vertex.inputs):
            wanted = Placement.ONE_PLACE
        operator = vertex.operator
        by_keys = self._runs_by_keys(vertex)
        in_source = self._from_source(vertex) and must_be_in_one_place(vertex.inputs[0])
        if in_source and isinstance(operator, OnTables) and operator.keeps_positions:
            vertex = replace(vertex, operator=replace(operator, keys=(POSITION,)))
        elif not by_keys and any(must_be_in_one_place(stream) and not is_keyed(stream) for stream in vertex.outputs):
            wanted = Placement.ONE_PLACE
        if any(self.level[s] == 0 and isinstance(s.type.collection, Nested) for s in vertex.inputs):
            wanted = Placement.ONE_PLACE  # all rows of a micro-batch are one inner stream
        levels = [self.level[stream] for stream in vertex.inputs]
        alone = [self.alone[stream] for stream in vertex.inputs]
        top = max(levels)
        waits = any(s in self.natives for s, level in zip(vertex.inputs, levels, strict=True) if level == top)
        if by_keys:
            here = all(
                self.level[stream] < top if is_clock(stream) else stream in self.by_keys and self.level[stream] == top
                for stream in vertex.inputs
            )
            top, is_alone = top + (not here), False
            delivered = [self._deliver(stream, top, ALL if is_clock(stream) else KEYS) for stream in vertex.inputs]
            self.by_keys.update(stream for stream in vertex.outputs if is_keyed(stream))
        elif wanted is Placement.BY_KEY:
            assert isinstance(operator, OnTables)
            keys = [operator.key_columns(place) for place in range(len(levels))]
            here = all(
                level < top or (key is not None and self.columns.get(stream) == key)
                for stream, level, key in zip(vertex.inputs, levels, keys, strict=True)
            )
            top, is_alone = top + (not here), False
            delivered = [self._deliver_by_key(s, top, vertex, place) for place, s in enumerate(vertex.inputs)]
            self.by_keys.update(filter(is_keyed, vertex.outputs))
        elif wanted is Placement.ONE_PLACE:
            here = all(is_one for is_one, level in zip(alone, levels, strict=True) if level == top)
            top, is_alone = top + (not here or waits), True
            delivered = [self._deliver(stream, top, ONE) for stream in vertex.inputs]
        elif self._is_behind(vertex):
            top, is_alone = top + 1, False
            delivered = [self._deliver(vertex.inputs[0], top, KEY, columns=self.behind[vertex.outputs[0]])]
        else:
            origins = [self.origin.get(stream) for stream in vertex.inputs]
            # a stream in shard 0 has no end in the other shards: it must be delivered to them
            mixed = not all(alone) and any(is_one for is_one, level in zip(alone, levels, strict=True) if level == top)
            apart = top == 0 and len(set(origins)) > 1
            top, is_alone = top + (mixed or apart or waits), all(alone)
            delivered = [self._deliver(stream, top, ONE if is_alone else STAY) for stream in vertex.inputs]
            if top == 0:
                self.origin.update(dict.fromkeys(vertex.outputs, origins[0] or frozenset()))
        for stream in vertex.outputs:
            self.level[stream], self.alone[stream] = top, is_alone
        self._follow(vertex, delivered, wanted)
        self.vertices.append((top, replace(vertex, inputs=tuple(delivered))))

    def _is_behind(self, vertex: Vertex) -> bool:
        """Whether it is a projection behind a shuffle of its input, which is not in shards by that key already."""
        key = self.behind.get(vertex.outputs[0]) if len(vertex.outputs) == 1 else None
        return key is not None and self.columns.get(vertex.inputs[0]) != key

    def _follow(self, vertex: Vertex, inputs: list[Stream], wanted: Placement) -> None:
        """Records the key columns that the operator passes on: its output rows are in the shards of the same key."""
        columns = self.columns.get(inputs[0]) if inputs else None
        alike = wanted is Placement.BY_KEY or all(self.columns.get(stream) == columns for stream in inputs)
        if columns is None or not alike or not isinstance(vertex.operator, OnTables) or len(vertex.outputs) != 1:
            return
        passed, output = vertex.operator.passed(columns), vertex.outputs[0]
        if passed is not None and _kinds(inputs[0], columns) == _kinds(output, passed):
            self.columns[output] = passed

    def _deliver_by_key(self, stream: Stream, level: int, vertex: Vertex, place: int) -> Stream:
        """Delivers rows to the shards of their keys, and a clock to all shards."""
        if is_clock(stream):
            return self._deliver(stream, level, ALL)
        return self._deliver(stream, level, KEY, vertex, place)

    def _runs_by_keys(self, vertex: Vertex) -> bool:
        """Whether it runs in all shards, each on the keys that are there. Clocks go to all of them; an operator on
        values that reads one runs in one place, since its state cannot be cut by key."""
        keyed = [stream for stream in vertex.inputs if not is_clock(stream)]
        clocks = len(vertex.inputs) - len(keyed)
        if not keyed or needs_all_keys(vertex.operator) or (clocks and not isinstance(vertex.operator, OnTables)):
            return False
        return all(map(self._goes_by_keys, keyed))

    def _goes_by_keys(self, stream: Stream) -> bool:
        """Whether each of its keys is in one shard, or can be shuffled there, which needs tables."""
        return is_keyed(stream) and (stream in self.by_keys or isinstance(stream.type.collection, KeyedColumns))

    def _deliver(
        self,
        stream: Stream,
        level: int,
        how: str,
        vertex: Vertex | None = None,
        place: int = 0,
        columns: tuple[str, ...] | None = None,
    ) -> Stream:
        """Returns the stream as a level reads it: delivered to it, unless it is from there.

        The key is that of an operator, or these columns."""
        if self.level[stream] == level:
            return stream
        by = vertex.operator if vertex is not None else None
        assert by is None or isinstance(by, OnTables)
        columns = by.key_columns(place) if by is not None else columns
        same = columns if by is None or columns is not None else (id(by), place)
        key = (stream.number, level, how, same)
        delivery = self.deliveries.get(key)
        if delivery is None:
            line = vertex.origin if vertex is not None else None
            number, alone = len(self.deliveries), self.alone[stream]
            own = columns if by is None else None
            to = f"{vertex.id}:{place}" if vertex is not None and columns is None else ",".join(columns or ())
            name = f"{self.names[stream]} {how} {to}".rstrip()
            delivery = Delivery(number, stream.number, stream.type, level, how, by, place, line, alone, own, name)
            self.deliveries[key] = delivery
            self.streams[level, delivery.number] = delivered = Stream(stream.type, -1 - delivery.number, stream.name)
            self.names[delivered] = self.names[stream]
            if how == KEYS:
                self.by_keys.add(self.streams[level, delivery.number])
            if columns is not None:
                self.columns[self.streams[level, delivery.number]] = columns
        return self.streams[level, delivery.number]

    def _deliver_output(self, stream: Stream) -> Stream:
        """Delivers an output of the program to the next stage, which passes it on."""
        ordered, level = must_be_in_one_place(stream), self.level[stream] + 1
        delivered = self._deliver(stream, level, ONE if ordered else STAY)
        self.level[delivered], self.alone[delivered] = level, ordered
        return delivered

    def _sums_early(self, delivery: Delivery, outputs: list[Stream]) -> bool:
        """Whether an operator that adds up its rows is all that reads a delivery."""
        if not rewrites.early_sums or delivery.how != KEY or delivery.by is None or not delivery.by.sums_early:
            return False
        stream = self.streams[delivery.level, delivery.number]
        readers = [vertex for _, vertex in self.vertices if stream in vertex.inputs]
        return len(readers) == 1 and readers[0].operator is delivery.by and stream not in outputs

    def _find_spreading(self, outputs: list[Stream]) -> dict[int, str]:
        """By the number of a delivery, the id of the join that is all that reads it, and that may have rows of a key in
        several shards: nothing behind it in its stage needs them together."""
        readers: dict[Stream, list[tuple[int, Vertex]]] = {}
        for level, vertex in self.vertices:
            for stream in vertex.inputs:
                readers.setdefault(stream, []).append((level, vertex))
        by_number = {delivery.number: delivery for delivery in self.deliveries.values()}
        delivered = {stream: by_number[number] for (_, number), stream in self.streams.items()}
        natives = {stream.number for stream in self.natives}

        def may_spread(delivery: Delivery) -> bool:
            return delivery.how == KEY and delivery.by is not None and delivery.stream not in natives

        def reads_alone(stream: Stream) -> bool:
            return stream in delivered and len(readers[stream]) == 1 and stream not in outputs

        spreading: dict[int, str] = {}
        for level, vertex in self.vertices if rewrites.hot_keys else []:
            operator, inputs = vertex.operator, set(vertex.inputs)
            if not (isinstance(operator, OnTables) and operator.spreads_hot_keys) or operator.keys:
                continue
            if len(inputs) < 2 or not all(reads_alone(each) and may_spread(delivered[each]) for each in inputs):
                continue
            behind, waiting = list[Vertex](), list(vertex.outputs)
            while waiting:
                here = [each for at, each in readers.get(waiting.pop(), []) if at == level]
                behind += here
                waiting += [stream for each in here for stream in each.outputs]
            if all(placement(each.operator) is Placement.ANYWHERE for each in behind):
                spreading |= {delivered[each].number: vertex.id for each in inputs}
        return spreading

    def _operators(self, level: int) -> list[Vertex]:
        """The operators that run in the tasks of a level."""
        return [v for at, v in self.vertices if at == level and not self.natives.keys() & set(v.outputs)]

    def _cut(self, inputs: list[Stream], outputs: list[Stream], literals: dict[int, EmitOnce]) -> Plan:
        """Cuts the program by the levels of its operators."""
        spreading = self._find_spreading(outputs)
        deliveries = [
            replace(each, sums_early=self._sums_early(each, outputs), join=spreading.get(each.number, ""))
            for each in self.deliveries.values()
        ]
        sent = {each.stream for each in deliveries}
        entries = []
        for number, stream in enumerate(inputs):
            own = [v for v in self._operators(0) if self.origin[v.outputs[0]] == {number}]
            given = [s for s in (stream, *(s for v in own for s in v.outputs)) if s.number in sent]
            entries.append(Entry(number, Dag([stream], own, given).live(), tuple(s.number for s in given)))
        stages = []
        for level in range(1, max([*self.level.values(), 1]) + 1):
            arriving = [each for each in deliveries if each.level == level]
            own = self._operators(level)
            here = [self.streams[level, each.number] for each in arriving]
            streams = [*here, *(s for v in own for s in v.outputs)]
            given = [s for s in streams if s.number in sent]
            given += [s for s in dict.fromkeys(outputs) if self.level[s] == level and s not in given]
            stages.append(
                Stage(
                    level,
                    Dag(here, own, given).live(),
                    tuple(arriving),
                    tuple(s.number for s in given),
                    tuple(s.type for s in given),
                    frozenset(s.number for s in given if self.alone[s]),
                    tuple((e.delivery.stream, e.output) for e in self.natives.values() if e.level == level),
                    tuple(self.names[s] for s in given),
                )
            )
        sources = {stream.number: origin for stream, origin in self.origin.items()}
        numbers = [stream.number for stream in outputs]
        alone = frozenset(stream.number for stream, is_one in self.alone.items() if is_one)
        natives = list(self.natives.values())
        return Plan(entries, stages, deliveries, numbers, sources, literals, alone, self.vertices, natives)


def plan_stages(dag: Dag) -> Plan:
    """Cuts a program on tables into stages."""
    return _Planner(dag).plan()

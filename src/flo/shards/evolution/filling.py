"""The program that computes the states and outputs that a changed program does not keep.

    kept              orders ─> join(shops) ─> …                 the state of the join has all rows of both sides
    filled                                └──> group_by ─> means

    the fill program  rows of orders, from the state ──┐
                      rows of shops, from the state ───┴> join ─> group_by ─> means

Its inputs are streams whose rows are known: from the state of an operator or a view, or read again by whoever has the
input. An operator between them and what is filled runs once more, and its second state is thrown away.

Invariant: the fill program gives every operator that is filled all rows of its inputs, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from flo.core.structural import EmitOnce
from flo.program.dag import Dag, Stream, Vertex
from flo.shards.evolution.comparison import Holder, IsWhole, ProgramComparison
from flo.tables.operator import OnTables


@dataclass(frozen=True)
class Refilled:
    """An input of the fill program: a stream of the new one, and who has its rows."""

    stream: Stream
    """The stream of the new program."""
    holder: Holder | None
    """Where the checkpoint has them; None if the input is read again."""


@dataclass
class FillProgram:
    """A program that computes what is not kept."""

    dag: Dag = field(default_factory=Dag)
    inputs: list[Refilled] = field(default_factory=list)
    """Where the rows of its inputs come from."""
    outputs: list[str] = field(default_factory=list)
    """The outputs of the new program whose rows it computes."""
    sources: dict[Stream, frozenset[str]] = field(default_factory=dict)
    """The inputs of the new program that each of its streams depends on."""
    ids: set[str] = field(default_factory=set)
    """The operators whose states it computes for the new program."""


class FillBuilder:
    """Builds the fill program, from what is filled back to streams whose rows are known."""

    def __init__(
        self,
        compared: ProgramComparison,
        names: list[str],
        wanted: frozenset[str],
        ended: frozenset[str],
        is_whole: IsWhole,
    ) -> None:
        """`names` are the outputs of the program, and `wanted` those whose rows somebody has; `ended` are the inputs
        that have ended, whose rows no state has any more. `is_whole` says whether a state still has all rows."""
        self.compared, self.ended, self._is_whole = compared, ended, is_whole
        self.fill = FillProgram()
        dag = compared.dag
        self._makers = {stream: vertex for vertex in dag.vertices for stream in vertex.outputs}
        self.fill.sources = {stream: frozenset({stream.name}) for stream in dag.inputs}
        for vertex in dag.vertices:
            read = frozenset[str]().union(*(self.fill.sources[stream] for stream in vertex.inputs))
            self.fill.sources |= dict.fromkeys(vertex.outputs, read)
        self._new: dict[Stream, Stream] = {}
        self._added: set[str] = set()
        filled: set[Stream] = set()
        for vertex in dag.vertices:
            # the form of a state depends on who reads its operator, so those that cost nothing are there, too
            follows = not has_state(vertex) and bool(vertex.inputs) and filled.issuperset(vertex.inputs)
            if follows or (vertex.id not in compared.kept and has_state(vertex)):
                self._add(vertex)
                filled.update(vertex.outputs)
        for name, stream in zip(names, dag.outputs, strict=True):
            if name in wanted and name not in compared.same_outputs:
                self.fill.outputs.append(name)
                self.fill.dag.outputs.append(self._need(stream))
        outputs = [self._new[stream] for stream in dag.outputs if stream in filled]
        self.fill.dag.outputs += [each for each in dict.fromkeys(outputs) if each not in self.fill.dag.outputs]
        self._keep_states()
        self.fill.ids = {vertex.id for vertex in self.fill.dag.vertices if vertex.id not in compared.kept}

    def _need(self, stream: Stream) -> Stream:
        """The stream in the fill program."""
        if stream not in self._new:
            holder = None if self._has_ended(stream) else self.compared.find_holder(stream, self._is_whole)
            maker = self._makers.get(stream)
            if holder is None and maker is not None:
                self._add(maker)
            else:
                self._new[stream] = own = self.fill.dag.add_stream(stream.type)
                own.name = stream.name
                self.fill.dag.inputs.append(own)
                self.fill.inputs.append(Refilled(stream, holder))
        return self._new[stream]

    def _add(self, vertex: Vertex) -> None:
        """Adds an operator, with all that it needs."""
        if vertex.id in self._added:
            return
        self._added.add(vertex.id)
        inputs = tuple(map(self._need, vertex.inputs))
        outputs = []
        for stream in vertex.outputs:
            own = self.fill.dag.add_stream(stream.type)
            own.name = stream.name
            self._new.setdefault(stream, own)
            outputs.append(own)
        self.fill.dag.vertices.append(replace(vertex, inputs=inputs, outputs=tuple(outputs)))

    def _has_ended(self, stream: Stream) -> bool:
        """Whether the stream has ended: operators keep nothing then. Literals end at once."""
        return self.fill.sources[stream] <= self.ended

    def _keep_states(self) -> None:
        """Makes outputs of an operator that nobody reads: what no output needs is left out."""
        dag = self.fill.dag
        needed = {stream for vertex in dag.vertices for stream in vertex.inputs}.union(dag.outputs)
        dag.outputs += [s for v in dag.vertices if needed.isdisjoint(v.outputs) for s in v.outputs]


def has_state(vertex: Vertex) -> bool:
    """Whether an operator keeps anything."""
    operator = vertex.operator
    if isinstance(operator, EmitOnce):
        return False
    return bool(operator.parts()) if isinstance(operator, OnTables) else not operator.row_by_row

"""What a changed program keeps of the state of the one before it.

    before                                now
    orders ─> join ─> group_by ─> sums    orders ─> join ─> group_by ─> sums          kept: join, group_by
                                                        └─> group_by ─> means         filled: the second group_by

An operator is *kept* if the checkpoint has its id, its state has the same columns, and it runs in the same shards.
Any other is *filled*: its state is what it would be after all input so far. What only the old program has is *dropped*.

Invariant: every output is what the new program gives on all input so far. An output whose stream is the one before is
kept, with its view or its sink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from flo.core.program_outline import without_number
from flo.core.untyped import Json
from flo.program.dag import Dag, Stream
from flo.shards.checkpoint.column_fit import type_of, widens
from flo.shards.checkpoint.program_changes import Description, columns_of, input_names
from flo.shards.tasks.output_files import VIEW
from flo.tables.values import layout_of

UNORDERED = ("ZSet", "Bag", "Set")
"""Collections that are the sum of their changes, in any order."""


@dataclass(frozen=True)
class Holder:
    """A place in a checkpoint that has all rows of a stream."""

    columns: Mapping[str, str]
    """The types of its columns, by name."""
    level: int = -1
    """The stage of the operator that keeps them."""
    vertex: str = ""
    parts: tuple[str, ...] = ()
    """The parts of its state that have them."""
    view: str = ""
    """The view, if one has them."""


IsWhole: TypeAlias = Callable[[Holder], bool]
"""Whether a state has all rows of a stream: a join keeps none once the other side has ended."""


@dataclass(frozen=True)
class ProgramComparison:
    """The program of a checkpoint, and ours."""

    before: Description
    ours: Description
    dag: Dag
    """Our program, on tables."""
    levels: Mapping[str, int]
    """The stage of every operator of the program before."""
    kept: frozenset[str]
    """The ids of operators that keep their state."""
    same_outputs: frozenset[str]
    """The outputs whose streams are as before, and that are kept as before."""
    holders: Mapping[str, list[Holder]] = field(repr=False)
    """By the name of a stream, without its number, who has its rows."""

    @property
    def is_same(self) -> bool:
        """Whether the state can be used as it is: the same operators in the same stages, the same inputs in the order
        by which commits name them, and the same outputs. The rows of a view that was removed must go: the program may
        not have their types any more."""
        views = {name for name, how in self.before["outputs"].items() if how == VIEW}
        outputs = set(self.ours["outputs"])
        return (
            _layout(self.before) == _layout(self.ours)
            and input_names(self.before) == input_names(self.ours)
            and self.same_outputs == outputs
            and views <= outputs
        )

    @property
    def dropped(self) -> list[str]:
        """The ids of operators that only the program before has."""
        return [each for each in self.levels if each not in self.kept]

    def find_holder(self, stream: Stream, is_whole: IsWhole) -> Holder | None:
        """Who has all rows of a stream, with all columns that are read of it."""
        wanted = columns_of(stream)
        if wanted is None or stream.type.collection.base.name not in UNORDERED:  # type: ignore[attr-defined]
            return None
        added = self._added_columns(stream)
        for each in self.holders.get(without_number(stream.name), ()):
            missing = wanted.keys() - each.columns.keys()
            if (
                missing <= added
                and all(is_as_wide(each.columns[name], kind) for name, kind in wanted.items() if name in each.columns)
                and is_whole(each)
            ):
                return each
        return None

    def _added_columns(self, stream: Stream) -> set[str]:
        """The columns that an input has gained, if it is one: no row so far has a value in them."""
        if stream not in self.dag.inputs:
            return set()
        known = {line.partition(": ")[0] for line in self.before["inputs"]}
        schema = layout_of(stream.type.collection.base).schema  # type: ignore[attr-defined]
        return {each.name for each in schema if each.nullable and f"{stream.name}.{each.name}" not in known}


def compare_programs(before: Description, ours: Description, dag: Dag, refill: frozenset[str]) -> ProgramComparison:
    """Compares two programs. `refill` are the ids of operators, and the names of inputs, whose rows are not those of
    before: what follows is computed anew."""
    theirs = {key: (stage["level"], each) for stage in before["stages"] for key, each in stage["operators"].items()}
    own = {key: each for stage in ours["stages"] for key, each in stage["operators"].items()}
    stale = _ids_after(dag, refill)
    kept = frozenset(
        key
        for key, each in own.items()
        if key in theirs and key not in stale and _state_of(each) == _state_of(theirs[key][1])
    )
    changed = {stream.name for vertex in dag.vertices if vertex.id in stale for stream in vertex.outputs} | refill
    changed = set(map(without_number, changed))
    return ProgramComparison(
        before,
        ours,
        dag,
        {key: level for key, (level, _) in theirs.items()},
        kept,
        frozenset(_same_outputs(before, ours, changed)),
        _holders(before, changed),
    )


def is_as_wide(kind: str, other: str) -> bool:
    """Whether a type, by its text, has all values of the first one."""
    before, now = type_of(kind), type_of(other)
    if kind == other or before is None or now is None:
        return kind == other
    return not pa.types.is_timestamp(before) and widens(before, now)  # a time may lose digits in another unit


def _layout(description: Description) -> list[Json]:
    return [
        (stage["level"], {key: _state_of(each) for key, each in stage["operators"].items()})
        for stage in description["stages"]
    ]


def _state_of(operator: Description) -> tuple[Json, ...]:
    """What must be equal for a state to be kept."""
    return operator.get("form"), operator["where"]


def _ids_after(dag: Dag, changed: frozenset[str]) -> set[str]:
    """The ids of these operators, and of all that read what they emit."""
    stale: set[str] = set()
    streams = {stream for stream in dag.inputs if stream.name in changed}
    for vertex in dag.vertices:
        own = vertex.id.partition("/")[0]  # what a rewrite has added belongs to it
        if own in changed or streams.intersection(vertex.inputs):
            stale.add(vertex.id)
            streams.update(vertex.outputs)
    return stale


def _same_outputs(before: Description, ours: Description, changed: set[str]) -> list[str]:
    """The outputs that have the stream, the columns and the handling that they had."""
    streams, own = (
        {name: {**each, "stream": without_number(each["stream"])} for name, each in program.get("streams", {}).items()}
        for program in (before, ours)
    )
    return [
        name
        for name, how in ours["outputs"].items()
        if streams.get(name) == own[name]
        and (how == VIEW) <= (before["outputs"].get(name) == VIEW)
        and own[name]["stream"] not in changed
    ]


def _holders(before: Description, changed: set[str]) -> dict[str, list[Holder]]:
    """Who has the rows of which streams: views first, which have all columns and no others beside them."""
    holders: dict[str, list[Holder]] = {}

    def add(stream: str, holder: Holder) -> None:
        stream = without_number(stream)
        if stream not in changed:
            holders.setdefault(stream, []).append(holder)

    for name, each in before.get("streams", {}).items():
        if before["outputs"][name] == VIEW and each["columns"] is not None:
            add(each["stream"], Holder(each["columns"], view=name))
    for stage in before["stages"]:
        for key, operator in stage["operators"].items():
            for stream, held in operator.get("holds", {}).items():
                if held["columns"] is not None:
                    add(stream, Holder(held["columns"], stage["level"], key, tuple(held["parts"])))
    return holders

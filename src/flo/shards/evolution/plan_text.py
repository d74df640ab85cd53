"""What a start of a changed program would do, in the user's words: verbs, lines and names of outputs.

    kept      join(shops, on="shop")        sales.py:12
    filled    group_by("city").agg(…)       sales.py:15    from the rows that `join` keeps (sales.py:12): about 1,200
    dropped   group_by("shop").agg(…)       sales.py:13

    output means     new: it gets all rows, from the rows that `join` keeps (sales.py:12); how many is known …
    output totals    removed: its sink stays as it is

Invariant: a number is said only if it is known without computing anything.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from flo.api.scope import NOW
from flo.core.errors import CheckpointError
from flo.core.program_outline import ANEW, AppliedOperator, expect_same_functions, from_plain
from flo.program.dag import Stream
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.program_changes import PAST_INPUTS
from flo.shards.evolution.comparison import ProgramComparison
from flo.shards.evolution.filling import FillProgram, Refilled, has_state
from flo.shards.evolution.snapshots import count_rows
from flo.shards.tasks.output_files import COUNT, PARTS

KEPT, FILLED, DROPPED = "kept", "filled", "dropped"
LATER = "how many is known after the fill"


class PlannedOperator(NamedTuple):
    """What becomes of the state of an operator."""

    what: str
    words: str
    """The verb with its arguments."""
    line: str
    source: str = ""
    """Where the rows of a fill come from, and how many they are."""


@dataclass(frozen=True)
class ChangePlan:
    """What a start of a changed program would do."""

    compared: ProgramComparison
    fill: FillProgram
    where: str
    version: int
    given: Collection[str] = ()
    """The inputs whose rows the user gives."""
    reads_again: bool = False
    """Whether the sources of inputs can be read again."""
    refill: Collection[str] = field(default=())

    @cached_property
    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self.where)

    @cached_property
    def operators(self) -> list[PlannedOperator]:
        """The operators that keep state, in the order of the program; and those that are dropped."""
        before, ours = (from_plain(each["outline"]) for each in (self.compared.before, self.compared.ours))
        stateful = {vertex.id for vertex in self.compared.dag.vertices if has_state(vertex)}
        filled, kept = ({_own(each) for each in ids & stateful} for ids in (self.fill.ids, self.compared.kept))
        planned = []
        for each in ours:
            if each.id in filled:
                planned.append(PlannedOperator(FILLED, each.words, each.line, self._describe_sources(each.id)))
            elif each.id in kept:
                planned.append(PlannedOperator(KEPT, each.words, each.line))
        staying, dropped = {each.id for each in ours}, {_own(each) for each in self.compared.dropped}
        gone = [each for each in before if each.id in dropped and each.id not in staying]
        return planned + [PlannedOperator(DROPPED, each.words, each.line) for each in gone]

    def _describe_sources(self, operator: str) -> str:
        """Where the rows of an operator come from, and how many they are."""
        streams = [s for v in self.fill.dag.vertices if _own(v.id) == operator for s in v.outputs]
        places = set[int]().union(*(self._places_before[stream] for stream in streams))
        counts: dict[str, list[int | None]] = {}
        for place in sorted(places):
            each = self.fill.inputs[place]
            own = counts.setdefault(self._describe_source(each), [])
            if each.holder is not None or (self.reads_again and each.stream.name in self._past_inputs):
                own.append(self._count(each))
        return ", and ".join(f"{words}{_describe_count(own)}" for words, own in counts.items())

    @cached_property
    def _places_before(self) -> dict[Stream, set[int]]:
        """By stream of the fill, the inputs of the fill that its rows come from."""
        dag = self.fill.dag
        before = {stream: {place} for place, stream in enumerate(dag.inputs)}
        for vertex in dag.vertices:
            places = set[int]().union(*(before[stream] for stream in vertex.inputs))
            before |= dict.fromkeys(vertex.outputs, places)
        return before

    def _describe_source(self, each: Refilled) -> str:
        """Where the rows of an input of the fill come from."""
        name, holder = each.stream.name, each.holder
        if holder is not None and holder.view:
            return f"the view `{holder.view}`"
        if holder is not None:
            operator = self._by_id.get(_own(holder.vertex))
            verb, line = (operator.verb, operator.line) if operator is not None else ("an operator", "")
            return f"the rows that `{verb}` keeps" + (f" ({line})" if line else "")
        if name in self.given:
            return f"your own rows of the input `{name}`" if name != NOW else "the time"
        if name not in self._past_inputs:
            return f"the input `{name}`, which is new"
        if self.reads_again:
            return f"the input `{name}`, read again from its source"
        return f"all rows of the input `{name}`, which nothing has"

    def _count(self, each: Refilled) -> int | None:
        """How many rows an input of the fill has, if that is known."""
        if each.holder is None:
            return None if each.stream.name in self._past_inputs else 0
        return count_rows(self._checkpoint, self.version, each.holder)

    @property
    def _past_inputs(self) -> Collection[str]:
        """The inputs that have had rows."""
        past: Collection[str] = self.compared.ours.get(PAST_INPUTS, ())
        return past

    @cached_property
    def _by_id(self) -> dict[str, AppliedOperator]:
        return {each.id: each for each in from_plain(self.compared.before["outline"])}

    @cached_property
    def outputs(self) -> list[tuple[str, str]]:
        """What becomes of each output, by its name, and what its sink receives."""
        before, ours = self.compared.before["outputs"], self.compared.ours["outputs"]
        planned = []
        for name, how in ours.items():
            if name in self.compared.same_outputs:
                planned.append((name, "as before" + (": its sink gets nothing" if how == PARTS else "")))
            elif how == COUNT:
                planned.append((name, "only counted from now on"))
            else:
                planned.append((name, self._describe_output(name, name in before, how == PARTS)))
        gone = [(name, "removed: its sink stays as it is") for name in before if name not in ours]
        return planned + gone

    def _describe_output(self, name: str, is_known: bool, has_sink: bool) -> str:
        """What an output gets that is filled, and where its rows come from."""
        stream = self.fill.dag.outputs[self.fill.outputs.index(name)]
        places = sorted(self._places_before[stream])
        sources = dict.fromkeys(self._describe_source(self.fill.inputs[place]) for place in places)
        source = f", from {', and '.join(sources)}" if sources else ""
        if is_known and has_sink:
            later = "how many rows are added and retracted is known after the fill"
            return f"changed: its sink gets the difference to what it holds{source}; {later}"
        known = self._rows_of_stream(stream)
        rows = f"about {known:,} rows{source}" if known is not None else f"all rows{source}; {LATER}"
        return f"changed: the view gets {rows}" if is_known else f"new: it gets {rows}"

    def _rows_of_stream(self, stream: Stream) -> int | None:
        """How many rows a stream of the fill has, if the fill only copies them."""
        if stream not in self.fill.dag.inputs:
            return None
        return self._count(self.fill.inputs[self.fill.dag.inputs.index(stream)])

    @cached_property
    def problems(self) -> list[CheckpointError]:
        """What cannot be done, with the ways forward."""
        problems = []
        before, ours = (from_plain(each["outline"]) for each in (self.compared.before, self.compared.ours))
        try:
            expect_same_functions(before, ours, list(self.refill))
        except CheckpointError as error:
            problems.append(error)
        return problems + [self.missing_rows_error(name) for name in self.missing_inputs]

    @property
    def missing_inputs(self) -> list[str]:
        """The inputs whose rows are needed, and nothing has them."""
        needed = [each.stream.name for each in self.fill.inputs if each.holder is None]
        missing = [name for name in needed if name in self._past_inputs and name not in self.given]
        return [] if self.reads_again else missing

    def missing_rows_error(self, name: str) -> CheckpointError:
        """The error for an input whose rows nothing has."""
        filled = [each for each in self.operators if each.what == FILLED]
        facts = [("filled", _shorten(each.words) + (f"   ({each.line})" if each.line else "")) for each in filled]
        changed = [(f"output {output}", what) for output, what in self.outputs if not what.startswith("as before")]
        return CheckpointError(
            f"the changed program needs all rows that the input `{name}` has had, and the checkpoint does not hold"
            " them",
            facts=(*facts, *changed),
            instead=((f'fill={{"{name}": rows}}', "your own copy of them: a table, a frame, files or rows"), ANEW),
        )

    def describe(self) -> list[tuple[str, str]]:
        """The plan as facts of an error: a line for each operator, each output and each problem."""
        lines = []
        for each in self.operators:
            where = f"   ({each.line})" if each.line else ""
            source = f", from {each.source}" if each.source else ""
            lines.append((each.what, f"{_shorten(each.words)}{where}{source}"))
        lines += [(f"output {name}", what) for name, what in self.outputs]
        return lines + [("not possible", each.summary) for each in self.problems]

    def changed_program_error(self, error: CheckpointError) -> CheckpointError:
        """The error for a changed program, with what `changed="fill"` would do."""
        fill = [('changed="fill"', "keeps and fills as above, and goes on")]
        more = [way for each in self.problems for way in each.instead if way != ANEW]
        ways = dict.fromkeys((*(more if self.problems else fill), *error.instead))
        return CheckpointError(error.summary, facts=(*error.facts, *self.describe()), instead=tuple(ways))

    def missing_content_error(self, name: str) -> CheckpointError:
        """The error for sinks that cannot be compared with their outputs, because the rows of an input are needed."""
        outputs = ", ".join(f"`{each}`" for each in self.fill.outputs)
        return CheckpointError(
            f"the sink of {outputs} cannot be reconciled: that needs all rows that the input `{name}` has had, and the"
            " checkpoint does not hold them",
            instead=(
                (f'fill={{"{name}": rows}}', "your own copy of them: a table, a frame, files or rows"),
                ("a view of the same stream", "beside the sink, from the first start on: it has the rows"),
                ANEW,
            ),
        )


def _describe_count(counts: list[int | None]) -> str:
    known = [count for count in counts if count is not None]
    if not counts:
        return ""
    return f": about {sum(known):,}" if len(known) == len(counts) else f": {LATER}"


def _own(vertex_id: str) -> str:
    """The id of the user's operator that a vertex belongs to."""
    return vertex_id.partition("/")[0]


def _shorten(words: str) -> str:
    return words if len(words) <= 80 else f"{words[:79]}…"

"""What a start of a changed program would do, in the user's words: verbs, lines and names of outputs.

kept      join(shops, on="shop")        sales.py:12
filled    group_by("city").agg(…)       sales.py:15    from the rows that join keeps (sales.py:12)
dropped   group_by("shop").agg(…)       sales.py:13
means     new: it gets all rows, from the rows that join keeps (sales.py:12)
totals    removed
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flo.core.errors import CheckpointError
from flo.core.program_outline import ANEW, AppliedOperator, from_plain
from flo.shards.checkpoint.program_changes import PAST_INPUTS, input_names
from flo.shards.evolution.comparison import Comparison
from flo.shards.evolution.filling import FillProgram, has_state

KEPT, FILLED, DROPPED = "kept", "filled", "dropped"


class PlannedOperator(NamedTuple):
    """What becomes of the state of an operator."""

    what: str
    words: str
    """The verb with its arguments."""
    line: str
    source: str = ""
    """Where the rows of a fill come from."""


def plan_operators(compared: Comparison, fill: FillProgram) -> Iterator[PlannedOperator]:
    """The operators that keep state, in the order of the program; and those that are dropped."""
    before, ours = (from_plain(each["outline"]) for each in (compared.before, compared.ours))
    stateful = {vertex.id for vertex in compared.dag.vertices if has_state(vertex)}
    filled, kept = ({_own(each) for each in ids & stateful} for ids in (fill.ids, compared.kept))
    came_from = describe_sources(compared, fill)
    for each in ours:
        if each.id in filled:
            yield PlannedOperator(FILLED, each.words, each.line, came_from)
        elif each.id in kept:
            yield PlannedOperator(KEPT, each.words, each.line)
    staying = {each.id for each in ours}
    dropped = {_own(each) for each in compared.dropped}
    for each in before:
        if each.id in dropped and each.id not in staying:
            yield PlannedOperator(DROPPED, each.words, each.line)


def describe_sources(compared: Comparison, fill: FillProgram) -> str:
    """Where the rows of a fill come from."""
    by_id = {each.id: each for each in from_plain(compared.before["outline"])}
    known = {*input_names(compared.before), *compared.before.get(PAST_INPUTS, ())}
    described = (
        _describe_holder(by_id, each.holder, each.stream.name)
        if each.holder is not None or each.stream.name in known
        else f"the input `{each.stream.name}`, which is new"
        for each in fill.inputs
    )
    return ", ".join(dict.fromkeys(described))


def _describe_holder(by_id: dict[str, AppliedOperator], holder: object, stream: str) -> str:
    view, vertex = getattr(holder, "view", ""), getattr(holder, "vertex", "")
    if view:
        return f"the view `{view}`"
    operator = by_id.get(_own(vertex)) if vertex else None
    if operator is not None:
        return f"the rows that `{operator.verb}` keeps" + (f" ({operator.line})" if operator.line else "")
    return f"the input `{stream}`, read again" if not vertex else "the state"


def plan_outputs(compared: Comparison, fill: FillProgram) -> Iterator[tuple[str, str]]:
    """What becomes of each output, by its name."""
    before, ours = compared.before["outputs"], compared.ours["outputs"]
    sources = describe_sources(compared, fill)
    for name in ours:
        came_from = f", from {sources}" if sources and name in fill.outputs else ""
        if name not in before:
            yield name, f"new: it gets all rows{came_from}"
        elif name in compared.same_outputs:
            yield name, "as before"
        else:
            yield name, f"changed: it gets the difference{came_from}"
    for name in before:
        if name not in ours:
            yield name, "removed: its sink stays as it is"


def describe_plan(compared: Comparison, fill: FillProgram) -> list[tuple[str, str]]:
    """The plan as facts of an error: a line for each operator and each output."""
    lines = []
    for each in plan_operators(compared, fill):
        where = f"   ({each.line})" if each.line else ""
        source = f", from {each.source}" if each.source else ""
        lines.append((each.what, f"{_shorten(each.words)}{where}{source}"))
    return lines + [(f"output {name}", what) for name, what in plan_outputs(compared, fill)]


def changed_program_error(error: CheckpointError, compared: Comparison, fill: FillProgram) -> CheckpointError:
    """The error for a changed program, with what `changed="fill"` would do."""
    ways = (('changed="fill"', "keeps and fills as above, and goes on"), *error.instead)
    return CheckpointError(error.summary, facts=(*error.facts, *describe_plan(compared, fill)), instead=ways)


def missing_rows_error(compared: Comparison, fill: FillProgram, name: str) -> CheckpointError:
    """The error for an input whose rows nothing has."""
    filled = [each for each in plan_operators(compared, fill) if each.what == FILLED]
    facts = [("filled", _shorten(each.words) + (f"   ({each.line})" if each.line else "")) for each in filled]
    changed = [(f"output {output}", what) for output, what in plan_outputs(compared, fill) if what != "as before"]
    return CheckpointError(
        f"the changed program needs all rows that the input `{name}` has had, and the checkpoint does not hold them",
        facts=(*facts, *changed),
        instead=((f'fill={{"{name}": rows}}', "your own copy of them: a table, a frame, files or rows"), ANEW),
    )


def missing_content_error(compared: Comparison, fill: FillProgram, name: str) -> CheckpointError:
    """The error for sinks that cannot be compared with their outputs, because the rows of an input are needed."""
    outputs = ", ".join(f"`{each}`" for each in fill.outputs)
    return CheckpointError(
        f"the sink of {outputs} cannot be reconciled: that needs all rows that the input `{name}` has had, and the"
        " checkpoint does not hold them",
        instead=(
            (f'fill={{"{name}": rows}}', "your own copy of them: a table, a frame, files or rows"),
            ("a view of the same stream", "beside the sink, from the first start on: it has the rows"),
            ANEW,
        ),
    )


def _own(vertex_id: str) -> str:
    """The id of the user's operator that a vertex belongs to."""
    return vertex_id.partition("/")[0]


def _shorten(words: str) -> str:
    return words if len(words) <= 80 else f"{words[:79]}…"

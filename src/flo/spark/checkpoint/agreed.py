"""What a checkpoint is of: a program, cut into stages, on so many shards. A changed program may go on, or may not."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from flo.core.checkpoint import describe_difference, expect_same, function_identities
from flo.core.errors import CheckpointError
from flo.core.graph import Graph, nodes, text
from flo.core.operator import Operator
from flo.core.term import Lowering
from flo.spark.checkpoint.files import about, committed, read_commits, write_about
from flo.spark.plan.planning import placement
from flo.spark.plan.stages import Entry, Plan, Stage
from flo.spark.tasks.arriving import rows_in
from flo.spark.tasks.kept import VIEW, Output
from flo.spark.tasks.state import STATE, Shard
from flo.tables.checkpoint.folders import folder
from flo.tables.operator import Placement
from flo.tables.operators.nest import OnStreams
from flo.tables.values import Columns, layout_of

Content = dict[str, Any]


def content_of(name: str, graph: Graph, plan: Plan, inputs: list[str], outputs: list[Output], shards: int) -> Content:
    """All that is needed to read, check and cut the state anew without the program."""
    return {
        "flow": name,
        "program": text(Lowering()(graph), states=False),
        "functions": list(function_identities(graph)),
        "inputs": [line for name, entry in zip(inputs, plan.entries, strict=False) for line in _input(name, entry)],
        "outputs": {output.name: output.how for output in outputs},
        "shards": shards,
        "stages": [_stage(plan, stage, outputs) for stage in plan.stages],
    }


def _input(name: str, entry: Entry) -> Iterator[str]:
    """An input and its columns, line by line: the text of the program leaves types out."""
    of, rows = entry.type.collection, rows_in(entry.type.collection)
    kind = rows.name if isinstance(of, Columns) else str(of)
    yield f"{name}: {kind}, {'bounded' if entry.type.bounded else 'unbounded'}"
    for column in layout_of(rows).schema if rows else ():
        yield f"{name}.{column.name}: {column.type}{'' if column.nullable else ' not null'}"


def _stage(plan: Plan, stage: Stage, outputs: list[Output]) -> Content:
    vertices = {id(vertex.operator): vertex for _, vertex in plan.vertices}
    operators = []
    for node in nodes(stage.graph):
        vertex = vertices.get(id(node.operator))
        alone = vertex is not None and bool(vertex.outputs) and vertex.outputs[0].number in plan.alone
        where = Placement.ONE_PLACE if alone else _spread(node.operator) if vertex else Placement.ANYWHERE
        name = getattr(node.operator, "like", node.operator).name
        operators.append({"name": name, "line": str(node.origin or ""), "where": where.value})
    initial = Shard("", 1, stage.level, 0, stage.graph, tuple(each.type for each in stage.inputs)).initial()
    return {
        "level": stage.level,
        "operators": operators,
        "initial": initial.hex(),
        "spread": [o.name for o in outputs if o.stream in stage.outputs and o.stream not in stage.alone],
    }


def _spread(operator: Operator) -> Placement:
    """Where the rows of an operator are that runs in all shards: on values it does so by the keys of its streams, and
    what reads whole windows takes them as they come."""
    wanted = Placement.ANYWHERE if isinstance(operator, OnStreams) else placement(operator)
    return Placement.BY_KEY if wanted is Placement.ONE_PLACE else wanted


def agreed(where: str, ours: Content, shards: int | None) -> int:
    """The number of shards: that of the checkpoint, if there is one; refused if its program is another.

    A program of which no turn is committed has left nothing behind that another could not replace. The checkpoint has
    an id, which sinks know it by; another program has another. One that was written before there were ids has its path.
    """
    before, versions = about(where), read_commits(where)
    goes_on = before is not None and (bool(versions) or _is_same(before, ours))
    ours["id"] = before.get("id", where) if goes_on else uuid.uuid4().hex
    if before is not None and versions:
        _compared(before, ours)
        if shards is not None and shards != before["shards"]:
            raise CheckpointError(
                f"the checkpoint has {before['shards']} shards, and {shards} were asked for",
                instead=((f"flo state rescale {where} {shards}", "cuts the state anew"),),
            )
        ours["shards"] = before["shards"]
    return int(ours["shards"])


def write_agreed(where: str, ours: Content) -> None:
    """Says what the checkpoint is of from now on. Lines and sinks may have changed."""
    before = about(where)
    if before is None or {**before, **ours} != before:
        if not committed(where):
            folder(where).remove(STATE)  # of another program, whose first turn was broken off
        write_about(where, ours)


def _is_same(before: Content, ours: Content) -> bool:
    try:
        _compared(before, ours)
    except CheckpointError:
        return False
    return True


def _compared(before: Content, ours: Content) -> None:
    if before["program"] != ours["program"]:
        facts = describe_difference(before["program"], ours["program"])
        raise CheckpointError("the checkpoint belongs to another program", facts=facts)
    named = ("def name(…)", "a named function may change; a lambda is its text")
    expect_same(tuple(before["functions"]), tuple(ours["functions"]), named)
    expect_same(tuple(before["inputs"]), tuple(ours["inputs"]))
    expect_same(tuple(before["outputs"]), tuple(ours["outputs"]))
    for name, how in ours["outputs"].items():
        if how == VIEW and before["outputs"][name] != VIEW:
            raise CheckpointError(
                f"the output `{name}` was no view until now, and what it gave before was not kept",
                instead=(("another checkpoint", "begins anew"), ("the sink it had", "goes on")),
            )
    for their, our in zip(before["stages"], ours["stages"], strict=False):
        expect_same(_cut(their), _cut(our))
    if len(before["stages"]) != len(ours["stages"]):
        raise CheckpointError("the checkpoint was cut into other stages, by another version of Flo")


def _cut(stage: Content) -> tuple[str, ...]:
    return tuple(f"stage {stage['level']}: {each['name']} {each['where']}" for each in stage["operators"])

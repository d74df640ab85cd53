"""`flo.json`, the description of the program a checkpoint belongs to; and which program changes may resume from it.

    flow       sales
    outline    the operators, with their parameters and functions
    inputs     "orders: Bag, unbounded", "orders.price: int64 not null", …
    outputs    {"sums": "view", "large": "parts"}
    shards     8
    stages     [{"level": 1, "operators": {id: {"name", "line", "where", "bound"}}, "spread": ["sums"]}]

    before                      now                       a start with it
    sums is a view              sums goes to a sink       resumes: the sink first gets the rows of the view
    sums goes to a sink         sums is a view            the view is filled
    group_by(shop)              group_by(city)            is rejected, or filled: see `flo.shards.evolution`

Invariant: a version belongs to one program, with one number of shards. A checkpoint has one id, by which sinks
recognize its versions.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping

from flo.core.checkpoint import Program, expect_same_program
from flo.core.errors import CheckpointError
from flo.core.operator import Bound, Operator
from flo.core.program_outline import Outline, expect_same_lines, from_plain, to_plain
from flo.core.untyped import Json
from flo.program.bounds import find_bounds
from flo.program.dag import Stream, Vertex
from flo.program.identity import digest
from flo.shards.checkpoint.commits import PROGRAM, committed_versions, read_commit, verified_versions
from flo.shards.checkpoint.given_changes import GIVEN
from flo.shards.checkpoint.spark_offsets import LOGS, SPARK_CHECKPOINT
from flo.shards.plan.planning import placement
from flo.shards.plan.stages import Entry, Plan, Stage
from flo.shards.tasks.input_task import row_collection
from flo.shards.tasks.output_files import VIEW, Output
from flo.shards.tasks.state import STATE
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import missing_file_error, read_sealed, write_sealed
from flo.tables.operator import OnTables, Placement, to_value_type
from flo.tables.values import Columns, layout_of

DESCRIPTION, PROGRAMS = "flo.json", "programs"
FILL = "fill"
"""The folder of a checkpoint in which a changed program is filled."""
BACKS, COPIED = "backs", "copied"
"""In a description: the versions that the checkpoint went back to; the ids of those that it is a copy of."""
PAST_INPUTS = "past_inputs"
"""In a description: the inputs of all programs so far. One that was removed and comes back has had rows."""
FIELDS = {
    "flow": str,
    "outline": list,
    "inputs": list,
    "sources": list,
    "outputs": dict,
    "shards": int,
    "stages": list,
}
"""The fields of a description, with their types."""
KEPT = (BACKS, COPIED, SPARK_CHECKPOINT, LOGS, "offsets")
"""The fields that another start keeps, unless it has its own."""
Description = dict[str, Json]


def read_description(where: str, version: int | None = None) -> Json:
    """The program of a version, by default of the newest: its stages, and the number of shards; None if there is no
    checkpoint."""
    files, name = folder(where), _description_file(where, version)
    if files.exists(name):
        return read_sealed(files, name, **FIELDS)
    if committed_versions(where):
        raise missing_file_error(files, name)
    return None


def expect_description(where: str, version: int | None = None) -> Json:
    """The program of a version. Raises if there is no checkpoint."""
    description = read_description(where, version)
    if description is None:
        raise CheckpointError(f"there is no checkpoint in {where!r}: the file `{DESCRIPTION}` is missing")
    return description


def read_shards(where: str, version: int) -> int:
    """The number of shards of a version."""
    return int(expect_description(where, version)["shards"])


def write_description(where: str, content: Description, version: int | None = None) -> None:
    """Replaces the description of the program of a version, by default of the newest."""
    write_sealed(folder(where), _description_file(where, version), content)


def add_description(where: str, content: Description, version: int) -> None:
    """Writes the description of a program that begins with a version."""
    write_sealed(folder(where), _program_file(version), content)


def _description_file(where: str, version: int | None) -> str:
    """The file that describes the program of a version, by default of the newest whose commit is not damaged."""
    every = committed_versions(where)[::-1] if version is None else [version] if version >= 0 else []
    for each in every:
        try:
            begun = read_commit(where, each).get(PROGRAM)
        except CheckpointError:
            if version is not None:
                raise
            continue
        return DESCRIPTION if begun is None else _program_file(begun)
    return DESCRIPTION


def _program_file(version: int) -> str:
    return f"{PROGRAMS}/{version:08}.json"


def describe_program(
    name: str, plan: Plan, inputs: list[str], outputs: list[Output], shards: int, outline: Outline
) -> Description:
    """A description from which the state can be read, checked and rescaled without the program."""
    return {
        "flow": name,
        "outline": json.loads(json.dumps(to_plain(outline))),  # lists, as they are read
        "inputs": [
            line for name, entry in zip(inputs, plan.entries, strict=False) for line in _describe_input(name, entry)
        ],
        "sources": [],
        "outputs": {output.name: output.how for output in outputs},
        "streams": {each.name: _describe_output(plan, each) for each in outputs},
        "shards": shards,
        "stages": [_describe_stage(plan, stage, outputs) for stage in plan.stages],
    }


def _describe_input(name: str, entry: Entry) -> Iterator[str]:
    """A line for the input and one for each column: the text of the program has no types."""
    of, rows = entry.type.collection, row_collection(entry.type.collection)
    kind = rows.name if isinstance(of, Columns) else str(of)
    yield f"{name}: {kind}, {'bounded' if entry.type.bounded else 'unbounded'}"
    for column in layout_of(rows).schema if rows else ():
        yield f"{name}.{column.name}: {column.type}{'' if column.nullable else ' not null'}"


def input_names(description: Description) -> list[str]:
    """The names of the inputs of a program, in their order."""
    return list(dict.fromkeys(line.partition(":")[0].partition(".")[0] for line in description["inputs"]))


def _describe_output(plan: Plan, output: Output) -> Description:
    """The stream of an output, and its columns."""
    stream = plan.stream(output.stream)
    return {"stream": stream.name, "columns": columns_of(stream), "type": describe_columns(stream)}


def _describe_stage(plan: Plan, stage: Stage, outputs: list[Output]) -> Description:
    """The operators of a stage, and the outputs that are spread over its shards."""
    bounds = _bounds(plan)
    operators = {}
    for vertex in stage.dag.vertices:
        alone = bool(vertex.outputs) and vertex.outputs[0].number in plan.alone
        operators[vertex.id] = {
            "name": getattr(vertex.operator, "like", vertex.operator).name,
            "line": str(vertex.origin or ""),
            "where": (Placement.ONE_PLACE if alone else _placement(vertex.operator)).value,
            "bound": bounds[vertex.id].value,
            "form": form_of(vertex),
            "holds": _describe_held(vertex),
        }
    return {
        "level": stage.level,
        "operators": operators,
        "spread": [o.name for o in outputs if o.stream in stage.outputs and o.stream not in stage.alone],
    }


def form_of(vertex: Vertex) -> str:
    """What the state of an operator looks like, besides its id: it depends on which columns its readers use."""
    return digest(vertex.operator.name, *(describe_columns(each) for each in (*vertex.inputs, *vertex.outputs)))


def describe_columns(stream: Stream) -> str:
    """The type of a stream, with the names and types of its columns."""
    of = stream.type.collection
    schema = layout_of(of.base).schema if isinstance(of, Columns) else ""
    return f"{of.base.name if isinstance(of, Columns) else of} {schema}"


def columns_of(stream: Stream) -> dict[str, str] | None:
    """The names and types of the columns of a stream; None if it has none."""
    of = stream.type.collection
    return {each.name: str(each.type) for each in layout_of(of.base).schema} if isinstance(of, Columns) else None


def _describe_held(vertex: Vertex) -> Description:
    """By name, the streams that the state of an operator has all rows of, with the parts that have them."""
    parts = vertex.operator.parts() if isinstance(vertex.operator, OnTables) else ()
    held: Description = {}
    for place, stream in enumerate(vertex.inputs):
        names = [part.name for part in parts if part.holds == place]
        if names:
            held[stream.name] = {"parts": names, "columns": columns_of(stream)}
    return held


def _bounds(plan: Plan) -> dict[str, Bound]:
    """The bound of the state of each operator of a plan, by the id of its vertex."""
    sent = {each.number: each.stream for each in plan.deliveries}
    bounds = find_bounds(
        [vertex for _, vertex in plan.vertices],
        lambda stream: sent[-1 - stream.number] if stream.number < 0 else stream.number,
        lambda stream: to_value_type(stream.type),
    )
    return {vertex.id: bound for vertex, bound in bounds}


def _placement(operator: Operator) -> Placement:
    """The placement of an operator that runs in all shards.

    An operator on values runs there only if its streams are keyed. One that reads whole windows takes any of them.
    """
    by_stream = isinstance(operator, OnTables) and operator.stream_by_stream
    wanted = Placement.ANYWHERE if by_stream else placement(operator)
    return Placement.BY_KEY if wanted is Placement.ONE_PLACE else wanted


def resolve_shards(where: str, ours: Description, shards: int | None, version: int | None = None) -> int:
    """Completes the description of our program with what the checkpoint has at a version, by default the newest;
    returns the number of shards.

    A checkpoint with commits keeps its id, by which sinks recognize it, and its number of shards, unless another one is
    given. Without commits, another program may take its place, under a new id. The field `replaced` has the ids before
    it, and `new_sinks` the outputs that were views and have other sinks now.
    """
    before, versions = read_description(where, version), verified_versions(where)
    resumes = before is not None and (bool(versions) or _is_same_program(before, ours))
    ours["id"] = before.get("id", where) if resumes else uuid.uuid4().hex
    replaced = [] if before is None or versions else before.get("replaced", [])
    ours["replaced"] = replaced if before is None or resumes else [*replaced, before.get("id", where)]
    ours["new_sinks"] = []
    if before is not None and versions:
        ours["shards"] = shards or before["shards"]
        ours["sources"] = ours["sources"] or before["sources"]
        ours |= {name: before[name] for name in KEPT if name in before and name not in ours}
        were = {*before.get("new_sinks", ()), *(name for name, how in before["outputs"].items() if how == VIEW)}
        ours["new_sinks"] = [name for name, how in ours["outputs"].items() if how != VIEW and name in were]
    return int(ours["shards"])


def with_views(before: Description, given: Mapping[str, object]) -> Description:
    """The description of a version at which outputs were views that have got sinks later: they were given nothing."""
    were = {name: VIEW for name in before.get("new_sinks", ()) if name not in given}
    return {**before, "outputs": {**before["outputs"], **were}}


def update_description(where: str, ours: Description) -> None:
    """Writes our description if it differs: lines and sinks may have changed."""
    before = read_description(where)
    if before is None or {**before, **ours} != before:
        if not committed_versions(where):
            folder(where).remove(STATE)  # left by another program whose first micro-batch failed
            if before is not None and before.get("id") != ours["id"]:
                folder(where).remove(GIVEN)
        write_description(where, ours)


def complete_description(before: Description, ours: Description) -> Description:
    """The description of the same program, with what earlier versions of Flo did not say: the columns of states."""
    if "streams" in before or not _is_same_program(before, ours):
        return before
    own = {key: each for stage in ours["stages"] for key, each in stage["operators"].items()}
    stages = [
        {**stage, "operators": {key: {**own.get(key, {}), **each} for key, each in stage["operators"].items()}}
        for stage in before["stages"]
    ]
    return {**before, "stages": stages, "streams": ours["streams"]}


def _is_same_program(before: Description, ours: Description) -> bool:
    try:
        expect_unchanged(before, ours)
    except CheckpointError:
        return False
    return True


def expect_unchanged(before: Description, ours: Description) -> None:
    """Raises with the difference if our program cannot resume from the state of the one before."""
    state = "the checkpoint"
    expect_same_program(_program(before), _program(ours), state)
    if before["sources"] and ours["sources"]:  # those of DataFrames; what is pushed has none
        theirs, own = ([f"input {line}" for line in each["sources"]] for each in (before, ours))
        expect_same_lines(theirs, own, state)


def _program(description: Description) -> Program:
    """The described program, as it is compared."""
    inputs = (f"input {line}" for line in description["inputs"])
    ends = (*inputs, *(f"output {name}" for name in description["outputs"]))
    return Program(ends, from_plain(description["outline"]))

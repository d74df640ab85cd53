"""The outline of a program, by which a checkpoint recognizes the program that wrote it: see `core/program_outline.py`.

Each operator is described in the user's words: the verb with its arguments, its line, and its functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from flo.core.labels import label
from flo.core.operator import Operator
from flo.core.program_outline import AppliedFunction, AppliedOperator, Outline
from flo.core.term import ATOMS
from flo.program.dag import Dag, Stream, Vertex, body_of, outputs_that_read
from flo.program.identity import assign_ids, digest, identities, shape_of, supplied
from flo.program.retractions import Cause, causes_in_body, causes_of_pushes, find_causes

LONG = 200
"""How many characters of the shape of an operator are recorded. Of longer ones it is a digest."""
_INNER = re.compile(r"==\d+=|==(?=present|…)|=(?=set\b)")
"""Parts of the names that `agg` gives to the columns it adds."""
_HIDDEN = re.compile(r"==(?=\w)")
"""The beginning of the name of a column that `agg` or `sql` adds."""


def outline_program(
    dag: Dag, inputs: Sequence[str], outputs: Sequence[str], retracting: Mapping[str, str] | None = None
) -> Outline:
    """Return the outline of a program with ids. `retracting` says why inputs can retract rows: by default every z-set
    can."""
    named = dict(zip(inputs, dag.inputs, strict=True))
    if retracting is None:
        retracting = {name: cause.why for name, cause in causes_of_pushes(named).items()}
    causes = [Cause(name, why=retracting[name]) if name in retracting else None for name in inputs]
    read = {stream: name for name, stream in named.items()}
    ends = dict(zip(outputs, dag.outputs, strict=True))
    records = list(_operators(dag, causes, read, outputs_that_read(dag, ends), ""))
    for name, stream in ends.items():
        label = f"output {name}"
        records.append(AppliedOperator(label, "output", label, "", "output", (read[stream],), (name,)))
    return tuple(records)


def _operators(
    dag: Dag,
    inputs: Sequence[Cause | None],
    read: dict[Stream, str],
    outputs: Mapping[Vertex, tuple[str, ...]] | tuple[str, ...],
    within: str,
) -> Iterator[AppliedOperator]:
    """Yield the operators of a program, or of the body of an operator; after one with a body, those of its body."""
    causes = find_causes(dag, inputs)
    for vertex in dag.vertices:
        leads = outputs if isinstance(outputs, tuple) else outputs[vertex]
        before = [causes[stream] for stream in vertex.inputs]
        body = body_of(vertex.operator, tuple(stream.type for stream in vertex.inputs))
        own_id = f"{within}{vertex.id}"
        yield _applied(vertex, own_id, before, tuple(read[each] for each in vertex.inputs), leads, body is not None)
        read.update((stream, f"#{own_id}:{place}") for place, stream in enumerate(vertex.outputs))
        if body is not None:
            names = [f"input {place}" for place in range(len(body.inputs))]
            of_body = dict(zip(body.inputs, names, strict=True))
            given = causes_in_body(vertex, body, before)
            yield from _operators(assign_ids(body, names), given, of_body, leads, f"{own_id}/")


def _applied(
    vertex: Vertex,
    own_id: str,
    before: list[Cause | None],
    reads: tuple[str, ...],
    outputs: tuple[str, ...],
    has_body: bool,
) -> AppliedOperator:
    operator, origin = vertex.operator, vertex.origin
    verb = (origin.verb if origin is not None else "") or operator.name
    words = describe_operator(operator)
    cause = next((each for each in before if each is not None), None)
    functions: tuple[AppliedFunction, ...] = ()
    shape = operator.name
    if not has_body:
        shape = shape_of(operator)
        functions = tuple(_functions(operator, _reason(cause)))
    if len(shape) > LONG:
        shape = f"{operator.name} {digest(shape)}"
    words = words.replace(operator.name, verb, 1)
    return AppliedOperator(own_id, verb, words, str(origin or ""), shape, reads, outputs, functions)


def _reason(cause: Cause | None) -> str:
    """Return why rows can be retracted."""
    if cause is None:
        return ""
    if cause.origin is None:
        return cause.why
    return f"`{cause.name}` before it {cause.why}   ({cause.origin})"


def _functions(operator: Operator, retracted: str) -> Iterator[AppliedFunction]:
    """Yield the functions of an operator, and why their results may be computed again."""
    kept = tuple(getattr(operator, name) for name in operator.recomputes)
    recomputed = {id(item) for item in supplied(kept)}
    for item in supplied(operator):
        why = retracted or ("the operator retracts a result when it changes" if id(item) in recomputed else "")
        for identity in identities(item):
            yield AppliedFunction(identity, why)


def describe_operator(operator: Operator) -> str:
    """Return the operator with its arguments: `fold(0, lambda n, x: n + x)`."""
    described = getattr(operator, "described", None)
    if isinstance(described, str):
        return _HIDDEN.sub("_", f"{operator.name}({described})")
    native = getattr(getattr(operator, "f", None), "explained", None)
    if isinstance(native, str):
        return native
    given = []
    for field in fields(operator):
        value = getattr(operator, field.name)
        if type(value) in ATOMS and value is not None and not isinstance(value, bool):
            given.append(repr(value))
        elif callable(value):
            given.append(label(value))
    return _HIDDEN.sub("_", _INNER.sub("", f"{operator.name}({', '.join(given)})")) if given else operator.name

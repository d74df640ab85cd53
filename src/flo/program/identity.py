"""Ids of vertices: what a state is stored by.

    input orders          ──>  "orders"
    filter(amount > 5)    ──>  hash(filter, amount > 5, "orders")
    group_by(shop)        ──>  hash(group_by, shop, the id of the filter)

An id is a hash of the operator's class, its parameters and the ids of its inputs. It does not depend on the order of
statements, the names of variables, the lines of the program or the other vertices, so a restart and an unrelated edit
keep it. Named functions count by their qualified names; lambdas by their code and the values that they close over;
bodies by the ids inside them. `stream.named("revenue")` sets an id by hand.

An operator that is written twice has the ids x and x/2. Both have the same rows, so what reads them does not depend on
which one it is: to remove one of them, or to change their order, changes no other id.

Ids are computed on the program as the user wrote it. What a rewrite adds has the id of the vertex that it belongs to,
and a suffix.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flo.core.function_identity import SOURCE, Identity, identify
from flo.core.graph import text
from flo.core.operator import Operator
from flo.core.program_outline import without_modules
from flo.core.term import Lowering
from flo.program.dag import Dag, Stream, body_of


def assign_ids(dag: Dag, inputs: Iterable[str]) -> Dag:
    """Give every vertex that has no id yet the id that follows from its operator and its inputs; return the DAG."""
    ids: dict[Stream, str] = dict(zip(dag.inputs, inputs, strict=True))
    for stream, name in ids.items():
        stream.name = name
    times: Counter[str] = Counter()
    for vertex in dag.vertices:
        own = vertex.id
        if not own:
            described = describe_parameters(vertex.operator, tuple(stream.type for stream in vertex.inputs))
            own = digest(*described, *(ids[stream] for stream in vertex.inputs))
            times[own] += 1
            vertex.id = own if times[own] == 1 else f"{own}/{times[own]}"
        ids |= ((stream, f"{own}:{place}") for place, stream in enumerate(vertex.outputs))
    return dag


def describe_parameters(operator: Operator, inputs: Any) -> Iterator[str]:
    """Yield texts that tell an operator from others of its class: its parameters, its functions and its body."""
    body = body_of(operator, inputs)
    if body is not None:
        assign_ids(body, [f"input {place}" for place in range(len(body.inputs))])
        yield operator.name
        yield from (vertex.id for vertex in body.vertices)
        yield from map(_place_in(body), body.outputs)
        return
    yield shape_of(operator)
    for item in supplied(operator):
        for function in identities(item):
            code = function.code if function.code.startswith(SOURCE) else ""  # bytecode depends on the Python
            yield function.name or code or function.label
            yield repr(function.captured)


def _place_in(body: Dag) -> Any:
    """Return a function that names the streams of a body."""
    names = {stream: f"input {place}" for place, stream in enumerate(body.inputs)}
    names |= {stream: f"{vertex.id}:{place}" for vertex in body.vertices for place, stream in enumerate(vertex.outputs)}
    return names.__getitem__


def shape_of(operator: Operator) -> str:
    """Return an operator as text, without its functions and without the modules of classes."""
    return without_modules(text(Lowering()(operator), states=False))


def digest(*texts: str) -> str:
    """Return a short hash of texts, in hexadecimal digits."""
    hashed = hashlib.blake2b(digest_size=10)
    for each in texts:
        data = each.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()


def supplied(item: object) -> list[Any]:
    """Return the functions and types in an operator, or in a part of one."""
    lowering = Lowering()
    lowering(item)
    return list(lowering.names.values())


def identities(item: object) -> Iterator[Identity]:
    """Yield the identity of a function, and of those that it is made of."""
    from flo.columns.projection import Projection  # not at first: a program on values does not wait for Arrow

    if isinstance(item, type) or not callable(item):
        return
    yield identify(item)
    if isinstance(item, Projection):
        yield from map(identify, item.functions.values())


def expect_distinct(ids: Sequence[str]) -> None:
    """Raise if two vertices have one id, which a rewrite must never cause."""
    twice = [each for each, count in Counter(ids).items() if count > 1]
    assert not twice, f"several operators have the id {twice[0]}"

"""The typing rules for graphs with the defer contexts R and W.

See the figures "type semantics for graphs" and "type semantics with defer contexts". A derivation is data: the rule,
its conclusion, and the derivations of its premises. Types are inferred from left to right: the types of the inputs
determine everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from flo.core.errors import DeferError, TypeMismatch
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.operator import Operator
from flo.core.stream_type import Context, Derivation, StreamTypes, subtype_rule

Derivations: TypeAlias = dict[int, tuple[Any, StreamTypes, Derivation]]
"""Derivations of graphs and operators, by identity, each with its subject and the input types."""
_known: ContextVar[Derivations | None] = ContextVar("_known", default=None)


@contextmanager
def derive_once(known: Derivations) -> Iterator[None]:
    """Within this context, use and extend the known derivations: graphs are immutable, so they stay right.

    After a step, only the operators on the way to it are derived anew: the others are the same objects as before.
    """
    token = _known.set(known)
    try:
        yield
    finally:
        _known.reset(token)


def derive(graph: Graph, inputs: StreamTypes) -> Derivation:
    """⊢ e : I ↪ O: return the derivation for the given I, or raise with the reason why there is none."""
    known = _known.get()
    return _derive(graph, inputs) if known is None else _recall(known, graph, inputs, _derive)


def _recall(
    known: Derivations, subject: object, inputs: StreamTypes, find: Callable[[Any, StreamTypes], Derivation]
) -> Derivation:
    """Return the known derivation of a subject, or find it."""
    entry = known.get(id(subject))
    if entry is not None and entry[1] == inputs:
        return entry[2]
    derivation = find(subject, inputs)
    known[id(subject)] = (subject, inputs, derivation)  # which keeps it alive, so that its identity stays its own
    return derivation


def _judge(operator: Operator, inputs: StreamTypes) -> Derivation:
    return operator.judge(inputs)


def _derive(graph: Graph, inputs: StreamTypes) -> Derivation:
    match graph:
        case Sequential(left, right):
            first = derive(left, inputs)
            second = derive(right, first.outputs)
            return Derivation(
                "sequence",
                first.inputs,
                second.outputs,
                (first, second),
                first.reads + second.reads,
                merge_writes(first.writes, second.writes),
                subtyping_rules(first.outputs, second.inputs),
            )
        case Parallel(left, right):
            count = left.arity[0]
            first, second = derive(left, inputs[:count]), derive(right, inputs[count:])
            return Derivation(
                "par",
                first.inputs + second.inputs,
                first.outputs + second.outputs,
                (first, second),
                first.reads + second.reads,
                merge_writes(first.writes, second.writes),
            )
        case Node(state, operator, origin):
            try:
                known = _known.get()
                premise = operator.judge(inputs) if known is None else _recall(known, operator, inputs, _judge)
                if state is not None:
                    expect_state(state, premise.inputs, operator.name)
            except TypeMismatch as error:
                raise error.located(origin) from None
            return Derivation(
                "operator",
                premise.inputs,
                premise.outputs,
                (premise,),
                premise.reads,
                premise.writes,
                subtyping_rules(inputs, premise.inputs),
            )


def merge_writes(left: Context, right: Context) -> Context:
    """W₁, W₂: merge the write contexts of two parts; no key may be written twice."""
    for key in dict(left).keys() & dict(right).keys():
        raise DeferError(
            f"`write_defer` writes the key {key!r} twice",
            facts=(("write_defer", "each key must be written exactly once in a `nest` body"),),
            instead=(("one `write_defer` of the union of both streams", ""),),
        ).about(key)
    return left + right


def subtyping_rules(given: StreamTypes, expected: StreamTypes) -> tuple[str, ...]:
    """Return the subtyping rules by which the given types fit the expected ones."""
    if len(given) != len(expected):
        raise TypeMismatch(f"{len(expected)} inputs must get as many streams; got {len(given)}")
    rules = []
    for index, (have, want) in enumerate(zip(given, expected, strict=True)):
        rule = "reflexive-subtype" if have is want else subtype_rule(have, want)
        if rule is None:
            raise TypeMismatch(
                "{input} does not have the expected type",
                index=index,
                facts=(("given", have.described()), ("expected", want.described())),
            )
        rules.append(rule)
    return tuple(rules)


def expect_state(state: tuple[object, ...], types: StreamTypes, name: str) -> None:
    """type^C(sᵢ) = Sᵢ: raise unless the buffered inputs belong to the operator's input types."""
    if len(state) != len(types):
        raise TypeMismatch(f"the state of `{name}` must have {len(types)} inputs; got {len(state)}")
    for index, (value, expected) in enumerate(zip(state, types, strict=True)):
        reason = expected.collection.mismatch(value)  # type: ignore[arg-type]
        if reason is not None:
            raise TypeMismatch(f"the state of `{name}` does not belong to its type: {reason}", index=index)


def program(graph: Graph, inputs: StreamTypes) -> Derivation:
    """Type a whole program: a graph that reads and writes no defer key at its top level."""
    derivation = derive(graph, inputs)
    for key, _ in derivation.reads:
        raise DeferError(f"`read_defer({key!r})` is outside of any `nest`")
    for key, _ in derivation.writes:
        raise DeferError(f"`write_defer({key!r})` is outside of any `nest`")
    return derivation


def initial(graph: Graph, inputs: StreamTypes) -> tuple[Graph, StreamTypes]:
    """Set every elided state `{_}` to ⊥ of its type; return the graph and the types of its outputs."""
    match graph:
        case Sequential(left, right):
            left, between = initial(left, inputs)
            right, outputs = initial(right, between)
            return Sequential(left, right), outputs
        case Parallel(left, right):
            count = left.arity[0]
            left, some = initial(left, inputs[:count])
            right, others = initial(right, inputs[count:])
            return Parallel(left, right), some + others
        case Node(state, operator, origin):
            judged = operator.judge(inputs)
            if state is None:
                state = tuple(expected.collection.bottom() for expected in judged.inputs)
            return Node(state, operator.typed(inputs), origin), judged.outputs

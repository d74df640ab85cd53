"""The typing rules for graphs, with the defer contexts R and W (figures "type semantics for graphs" and "type
semantics with defer contexts").

A derivation is data: the rule, what it concludes, and the derivations of its premises. Types are inferred from left to
right: given the types of a graph's inputs, the rules leave one choice for everything else.
"""

from __future__ import annotations

from flo.core.errors import DeferError, TypeMismatch
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.stream_type import Context, Derivation, StreamTypes, subtype_rule


def derive(graph: Graph, inputs: StreamTypes) -> Derivation:
    """⊢ e : I ↪ O for the given I, or the reason why there is no such derivation."""
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
                split(first.writes, second.writes),
                subtypings(first.outputs, second.inputs),
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
                split(first.writes, second.writes),
            )
        case Node(state, operator, origin):
            try:
                premise = operator.judge(inputs)
                if state is not None:
                    belongs(state, premise.inputs, operator.name)
            except TypeMismatch as error:
                raise error.located(origin) from None
            return Derivation(
                "operator",
                premise.inputs,
                premise.outputs,
                (premise,),
                premise.reads,
                premise.writes,
                subtypings(inputs, premise.inputs),
            )


def split(left: Context, right: Context) -> Context:
    """W₁, W₂: the write context is split among the parts, so that no key can be written twice."""
    for key in dict(left).keys() & dict(right).keys():
        raise DeferError(
            f"`write_defer` writes the key {key!r} twice",
            facts=(("write_defer", "each key is written exactly once in a `nest` body"),),
            instead=(("one `write_defer` of the union of both streams", ""),),
        ).about(key)
    return left + right


def subtypings(given: StreamTypes, expected: StreamTypes) -> tuple[str, ...]:
    """The subtyping rules by which what is given fits what is expected."""
    if len(given) != len(expected):
        raise TypeMismatch(f"{len(given)} streams flow into {len(expected)} inputs")
    rules = []
    for index, (have, want) in enumerate(zip(given, expected, strict=True)):
        rule = subtype_rule(have, want)
        if rule is None:
            raise TypeMismatch(
                "{input} has another type than expected",
                index=index,
                facts=(("given", have.described()), ("expected", want.described())),
            )
        rules.append(rule)
    return tuple(rules)


def belongs(state: tuple[object, ...], types: StreamTypes, name: str) -> None:
    """type^C(sᵢ) = Sᵢ: the buffered inputs belong to the operator's input types."""
    if len(state) != len(types):
        raise TypeMismatch(f"`{name}` has {len(types)} inputs and a state of {len(state)}")
    for index, (value, expected) in enumerate(zip(state, types, strict=True)):
        reason = expected.collection.mismatch(value)  # type: ignore[arg-type]
        if reason is not None:
            raise TypeMismatch(f"the state of `{name}` does not belong to its type: {reason}", index=index)


def program(graph: Graph, inputs: StreamTypes) -> Derivation:
    """The type of a whole program: a graph with nothing deferred at its top."""
    derivation = derive(graph, inputs)
    for key, _ in derivation.reads:
        raise DeferError(f"`read_defer({key!r})` stands outside every `nest`")
    for key, _ in derivation.writes:
        raise DeferError(f"`write_defer({key!r})` stands outside every `nest`")
    return derivation


def initial(graph: Graph, inputs: StreamTypes) -> tuple[Graph, StreamTypes]:
    """The graph with every elided state `{_}` set to ⊥ of its type, and the types of its outputs."""
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

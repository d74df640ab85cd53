"""The typing rules for graphs, subtyping, and the defer contexts R and W (§3.3, §4, §5.3)."""

from __future__ import annotations

import pytest
from hypothesis import given

from flo.core.errors import BoundednessError, CollectionError, DeferError, TypeMismatch
from flo.core.graph import Node, Parallel, Sequential, node, sequence
from flo.core.nest import Nest, ReadDefer, WriteDefer
from flo.core.nested import Nested
from flo.core.stream_type import StreamType, arrow, is_subtype, subtype_rule
from flo.core.structural import Source, identity
from flo.core.term import Lifting, Lowering
from flo.core.typing import derive, initial, program
from flo.values.operators.elementwise import Map
from flo.values.operators.pairs import UnionSequences, Zip
from flo.values.operators.sequences import Batch, Fold, Scan
from flo.values.sequence import Sequence
from flo.values.weighted import Bag
from tests.core.graphs import INTS, RUNNING_TOTAL, add, bounded, increment, programs, tee, unbounded
from tests.harness import derivation, refusal
from tests.quick import tried

U, B = unbounded(INTS), bounded(INTS)
NOTHING = INTS.value([]).fix()


def of(operator):
    return Node(None, operator)


def read(key, value=NOTHING):
    return of(ReadDefer(key, INTS, value))


def write(key):
    return of(WriteDefer(key))


def test_reflexive_subtype():
    assert subtype_rule(U, U) == subtype_rule(B, B) == "reflexive-subtype"
    assert derivation(of(Map(increment)), (U,)).subtypings == ("reflexive-subtype",)


def test_bound_subtype():
    assert subtype_rule(B, U) == "bound-subtype"
    assert subtype_rule(U, B) is None
    assert is_subtype(B, U)
    assert not is_subtype(bounded(Bag(int)), U)
    found = derivation(of(Zip()), (B, U))  # zip has one flag X for both of its inputs
    assert found.subtypings == ("bound-subtype", "reflexive-subtype")
    assert found.inputs == (U, U)
    assert found.outputs == (unbounded(Sequence(tuple[int, int])),)


def test_subtyping_of_elements():
    """What is written as one rule of the paper, `S ≤ S`, also lets integers flow where floats are expected."""
    assert is_subtype(U, unbounded(Sequence(float)))
    assert not is_subtype(unbounded(Sequence(float)), U)
    nested = StreamType(Nested(INTS), bounded=False)
    assert is_subtype(nested, StreamType(Nested(U), bounded=False))
    assert not is_subtype(StreamType(Nested(U), bounded=False), nested)


def test_sequence():
    found = derivation(Sequential(of(Scan(0, add)), of(Map(increment))), (U,))
    assert found.rule == "sequence"
    assert (found.inputs, found.outputs) == ((U,), (U,))
    assert [premise.rule for premise in found.premises] == ["operator", "operator"]
    assert list(found.rules()) == [
        "scan-type",
        "reflexive-subtype",
        "operator",
        "map-type",
        "reflexive-subtype",
        "operator",
        "reflexive-subtype",
        "sequence",
    ]


def test_sequence_uses_subtyping_between_its_parts():
    graph = Sequential(Parallel(of(Fold(0, add)), of(identity())), of(Zip()))
    found = derivation(graph, (B, U))
    assert found.subtypings == ("bound-subtype", "reflexive-subtype")
    assert found.inputs == (B, U)
    assert derivation(Sequential(of(Zip()), of(identity())), (B, U)).inputs == (U, U)


def test_par():
    found = derivation(Parallel(of(Fold(0, add)), of(Map(increment))), (B, U))
    assert found.rule == "par"
    assert (found.inputs, found.outputs) == ((B, U), (B, U))


def test_operator():
    """{S}[op]: the premise is the operator's own rule, and the buffered inputs belong to its input types."""
    found = derivation(node(Map(increment), INTS.value([1])), (U,))
    assert found.rule == "operator"
    assert [premise.rule for premise in found.premises] == ["map-type"]
    error = refusal(derive, node(Map(increment), Sequence(str).value(["a"])), (U,))
    assert "the state of `map` does not belong to its type: 'a' is not of type int" in str(error)
    error = refusal(derive, node(Map(increment), Bag(int).value([1])), (U,))
    assert "a bag is not a Sequence[int]" in str(error)
    error = refusal(derive, node(Map(increment), INTS.bottom(), INTS.bottom()), (U,))
    assert "the state of `map` must have 1 inputs; got 2" in str(error)


def test_read_defer_value_type():
    found = derivation(read("k"), ())
    assert found.premises[0].rule == "read-defer-value-type"
    assert found.outputs == (B,)
    assert found.reads == (("k", INTS),)
    assert found.writes == ()
    assert "it has no end" in str(refusal(derive, read("k", INTS.value([1])), ()))
    wrong = of(ReadDefer("k", INTS, Sequence(str).value(["a"]).fix()))
    assert isinstance(refusal(derive, wrong, ()), DeferError)


def test_read_defer_no_value_type():
    """read_defer(k), when its value was emitted, has the type it had before."""
    found = derivation(read("k", None), ())
    assert found.premises[0].rule == "read-defer-no-value-type"
    assert found.outputs == (B,)
    assert found.reads == (("k", INTS),)


def test_write_defer_type():
    found = derivation(write("k"), (B,))
    assert found.premises[0].rule == "write-defer-type"
    assert found.outputs == ()
    assert found.writes == (("k", INTS),)
    assert isinstance(refusal(derive, write("k"), (U,)), BoundednessError)


def test_nest_type():
    for flag in (True, False):
        outer = StreamType(Nested(INTS), flag)
        found = derivation(of(Nest(RUNNING_TOTAL)), (outer,))
        [premise] = found.premises
        assert premise.rule == "nest-type"
        assert found.outputs == (StreamType(Nested(INTS), flag),)
        assert (found.reads, found.writes) == ((), ())  # D; D is inside
        assert dict(premise.premises[0].reads) == dict(premise.premises[0].writes) == {"total": INTS}


def test_nest_type_needs_bounded_outputs():
    """A body whose output may never end would never come to the next inner stream."""
    unbounded_inside = unbounded(Nested(U))
    assert derivation(of(Nest(Sequential(of(identity()), of(identity())))), (unbounded(Nested(B)),))
    error = refusal(derive, of(Nest(of(Map(increment)))), (unbounded_inside,))
    assert isinstance(error, BoundednessError)
    assert isinstance(refusal(derive, of(Nest(of(identity()))), (U,)), CollectionError)


def test_nest_with_copy_type():
    """nest(g, g₀), once it has begun, has the type of nest(g₀); g is typed as well."""
    outer = unbounded(Nested(INTS))
    start, _ = initial(of(Nest(RUNNING_TOTAL)), (outer,))
    begun = node(start.operator._begun(), Nested(INTS).bottom())
    found = derivation(begun, (outer,))
    assert found.premises[0].rule == "nest-with-copy-type"
    assert len(found.premises[0].premises) == 2
    assert found.outputs == derive(start, (outer,)).outputs


def body(*, writes, reads=()):
    """A body that writes its input under each of these keys, and reads those."""
    graph = of(identity())
    for key in writes:
        graph = sequence(graph, of(tee), Parallel(write(key), of(identity())))
    for key in reads:
        graph = sequence(graph, Parallel(read(key), of(identity())), of(UnionSequences()))
    return graph


def typed(graph):
    return derivation(of(Nest(graph)), (unbounded(Nested(INTS)),))


def test_every_key_is_written_exactly_once():
    typed(body(writes=["a", "b"], reads=["a", "b"]))
    error = refusal(typed, body(writes=["a", "b", "a"], reads=["a", "b"]))
    assert isinstance(error, DeferError)
    assert error.key == "a"
    assert "twice" in str(error)
    twice = sequence(of(tee), Parallel(write("a"), write("a")))
    assert refusal(derive, twice, (B,)).key == "a"
    error = refusal(typed, body(writes=["b"], reads=["a"]))
    assert isinstance(error, DeferError)
    assert error.key == "a"
    assert "never written" in str(error)


def test_a_key_may_be_read_often_or_never():
    typed(body(writes=["a"], reads=["a", "a"]))
    typed(body(writes=["a"], reads=[]))


def test_what_is_read_has_the_type_of_what_is_written():
    other = sequence(
        Parallel(of(ReadDefer("a", Sequence(str), Sequence(str).value([]).fix())), of(identity())),
        Parallel(of(Fold("", add)), of(tee)),
        Parallel(of(identity()), Parallel(write("a"), of(identity()))),
    )
    error = refusal(typed, other)
    assert isinstance(error, DeferError)
    assert "read and written with different types" in str(error)


def test_contexts_do_not_leave_the_nest():
    """An inner nest has an empty W outside, so that the same key can be used again around it."""
    inner = Nest(body(writes=["a"], reads=["a"]))
    outer = sequence(
        of(Batch(1)),
        of(inner),
        of(tee),
        Parallel(of(WriteDefer("a")), of(identity())),
        Parallel(of(ReadDefer("a", Nested(INTS), Nested(INTS).value([]).fix())), of(identity())),
    )
    found = typed(outer)
    assert (found.reads, found.writes) == ((), ())


def test_defer_stands_inside_a_nest():
    assert "outside of any `nest`" in str(refusal(program, read("a"), ()))
    assert "outside of any `nest`" in str(refusal(program, write("a"), (B,)))
    assert program(of(Nest(RUNNING_TOTAL)), (unbounded(Nested(INTS)),))


def test_streams_and_inputs_are_as_many():
    with pytest.raises(TypeMismatch, match="`map` must have 1 inputs; got 2"):
        derive(of(Map(increment)), (U, U))
    with pytest.raises(TypeMismatch, match="`zip` must have 2 inputs; got 1"):
        derive(Sequential(of(Map(increment)), of(Zip())), (U,))


def test_the_value_of_a_source_belongs_to_its_type():
    assert derivation(of(Source(INTS, INTS.value([1]).fix())), ()).outputs == (B,)
    with pytest.raises(TypeMismatch, match="'a' is not of type int"):
        derive(of(Source(INTS, Sequence(str).value(["a"]))), ())


def test_elided_states_are_set_to_bottom():
    graph = Sequential(Parallel(of(Map(increment)), of(Map(increment))), of(Zip()))
    typed_graph, outputs = initial(graph, (U, U))
    empty = INTS.bottom()
    expected = Sequential(Parallel(node(Map(increment), empty), node(Map(increment), empty)), node(Zip(), empty, empty))
    assert typed_graph == expected
    assert outputs == derive(graph, (U, U)).outputs


def is_instance_of_its_rule(found):
    """Whether what a derivation concludes follows from its premises by its rule."""
    if found.rule == "sequence":
        first, second = found.premises
        assert (found.inputs, found.outputs) == (first.inputs, second.outputs)
        steps = zip(first.outputs, second.inputs, strict=True)
        assert found.subtypings == tuple(subtype_rule(have, want) for have, want in steps)
        assert None not in found.subtypings
    elif found.rule == "par":
        first, second = found.premises
        assert found.inputs == first.inputs + second.inputs
        assert found.outputs == first.outputs + second.outputs
    elif found.rule == "operator":
        [premise] = found.premises
        assert (found.inputs, found.outputs) == (premise.inputs, premise.outputs)
    elif found.rule == "nest-type":
        [inside] = found.premises
        assert found.inputs[0].collection.inner == inside.inputs
        assert found.outputs[0].collection.inner == inside.outputs
        assert found.inputs[0].bounded == found.outputs[0].bounded
        assert all(output.bounded for output in inside.outputs)
    if found.rule in ("sequence", "par", "operator"):
        assert found.reads == sum((premise.reads for premise in found.premises), ())
        assert found.writes == sum((premise.writes for premise in found.premises), ())
        keys = [key for key, _ in found.writes]
        assert len(keys) == len(set(keys))
    for premise in found.premises:
        is_instance_of_its_rule(premise)


@given(programs())
@tried(24)
def test_derivations_are_proofs(example):
    graph, types, _ = example
    found = derivation(graph, types)
    is_instance_of_its_rule(found)
    start, outputs = initial(graph, types)
    assert derive(start, types) == found or derive(start, types).outputs == outputs


def test_derivations_print_as_trees():
    found = derivation(Sequential(of(Map(increment)), of(Scan(0, add))), (U,))
    lines = str(found).splitlines()
    assert lines[0] == "(Sequence[int], U) ↪ (Sequence[int], U)   [sequence]"
    assert lines[2] == "    (Sequence[int], U) ↪ (Sequence[int], U)   [map-type] map"
    assert arrow((U, B), ()) == "((Sequence[int], U), (Sequence[int], B)) ↪ ()"


def test_stream_types_lower_and_lift():
    lowering = Lowering()
    term = lowering(U)
    assert Lifting(lowering.names)(term) == U
    assert str(bounded(Nested(U))) == "(Nested[(Sequence[int], U)], B)"

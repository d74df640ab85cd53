"""Graphs (§4): the grammar, inputs and setinput, and the five rules of the figure "small-step semantics for graphs"."""

from __future__ import annotations

import pytest

from flo.core.errors import TypeMismatch
from flo.core.graph import Node, Parallel, Sequential, inputs, node, nodes, parallel, sequence, setinput
from flo.core.semantics import small_steps
from flo.core.structural import Wire, identity
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.pairs import Zip
from flo.values.operators.sequences import Scan
from flo.values.sequence import Sequence
from tests.core.graphs import add, even, increment
from tests.harness import fires

INTS = Sequence(int)


def ints(*values):
    return INTS.value(values)


def mapping(*values):
    return node(Map(increment), ints(*values))


def keeping(*values):
    return node(Filter(even), ints(*values))


def test_sequence_left():
    """A step on the left: its output becomes input of the right, and the graph itself emits nothing."""
    graph, outputs = fires("sequence-left", Sequential(mapping(1, 2), keeping(7)))
    assert graph == Sequential(mapping(2), keeping(7, 2))
    assert outputs == (None,)


def test_sequence_right():
    """A step on the right: the left is untouched, and the output is the graph's."""
    graph, outputs = fires("sequence-right", Sequential(mapping(1), keeping(4)))
    assert graph == Sequential(mapping(1), keeping())
    assert outputs == (ints(4),)


def test_par_left():
    """A step on the left: the right keeps still, and its outputs get ∅."""
    graph, outputs = fires("par-left", Parallel(mapping(1), keeping(4)))
    assert graph == Parallel(mapping(), keeping(4))
    assert outputs == (ints(2), None)


def test_par_right():
    graph, outputs = fires("par-right", Parallel(mapping(1), keeping(4)))
    assert graph == Parallel(mapping(1), keeping())
    assert outputs == (None, ints(4))


def test_operator():
    """A step of the operator is a step of {I}[op]."""
    start = node(Scan(10, add), ints(1, 2))
    graph, outputs = fires("operator", start)
    assert graph == node(Scan(11, add), ints(2))
    assert outputs == (ints(11),)
    [step] = small_steps(start)
    assert step.path == ("operator", "scan")


def test_a_step_has_the_rules_that_led_to_it():
    graph = Parallel(keeping(), Sequential(mapping(1), keeping(2)))
    left, right = small_steps(graph)
    assert left.path == ("par-right", "sequence-left", "operator", "map")
    assert right.path == ("par-right", "sequence-right", "operator", "filter")
    assert (left.place, right.place) == ((1, 0), (1, 1))


def test_every_enabled_step_is_given():
    graph = Parallel(Parallel(mapping(1), keeping(2)), Sequential(mapping(3), keeping(4)))
    assert [step.place for step in small_steps(graph)] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_inputs():
    assert inputs(mapping(1)) == (ints(1),)
    assert inputs(Sequential(mapping(1), keeping(2))) == (ints(1),)
    assert inputs(Parallel(mapping(1), keeping(2))) == (ints(1), ints(2))
    assert inputs(Sequential(Parallel(mapping(1), keeping(2)), node(Zip(), ints(3), ints(4)))) == (ints(1), ints(2))


def test_setinput():
    assert setinput(mapping(1), (ints(9),)) == mapping(9)
    assert setinput(Sequential(mapping(1), keeping(2)), (ints(9),)) == Sequential(mapping(9), keeping(2))
    both = Parallel(node(Zip(), ints(1), ints(2)), keeping(3))
    changed = Parallel(node(Zip(), ints(7), ints(8)), keeping(9))
    assert setinput(both, (ints(7), ints(8), ints(9))) == changed


def test_setinput_takes_as_many_values_as_there_are_inputs():
    with pytest.raises(TypeMismatch, match="`setinput` of `map` must get 1 values; got 2"):
        setinput(mapping(1), (ints(1), ints(2)))
    with pytest.raises(TypeMismatch):
        setinput(Parallel(mapping(1), keeping(2)), (ints(1), ints(2), ints(3)))
    with pytest.raises(TypeMismatch):
        setinput(Parallel(mapping(1), keeping(2)), (ints(1),))


def test_setinput_is_inverse_to_inputs():
    graph = Sequential(Parallel(mapping(1), keeping(2)), node(Zip(), ints(3), ints(4)))
    assert setinput(graph, inputs(graph)) == graph


def test_elided_states_cannot_run():
    with pytest.raises(TypeMismatch, match="elided"):
        list(small_steps(Node(None, Map(increment))))


def test_arity():
    graph = Sequential(Parallel(mapping(), keeping()), node(Zip(), ints(), ints()))
    assert graph.arity == (2, 1)
    assert node(Wire(1, ()), ints()).arity == (1, 0)


def test_long_forms_group_to_the_left():
    one, two, three = mapping(1), mapping(2), mapping(3)
    assert sequence(one, two, three) == Sequential(Sequential(one, two), three)
    assert parallel(one, two, three) == Parallel(Parallel(one, two), three)
    assert list(nodes(parallel(one, sequence(two, three)))) == [one, two, three]


def test_wires_duplicate_reorder_and_drop():
    tee = node(Wire(1, (0, 0)), ints(1, 2).fix())
    graph, outputs = fires("tee", tee)
    assert outputs == (ints(1, 2).fix(), ints(1, 2).fix())
    assert list(small_steps(graph)) == []
    assert fires("swap", node(Wire(2, (1, 0)), ints(1), ints()))[1] == (None, ints(1))
    assert fires("drop", node(Wire(1, ()), ints(1)))[1] == ()
    assert fires("id", node(identity(), ints(1)))[1] == (ints(1),)
    assert fires("wire", node(Wire(2, (1, 1, 0)), ints(1), ints()))[1] == (None, None, ints(1))

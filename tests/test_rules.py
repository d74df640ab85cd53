"""The rules of §5.4 and §6 as they are printed, one test for each: a state in which the rule applies, and what it
leads to. The families of operators are tested under tests/values, nest under tests/core."""

from __future__ import annotations

from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.collection import End
from flo.core.errors import BoundednessError, ThresholdError
from flo.core.graph import Node, Parallel, node, sequence
from flo.core.nest import Nest, ReadDefer, WriteDefer, collect_defer, set_defer
from flo.core.nested import Nested, NestedValue
from flo.core.persistent import Elements
from flo.core.semantics import small_steps, stuck
from flo.core.stream_type import StreamType
from flo.core.structural import Wire, identity
from flo.core.typing import initial
from flo.values.lattice_orders import Max
from flo.values.lattice_structures import SetUnion
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.elementwise import Map
from flo.values.operators.lattices import FoldLattice
from flo.values.operators.lvars import Threshold
from flo.values.operators.sequences import Fold, Window
from flo.values.operators.zset_joins import Join
from flo.values.operators.zsets import MapWeights
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import ZSet, ZSetValue
from tests.core.graphs import RUNNING_TOTAL
from tests.harness import check_operator, derivation, fires, refusal, run_steps
from tests.quick import tried

INTS = Sequence(int)


def ints(*elements, end=End.OPEN):
    """Oldest first; the paper writes the newest on the left."""
    return SequenceValue.of(list(elements), end)


def ended(*elements):
    return ints(*elements, end=End.ARRIVED)


PASSED = ints(end=End.PASSED)
"""⊗."""


def stream(collection, flag):
    return StreamType(collection, bounded=flag == "B")


def typed(operator, *types):
    found = derivation(Node(None, operator), types)
    return found.premises[0].rule, found.outputs


def successor(x: int) -> int:
    return x + 1


both_flags = pytest.mark.parametrize("flag", ["B", "U"])


# §6.1, map and fold


@both_flags
def test_map_type(flag):
    assert typed(Map(str), stream(INTS, flag)) == ("map-type", (stream(Sequence(str), flag),))


def test_map():
    """([…, h], map(f)) →δ ([…], map(f), [u])."""
    after, outputs = fires("map", node(Map(successor), ints(1, 5)))
    assert after == node(Map(successor), ints(5))
    assert outputs == (ints(2),)


def test_map_terminator():
    """([⊗], map(f)) →δ (⊗, map(f), ⊗), once."""
    after, outputs = fires("map-terminator", node(Map(successor), ended()))
    assert after == node(Map(successor), PASSED)
    assert outputs == (ended(),)
    assert stuck(after)
    assert [step.rule for step in small_steps(node(Map(successor), ended(1)))] == ["map"]


def test_fold_type():
    assert typed(Fold(0, add), stream(INTS, "B")) == ("fold-type", (stream(Sequence(Any), "B"),))
    assert isinstance(refusal(derivation, Node(None, Fold(0, add)), (stream(INTS, "U"),)), BoundednessError)


def test_fold():
    """([…, h], fold(acc, f)) →δ ([…], fold(acc', f), [])."""
    after, outputs = fires("fold", node(Fold(10, add), ints(1, 5)))
    assert after == node(Fold(11, add), ints(5))
    assert outputs == (None,)


def test_fold_terminator():
    """([⊗], fold(acc, f)) →δ (⊗, fold(acc, f), [⊗, acc])."""
    after, outputs = fires("fold-terminator", node(Fold(11, add), ended()))
    assert after == node(Fold(11, add), PASSED)
    assert outputs == (ended(11),)


# §6.1, window


def window(*opened):
    return Window(10, opened=Elements(opened))


@both_flags
def test_window_type(flag):
    """The inner streams are bounded, whatever the outer one is."""
    rule, outputs = typed(Window(10), stream(Sequence(tuple[str, int]), flag))
    assert rule == "window-type"
    assert outputs == (stream(Nested(stream(Sequence(str), "B")), flag),)


def test_window_first():
    after, outputs = fires("window-first", node(window(), ints(("a", 3), ("b", 4))))
    assert after == node(window(("a", 3)), ints(("b", 4)))
    assert outputs == (None,)


def test_window():
    """The time since the oldest element of the window is at most the interval."""
    after, outputs = fires("window", node(window(("a", 3)), ints(("b", 13))))
    assert after == node(window(("a", 3), ("b", 13)), ints())
    assert outputs == (None,)


def test_window_emit():
    after, outputs = fires("window-emit", node(window(("a", 3), ("b", 4)), ints(("c", 14))))
    assert after == node(window(("c", 14)), ints())
    assert outputs == (NestedValue.pushing((ended("a", "b"),)),)


# §6.2, LVars


def lvar(value, end=End.OPEN):
    return LVarValue(Max(int), value, end)


@both_flags
def test_fold_lattice_type(flag):
    assert typed(FoldLattice(Max(int), len), stream(Sequence(str), flag)) == (
        "fold-lattice-type",
        (stream(LVar(Max(int)), flag),),
    )


def test_fold_lattice():
    operator = FoldLattice(Max(int), len)
    after, outputs = fires("fold-lattice", node(operator, ints("abc", "d")))
    assert after == node(operator, ints("d"))
    assert outputs == (lvar(3),)


def test_fold_lattice_terminated():
    operator = FoldLattice(Max(int), len)
    after, outputs = fires("fold-lattice-terminated", node(operator, ended()))
    assert after == node(operator, PASSED)
    assert outputs == (LVar(Max(int)).bottom().fix(),)


@both_flags
def test_lvar_threshold_type(flag):
    rule, outputs = typed(Threshold((5,)), stream(LVar(Max(int)), flag))
    assert (rule, outputs) == ("lvar-threshold-type", (stream(INTS, flag),))
    sets = stream(LVar(SetUnion(int)), flag)
    two = Node(None, Threshold((frozenset({1}), frozenset({2}))))
    assert isinstance(refusal(derivation, two, (sets,)), ThresholdError)  # both can be passed


def test_lvar_threshold():
    """v ⊔ t = v: the threshold is emitted, and not the value."""
    assert stuck(node(Threshold((5,)), lvar(4)))
    after, outputs = fires("lvar-threshold", node(Threshold((5,)), lvar(7)))
    assert outputs == (ended(5),)
    assert stuck(after)
    fixed = node(Threshold((5,)), lvar(7, End.ARRIVED))
    assert [step.rule for step in small_steps(fixed)] == ["lvar-threshold"]


def test_lvar_threshold_terminated():
    after, outputs = fires("lvar-threshold-terminated", node(Threshold((5,)), lvar(4, End.ARRIVED)))
    assert outputs == (ended(),)
    assert stuck(after)


# §6.3, z-sets


def zset(weights=(), end=End.OPEN):
    return ZSetValue.of(dict(weights).items(), end)


def tripled(element, weight):
    return 3 * weight


def test_map_zset():
    after, outputs = fires("map-zset", node(MapWeights(tripled), zset({"a": -2})))
    assert after == node(MapWeights(tripled), zset())
    assert outputs == (zset({"a": -6}),)


def test_map_zset_terminated():
    after, outputs = fires("map-zset-terminated", node(MapWeights(tripled), zset(end=End.ARRIVED)))
    assert after == node(MapWeights(tripled), zset(end=End.PASSED))
    assert outputs == (zset(end=End.ARRIVED),)


def test_join_zset():
    """M₁ ⋈ M₂' + M₁' ⋈ M₂ + M₁' ⋈ M₂', and what arrived is added to what the operator knows."""
    assert stuck(node(Join(), zset(), zset()))
    graph, outputs = fires("join-zset", node(Join(), zset({"a": 2}), zset({"a": 3, "b": 1})))
    assert outputs[0].weights.to_dict() == {"a": 6}
    graph, outputs = fires("join-zset", node(graph.operator, zset({"b": 1}), zset({"a": -3})))
    assert outputs[0].weights.to_dict() == {"a": -6, "b": 1}


def test_join_zset_terminated():
    both = zset(end=End.ARRIVED)
    after, outputs = fires("join-zset-terminated", node(Join(), both, both))
    assert outputs == (zset(end=End.ARRIVED),)
    assert stuck(after)
    after, outputs = fires("join-zset-left-ended", node(Join(), both, zset()))
    assert outputs == (None,), "the end of one side does not end the output"
    assert stuck(after)


# §5.4, nest

BODY = sequence(
    Parallel(Node(None, ReadDefer("k", INTS, ended(0))), Node(None, Fold(0, add))),
    Parallel(Node(None, WriteDefer("k")), Node(None, identity())),
)
"""What is read is written again; the output is the sum of the inner stream."""

OUTER = stream(Nested(INTS), "U")
OUTPUTS = derivation(Node(None, Nest(sequence(Node(None, Fold(0, add))))), (OUTER,)).outputs


def nest_on(*inner, end=End.OPEN, body=BODY):
    """{[…]}[nest(g)], typed."""
    start, _ = initial(Node(None, Nest(body)), (OUTER,))
    value = NestedValue.pushing(*((values,) for values in inner))
    return node(start.operator, value.fix() if end is End.ARRIVED else value)


def until(rule, graph):
    """The state in which the rule applies, after whatever must come first."""
    while rule not in [step.rule for step in small_steps(graph)]:
        step = next(small_steps(graph))
        graph = step.graph
    return graph


SUM = Node(None, Fold(0, add))
FRESH = NestedValue.pushing((INTS.bottom(),))
THE_END = NestedValue.pushing().fix()


def test_nest_first():
    """([…, I], nest(g)) →δ ([…, I], nest(g, g), ((⊥, …, ⊥), true))."""
    start = nest_on(ints(1, 2))
    after, outputs = fires("nest-first", start)
    assert outputs == (FRESH,)
    assert after.state == start.state
    assert after.operator.graph == after.operator.original == start.operator.graph


def test_nest_first_fixed():
    """([⊗], nest(g)) →δ ([⊗], nest(g, g), ⊗)."""
    after, outputs = fires("nest-first-fixed", nest_on(end=End.ARRIVED))
    assert outputs == (THE_END,)
    assert after.state[0].end is End.PASSED
    assert stuck(after)


def test_nest_run_graph():
    """A step of the body consumes the oldest inner stream and extends the newest output."""
    start, _ = fires("nest-first", nest_on(ended(1, 2), ended(9), body=SUM))
    after, outputs = fires("nest-run-graph", start)
    assert after.state == (NestedValue.pushing((ended(2),), (ended(9),)),)
    assert after.operator.graph.operator == Fold(1, add)
    assert outputs[0].continues
    after, outputs = fires("nest-run-graph", fires("nest-run-graph", after)[0])
    assert outputs == (NestedValue.extending((ended(3),)),)


def test_nest_run_step():
    """The body is stuck, its outputs and what it writes are fixed: the next inner stream, and what was deferred."""
    start = until("nest-run-step", nest_on(ended(1, 2), ended(9)))
    assert [step.rule for step in small_steps(start)] == ["nest-run-step"]
    after, outputs = fires("nest-run-step", start)
    assert outputs == (FRESH,)
    assert after.state == (NestedValue.pushing((ended(9),)),)
    assert after.operator.graph == set_defer(start.operator.original, {"k": ended(0)})


def test_nest_run_fixed():
    """([⊗, I], nest(g, g₀)) →δ ([⊗], nest(g₀, g₀), ⊗)."""
    after, outputs = fires("nest-run-fixed", until("nest-run-fixed", nest_on(ended(1), end=End.ARRIVED)))
    assert outputs == (THE_END,)
    assert after.state[0].end is End.PASSED
    assert after.operator.graph == after.operator.original
    assert stuck(after)


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=2), max_size=3),
    st.sampled_from(["B", "U"]),
    st.booleans(),
    st.sampled_from([BODY, RUNNING_TOTAL, SUM]),
)
@tried(24)
def test_nest_is_an_operator_like_any_other(data, flag, closed, body):
    """Well-formedness, preservation, determinism, eager execution and streaming progress of nest (§5.5)."""
    chunks = []
    for inner in data:
        chunks.append((NestedValue.pushing((INTS.value(inner[:1]),)),))
        chunks.append((NestedValue.extending((ended(*inner[1:]),)),))
    if closed or flag == "B":
        chunks.append((THE_END,))
    check_operator(Nest(body), (stream(Nested(INTS), flag),), chunks, seeds=3)


def test_nest_waits_for_the_end_of_the_inner_stream():
    start = nest_on(ints(1, 2), body=SUM)
    final, outputs = run_steps(start, OUTPUTS)
    assert outputs == (FRESH,)
    assert final.operator.graph.operator == Fold(3, add)


def test_read_defer_emit():
    """((), read_defer(k, v)) →δ ((), read_defer(k), v)."""
    after, outputs = fires("read-defer-emit", Node((), ReadDefer("k", INTS, ended(7))))
    assert after == Node((), ReadDefer("k", INTS, None))
    assert outputs == (ended(7),)
    assert stuck(after)


def test_collect_defer():
    """The inputs of every write_defer, and nothing of any other operator."""
    graph = Parallel(
        node(WriteDefer("a"), ended(1)), sequence(node(Wire(1, (0,)), ints(5)), node(WriteDefer("b"), ints(2)))
    )
    assert collect_defer(graph) == {"a": ended(1), "b": ints(2)}
    assert collect_defer(node(Map(successor), ints())) == {}


def test_set_defer():
    read = Node((), ReadDefer("a", INTS, ended(1)))
    graph = Parallel(read, sequence(node(Map(successor), ints(5)), node(WriteDefer("a"), ints())))
    assert set_defer(graph, {"a": ended(9)}) == Parallel(Node((), ReadDefer("a", INTS, ended(9))), graph.right)


def test_write_defer_takes_no_step():
    assert stuck(node(WriteDefer("k"), ended(1, 2)))


def test_zset_concatenation_adds_weights():
    """The figure "z-sets": ++ adds, zero vanishes, and a fixed one absorbs."""
    sets = ZSet(str)
    both = zset({"a": 1, "b": 2}).concat(zset({"a": -1, "c": 1}))
    assert sets.plain(both) == {"b": 2, "c": 1}
    assert both.fix().concat(zset({"b": 1})) == both.fix()


def test_lvar_concatenation_joins():
    """The figure "LVars": ++ is the join, and a fixed one absorbs."""
    assert lvar(3).concat(lvar(5)) == lvar(5)
    assert lvar(5).concat(lvar(3)) == lvar(5)
    assert lvar(5).fix().concat(lvar(9)) == lvar(5).fix()


def test_nested_concatenation_pushes_or_extends():
    """The figure "ordered sequence of streams": a delta pushes a tuple, extends the newest one, or ends."""
    value = NestedValue.pushing((ended(1),), (ints(2),))
    assert value.concat(NestedValue.extending((ints(3),))) == NestedValue.pushing((ended(1),), (ints(2, 3),))
    closed = value.concat(NestedValue.extending((ended(),)))
    pushed = closed.concat(NestedValue.pushing((ints(4),)))
    assert pushed == NestedValue.pushing((ended(1),), (ended(2),), (ints(4),))
    assert value.fix().concat(NestedValue.pushing((ints(4),))) == value.fix()
    kind = Nested(INTS)
    assert pushed in kind
    left_open = value.concat(NestedValue.pushing((ints(4),)))
    assert "has no end" in kind.mismatch(left_open)

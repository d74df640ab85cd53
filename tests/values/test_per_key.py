"""per_key: a whole graph for every key."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.collection import End
from flo.core.errors import BoundednessError, CollectionError, DeferError, FunctionError, TypeMismatch
from flo.core.event_loop import EventLoop
from flo.core.graph import inputs, parallel, sequence, setinput
from flo.core.nest import Nest, ReadDefer, WriteDefer
from flo.core.nested import Nested, NestedValue
from flo.core.operator import concat_all
from flo.core.semantics import advance, small_steps
from flo.core.structural import Source, Wire, identity
from flo.core.typing import initial
from flo.values.keyed import Keyed, KeyedValue
from flo.values.operators import per_key
from flo.values.operators.bags import Count
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.keyed_streams import Entries, KeyBy
from flo.values.operators.nested_streams import Flatten, NestedLast
from flo.values.operators.pairs import Zip
from flo.values.operators.per_key import PerKey
from flo.values.operators.sequences import Batch, Fold, Scan, Take
from flo.values.operators.zset_joins import Join
from flo.values.operators.zsets import Distinct, ToZSet, ZSetToSet
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet, ZSetValue
from tests.harness import check_graph, check_operator, fired, refusal
from tests.quick import tried
from tests.values.building import bounded, seq, unbounded, zset
from tests.values.keyed_cases import (
    END,
    INTS,
    KEYED,
    ZKEYED,
    content,
    keyed,
    keyed_chunks,
    op,
    plus,
    weighted,
)


def test_per_key_runs_a_graph_for_every_key():
    chunks = [(keyed(a=[1, 2], b=[5]),), (keyed(a=[3], c=[]),), (keyed(b=[6]).fix(),)]
    (sums,) = check_operator(PerKey(op(Fold(0, plus))), (bounded(KEYED),), chunks)
    assert KEYED.plain(sums) == {"a": [6], "b": [11], "c": [0]}
    assert sums.fixed()
    for rule in ("first", "receive", "run-graph", "end", "terminated"):
        assert fired[f"per-key-{rule}"]


@pytest.mark.parametrize(
    ("body", "by_hand"),
    [
        (op(Map(lambda x: x + 1)), lambda xs: [x + 1 for x in xs]),
        (op(Take(2)), lambda xs: xs[:2]),
        (
            sequence(op(Filter(lambda x: x > 0)), op(Scan(0, plus))),
            lambda xs: [sum(xs[: n + 1]) for n, x in enumerate(xs) if x],
        ),
        (sequence(op(Batch(2)), op(Nest(op(Fold(0, plus)))), op(Flatten())), None),
    ],
    ids=["map", "take", "filter-scan", "batch-nest"],
)
@tried(18)
@given(chunks=keyed_chunks())
def test_per_key_on_unbounded_streams(body, by_hand, chunks):
    (output,) = check_operator(PerKey(body), (unbounded(KEYED),), chunks, seeds=3)
    if by_hand is not None:
        assert KEYED.plain(output) == {key: by_hand(xs) for key, xs in content(chunks, KEYED).items()}


@tried(20)
@given(keyed_chunks(ends=True))
def test_per_key_on_bounded_streams(chunks):
    (output,) = check_operator(PerKey(op(Fold(0, plus))), (bounded(KEYED),), chunks, seeds=3)
    assert KEYED.plain(output) == {key: [sum(xs)] for key, xs in content(chunks, KEYED).items()}


@tried(18)
@given(keyed_chunks(ends=True))
def test_per_key_of_a_composition_is_the_composition_of_per_keys(chunks):
    some, other = op(Filter(lambda x: x > 0)), op(Fold(0, plus))
    once = check_operator(PerKey(sequence(some, other)), (bounded(KEYED),), chunks, seeds=2)
    assert check_graph(sequence(op(PerKey(some)), op(PerKey(other))), (bounded(KEYED),), chunks, seeds=2) == once


@pytest.mark.parametrize("kind", [Bag(int), Set(int)])
@tried(15)
@given(data=st.data())
def test_per_key_of_other_collections(kind, data):
    chunks = data.draw(keyed_chunks(kind, ends=True))
    (output,) = check_operator(PerKey(op(Count())), (bounded(Keyed(str, kind)),), chunks, seeds=2)
    expected = {
        key: [len(list(group.elements() if isinstance(group, Counter) else group))]
        for key, group in content(chunks, Keyed(str, kind)).items()
    }
    assert {key: list(INTS.plain(value)) for key, value in output.entries.items()} == expected


@tried(18)
@given(keyed_chunks(sides=2))
def test_per_key_of_two_inputs(chunks):
    types = (unbounded(KEYED), unbounded(KEYED))
    (output,) = check_operator(PerKey(op(Zip())), types, chunks, seeds=3)
    left, right = content(chunks, KEYED, 0), content(chunks, KEYED, 1)
    pairs = {key: list(zip(left.get(key, []), right.get(key, []), strict=False)) for key in left | right}
    assert Keyed(str, Sequence(tuple[int, int])).plain(output) == pairs


def test_the_end_of_one_input_reaches_keys_that_come_later_through_another():
    body = parallel(op(Fold(0, plus)), op(Map(lambda x: x)))
    chunks = [(keyed(a=[1]), None), (END, None), (None, keyed(b=[2]))]
    sums, copies = check_operator(PerKey(body), (bounded(KEYED), unbounded(KEYED)), chunks)
    assert KEYED.plain(sums) == {"a": [1], "b": [0]}
    assert KEYED.plain(copies) == {"a": [], "b": [2]}
    assert not sums.fixed()


def test_per_key_types():
    body = parallel(op(Fold(0, plus)), op(Map(plus)))
    judged = PerKey(body).judge((bounded(KEYED), unbounded(KEYED)))
    assert judged.rule == "per-key-type"
    assert judged.outputs == (unbounded(KEYED), unbounded(KEYED))
    assert PerKey(body).judge((bounded(KEYED), bounded(KEYED))).outputs == (bounded(KEYED), bounded(KEYED))
    assert PerKey(op(Wire(1, ()))).judge((bounded(KEYED),)).outputs == ()
    assert PerKey(body).arity == (2, 2)


def test_per_key_with_a_source():
    body = sequence(parallel(op(identity()), op(Source(INTS, seq(7, 8, end=End.ARRIVED)))), op(Zip()))
    chunks = [(keyed(a=[1]),), (keyed(b=[], a=[2, 3]),)]
    (output,) = check_operator(PerKey(body), (unbounded(KEYED),), chunks)
    assert Keyed(str, Sequence(tuple[int, int])).plain(output) == {"a": [(1, 7), (2, 8)], "b": []}


def test_per_key_of_nested_inner_streams():
    kind = Keyed(str, Nested(INTS))
    chunks = [
        (KeyedValue.of({"a": NestedValue.pushing((seq(1),)), "b": NestedValue.pushing()}),),
        (KeyedValue.of({"a": NestedValue.extending((seq(2, end=End.ARRIVED),))}),),
        (KeyedValue.of({"a": NestedValue.pushing((seq(3, end=End.ARRIVED),))}),),
        (END,),
    ]
    (sums,) = check_operator(PerKey(op(Nest(op(Fold(0, plus))))), (bounded(kind),), chunks)
    assert kind.plain(sums) == {"a": [[3], [3]], "b": []}
    (last,) = check_operator(PerKey(op(NestedLast())), (bounded(kind),), chunks)
    assert KEYED.plain(last) == {"a": [3], "b": []}
    (same,) = check_operator(identity(), (bounded(kind),), chunks)
    assert kind.plain(same) == {"a": [[1, 2], [3]], "b": []}


def test_per_key_in_nest_and_nest_in_per_key():
    body = sequence(op(KeyBy(lambda x: x % 2)), op(PerKey(op(Fold(0, plus)))), op(Entries()))
    chunks = [(NestedValue.pushing((seq(1, 2, 3, end=End.ARRIVED),), (seq(4, end=End.ARRIVED),)),)]
    (output,) = check_operator(Nest(body), (unbounded(Nested(INTS)),), chunks)
    assert Nested(Bag(tuple[int, int])).plain(output) == [Counter({(0, 2): 1, (1, 4): 1}), Counter({(0, 4): 1})]


def test_per_key_in_per_key():
    body = sequence(op(KeyBy(lambda x: x % 2)), op(PerKey(op(Scan(0, plus)))))
    kind = Keyed(str, Keyed(int, INTS))
    chunks = [(keyed(a=[1, 2], b=[4]),), (keyed(a=[3]),), (END,)]
    (output,) = check_operator(PerKey(body), (unbounded(KEYED),), chunks)
    assert kind.plain(output) == {"a": {1: [1, 4], 0: [2]}, "b": {0: [4]}}


def test_advance_runs_only_the_keys_that_received_something(monkeypatch):
    many = KeyedValue.of({number: seq(number) for number in range(100)})
    graph, _ = initial(op(PerKey(op(Zip()))), (unbounded(Keyed(int, INTS)), unbounded(Keyed(int, INTS))))
    graph, _ = advance(setinput(graph, (many, inputs(graph)[1])))
    ran = []
    monkeypatch.setattr(per_key, "advance", lambda body: ran.append(body) or advance(body))
    more = (None, KeyedValue.of({7: seq(1), 200: seq(2)}))
    after, deltas = advance(setinput(graph, concat_all(inputs(graph), more)))
    assert 2 <= len(ran) <= 4
    assert len(after.operator.running) == 101
    assert [KeyedValue.of({7: seq((7, 1)), 200: seq()})] == [delta for row in deltas for delta in row]


def test_a_function_that_fails_for_one_key_does_not_stop_the_others():
    types = (unbounded(KEYED),)
    graph, _ = initial(op(PerKey(op(Map(lambda x: 6 // x)))), types)
    graph = setinput(graph, (keyed(a=[2, 0, 3], b=[1], c=[6]),))
    after, deltas = advance(graph)
    outputs = (KEYED.bottom(),)
    for row in deltas:
        outputs = concat_all(outputs, row)
    assert KEYED.plain(outputs[0]) == {"a": [3], "b": [6], "c": [1]}
    error = refusal(advance, after)
    assert isinstance(error, FunctionError)
    assert "ZeroDivisionError" in str(error)
    assert isinstance(refusal(lambda: list(small_steps(after))), FunctionError)
    more = setinput(after, (keyed(b=[2]),))
    assert [step.rule for step in small_steps(more)] == ["per-key-receive"]


def test_a_program_with_per_key_goes_on_from_a_checkpoint():
    program, _ = initial(sequence(op(KeyBy(abs)), op(PerKey(op(Scan(0, plus))))), (unbounded(INTS),))
    first, second = EventLoop(program, (unbounded(INTS),)), EventLoop(program, (unbounded(INTS),))
    first.push((seq(1, -1, 2),))
    first.run()
    second.restore(first.checkpoint())
    for loop in (first, second):
        loop.push((seq(2, -1),))
        loop.run()
    assert first.graph == second.graph
    assert Keyed(int, INTS).plain(second.outputs[0]) == {1: [1, 0, -1], 2: [2, 4]}


def test_per_key_refuses_defers():
    write = sequence(op(Wire(1, (0, 0))), parallel(op(identity()), op(WriteDefer("k"))))
    read = parallel(op(identity()), op(ReadDefer("k", INTS, seq(end=End.ARRIVED))))
    for body in (write, read):
        error = refusal(PerKey(body).judge, (bounded(KEYED),))
        assert isinstance(error, DeferError)
        assert error.key == "k"
    around = sequence(op(KeyBy(abs)), op(PerKey(write)), op(Entries()))
    assert isinstance(refusal(Nest(around).judge, (unbounded(Nested(INTS)),)), DeferError)


def test_per_key_refuses_other_inputs():
    judge = PerKey(op(Zip())).judge
    assert isinstance(refusal(judge, (unbounded(KEYED), unbounded(INTS))), CollectionError)
    assert "different key types" in str(refusal(judge, (unbounded(KEYED), unbounded(Keyed(int, INTS)))))
    assert "can disappear" in str(refusal(judge, (unbounded(KEYED), unbounded(ZKEYED))))
    assert isinstance(refusal(judge, (unbounded(KEYED),)), TypeMismatch)
    assert isinstance(refusal(PerKey(op(Source(INTS))).judge, ()), TypeMismatch)
    assert isinstance(refusal(PerKey(op(Fold(0, plus))).judge, (unbounded(KEYED),)), BoundednessError)
    assert isinstance(refusal(PerKey(None).judge, (unbounded(INTS), unbounded(INTS))), CollectionError)
    assert isinstance(refusal(PerKey(None).judge, (unbounded(KEYED),)), TypeMismatch)


# per_key on z-sets, whose keys come and go


@tried(24)
@given(keyed_chunks(ZSet(int)))
def test_per_key_of_z_sets(chunks):
    (output,) = check_operator(PerKey(op(Distinct())), (unbounded(ZKEYED),), chunks, seeds=3)
    positive = {key: {x: 1 for x, w in group.items() if w > 0} for key, group in content(chunks, ZKEYED).items()}
    assert ZKEYED.plain(output) == {key: group for key, group in positive.items() if group}


@tried(24)
@given(keyed_chunks(ZSet(int), sides=2))
def test_per_key_of_two_z_sets_is_their_join(chunks):
    types = (unbounded(ZKEYED), unbounded(ZKEYED))
    (output,) = check_operator(PerKey(op(Join())), types, chunks, seeds=3)
    left, right = content(chunks, ZKEYED, 0), content(chunks, ZKEYED, 1)
    products = {
        key: {x: w * right[key][x] for x, w in left[key].items() if x in right[key]} for key in left if key in right
    }
    assert ZKEYED.plain(output) == {key: group for key, group in products.items() if group}


@tried(24)
@given(
    keyed_chunks(ZSet(int), st.dictionaries(st.integers(0, 2), st.integers(0, 1)), ends=False),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.booleans(),
)
def test_per_key_of_z_sets_that_wait_for_the_end(chunks, undone, apart):
    """Every key whose elements were all taken back is gone, whether the end comes with that or later."""
    back = [
        (KeyedValue.of({k: ZSetValue.of((x, -w) for x, w in v.all_units()) for k, v in row[0].entries.items()}),)
        for row, undo in zip(chunks, undone, strict=False)
        if undo and row[0] is not None
    ]
    chunks = chunks + back
    if apart or not chunks:
        chunks.append((END,))
    else:
        chunks[-1] = ((chunks[-1][0] or ZKEYED.bottom()).fix(),)
    body = sequence(op(ZSetToSet()), op(Count()))
    (output,) = check_operator(PerKey(body), (bounded(ZKEYED),), chunks, seeds=3)
    assert KEYED.plain(output) == {key: [len(group)] for key, group in content(chunks, ZKEYED).items()}


def test_a_key_of_z_sets_is_in_an_output_if_something_is_there_for_it():
    body = sequence(op(ZSetToSet()), op(Filter(lambda x: x > 1)))
    chunks = [(weighted(a={1: 1}, b={2: 1}),), (END,)]
    (output,) = check_operator(PerKey(body), (bounded(ZKEYED),), chunks)
    assert Keyed(str, Set(int)).plain(output) == {"b": {2}}


def test_a_key_of_z_sets_is_gone_after_the_end_of_one_input():
    chunks = [(END, None), (None, weighted(a={1: 1}, b={2: 1})), (None, weighted(a={1: -1}))]
    body = parallel(op(identity()), op(Distinct()))
    _, output = check_operator(PerKey(body), (unbounded(ZKEYED), unbounded(ZKEYED)), chunks)
    assert ZKEYED.plain(output) == {"b": {2: 1}}


def test_the_graph_of_a_key_that_is_gone_is_forgotten():
    graph, _ = initial(op(PerKey(op(Distinct()))), (unbounded(ZKEYED),))
    begun, _ = advance(setinput(graph, (weighted(a={1: 1}),)))
    assert len(begun.operator.running) == 1
    assert advance(setinput(begun, (weighted(a={1: -1}),)))[0] == graph


def test_a_z_set_that_ended_on_its_own():
    early = KeyedValue.of({"a": zset({1: 1}, end=End.ARRIVED)})
    chunks = [(early,), (weighted(a={2: 1}, b={3: 1}),), (END,)]
    (output,) = check_operator(PerKey(op(Distinct())), (unbounded(ZKEYED),), chunks)
    assert ZKEYED.plain(output) == {"a": {1: 1}, "b": {3: 1}}


def test_per_key_from_sequences_to_z_sets_and_on():
    graph = sequence(op(PerKey(sequence(op(Take(1)), op(ToZSet())))), op(PerKey(op(Distinct()))))
    chunks = [(keyed(a=[1, 2]),), (keyed(b=[], a=[3]),), (keyed(b=[4]),)]
    for ends in ([], [(END,)]):
        (output,) = check_graph(graph, (unbounded(KEYED),), chunks + ends)
        assert ZKEYED.plain(output) == {"a": {1: 1}, "b": {4: 1}}


def test_per_key_of_z_sets_refuses_a_graph_that_emits_by_itself():
    emits = op(Source(ZSet(int), zset({1: 1}, end=End.ARRIVED)))
    body = parallel(op(identity()), emits)
    assert "without input" in str(refusal(PerKey(body).judge, (unbounded(ZKEYED),)))


def test_per_key_of_z_sets_has_one_boundedness():
    judged = PerKey(op(Join())).judge((bounded(ZKEYED), unbounded(ZKEYED)))
    assert judged.inputs == (unbounded(ZKEYED), unbounded(ZKEYED))
    body = parallel(op(ZSetToSet()), op(identity()))
    assert isinstance(refusal(PerKey(body).judge, (bounded(ZKEYED), unbounded(ZKEYED))), BoundednessError)

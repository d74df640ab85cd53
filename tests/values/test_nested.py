"""Operators on nested streams: zip_nested, last_nested, flatten, repeat_nested and nest_once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.collection import Collection
from flo.core.errors import BoundednessError, CollectionError, ElementError, TypeMismatch
from flo.core.graph import Node, sequence, setinput
from flo.core.nest import Nest
from flo.core.nested import Nested, NestedValue
from flo.core.semantics import small_steps
from flo.core.stream_type import StreamType
from flo.core.typing import initial
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.operators.elementwise import Map
from flo.values.operators.nested_streams import Flatten, NestedLast, NestedZip, NestOnce, RepeatNested, RepeatNestedBy
from flo.values.operators.sequences import Batch, Fold
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.harness import check_graph, check_operator, fired, refusal
from tests.quick import tried
from tests.values.building import bounded, unbounded

INTS = Sequence(int)
END = NestedValue.pushing().fix()


def pushed(*values):
    """One new tuple of inner streams."""
    return NestedValue.pushing(values)


def more(*values):
    """What extends the newest tuple."""
    return NestedValue.extending(values)


def ended(*elements, kind=INTS):
    return kind.value(elements).fix()


def opened(*elements, kind=INTS):
    return kind.value(elements)


@st.composite
def nested_deltas(draw, kind=INTS, ends=True):
    """The deltas of a nested stream, each inner stream cut somewhere; and what it holds."""
    deltas, contents = [], draw(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=4))
    for content in contents:
        cut = draw(st.integers(0, len(content)))
        head, tail = kind.value(content[:cut]), kind.value(content[cut:])
        if cut == len(content) and draw(st.booleans()):
            deltas.append(pushed(head.fix()))
        else:
            deltas += [pushed(head), more(tail)]
            if draw(st.booleans()):
                deltas[-1] = more(tail.fix())
            else:
                deltas.append(more(kind.value([]).fix()))
    if ends:
        deltas.append(END)
    return deltas, contents


def assert_fired(*rules):
    assert [rule for rule in rules if not fired[rule]] == []


def merged(draw, *streams):
    """The deltas of several inputs, in some order."""
    waiting, chunks = [list(stream) for stream in streams], []
    while any(waiting):
        side = draw(st.sampled_from([n for n, stream in enumerate(waiting) if stream]))
        row = [None] * len(streams)
        row[side] = waiting[side].pop(0)
        chunks.append(tuple(row))
    return chunks


# zip_nested


def plain(collection, values):
    return Collection.of(collection).plain(values[0])


def test_zip_nested_puts_inner_streams_side_by_side():
    chunks = [
        (pushed(opened(1)), None),
        (None, pushed(ended(5))),
        (more(ended(2)), pushed(opened(6))),
        (pushed(ended(3)), more(ended(7))),
        (pushed(ended(4)), None),
    ]
    types = (unbounded(Nested(INTS)), unbounded(Nested(INTS)))
    outputs = check_operator(NestedZip(), types, chunks)
    assert plain(Nested(INTS, INTS), outputs) == [([1, 2], [5]), ([3], [6, 7])]
    assert not outputs[0].fixed()


def test_zip_nested_passes_on_what_arrives_in_the_open_tuple():
    types = (unbounded(Nested(INTS)), unbounded(Nested(INTS)))
    chunks = [(pushed(opened(1)), pushed(opened())), (more(opened(2)), None)]
    (zipped,) = check_operator(NestedZip(), types, chunks)
    assert plain(Nested(INTS, INTS), (zipped,)) == [([1, 2], [])]
    assert not zipped.newest[0].fixed()


def test_zip_nested_ends_with_the_first_input_that_does_and_drains_the_others():
    types = (bounded(Nested(INTS)), bounded(Nested(INTS)))
    chunks = [
        (pushed(ended(1)), pushed(ended(2))),
        (END, pushed(ended(3))),
        (None, pushed(opened(4))),
        (None, more(opened())),
        (None, more(ended(5))),
        (None, END),
    ]
    (zipped,) = check_operator(NestedZip(), types, chunks)
    assert plain(Nested(INTS, INTS), (zipped,)) == [([1], [2])]
    assert zipped.fixed()
    assert_fired("zip-nested", "zip-nested-extend", "zip-nested-terminated", "zip-nested-drain")


def test_zip_nested_forgets_what_comes_after_its_end():
    types = (unbounded(Nested(INTS)), unbounded(Nested(INTS)))
    chunks = [(END, None), (None, pushed(opened(4))), (None, more(opened()))]
    assert check_operator(NestedZip(), types, chunks) == (END,)


def test_zip_nested_waits_for_the_rest_of_the_open_tuple_before_it_ends():
    types = (bounded(Nested(INTS)), bounded(Nested(INTS)))
    chunks = [(pushed(ended(1)), pushed(opened(2))), (END, None), (None, more(ended(3))), (None, END)]
    assert plain(Nested(INTS, INTS), check_operator(NestedZip(), types, chunks)) == [([1], [2, 3])]


def test_zip_nested_of_three_and_of_tuples():
    pair = NestedValue.pushing((ended(1), ended("a", kind=Sequence(str))))
    types = (unbounded(Nested(INTS, Sequence(str))), unbounded(Nested(INTS)), unbounded(Nested(Bag(int))))
    chunks = [(pair, pushed(ended(2)), pushed(ended(3, 3, kind=Bag(int))))]
    (zipped,) = check_operator(NestedZip(3), types, chunks)
    kind = Nested(INTS, Sequence(str), INTS, Bag(int))
    assert kind.plain(zipped) == [([1], ["a"], [2], Counter({3: 2}))]


def test_zip_nested_of_nested_inner_streams_that_are_open():
    inner = Nested(INTS)
    types = (unbounded(Nested(inner)), unbounded(Nested(INTS)))
    chunks = [
        (pushed(pushed(opened(1))), pushed(ended(9))),
        (more(more(ended(2))), None),
        (more(pushed(ended(3))), None),
        (more(END), None),
        (pushed(END), pushed(ended(8))),
    ]
    (zipped,) = check_operator(NestedZip(), types, chunks)
    assert Nested(inner, INTS).plain(zipped) == [([[1, 2], [3]], [9]), ([], [8])]


@tried(24)
@given(st.data(), st.booleans())
def test_zip_nested_laws(data, ends):
    (left, lefts), (right, rights) = data.draw(nested_deltas(ends=ends)), data.draw(nested_deltas(ends=ends))
    chunks = merged(data.draw, left, right)
    kind = StreamType(Nested(INTS), ends)
    outputs = check_operator(NestedZip(), (kind, kind), chunks, seeds=3)
    assert plain(Nested(INTS, INTS), outputs) == list(zip(lefts, rights, strict=False))


def test_zip_nested_refuses_other_collections():
    error = refusal(NestedZip().judge, (unbounded(Nested(INTS)), unbounded(INTS)))
    assert isinstance(error, CollectionError)
    assert "input 2 is a Sequence" in str(error)


# last_nested


def test_last_nested():
    chunks = [(pushed(ended(1)),), (pushed(opened(2)),), (more(ended(3)),), (END,)]
    assert check_operator(NestedLast(), (bounded(Nested(INTS)),), chunks) == (ended(2, 3),)
    assert_fired("last-nested", "last-nested-terminated")


def test_last_nested_of_nothing_is_a_fixed_bottom():
    assert check_operator(NestedLast(), (bounded(Nested(Set(int))),), [(END,)]) == (Set(int).bottom().fix(),)


def test_last_nested_gives_all_streams_of_the_tuple():
    tuples = [(ended(1), ended(2, kind=Bag(int))), (ended(3), ended(4, kind=Bag(int)))]
    kind = Nested(INTS, Bag(int))
    outputs = check_operator(NestedLast(2), (bounded(kind),), [(NestedValue.pushing(*tuples),), (END,)])
    assert outputs == tuples[1]


@tried(20)
@given(nested_deltas())
def test_last_nested_laws(stream):
    deltas, contents = stream
    outputs = check_operator(NestedLast(), (bounded(Nested(INTS)),), [(delta,) for delta in deltas], seeds=3)
    assert outputs == (ended(*(contents[-1] if contents else ())),)


def test_last_nested_refuses_a_stream_that_may_never_end_and_other_tuples():
    assert isinstance(refusal(NestedLast().judge, (unbounded(Nested(INTS)),)), BoundednessError)
    assert isinstance(refusal(NestedLast().judge, (bounded(Nested(INTS, INTS)),)), TypeMismatch)


# flatten


@pytest.mark.parametrize(
    ("kind", "inner", "expected"),
    [
        (INTS, [[1, 2], [], [2, 1]], [1, 2, 2, 1]),
        (Bag(int), [[1, 2], [], [2, 1]], Counter([1, 1, 2, 2])),
        (Set(int), [[1, 2], [], [2, 1]], {1, 2}),
        (ZSet(int), [{1: 1, 2: 3}, {}, {1: -1}], {2: 3}),
        (LVar(Max(int)), [3, 7, 5], 7),
    ],
    ids=str,
)
def test_flatten_unites_the_inner_streams(kind, inner, expected):
    chunks = [(pushed(kind.value(content).fix()),) for content in inner] + [(END,)]
    (output,) = check_operator(Flatten(), (bounded(Nested(kind)),), chunks)
    assert kind.plain(output) == expected
    assert output.fixed()
    assert_fired("flatten", "flatten-terminated")


def test_flatten_passes_on_what_arrives_and_no_end_of_an_inner_stream():
    chunks = [(pushed(opened(1)),), (more(opened(2)),), (more(ended(3)),)]
    (output,) = check_operator(Flatten(), (unbounded(Nested(INTS)),), chunks)
    assert output == opened(1, 2, 3)


@pytest.mark.parametrize("kind", [INTS, Bag(int), Set(int), ZSet(int)], ids=str)
@tried(15)
@given(data=st.data())
def test_flatten_laws(kind, data):
    deltas, contents = data.draw(nested_deltas(kind))
    (output,) = check_operator(Flatten(), (bounded(Nested(kind)),), [(delta,) for delta in deltas], seeds=3)
    assert output == kind.value([element for content in contents for element in content]).fix()


def test_flatten_refuses_what_has_no_union():
    assert isinstance(refusal(Flatten().judge, (unbounded(Nested(INTS, INTS)),)), CollectionError)
    assert isinstance(refusal(Flatten().judge, (unbounded(Nested(Nested(INTS))),)), CollectionError)
    assert isinstance(refusal(Flatten().judge, (unbounded(INTS),)), CollectionError)


# repeat_nested


@pytest.mark.parametrize("times", [0, 1, 3])
@pytest.mark.parametrize(
    ("kind", "content"),
    [(INTS, [1, 2]), (Bag(int), [1, 1]), (Set(int), [3]), (ZSet(int), {1: -2}), (LVar(Max(int)), 4)],
    ids=str,
)
def test_repeat_nested_of_any_collection(kind, content, times):
    chunks = [(kind.value(content),), (kind.bottom().fix(),)]
    (output,) = check_operator(RepeatNested(times), (bounded(kind),), chunks)
    assert Nested(kind).plain(output) == [kind.plain(kind.value(content))] * times
    assert output.fixed()
    assert_fired("repeat-nested")


def test_repeat_nested_of_a_nested_stream():
    chunks = [(pushed(opened(1)),), (more(ended(2)),), (END,)]
    (output,) = check_operator(RepeatNested(2), (bounded(Nested(INTS)),), chunks)
    assert Nested(Nested(INTS)).plain(output) == [[[1, 2]]] * 2


def test_repeat_nested_consumes_nothing_before_the_end():
    graph, _ = initial(Node(None, RepeatNested(2)), (bounded(INTS),))
    assert list(small_steps(setinput(graph, (opened(1),)))) == []


def test_repeat_nested_refuses_what_may_never_end():
    assert isinstance(refusal(RepeatNested(2).judge, (unbounded(INTS),)), BoundednessError)
    assert isinstance(refusal(RepeatNested(-1).judge, (bounded(INTS),)), TypeMismatch)


@pytest.mark.parametrize("times", [0, 2])
def test_repeat_nested_by_a_number_that_arrives(times):
    types = (bounded(Set(str)), bounded(INTS))
    chunks = [(Set(str).value(["a"]), None), (None, ended(times)), (Set(str).value(["b"]).fix(), None)]
    (output,) = check_operator(RepeatNestedBy(), types, chunks)
    assert Nested(Set(str)).plain(output) == [{"a", "b"}] * times
    assert_fired("repeat-nested-by")


@pytest.mark.parametrize("numbers", [[], [1, 2], [-1]])
def test_repeat_nested_by_is_told_one_number(numbers):
    graph, _ = initial(Node(None, RepeatNestedBy()), (bounded(INTS), bounded(INTS)))
    assert isinstance(refusal(list, small_steps(setinput(graph, (ended(1), ended(*numbers))))), ElementError)


def test_repeat_nested_by_refuses_other_types():
    judge = RepeatNestedBy().judge
    assert isinstance(refusal(judge, (unbounded(INTS), bounded(INTS))), BoundednessError)
    assert isinstance(refusal(judge, (bounded(INTS), unbounded(INTS))), BoundednessError)
    assert isinstance(refusal(judge, (bounded(INTS), bounded(Sequence(str)))), CollectionError)
    assert isinstance(refusal(judge, (bounded(INTS), bounded(Bag(int)))), CollectionError)


# nest_once


def test_nest_once_is_driven_by_the_other_stream():
    types = (bounded(Set(int)), unbounded(Nested(INTS)))
    chunks = [
        (None, pushed(opened(1))),
        (Set(int).value([7]), more(ended(2))),
        (Set(int).value([8]).fix(), pushed(ended())),
        (None, pushed(opened(3))),
        (None, more(opened())),
    ]
    (output,) = check_operator(NestOnce(), types, chunks)
    assert Nested(Set(int)).plain(output) == [{7, 8}, set(), set()]
    assert not output.fixed()
    assert_fired("nest-once-first", "nest-once", "nest-once-drain")


def test_nest_once_without_an_inner_stream_ends_with_its_driver():
    types = (bounded(INTS), bounded(Nested(INTS)))
    (output,) = check_operator(NestOnce(), types, [(None, END), (ended(1), None)])
    assert output == END
    assert_fired("nest-once-terminated")


@tried(24)
@given(st.data(), st.booleans())
def test_nest_once_laws(data, ends):
    deltas, contents = data.draw(nested_deltas(ends=ends))
    chunks = merged(data.draw, [opened(1), opened(2), ended(3)], deltas)
    (output,) = check_operator(NestOnce(), (bounded(INTS), StreamType(Nested(INTS), ends)), chunks, seeds=3)
    assert Nested(INTS).plain(output) == [[1, 2, 3], *[[]] * (len(contents) - 1)][: len(contents)]


def test_nest_once_refuses_what_may_never_end_and_an_element_stream_as_driver():
    judge = NestOnce().judge
    assert isinstance(refusal(judge, (unbounded(INTS), bounded(Nested(INTS)))), BoundednessError)
    assert isinstance(refusal(judge, (bounded(INTS), bounded(INTS))), CollectionError)


# all together


def test_batches_that_are_summed_and_flattened():
    total = Nest(Node(None, Fold(0, lambda acc, x: acc + x)))
    graph = sequence(*(Node(None, operator) for operator in (Batch(2), total, Flatten(), Map(lambda x: 2 * x))))
    chunks = [(opened(1, 2, 3),), (opened(4, 5),)]
    assert check_graph(graph, (unbounded(INTS),), chunks) == (opened(6, 14),)

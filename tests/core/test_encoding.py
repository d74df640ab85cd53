"""States as bytes: whatever is not a state of this program is refused by name, and nothing in it is run."""

from __future__ import annotations

import hashlib
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.checkpoint import MAGIC, VERSION, decode, encode
from flo.core.errors import CheckpointError
from flo.core.event_loop import EventLoop
from flo.core.graph import Node
from flo.core.term import Call, Name
from flo.core.typing import initial
from flo.values.operators.elementwise import Map
from flo.values.sequence import Sequence
from tests.core.checkpoint_program import first_half, program
from tests.core.graphs import INTS, increment, unbounded
from tests.harness import refusal
from tests.quick import tried


def sealed(body):
    """Any body, with a right header and checksum."""
    return MAGIC + bytes([VERSION]) + hashlib.sha256(body).digest() + body


def of_json(text):
    return sealed(zlib.compress(text.encode()))


@pytest.fixture(scope="module")
def state():
    loop = program()
    first_half(loop)
    return loop.checkpoint()


def loop_of_map():
    types = (unbounded(INTS),)
    return EventLoop(initial(Node(None, Map(increment)), types)[0], types)


def restoring(term):
    error = refusal(loop_of_map().restore, encode(term))
    assert isinstance(error, CheckpointError)
    return str(error)


terms = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.builds(Name, st.text()),
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple) | st.builds(Call, st.text(), st.lists(inner, max_size=4).map(tuple))
    ),
    max_leaves=12,
)


@given(terms)
@tried(24)
def test_every_term_comes_back(term):
    assert decode(encode(term)) == term


def test_the_same_term_has_the_same_bytes():
    assert encode((1, Call("f", ("a",)))) == encode((1, Call("f", ("a",))))
    assert encode((1,)) != encode((True,))


def test_huge_integers():
    for number in (2**199, 2**200, -(2**200), 10**5000, -(10**5000)):
        assert decode(encode(number)) == number
        assert decode(encode((number, Call("f", (number,))))) == (number, Call("f", (number,)))


def test_truncated_at_every_length(state):
    for length in range(len(state)):
        assert isinstance(refusal(decode, state[:length]), CheckpointError)
    assert "do not start with `flo-state`" in str(refusal(decode, b""))
    assert "truncated: the header has 42 bytes; got 20" in str(refusal(decode, state[:20]))
    assert "truncated or altered" in str(refusal(decode, state[:-1]))
    assert "truncated or altered" in str(refusal(decode, state + b"\x00"))


def test_every_byte_altered(state):
    for position in range(len(state)):
        for bit in (1, 128):
            altered = bytearray(state)
            altered[position] ^= bit
            assert isinstance(refusal(decode, bytes(altered)), CheckpointError)


def test_altered_states_are_not_restored(state):
    loop = program()
    before = loop.graph
    for position in range(0, len(state), 97):
        altered = bytearray(state)
        altered[position] ^= 16
        refusal(loop.restore, bytes(altered))
        assert loop.graph is before
    loop.restore(state)
    assert loop.graph != before


def test_other_bytes():
    assert "they do not start with `flo-state`" in str(refusal(decode, b"PK\x03\x04" + bytes(100)))
    assert "a state must be bytes; got str" in str(refusal(decode, "flo-state"))
    assert "a state must be bytes; got NoneType" in str(refusal(decode, None))


def test_other_versions(state):
    altered = bytearray(state)
    altered[len(MAGIC)] = VERSION + 1
    error = str(refusal(decode, bytes(altered)))
    assert f"must have version {VERSION} of the encoding; got version {VERSION + 1}" in error


def test_bytearrays_and_views_are_bytes(state):
    assert decode(bytearray(state)) == decode(memoryview(state)) == decode(state)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,]",
        "nonsense",
        '{"c": []}',
        '{"c": [1]}',
        '{"c": "name"}',
        '{"n": 1}',
        '{"i": "0xzz"}',
        '{"i": 5}',
        '{"other": 1}',
        "{}",
        '{"__class__": "os.system"}',
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "1" * 10_000,
    ],
    ids=lambda text: text[:20],
)
def test_malformed_json_with_a_right_checksum(text):
    error = refusal(decode, of_json(text))
    assert isinstance(error, CheckpointError)
    assert "malformed" in str(error)


def test_bodies_that_are_not_compressed_text():
    assert "malformed" in str(refusal(decode, sealed(b"not zlib")))
    assert "malformed" in str(refusal(decode, sealed(zlib.compress(b"\xff\xfe"))))
    assert "malformed" in str(refusal(decode, sealed(zlib.compress(b"[1, 2]")[:-3])))


def test_states_with_another_shape():
    for term in (None, (1, 2), Call("state"), Call("state", (1, 2, 3)), Call("other", ("text", (), ((), ())))):
        assert "not the state of a running program" in restoring(term)


def forged(change):
    """The state of a small program with its graph and outputs changed, and a right checksum."""
    loop = loop_of_map()
    loop.push((INTS.value([1]),))
    match decode(loop.checkpoint()):
        case Call("state", (skeleton, ends, texts, ended, (graph, outputs), outline)):
            return restoring(Call("state", (skeleton, ends, texts, ended, change(graph, outputs), outline)))


MAPPED = Call("map", (Name("increment"),))


def sequence_of(*elements):
    return Call("sequence", (elements, False))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda graph, outputs: (Call("fould", (0,)), outputs), "no expression is called `fould`"),
        (lambda graph, outputs: (Name("increment"), outputs), "malformed"),
        (lambda graph, outputs: (7, outputs), "malformed"),
        (lambda graph, outputs: (graph, ()), "does not fit the program's types"),
        (lambda graph, outputs: (graph, 7), "malformed"),
        (lambda graph, outputs: (graph, (Call("bag", (Call("table", ((), ())), False)),)), "a bag is not a Sequence"),
        (lambda graph, outputs: (graph, (sequence_of("a"),)), "'a' is not of type int"),
        (lambda graph, outputs: (Call("{}[]", ((sequence_of("a"),), MAPPED)), outputs), "'a' is not of type int"),
        (lambda graph, outputs: (Call("{}[]", ((), MAPPED)), outputs), "the state of `map` must have 1 inputs; got 0"),
        (lambda graph, outputs: (Call("{}[]", (5, MAPPED)), outputs), "malformed"),
        (lambda graph, outputs: (Call(";", (graph, graph)), outputs), "a different shape"),
        (
            lambda graph, outputs: (Call("{}[]", ((sequence_of(1),), Call("take", (2,)))), outputs),
            "`take` is not `map`",
        ),
        (
            lambda graph, outputs: (Call("{}[]", ((sequence_of(1),), Call("map", (Name("system"),)))), outputs),
            "the program supplies no `system`",
        ),
        (lambda graph, outputs: (Call("{}[]", ((sequence_of(1),), Call("map"))), outputs), "malformed"),
        (lambda graph, outputs: (Call("{}[]", (None, MAPPED)), outputs), "lacks the inputs"),
        (lambda graph, outputs: (graph, (Call("data", ("nowhere:Thing", ())),)), "which this program has not loaded"),
        (lambda graph, outputs: (graph, (Call("data", (5, ())),)), "malformed"),
        (lambda graph, outputs: (graph, (Call("Decimal", ("x",)),)), "malformed"),
    ],
)
def test_states_that_do_not_fit_the_program(change, reason):
    assert reason in forged(change)


def test_the_body_is_json(state):
    """What the description of the format says."""
    body = json.loads(zlib.decompress(state[len(MAGIC) + 1 + 32 :]))
    assert body["c"][0] == "state"


def test_strings_with_lone_surrogates():
    loop_types = (unbounded(Sequence(str)),)
    loop = EventLoop(initial(Node(None, Map(str.upper)), loop_types)[0], loop_types)
    loop.push((Sequence(str).value(["\ud800", "é"]),))
    loop.restore(loop.checkpoint())
    loop.run()
    assert Sequence(str).plain(loop.pull(0)) == ["\ud800", "É"]

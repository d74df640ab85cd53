"""Checkpoints of a running program: its state as a term, and terms as bytes.

    b"flo-state" | version (1 byte) | SHA-256 of the body (32 bytes) | body: zlib of JSON

In the JSON a tuple is an array, an atom is itself, `Call` is {"c": [name, …]}, `Name` is {"n": name}, and a large
integer is {"i": hex}. The bytes contain no code: reading them builds data and runs nothing. A state is only restored
into the program that wrote it (`load`).
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from flo.core.data import remember_classes
from flo.core.errors import CheckpointError, FloError
from flo.core.graph import Graph, names, text, with_origins
from flo.core.labels import identity
from flo.core.operator import Values
from flo.core.program_outline import (
    ANEW,
    ANOTHER,
    RESUMES,
    Outline,
    expect_same_lines,
    expect_same_outline,
    from_plain,
    tell_apart,
    to_plain,
    without_modules,
)
from flo.core.stream_type import StreamTypes
from flo.core.term import ATOMS, Call, Lifting, Lowering, Name, Term
from flo.core.typing import program

MAGIC = b"flo-state"
VERSION = 1
_HEADER = len(MAGIC) + 1 + 32
_LARGE = 1 << 200
_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""One NaN object for all: NaN only equals itself, and retracting a row with one must still find the row."""


def encode(term: Term) -> bytes:
    """Return the bytes of a term."""
    body = zlib.compress(
        json.dumps(_to_json(term), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"), 1
    )
    return MAGIC + bytes([VERSION]) + hashlib.sha256(body).digest() + body


def decode(data: bytes) -> Term:
    """Return the term of these bytes. Raises if they are truncated, altered or of another version."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise CheckpointError(f"a state must be bytes; got {type(data).__name__}")
    data = bytes(data)
    if data[: len(MAGIC)] != MAGIC:
        raise CheckpointError("the bytes are not a state of Flo: they do not start with `flo-state`")
    if len(data) < _HEADER:
        raise CheckpointError(f"the state is truncated: the header has {_HEADER} bytes; got {len(data)}")
    version = data[len(MAGIC)]
    if version != VERSION:
        raise CheckpointError(f"the state must have version {VERSION} of the encoding; got version {version}")
    digest, body = data[len(MAGIC) + 1 : _HEADER], data[_HEADER:]
    if hashlib.sha256(body).digest() != digest:
        raise CheckpointError("the state is truncated or altered: its checksum does not match")
    try:
        return _from_json(
            json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"), parse_constant=_CONSTANTS.__getitem__)
        )
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise CheckpointError(f"the state is malformed: {error}") from error


def _to_json(term: object) -> Any:
    match term:
        case tuple():
            if ATOMS.issuperset(map(type, term)) and not _has_large(term):
                return term
            return [_to_json(part) for part in term]
        case Call(name, args):
            return {"c": [name, *(_to_json(arg) for arg in args)]}
        case Name(name):
            return {"n": name}
        case int() if abs(term) >= _LARGE:
            return {"i": hex(term)}
        case _:
            return term


def _has_large(terms: tuple[object, ...]) -> bool:
    return any(type(term) is int and abs(term) >= _LARGE for term in terms)


def _from_json(item: Any) -> Term:
    match item:
        case list():
            if ATOMS.issuperset(map(type, item)):
                return tuple(item)
            return tuple(map(_from_json, item))
        case {"c": [str(name), *args]}:
            return Call(name, tuple(map(_from_json, args)))
        case {"n": str(name)}:
            return Name(name)
        case {"i": str(digits)}:
            return int(digits, 16)
        case dict():
            raise ValueError("unexpected object")
        case _:
            return item  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Running:
    """The progress of a program: its current graph, its unsent outputs, and the inputs that have ended."""

    graph: Graph
    outputs: Values
    ended: frozenset[int]


def save(
    whole: Graph,
    inputs: StreamTypes,
    ends: tuple[str, ...],
    running: Running,
    lowers: Callable[[Lowering], Lowering] = lambda lowering: lowering,
    outline: Outline = (),
) -> bytes:
    """Return the state of the program `whole`. `ends` names its inputs and outputs; `lowers` may externalize parts."""
    skeleton = text(Lowering()(whole), states=False)
    state = lower_state(whole, (running.graph, running.outputs), lowers)
    check_state(whole, inputs, running.graph, running.outputs)
    functions, ended = function_identities(whole), tuple(sorted(running.ended))
    return encode(Call("state", (skeleton, ends, functions, ended, state, to_plain(outline))))


def lower_state(
    whole: Graph, state: object, lowers: Callable[[Lowering], Lowering] = lambda lowering: lowering
) -> Term:
    """Lower a state of the program `whole`. Raises if it contains code, which restoring could not supply."""
    lowering = Lowering()
    lowering(whole)
    lowering = lowers(lowering)
    supplied = set(lowering.names)
    term = lowering(state)
    for name, item in lowering.names.items():
        if name not in supplied:
            raise code_error(item)
    return term


def code_error(item: object) -> CheckpointError:
    """Return the error for a part of a state that is code, which restoring could not supply."""
    return CheckpointError(
        f"cannot serialize a value of type {type(item).__name__}",
        facts=(("value", repr(item)[:80]),),
        instead=(("data", "a state contains no code: functions must be part of the program"),),
    )


def load(
    whole: Graph,
    inputs: StreamTypes,
    ends: tuple[str, ...],
    data: bytes,
    lifts: Callable[[Mapping[str, Any]], Lifting] = Lifting,
    outline: Outline = (),
) -> Running:
    """Return the progress stored in `data`. Raises, with the reason, if it is not a state of this program."""
    match decode(data):
        case Call("state", (str(skeleton), tuple(saved), tuple(texts), tuple(ended), (graph, outputs), *more)):
            before = from_plain(more[0]) if more else ()  # states of earlier releases have no outline
            own = text(Lowering()(whole), states=False)
            ours = Program(ends, outline, own, function_identities(whole))
            expect_same_program(Program(saved, before, skeleton, texts), ours, "the state")
        case _:
            raise CheckpointError("the bytes are not the state of a running program")
    try:
        supplied = names(whole)
        remember_classes((program(whole, inputs), tuple(supplied.values())))
        lifting = lifts(supplied)
        lifted, unsent = lifting(graph), lifting(outputs)
        restored = with_origins(lifted, whole) if isinstance(lifted, Graph) else lifted
        check_state(whole, inputs, restored, unsent)
        return Running(restored, unsent, frozenset(ended))
    except CheckpointError:
        raise
    except FloError as error:
        raise CheckpointError(f"the state does not fit the program: {error.summary}") from error
    except Exception as error:
        raise CheckpointError(f"the state is malformed: {error}") from error


def check_state(whole: Graph, inputs: StreamTypes, graph: Graph, outputs: Values) -> None:
    """Raise unless the state has the program's type. Also called before saving, so that a function that does not
    return its declared type is found while its results still exist."""
    derived, expected = program(graph, inputs).outputs, program(whole, inputs).outputs
    if derived != expected or len(outputs) != len(expected):
        raise CheckpointError("the state does not fit the program's types")
    for stream_type, output in zip(expected, outputs, strict=True):
        reason = stream_type.collection.mismatch(output)
        if reason is not None:
            raise CheckpointError(f"the state does not fit the program's types: {reason}")


class Program(NamedTuple):
    """What identifies a program."""

    ends: tuple[Any, ...]
    """A line for each input and output."""
    outline: Outline = ()
    """Nothing if it is not known."""
    text: str = ""
    """The paper's expression, if it decides."""
    functions: tuple[Any, ...] = ()
    """Each as a text."""


def expect_same_program(before: Program, ours: Program, state: str) -> None:
    """Raise, with what has changed, if our program cannot resume from the state of the one before."""
    pairs = [(without_modules(before.text), without_modules(ours.text))]
    if before.outline and ours.outline:  # they say of each function whether it may have changed
        theirs, own = ([str(end).partition(": ")[0] for end in each.ends] for each in (before, ours))
        expect_same_lines(theirs, own, state)
        expect_same_outline(before.outline, ours.outline, state)
    else:
        pairs += zip_longest(before.functions, ours.functions, fillvalue="nothing")
    for was_text, text_now in pairs:
        if was_text != text_now:
            was, now = tell_apart(str(was_text), text_now)
            facts = (("before", was), ("now", now))
            raise CheckpointError(f"{state} {ANOTHER}", facts=facts, instead=(RESUMES, ANEW))
    expect_same_lines(before.ends, ours.ends, state)


def function_identities(graph: Graph) -> tuple[str, ...]:
    """Return what identifies each function of the program."""
    return tuple(identity(item) for item in names(graph).values() if not isinstance(item, type))

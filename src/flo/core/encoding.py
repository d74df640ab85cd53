"""Terms as bytes: versioned, checksummed, and free of code. Reading them builds data and runs nothing.

    b"flo-state" | version (1 byte) | SHA-256 of the body (32 bytes) | body: zlib of JSON

In the JSON a tuple is an array, an atom is itself, `Call` is {"c": [name, …]}, `Name` is {"n": name}, and an int that
JSON readers could not take is {"i": hex}.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from typing import Any

from flo.core.errors import CheckpointError
from flo.core.term import ATOMS, Call, Name, Term

MAGIC = b"flo-state"
VERSION = 1
_HEADER = len(MAGIC) + 1 + 32
_LARGE = 1 << 200
_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""One nan for all: a nan equals itself only, and a row that holds one must still be found to be taken back."""


def encode(term: Term) -> bytes:
    body = zlib.compress(
        json.dumps(_to_json(term), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"), 1
    )
    return MAGIC + bytes([VERSION]) + hashlib.sha256(body).digest() + body


def decode(data: bytes) -> Term:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise CheckpointError(f"a state is bytes, and this is {type(data).__name__}")
    data = bytes(data)
    if data[: len(MAGIC)] != MAGIC:
        raise CheckpointError("these bytes are not a state of Flo: they do not begin with `flo-state`")
    if len(data) < _HEADER:
        raise CheckpointError(f"the state is truncated: {len(data)} bytes, and the header alone has {_HEADER}")
    version = data[len(MAGIC)]
    if version != VERSION:
        raise CheckpointError(f"the state has version {version} of the encoding, and this Flo reads version {VERSION}")
    digest, body = data[len(MAGIC) + 1 : _HEADER], data[_HEADER:]
    if hashlib.sha256(body).digest() != digest:
        raise CheckpointError("the state is truncated or altered: its checksum does not match")
    try:
        return _from_json(
            json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"), parse_constant=_CONSTANTS.__getitem__)
        )
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise CheckpointError(f"the state is malformed: {error}") from error


def _to_json(term: Any) -> Any:
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


def _has_large(terms: tuple[Any, ...]) -> bool:
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
            raise ValueError("an object that no lowering writes")
        case _:
            return item  # type: ignore[no-any-return]

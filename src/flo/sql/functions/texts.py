"""Functions of strings. Positions count characters, from 1.

Regular expressions are left to Spark: those of Java differ from all others.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions.decimals import size_of
from flo.sql.nodes import Node, as_array
from flo.sql.registry import Compute, Data, Family, constant, declare, many, of

TEXT, INTEGER = Family.STRING, Family.INTEGER


def by_row(function: Callable[..., Any], operands: list[Data], kind: pa.DataType) -> pa.Array:
    """Return the function of each row without nulls."""
    size = size_of(*operands)
    columns = [[each.as_py()] * size if isinstance(each, pa.Scalar) else each.to_pylist() for each in operands]
    return pa.array([None if None in row else function(*row) for row in zip(*columns, strict=True)], kind)


def is_constant(*operands: Data) -> bool:
    return all(isinstance(each, pa.Scalar) and each.is_valid for each in operands)


def _rows(function: Callable[..., Any]) -> Compute:
    """Rare functions, and operands that are rarely columns: by row."""
    return lambda node, operands: by_row(function, operands, node.type)


# Parts


def _substring(node: Node, operands: list[Data]) -> Data:
    text, start, length = operands
    if not is_constant(start, length) or start.as_py() < 0:
        return by_row(cut, operands, node.type)
    begin, count = max(start.as_py() - 1, 0), max(length.as_py(), 0)
    return pc.utf8_slice_codeunits(text, begin, begin + count)


def cut(text: str, position: int, count: int) -> str:
    begin = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(begin, 0) : max(min(begin + count, 2**31 - 1), 0)] if count > 0 else ""


def _trim(name: str) -> Compute:
    function = getattr(pc, f"utf8_{name}")
    python = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}[name]

    def compute(node: Node, operands: list[Data]) -> Data:
        if len(operands) == 1:
            return function(operands[0], " ")
        if is_constant(operands[1]) and operands[1].as_py():
            return function(operands[0], operands[1].as_py())
        return by_row(lambda text, signs: python(text, signs) if signs else text, operands, node.type)

    return compute


def _split(text: str, by: str) -> list[str]:
    return text.split(by) if by else [text]


def _before(text: str, by: str, count: int) -> str:
    """substring_index: what comes before so many separators, counted from the end if negative."""
    if not by or not count:
        return ""
    ends = _starts(text, by) if count > 0 else _starts_from_end(text, by)
    if abs(count) > len(ends):
        return text
    place = ends[abs(count) - 1]
    return text[:place] if count > 0 else text[place + len(by) :]


def _starts(text: str, by: str) -> list[int]:
    """Return where a string occurs; the next may overlap."""
    found, place = [], text.find(by)
    while place >= 0:
        found.append(place)
        place = text.find(by, place + 1)
    return found


def _starts_from_end(text: str, by: str) -> list[int]:
    found, place = [], text.rfind(by)
    while place >= 0:
        found.append(place)
        place = text.rfind(by, 0, place + len(by) - 1)
    return found


# Search


def _find(name: str) -> Compute:
    function = getattr(pc, name)
    python = {"starts_with": str.startswith, "ends_with": str.endswith, "match_substring": str.__contains__}[name]

    def compute(node: Node, operands: list[Data]) -> Data:
        text, pattern = operands
        if is_constant(pattern) and not isinstance(text, pa.Scalar):
            return function(text, pattern=pattern.as_py())
        return by_row(python, operands, pa.bool_())

    return compute


def _locate(part: str, text: str, start: int) -> int:
    if start <= 0:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


def _locate_part(node: Node, operands: list[Data]) -> Data:
    """locate(part, text, start). Without a start it is 0, and without others it is null."""
    part, text, start = operands
    found = by_row(_locate, [part, text, pc.coalesce(start, pa.scalar(0, start.type))], node.type)
    return pc.if_else(pc.is_valid(start), found, pa.scalar(0, node.type))


# New strings


def _concat(node: Node, operands: list[Data]) -> Data:
    return pc.binary_join_element_wise(*operands, pa.scalar("", pa.string()), null_handling="emit_null")


def _concat_with(node: Node, operands: list[Data]) -> Data:
    """concat_ws: nulls are left out; without a separator it is null."""
    separator, *parts = operands
    nothing = pa.scalar("", pa.string())
    if is_constant(separator):
        # each part with a separator before it; then the first separator goes
        joined = [pc.binary_join_element_wise(separator, each, nothing, null_handling="emit_null") for each in parts]
        found = pc.binary_join_element_wise(*(pc.fill_null(each, nothing) for each in joined), nothing)
        return pc.utf8_slice_codeunits(found, len(separator.as_py()))
    columns = [as_array(each, size_of(*operands)).to_pylist() for each in operands]
    rows = zip(*columns, strict=True)
    found = [None if by is None else by.join(each for each in row if each is not None) for by, *row in rows]
    return pa.array(found, pa.string())


def _replace(node: Node, operands: list[Data]) -> Data:
    text, part, other = operands
    if is_constant(part, other) and part.as_py() and not isinstance(text, pa.Scalar):
        return pc.replace_substring(text, pattern=part.as_py(), replacement=other.as_py())
    return by_row(lambda text, part, other: text.replace(part, other) if part else text, operands, node.type)


def _pad(*, left: bool) -> Callable[[str, int, str], str]:
    def pad(text: str, length: int, by: str) -> str:
        missing = max(length, 0) - len(text)
        if missing <= 0:
            return text[: max(length, 0)]
        if not by:
            return text
        more = (by * (missing // len(by) + 1))[:missing]
        return more + text if left else text + more

    return pad


def _overlay(text: str, other: str, position: int, length: int) -> str:
    count = length if length >= 0 else len(other)
    return cut(text, 1, position - 1) + other + cut(text, position + count, 2**31 - 1)


def _character(number: int) -> str:
    return "" if number < 0 else chr(number % 256)


def _hash(name: str) -> Callable[[bytes], str]:
    function = getattr(hashlib, name)
    return lambda data: str(function(data).hexdigest())


SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _sha2(data: bytes, bits: int) -> str | None:
    return _hash(SHA2[bits])(data) if bits in SHA2 else None


_NUMBER = constant(INTEGER)
declare("Substring", "substring({}, {}, {})", [of(TEXT, INTEGER, INTEGER)], _substring)
declare("StringTrim", "trim({})", [of(TEXT), of(TEXT, TEXT)], _trim("trim"))
declare("StringTrimLeft", "ltrim({})", [of(TEXT), of(TEXT, TEXT)], _trim("ltrim"))
declare("StringTrimRight", "rtrim({})", [of(TEXT), of(TEXT, TEXT)], _trim("rtrim"))
declare("StringSplitSQL", "split_part({}, {}, 1)", [of(TEXT, TEXT)], _rows(_split))
declare("SubstringIndex", "substring_index({}, {}, {})", [of(TEXT, TEXT, INTEGER)], _rows(_before))
declare("StartsWith", "startswith({}, {})", [of(TEXT, TEXT)], _find("starts_with"))
declare("EndsWith", "endswith({}, {})", [of(TEXT, TEXT)], _find("ends_with"))
declare("Contains", "contains({}, {})", [of(TEXT, TEXT)], _find("match_substring"))
declare("StringInstr", "instr({}, {})", [of(TEXT, TEXT)], _rows(lambda text, part: text.find(part) + 1))
declare("StringLocate", "locate({}, {}, {})", [of(TEXT, TEXT, INTEGER)], _locate_part, strict=False)
declare("Concat", "concat({}, {})", [of(TEXT, many(TEXT))], _concat)
declare("ConcatWs", "concat_ws({}, {}, {})", [of(TEXT, TEXT, many(TEXT))], _concat_with, strict=False)
declare("StringReplace", "replace({}, {}, {})", [of(TEXT, TEXT, TEXT)], _replace)
declare("StringLPad", "lpad({}, {}, {})", [of(TEXT, INTEGER, TEXT)], _rows(_pad(left=True)))
declare("StringRPad", "rpad({}, {}, {})", [of(TEXT, INTEGER, TEXT)], _rows(_pad(left=False)))
declare("StringRepeat", "repeat({}, {})", [of(TEXT, INTEGER)], _rows(lambda text, count: text * count))
declare("StringSpace", "space({})", [of(INTEGER)], _rows(lambda count: " " * count))
declare("Overlay", "overlay({}, {}, {}, {})", [of(TEXT, TEXT, INTEGER, INTEGER)], _rows(_overlay))
declare("Reverse", "reverse({})", [of(TEXT)], lambda node, operands: pc.utf8_reverse(operands[0]))
declare("Length", "length({})", [of(TEXT)], lambda node, operands: pc.utf8_length(operands[0]))
declare("OctetLength", "octet_length({})", [of(TEXT)], lambda node, operands: pc.binary_length(operands[0]))
declare("Ascii", "ascii({})", [of(TEXT)], _rows(lambda text: ord(text[0]) if text else 0))
declare("Chr", "chr({})", [of(INTEGER)], _rows(_character))
declare("Md5", "md5({})", [of(Family.BINARY)], _rows(_hash("md5")))
declare("Sha1", "sha1({})", [of(Family.BINARY)], _rows(_hash("sha1")))
declare("Sha2", "sha2({}, {})", [of(Family.BINARY, INTEGER)], _rows(_sha2))
declare("Crc32", "crc32({})", [of(Family.BINARY)], _rows(zlib.crc32))

"""WITH RECURSIVE with UNION, which Spark parses and then rejects.

Spark plans it as UNION ALL, with a number of levels that says that it is a set:

    WITH RECURSIVE r(a, b) AS (SELECT … UNION SELECT …)
    WITH RECURSIVE r(a, b) MAX RECURSION LEVEL 1073741824 AS (SELECT … UNION ALL SELECT …)

The lines stay the same, so errors name those of the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from flo.sql.catalyst import tokens_of
from flo.sql.plan_reader import SETS

REJECTED = "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE"
"""Spark's name of the error."""
SET_OPERATORS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")


class _Word(NamedTuple):
    """A token of a query: its text in capitals, where it starts and ends, and how many brackets are around it."""

    text: str
    start: int
    end: int
    depth: int


def with_union_all(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a query with UNION ALL instead of UNION in recursions, and the levels that mark them."""
    words = list(_words(text))
    edits: list[tuple[int, int, str]] = []
    marks: list[int] = []
    for place, word in enumerate(words):
        if word.text == "AS" and place + 1 < len(words) and words[place + 1].text == "(":
            name = _name_before(words, place)
            union = name and _union_in(words, place + 1, name)
            if union:
                marks.append(SETS + len(marks))
                edits.append((word.start, word.start, f"MAX RECURSION LEVEL {marks[-1]} "))
                edits.append((*union, "UNION ALL"))
    for start, end, new in sorted(edits, reverse=True):
        lines = "\n" * text.count("\n", start, end)
        text = text[:start] + new + lines + text[end:]
    return text, tuple(marks)


def marks_in(plan: str) -> set[int]:
    """Return the levels that mark sets in the text of a plan."""
    numbers = re.findall(r"UnionLoop \d+, (?:\d+, )?(\d+)", plan)
    return {int(number) for number in numbers if int(number) >= SETS}


def _words(text: str) -> Iterator[_Word]:
    depth = 0
    for token in tokens_of(text):
        word = token.getText()
        depth -= word == ")"
        yield _Word(word.upper(), token.getStartIndex(), token.getStopIndex() + 1, depth)
        depth += word == "("


def _name_before(words: list[_Word], place: int) -> str:
    """Return the name that a query in brackets gets: `name AS (`, or `name (a, b) AS (`."""
    place -= 1
    if words[place].text == ")":
        depth = words[place].depth
        while words[place].depth > depth or words[place].text != "(":
            place -= 1
        place -= 1
    return words[place].text.strip("`") if place > 0 and words[place - 1].text in ("RECURSIVE", ",") else ""


def _union_in(words: list[_Word], opening: int, name: str) -> tuple[int, int] | None:
    """Return where the last UNION of a query in brackets is, without ALL; None if it is another operator, or if the
    query does not read itself."""
    depth = words[opening].depth
    inside: list[int] = []
    for place in range(opening + 1, len(words)):
        if words[place].depth == depth:
            break
        inside.append(place)
    operators = [place for place in inside if words[place].depth == depth + 1 and words[place].text in SET_OPERATORS]
    if not operators or words[operators[-1]].text != "UNION":
        return None
    last = operators[-1]
    after = words[last + 1]
    if after.text == "ALL" or not any(words[place].text.strip("`") == name for place in inside if place > last):
        return None
    return words[last].start, after.end if after.text == "DISTINCT" else words[last].end

"""Errors about columns, in the words of the user: unknown columns, and expressions that do not fit their types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from flo.core.errors import FloError, TypeMismatch

NO_FIT = " does not fit its rows: "
_NO_KERNEL = re.compile(r"Function '(\w+)' has no kernel matching input types \((.*)\)")
_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and_kleene": "&",
    "or_kleene": "|",
    "invert": "~",
    "negate": "-",
}


def expect_known_columns(
    subject: str, given: object, known: Iterable[str], owner: str = "{input} does not have"
) -> None:
    """Raise if columns name one that there is not: a name, an expression, or a tuple or dict of these."""
    known = list(known)
    parts = given.values() if hasattr(given, "values") else given if isinstance(given, tuple) else (given,)
    for part in parts:
        for name in _names_in(part):
            if name not in known:
                raise unknown_column(subject, name, known, None if isinstance(part, str) else part, owner)


def unknown_column(
    subject: str, name: str, known: Iterable[str], expression: object = None, owner: str = "{input} does not have"
) -> TypeMismatch:
    """Return the error for a column that there is not, with the one whose name is closest."""
    known = list(known)
    facts = [("columns", ", ".join(known))]
    template = '"{}"' if expression is None else 'nw.col("{}")'
    if expression is not None:
        from flo.columns.readable import readable

        facts.insert(0, ("expression", readable(expression)))
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    verb = "gets" if expression is None else "reads"
    return TypeMismatch(
        f"{subject} {verb} the column `{name}`, which {owner}",
        facts=tuple(facts),
        instead=tuple((template.format(each), "the column with the closest name") for each in close),
    )


def explain_misfit(error: FloError, subject: str, given: object) -> None:
    """Say what cannot be computed, and why, where an expression does not fit the types of its columns."""
    _, split, reason = error.summary.partition(NO_FIT)
    from flo.columns.readable import readable

    error.facts = (("expression", readable(given)), *(fact for fact in error.facts if fact[0] != "expression"))
    if split:
        error.summary = f"{subject} cannot be computed: {_in_plain_words(reason)}"


def _in_plain_words(reason: str) -> str:
    match = _NO_KERNEL.match(reason)
    if match is None:
        return reason
    name = match[1].removesuffix("_checked")
    return f"`{_SIGNS.get(name, name)}` does not take {' and '.join(match[2].split(', '))}"


def _names_in(given: object) -> Iterator[str]:
    """Yield the names of the columns that a column or an expression reads."""
    if isinstance(given, str):
        yield given
    elif hasattr(given, "_nodes"):
        from flo.columns.evaluation import every_node

        for node in every_node(given):  # type: ignore[arg-type]  # it has nodes
            if node.kind.name == "COL":
                yield from node.kwargs["names"]

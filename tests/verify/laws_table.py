"""docs/laws.md: every law on everything that Flo ships, made from the reports of the checks. `make laws` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from flo.core.collection import Collection
from flo.values.lattice import Lattice
from flo.verify.laws import (
    ADDITIVE,
    ASSOCIATIVE,
    COLLECTION_LAWS,
    COMMUTATIVE,
    IDEMPOTENT,
    LATTICE_LAWS,
    OPERATOR_LAWS,
    Law,
)
from flo.verify.programs.rules import named_rules
from flo.verify.report import Report, Strength
from tests.verify.shipped import COLLECTIONS, LATTICES, report_of
from tests.verify.shipped_functions import FUNCTIONS, Function
from tests.verify.shipped_operators import cases, inside, names, reports

TRIES = 10
"""How many inputs are made at random, for each operator in each case on each type."""
PAGE = Path(__file__).parents[2] / "docs" / "laws.md"

ALGEBRA = (COMMUTATIVE, ASSOCIATIVE, IDEMPOTENT, ADDITIVE)

INTRODUCTION = """\
# The laws, and how hard each was tried

`make laws` writes this page. It runs `flo.verify.check` on every collection, lattice and operator that Flo ships and on
some functions, and prints the reports as tables. The test suite runs the same checks and compares the results.

| in a cell | |
|---|---|
| ∀≤2 | holds on every input of up to two elements, taken from a few values, in every schedule and every cut |
| ∀ | holds on all combinations of a few values; for `source`, which has no input, in every schedule |
| +60 | holds also on 60 random inputs, which may be larger |
| proved | holds for all values: the solver proves it |
| ✗ | does not hold; the counterexample is below the table |
| — | does not apply |
| … | was not tried, because another law is broken |

Where a row stands for several instances and types, ∀ gives the size that all of them reached, and the numbers are sums.
The column "tried" counts inputs for operators, pairs of a value and a delta for collections, and tuples of values for
lattices and functions. `merge_sorted` is tried only on sorted sequences, and `zset_to_bag` and `zset_to_set` only on
weights above zero, because they raise an error for others.
"""


def cell(law: Law, found: list[Report]) -> str:
    """How hard this law was tried on what the reports are about."""
    asked = [report for report in found if law in report.laws]
    if not asked:
        return "—"
    if any(report.counterexample is not None and report.counterexample.law == law for report in asked):
        return "✗"
    if not all(report.ok for report in asked):
        return "…"
    return strength([report.strength for report in asked])


def strength(found: list[Strength]) -> str:
    if all(each.proved for each in found):
        return "proved"
    tried = [each for each in found if not each.proved]
    up_to, larger = min(each.up_to for each in tried), sum(each.random for each in tried)
    return (f"∀≤{up_to}" if up_to else "∀") + (f" +{larger:,}" if larger else "")


def table(kind: str, laws: Iterable[Law], rows: Iterable[str], *more: str) -> str:
    header = [kind, *(f"{law.name} ({law.paper})" for law in laws), "tried", *more]
    return "\n".join([line(header), line(["---"] * len(header)), *rows]) + "\n"


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def tried(found: list[Report]) -> str:
    """On how many inputs, or values."""
    return f"{sum(report.strength.attempts for report in found):,}"


def row(subject: str, laws: Iterable[Law], found: list[Report], *more: str) -> str:
    return line([f"`{subject}`", *(cell(law, found) for law in laws), tried(found), *more])


def collection_row(collection: Collection, report: Report) -> str:
    return row(str(collection), COLLECTION_LAWS, [report])


def lattice_row(lattice: Lattice[Any], report: Report) -> str:
    return row(str(lattice), LATTICE_LAWS, [report])


def operator_row(name: str, found: list[Report]) -> str:
    named = rules(name)
    subject = ", ".join([name, *sorted(each.name for each in inside(name))])
    return row(subject, OPERATOR_LAWS, found, f"{len(named & fired_rules(found))} of {len(named)}")


def function_row(function: Function, found: list[Report]) -> str:
    return row(str(function), ALGEBRA, found)


def counterexamples(found: list[Report]) -> Iterator[str]:
    for report in found:
        if report.counterexample is not None:
            yield f"{report.subject}:\n\n```text\n{report.counterexample}\n```\n"


def fired_rules(found: list[Report]) -> frozenset[str]:
    return frozenset().union(*(report.fired for report in found))


def rules(name: str) -> frozenset[str]:
    """Those that the operator names, on any of its types, and those of operators that are only in its graphs."""
    own = (named_rules(case.operator, types) for case in cases(name) for types in case.signatures())
    return frozenset().union(*own, *(named_rules(operator, ()) for operator in inside(name)))


def left_out(subjects: Iterable[Any], found: Iterable[list[Report]]) -> str:
    """What the reports say was not done, under a table."""
    lines = [
        f"- `{subject}`: {limit}"
        for subject, reports in zip(subjects, found, strict=True)
        for limit in dict.fromkeys(limit for report in reports for limit in report.strength.limits)
    ]
    return "\n".join(["Left out:\n", *lines]) + "\n" if lines else ""


def page() -> str:
    with ProcessPoolExecutor() as pool:
        of_operators = pool.map(reports, names(), repeat(TRIES))
        of_collections = list(map(report_of, COLLECTIONS))
        of_lattices = list(map(report_of, LATTICES))
        of_functions = [function.reports() for function in FUNCTIONS]
        operators = list(of_operators)
    parts = [
        INTRODUCTION,
        "## Collections\n",
        table("collection", COLLECTION_LAWS, map(collection_row, COLLECTIONS, of_collections)),
        left_out(COLLECTIONS, ([report] for report in of_collections)),
        "## Lattices\n",
        table("lattice", LATTICE_LAWS, map(lattice_row, LATTICES, of_lattices)),
        left_out(LATTICES, ([report] for report in of_lattices)),
        "## Operators\n",
        table("operator", OPERATOR_LAWS, map(operator_row, names(), operators), "rules fired"),
        left_out(names(), operators),
        "## Functions\n",
        table("function", ALGEBRA, map(function_row, FUNCTIONS, of_functions)),
        left_out(FUNCTIONS, of_functions),
        *(text for found in of_functions for text in counterexamples(found)),
    ]
    return "\n".join(part for part in parts if part)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

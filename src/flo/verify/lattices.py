"""The laws of lattices, tried on a few values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from flo.core.errors import LawError, Origin, brief
from flo.values.lattice import Custom, Lattice
from flo.verify import laws
from flo.verify.functions import examples
from flo.verify.laws import Law
from flo.verify.report import Counterexample, Report

MOST_VALUES = 8
_GUESSES: dict[type, list[Any]] = {
    int: [1, 2, 3],
    str: ["a", "b", "ab"],
    float: [0.5, 1.5, 2.5],
    bool: [True],
    frozenset: [frozenset({1}), frozenset({2})],
    tuple: [(1, 2), (2, 1)],
}
"""Values to try where the lattice does not say what it holds: those of the type of ⊥, or the first that it joins."""


def lattice_values(lattice: Lattice[Any]) -> list[Any]:
    """A few values of the lattice other than ⊥, and joins of them."""
    known = [lattice.value(value) for value in examples(lattice.ordinary)]
    if isinstance(lattice, Custom):
        known = guesses(lattice)
    else:
        known = [value for value in known if lattice.mismatch(value) is None]
    found = [value for value in known if not lattice.is_bottom(value)]
    joined = [lattice.join(a, b) for a, b in islice(product(found, found), 12) if joins(lattice, a, b)]
    return (found + [value for value in joined if value not in found])[:MOST_VALUES]


def guesses(lattice: Lattice[Any]) -> list[Any]:
    bottom = lattice.bottom()
    if type(bottom) in _GUESSES:
        return _GUESSES[type(bottom)]
    return next((kind for kind in _GUESSES.values() if all(joins(lattice, bottom, value) for value in kind)), [])


def joins(lattice: Lattice[Any], a: Any, b: Any) -> bool:
    try:
        lattice.join(a, b)
    except Exception:  # no join: the values exclude each other, or were a wrong guess
        return False
    return True


def check_lattice(lattice: Lattice[Any]) -> Report:
    """Tries every law on all triples of a few values."""
    values = [lattice.bottom(), *lattice_values(lattice)]
    broken = next(broken_laws(lattice, values), None)
    return Report(f"`{lattice}`", laws.LATTICE_LAWS, f"all triples of {len(values)} values", broken)


def broken_laws(lattice: Lattice[Any], values: list[Any]) -> Iterator[Counterexample]:
    """What the values break, the laws about one of them first."""
    join, bottom = lattice.join, lattice.bottom()
    for a in values:
        if join(bottom, a) != a or join(a, bottom) != a:
            yield _differing(laws.BOTTOM_IS_LEAST, f"⊥ ⊔ {brief(a)}", join(bottom, a), brief(a), a)
        if join(a, a) != a:
            yield _differing(laws.IDEMPOTENT, f"{brief(a)} ⊔ {brief(a)}", join(a, a), brief(a), a)
    pairs = [(a, b) for a, b in product(values, repeat=2) if joins(lattice, a, b)]
    for a, b in pairs:
        if join(a, b) != join(b, a):
            one, other = f"{brief(a)} ⊔ {brief(b)}", f"{brief(b)} ⊔ {brief(a)}"
            yield _differing(laws.COMMUTATIVE, one, join(a, b), other, join(b, a))
    for (a, b), c in product(pairs, values):
        if joins(lattice, b, c) and joins(lattice, join(a, b), c) and join(join(a, b), c) != join(a, join(b, c)):
            one, other = f"({brief(a)} ⊔ {brief(b)}) ⊔ {brief(c)}", f"{brief(a)} ⊔ ({brief(b)} ⊔ {brief(c)})"
            yield _differing(laws.ASSOCIATIVE, one, join(join(a, b), c), other, join(a, join(b, c)))


def _differing(law: Law, one: str, result: Any, other: str, other_result: Any) -> Counterexample:
    return Counterexample(law, "on a few values", ((one,), (other,)), (brief(result), brief(other_result)))


def expect_lattice(lattice: Lattice[Any]) -> Lattice[Any]:
    """The lattice, if it is one: those that Flo does not ship are tried."""
    if isinstance(lattice, Custom) or not type(lattice).__module__.startswith("flo."):
        report = check_lattice(lattice)
        if report.counterexample is not None:
            found = report.counterexample
            pairs = zip(found.columns, found.outcomes, strict=True)
            raise LawError(
                f"`{lattice}` is not a lattice: {found.law.name} does not hold",
                facts=tuple((column[0], f"= {outcome}") for column, outcome in pairs),
                instead=((found.law.instead, ""),) if found.law.instead else (),
                where=Origin.here(),
            )
    return lattice

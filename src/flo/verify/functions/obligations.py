"""Obligations: the laws that operators require of the functions and lattices that they hold.

When a program is built, `rejections` tries each on a few values, and rejects a function that breaks a law.
`check_obligation` tries them within a given budget, also where the user claims that they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flo.core.labels import label
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TypeForm
from flo.values.lattice import Custom, Lattice
from flo.values.lvar import LVar
from flo.values.operators.group_aggregates import LinearOf
from flo.verify import laws
from flo.verify.effort import Effort
from flo.verify.functions.domains import NO_START
from flo.verify.functions.function import check_function, check_lattice
from flo.verify.laws import Law
from flo.verify.report import Report

LAWS = {law.name: law for law in laws.FUNCTION_LAWS}


@dataclass(frozen=True)
class Obligation:
    """Laws that a function must satisfy where an operator uses it, or that a lattice must."""

    operator: str
    subject: Any
    """The function, or the lattice."""
    laws: tuple[Law, ...]
    kinds: tuple[TypeForm, ...] = ()
    start: Any = NO_START
    lattices: tuple[Lattice[Any], Lattice[Any]] | None = None
    claim: str | None = None
    """The user's reason why the laws hold: accepted when a program is built, but not by a check."""
    over: str = ""
    """The name of the collection that it is used on."""

    def __hash__(self) -> int:
        return hash((self.operator, self.laws, self.over))  # other fields may not be hashable


def obligations(operator: Operator, inputs: StreamTypes) -> Iterator[Obligation]:
    """Yield the obligations of an operator on inputs of these types."""
    for given in inputs:
        if isinstance(given.collection, LVar):
            yield from _of_lattice(operator, given.collection.lattice)
    for demand in operator.demands(inputs):
        subject = demand.subject
        if isinstance(subject, Lattice):
            yield from _of_lattice(operator, subject)
            continue
        yield Obligation(
            operator.name,
            FinishFunction(subject) if isinstance(subject, LinearOf) else subject,
            (laws.A_FUNCTION, LAWS[demand.law]) if demand.law else (laws.A_FUNCTION,),
            demand.kinds,
            demand.start[0] if demand.start else NO_START,
            demand.lattices,
            demand.claim,
            inputs[0].collection.name,
        )


def _of_lattice(operator: Operator, lattice: Lattice[Any]) -> Iterator[Obligation]:
    if not is_shipped(lattice):
        yield Obligation(operator.name, lattice, laws.LATTICE_LAWS)


def is_shipped(lattice: Lattice[Any]) -> bool:
    """Whether the lattice, and those inside, come with Flo."""
    if isinstance(lattice, Custom) or not type(lattice).__module__.startswith("flo."):
        return False
    parts = [part for value in vars(lattice).values() for part in (value if isinstance(value, tuple) else (value,))]
    return all(is_shipped(part) for part in parts if isinstance(part, Lattice))


class FinishFunction:
    """The `finish` of a linear aggregate, on groups of one row."""

    def __init__(self, linear: LinearOf) -> None:
        self.linear = linear
        self.__name__ = label(linear.finish)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FinishFunction) and other.linear == self.linear

    def __hash__(self) -> int:
        return hash(self.linear)

    def __call__(self, *arguments: object) -> Any:
        counted = [] if None in arguments else [(arguments, 1)]
        return self.linear.result(self.linear.added(self.linear.empty, counted))


def check_obligation(obligation: Obligation, effort: Effort) -> Report:
    """Check an obligation thoroughly: on all small values, by the solver, and at random."""
    if isinstance(obligation.subject, Lattice):
        return check_lattice(obligation.subject, effort)
    return check_function(
        obligation.subject,
        obligation.kinds,
        effort,
        laws=obligation.laws,
        start=obligation.start,
        lattices=obligation.lattices,
    )

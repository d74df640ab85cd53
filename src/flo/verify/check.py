"""`check(x)`: every law that binds x, tried. Checkers give a report; they never print."""

from __future__ import annotations

from typing import Any

from flo.core.collection import Collection
from flo.core.errors import LawError, Origin
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.values.lattice import Lattice
from flo.verify.collections import check_collection
from flo.verify.lattices import check_lattice
from flo.verify.operators import check_operator
from flo.verify.report import Report


def check(subject: Any, *types: StreamType, most: int = 3) -> Report:
    """Tries the laws of an operator, on input types if they are given, of a collection, or of a lattice.

    Exhaustive: every input of at most `most` elements, every schedule, every cut.
    """
    if isinstance(subject, Operator):
        return check_operator(subject, types or None, most=most)
    if isinstance(subject, Lattice):
        return check_lattice(subject)
    if isinstance(subject, Collection) or _is_collection(subject):
        return check_collection(Collection.of(subject), most=most)
    raise LawError(
        f"there are no laws for {type(subject).__name__}",
        facts=(("given", repr(subject)[:80]),),
        instead=(("check(operator)", "or a lattice, or a collection such as flo.Sequence[int]"),),
        where=Origin.here(),
    )


def _is_collection(subject: Any) -> bool:
    kind = getattr(subject, "__origin__", subject)
    return isinstance(kind, type) and issubclass(kind, Collection)

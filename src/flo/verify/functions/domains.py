"""What the arguments of a function range over: values of their types, and the accumulators that a fold comes to."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from flo.core.elements import belongs, type_name
from flo.core.errors import LawError, Origin
from flo.verify.data.given import Given
from flo.verify.data.kinds import common_kind
from flo.verify.functions.broken import Raised, copied
from flo.verify.functions.equations import Function, same
from flo.verify.functions.trials import TRY_SECONDS, Domain
from flo.verify.within import TimeUp, within

if TYPE_CHECKING:
    from flo.verify.solver.prove import Verdict


class _Start(Enum):
    NONE = "none"


NO_START = _Start.NONE
"""No start was given, not even None."""


def function_domains(f: Function, kinds: tuple[Any, ...], start: Any, given: Given) -> list[Domain]:
    """What the arguments range over."""
    rest = [domain_of(kind, given) for kind in (kinds if start is NO_START else kinds[1:])]
    return rest if start is NO_START else [accumulators(f, start, rest), *rest]


def domain_of(kind: Any, given: Given) -> Domain:
    few = given.examples(kind)
    if not few:
        raise LawError(
            f"no examples of {type_name(kind)} can be made",
            instead=((f"examples={{{type_name(kind)}: […]}}", "values to try, or a Hypothesis strategy"),),
            where=Origin.here(),
        )
    return Domain(few, kind, lambda: given.strategy(kind))


def accumulators(f: Function, start: Any, rest: list[Domain]) -> Domain:
    """What a fold comes to: the start, and what f makes of it. Other values are none that f must cope with."""
    few = reached(f, start, rest)
    kind = common_kind(few)
    closed = kind is not None and all(belongs(value, kind) for value in few)

    def generated() -> Any:
        from hypothesis import strategies as st

        arguments = st.tuples(*(domain.generated() for domain in rest))
        return st.lists(arguments, max_size=4).map(lambda steps: _folded(f, start, steps))

    @cache  # all equations ask
    def stays(work: int) -> Verdict:
        from flo.verify.solver import prove

        return prove.stays(f, [kind, *(domain.kind for domain in rest)], kind, work=work)

    return Domain(few, kind if closed else None, generated, stays)


def _folded(f: Function, start: Any, steps: list[tuple[Any, ...]]) -> Any:
    acc = start
    for arguments in steps:
        try:
            acc = called(f, acc, *arguments)
        except (Exception, SystemExit) as error:
            raise Raised(error, (acc, *arguments)) from error
    return acc


def called(f: Function, *arguments: Any) -> Any:
    """The result, if it comes; f gets copies of what it might change."""
    try:
        with within(TRY_SECONDS):
            return f(*map(copied, arguments))
    except TimeUp as up:
        up.given = arguments
        raise


def reached(f: Function, start: Any, rest: list[Domain]) -> list[Any]:
    """A few accumulators: along the first elements, and one step from the start with the last, the constants of f."""
    steps = list(zip(*(domain.few for domain in rest), strict=False))
    found = [start]
    for acc_at, arguments in [(-1, step) for step in steps[:3]] + [(0, step) for step in steps[5:][-3:]]:
        try:
            acc = called(f, found[acc_at], *arguments)
        except (Exception, SystemExit):  # the equations will say so
            continue
        if not any(same(acc, known) for known in found):
            found.append(acc)
    return found

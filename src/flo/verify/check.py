"""`check(x)`: every law that binds x, tried. Checkers give a report; they never print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flo.core.collection import Collection
from flo.core.errors import PACKAGE, FunctionError, LawError, Origin, brief
from flo.core.operator import Operator
from flo.values.lattice import Lattice
from flo.verify.data.given import Given
from flo.verify.effort import Effort
from flo.verify.exploration.replay import stream_or_collection
from flo.verify.functions.function import MISSING, check_function
from flo.verify.functions.lattices import check_lattice
from flo.verify.laws import Law
from flo.verify.programs.collections import check_collection
from flo.verify.programs.flows import Checkable, check_flow
from flo.verify.programs.operators import check_operator
from flo.verify.report import Report


def check(
    subject: Any,
    *types: Any,
    laws: Sequence[Law] | None = None,
    examples: Mapping[Any, Any] | None = None,
    start: Any = MISSING,
    inverse: Callable[..., Any] | None = None,
    most: int = 3,
    tries: int = 200,
    seed: int = 0,
    seconds: float = 10.0,
) -> Report:
    """Tries the laws of a flow, an operator, a collection, a lattice or a function.

    All inputs of up to `most` elements first, in every schedule and with every cut, then so many `tries` at random by a
    `seed`, in so many `seconds` in all. `types` are those of an operator's inputs (a collection stands for bounded
    and unbounded), or of a function's arguments. `examples` are values of your own by type, or Hypothesis strategies.
    `laws` are those that a function is to satisfy; `start` is where a fold with it starts; `inverse` takes back what it
    adds. Two lattices in the place of types are those that a monotone function leads from and to.
    """
    effort = Effort(Given({} if examples is None else examples), most, tries, seed, seconds)
    try:
        return _checked(subject, types, effort, {"laws": laws, "start": start, "inverse": inverse})
    except FunctionError as fault:
        raise explained(fault) from fault.__cause__


def _checked(subject: Any, types: tuple[Any, ...], effort: Effort, of_function: dict[str, Any]) -> Report:
    hard: dict[str, Any] = {
        "given": effort.given,
        "tries": effort.tries,
        "seed": effort.seed,
        "seconds": effort.seconds,
    }
    if isinstance(subject, Operator):
        return check_operator(subject, [stream_or_collection(each) for each in types], effort)
    if isinstance(subject, Checkable):
        return check_flow(subject._checkable(), effort)
    if isinstance(subject, Lattice) or _is_a(subject, Lattice):
        return check_lattice(Lattice.given(subject), **hard)
    if isinstance(subject, Collection) or _is_a(subject, Collection):
        return check_collection(Collection.of(subject), effort)
    if callable(subject) and not isinstance(subject, type):
        if len(types) == 2 and all(isinstance(kind, Lattice) or _is_a(kind, Lattice) for kind in types):
            of_function["lattices"], types = tuple(map(Lattice.given, types)), ()
        return check_function(subject, *types, **of_function, **hard)
    raise LawError(
        f"there are no laws for {type(subject).__name__}",
        facts=(("given", brief(subject)),),
        instead=(("check(flow)", "or an operator, a lattice, a function, a collection such as flo.Sequence[int]"),),
        where=Origin.here(),
    )


def explained(fault: FunctionError) -> FunctionError:
    """What a function raised, with the line of the user that did, and how to try other values."""
    trace, line = fault.__cause__.__traceback__ if fault.__cause__ is not None else None, None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        line = line if file.startswith(PACKAGE) else Origin(file, trace.tb_lineno)
        trace = trace.tb_next
    if line is not None:
        fault.facts += (("raised at", f"{line}   {line.text}".rstrip()),)
    fault.instead = fault.instead or (("check(…, examples={int: [1, 2]})", "values of each type that it is meant for"),)
    return fault.located(Origin.here())


def _is_a(subject: Any, kind: type) -> bool:
    """Whether it is a class of that kind, parameterised or not."""
    origin = getattr(subject, "__origin__", subject)
    return isinstance(origin, type) and issubclass(origin, kind)

"""`flo.verify.check`: validates the options, then tries every law of the subject.

The subject may be an operator, a flow, a collection, a lattice or a function; each kind has its own laws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flo.core.collection import Collection, Form
from flo.core.errors import FunctionError, LawError, Origin, brief
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, TypeForm
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.lattice import Lattice
from flo.values.lvar import LVar
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.data.examples import is_hashable
from flo.verify.data.given import Given
from flo.verify.effort import WORK, Effort
from flo.verify.exploration.replay import as_stream_or_collection
from flo.verify.functions.domains import NO_START
from flo.verify.functions.function import check_function, check_lattice
from flo.verify.functions.trials import suggest_examples
from flo.verify.laws import Law
from flo.verify.programs.collections import check_collection
from flo.verify.programs.operators import Checkable, check_flow, check_operator
from flo.verify.report import Report
from flo.verify.time_limit import SECONDS


def expect_numbers(*, most: Any, tries: Any, seed: Any, work: Any, seconds: Any) -> None:
    """Rejects options that are not numbers in their range."""
    for name, given, least in (("most", most, 0), ("tries", tries, 0), ("seed", seed, None), ("work", work, 1)):
        if type(given) is not int or (least is not None and given < least):
            raise _refused(name, given, "an integer" if least is None else f"an integer ≥ {least}")
    if type(seconds) not in (int, float) or not 0 < seconds < math.inf:
        raise _refused("seconds", seconds, "a number > 0")


def _refused(name: str, given: object, expected: str) -> LawError:
    return LawError(f"`{name}` must be {expected}; got {brief(given)}", where=Origin.here())


def expect_none(of_function: dict[str, Any]) -> None:
    """Rejects options that apply only to functions."""
    for name, given in of_function.items():
        if given is not None and given is not NO_START:
            raise LawError(
                f"`{name}` applies only to the check of a function; for other subjects all laws are tried",
                facts=(("given", brief(given)),),
            ).at_users_line()


def expect_hashable(collection: Collection, given: Given) -> None:
    """Rejects a bag, set, z-set or keyed collection whose elements or keys cannot be hashed."""
    kind = collection.key if isinstance(collection, Keyed) else None
    if isinstance(collection, (Bag, Set, ZSet)):
        assert isinstance(collection, ElementCollection)
        kind = collection.element
    known = [] if kind is None else given.examples(kind)
    if known and not any(map(is_hashable, known)):
        raise LawError(
            f"elements of {collection.name} must be hashable; {type_name(kind)} is not",
            facts=(("given", brief(known[0])),),
            instead=(("tuple[int, ...]", "instead of list[int]; frozenset instead of set"),),
        ).at_users_line()


def check(
    subject: object,
    *types: object,
    laws: Law | Sequence[Law] | None = None,
    examples: Mapping[Any, object] | None = None,
    start: object = NO_START,
    inverse: AnyFunction | None = None,
    most: int = 3,
    tries: int = 200,
    seed: int = 0,
    work: int = WORK,
    seconds: float = SECONDS,
) -> Report:
    """Tries the laws of a flow, an operator, a collection, a lattice or a function.

    First all inputs of up to `most` elements, in every schedule and with every split of the data. Then larger inputs:
    of the sizes that the code mentions, and `tries` random ones from `seed`. `work` bounds the total, counted in
    states, steps and calls, so the result is the same on every machine; `work=200_000` is a thorough check. A call
    that uses `seconds` of processor time is aborted. `types` are the types of an operator's inputs (a collection means
    both bounded and unbounded) or of a function's arguments. `examples` maps types to your own values or to Hypothesis
    strategies. `laws` are the laws that a function must satisfy; `start` is the initial value of a fold with it;
    `inverse` undoes it. For a monotone function, pass its two lattices instead of types.
    """
    expect_numbers(most=most, tries=tries, seed=seed, work=work, seconds=seconds)
    effort = Effort(Given(examples, seconds=seconds), most, tries, seed, work)
    try:
        return _checked(subject, types, effort, {"laws": laws, "start": start, "inverse": inverse})
    except FunctionError as fault:
        raise explained(fault, inputs=_input_kinds(subject, types)) from fault.__cause__
    except SystemExit as error:  # a function of the user, and not ours to obey
        raise explained(FunctionError(f"a function raised SystemExit: {error}"), error) from error


def _checked(subject: Any, types: tuple[TypeForm, ...], effort: Effort, of_function: dict[str, Any]) -> Report:
    of_functions = callable(subject) and not isinstance(subject, (type, Operator, Lattice, Collection))
    if not of_functions:
        expect_none(of_function)
    if isinstance(subject, Operator):
        return check_operator(subject, [as_stream_or_collection(each) for each in types], effort)
    if isinstance(subject, Checkable):
        return check_flow(subject._checkable(), effort)
    if isinstance(subject, Lattice) or _is_a(subject, Lattice):
        return check_lattice(Lattice.from_annotation(subject), effort)
    if isinstance(subject, Collection) or _is_a(subject, Collection):
        collection = Collection.of(subject)
        expect_hashable(collection, effort.given)
        return check_collection(collection, effort)
    if of_functions:
        if len(types) == 2 and all(isinstance(kind, Lattice) or _is_a(kind, Lattice) for kind in types):
            of_function["lattices"], types = tuple(map(Lattice.from_annotation, types)), ()
        return check_function(subject, types, effort, **of_function)
    if _is_a(subject, Operator):
        raise LawError(
            f"`check` needs an instance of an operator; got the class {subject.__name__}",
            instead=((f"check({subject.__name__}(…))", "with its arguments"),),
        ).at_users_line()
    raise LawError(
        f"there are no laws for {type(subject).__name__}",
        facts=(("given", brief(subject)),),
        instead=(("check(flow)", "or an operator, a lattice, a function, a collection such as flo.Sequence[int]"),),
    ).at_users_line()


def _input_kinds(subject: object, types: tuple[object, ...]) -> list[TypeForm]:
    """The types of the elements, keys and lattice values of a program's inputs."""
    if isinstance(subject, Checkable):
        collections = [stream.collection for stream in subject._checkable().inputs.values()]
    elif isinstance(subject, Operator):
        given = [as_stream_or_collection(each) for each in types]
        collections = [each.collection if isinstance(each, StreamType) else each for each in given]
    else:
        return []
    return [kind for collection in collections for kind in _kinds_in(collection)]


def _kinds_in(collection: Collection) -> list[TypeForm]:
    match collection:
        case Form(base=base):
            return _kinds_in(base)
        case Keyed():
            return [*_kinds_in(collection.inner), collection.key]
        case Nested(inner=inner):
            return [kind for stream in inner for kind in _kinds_in(stream.collection)]
        case LVar(lattice=lattice):
            return [lattice]
        case ElementCollection(element=element):
            return [element]
    return []


def explained(fault: FunctionError, cause: BaseException | None = None, inputs: Sequence[object] = ()) -> FunctionError:
    """The error of a function, with the user's line that raised it, and how to try other values."""
    cause = cause or fault.__cause__
    if cause is not None:
        line = Origin.innermost(cause.__traceback__)
        fault.facts += () if line is None else (("raised at", f"{line}   {line.text}".rstrip()),)
        given = getattr(cause, "given", None)
        fault.instead = fault.instead or suggest_examples(() if given is None else (given,), inputs=inputs)
    return fault.located(Origin.here())


def _is_a(subject: object, kind: type) -> bool:
    """Whether it is a class of that kind, parameterised or not."""
    origin = getattr(subject, "__origin__", subject)
    return isinstance(origin, type) and issubclass(origin, kind)

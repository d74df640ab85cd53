"""Proves equations with a solver (z3), for all values, or refutes them with some.

The arguments are symbols for the values of Python types, which are turned back into plain values.
"""

from __future__ import annotations

import dataclasses
import threading
import types
import typing
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, Flag
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal, TypeAlias, get_args, get_origin

from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.verify.equality import NoJoin, are_equal
from flo.verify.optional import NO_Z3, z3
from flo.verify.solver.symbolic import OutOfWork, Path, Question, Symbol, Untraceable, Z3Term
from flo.verify.solver.symbolic_types import (
    FloatSymbol,
    FractionSymbol,
    IntSetSymbol,
    IntSymbol,
    StrSetSymbol,
    StrSymbol,
    WordSymbol,
)
from flo.verify.solver.tracing import is_deliberate, trace

DEEPEST = 6
MOST_MEMBERS = 4
MakeArgument = Callable[[Path], Any]

_SYMBOLS: dict[TypeForm, type[Symbol]] = {
    int: IntSymbol,
    float: FloatSymbol,
    Fraction: FractionSymbol,
    str: StrSymbol,
    frozenset[int]: IntSetSymbol,
    frozenset[str]: StrSetSymbol,
}


class RejectedValue(Exception):
    """The class rejects such fields."""


def make_maker(kind: TypeForm, depth: int = DEEPEST) -> MakeArgument:
    """Return a function that makes symbols for all values of the type; a choice among cases forks the path."""
    origin, parts = get_origin(kind), get_args(kind)
    if depth == 0:
        raise Untraceable(f"values of {type_name(kind)} are nested too deeply")
    if origin is typing.Annotated:
        return make_maker(parts[0], depth)
    if kind in _SYMBOLS:
        return _SYMBOLS[kind].any
    cases = _cases(kind)
    if cases:
        return lambda path: path.choose(cases)
    if origin in (typing.Union, types.UnionType):
        makers = [make_maker(part, depth - 1) for part in parts]
        return lambda path: path.choose(makers)(path)
    if origin is tuple and ... not in parts:
        makers = [make_maker(part, depth - 1) for part in parts]
        return lambda path: tuple([make(path) for make in makers])
    if isinstance(kind, type) and (hasattr(kind, "_fields") or dataclasses.is_dataclass(kind)):
        return _object_maker(kind, depth)
    raise Untraceable(f"values of {type_name(kind)} cannot be traced")


def _cases(kind: TypeForm) -> list[TypeForm]:
    """All values of a type that has few; empty for other types."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is bool:
        return [False, True]
    if kind in (None, type(None)):
        return [None]
    if origin is Literal:
        return list(parts)
    if isinstance(kind, type) and issubclass(kind, Enum) and not issubclass(kind, Flag):
        return list(kind)
    if origin is frozenset and len(_cases(parts[0])) in range(1, MOST_MEMBERS + 1):
        members = _cases(parts[0])
        return [frozenset(some) for size in range(len(members) + 1) for some in combinations(members, size)]
    return []


def _object_maker(kind: Any, depth: int) -> MakeArgument:
    if dataclasses.is_dataclass(kind):
        parameters: Any = getattr(kind, "__dataclass_params__", None)
        if not parameters.frozen or not parameters.init:
            raise Untraceable(f"a {type_name(kind)} is mutable or has its own __init__, so it cannot be traced")
        names = [field.name for field in dataclasses.fields(kind) if field.init]
    else:
        names = list(kind._fields)
    try:
        hints = typing.get_type_hints(kind)
    except Exception as error:
        raise Untraceable(f"the annotations of {kind.__name__} cannot be resolved") from error
    makers = {name: make_maker(hints.get(name, Any), depth - 1) for name in names}

    def make(path: Path) -> Any:
        fields = {name: make(path) for name, make in makers.items()}
        try:
            return kind(**fields)
        except Exception as error:
            raise RejectedValue from error

    return make


def fits(value: object, kind: TypeForm) -> bool:
    """Whether the value is of the type for all values of its symbols; False if unknown."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        return fits(value, parts[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if isinstance(value, WordSymbol):
        return kind is str
    if isinstance(value, Symbol):
        return _SYMBOLS.get(kind) is type(value)
    if origin is tuple and ... not in parts:
        return type(value) is tuple and len(value) == len(parts) and all(map(fits, value, parts))
    if isinstance(kind, type) and (hasattr(kind, "_fields") or dataclasses.is_dataclass(kind)):
        hints = typing.get_type_hints(kind)
        return type(value) is kind and all(fits(getattr(value, name), hints[name]) for name in hints)
    if origin is Literal:
        return any(value is part for part in parts)
    if origin is frozenset:
        return type(value) is frozenset and all(fits(member, parts[0]) for member in value)
    return value is None if kind is None else type(value) is kind


def to_plain(value: object, model: object, constants: list[Z3Term]) -> Any:
    """Replace the symbols in a value by the numbers, texts and sets of the model."""
    if isinstance(value, Symbol):
        return value.read(model, value.term, constants)
    if isinstance(value, tuple):
        items = [to_plain(item, model, constants) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return type(value)(**{name: to_plain(getattr(value, name), model, constants) for name in names})
    return value


MOST_PATHS = 200
SOLVER_WORK = 4_000_000
"""The budget for one equation, in the solver's units: about two seconds, and the same on every machine."""
EquationSides: TypeAlias = Callable[..., tuple[Element, Element]]


@dataclass(frozen=True, slots=True)
class Proved:
    """The sides are equal for all values of the types; for floats, all but NaN."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """The sides differ for these arguments, as a call has confirmed."""

    arguments: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither proved nor refuted, and why."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Unknown
_one_at_a_time = threading.RLock()  # z3 keeps its terms in one place for all threads


def prove(sides: EquationSides, types: Sequence[object], *, work: int = SOLVER_WORK) -> Verdict:
    """Prove that the two results of `sides` are equal for all arguments of the types.

    The functions are run on symbols, once for each path through their branches. Globals and variables of outer
    functions count as constants, with their present values.
    """
    if not z3.is_installed():
        return Unknown(NO_Z3)
    with _one_at_a_time:
        try:
            makers = [make_maker(kind) for kind in types]
            question = Question(work, words=True)
            verdict = _prove_all_paths(sides, makers, question)
            if question.texts and verdict != Proved():
                verdict = _prove_all_paths(sides, makers, replace(question, words=False))
            return verdict
        except OutOfWork:
            return Unknown(f"the solver did not finish within {work:,} units of work")
        except Untraceable as refused:
            return Unknown(str(refused))


def prove_type(f: AnyFunction, types: Sequence[object], kind: TypeForm, *, work: int = SOLVER_WORK) -> Verdict:
    """Prove that f returns a value of this type for all arguments of the types."""
    results: list[Element] = []

    def sides(*arguments: object) -> tuple[Element, Element]:
        results.append(f(*arguments))
        return None, None

    verdict = prove(sides, types, work=work)
    left = verdict == Proved() and not all(fits(result, kind) for result in results)
    return Unknown("its results may leave their type") if left else verdict


def _prove_all_paths(sides: EquationSides, makers: list[MakeArgument], question: Question) -> Verdict:
    waiting = deque([Path((), question)])  # short ones first: they give small counterexamples
    doubts: list[Unknown] = []
    paths = 0
    while waiting and paths < MOST_PATHS:
        paths += 1
        path = waiting.popleft()
        try:
            verdict = _prove_path(path, sides, makers)
        except OutOfWork:
            if doubts:
                break
            raise
        waiting += path.others
        if isinstance(verdict, Refuted) or (verdict != Proved() and question.texts and question.words):
            return verdict  # the order of texts does not suffice
        if isinstance(verdict, Unknown):
            doubts.append(verdict)
    if waiting and not doubts:
        doubts.append(Unknown(f"there are more than {MOST_PATHS} ways through the branches"))
    return doubts[0] if doubts else Proved()


def _prove_path(path: Path, sides: EquationSides, makers: list[MakeArgument]) -> Verdict:
    arguments: list[Element] = []

    def run() -> bool:
        arguments.extend(make(path) for make in makers)
        results = sides(*arguments)
        for each in results:
            if isinstance(each, NoJoin) and not is_deliberate(each.__cause__ or each):
                path.refuse("whether there are such values cannot be traced")
        equal = are_equal(*results)
        path.expect_no_lone_member()
        return equal

    try:
        if trace(path, run):
            return Proved()
    except RejectedValue as error:
        if path.lone_member is None and is_deliberate(error.__cause__ or error):
            return Proved()  # there are no such values
        return Unknown("whether there are such values cannot be traced")
    except OutOfWork:
        raise
    except Untraceable as refused:
        return Unknown(str(refused))
    except Exception as error:
        return Unknown(f"it raises {type(error).__name__} for some values")
    return _counterexample(path, sides, arguments)


def _counterexample(path: Path, sides: EquationSides, arguments: list[Element]) -> Verdict:
    """The values of the solver's model, if the sides really differ for them."""
    answer, model = path.ask()
    if answer == z3.unsat:
        return Proved()  # no values take this path
    if answer != z3.sat:
        return Unknown("the solver gave up")
    constants = list(_constants([*path.conditions, *(model[name] for name in model.decls())]))
    try:
        values = tuple(to_plain(argument, model, constants) for argument in arguments)
        if not are_equal(*sides(*values)):
            return Refuted(values)
    except Untraceable as refused:
        return Unknown(str(refused))
    except Exception as error:
        return Unknown(f"it raises {type(error).__name__} for some values")
    return Unknown("the solver's counterexample does not hold in Python")


def _constants(terms: list[Z3Term]) -> Iterator[Z3Term]:
    """The numbers and texts in the terms, each once."""
    waiting, seen = [term for term in terms if z3.is_expr(term)], set()
    while waiting:
        term = waiting.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            waiting += term.children()
            if z3.is_int_value(term) or z3.is_string_value(term):
                yield term
